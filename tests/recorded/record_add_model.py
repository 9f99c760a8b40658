"""Writes add_models.json: the fitted model of add.cu, for tests of emitted code. Needs nvcc.

python tests/recorded/record_add_model.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def main() -> None:
    """Tune the program in a folder of its own; keep the model, without the place."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["tune", str(HERE / "add.cu"), "--run", "./{program} {n}", "--vary", "n=64,96"]
        place = ["--workspace", folder, "-o", f"{folder}/tuned.cu"]
        subprocess.run([sys.executable, "-m", "cutune", *command, *place], check=True)
        document = json.loads((Path(folder) / "models.json").read_text())
    text = json.dumps(_placed(document), separators=(",", ":"))
    (HERE / "add_models.json").write_text(f"{text}\n")


def _placed(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: "/project/add.cu" if k == "path" else _placed(v) for k, v in value.items()}
    return [_placed(entry) for entry in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main()

"""How kernels_h200.json was made.

python -m tests.recorded.record_kernels build FOLDER     # needs nvcc
sh FOLDER/run.sh > OUTPUT 2>&1                           # on the GPU, needs nothing else
python -m tests.recorded.record_kernels save OUTPUT
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

from cutune.emulator.link import TARGET_FLAGS
from cutune.toolchain.nvcc import find_nvcc
from tests.support.emulated_kernels import SOURCES, build, hashes, kernels_of, undefined_operations

RECORDED = Path(__file__).parent / "kernels_h200.json"

# The PTX that the emulated device executes, assembled for the GPU by ptxas and not by its driver.
FLAGS = (*TARGET_FLAGS, "-gencode", "arch=compute_80,code=sm_90", "-cudart", "static")
_RESULT = re.compile(r"\w+ [0-9a-f]{16}$")


def build_all(folder: Path) -> None:
    """The programs, and a script that runs them."""
    folder.mkdir(parents=True, exist_ok=True)
    nvcc = find_nvcc()
    for source in SOURCES:
        with tempfile.TemporaryDirectory() as temporary:
            program = build(nvcc, source, Path(temporary), (*FLAGS, "-Xlinker", "-s"))
            ptx = program.with_suffix(".ptx").read_text(encoding="utf-8")
            if undefined := list(undefined_operations(ptx)):
                sys.exit(f"{source.name}: {undefined}")
            shutil.copy(program, folder)
    names = " ".join(source.stem for source in SOURCES)
    script = f'cd "$(dirname "$0")" && for each in {names}; do ./$each || echo "$each: $?"; done\n'
    (folder / "run.sh").write_text(script, encoding="utf-8")


def save(output: Path) -> None:
    """Store what the programs printed, unless one complained or a kernel is missing."""
    lines = output.read_text(encoding="utf-8").splitlines()
    if others := [line for line in lines if not _RESULT.match(line)]:
        sys.exit("\n".join(others))
    recorded = hashes("\n".join(lines))
    expected = [kernel for source in SOURCES for kernel in kernels_of(source)]
    if missing := set(expected) ^ set(recorded):
        sys.exit(f"missing or unknown: {sorted(missing)}")
    RECORDED.write_text(json.dumps(recorded, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    {"build": build_all, "save": save}[sys.argv[1]](Path(sys.argv[2]))

"""Work that is repeated: `cutune tune` of a sample and `cutune nvcc` of its source, each once and
again, beside nvcc with the source as it is and with the tuned one.

`python -m benchmarks.repeated [--against FOLDER]`: also those of another checkout, in turn. Least
of the rounds, wall time and processor time (user and system, of nvcc too).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from cutune.toolchain.nvcc import find_nvcc

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "samples" / "polybench"
ROUNDS = 3
TUNE = ["tune", "gemm.cu", "--run", "./{program} {n}", "--vary", "n=128,256,512", "-q"]
COMPILE = ["-arch=sm_90", "-c", "gemm.cu", "-o", "gemm.o"]
Times = dict[str, list[tuple[float, float]]]


def main(arguments: Sequence[str] = ()) -> int:
    """Print a line per command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--against", type=Path)
    options = parser.parse_args(list(arguments))
    checkouts = [ROOT, *([options.against.absolute()] if options.against else [])]
    times: Times = {}
    for _ in range(ROUNDS):
        for checkout in checkouts:
            _round(checkout, "" if checkout == ROOT else f"{checkout.name}: ", times)
    for name, found in times.items():
        wall, cpu = (min(kind) for kind in zip(*found, strict=True))
        print(f"  {name}: {wall:.2f} s, {cpu:.2f} s of processor time")
    return 0


def _round(checkout: Path, name: str, times: Times) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for path in (SAMPLES / "gemm.cu", *SAMPLES.glob("*.h")):
            shutil.copy(path, folder)
        # An empty cache, but for the library of the emulated device, which is built once.
        cache = Path(folder) / "cache"
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        kept = shutil.ignore_patterns("tuned", "rewritten")
        if (Path(home) / "cutune").is_dir():
            shutil.copytree(Path(home) / "cutune", cache / "cutune", ignore=kept)
        variables = {**os.environ, "PYTHONPATH": str(checkout), "XDG_CACHE_HOME": str(cache)}
        cutune, nvcc = [sys.executable, "-m", "cutune"], str(find_nvcc().path)
        runs = {
            "tune": [*cutune, *TUNE],
            "tune again": [*cutune, *TUNE],
            "nvcc gemm.cu": [nvcc, *COMPILE],
            "nvcc gemm.tuned.cu": [nvcc, *COMPILE[:2], "gemm.tuned.cu", *COMPILE[3:]],
            "cutune nvcc": [*cutune, "nvcc", *COMPILE],
            "cutune nvcc again": [*cutune, "nvcc", *COMPILE],
        }
        for what, command in runs.items():
            times.setdefault(name + what, []).append(_once(command, folder, variables))


def _once(command: Sequence[str], folder: str, variables: dict[str, str]) -> tuple[float, float]:
    begin, before = time.perf_counter(), os.times()
    subprocess.run(command, cwd=folder, env=variables, capture_output=True, check=True)
    wall, after = time.perf_counter() - begin, os.times()
    user = after.children_user - before.children_user
    return wall, user + after.children_system - before.children_system


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

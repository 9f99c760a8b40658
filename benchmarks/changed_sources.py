"""Builds of a changed source by `cutune nvcc` and by nvcc, in pairs: medians of what they take.

    python -m benchmarks.changed_sources [--pairs 7] [FOLDER SOURCE [NVCC_FLAG …]]

The folder holds a source with models for it, in a workspace; without one, the PolyBench sample GEMM
is tuned first. Each pair compiles the source once by each, after the same change: none, a comment
before line 1, or a statement in `main`. Every change is another one. CPU time of all processes is
what a machine that does other things changes least.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from cutune.toolchain.nvcc import find_nvcc

CUTUNE = [sys.executable, "-P", "-m", "cutune"]
ROOT = Path(__file__).parents[1]
_MAIN = re.compile(r"\bint main\([^)]*\)\s*\{")


def changed(text: str, kind: str, number: int) -> str:
    """The source with a change that nobody has made before."""
    if kind == "comment":
        return f"// Remark {number}.\n{text}"
    if kind == "host code":
        return _MAIN.sub(lambda m: f'{m[0]} if (argc == {number}) puts("{number}");', text, count=1)
    return text


def seconds_of(command: Sequence[str]) -> tuple[float, float]:
    """Wall time of a command, and CPU time of all that it starts."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a line for each kind of change."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.changed_sources")
    options.add_argument("--pairs", type=int, default=7)
    options.add_argument("words", nargs=argparse.REMAINDER, metavar="FOLDER SOURCE NVCC_FLAG")
    asked = options.parse_args()
    os.environ["PYTHONPATH"] = str(ROOT)
    # What is installed has its modules compiled.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as temporary:
        folder, source, *flags = asked.words or _tuned_sample(Path(temporary))
        os.chdir(folder)
        text = Path(source).read_text()
        try:
            for kind in ("nothing", "comment", "host code"):
                _compare(source, text, kind, asked.pairs, flags)
        finally:
            Path(source).write_text(text)


def _tuned_sample(folder: Path) -> list[str]:
    for name in ("gemm.cu", "polybench.h"):
        shutil.copy(ROOT / "samples" / "polybench" / name, folder)
    run = ["--run", "./{program} {n}", "--vary", "n=64,128", "--quiet"]
    subprocess.run([*CUTUNE, "tune", "gemm.cu", *run], cwd=folder, check=True, capture_output=True)
    return [str(folder), "gemm.cu"]


def _compare(source: str, text: str, kind: str, pairs: int, flags: Sequence[str]) -> None:
    words = ["-O2", *flags, "-MD", "-c", source, "-o", "changed.o"]
    both = [str(find_nvcc().path)], [*CUTUNE, "nvcc"]
    seconds_of([*both[1], *words])
    walls, cpus = [], []
    for _ in range(pairs):
        Path(source).write_text(changed(text, kind, time.time_ns()))
        (own, own_cpu), (wall, cpu) = (seconds_of([*command, *words]) for command in both)
        walls.append((wall / own, wall, own))
        cpus.append((cpu / own_cpu, cpu, own_cpu))
    for name, found in (("s", walls), ("s of CPU", cpus)):
        ratio, mine, own = (statistics.median(column) for column in zip(*found, strict=True))
        print(f"  {kind}: {mine:.2f} {name}, nvcc {own:.2f}: {ratio:.2f} times", flush=True)


if __name__ == "__main__":
    main()

"""Time of `cutune inspect` on the PolyBench samples, each a whole process, with nvcc:
`python -m benchmarks.inspect_time [--json FILE] [--against FILE]`.

Wall time depends on who else uses the machine: processor time (user and system, of nvcc too) is
told beside it. Medians of three rounds per sample.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.launch_verdicts import Unit, command_line
from tests.support.module_paths import ROOT, module_paths

ROUNDS = 3
Times = Mapping[str, Mapping[str, float]]


def main(arguments: Sequence[str] = ()) -> int:
    """Print a line per sample and the sums; with `--against`, the ratios to an earlier run."""
    options = _options(arguments)
    seconds = measured(sorted((ROOT / "samples" / "polybench").glob("*.cu")))
    for name, times in seconds.items():
        print(f"  {name}: {times['wall']:.2f} s, {times['cpu']:.2f} s of processor time")
    sums = _sums(seconds)
    print(f"  sum: {sums['wall']:.2f} s, {sums['cpu']:.2f} s of processor time")
    if options.json is not None:
        document = {"schema": "cutune.benchmarks.inspect_time/1", "seconds": seconds}
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    if options.against is not None:
        before = _sums(json.loads(options.against.read_text())["seconds"])
        wall, cpu = (sums[kind] / before[kind] for kind in ("wall", "cpu"))
        print(f"  {wall:.2f} times the earlier wall time, {cpu:.2f} times the processor time")
    return 0


def measured(paths: Sequence[Path], rounds: int = ROUNDS) -> dict[str, dict[str, float]]:
    """Medians per file; rounds follow each other, so that a disturbance meets one of each."""
    every: dict[str, list[tuple[float, float]]] = {path.stem: [] for path in paths}
    for _ in range(rounds):
        for path in paths:
            every[path.stem].append(_once(path))
    return {
        name: {
            "wall": round(statistics.median(wall for wall, _ in times), 4),
            "cpu": round(statistics.median(cpu for _, cpu in times), 4),
        }
        for name, times in every.items()
    }


def _once(path: Path) -> tuple[float, float]:
    environment = {**os.environ, "PYTHONPATH": module_paths()}
    command = command_line(Unit((path.name,)))
    begin, before = time.perf_counter(), os.times()
    subprocess.run(command, cwd=path.parent, env=environment, capture_output=True, check=True)
    wall, after = time.perf_counter() - begin, os.times()
    user = after.children_user - before.children_user
    return wall, user + after.children_system - before.children_system


def _sums(seconds: Times) -> dict[str, float]:
    return {kind: sum(times[kind] for times in seconds.values()) for kind in ("wall", "cpu")}


def _options(arguments: Iterable[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path)
    return parser.parse_args(list(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

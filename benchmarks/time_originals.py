"""Runs what polybench_originals built, on the machine with the GPU. Needs Python and g++ only.

python3 time_originals.py FOLDER OUTPUT [SECONDS [FIRST [WAYS]]]

After SECONDS it stops, and says with which number another call goes on. Three ways in turn: as it
was, tuned, and tuned with CUTUNE=refine; or those that are named, with commas between.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

CUDA = Path("/usr/local/cuda")
RUN_SECONDS = 30
#: Rounds of runs: at least, at most, and for how many seconds there are more than the least number.
RUNS, MOST_RUNS, SECONDS_FOR_MORE = 3, 40, 8
#: Programs whose launches take so little are run longer: a single launch takes anything from 8 to
#: 16 us, and the least of ten runs is no better than 20 %.
BRIEF_US, SECONDS_FOR_BRIEF = 40.0, 40
#: Enough when each way has so many runs whose launches took together hardly more than in its best.
AGREEING, HARDLY_MORE = 3, 1.02
#: The ways, the word in the plan that names their binaries, and what they need besides.
WAYS: dict[str, tuple[str, dict[str, str]]] = {
    "original": ("original", {}),
    "tuned": ("tuned", {}),
    "refined": ("tuned", {"CUTUNE": "refine"}),
}
#: Launches that are timed; programs with time steps repeat themselves.
LIMIT = 600


def main(folder: Path, output: Path, seconds: float, first: int, ways: list[str]) -> None:
    """All programs from the first on in turn, each in these ways alternating."""
    shim = output / "launch_times.so"
    compile_shim = ["g++", "-O2", "-shared", "-fPIC", f"-I{CUDA}/include"]
    source = str(folder / "launch_times.cpp")
    subprocess.run([*compile_shim, source, "-o", str(shim), "-ldl"], check=True)
    end = time.monotonic() + seconds
    with (output / "times.jsonl").open("w") as file:
        plan = json.loads((folder / "plan.json").read_text())
        for number, entry in enumerate(plan[first:], first):
            if time.monotonic() > end:
                print(f"no time left; go on with FIRST = {number} of {len(plan)}")
                break
            start = time.monotonic()
            try:
                measured = timed(folder / "bin", entry, ways, output / "launches.txt", shim)
            except subprocess.SubprocessError as error:
                print(f"{entry['original']}: {error}", flush=True)
                continue
            seconds_taken = time.monotonic() - start
            print(f"{entry['original']}: {seconds_taken:.1f} s", flush=True)
            file.write(json.dumps(measured) + "\n")
            file.flush()


def timed(
    folder: Path, entry: dict[str, object], ways: list[str], lines: Path, shim: Path
) -> dict[str, object]:
    """The times of each launch, and the blocks of the first run."""
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": f"{CUDA}/lib64",
        "LD_PRELOAD": str(shim),
        "LAUNCH_TIMES": str(lines),
        "LAUNCH_LIMIT": str(LIMIT),
        "CUDA_MODULE_LOADING": "EAGER",
    }
    found: dict[str, list[list[float]]] = {way: [] for way in ways}
    blocks: dict[str, list[str]] = {}
    begun = time.monotonic()
    for number in range(MOST_RUNS):
        is_brief = any(sum(times) < BRIEF_US for runs in found.values() for times in runs)
        is_late = time.monotonic() - begun > (SECONDS_FOR_BRIEF if is_brief else SECONDS_FOR_MORE)
        if number >= RUNS and (is_late or all(map(is_settled, found.values()))):
            break
        for way in ways:
            word, more = WAYS[way]
            lines.unlink(missing_ok=True)
            binary = str(folder / str(entry[word]))
            subprocess.run(
                [binary],
                env={**environment, **more},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                check=True,
                timeout=RUN_SECONDS,
            )
            rows = [row.split() for row in lines.read_text().splitlines()]
            found[way].append([float(row[-1]) for row in rows])
            blocks.setdefault(way, sorted({" ".join(row[:-1]) for row in rows}))
    return {**entry, **found, "blocks": blocks}


def is_settled(runs: list[list[float]]) -> bool:
    """Have several runs found what the best one did?"""
    totals = [sum(times) for times in runs]
    return sum(total <= HARDLY_MORE * min(totals) for total in totals) >= AGREEING


if __name__ == "__main__":
    limit = float(sys.argv[3]) if len(sys.argv) > 3 else 1e9
    begin = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    names = sys.argv[5].split(",") if len(sys.argv) > 5 else list(WAYS)
    main(Path(sys.argv[1]), Path(sys.argv[2]), limit, begin, names)

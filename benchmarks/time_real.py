"""Runs what real_on_gpu prepared, on the machine with the GPU. Needs Python only.

cd FOLDER && python3 -m benchmarks.time_real . OUTPUT [SECONDS [FIRST [COUNT]]]

Per program own and tuned binary in turn, each without anything for its wall time and what it
prints, and once more with CUPTI for the GPU time of its kernels. OUTPUT/times.jsonl gets a line
per program as soon as it is measured; after SECONDS it stops, and says how another call goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.made_up_inputs import MAKERS

WAYS = ("own", "tuned")
#: Rounds of four runs: at least, and at most; repetitions of a run take LONGEST_S together.
LEAST_RUNS, MOST_RUNS, LONGEST_S = 2, 5, 3.0
#: A run that takes longer is given up.
RUN_SECONDS = 60.0
#: What a program gets of the time at least and at most; the rest is shared equally.
LEAST_S, MOST_S = 20.0, 120.0
KEPT_OUTPUT = 3000
#: Lines that say how long something took, and so differ from run to run.
TIMING = re.compile(
    r"time|second|elapsed|took|bandwidth|throughput|rate|speed|perf|/s\b|flop|\b[mun]?s(ec)?\b",
    re.IGNORECASE,
)
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf", re.IGNORECASE)


def main(folder: Path, output: Path, seconds: float, first: int, count: int) -> None:
    """The programs from the first on in turn."""
    plan = json.loads((folder / "plan.json").read_text())
    device = device_name()
    end = time.monotonic() + seconds
    output.mkdir(parents=True, exist_ok=True)
    chosen = plan[first : first + count]
    with (output / "times.jsonl").open("a") as file:
        for number, entry in enumerate(chosen):
            begin = time.monotonic()
            if begin + LEAST_S > end:
                print(f"no time left; go on with FIRST = {first + number} of {len(plan)}")
                break
            share = (end - begin) / (len(chosen) - number)
            with tempfile.TemporaryDirectory() as place:
                found = measured(folder, Path(place), entry, min(MOST_S, max(LEAST_S, share)))
            file.write(json.dumps({**found, "device": device}) + "\n")
            file.flush()
            print(_line(found), f"{time.monotonic() - begin:.0f} s", flush=True)
            if unrecorded := _unrecorded(found):
                print(f"CUPTI recorded no kernel, so nothing more is run: {unrecorded}")
                break


def measured(folder: Path, place: Path, entry: dict[str, Any], share_s: float) -> dict[str, Any]:
    """All runs of one program, or why there are none."""
    end = time.monotonic() + share_s
    found: dict[str, Any] = {**entry, "runs": {way: [] for way in WAYS}}
    try:
        lay_out(folder / "files" / entry["program"], place, entry)
        found["repetitions"] = chosen_repetitions(folder, place, entry)
        words = _words(entry, found["repetitions"])
        for number in range(MOST_RUNS):
            if number >= LEAST_RUNS and time.monotonic() > end:
                break
            for way in WAYS if number % 2 == 0 else WAYS[::-1]:
                found["runs"][way].append(one_run(folder, place, entry["program"], way, words))
    except (OSError, subprocess.SubprocessError) as error:
        found["error"] = str(error)
    return found


def device_name() -> str:
    """The GPU, as its driver calls it."""
    if shutil.which("nvidia-smi") is None:
        return "no GPU"
    words = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()


def _unrecorded(found: dict[str, Any]) -> str:
    """The output of a program under CUPTI that did its work, and of which no kernel is known."""
    runs = [run for way in WAYS for run in found["runs"][way]]
    if any(run["status"] or run["kernels"] for run in runs):
        return ""
    return str(runs[0]["under_cupti"][-500:]) if runs else ""


def lay_out(files: Path, place: Path, entry: dict[str, Any]) -> None:
    """The inputs of the program, where it looks for them from its folder `work`."""
    (place / "work").mkdir()
    if files.exists():
        shutil.copytree(files, place / "work", dirs_exist_ok=True)
    for path, maker, size in entry["inputs"]:
        MAKERS[maker](place / "work" / path, size)


def chosen_repetitions(folder: Path, place: Path, entry: dict[str, Any]) -> int | None:
    """As many repetitions as `make run` asks for, or as LONGEST_S have time for."""
    wanted = entry["own_repetitions"]
    if wanted is None:
        return None
    few = 1
    shortest = _seconds_of(folder, place, entry, few)
    while few * 10 < wanted:
        more = _seconds_of(folder, place, entry, few * 10)
        each = max(more - shortest, 0.0) / (few * 10 - 1)
        few *= 10
        if each * min(few * 10, wanted) > LONGEST_S:
            return min(int(wanted), max(few // 10, int(LONGEST_S / each)))
    return int(wanted)


def _seconds_of(folder: Path, place: Path, entry: dict[str, Any], repetitions: int) -> float:
    words = _words(entry, repetitions)
    return float(_run(folder, place, entry["program"], "own", words, {})["wall_s"])


def _words(entry: dict[str, Any], repetitions: int | None) -> list[str]:
    return [word.replace("{r}", str(repetitions)) for word in entry["arguments"]]


def one_run(folder: Path, place: Path, name: str, way: str, words: list[str]) -> dict[str, Any]:
    """Wall time and output of a run, and kernel times of another one."""
    run = _run(folder, place, name, way, words, {})
    lines = place / "kernel_times.txt"
    lines.unlink(missing_ok=True)
    shim = str((folder / "kernel_times.so").absolute())
    more = {"KERNEL_TIMES": str(lines.absolute()), "CUDA_INJECTION64_PATH": shim}
    under_cupti = _run(folder, place, name, way, words, more)["output"]
    rows = lines.read_text().splitlines() if lines.exists() else []
    run["kernels"] = [row.split(" ", 3) for row in rows]
    if not rows:
        run["under_cupti"] = under_cupti
    return run


def _run(
    folder: Path, place: Path, name: str, way: str, words: list[str], more: dict[str, str]
) -> dict[str, Any]:
    binary = str((folder / "bin" / f"{name}.{way}").absolute())
    known = set((place / "work").iterdir())
    begin = time.monotonic()
    done = subprocess.run(
        [binary, *words],
        cwd=place / "work",
        env={**os.environ, **more},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    wall = time.monotonic() - begin
    text = (done.stdout + done.stderr).decode(errors="replace").replace(binary, "main")
    for path in sorted(set((place / "work").iterdir()) - known):
        text += f"\n{path.name}: {_hash(path.read_bytes())}"
        path.unlink()
    return {"status": done.returncode, "wall_s": wall, "output": kept(text)}


def kept(text: str) -> str:
    """The results of a program: numbers of timing lines are left out, and long output cut."""
    lines = text.splitlines()
    shown = (NUMBER.sub("#", line) if TIMING.search(line) else line for line in lines)
    result = "\n".join(shown)
    if len(result) <= KEPT_OUTPUT:
        return result
    return f"{result[:KEPT_OUTPUT]}\n… {len(result)} characters, hash {_hash(result.encode())}"


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _line(found: dict[str, Any]) -> str:
    if "error" in found:
        return f"{found['program']}: {found['error']}"
    runs = found["runs"]
    wall = [min(run["wall_s"] for run in runs[way]) for way in WAYS]
    gpu = [min(sum(int(row[1]) for row in run["kernels"]) for run in runs[way]) for way in WAYS]
    status = sorted({run["status"] for way in WAYS for run in runs[way]})
    return (
        f"{found['program']}: {len(runs['own'])} runs, repetitions {found['repetitions']}, wall"
        f" {wall[0]:.2f} {wall[1]:.2f} s, GPU {gpu[0] / 1e6:.2f} {gpu[1] / 1e6:.2f} ms,"
        f" status {status};"
    )


if __name__ == "__main__":
    limit = float(sys.argv[3]) if len(sys.argv) > 3 else 1e9
    begin_with = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    most = int(sys.argv[5]) if len(sys.argv) > 5 else 1000
    main(Path(sys.argv[1]), Path(sys.argv[2]), limit, begin_with, most)

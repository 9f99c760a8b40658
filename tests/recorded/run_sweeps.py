"""Runs what record_sweep prepared, on the machine with the GPU.

    python3 run_sweeps.py FOLDER OUTPUT SECONDS [PASSES]

Needs nothing but Python. One run after the other, and all of them once more per pass; a run whose
sweep is complete is ended, because what the program does behind it, its check on the host, is
tested elsewhere.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

POLL_SECONDS = 0.05


def main(folder: Path, output: Path, seconds: float, passes: int) -> None:
    """All runs of the plan, as long as there is time."""
    end = time.monotonic() + seconds
    (output / "about.json").write_text(json.dumps(about()))
    for number in range(passes):
        for run in json.loads((folder / "plan.json").read_text()):
            name = f"{number}/{run['program']}-{run['size']}"
            start = time.monotonic()
            if start > end:
                print(f"{name}: no time left")
                continue
            lines = output / f"{name}.jsonl"
            lines.parent.mkdir(parents=True, exist_ok=True)
            status = sweep(folder, run, lines, min(end, start + run.get("seconds", seconds)))
            found = lines.read_text().count("\n") if lines.exists() else 0
            print(f"{name}: {found} lines, {time.monotonic() - start:.1f} s, {status}", flush=True)


def about() -> dict[str, str]:
    """The GPU, and its driver."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    # Several GPUs of a machine are alike.
    name, driver = subprocess.check_output(query, text=True).splitlines()[0].split(", ")
    return {"device": name, "driver": driver}


def sweep(folder: Path, run: dict[str, object], lines: Path, end: float) -> str:
    """One run; how it ended."""
    candidates = folder / f"{run['program']}.candidates"
    environment = {
        **os.environ,
        "CUTUNE_MODE": "sweep",
        "CUTUNE_CANDIDATES": str(candidates),
        "CUTUNE_OUTPUT": str(lines),
        "CUTUNE_LAUNCH_LIMIT": "1",
        "CUTUNE_REPETITIONS": str(run["repetitions"]),
    }
    binary = folder / f"{run['program']}.instrumented"
    command = [str(binary), str(run["size"])]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    # Every block that is listed; the program's own is among them.
    wanted = len(candidates.read_text().splitlines())
    while process.poll() is None:
        if time.monotonic() > end:
            process.kill()
            return "stopped"
        if lines.exists() and lines.read_text().count("\n") >= wanted:
            # The original launch and the host's part remain.
            process.kill()
            return "complete"
        time.sleep(POLL_SECONDS)
    said = process.stdout.read().strip() if process.stdout else ""
    return f"status {process.returncode}: {said[-200:]}"


if __name__ == "__main__":
    arguments = sys.argv[1:]
    count = int(arguments[3]) if len(arguments) > 3 else 1
    main(Path(arguments[0]), Path(arguments[1]), float(arguments[2]), count)

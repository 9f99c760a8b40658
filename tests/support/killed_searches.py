"""Searches that are killed: `python -m tests.support.killed_searches FOLDER --kills 50 --seed 1`.

Signal 9 goes to cutune, to one of its workers or to a program that one of them runs, at random
moments of a search on two GPUs; where cutune was ended it is called again. What comes out has to be
what comes out undisturbed. The GPUs and the compiler's output are stand-ins; all else is cutune.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SOURCE = """\
#include <cstdio>
#include <cstdlib>

__global__ void add(int n, int *x) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1;
}

int main(int argc, char **argv) {
    int n = atoi(argv[1]), *x;
    cudaMallocManaged(&x, n * sizeof(int));
#pragma cutune tune(mode: 0, 1, 2, 3) data(n)
    int mode = 0;
#pragma cutune tune(step: 0..15) data(n)
    int step = 0;
#pragma cutune tune(block: 32, 64, 128, 256) data(n)
    int block = 32;
#pragma cutune region begin
    add<<<(n + block - 1) / block, block>>>(n, x);
#pragma cutune region end
    cudaDeviceSynchronize();
    printf("last %d\\n", x[n - 1]);
}
"""
#: Stands for the program on a GPU. Mode 2 computes something else, mode 3 fails. To import json is
#: as long again as all of it.
PROGRAM = """\
#!{python} -S
import os, sys, time
first = os.environ["CUTUNE_SET"] or "mode=0,step=0,block=32"
others = os.environ.get("CUTUNE_REPEAT", "")
n = int(sys.argv[1])
time.sleep({pause})
for turn, text in enumerate([first, *(others.split(";") if others else ())]):
    values = {{name: int(value) for name, value in (word.split("=") for word in text.split(","))}}
    mode, step, block = values["mode"], values["step"], values["block"]
    own = {{"mode": 0, "step": 0, "block": 32}}
    tunables = {{
        name: {{"value": value, "original": own[name], "ambiguous": False, "data": {{"n": n}}}}
        for name, value in values.items()
    }}
    milliseconds = 1 + (mode == 0) + abs(step - n % 16) / 8 + 16 / block
    line = {{"device": "a GPU", "milliseconds": milliseconds, "tunables": tunables, "turn": turn}}
    with open(os.environ["CUTUNE_OUTPUT"], "a") as output:
        print(str(line).replace("'", '"').replace("False", "false"), file=output)
with open({log!r}, "a") as log:
    log.write(f"{{n}} {{first}} {{os.environ.get('CUDA_VISIBLE_DEVICES', '')}}\\n")
print("last", 1 + (mode == 2))
sys.exit(mode == 3)
"""
DRIVER = """\
import signal
import sys
from pathlib import Path
from cutune.cli.main import main
from cutune.search.builds import Builds, Built
if __name__ == "__main__":  # processes of dask read this file, too
    # What a shell starts in the background ignores Ctrl-C, what nohup starts a closed terminal, and
    # so does all that they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    Builds._built = lambda self, values: Built(Path(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
"""
DRIVER_KILLED, WORKER_KILLED, PROGRAM_KILLED = "cutune", "worker", "program"
#: Seconds that a search may take until something ends.
_MOST_SECONDS = 120.0


@dataclass(frozen=True)
class Searches:
    """A program whose parameters are searched, in a folder of its own.

    Attributes:
        budget: configurations at each of the sizes.
        options: further ones of cutune.
        is_repeated: may the region run again? Then what is wrong is found only where it runs alone,
            and is left out.
    """

    folder: Path
    budget: int
    pause: float
    options: Sequence[str] = ("--gpus", "0,1")
    sizes: str = "101,1000"
    is_repeated: bool = False

    def prepare(self) -> None:
        """Write the program and what stands in for the machine."""
        self.folder.mkdir(parents=True, exist_ok=True)
        repeated = SOURCE.replace("region begin", "region begin repeat")
        (self.folder / "program.cu").write_text(repeated if self.is_repeated else SOURCE)
        (self.folder / "driver.py").write_text(DRIVER)
        listed = [f"echo 'GPU {n}: NVIDIA H100 (UUID: GPU-{n}{n})'" for n in (0, 1)]
        _executable(self.folder / "nvidia-smi", "\n".join(["#!/bin/sh", *listed, ""]))
        text = PROGRAM.format(python=sys.executable, pause=self.pause, log=str(self.log))
        _executable(self.folder / "timed", text)

    @property
    def log(self) -> Path:
        """A line for each run of the program that has come to its end."""
        return self.folder / "log"

    def trials(self, workspace: str) -> list[dict[str, Any]]:
        """The lines of its trials, as far as they are whole."""
        found = []
        path = self.folder / workspace / "trials.jsonl"
        for line in path.read_text().splitlines() if path.exists() else ():
            with suppress(ValueError):
                found.append(json.loads(line))
        return found

    def start(self, workspace: str) -> subprocess.Popen[str]:
        """Begin to search, or go on."""
        search = ["--search", str(self.budget), "--repetitions", "2", "--start", "mode=1"]
        run = ["--run", "{program} {n}", "--vary", f"n={self.sizes}"]
        quick = ["-std=c++14", "--nvcc-flag=-arch=compute_80", "--variants=none", "-q"]
        words = ["collect", str(self.folder / "program.cu"), "--tunables", "--on", "gpu", *search]
        words += [*run, "--workspace", str(self.folder / workspace), *quick, *self.options]
        words += ["--tune", "mode=0,1"] if self.is_repeated else []
        return subprocess.Popen(
            [sys.executable, str(self.folder / "driver.py"), str(self.folder / "timed"), *words],
            env={**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@dataclass
class Fault:
    """Kills, one after the other, none of which hits a trial that was hit before.

    That is quarantined, which is another test.
    """

    searches: Searches
    workspace: str
    random: random.Random
    killed: Counter[str] = field(default_factory=Counter)
    _in_flight: frozenset[str] = frozenset()
    _ended: int = 0

    def disturb(self, kills: int) -> subprocess.CompletedProcess[str]:
        """Search to the end, with so many kills on the way."""
        own = self.searches.start(self.workspace)
        while self.killed.total() < kills and own.poll() is None:
            time.sleep(self.random.uniform(0.0, 4 * self.searches.pause))
            if not self._kill_something(own):
                continue
            if own.poll() is not None and self.killed.total() <= kills:
                own.communicate()
                own = self.searches.start(self.workspace)
        output, errors = own.communicate(timeout=10 * _MOST_SECONDS)
        return subprocess.CompletedProcess(own.args, own.returncode, output, errors)

    def _kill_something(self, own: subprocess.Popen[str]) -> bool:
        """While cutune stands still, so that it is known what is in flight."""
        os.kill(own.pid, signal.SIGSTOP)
        try:
            workers, programs = _processes(own.pid)
            victim = self.random.choice((DRIVER_KILLED, WORKER_KILLED, PROGRAM_KILLED))
            pids = {DRIVER_KILLED: [own.pid], WORKER_KILLED: workers, PROGRAM_KILLED: programs}
            if not programs or not self._may_kill():
                return False
            with suppress(ProcessLookupError):
                os.kill(self.random.choice(pids[victim]), signal.SIGKILL)
                self.killed[victim] += 1
        finally:
            with suppress(ProcessLookupError):
                os.kill(own.pid, signal.SIGCONT)
        if victim == DRIVER_KILLED:
            own.wait()
            last = time.monotonic() + 30
            while any(map(is_running, [*workers, *programs])):
                assert time.monotonic() < last, "something goes on running"
                time.sleep(0.02)
        return True

    def _may_kill(self) -> bool:
        """Has all ended that was in flight when something was killed, and something besides?"""
        begun: Counter[str] = Counter()
        ended: Counter[str] = Counter()
        for line in self.searches.trials(self.workspace):
            {"begin": begun, "end": ended}.get(line["event"], Counter())[line["trial"]] += 1
        if any(trial not in ended for trial in self._in_flight) or ended.total() == self._ended:
            return False
        self._in_flight = frozenset(trial for trial in begun if trial not in ended)
        self._ended = ended.total()
        return True


def outcome(lines: Sequence[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """How each trial ended last, without what differs from search to search."""
    return {
        line["trial"]: (
            *(line["status"], line["reason"], line["final"]),
            [(one["values"], one["milliseconds"]) for one in line["measured"]],
        )
        for line in lines
        if line["event"] == "end"
    }


def repeated(lines: Sequence[dict[str, Any]]) -> list[str]:
    """Trials that were measured although they had ended, or timed twice as finalists."""
    found: Counter[tuple[str, bool]] = Counter()
    over: list[str] = []
    for line in lines:
        if line["event"] == "end":
            found[line["trial"], line["final"]] += 1
        elif line["event"] == "begin" and found[line["trial"], False]:
            over.append(line["trial"])
    return over + [trial for (trial, _), count in found.items() if count > 1]


def _executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _processes(driver: int) -> tuple[list[int], list[int]]:
    """The workers of cutune, and what these run."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = stat.read_bytes().rpartition(b")")[2].split()[:2]
            if state != b"Z":
                parents.setdefault(int(parent), []).append(int(stat.parent.name))
    workers = [one for one in parents.get(driver, []) if b"serve_tasks" in _command(one)]
    return workers, [program for one in workers for program in parents.get(one, [])]


def _command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def is_running(pid: int) -> bool:
    """One that has ended may stay in the table until someone asks for its status."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    return False


def check(searches: Searches, kills: int, seed: int) -> dict[str, Any]:
    """Disturb a search, and compare it with one that was not; figures of both.

    Raises:
        AssertionError: something was lost, done twice, or came out otherwise.
    """
    searches.prepare()
    plain = searches.start("plain")
    said, errors = plain.communicate(timeout=10 * _MOST_SECONDS)
    assert plain.returncode == 0, errors
    undisturbed = len(searches.log.read_text().splitlines())
    searches.log.unlink()
    fault = Fault(searches, "killed", random.Random(seed))
    done = fault.disturb(kills)
    assert done.returncode == 0, done.stderr
    before, after = searches.trials("plain"), searches.trials("killed")
    assert outcome(after) == outcome(before), "something was lost, or came out otherwise"
    assert repeated(after) == [], "something was measured twice"
    # What a killed process held runs alone, and is compared.
    assert done.stdout == said or searches.is_repeated
    assert fault.killed.total() == kills, f"only {fault.killed.total()} kills: search longer"
    begun = Counter(line["trial"] for line in after if line["event"] == "begin")
    return {
        "kills": dict(fault.killed),
        "trials": len(outcome(after)),
        "statuses": dict(Counter(one[0] for one in outcome(after).values())),
        "begun again": sum(count - 1 for count in begun.values()),
        "runs to the end": len(searches.log.read_text().splitlines()),
        "runs to the end, undisturbed": undisturbed,
    }


def main() -> None:
    """The command line."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--kills", type=int, default=50)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--budget", type=int, default=120, help="configurations at each size")
    options.add_argument("--pause", type=float, default=0.2, help="seconds of one run")
    options.add_argument("--repeat", action="store_true", help="configurations share processes")
    asked = options.parse_args()
    searches = Searches(asked.folder.resolve(), asked.budget, asked.pause, is_repeated=asked.repeat)
    print(json.dumps(check(searches, asked.kills, asked.seed), indent=1))


if __name__ == "__main__":
    main()

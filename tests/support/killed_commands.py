"""Commands that are killed.

`python -m tests.support.killed_commands FOLDER --kills 30 --processes 6`

Signal 9 goes to all processes of `tune`, of its steps, of `make -j4` with `cutune nvcc`, or to one
of them, at random moments, or Ctrl-C to all; the command is called again, and perhaps killed again.
What it has written in the end has to be what it writes undisturbed, to the byte, and no call ends
with a traceback.
`tests.support.killed_searches` does the same to searches.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from cutune.model.measurement.measurement import KERNEL_SCHEMA
from tests.support.module_paths import ROOT, module_paths

QUICK = ("-std=c++14", "--nvcc-flag=-arch=compute_80", "--variants=none")
_SOURCE = """\
#include <cstdio>
#include <cstdlib>

__global__ void {name}(int n, int m, const float *x, float *y) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {{
        float sum = {start};
        for (int j = 0; j < m; ++j) sum += x[j * n + i];
        y[i] = sum;
    }}
}}

void run_{name}(int n, float *x, float *y) {{
    {name}<<<(n + 255) / 256, 256>>>(n, 32, x, y);
}}
"""
_MAIN = """
int main(int argc, char **argv) {{
    int n = atoi(argv[1]);
    float *x, *y;
    cudaMallocManaged(&x, 32 * n * sizeof(float));
    cudaMallocManaged(&y, n * sizeof(float));
    for (int i = 0; i < 32 * n; ++i) x[i] = i % 7;
    run_{name}(n, x, y);
    cudaDeviceSynchronize();
    printf("%g %g\\n", y[0], y[n - 1]);
}}
"""
_PARTS = ("one", "two", "three", "four")
_MAKEFILE = """\
all: one.o two.o three.o four.o
%.o: %.cu
\t{nvcc} -std=c++14 -arch=compute_80 -MD -c $< -o $@
"""
#: Lines of these begin with what they are about, and are only added.
_LINES = ("measurements.jsonl",)
#: Names of the compiler's own files, by process, in the symbols of objects.
_TEMPORARY_NAME = re.compile(rb"tmpxft_[0-9a-f]{8}_[0-9a-f]{8}|nvcc_internal_\w+")
_MOST_SECONDS = 300


@dataclass
class Work:
    """A command in a folder of its own, and what it writes.

    Attributes:
        words: the command.
        kept: files that are there before it, by their names; all others are removed.
        written: names of the files that are compared.
    """

    name: str
    folder: Path
    words: Sequence[str]
    written: Sequence[str]
    kept: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def temporary(self) -> Path:
        """Its folder for temporary files."""
        return self.folder / "tmp"

    def start(self) -> subprocess.Popen[bytes]:
        """Begin, in a process group of its own."""
        self.temporary.mkdir(exist_ok=True)
        with open(self.folder / "said", "ab") as said:
            return subprocess.Popen(
                self.words,
                cwd=self.folder / "work",
                stdout=said,
                stderr=said,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": module_paths(), "TMPDIR": str(self.temporary)},
            )

    def reset(self) -> None:
        """As it was before the first call."""
        for name in ("work", "tmp", "said"):
            path = self.folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        for name, content in self.kept.items():
            path = self.folder / "work" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def results(self) -> dict[str, bytes]:
        """The files that it has written."""
        return {name: _content(self.folder / "work" / name) for name in self.written}

    def finish(self) -> float:
        """To the end, undisturbed; how long it took.

        Raises:
            AssertionError: it fails.
        """
        began = time.monotonic()
        process = self.start()
        status = process.wait(_MOST_SECONDS)
        assert status == 0, (self.folder / "said").read_text(errors="replace")[-2000:]
        return time.monotonic() - began


def _content(path: Path) -> bytes:
    """A file; of lines those that are whole. What was measured twice shows.

    Each call describes the kernels anew: equal descriptions are one.
    """
    data = path.read_bytes()
    if path.name in _LINES:
        whole = [line for line in data.splitlines(keepends=True) if _is_whole(line)]
        about = {line for line in whole if KERNEL_SCHEMA.encode() in line[:60]}
        return b"".join(sorted([*about, *(line for line in whole if line not in about)]))
    if path.suffix == ".o":
        subprocess.run(["strip", "--strip-debug", path, "-o", f"{path}.code"], check=True)
        return _TEMPORARY_NAME.sub(b"name", Path(f"{path}.code").read_bytes())
    return data


def _is_whole(line: bytes) -> bool:
    try:
        return bool(json.loads(line))
    except ValueError:
        return False


_CUTUNE = (sys.executable, "-m", "cutune")
_RUN = ("--run", "./{program} {n}", "--vary", "n=500,1000")
_STATE = (".cutune/measurements.jsonl", ".cutune/models.json")


def _tune(folder: Path) -> Work:
    words = [*_CUTUNE, "tune", "a.cu", *_RUN, *QUICK, "-o", "tuned.cu"]
    return Work("tune", folder, words, ("tuned.cu", *_STATE), _one_source())


def _collect(folder: Path) -> Work:
    words = [*_CUTUNE, "collect", "a.cu", *_RUN, *QUICK]
    return Work("collect", folder, words, _STATE[:1], _one_source())


def _fit(folder: Path) -> Work:
    return _step(folder, "fit", ["fit"], _STATE[1:], ("collect", "a.cu", *_RUN, *QUICK))


def _emit(folder: Path) -> Work:
    words = ["emit", "a.cu", *QUICK, "-o", "tuned.cu"]
    return _step(folder, "emit", words, ("tuned.cu",), ("tune", "a.cu", *_RUN, *QUICK))


def _step(
    folder: Path, name: str, words: Sequence[str], written: Sequence[str], before: Sequence[str]
) -> Work:
    """A step in a workspace that another command has left."""
    first = Work(name, folder, [*_CUTUNE, *before], (), _one_source())
    first.reset()
    first.finish()
    state = (name for name in _STATE if (folder / "work" / name).exists())
    kept = {name: (folder / "work" / name).read_bytes() for name in state if name not in written}
    return Work(name, folder, [*_CUTUNE, *words], written, {**_one_source(), **kept})


def _one_source() -> dict[str, bytes]:
    return {"a.cu": (_SOURCE + _MAIN).format(name="sums", start="0").encode()}


def _make(folder: Path) -> Work:
    """A build in parallel of sources that were tuned before."""
    sources = {
        f"{name}.cu": (_SOURCE + (_MAIN if number == 0 else "")).format(name=name, start=number)
        for number, name in enumerate(_PARTS)
    }
    makefile = _MAKEFILE.format(nvcc=" ".join([*_CUTUNE, "nvcc"]))
    kept = {name: text.encode() for name, text in {**sources, "Makefile": makefile}.items()}
    first = Work("make", folder, ["make", "-j4"], (), kept)
    first.reset()
    tune = [*_CUTUNE, "tune", "one.cu", *_RUN, *QUICK, "-o", str(folder / "tuned.cu")]
    Work("", folder, tune, ()).finish()
    kept[".cutune/models.json"] = (folder / "work/.cutune/models.json").read_bytes()
    written = [f"{name}.{ending}" for name in _PARTS for ending in ("o", "d")]
    return Work("make", folder, ["make", "-j4"], written, kept)


#: What is killed: each in a folder of its own, so that paths in results are the same.
WORKS: Mapping[str, Callable[[Path], Work]] = {
    "tune": _tune,
    "collect": _collect,
    "fit": _fit,
    "emit": _emit,
    "make": _make,
}


@dataclass
class Report:
    """The calls that were tried, and what was found."""

    kills: Counter[str] = field(default_factory=Counter)
    trials: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)


def disturbed(work: Work, took: float, rng: random.Random, most: int) -> int:
    """Begin anew and kill, up to so often; how often something was killed."""
    work.reset()
    kills = 0
    while kills < most:
        process = work.start()
        until = time.monotonic() + rng.uniform(0, took)
        while time.monotonic() < until and process.poll() is None:
            time.sleep(0.005)
        if process.poll() is None:
            kills += 1
            _kill(process, rng)
        process.wait(_MOST_SECONDS)
        if rng.random() < 0.5:
            break
    return kills


def _kill(process: subprocess.Popen[bytes], rng: random.Random) -> None:
    """All, or one of them; the others then end by themselves. Or Ctrl-C, after which all end."""
    if rng.random() < 0.3:
        os.killpg(process.pid, signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_MOST_SECONDS)
            return
    own = [pid for pid in _group(process.pid) if rng.random() < 0.5]
    if own and rng.random() < 0.4:
        with suppress(ProcessLookupError):
            os.kill(rng.choice(own), signal.SIGKILL)
        last = time.monotonic() + _MOST_SECONDS
        while _group(process.pid) and time.monotonic() < last:
            if process.poll() is not None and rng.random() < 0.1:
                break
            time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _group(leader: int) -> list[int]:
    """The living processes of a group."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, group = stat.read_bytes().rpartition(b")")[2].split()[:3]
            if state != b"Z" and int(group) == leader:
                found.append(int(stat.parent.name))
    return found


def check(work: Work, kills: int, seed: int, until: float, report: Report) -> None:
    """Disturb until so many kills are done or the time is over; compare after each trial."""
    work.reset()
    work.finish()
    expected = work.results()
    work.reset()
    took = work.finish()
    if work.results() != expected:
        report.findings.append(
            f"{work.name}: two undisturbed runs differ: {_differing(work, expected)}"
        )
        return
    rng = random.Random(seed)
    while report.kills[work.name] < kills and time.monotonic() + 3 * took < until:
        report.kills[work.name] += disturbed(work, took, rng, 3)
        report.trials[work.name] += 1
        finding = ""
        try:
            work.finish()
            if work.results() != expected:
                finding = f"other results: {_differing(work, expected)}"
        except (AssertionError, OSError, subprocess.SubprocessError) as error:
            finding = f"{type(error).__name__}: {error}"[-1500:]
        if not finding and (left := _left(work)):
            finding = f"left behind: {left}"
        # Not where Python itself has just begun.
        trace = (work.folder / "said").read_bytes().partition(b"Traceback")[2]
        if b"cutune/start.py" in trace:
            finding = f"{finding}; {trace[-1500:].decode()}"
        if finding:
            report.findings.append(f"{work.name}, seed {seed}: {finding}")
            kept = work.folder / f"finding-{len(report.findings)}"
            shutil.copytree(work.folder / "work", kept, ignore_dangling_symlinks=True)
            shutil.copy(work.folder / "said", kept)


def _left(work: Work) -> list[str]:
    """Temporary files of dead processes. Those of the compiler that a build runs are its own."""
    own = ("cutune",) if work.name == "make" else ("cutune", "tmpxft")
    return [one.name for one in work.temporary.iterdir() if one.name.startswith(own)]


def _differing(work: Work, expected: Mapping[str, bytes]) -> list[str]:
    found = work.results()
    return [name for name in expected if found[name] != expected[name]]


def main() -> int:
    """The command line; status 1 when something was lost or differs."""
    options = argparse.ArgumentParser(
        prog="python -m tests.support.killed_commands", description=__doc__
    )
    options.add_argument("folder", type=Path)
    options.add_argument("--kills", type=int, default=20, help="of each process")
    options.add_argument("--processes", type=int, default=1)
    options.add_argument("--seconds", type=float, default=480)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", choices=WORKS)
    asked = options.parse_args()
    until = time.monotonic() + asked.seconds
    if asked.processes > 1:
        return _several(asked.folder, asked, until)
    report = Report()
    for name in [asked.only] if asked.only else WORKS:
        share = until if asked.only else time.monotonic() + asked.seconds / len(WORKS)
        check(WORKS[name](asked.folder.resolve() / name), asked.kills, asked.seed, share, report)
    print(json.dumps(report.__dict__, indent=1))
    return 1 if report.findings else 0


def _several(folder: Path, asked: argparse.Namespace, until: float) -> int:
    """One process for each folder and kind, in turn; their reports are in files."""
    kinds = [*WORKS]
    running = []
    for number in range(asked.processes):
        own = folder / str(number)
        own.mkdir(parents=True, exist_ok=True)
        words = [str(own), "--kills", str(asked.kills), "--seed", str(asked.seed + number)]
        words += ["--seconds", str(until - time.monotonic()), "--only", kinds[number % len(kinds)]]
        with open(own / "report.json", "wb") as out:
            running.append(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.support.killed_commands", *words],
                    cwd=ROOT,
                    stdout=out,
                )
            )
    return max(process.wait() for process in running)


if __name__ == "__main__":
    sys.exit(main())

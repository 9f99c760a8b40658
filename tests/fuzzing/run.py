"""A run over one reader: several guided processes, then the minimised findings and a summary."""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzzing.failures import Check, Failure, failure_of, limit_memory, minimised
from tests.fuzzing.reader import ROOT, reader_named

#: What libFuzzer calls what ended a process.
_ENDED = ("crash-", "timeout-", "oom-")
_COVERED = re.compile(r"cov: (\d+) ft: (\d+)")
_TRIED = re.compile(r"stat::number_of_executed_units: (\d+)|^#(\d+)", re.MULTILINE)
#: For all findings of a run together.
_MINIMISING_SECONDS = 30.0


@dataclass
class Summary:
    """What a run has seen.

    Attributes:
        findings: how many processes came by each place.
    """

    reader: str
    seeds: int = 0
    inputs: int = 0
    edges: int = 0
    corpus: int = 0
    cpu_seconds: float = 0.0
    restarts: int = 0
    findings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Worker:
    """A guided process, which is started again when something ends it."""

    reader: str
    corpus: Path
    folder: Path
    seed: int

    def start(self, seconds: int, restarts: int) -> subprocess.Popen[bytes]:
        """Begin, or go on."""
        self.folder.mkdir(exist_ok=True)
        words = [self.reader, self.corpus, self.folder, seconds, self.seed + 1000 * restarts]
        with open(self.folder / f"log-{restarts}", "wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.fuzzing.guided", *map(str, words)],
                cwd=ROOT,
                stdout=log,
                stderr=log,
            )

    def logs(self) -> list[str]:
        """What its processes have said."""
        return [path.read_text(errors="replace") for path in sorted(self.folder.glob("log-*"))]


def run(reader: str, minutes: float, processes: int, seed: int, folder: Path) -> Summary:
    """Fuzz a reader, and write findings and summary into a folder."""
    end = time.monotonic() + 60 * minutes
    folder.mkdir(parents=True, exist_ok=True)
    summary = Summary(reader)
    check = reader_named(reader).check
    with tempfile.TemporaryDirectory() as made:
        corpus = Path(made) / "corpus"
        corpus.mkdir()
        for data in reader_named(reader).seeds():
            summary.seeds += 1
            (corpus / hashlib.sha1(data).hexdigest()).write_bytes(data)
        workers = [
            _Worker(reader, corpus, Path(made) / str(number), seed + number)
            for number in range(processes)
        ]
        summary.restarts = _until(workers, end)
        summary.cpu_seconds = round(_cpu_of_children(), 1)
        summary.corpus = len(list(corpus.iterdir()))
        logs = [log for worker in workers for log in worker.logs()]
        summary.inputs = sum(_most(_TRIED, log) for log in logs)
        summary.edges = max((_most(_COVERED, log) for log in logs), default=0)
        _report(summary, check, [worker.folder for worker in workers], folder)
        for number, log in enumerate(logs):
            (folder / f"log-{number}.txt").write_text(log[-3000:])
    text = json.dumps(summary.__dict__, indent=1)
    (folder / "summary.json").write_text(text + "\n")
    return summary


def _until(workers: Sequence[_Worker], end: float) -> int:
    """Let the workers work; how often one had to be started again."""
    running = {worker: worker.start(max(1, int(end - time.monotonic())), 0) for worker in workers}
    restarts = 0
    while running:
        for worker, process in list(running.items()):
            if process.poll() is None:
                if time.monotonic() > end + 10:  # it starts up, or hangs
                    process.kill()
                continue
            rest = end - time.monotonic()
            if process.returncode != 0 and rest > 5 and restarts < 500:
                restarts += 1
                running[worker] = worker.start(int(rest), restarts)
            else:
                del running[worker]
        time.sleep(0.1)
    return restarts


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _most(pattern: re.Pattern[str], log: str) -> int:
    found = (next(filter(None, match.groups()), "0") for match in pattern.finditer(log))
    return max(map(int, found), default=0)


def _report(summary: Summary, check: Check, sources: Sequence[Path], folder: Path) -> None:
    """A file for each place, with what failed and the smallest input."""
    candidates = [path for source in sources for path in sorted(source.iterdir())]
    raw = [path.read_bytes() for path in candidates if path.name.startswith("raw-")]
    until = time.monotonic() + _MINIMISING_SECONDS
    known: set[str] = set()
    for failure in _failures(raw, check, until):
        if failure.place not in known:
            known.add(failure.place)
            rest = max(1.0, (until - time.monotonic()) / 4)
            smallest = minimised(failure, check, rest)
            _write(summary, folder, smallest)
    for path in candidates:
        if path.name.startswith(("raw-", *_ENDED)):
            (folder / path.name[:24]).write_bytes(path.read_bytes())
        if path.name.startswith(_ENDED):
            kind = path.name.partition("-")[0]
            _write(summary, folder, in_a_process(summary.reader, kind, path))


def _failures(inputs: Sequence[bytes], check: Check, until: float) -> Iterator[Failure]:
    """Those that fail without instrumentation, too, as far as there is time."""
    for data in sorted(inputs, key=len):
        if time.monotonic() < until and (found := failure_of(data, check)) is not None:
            yield found


def in_a_process(reader: str, kind: str, path: Path) -> Failure | None:
    """Read again, by itself, what ended a process; None where nothing is wrong with it."""
    words = [sys.executable, "-m", "tests.fuzzing", reader, "--replay", str(path)]
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, timeout=60, check=False)
        said = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
        status = done.returncode
    except subprocess.TimeoutExpired:
        said, status = "no end within 60 s", 1
    if status == 0:
        return None
    return Failure(f"{kind}, status {status}", said[-300:], path.read_bytes(), said)


def _write(summary: Summary, folder: Path, failure: Failure | None) -> None:
    if failure is None or failure.place in summary.findings:
        return
    number = len(summary.findings)
    summary.findings[failure.place] = failure.message
    stem = folder / f"finding-{number}"
    stem.with_suffix(".input").write_bytes(failure.data)
    stem.with_suffix(".txt").write_text(f"{failure.place}\n{failure.message}\n\n{failure.trace}\n")


def replay(reader: str, path: Path) -> int:
    """Read one input; 1 where it fails, and why."""
    limit_memory()
    data = path.read_bytes()
    began = time.process_time()
    failure = failure_of(data, reader_named(reader).check)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{time.process_time() - began:.2f} s, {used} MB", flush=True)
    if failure is None:
        return 0
    print(f"{failure.place}\n{failure.trace}")
    os._exit(1)  # memory may be gone

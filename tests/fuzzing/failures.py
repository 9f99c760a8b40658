"""What an input must not do, and the smallest input that does it. Takes inputs and a check."""

from __future__ import annotations

import hashlib
import re
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

Check = Callable[[bytes], None]
#: CPU time of one input.
MOST_SECONDS = 5.0
#: Memory of one input, besides what the interpreter has.
MOST_BYTES = 2 << 30
_WORD = re.compile(rb"\w+|\s+|.", re.DOTALL)


class Hang(Exception):
    """A reader took too long."""


@dataclass(frozen=True)
class Failure:
    """An input that breaks a promise. Failures of one `place` are taken for one."""

    place: str
    message: str
    data: bytes
    trace: str

    @staticmethod
    def of(error: BaseException, data: bytes) -> Failure:
        """What is known about a failure; a hang stops anywhere, so it has no place of its own."""
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if "cutune/" in frame.filename] or list(frames)
        name = f"{own[-1].filename.rpartition('cutune/')[2]}, {own[-1].name}"
        place = "hang" if isinstance(error, Hang) else f"{type(error).__name__} in {name}"
        trace = "".join(traceback.format_exception(error, limit=-12))
        return Failure(place, f"{type(error).__name__}: {error}"[:500], data, trace)


def failure_of(data: bytes, check: Check, seconds: float = MOST_SECONDS) -> Failure | None:
    """The failure of one input, if it has one."""
    try:
        with _limited(seconds):
            check(data)
    except Exception as error:
        return Failure.of(error, data)
    return None


@dataclass
class Watched:
    """A check whose failures are kept in a folder."""

    check: Check
    folder: Path
    seconds: float
    known: set[str] = field(default_factory=set)

    def __call__(self, data: bytes) -> None:
        failure = failure_of(data, self.check, self.seconds)
        if failure is not None and failure.place not in self.known:
            self.known.add(failure.place)
            name = hashlib.sha256(failure.place.encode()).hexdigest()[:16]
            (self.folder / f"raw-{name}").write_bytes(data)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """A limit of CPU time, so that a busy machine changes nothing."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Hang(f"no end within {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def limit_memory(more: int = MOST_BYTES) -> None:
    """From here on a request for more memory than that is a MemoryError."""
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[0])
    most = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def minimised(
    failure: Failure, check: Check, seconds: float, limit: float = MOST_SECONDS
) -> Failure:
    """Leave out lines, then words, then bytes, in ever smaller pieces, while it still fails."""
    stop_at = time.monotonic() + seconds
    for split in (_lines, _WORD.findall, _bytes):
        pieces: Sequence[bytes] = split(failure.data)
        size = max(1, len(pieces) // 2)
        while True:
            start = 0
            while start < len(pieces):
                if time.monotonic() > stop_at:
                    return failure
                kept = [*pieces[:start], *pieces[start + size :]]
                found = failure_of(b"".join(kept), check, limit)
                if found is not None and found.place == failure.place:
                    failure, pieces = found, kept
                else:
                    start += size
            if size == 1:
                break
            size //= 2
    return failure


def _lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def _bytes(data: bytes) -> list[bytes]:
    return [data[i : i + 1] for i in range(len(data))]

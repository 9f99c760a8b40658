"""The user's programs run to their end, and signals that end compilers. Gives `ProgramResult`s.

A program is started as its user would start it, but nobody types to it, and its output is captured.
"""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM, Signals
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from threading import Event, Thread
from types import FrameType
from typing import IO, TypeVar

from cutune.core.diagnostics import Diagnostic, meant

#: A program may leave others behind that hold its output open; so long is more of it awaited.
GRACE_SECONDS = 2.0
#: So often it is asked whether the time is over, and whether a signal has come.
_LOOK_SECONDS = 0.2
_CHUNK_BYTES = 1 << 16
_ENDING = (signal.SIGTERM, signal.SIGHUP)
T = TypeVar("T")
#: What is done where this process is told to end, before it raises KeyboardInterrupt.
ON_INTERRUPT: list[Callable[[], None]] = []


@dataclass(frozen=True)
class ProgramResult:
    """How a program ended, and what it printed until then.

    `status`: -9 for signal 9; None: it did not end in time, or was `not_started`, which says why.
    """

    status: int | None
    output: bytes = b""
    errors: bytes = b""
    not_started: str = ""

    @property
    def timed_out(self) -> bool:
        return self.status is None and not self.not_started

    @property
    def output_text(self) -> str:
        return self.output.decode(errors="replace")

    @property
    def errors_text(self) -> str:
        return self.errors.decode(errors="replace")


def signal_name(status: int) -> str:
    """Return the signal that ended a program of this status: `SIGSEGV` for -11."""
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def ending_in_order() -> AbstractContextManager[None]:
    """Raise KeyboardInterrupt where this process is told to end (`kill`, a closed terminal)."""
    return _handled(_ENDING, signal.SIG_DFL, signal.default_int_handler)


def ending_compilers() -> AbstractContextManager[None]:
    """Do what stands in `ON_INTERRUPT` where Ctrl-C ends this process: nothing is compiled then."""
    return _handled((SIGINT,), signal.default_int_handler, _interrupt)


@contextmanager
def _handled(
    signals: Iterable[Signals], usual: object, handler: Callable[[int, FrameType | None], object]
) -> Iterator[None]:
    """Handle these signals where they do what is usual.

    What is ignored (nohup), or is someone else's, stays so.
    """
    is_main = threading.current_thread() is threading.main_thread()
    before = {one: signal.getsignal(one) for one in signals if is_main}
    changed = {one: own for one, own in before.items() if own is usual}
    for number in changed:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, own in changed.items():
            signal.signal(number, own)


def _interrupt(number: int, frame: FrameType | None) -> None:
    for action in ON_INTERRUPT:
        action()
    raise KeyboardInterrupt


def awaited(future: Future[T]) -> T:
    """Return the result of a future, in the main thread until a signal comes.

    `Future.result` sleeps on where another thread got the signal, or where it came just before.
    """
    while not future.done():
        wait([future], _LOOK_SECONDS)
    return future.result()


def run_to_end(
    command: Sequence[str],
    environment: Mapping[str, str],
    seconds: float,
    folder: Path | None = None,
    is_over: Event | None = None,
) -> ProgramResult:
    """Run a program until it ends or its time is over; what it started is then ended, too.

    `folder`: where it runs; None: in the current one. `is_over`: set where its time is over before.
    """
    words = [*command]
    if os.sep not in words[0] and os.path.isfile(words[0]):
        words[0] = os.path.join(os.curdir, words[0])
    try:
        process = Popen(words, env=environment, cwd=folder, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    except OSError as error:
        return ProgramResult(None, not_started=why_not_started(words[0], error, folder or Path()))
    assert process.stdout is not None and process.stderr is not None
    captured = [_captured(stream) for stream in (process.stdout, process.stderr)]
    try:
        status = _status(process, seconds, is_over)
    finally:
        end(process)
    last = time.monotonic() + GRACE_SECONDS
    output, errors = (until(last) for until in captured)
    return ProgramResult(status, output, errors)


def why_not_started(name: str, error: OSError | None = None, folder: Path = Path()) -> str:
    """Return why a program does not start, and what helps. `error`: where it was tried."""
    found = shutil.which(name) if error is not None and os.sep not in name else None
    path = folder / (found or name)
    if path.is_dir():
        return "it is a folder; name a program in it"
    if not path.is_file():
        return f"no such program{_instead_of(name, path)}"
    if not os.access(path, os.X_OK):
        made = shlex.quote(name)
        return f"it is not executable; if it is a program, make it so: chmod +x {made}"
    if error is None:
        return f"write ./{name}"
    if error.errno == errno.ENOENT:
        return "the interpreter that it names is missing"
    if error.errno == errno.ENOEXEC:
        return "it is no program of this machine, and no script that begins with #!"
    return error.strerror or str(error)


def _instead_of(name: str, path: Path) -> str:
    """What to name in place of a program that is not there."""
    source = Path(f"{name}.cu")
    if path.with_name(source.name).is_file():
        return f"; build it first, or name its source: {shlex.quote(str(source))}"
    with suppress(OSError):
        beside = sorted(path.parent.iterdir())
        programs = {one.name for one in beside if one.is_file() and os.access(one, os.X_OK)}
        return meant(path.name, programs)
    return ""


def _status(process: Popen[bytes], seconds: float, is_over: Event | None) -> int | None:
    """Return the status of a program that ends in time; else None."""
    last = time.monotonic() + seconds
    while True:
        with suppress(TimeoutExpired):
            return process.wait(min(_LOOK_SECONDS, max(0.0, last - time.monotonic())))
        if time.monotonic() >= last or (is_over is not None and is_over.is_set()):
            return None


def end(process: Popen[bytes]) -> None:
    """End a program and what it started: the program that a script runs, for instance."""
    if process.poll() is not None:
        return  # its number may be another's by now
    # A group of their own would be simpler, but then Ctrl-C would not reach them. One that is
    # stopped starts no others while those that it has started are looked for.
    family: set[int] = set()
    while found := {process.pid, *_descendants(process.pid)} - family:
        _send(signal.SIGSTOP, found)
        family |= found
    _send(signal.SIGKILL, family)
    process.wait()


def _send(number: Signals, pids: Iterable[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _descendants(ancestor: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            # pid (name, which may hold anything) state parent …
            parent = stat.read_bytes().rpartition(b")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(stat.parent.name))
    family = [ancestor]
    for pid in family:
        family.extend(children.get(pid, ()))
    return family[1:]


def _captured(stream: IO[bytes]) -> Callable[[float], bytes]:
    """Read a stream while its program runs; gives its bytes until a time, or until its end."""
    chunks: list[bytes] = []

    def read() -> None:
        with stream:
            while chunk := os.read(stream.fileno(), _CHUNK_BYTES):
                chunks.append(chunk)

    def until(last: float) -> bytes:
        thread.join(max(0.0, last - time.monotonic()))
        return b"".join(tuple(chunks))

    # A daemon: a program that was left behind must not keep cutune from ending.
    thread = Thread(target=read, daemon=True)
    thread.start()
    return until


_SIGNALS = {"Hangup": SIGHUP, "Interrupt": SIGINT, "Killed": SIGKILL, "Terminated": SIGTERM}
#: A shell, by which nvcc runs its parts, adds this to the number of a signal.
_IN_SHELL = 128
_NAMED = "|".join(_SIGNALS)
#: Of a part of the compiler, as nvcc and GCC say it; or of nvcc, as it says it of itself.
_SAID = re.compile(
    rf"died due to signal (?P<number>{'|'.join(str(int(one)) for one in _SIGNALS.values())})\b"
    rf"|(?P<part>{_NAMED}) signal terminated program|^nvcc: (?P<whole>{_NAMED})",
    re.MULTILINE,
)


class CompilerKilled(KeyboardInterrupt):
    """A compiler was ended, which says nothing of what it compiled.

    A program that does not compile is judged by its text, keeps its blocks, or is compiled as it
    is. So this is no error of the program's, and who catches those does not see it: the command
    ends, and does its work when it is called again.
    """

    def __init__(self, diagnostic: Diagnostic, signal: Signals) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic, self.signal = diagnostic, signal


def ended_by(status: int, said: str) -> Signals | None:
    """Return the signal by which others ended a compiler with this status, or a part of it."""
    for number in (-status, status - _IN_SHELL):
        if number in _SIGNALS.values():
            return Signals(number)
    named = _SAID.search(said) if status != 0 else None
    if named is None:
        return None
    if named["number"]:
        return Signals(int(named["number"]))
    return _SIGNALS[named["part"] or named["whole"]]

"""Does a tuned program do what the original does? Takes both and ways to run them, gives findings.

Each is run with the same command lines, on the emulated device or on a GPU. Compared are exit
status, standard output, standard error and named files: bit for bit, or numbers within a tolerance
and everything else to the letter.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cutune.collect import Run
from cutune.device import DeviceProfile
from cutune.diagnostics import Code, CutuneError, Diagnostic
from cutune.emulator.run import device_environment, program_environment

#: What tells the two programs apart on purpose.
_OWN_VARIABLES = ("CUTUNE", "CUTUNE_MODE", "CUTUNE_REFINE_FILE")
_SECONDS = 600
_NUMBER = re.compile(
    rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?\b(?:nan|inf(?:inity)?)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Agreement:
    """What counts as the same.

    Attributes:
        identical: only the same bytes.
        relative, absolute: numbers a, b agree if |a - b| <= absolute + relative * max(|a|, |b|).
        ignored: lines of the output that match are left out, times for instance.
    """

    identical: bool = False
    relative: float = 1e-5
    absolute: float = 0.0
    ignored: str | None = None

    def difference(self, first: bytes, second: bytes) -> str | None:
        """The first difference of two texts, or None."""
        if first == second:
            return None
        lines = [self._lines(text) for text in (first, second)]
        for number, (a, b) in enumerate(zip(*lines, strict=False), 1):
            if a != b and (self.identical or not self._agree(a, b)):
                return f"line {number}: '{_shown(a)}' became '{_shown(b)}'"
        counts = [len(each) for each in lines]
        return None if counts[0] == counts[1] else f"lines: {counts[0]} became {counts[1]}"

    def _lines(self, text: bytes) -> list[bytes]:
        lines: list[bytes] = re.findall(rb"[^\n]*\n|[^\n]+", text)
        if self.ignored is None:
            return lines
        pattern = re.compile(self.ignored.encode())
        return [line for line in lines if not pattern.search(line)]

    def _agree(self, first: bytes, second: bytes) -> bool:
        if _NUMBER.sub(b"0", first) != _NUMBER.sub(b"0", second):
            return False
        numbers = zip(_NUMBER.findall(first), _NUMBER.findall(second), strict=True)
        return all(a == b or self._close(float(a), float(b)) for a, b in numbers)

    def _close(self, a: float, b: float) -> bool:
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        return a == b or abs(a - b) <= self.absolute + self.relative * max(abs(a), abs(b))


@dataclass(frozen=True)
class Outcome:
    """What one run left behind: contents by what they are called in messages."""

    status: int
    contents: Mapping[str, bytes]


def verify(
    original: Sequence[Run],
    tuned: Sequence[Run],
    files: Sequence[str],
    device: DeviceProfile | None,
    agreement: Agreement,
) -> Iterator[tuple[Run, Diagnostic | None]]:
    """Run both programs at each size; gives the tuned program's run and what differs.

    Args:
        files: written by the program; their contents are compared, too.
        device: emulated; None runs on the GPU.

    Raises:
        CutuneError: CT441 when a program cannot be started.
    """
    for first, second in zip(original, tuned, strict=True):
        before, after = (_outcome(run, files, device) for run in (first, second))
        yield second, _differing(second, before, after, agreement)


def _differing(
    run: Run, before: Outcome, after: Outcome, agreement: Agreement
) -> Diagnostic | None:
    reason = None
    if before.status != after.status:
        reason = f"exit status {before.status} became {after.status}"
    for name, content in before.contents.items():
        difference = agreement.difference(content, after.contents[name])
        if difference is not None and reason is None:
            reason = f"{name}, {difference}"
    if reason is None:
        return None
    return Diagnostic.at(Code.OUTPUT_DIFFERS, None, command=shlex.join(run.command), reason=reason)


def _outcome(run: Run, files: Sequence[str], device: DeviceProfile | None) -> Outcome:
    for path in files:
        # A file that an earlier run left would hide that this one does not write it.
        Path(path).unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="cutune-") as folder:
        environment = {k: v for k, v in os.environ.items() if k not in _OWN_VARIABLES}
        if device is not None:
            environment |= program_environment(Path(run.command[0]))
            environment |= device_environment(device, Path(folder))
            environment["CUTUNE_PYTHON"] = sys.executable
        environment |= run.environment
        try:
            done = subprocess.run(
                _startable(run.command),
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = getattr(error, "strerror", None) or f"no end within {_SECONDS} s"
            raise CutuneError(
                Diagnostic.at(Code.NOT_RUN, None, path=run.command[0], reason=reason)
            ) from error
    contents = {"standard output": done.stdout, "standard error": done.stderr}
    contents |= {f"'{path}'": _content(path) for path in files}
    return Outcome(done.returncode, contents)


def _startable(command: Sequence[str]) -> list[str]:
    program = command[0]
    if os.sep not in program and os.path.isfile(program):
        program = os.path.join(os.curdir, program)
    return [program, *command[1:]]


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _shown(line: bytes) -> str:
    text = line.decode("latin-1").rstrip("\n")
    return text if len(text) <= 60 else f"{text[:57]}..."

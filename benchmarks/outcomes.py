"""Outcomes of public programs on the emulated device: takes printed text, gives a kind."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from itertools import zip_longest
from math import isclose

_PASSED = re.compile(r"\b(pass(ed)?|success(ful|fully)?|correct|verified|ok)\b", re.IGNORECASE)
_WRONG = re.compile(
    r"\b(fail(ed|ure)?|incorrect|mismatch(es|ed)?|wrong|not correct|error at)\b", re.IGNORECASE
)
_NO_HARM = re.compile(r"\b(0|no|not|without|never|if)\s+\w*\s*(fail|mismatch|error|wrong)", re.I)
_NO_INPUT = re.compile(
    r"no such (file|folder|directory)|(could not|cannot|can't|can not|unable to|failed to|not able "
    r"to) (open|find|load|import|read)|cannot be opened|file open fail|error opening|input file",
    re.IGNORECASE,
)
# Not at the beginning of a line: the program may have left one unfinished on standard output.
_REFUSED = re.compile(r"(\bcutune: .*not supported.*|^PTX line .*)$", re.MULTILINE)
_FAULT = re.compile(
    r"\bcutune: (?!.*not supported)(illegal|misaligned|trap|deadlock|assert|copy|cuda|out of|"
    r"kernel|launch|time|it |.*: ).*$",
    re.MULTILINE,
)


_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|nan|inf", re.IGNORECASE)
#: Lines that are allowed to differ between two devices: they speak of time, or of the device.
_OF_THE_DEVICE = re.compile(
    r"time|second|elapsed|duration|bandwidth|throughput|latency|speed|perf|\b[munµ]?s\b|\bsecs?\b|"
    r"[a-z]*(flop|byte|op|sample|element|pixel)s?/s|[GMK]i?B/s|GB|fps|device|GPU|memory|SMs?\b",
    re.IGNORECASE,
)
#: Sums in another order differ in their last digits.
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Outcome:
    """The outcome of a program. `kind` is one of KINDS; `said` the lines that tell why."""

    name: str
    kind: str
    command: str = ""
    seconds: float = 0.0
    status: int = 0
    said: str = ""


#: From good to bad, with what each means.
KINDS = {
    "passed": "ended, and its own check passed",
    "ended": "ended with status 0; it prints no check",
    "time-out": "was still running at the limit, without a complaint",
    "no input": "ended with an error status because a file is not in the collection",
    "not started": "its Makefile has no `run` command",
    "memory": "wanted more memory than it was given",
    "unsupported": "uses an instruction or call that the emulated device refuses",
    "no build": "compiles with plain nvcc, but not for the emulated device",
    "fault": "ended by an error that the emulated device reported",
    "error": "ended with an error status of its own",
    "crash": "ended by a signal",
    "wrong": "its own check failed",
}


def refused(text: str) -> str:
    """The line that says what the emulated device does not support, or nothing."""
    found = _REFUSED.search(text)
    return found.group() if found else ""


def judge(text: str, status: int, absent: str = "") -> tuple[str, str]:
    """The kind of outcome of a program that ended, and the lines that decided it.

    `absent` is a file that the command line names and the collection lacks.
    """
    if why := refused(text):
        return "unsupported", why
    if fault := _FAULT.search(text):
        return ("memory" if "out of device memory" in fault.group() else "fault"), fault.group()
    if status and (missing := _NO_INPUT.search(text)):
        return "no input", " ".join(text[: missing.end() + 60].split())[-160:]
    if status and absent:
        return "no input", absent
    if status < 0:
        return "crash", f"{signal.Signals(-status).name}: {' '.join(text.split())[-200:]}"
    if absent and (missing := _NO_INPUT.search(text)):
        return "no input", missing.group()
    wrong = [
        line for line in text.splitlines() if _WRONG.search(line) and not _NO_HARM.search(line)
    ]
    if wrong:
        return "wrong", wrong[0].strip()
    if status:
        return "error", f"status {status}: {' '.join(text.split())[-200:]}"
    passed = next((line for line in text.splitlines() if _PASSED.search(line)), "")
    return ("passed", passed.strip()) if passed else ("ended", "")


def different_lines(one: str, other: str) -> list[str]:
    """Pairs of lines in which two runs of a program print another result, as `one | other`."""
    ones, others = _results(one), _results(other)
    pairs = list(zip_longest(ones, others, fillvalue=""))
    return [f"{a} | {b}" for a, b in pairs if not _same(a, b)]


def _results(text: str) -> list[str]:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return [line for line in lines if line and not _OF_THE_DEVICE.search(line)]


def _same(one: str, other: str) -> bool:
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(a == b or isclose(float(a), float(b), rel_tol=_TOLERANCE) for a, b in pairs)

"""Compilers that somebody ended. Takes their statuses and messages, gives the signal.

A program that does not compile is judged by its text, keeps its blocks, or is compiled as it is.
That a compiler was ended says nothing of it: the command ends, and does its work when called again.
"""

from __future__ import annotations

import re
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM, Signals

from cutune.core.diagnostics import Diagnostic

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
    """A compiler was ended. No error of the program's: who catches those does not see it."""

    def __init__(self, diagnostic: Diagnostic, signal: Signals) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic, self.signal = diagnostic, signal


def ended_by(status: int, said: str) -> Signals | None:
    """The signal by which a compiler with this status, or a part of it, was ended by others."""
    for number in (-status, status - _IN_SHELL):
        if number in _SIGNALS.values():
            return Signals(number)
    found = _SAID.search(said) if status != 0 else None
    if found is None:
        return None
    if found["number"]:
        return Signals(int(found["number"]))
    return _SIGNALS[found["part"] or found["whole"]]

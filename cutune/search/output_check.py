"""Checks outputs against that of the program's own configuration. Takes outputs, gives differences.

A configuration may only change how something is computed. A comparison leaves out numbers that vary
from run to run, those beside a unit or a word of time, and parameters that a program prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock

from cutune.measure.agreement import NOTHING, NUMBER_TOKEN, Agreement, OtherLength, Varying, times
from cutune.search.regions import FailedRun, MeasuredRun
from cutune.space.condition import Value
from cutune.space.parameter import shown

#: Numbers below this are rounding: residuals, and errors against a reference.
ABSOLUTE = 1e-5
#: The program runs so often again until a difference counts.
CONFIRMING_RUNS = 2


def rules_of(tolerance: float | None = None, ignored: str | None = None) -> Agreement:
    """Return the rules by which outputs agree.

    Args:
        tolerance: of all numbers, relative and absolute; None: 1e-5, and none of integers.
        ignored: pattern of lines that are no result.
    """
    if tolerance is None:
        return Agreement(absolute=ABSOLUTE, ignored=ignored)
    absolute = max(ABSOLUTE, tolerance)
    return Agreement(False, tolerance, absolute, ignored, exact_integers=False)


@dataclass
class ReferenceOutput:
    """The output of the program in its own configuration at one size.

    Attributes:
        ran: its first run; or why it failed.
        again: runs it once more.
        own: the program's own values, as far as they are known before it runs.
    """

    ran: MeasuredRun | FailedRun
    again: Callable[[], MeasuredRun | FailedRun]
    own: Mapping[str, Value]
    rules: Agreement
    _varying: Varying = NOTHING
    _runs: int = 0
    _is_compared: bool = True
    #: Several trials are compared with it at once.
    _lock: Lock = field(default_factory=Lock)

    @property
    def values(self) -> dict[str, Value]:
        """The program's own values, as far as they are known."""
        host = self.ran.own if isinstance(self.ran, MeasuredRun) else {}
        return {**self.own, **host}

    @property
    def fails(self) -> bool:
        """Does the program fail, or a launch in its region?"""
        return isinstance(self.ran, FailedRun) or bool(self.ran.error)

    @property
    def region_seconds(self) -> float:
        """Seconds that the regions of the program take; 0 where it fails."""
        measured = () if isinstance(self.ran, FailedRun) else self.ran.measured
        return sum(one.milliseconds or 0.0 for one in measured) / 1000

    def is_failure(self, error: str) -> bool:
        """Is there an error of CUDA in a region that the program's own configuration lacks?"""
        return bool(error) and not (isinstance(self.ran, MeasuredRun) and self.ran.error == error)

    def difference(self, output: bytes, values: Mapping[str, Value]) -> str:
        """Return the first difference of an output in another configuration, or ""."""
        if isinstance(self.ran, FailedRun):
            return ""
        own = self.ran.output
        with self._lock:
            difference = self._difference(own, output, values)
            while difference is not None and self._is_compared and self._runs < CONFIRMING_RUNS:
                self._run_again(own)
                difference = self._difference(own, output, values)
            return difference or "" if self._is_compared else ""

    def _difference(self, own: bytes, output: bytes, values: Mapping[str, Value]) -> str | None:
        if own == output:
            return None
        left_out: dict[int, frozenset[int]] = {}
        lines = zip(self.rules.lines(own), self.rules.lines(output), strict=False)
        for (number, line), (_, other) in lines:
            if line != other:
                printed = _printed(line, other, self.values, values)
                left_out[number] = frozenset((*times(line), *printed))
        return self.rules.difference(own, output, self._varying | Varying(left_out))

    def _run_again(self, own: bytes) -> None:
        self._runs += 1
        again = self.again()
        try:
            if isinstance(again, MeasuredRun):
                self._varying |= self.rules.varying(own, again.output)
        except OtherLength:
            self._is_compared = False


def _printed(
    line: bytes, other: bytes, own: Mapping[str, Value], values: Mapping[str, Value]
) -> Iterator[int]:
    """Yield the indices of numbers in two lines that are the values of one parameter."""
    pairs = {(shown(own[name]), shown(value)) for name, value in values.items() if name in own}
    tokens = zip(NUMBER_TOKEN.findall(line), NUMBER_TOKEN.findall(other), strict=False)
    for index, (first, second) in enumerate(tokens):
        if (first.decode("latin-1"), second.decode("latin-1")) in pairs:
            yield index

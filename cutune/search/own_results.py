"""What a program computes by itself. Takes outputs, says whether another one is the same.

A configuration may only change how something is computed. Left out of a comparison are numbers that
vary from run to run, those beside a unit or a word of time, and parameters that a program prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock

from cutune.collect.agreement import (
    NOTHING,
    NUMBER_TOKEN,
    Agreement,
    OtherLength,
    Varying,
    times,
)
from cutune.search.regions import FailedRun, MeasuredRun
from cutune.space.condition import Value
from cutune.space.parameter import shown

#: Numbers below this are rounding: residuals, and errors against a reference.
ABSOLUTE = 1e-5
#: The program runs so often again until a difference counts.
CONFIRMING_RUNS = 2


def rules_of(tolerance: float | None = None, ignored: str | None = None) -> Agreement:
    """By which outputs are the same.

    Args:
        tolerance: of all numbers, relative and absolute; None: 1e-5, and none of integers.
        ignored: lines that are no result.
    """
    if tolerance is None:
        return Agreement(absolute=ABSOLUTE, ignored=ignored)
    absolute = max(ABSOLUTE, tolerance)
    return Agreement(False, tolerance, absolute, ignored, exact_integers=False)


@dataclass
class ReferenceOutput:
    """What the program writes in its own configuration at one size.

    Attributes:
        ran: its first run; or why it failed.
        again: runs it once more.
        host: the program's own values of host integers.
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

    def is_failure(self, error: str) -> bool:
        """Is an error of CUDA within the region none of the program's own configuration?"""
        return bool(error) and not (isinstance(self.ran, MeasuredRun) and self.ran.error == error)

    def difference(self, output: bytes, values: Mapping[str, Value]) -> str:
        """The first difference of an output in another configuration; empty if there is none."""
        if isinstance(self.ran, FailedRun):
            return ""
        with self._lock:
            return self._confirmed(self.ran, output, values)

    def _confirmed(self, ran: MeasuredRun, output: bytes, values: Mapping[str, Value]) -> str:
        found = self._difference(ran.output, output, values)
        while found is not None and self._is_compared and self._runs < CONFIRMING_RUNS:
            self._run_again(ran.output)
            found = self._difference(ran.output, output, values)
        return found or "" if self._is_compared else ""

    def _difference(self, own: bytes, output: bytes, values: Mapping[str, Value]) -> str | None:
        if own == output:
            return None
        left_out: dict[int, frozenset[int]] = {}
        for (number, line), (_, other) in zip(
            self.rules.lines(own), self.rules.lines(output), strict=False
        ):
            if line != other:
                found = (*times(line), *_printed(line, other, self.values, values))
                left_out[number] = frozenset(found)
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
    """Which numbers of two lines are the values of one parameter."""
    pairs = {(shown(own[name]), shown(value)) for name, value in values.items() if name in own}
    tokens = zip(NUMBER_TOKEN.findall(line), NUMBER_TOKEN.findall(other), strict=False)
    for index, (first, second) in enumerate(tokens):
        if (first.decode("latin-1"), second.decode("latin-1")) in pairs:
            yield index

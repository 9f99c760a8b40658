"""The configurations that a search tries, each once, within its budget. Takes a timer, gives times.

A technique asks for the time of places (a row of each table of the space) as often as it likes; a
known place is not measured again. When no more may be measured, asking ends the technique. The
budget is read from `200`, `10min` or `5%`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from math import ceil, inf, log

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.space.space import Configuration, Space

#: Seconds of a unit of time.
_SECONDS = {"s": 1, "min": 60, "h": 3600}
_BUDGET = re.compile(r"([0-9]{1,9})|([0-9]{1,6}(?:\.[0-9]{1,6})?) ?(s|min|h|%)")


@dataclass(frozen=True)
class Allowance:
    """The limits of a search at one size: measured configurations, and seconds."""

    most: int
    seconds: float = inf


@dataclass(frozen=True)
class Budget:
    """The limits of a search: configurations and a share at each size, and seconds for all."""

    configurations: float = inf
    share: Fraction = Fraction(1)
    seconds: float = inf

    @staticmethod
    def read(text: str) -> Budget:
        """Return the budget that `--search` states. Raises CT815 for what is no budget."""
        match = _BUDGET.fullmatch(text.strip())
        amount = Fraction(match[1] or match[2]) if match is not None else Fraction(0)
        if match is not None and amount > 0:
            if match[1]:
                return Budget(configurations=int(amount))
            if match[3] != "%":
                return Budget(seconds=float(amount * _SECONDS[match[3]]))
            if amount <= 100:
                return Budget(share=amount / 100)
        raise CutuneError.at(Code.BAD_BUDGET, text=text)

    def most(self, size: int) -> int:
        return int(min(self.configurations, ceil(size * self.share)))

    def at(self, size: int, spent_seconds: float, sizes_left: int) -> Allowance:
        """Return the allowance at the next size; the time left is shared by the sizes left."""
        return Allowance(self.most(size), max(0.0, self.seconds - spent_seconds) / sizes_left)


Rows = tuple[int, ...]
#: A technique that asks so often for what is known, one time after the other, is at its end.
FRUITLESS = 200
#: Configurations that do not compile are not measured; so many are tried for one that is.
MOST_TRIED = 20
#: What fails counts as so many times slower than the slowest.
FAILED = 2.0
#: No time is shorter, milliseconds.
LEAST = 1e-6
#: A search that tries many places together chooses at least so often: what it finds guides it.
ROUNDS = 16


class SearchEnd(Exception):
    """No more may be measured, or a technique finds nothing new."""


@dataclass(frozen=True)
class Timed:
    """The time of a configuration, None where it failed; it costs nothing unless it ran."""

    milliseconds: float | None
    is_measured: bool = True


@dataclass(frozen=True)
class SharedProcess:
    """A process that measures several configurations in turn, of which `processes` run at once.

    `most` take little longer than one, because the start of a process takes longest. `key` is equal
    for configurations that can share a process.
    """

    most: int
    processes: int
    key: Callable[[Configuration], Hashable]


@dataclass
class Tries:
    """The places that were tried, in order.

    `timed` measures a configuration. `expected` is told what will be asked for soon. `sharing`
    None: each has a process of its own. `known`: times of places; None: it failed.
    """

    space: Space
    timed: Callable[[Configuration], Timed]
    allowance: Allowance
    expected: Callable[[Iterable[Configuration]], None] = lambda _: None
    sharing: SharedProcess | None = None
    clock: Callable[[], float] = time.monotonic
    known: dict[Rows, float | None] = field(default_factory=dict)
    _measured: int = 0
    _repeated: int = 0
    _begun: float | None = None

    def at(self, rows: Rows) -> float | None:
        """Return the time at a place; None where it fails. Raises SearchEnd at the end of all."""
        self._repeated = self._repeated + 1 if rows in self.known else 0
        if self._repeated > FRUITLESS or self.is_over:
            raise SearchEnd
        if rows not in self.known:
            timed = self.timed(self.space.of_rows(rows))
            self.known[rows] = timed.milliseconds
            self._measured += timed.is_measured
        return self.known[rows]

    def cost(self, rows: Rows) -> float:
        """Return the logarithm of a place's time in units of the first's. Raises SearchEnd."""
        own = self.at(rows)
        times = [max(one, LEAST) for one in self.known.values() if one is not None]
        if not times:
            return 0.0
        return log((FAILED * max(times) if own is None else max(own, LEAST)) / times[0])

    def expect(self, places: Iterable[Rows]) -> None:
        """Say what will be asked for, as far as it may be measured."""
        new = (rows for rows in places if rows not in self.known)
        some = islice(new, self.allowance.most - self._measured)
        self.expected([self.space.of_rows(rows) for rows in some])

    def first_of(self, ranked: Sequence[Rows], least: int) -> list[Rows]:
        """Return at least `least` places, best first, and others that cost little more."""
        sharing = self.sharing
        if sharing is None:
            return list(ranked[:least])
        most = min(sharing.most, max(least, self.allowance.most // ROUNDS))
        groups: dict[Hashable, list[Rows]] = {}
        for rows in ranked:
            groups.setdefault(sharing.key(self.space.of_rows(rows)), []).append(rows)
        chosen: list[Rows] = []
        for number, some in enumerate(groups.values()):
            if number >= sharing.processes and len(chosen) >= least:
                break
            chosen += some[:most]
        return chosen

    @property
    def is_over(self) -> bool:
        """May nothing more be measured?"""
        now = self.clock()
        self._begun = now if self._begun is None else self._begun
        tried = len(self.known)
        return (
            self._measured >= self.allowance.most
            or tried >= min(self.space.size, MOST_TRIED * self.allowance.most)
            # The first is tried in any case.
            or (tried > 0 and now - self._begun >= self.allowance.seconds)
        )

    @property
    def best_rows(self) -> Rows | None:
        times = [(time, rows) for rows, time in self.known.items() if time is not None]
        return min(times)[1] if times else None

    @property
    def best(self) -> Configuration | None:
        rows = self.best_rows
        return None if rows is None else self.space.of_rows(rows)

"""A local search. Takes a space and a timer, gives times of some configurations.

Its axes are the tables of the space, not the parameters: where `a * b == c * d` no parameter can
change alone. From the fastest place that is known, neighbours on one axis after the other are
tried, eight at a time: near ones, and on a long axis as many at random. Each time that an axis was
looked at from a place, other places come first by a little more, so that local optima are left. In
the end all are tried.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from math import inf

from cutune.space.space import Configuration, Space
from cutune.space.tables import Table

#: Neighbours that are tried together.
TRIED_TOGETHER = 8
#: How much slower a place counts each time that an axis was looked at from it.
PENALTY = 0.1
#: Lines without anything new until the rest is walked through.
FRUITLESS = 64
#: The state of the random numbers: a search is repeatable.
STATE = 20

Time = Callable[[Configuration], float | None]
Rows = tuple[int, ...]


def search(
    space: Space, time: Time, budget: int, start: Configuration | None = None
) -> list[tuple[Configuration, float | None]]:
    """Times of at most `budget` configurations, in order of trial.

    Args:
        time: gives None for a configuration that fails or is not allowed.
        start: where it begins, or the nearest one that is allowed; None: in the middle.
    """
    walk = _Walk(space, time, min(budget, space.size))
    walk.run(tuple(table.closest(start or {}) for table in space.tables))
    return [(walk.configuration(rows), found) for rows, found in walk.known.items()]


@dataclass(frozen=True, order=True)
class _Line:
    """An axis at a place, to be looked at for the n-th time; the best ones come first."""

    cost: float
    order: int
    place: Rows = field(compare=False)
    axis: int = field(compare=False)
    times: int = field(compare=False)


@dataclass
class _Walk:
    space: Space
    time: Time
    budget: int
    known: dict[Rows, float | None] = field(default_factory=dict)
    lines: list[_Line] = field(default_factory=list)
    generator: random.Random = field(default_factory=lambda: random.Random(STATE))
    #: Numbers of the lines: of equally good ones the first is looked at first.
    numbers: Iterator[int] = field(default_factory=count)

    def run(self, start: Rows) -> None:
        """Try as many as are allowed."""
        self._try(start, -1)
        fruitless = 0
        while self.lines and len(self.known) < self.budget and fruitless < FRUITLESS:
            before = len(self.known)
            self._look_at(heapq.heappop(self.lines))
            fruitless = 0 if len(self.known) > before else fruitless + 1
        self._rest()

    def configuration(self, rows: Rows) -> Configuration:
        """The configuration of these rows."""
        return self.space.of_rows(rows)

    def _look_at(self, line: _Line) -> None:
        table = self.space.tables[line.axis]
        for row in self._neighbours(table, line):
            place = (*line.place[: line.axis], row, *line.place[line.axis + 1 :])
            self._try(place, line.axis)
        if (line.times + 1) * TRIED_TOGETHER < table.size - 1:
            self._push(line.place, line.axis, line.times + 1)

    def _neighbours(self, table: Table, line: _Line) -> list[int]:
        row = line.place[line.axis]
        if table.size - 1 <= TRIED_TOGETHER:
            return table.nearest(row, TRIED_TOGETHER)
        half = TRIED_TOGETHER // 2
        near = table.nearest(row, half * (line.times + 1))[half * line.times :]
        return [*near, *(self.generator.randrange(table.size) for _ in range(half))]

    def _try(self, rows: Rows, axis: int) -> None:
        """Time a configuration unless it is known; its lines begin with the next axis."""
        if rows in self.known or len(self.known) >= self.budget:
            return
        self.known[rows] = self.time(self.configuration(rows))
        axes = len(self.space.tables)
        for step in range(axes):
            self._push(rows, (axis + 1 + step) % axes, 0)

    def _push(self, rows: Rows, axis: int, times: int) -> None:
        if self.space.tables[axis].size == 1:
            return
        found = self.known[rows]
        cost = inf if found is None else found * (1 + PENALTY * times)
        heapq.heappush(self.lines, _Line(cost, next(self.numbers), rows, axis, times))

    def _rest(self) -> None:
        """What lines do not lead to: all others, from a random one on."""
        size = self.space.size
        first = self.generator.randrange(size)
        number = first
        while len(self.known) < self.budget:
            self._try(self.space.rows(number), -1)
            number = (number + 1) % size

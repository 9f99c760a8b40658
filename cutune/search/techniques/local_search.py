"""A local search. Takes what may be tried and a start, tries places until no more may be measured.

Its axes are the tables of the space, not the parameters: where `a * b == c * d` no parameter can
change alone. It begins at the start and at places drawn at random, because a start may lie far from
everything good. Then, from the fastest place that is known, neighbours on one axis after the other
are tried, four for each of its parameters: near ones, and on a long axis as many at random. Each
time that an axis was looked at from a place, other places come first by a little more, so that
local optima are left.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from math import inf

from cutune.search.techniques.tries import Rows, Tries
from cutune.space.tables import Table

#: Places that are drawn at random before any is left for its neighbours.
DRAWN = 8
#: Neighbours that are tried together, for each parameter of an axis.
TRIED_TOGETHER = 4
#: How much slower a place counts each time that an axis was looked at from it.
PENALTY = 0.1
#: Lines without anything new until the rest is left to chance.
FRUITLESS = 64


def local_search(tries: Tries, start: Rows, generator: random.Random) -> None:
    """Try places until there is nothing more to look at.

    Raises:
        SearchEnd: no more may be measured.
    """
    _Walk(tries, generator).run(start)


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
    tries: Tries
    generator: random.Random
    lines: list[_Line] = field(default_factory=list)
    #: Numbers of the lines: of equally good ones the first is looked at first.
    numbers: Iterator[int] = field(default_factory=count)

    def run(self, start: Rows) -> None:
        space = self.tries.space
        drawn = [space.rows(self.generator.randrange(space.size)) for _ in range(DRAWN)]
        self._try([start, *drawn], -1)
        fruitless = 0
        while self.lines and fruitless < FRUITLESS:
            before = len(self.tries.known)
            self._look_at(heapq.heappop(self.lines))
            fruitless = 0 if len(self.tries.known) > before else fruitless + 1

    def _look_at(self, line: _Line) -> None:
        table = self.tries.space.tables[line.axis]
        before, behind = line.place[: line.axis], line.place[line.axis + 1 :]
        near = [(*before, row, *behind) for row in self._neighbours(table, line)]
        self._try(near, line.axis)
        if (line.times + 1) * _together(table) < table.size - 1:
            self._push(line.place, line.axis, line.times + 1)

    def _neighbours(self, table: Table, line: _Line) -> list[int]:
        row = line.place[line.axis]
        together = _together(table)
        if table.size - 1 <= together:
            return table.nearest(row, together)
        half = together // 2
        near = table.nearest(row, half * (line.times + 1))[half * line.times :]
        return [*near, *(self.generator.randrange(table.size) for _ in range(half))]

    def _try(self, places: list[Rows], axis: int) -> None:
        """Time places; the lines of those that are new begin with the next axis."""
        new = [place for place in dict.fromkeys(places) if place not in self.tries.known]
        self.tries.expect(new)
        axes = len(self.tries.space.tables)
        for place in new:
            self.tries.at(place)
            for step in range(axes):
                self._push(place, (axis + 1 + step) % axes, 0)

    def _push(self, place: Rows, axis: int, times: int) -> None:
        if self.tries.space.tables[axis].size == 1:
            return
        found = self.tries.known[place]
        cost = inf if found is None else found * (1 + PENALTY * times)
        heapq.heappush(self.lines, _Line(cost, next(self.numbers), place, axis, times))


def _together(table: Table) -> int:
    return TRIED_TOGETHER * len(table.parameters)

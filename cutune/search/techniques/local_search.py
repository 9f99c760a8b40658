"""A local search guided by predicted times. Takes `Tries` and a start, tries places until the end.

Its axes are the tables of the space, not the parameters: where `a * b == c * d` no parameter can
change alone. It begins at the start and at places drawn at random, because a start may lie far from
everything good. Then candidates are, again and again, neighbours of the fastest places on all axes
(near ones, and on a long axis as many at random), places that differ from these on two axes, and
places drawn at random. Those are tried that may well be the fastest by what is known: near fast
places, or unlike all that is known. Local optima are left because what is near them becomes known.

A place is predicted to take what known ones near it take. Nearness is learned: how much the times
of known places differ where a parameter does is its spread, and the distance of two places is the
spread of the parameters in which they differ. So places that differ only in a parameter without
effect are at no distance, and the time of one of them is known of all. Times are logarithms, so
that a factor counts the same for fast and slow ones.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from cutune.search.techniques.prediction import TimePredictor
from cutune.search.techniques.tries import Rows, Tries

#: Places that are drawn at random before neighbours are looked at. 4 to 8 do alike on the average;
#: with fewer a bad start costs more.
DRAWN = 8
#: Fastest places whose neighbours are candidates: 2 to 8 do alike.
FASTEST = 4
#: Candidates on an axis for each of its parameters, near ones and as many at random: up and down
#: by two.
NEIGHBOURS = 4
#: Candidates that are drawn at random, without which a search can stay in one region.
ANYWHERE = 16
#: Candidates that differ from a fast place on two axes, where no single one makes it faster: as few
#: as a long axis has neighbours, up to twice.
CHANGED_TWICE = 8
#: Places that are tried together, so that some workers are busy; one by one is little better. Where
#: one process measures many, these are more.
TRIED_TOGETHER = 4
#: Rounds without anything new until the rest is left to chance.
FRUITLESS = 64


def local_search(tries: Tries, start: Rows, generator: random.Random) -> None:
    """Try places until there is nothing more to look at.

    Raises:
        SearchEnd: no more may be measured.
    """
    _Search(tries, generator, TimePredictor(tries.space)).run(start)


@dataclass
class _Search:
    tries: Tries
    generator: random.Random
    predictor: TimePredictor
    #: Of rows of axes: in a large table they take long to find, and the fastest places stay.
    near: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    def run(self, start: Rows) -> None:
        self._try(dict.fromkeys([start, *self._drawn(DRAWN)]))
        fruitless = 0
        while fruitless < FRUITLESS:
            new = self._candidates()
            self._try(self._most_promising(new))
            fruitless = 0 if new else fruitless + 1

    def _try(self, places: Iterable[Rows]) -> None:
        chosen = [*places]
        self.tries.expect(chosen)
        for place in chosen:
            self.predictor.learn(place, self.tries.at(place))

    def _most_promising(self, places: list[Rows]) -> list[Rows]:
        if not places:
            return []
        order = np.argsort(self.predictor.least(places), kind="stable")
        return self.tries.first_of([places[index] for index in order], TRIED_TOGETHER)

    def _candidates(self) -> list[Rows]:
        """New places. Those drawn at random are first, for where nothing is known of any."""
        places = self._drawn(ANYWHERE)
        for place in self.predictor.fastest(FASTEST):
            for axis in range(len(place)):
                rows = self._neighbours(axis, place[axis])
                places += [_with(place, axis, row) for row in rows]
            places += self._changed_twice(place)
        return [place for place in dict.fromkeys(places) if place not in self.tries.known]

    def _neighbours(self, axis: int, row: int) -> list[int]:
        table = self.tries.space.tables[axis]
        count = NEIGHBOURS * len(table.parameters)
        if (axis, row) not in self.near:
            self.near[axis, row] = table.nearest(row, count)
        further = range(count if table.size - 1 > count else 0)
        return self.near[axis, row] + [self.generator.randrange(table.size) for _ in further]

    def _changed_twice(self, place: Rows) -> list[Rows]:
        tables = self.tries.space.tables
        if len(tables) < 3:
            # That would be a place anywhere.
            return []
        places = []
        for _ in range(CHANGED_TWICE):
            changed = place
            for axis in self.generator.sample(range(len(tables)), 2):
                changed = _with(changed, axis, self.generator.randrange(tables[axis].size))
            places.append(changed)
        return places

    def _drawn(self, count: int) -> list[Rows]:
        space = self.tries.space
        return [space.rows(self.generator.randrange(space.size)) for _ in range(count)]


def _with(place: Rows, axis: int, row: int) -> Rows:
    """Return the place with another row on an axis."""
    return (*place[:axis], row, *place[axis + 1 :])

"""A local search guided by predicted times. Takes `Tries` and a start, tries places until the end.

Its axes are the tables of the space, not the parameters: where `a * b == c * d` no parameter can
change alone. It begins at the start and at places drawn at random. Then candidates are, again and
again, neighbours of the fastest places on all axes (near ones, and on a long axis as many at
random), places that differ from these on two axes, and places drawn at random. Those are tried that
may well be the fastest by what is known: near fast places, or unlike all that is known. Local
optima are left because what is near them becomes known.

A place is predicted to take what known ones near it take. Nearness is learned: how much the times
of known places differ where a parameter does is its spread, and the distance of two places is the
spread of the parameters in which they differ. So the time of a place is known of all that differ
from it only in a parameter without effect. Times are logarithms: a factor counts the same for all.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import log, nan

import numpy as np
from numpy.typing import NDArray

from cutune.search.techniques.tries import FAILED, LEAST, Rows, Tries
from cutune.space.space import Space

Array = NDArray[np.float64]
#: What the next value of a parameter counts at least, where the last of all counts 1: effects are
#: often steps (a multiple of 32), which neighbours show as well. 0.05 to 0.4 do alike.
NEXT_VALUE = 0.2
#: How soon farther places count less, a power of the squared distance: 4 to 8 do alike, lower blur.
POWER = 4
#: How much less two places tell of each parameter in which they differ the more these are, since
#: other effects hide its own: 2 to 12 do alike.
SHARED = 4
#: So many pairs the spread counts that is assumed as long as nothing is known.
ASSUMED = 1.0
#: So many places are looked at for an expectation, the fastest: it takes milliseconds then.
MOST = 2000
#: The square of a distance that is none.
NO_DISTANCE = 1e-12


@dataclass
class TimePredictor:
    """Predicts the times of places from those that it has learned, in the order of `places`."""

    space: Space
    places: list[Rows] = field(default_factory=list)

    def __post_init__(self) -> None:
        #: Each parameter with a choice: its axis, its value in each row there, and its last value.
        self._columns = [
            (axis, column, len(parameter.values) - 1.0)
            for axis, table in enumerate(self.space.tables)
            for parameter, column in zip(table.parameters, table.columns, strict=True)
            if len(parameter.values) > 1
        ]
        self._points = self._points_of([])
        #: Not a number where a place failed.
        self._logs: Array = np.zeros(0)
        self._squares: Array = np.zeros(len(self._columns))
        self._pairs: Array = np.zeros(len(self._columns))

    def learn(self, place: Rows, milliseconds: float | None) -> None:
        point = self._points_of([place])
        time = nan if milliseconds is None else log(max(milliseconds, LEAST))
        self._compare(point, time)
        self.places.append(place)
        self._points = np.concatenate([self._points, point])
        self._logs = np.append(self._logs, time)

    def fastest(self, most: int) -> list[Rows]:
        """Return the fastest places; of those with equal times, which are one program, only one."""
        _, first = np.unique(self._filled(self._logs), return_index=True)
        return [self.places[index] for index in first[:most]]

    def least(self, places: Sequence[Rows]) -> Array:
        """Return logarithms of times one standard deviation below the predicted ones."""
        logs = self._filled(self._logs)
        used = np.argsort(logs, kind="stable")[:MOST]
        squares = np.full((len(places), len(used)), NO_DISTANCE)
        asked, known = self._points_of(places), self._points[used]
        for number, spread in enumerate(self._spreads(logs)):
            squares += spread * _steps(asked[:, number, None] - known[None, :, number])
        nearest = squares.min(axis=1, keepdims=True)
        weights = (nearest / squares) ** POWER
        expected = (weights * logs[used]).sum(axis=1) / weights.sum(axis=1)
        least: Array = expected - np.sqrt(nearest[:, 0])
        return least

    def _compare(self, point: Array, time: float) -> None:
        logs = self._filled(np.append(self._logs, time))
        steps = _steps(point - self._points)
        differing = steps > 0
        # Of two that failed it is not known which is slower.
        told = ~(np.isnan(self._logs) & np.isnan(time))
        weights = told * np.maximum(differing.sum(axis=1), 1.0) ** -SHARED
        squares = (logs[:-1] - logs[-1]) ** 2 / np.maximum(steps.sum(axis=1), NO_DISTANCE)
        self._squares += ((weights * squares)[:, None] * differing).sum(axis=0)
        self._pairs += (weights[:, None] * differing).sum(axis=0)

    def _spreads(self, logs: Array) -> Array:
        """Squares of the differences between the first and last value of each parameter."""
        assumed = float(np.var(logs)) / len(self._columns)
        return (self._squares + ASSUMED * assumed) / (self._pairs + ASSUMED)

    def _filled(self, logs: Array) -> Array:
        """Replace failures by times slower than the slowest."""
        failed = np.isnan(logs)
        worst = 0.0 if failed.all() else float(np.nanmax(logs)) + log(FAILED)
        return np.where(failed, worst, logs)

    def _points_of(self, places: Iterable[Rows]) -> Array:
        rows = np.array([*places], dtype=np.int64).reshape(-1, len(self.space.tables))
        columns = [column[rows[:, axis]] / last for axis, column, last in self._columns]
        return np.stack(columns, axis=1)


def _steps(differences: Array) -> Array:
    """Return how much differences of a parameter count: 0 for none, 1 between its ends."""
    away = np.abs(differences)
    return np.where(away > 0, NEXT_VALUE + (1 - NEXT_VALUE) * away, 0.0)


#: Places drawn at random before all else: 4 to 8 do alike; with fewer a bad start costs more.
DRAWN = 8
#: Fastest places whose neighbours are candidates: 2 to 8 do alike.
FASTEST = 4
#: Candidates on an axis for each of its parameters, near ones and as many at random.
NEIGHBOURS = 4
#: Candidates that are drawn at random, without which a search can stay in one region.
ANYWHERE = 16
#: Candidates that differ from a fast place on two axes, where no single one makes it faster.
CHANGED_TWICE = 8
#: Places that are tried together, so that some workers are busy; more where they share a process.
TRIED_TOGETHER = 4
#: Rounds without anything new until the rest is left to chance.
FRUITLESS = 64


def local_search(tries: Tries, start: Rows, generator: random.Random) -> None:
    """Try places until there is nothing more to look at. Raises SearchEnd, as `Tries.at`."""
    _Search(tries, generator, TimePredictor(tries.space)).run(start)


@dataclass
class _Search:
    tries: Tries
    generator: random.Random
    predictor: TimePredictor
    #: Of rows of axes: in a large table they take long to find, and the fastest places stay.
    near: dict[tuple[int, int], list[int]] = field(default_factory=dict)

    def run(self, start: Rows) -> None:
        self._try(dict.fromkeys([start, *self.tries.known, *self._drawn(DRAWN)]))
        fruitless = 0
        while fruitless < FRUITLESS:
            new = self._candidates()
            fruitless = 0 if new else fruitless + 1
            if new:
                order = np.argsort(self.predictor.least(new), kind="stable")
                self._try(self.tries.first_of([new[index] for index in order], TRIED_TOGETHER))

    def _try(self, places: Iterable[Rows]) -> None:
        chosen = [*places]
        self.tries.expect(chosen)
        for place in chosen:
            self.predictor.learn(place, self.tries.at(place))

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
    return (*place[:axis], row, *place[axis + 1 :])

"""Searches of other tuners: Kernel Tuner, OpenTuner, pyATF. Take a space and a start, try places.

They ask cutune for times, so that nothing is compiled by them. Each configuration counts once. What
a space does not allow costs nothing, but not without end.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from cutune.search.techniques.tries import Rows, SearchEnd, Tries
from cutune.space.condition import Value
from cutune.space.space import Configuration, Space

#: A tuner that asks so often for what is not allowed, one time after the other, is at its end.
MOST_REFUSED = 2000


@dataclass
class TimedSpace:
    """Times by numbers of values, one per parameter: a form that every tuner takes."""

    tries: Tries
    _refused: int = 0

    @property
    def space(self) -> Space:
        return self.tries.space

    def at(self, places: Sequence[int]) -> float | None:
        """Measure, and return milliseconds; None where it fails, or is not allowed.

        Raises:
            SearchEnd: no more may be measured, or nothing new is asked for.
        """
        pairs = zip(self.space.parameters, places, strict=True)
        rows = rows_of(self.space, {one.name: one.values[i] for one, i in pairs})
        if rows is None:
            self._refused += 1
            if self._refused > MOST_REFUSED:
                raise SearchEnd
            return None
        self._refused = 0
        return self.tries.at(rows)

    def places(self, rows: Rows) -> list[int]:
        """Return the numbers of the values at a place."""
        configuration = self.space.of_rows(rows)
        return [one.values.index(configuration[one.name]) for one in self.space.parameters]


def rows_of(space: Space, configuration: Configuration) -> Rows | None:
    """Return the row of each table; None where a configuration is not allowed."""
    rows = [table.index(configuration) for table in space.tables]
    known = [row for row in rows if row is not None]
    return tuple(known) if len(known) == len(rows) else None


def plain_values(values: Sequence[Value]) -> list[int | float | str]:
    """Return the values without fractions, which other tuners do not know."""
    return [float(value) if isinstance(value, Fraction) else value for value in values]


def places_of(values: Sequence[Sequence[Any]]) -> list[Mapping[Any, int]]:
    """Return, per parameter, the number of each value."""
    return [{value: i for i, value in enumerate(own)} for own in values]


@contextmanager
def seeded(generator: random.Random) -> Iterator[int]:
    """Seed the random numbers that other tuners share from a generator of ours; gives the seed.

    What they were before is put back.
    """
    before, before_numpy = random.getstate(), np.random.get_state()
    state = generator.randrange(1 << 32)
    random.seed(state)
    np.random.seed(state)
    try:
        yield state
    finally:
        random.setstate(before)
        np.random.set_state(before_numpy)

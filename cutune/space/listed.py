"""A space whose configurations are listed, not described. Takes them, gives a `Space`.

Groups of parameters are those that depend on each other: the list is the product of what each group
takes, and so has the same axes as a space with conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from cutune.space.condition import Value
from cutune.space.parameter import Parameter, checked
from cutune.space.space import Configuration, Space
from cutune.space.tables import Table

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class ListedSpace(Space):
    """A space with the tables that it is given."""

    listed: tuple[Table, ...] = ()

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """Its axes."""
        return self.listed


def listed_space(configurations: Iterable[Configuration]) -> Space:
    """The space of these configurations, which have the same parameters and are at least one.

    Values are in rising order where all are numbers, else in the order in which they come.
    """
    every = list(configurations)
    parameters = tuple(checked(name, _values(every, name)) for name in every[0])
    places = [{value: i for i, value in enumerate(one.values)} for one in parameters]
    rows = np.array(
        [
            [place[one[p.name]] for p, place in zip(parameters, places, strict=True)]
            for one in every
        ],
        dtype=np.int64,
    ).reshape(len(every), len(parameters))
    rows = np.unique(rows, axis=0)
    tables = tuple(_table(parameters, rows, group) for group in _groups(parameters, rows))
    return ListedSpace(parameters, listed=tables)


def _values(every: Sequence[Configuration], name: str) -> list[Value]:
    values = list(dict.fromkeys(one[name] for one in every))
    numbers = [value for value in values if not isinstance(value, str)]
    return [*sorted(numbers)] if len(numbers) == len(values) else values


def _groups(parameters: Sequence[Parameter], rows: Rows) -> list[list[int]]:
    """Columns that depend on each other; all of them where more than pairs do."""
    groups = [[i] for i, _ in enumerate(parameters)]
    for a, b in combinations(range(len(parameters)), 2):
        if _count(rows, [a, b]) < _count(rows, [a]) * _count(rows, [b]):
            met = [group for group in groups if a in group or b in group]
            rest = [group for group in groups if group not in met]
            groups = [*rest, sorted({column for group in met for column in group})]
    groups.sort()
    is_product = prod(_count(rows, group) for group in groups) == len(rows)
    return groups if is_product else [list(range(len(parameters)))]


def _count(rows: Rows, columns: Sequence[int]) -> int:
    return len(np.unique(rows[:, list(columns)], axis=0))


def _table(parameters: Sequence[Parameter], rows: Rows, group: Sequence[int]) -> Table:
    combinations = np.unique(rows[:, list(group)], axis=0)
    return Table(tuple(parameters[i] for i in group), tuple(combinations.T))

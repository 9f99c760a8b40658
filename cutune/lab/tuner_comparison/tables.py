"""Recorded results for replay. Takes results, gives tables: a space, and the time of each of it.

A space whose configurations are listed has the same axes as one with conditions: the list is the
product of the groups of parameters that depend on each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.lab.interchange.results import Result, Results, Setting, Settings
from cutune.search.compare import KnownTime, RecordedTable
from cutune.space.annotation import Value
from cutune.space.parameter import Parameter, ParameterOptions, checked
from cutune.space.space import Configuration, Space
from cutune.space.tables import Table, connected

Rows = NDArray[np.int64]


def listed_space(configurations: Iterable[Configuration]) -> Space:
    """The space of these configurations, which have the same parameters and are at least one.

    Values are in rising order where all are numbers, else in the order in which they come.
    """
    every = list(configurations)
    parameters = tuple(checked(name, _values(every, name)) for name in every[0])
    places = {p.name: {value: i for i, value in enumerate(p.values)} for p in parameters}
    listed = [[place[one[name]] for name, place in places.items()] for one in every]
    numbers = np.array(listed, dtype=np.int64).reshape(len(every), len(parameters))
    rows = np.unique(numbers, axis=0)
    tables = []
    for group in _groups(parameters, rows):
        combined = np.unique(rows[:, group], axis=0)
        tables.append(Table(tuple(parameters[i] for i in group), tuple(combined.T)))
    return Space(parameters, listed=tuple(tables))


def _values(every: Sequence[Configuration], name: str) -> list[Value]:
    values = list(dict.fromkeys(one[name] for one in every))
    numbers = [value for value in values if not isinstance(value, str)]
    return [*sorted(numbers)] if len(numbers) == len(values) else values


def _groups(parameters: Sequence[Parameter], rows: Rows) -> list[list[int]]:
    """Columns that depend on each other; all of them where more than pairs do."""
    columns = range(len(parameters))
    pairs = combinations(columns, 2)
    dependent = (p for p in pairs if _count(rows, p) < prod(_count(rows, [one]) for one in p))
    groups = connected(columns, dependent)
    is_product = prod(_count(rows, group) for group in groups) == len(rows)
    return groups if is_product else [[*columns]]


def _count(rows: Rows, columns: Iterable[int]) -> int:
    numbers = np.zeros(len(rows), np.int64)
    for column in columns:
        own = rows[:, column]
        # Numbered anew, they stay small. To sort rows takes five times as long.
        numbers = np.unique(numbers * (own.max() + 1) + own, return_inverse=True)[1]
    return int(numbers.max()) + 1


def recorded_tables(results: Results, asked: ParameterOptions) -> Iterator[RecordedTable]:
    """Return a table per device and size; `asked`: a space instead. Raises CT831."""
    groups: dict[tuple[object, ...], list[Result]] = {}
    for one in results.results:
        groups.setdefault((one.device, *sorted(one.sizes.items())), []).append(one)
    useful = [g for g in groups.values() if any(one.milliseconds is not None for one in g)]
    if not useful:
        raise _incomplete("nothing in it has a time")
    return (_recorded(group, asked) for group in useful)


def _recorded(group: Sequence[Result], asked: ParameterOptions) -> RecordedTable:
    # What was timed again counts as it was timed last.
    latest = {tuple(sorted(_exact(one.configuration).items())): one for one in group}
    names = [*group[0].configuration]
    if not names or any({*one.configuration} != {*names} for one in group):
        raise _incomplete("its configurations have not all the same parameters")
    every: list[Configuration] = [_exact(one.configuration) for one in latest.values()]
    sizes = ", ".join(f"{name} = {value}" for name, value in group[0].sizes.items())
    where = ", ".join(filter(None, [group[0].device, sizes])) or "here"
    if asked.parameters:
        space = Space.of(asked.parameters, asked.conditions, _exact(group[0].sizes))
    else:
        space = listed_space([{name: one[name] for name in names} for one in every])
    known = {}
    for configuration, one in zip(every, latest.values(), strict=True):
        number = space.number(configuration) if {*configuration} >= {*space.names} else None
        if number is not None:
            known[number] = KnownTime(one.milliseconds, one.cost_seconds)
    if len(known) < space.size:
        raise _incomplete(f"{where}: {len(known)} of {space.size} configurations are recorded")
    return RecordedTable(where, space, known)


def _exact(settings: Settings) -> dict[str, Value]:
    return {name: _value(setting) for name, setting in settings.items()}


def _value(setting: Setting) -> Value:
    if isinstance(setting, bool):
        return int(setting)
    return Fraction(str(setting)) if isinstance(setting, float) else setting


def _incomplete(reason: str) -> CutuneError:
    return CutuneError.at(Code.NOT_WHOLE, reason=reason)

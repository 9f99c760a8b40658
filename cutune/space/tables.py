"""Tables of a space: parameters that share conditions, and what these leave of their combinations.

Values that no partner of a condition supports are thrown out. Then the parameters are joined one by
one, that first of whose combinations the fewest are allowed, and rows are filtered at once: the
product of the values is never made. A table has its rows in lexicographic order, so that each is
found by bisection.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.space.annotation import Condition, Value
from cutune.space.columns import Array, Column, Mask, mask
from cutune.space.parameter import Parameter

T = TypeVar("T")
#: Rows that are looked at together.
CHUNK = 1 << 19
#: Rows that are tried before a parameter is joined.
SAMPLE = 1 << 10
#: A larger table would not fit into memory: 2 GiB of it.
MOST_BYTES = 1 << 31
#: Pairs of values of two parameters that are tried in order to throw values out.
MOST_PAIRS = 1 << 20

Indices = NDArray[np.integer]
Rows = Mapping[str, Indices]
"""By parameter the places of its values, one per row."""


@dataclass(frozen=True)
class Table:
    """Parameters that share conditions, and the combinations of values that these leave.

    `columns`: per parameter the places of its values, one entry per combination.
    """

    parameters: tuple[Parameter, ...]
    columns: tuple[Indices, ...]

    @property
    def size(self) -> int:
        return len(self.columns[0])

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)

    def row(self, index: int) -> dict[str, Value]:
        return {
            parameter.name: parameter.values[column[index]]
            for parameter, column in zip(self.parameters, self.columns, strict=True)
        }

    def index(self, configuration: Mapping[str, Value]) -> int | None:
        first, last = 0, self.size
        for parameter, column in zip(self.parameters, self.columns, strict=True):
            try:
                wanted = parameter.values.index(configuration[parameter.name])
            except ValueError:
                return None
            part = column[first:last]
            value = np.asarray(wanted, dtype=part.dtype)
            last = first + int(part.searchsorted(value, "right"))
            first += int(part.searchsorted(value, "left"))
            if first == last:
                return None
        return first

    def distinct(self, names: Sequence[str]) -> int:
        columns = [c for n, c in zip(self.names, self.columns, strict=True) if n in names]
        return len(np.unique(np.stack(columns, axis=1), axis=0)) if columns else 1

    def nearest(self, index: int, most: int) -> list[int]:
        """Return the other rows that differ in the fewest parameters, then in steps of values."""
        distance = self._distances([int(column[index]) for column in self.columns])
        distance[index] = np.iinfo(np.int64).max
        count = min(most, self.size - 1)
        if count < 1:
            return []
        # Of rows at the same distance the first ones count, whatever `most` is.
        near = np.flatnonzero(distance <= np.partition(distance, count - 1)[count - 1])
        return [int(row) for row in near[np.argsort(distance[near], kind="stable")][:count]]

    def closest(self, wanted: Mapping[str, Value]) -> int:
        """Return the row nearest to some values; where a value is missing, to the middle one."""
        places = []
        for parameter in self.parameters:
            value = wanted.get(parameter.name)
            known = value in parameter.values
            middle = len(parameter.values) // 2
            places.append(parameter.values.index(value) if known else middle)
        return int(np.argmin(self._distances(places)))

    def _distances(self, places: Sequence[int]) -> Array:
        differing = np.zeros(self.size, dtype=np.int64)
        steps = np.zeros(self.size, dtype=np.int64)
        for column, place in zip(self.columns, places, strict=True):
            away = np.abs(column.astype(np.int64) - place)
            differing += away > 0
            steps += away
        far = 1 + sum(len(parameter.values) for parameter in self.parameters)
        return differing * far + steps


def connected(items: Sequence[T], links: Iterable[Collection[T]]) -> list[list[T]]:
    """Return the groups of items that links hold together, directly or not, in their order."""
    groups = [{item} for item in items]
    for link in links:
        met = [group for group in groups if not group.isdisjoint(link)]
        groups = [group for group in groups if group not in met]
        groups += [set[T]().union(*met)] if met else []
    ordered = [[item for item in items if item in group] for group in groups]
    return sorted(ordered, key=lambda group: items.index(group[0]))


@dataclass(frozen=True)
class TableJoin:
    """Parameters that conditions connect, their conditions, and what else is known."""

    parameters: tuple[Parameter, ...]
    conditions: Sequence[Condition]
    known: Mapping[str, Column]

    def table(self) -> Table:
        """Return all that is allowed. Raises CT804 for nothing, CT805 for too much."""
        values = self._supported()
        first = min(values, key=lambda name: (self._share(name, values), len(values[name])))
        rows = self._first_rows(first, values[first])
        while len(rows) < len(values):
            rows = self._next(rows, values).joined()
        return Table(tuple(self._by_name[name] for name in rows), tuple(rows.values()))

    @cached_property
    def _by_name(self) -> Mapping[str, Parameter]:
        return {parameter.name: parameter for parameter in self.parameters}

    @cached_property
    def _columns(self) -> Mapping[str, Column]:
        return {parameter.name: Column.of(parameter.values) for parameter in self.parameters}

    def count_of(self, name: str) -> int:
        """Return how many values a parameter has."""
        return len(self._by_name[name].values)

    def within(self, names: Iterable[str]) -> list[Condition]:
        """Return the conditions on these parameters alone."""
        known = {*names}
        return [c for c in self.conditions if c.names & self._by_name.keys() <= known]

    def mask(self, conditions: Sequence[Condition], rows: Rows) -> Mask:
        """Return which rows satisfy all conditions, of which there are some."""
        named = rows.keys() & frozenset[str]().union(*(one.names for one in conditions))
        known = {**self.known, **{name: self._columns[name].at(rows[name]) for name in named}}
        return reduce(np.logical_and, (mask(condition.tree, known) for condition in conditions))

    # ---- values that are left

    def _supported(self) -> dict[str, Indices]:
        """Return, per parameter, the values that no condition of one or two parameters forbids."""
        kept: dict[str, Indices] = {
            p.name: np.arange(len(p.values), dtype=np.min_scalar_type(len(p.values) - 1))
            for p in self.parameters
        }
        small = [c for c in self.conditions if len(c.names & self._by_name.keys()) <= 2]
        is_changed = True
        while is_changed:
            is_changed = False
            for condition in small:
                for name, values in self._supports(condition, kept):
                    is_changed |= len(values) < len(kept[name])
                    kept[name] = values
                    if not len(values):
                        raise nothing_allowed([condition, *(c for c in small if name in c.names)])
        return kept

    def _supports(self, condition: Condition, kept: Rows) -> list[tuple[str, Indices]]:
        names = sorted(condition.names & self._by_name.keys())
        counts = [len(kept[name]) for name in names]
        if prod(counts) > MOST_PAIRS:
            return []
        grid = np.meshgrid(*(kept[name] for name in names), indexing="ij")
        flat = {name: index.ravel() for name, index in zip(names, grid, strict=True)}
        allowed = np.broadcast_to(self.mask([condition], flat), prod(counts)).reshape(counts)
        axes = range(len(names))
        return [
            (name, kept[name][allowed.any(axis=tuple(a for a in axes if a != axis))])
            for axis, name in enumerate(names)
        ]

    # ---- the order in which parameters are joined

    def _share(self, name: str, values: Rows) -> float:
        """Return the share of combinations with the best second parameter that are allowed."""
        own = {name: values[name]}
        others = (other for other in values if other != name)
        return min((_Pairing(self, own, n, values[n]).share for n in others), default=1.0)

    def _first_rows(self, name: str, values: Indices) -> dict[str, Indices]:
        conditions = self.within([name])
        conditions = [condition for condition in conditions if name in condition.names]
        left = values[self.mask(conditions, {name: values})] if conditions else values
        if not len(left):
            raise nothing_allowed(conditions)
        return {name: left}

    def _next(self, rows: Rows, values: Rows) -> _Pairing:
        """Return the parameter whose combinations with a sample of rows are allowed least often."""
        count = len(next(iter(rows.values())))
        picked = np.unique(np.linspace(0, count - 1, min(count, SAMPLE)).astype(np.int64))
        sample = {name: index[picked] for name, index in rows.items()}

        def rank(name: str) -> tuple[float, int, int]:
            met = sum(name in c.names and bool(c.names & rows.keys()) for c in self.conditions)
            return _Pairing(self, sample, name, values[name]).share, -met, len(values[name])

        name = min((name for name in values if name not in rows), key=rank)
        return _Pairing(self, rows, name, values[name])


@dataclass(frozen=True)
class _Pairing:
    """Rows of some parameters, and values of one more: which of them are allowed together?"""

    join: TableJoin
    rows: Rows
    name: str
    values: Indices

    @cached_property
    def conditions(self) -> list[Condition]:
        """Conditions that name the parameter, and no other beside those of the rows."""
        within = self.join.within([*self.rows, self.name])
        return [condition for condition in within if self.name in condition.names]

    @property
    def row_count(self) -> int:
        return len(next(iter(self.rows.values())))

    @property
    def share(self) -> float:
        """The share of all pairs that are allowed; 1 where these are too many to be tried."""
        pairs = self.row_count * len(self.values)
        if not self.conditions or pairs > MOST_PAIRS:
            return 1.0
        return int(np.count_nonzero(self._allowed(self._named_rows, self.row_count))) / pairs

    def joined(self) -> dict[str, Indices]:
        """Return a row for each pair that is allowed. Raises CT804 for none, CT805 for many."""
        row_bytes = sum(column.itemsize for column in (*self.rows.values(), self.values))
        small = np.int32 if self.row_count < 1 << 31 else np.int64
        kept, values, total = list[Array](), list[Indices](), 0
        for start, allowed in self._in_chunks():
            row, value = np.nonzero(allowed)
            kept.append((row + start).astype(small))
            values.append(self.values[value])
            total += len(row)
            if total * row_bytes > MOST_BYTES:
                first, names = self.join.conditions[0], ", ".join([*self.rows, self.name])
                code = Code.SPACE_TOO_LARGE
                raise CutuneError.at(code, first.source, first.span, names=names)
        if not total:
            raise nothing_allowed([*self.conditions, *self.join.within(self.rows)])
        rows = np.concatenate(kept)
        joined = {name: column[rows] for name, column in self.rows.items()}
        return {**joined, self.name: np.concatenate(values)}

    @cached_property
    def _named_rows(self) -> dict[str, Indices]:
        """The columns of parameters that a condition names."""
        named = frozenset[str]().union(*(condition.names for condition in self.conditions))
        return {name: column for name, column in self.rows.items() if name in named}

    def _in_chunks(self) -> Iterator[tuple[int, Mask]]:
        """Yield the number of a first row, and which values go with it and with those behind."""
        named, step = self._named_rows, max(1, CHUNK // len(self.values))
        sizes = [self.join.count_of(name) for name in named]
        known = self._of_all_values(sizes)
        for start in range(0, self.row_count, step):
            part = {name: column[start : start + step] for name, column in named.items()}
            if known is None:
                yield start, self._allowed(part, min(step, self.row_count - start))
            else:
                indices = [column.astype(np.intp) for column in part.values()]
                yield start, known[np.ravel_multi_index(indices, sizes)]

    def _of_all_values(self, sizes: Sequence[int]) -> Mask | None:
        """Answer for all combinations of values that conditions name; None: rows are fewer."""
        count = prod(sizes)
        if not sizes or count > self.row_count or count * len(self.values) > MOST_PAIRS:
            return None
        combined = np.indices(sizes).reshape(len(sizes), -1)
        return self._allowed(dict(zip(self._named_rows, combined, strict=True)), count)

    def _allowed(self, rows: Rows, count: int) -> Mask:
        """Return, per row, which values are allowed with it."""
        if not self.conditions:
            return np.ones((count, len(self.values)), dtype=np.bool_)
        row, value = np.divmod(np.arange(count * len(self.values)), len(self.values))
        pairs = {name: column[row] for name, column in rows.items()}
        allowed = self.join.mask(self.conditions, {**pairs, self.name: self.values[value]})
        return allowed.reshape(count, len(self.values))


def nothing_allowed(conditions: Sequence[Condition]) -> CutuneError:
    """Return the error of conditions that leave nothing (CT804)."""
    texts = "' and '".join(dict.fromkeys(condition.text for condition in conditions))
    place = conditions[0]
    return CutuneError.at(Code.NOTHING_ALLOWED, place.source, place.span, conditions=texts)

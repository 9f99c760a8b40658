"""The space of configurations. Takes parameters and conditions; counted, numbered, walked.

Parameters that conditions connect are joined into tables. Values that no partner of a condition
supports are thrown out. Then the parameters are joined one by one, that first of whose combinations
the fewest are allowed, and rows are filtered at once: the product of the values is never made. A
table has its rows in lexicographic order, so that each is found by bisection.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, known_names
from cutune.space.annotation import Condition, Value
from cutune.space.columns import Array, Column, Mask, mask
from cutune.space.parameter import NONE, Parameter

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
class _Join:
    """One group: its parameters, their conditions, and what else is known."""

    parameters: tuple[Parameter, ...]
    conditions: Sequence[Condition]
    known: Mapping[str, Column]

    def table(self) -> Table:
        kept = self._supported()
        rows: dict[str, Indices] = {}
        while len(rows) < len(kept):
            rows = self._joined(rows, self._next(rows, kept), kept)
        return Table(tuple(self._by_name[name] for name in rows), tuple(rows.values()))

    @cached_property
    def _by_name(self) -> Mapping[str, Parameter]:
        return {parameter.name: parameter for parameter in self.parameters}

    @cached_property
    def _columns(self) -> Mapping[str, Column]:
        return {parameter.name: Column.of(parameter.values) for parameter in self.parameters}

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
                        raise _nothing([condition, *(c for c in small if name in c.names)])
        return kept

    def _supports(
        self, condition: Condition, kept: Mapping[str, Indices]
    ) -> list[tuple[str, Indices]]:
        names = sorted(condition.names & self._by_name.keys())
        counts = [len(kept[name]) for name in names]
        if prod(counts) > MOST_PAIRS:
            return []
        grid = np.meshgrid(*(kept[name] for name in names), indexing="ij")
        flat = {name: index.ravel() for name, index in zip(names, grid, strict=True)}
        allowed = np.broadcast_to(self._mask([condition], flat), prod(counts)).reshape(counts)
        axes = range(len(names))
        return [
            (name, kept[name][allowed.any(axis=tuple(a for a in axes if a != axis))])
            for axis, name in enumerate(names)
        ]

    def _mask(self, conditions: Sequence[Condition], rows: Mapping[str, Indices]) -> Mask:
        named = rows.keys() & frozenset[str]().union(*(one.names for one in conditions))
        known = {**self.known, **{name: self._columns[name].at(rows[name]) for name in named}}
        return reduce(np.logical_and, (mask(condition.tree, known) for condition in conditions))

    def _next(self, rows: Mapping[str, Indices], kept: Mapping[str, Indices]) -> str:
        """Return the parameter whose combinations with a sample of rows are allowed least often."""
        left = [name for name in kept if name not in rows]
        if not rows:

            def first_share(name: str) -> float:
                """The share of its combinations with the best second parameter."""
                others = (other for other in kept if other != name)
                shares = (self._share({name: kept[name]}, n, kept[n]) for n in others)
                return min(shares, default=1.0)

            return min(left, key=lambda name: (first_share(name), len(kept[name])))
        count = len(next(iter(rows.values())))
        picked = np.unique(np.linspace(0, count - 1, min(count, SAMPLE)).astype(np.int64))
        few = {name: index[picked] for name, index in rows.items()}

        def rank(name: str) -> tuple[float, int, int]:
            met = sum(name in c.names and bool(c.names & set(rows)) for c in self.conditions)
            return self._share(few, name, kept[name]), -met, len(kept[name])

        return min(left, key=rank)

    def _share(self, rows: Mapping[str, Indices], name: str, values: Indices) -> float:
        conditions, count = self._testable(rows, name), len(next(iter(rows.values())))
        if not conditions or count * len(values) > MOST_PAIRS:
            return 1.0
        looked = {n: index for n, index in rows.items() if _speaks(conditions, n)}
        allowed = self._allowed(conditions, looked, name, values, count)
        return int(np.count_nonzero(allowed)) / allowed.size

    def _testable(self, rows: Mapping[str, Indices], name: str) -> list[Condition]:
        return [c for c in self._within([*rows, name]) if name in c.names]

    def _within(self, names: Sequence[str]) -> list[Condition]:
        return [c for c in self.conditions if c.names & self._by_name.keys() <= set(names)]

    def _joined(
        self, rows: Mapping[str, Indices], name: str, kept: Mapping[str, Indices]
    ) -> dict[str, Indices]:
        values = kept[name]
        conditions = self._testable(rows, name)
        if not rows:
            left = values[self._mask(conditions, {name: values})] if conditions else values
            if not len(left):
                raise _nothing(conditions)
            return {name: left}
        count = len(next(iter(rows.values())))
        step = max(1, CHUNK // len(values))
        looked = {n: index for n, index in rows.items() if _speaks(conditions, n)}
        # Per combination of values that conditions name, where these are fewer than the rows.
        known, sizes = None, [len(self._by_name[n].values) for n in looked]
        if looked and prod(sizes) <= count and prod(sizes) * len(values) <= MOST_PAIRS:
            every = dict(zip(looked, np.indices(sizes).reshape(len(sizes), -1), strict=True))
            known = self._allowed(conditions, every, name, values, prod(sizes))
        joined: list[tuple[Array, Indices]] = []
        total = 0
        for start in range(0, count, step):
            part = {n: index[start : start + step] for n, index in looked.items()}
            if known is None:
                allowed = self._allowed(conditions, part, name, values, min(step, count - start))
            else:
                indices = [index.astype(np.intp) for index in part.values()]
                allowed = known[np.ravel_multi_index(indices, sizes)]
            old, new = np.nonzero(allowed)
            old = (old + start).astype(np.int32 if count < 1 << 31 else np.int64)
            joined.append((old, values[new]))
            total += len(old)
            if total * sum(column.itemsize for column in (*rows.values(), values)) > MOST_BYTES:
                first, names = self.conditions[0], ", ".join([*rows, name])
                code = Code.SPACE_TOO_LARGE
                raise CutuneError.at(code, first.source, first.span, names=names)
        old = np.concatenate([part for part, _ in joined])
        if not len(old):
            raise _nothing([*conditions, *self._within(list(rows))])
        new = np.concatenate([part for _, part in joined])
        return {**{n: index[old] for n, index in rows.items()}, name: new}

    def _allowed(
        self,
        conditions: Sequence[Condition],
        rows: Mapping[str, Indices],
        name: str,
        values: Indices,
        count: int,
    ) -> Mask:
        if not conditions:
            return np.ones((count, len(values)), dtype=np.bool_)
        old, new = np.divmod(np.arange(count * len(values)), len(values))
        looked = {n: index[old] for n, index in rows.items()}
        allowed = self._mask(conditions, {**looked, name: values[new]})
        return allowed.reshape(count, len(values))


def _speaks(conditions: Sequence[Condition], name: str) -> bool:
    return any(name in condition.names for condition in conditions)


def _nothing(conditions: Sequence[Condition]) -> CutuneError:
    texts = "' and '".join(dict.fromkeys(condition.text for condition in conditions))
    place = conditions[0]
    return CutuneError.at(Code.NOTHING_ALLOWED, place.source, place.span, conditions=texts)


Configuration = Mapping[str, Value]
"""A value of each parameter, in the order of the parameters."""


@dataclass(frozen=True)
class Space:
    """Parameters, what must hold of them, and what else is known: sizes, limits of the device.

    Every configuration has a number, from 0 to `size - 1`; the first table's rows change slowest.

    Attributes:
        known: names with one value.
        vocabulary: words besides the values of parameters, with which conditions may compare.
        listed: tables where the configurations are listed, in place of conditions.
    """

    parameters: tuple[Parameter, ...]
    conditions: tuple[Condition, ...] = ()
    known: Mapping[str, Value] = field(default_factory=dict)
    vocabulary: frozenset[str] = frozenset({NONE})
    listed: tuple[Table, ...] = ()

    @staticmethod
    def of(
        parameters: Iterable[Parameter],
        conditions: Iterable[Condition] = (),
        known: Mapping[str, Value] | None = None,
        words: Iterable[str] = (),
    ) -> Space:
        """Return a space. Raises CT802 for a repeated parameter, CT803 for an unknown name."""
        space = Space(tuple(parameters), tuple(conditions), known or {})
        space = replace(space, vocabulary=space.vocabulary.union(words))
        names = space.names
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise CutuneError.at(Code.PARAMETER_TWICE, name=twice)
        for condition in space.conditions:
            for name in sorted(space.unknown(condition)):
                raise CutuneError.at(
                    Code.UNKNOWN_IN_SPACE,
                    condition.source,
                    condition.span,
                    condition=condition.text,
                    name=name,
                    known=known_names(name, [*names, *space.known]),
                )
        return space

    def unknown(self, condition: Condition) -> set[str]:
        """Names of a condition that are neither parameters nor known, nor words of parameters."""
        known = {*self.names, *self.known}
        return set(condition.names - known - (condition.possible_words & self.words))

    @property
    def words(self) -> frozenset[str]:
        """All words that conditions may compare something with."""
        values = (v for parameter in self.parameters for v in parameter.values)
        return self.vocabulary.union(v for v in values if isinstance(v, str))

    def at(self, known: Mapping[str, Value]) -> Space:
        """Return this space with more names of one value, for instance the sizes of a run."""
        return replace(self, known={**self.known, **known})

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """One table per group of connected parameters. Raises CT804 for none, CT805 for many."""
        if self.listed:
            return self.listed
        parts = [part for condition in self.conditions for part in condition.conjuncts()]
        # A parameter of one value connects nothing.
        single = {p.name: p.values[0] for p in self.parameters if len(p.values) == 1}
        names = {*self.names} - single.keys()
        constant = {name: Column.of([value]) for name, value in {**self.known, **single}.items()}
        for part in parts:
            if not part.names & names and not mask(part.tree, constant).all():
                raise _nothing([part])
        return tuple(
            _Join(
                tuple(p for p in self.parameters if p.name in group),
                [part for part in parts if not part.names.isdisjoint(names.intersection(group))],
                constant,
            ).table()
            for group in connected(self.names, [part.names & names for part in parts])
        )

    @property
    def raw_size(self) -> int:
        return prod(len(parameter.values) for parameter in self.parameters)

    @property
    def size(self) -> int:
        return prod(table.size for table in self.tables)

    def configuration(self, number: int) -> Configuration:
        return self.of_rows(self.rows(number))

    def rows(self, number: int) -> tuple[int, ...]:
        rows = []
        for table in reversed(self.tables):
            number, row = divmod(number, table.size)
            rows.append(row)
        return tuple(reversed(rows))

    def number(self, configuration: Configuration) -> int | None:
        place = self.place(configuration)
        if place is None:
            return None
        pairs = zip(self.tables, place, strict=True)
        return reduce(lambda number, pair: number * pair[0].size + pair[1], pairs, 0)

    def place(self, configuration: Configuration) -> tuple[int, ...] | None:
        rows = (table.index(configuration) for table in self.tables)
        allowed = tuple(row for row in rows if row is not None)
        return allowed if len(allowed) == len(self.tables) else None

    def __contains__(self, configuration: Configuration) -> bool:
        return self.place(configuration) is not None

    def __iter__(self) -> Iterator[Configuration]:
        return map(self.configuration, range(self.size))

    def of_rows(self, rows: Iterable[int]) -> Configuration:
        values: dict[str, Value] = {}
        for table, row in zip(self.tables, rows, strict=True):
            values.update(table.row(row))
        return {name: values[name] for name in self.names}

"""The space of configurations. Takes parameters and conditions; counted, numbered, walked.

Parameters that conditions connect are joined into tables (`space.tables`); the space is the product
of its tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from math import prod

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, known_names
from cutune.space.annotation import Condition, Value
from cutune.space.columns import Column, mask
from cutune.space.parameter import NONE, Parameter
from cutune.space.tables import Table, TableJoin, connected, nothing_allowed

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
                raise nothing_allowed([part])
        return tuple(
            TableJoin(
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

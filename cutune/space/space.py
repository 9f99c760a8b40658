"""The space of configurations. Takes parameters and conditions; counted, drawn from, numbered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, known_names
from cutune.space.condition import Condition, Value, unknown_names
from cutune.space.parameter import NONE, Parameter
from cutune.space.tables import Table, tables_of

Configuration = Mapping[str, Value]
"""A value of each parameter, in the order of the parameters."""


@dataclass(frozen=True)
class Space:
    """Parameters, what must hold of them, and what else is known: sizes, limits of the device.

    Every configuration has a number, from 0 to `size - 1`; the first table's rows change slowest.

    Attributes:
        known: names with one value.
        vocabulary: words besides the values of parameters, with which conditions may compare.
    """

    parameters: tuple[Parameter, ...]
    conditions: tuple[Condition, ...] = ()
    known: Mapping[str, Value] = field(default_factory=dict)
    vocabulary: frozenset[str] = frozenset({NONE})

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
        return unknown_names(condition, {*self.names, *self.known}, self.words)

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
        """One table per group of connected parameters. Raises CT804, CT805, as `tables_of`."""
        return tables_of(self.parameters, self.conditions, self.known)

    @property
    def raw_size(self) -> int:
        """The number of configurations without conditions."""
        return prod(len(parameter.values) for parameter in self.parameters)

    @property
    def size(self) -> int:
        return prod(table.size for table in self.tables)

    def configuration(self, number: int) -> Configuration:
        return self.of_rows(self.rows(number))

    def rows(self, number: int) -> tuple[int, ...]:
        """Return the row of each table that a number stands for."""
        rows = []
        for table in reversed(self.tables):
            number, row = divmod(number, table.size)
            rows.append(row)
        return tuple(reversed(rows))

    def number(self, configuration: Configuration) -> int | None:
        """Return the number of a configuration; None where it is not allowed."""
        number = 0
        for table in self.tables:
            row = table.index(configuration)
            if row is None:
                return None
            number = number * table.size + row
        return number

    def __contains__(self, configuration: Configuration) -> bool:
        return self.number(configuration) is not None

    def __iter__(self) -> Iterator[Configuration]:
        return map(self.configuration, range(self.size))

    def of_rows(self, rows: Iterable[int]) -> Configuration:
        """Return the configuration of one row of each table."""
        values: dict[str, Value] = {}
        for table, row in zip(self.tables, rows, strict=True):
            values.update(table.row(row))
        return {name: values[name] for name in self.names}

"""One rational program for devices whose programs differ in numbers only.

Takes the programs of a kernel, one per device; gives programs that several of them share. A number
that differs becomes a further size, a *figure*, of which each device has its value. Tables that
differ stand one behind the other, and a figure says where those of a device begin. Operations and
their order stay as they are, so that each device gets the same doubles as from its own program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from cutune.model.emit.model import needed
from cutune.model.rational.program import (
    CANDIDATE,
    Cell,
    Constant,
    Expression,
    Lookup,
    Operation,
    RationalProgram,
    Reference,
    TableEntry,
    parts,
)

#: Beginning of the names of figures.
FIGURE = "figure_"


@dataclass(frozen=True)
class Family:
    """A program that several devices share.

    Attributes:
        program: the program; its last sizes are the figures.
        figures: their names.
        values: per device, by its number, the value of each figure.
    """

    program: RationalProgram
    figures: tuple[str, ...]
    values: Mapping[int, tuple[float, ...]]


def families(programs: Mapping[int, RationalProgram]) -> list[Family]:
    """As few programs as possible for all devices; `programs`: by the number of the device."""
    alike: dict[object, dict[int, RationalProgram]] = {}
    for number, program in programs.items():
        pruned = _pruned(program)
        alike.setdefault(_structure(pruned), {})[number] = pruned
    return [_Merging(own).family() for own in alike.values()]


def _pruned(program: RationalProgram) -> RationalProgram:
    """The program without what no output needs."""
    names = needed(program)
    definitions = tuple(one for one in program.definitions if one.name in names)
    read = {
        part.table
        for one in definitions
        for part in parts(one.value)
        if isinstance(part, TableEntry)
    }
    return replace(
        program,
        definitions=definitions,
        properties={name: column for name, column in program.properties.items() if name in names},
        tables={name: entries for name, entries in program.tables.items() if name in read},
    )


def _structure(program: RationalProgram) -> object:
    """All of a program but its numbers: programs of one family have it in common."""
    return (
        program.sizes,
        tuple(program.properties),
        tuple((name, len(entries)) for name, entries in program.tables.items()),
        tuple((one.name, _shape(one.value)) for one in program.definitions),
        program.candidate_count,
    )


def _shape(node: Expression) -> object:
    if isinstance(node, Constant):
        # What is below zero is no figure: sizes are not, either.
        return None if node.value >= 0 else node
    if isinstance(node, TableEntry):
        return type(node), node.table, _shape(node.place)
    if isinstance(node, Operation):
        return node.operator, tuple(map(_shape, node.operands))
    return node


class _Merging:
    """Programs of one structure on the way to one."""

    def __init__(self, programs: Mapping[int, RationalProgram]) -> None:
        self._numbers, self._programs = tuple(programs), tuple(programs.values())
        #: Values of all devices → name of the figure.
        self._figures: dict[tuple[float, ...], str] = {}
        self._tables: dict[str, tuple[float, ...]] = {}
        self._properties: dict[str, tuple[int, ...]] = {}

    def family(self) -> Family:
        first, count = self._programs[0], self._programs[0].candidate_count
        #: Of what differs: how many rows, or entries, lie before those of each device.
        places: dict[str, Expression] = {}
        for name in first.properties:
            columns = [program.properties[name] for program in self._programs]
            if len(set(columns)) == 1:
                self._properties[name] = columns[0]
            else:
                numbers = [tuple(map(float, column)) for column in columns]
                places[name] = self._stacked(name, numbers, count)
        rows = _tables_of_rows(first)
        for name in first.tables:
            tables = [program.tables[name] for program in self._programs]
            if len(set(tables)) == 1:
                self._tables[name] = tables[0]
            else:
                places[name] = self._stacked(name, tables, count if name in rows else 1)
        lines = zip(*(program.definitions for program in self._programs), strict=True)
        definitions = tuple(
            replace(same[0], value=self._merged([one.value for one in same], places))
            for same in lines
        )
        figures = tuple(self._figures.values())
        program = replace(
            first,
            sizes=(*first.sizes, *figures),
            properties=self._properties,
            tables=self._tables,
            definitions=definitions,
        )
        values = zip(*self._figures, strict=True) if figures else ((),) * len(self._numbers)
        return Family(program, figures, dict(zip(self._numbers, values, strict=True)))

    def _stacked(self, name: str, tables: Sequence[tuple[float, ...]], width: int) -> Expression:
        """Define the tables of all devices as one; the row in which those of a device begin."""
        distinct = list(dict.fromkeys(tables))
        self._tables[name] = tuple(entry for table in distinct for entry in table)
        rows = len(tables[0]) // width
        return self._figure([Fraction(rows * distinct.index(table)) for table in tables])

    def _figure(self, values: Sequence[Fraction]) -> Expression:
        if len(set(values)) == 1:
            return Constant(values[0])
        key = tuple(map(float, values))
        return Reference(self._figures.setdefault(key, f"{FIGURE}{len(self._figures)}"))

    def _merged(self, nodes: Sequence[Expression], places: Mapping[str, Expression]) -> Expression:
        """One expression for those of all devices."""
        first = nodes[0]
        if isinstance(first, Constant):
            return self._figure([node.value for node in nodes if isinstance(node, Constant)])
        if isinstance(first, Reference):
            # A property that differs is a table with one row per device.
            return Cell(first.name, places[first.name]) if first.name in places else first
        if isinstance(first, TableEntry):
            of_devices = [node.place for node in nodes if isinstance(node, TableEntry)]
            place, begin = self._merged(of_devices, places), places.get(first.table)
            if begin is None:
                return replace(first, place=place)
            if isinstance(first, Lookup) and place == Reference(CANDIDATE):
                return Cell(first.table, begin)
            return replace(first, place=begin + place)
        assert isinstance(first, Operation)
        operands = (node.operands for node in nodes if isinstance(node, Operation))
        merged = (self._merged(column, places) for column in zip(*operands, strict=True))
        return replace(first, operands=tuple(merged))


def _tables_of_rows(program: RationalProgram) -> frozenset[str]:
    """Tables that are read as rows with an entry per candidate."""
    entries = (part for one in program.definitions for part in parts(one.value))
    return frozenset(
        part.table
        for part in entries
        if isinstance(part, Cell)
        or (isinstance(part, Lookup) and part.place == Reference(CANDIDATE))
    )

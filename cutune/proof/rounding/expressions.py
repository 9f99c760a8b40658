"""Expressions of floating-point operations. Takes the operations of a function, gives numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cutune.emulator.ptx.taint import results
from cutune.proof.rounding.operations import FUSED, SUMS, FloatOperation, FloatOperations, Made

Operand = int | Made
"""The number of an operation, or the names that another value depends on."""
Operation = tuple[str, tuple[str, ...], tuple[tuple[bool, Operand], ...]]
"""Opcode, modifiers, and operands, each with its sign."""
_Factors = frozenset[Operand]


def in_order(operations: FloatOperations) -> tuple[Operation, ...]:
    """Return all operations and loads; each has the numbers of those that it reads."""
    numbers: dict[str, int] = {}
    ordered: list[Operation] = []
    for number, one in enumerate(operations.in_order):
        if one.is_load:
            # Whether it goes through the read-only cache does not matter.
            ordered.append((one.opcode, (), ((False, one.made_of[0]),)))
        else:
            ordered.append(_operation(one, one.made_of, numbers))
        _note(operations, one, numbers, number)
    return tuple(ordered)


@dataclass
class FloatExpressions:
    """The set of all expressions of a function.

    At their leaves are parameters, built-in variables, constants, and loaded values: identified by
    the pointer and the constant that is added to the address, not by the rest of it.

    `table`: numbers of expressions, shared by the functions that are compared. `are_distinct`: are
    any two products that are added to each other different expressions?
    """

    operations: FloatOperations
    table: dict[Operation, int]
    numbers: set[int] = field(default_factory=set)
    are_distinct: bool = True
    _of_register: dict[str, int] = field(default_factory=dict)
    _products: dict[str, _Factors] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sums = set()
        for one in self.operations.arithmetic:
            operation = _operation(one, one.leaves, self._of_register)
            number = self.table.setdefault(operation, len(self.table))
            self.numbers.add(number)
            _note(self.operations, one, self._of_register, number)
            factors = frozenset(operand for _, operand in operation[2][:2])
            if one.opcode == "mul" and not one.is_rounded_always:
                self._products |= dict.fromkeys(results(one.instruction), factors)
            elif one.opcode in FUSED and (addend := self._product(one.operands[2])) is not None:
                sums.add((factors, addend))
            elif one.opcode in SUMS and None not in map(self._product, one.operands):
                self.are_distinct = False
        if any((other, one) in sums for one, other in sums):
            self.are_distinct = False

    def _product(self, operand: str) -> _Factors | None:
        return self._products.get(operand.lstrip("-"))


def _operation(
    one: FloatOperation, leaves: tuple[Made, ...], numbers: Mapping[str, int]
) -> Operation:
    """Signs are exact, but belong to the operation."""
    read = zip(one.operands, leaves, strict=True)
    operands = ((word.startswith("-"), numbers.get(word.lstrip("-"), leaf)) for word, leaf in read)
    return one.opcode, one.instruction.modifiers, tuple(operands)


def _note(
    operations: FloatOperations, one: FloatOperation, numbers: dict[str, int], number: int
) -> None:
    """A result is known by its number, unless another instruction writes to the same place."""
    for name in results(one.instruction):
        if operations.definition(name) is not None:
            numbers[name] = number

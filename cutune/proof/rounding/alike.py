"""Rounding in a copy of a kernel. Takes two compiled functions, says whether they round alike.

Where a program adds a product the compiler may fuse both, so that the product is not rounded, and
of `a * b + c * d` it may fuse either one. Which one depends on the code around: in a copy of a
kernel it may be the other, and the last bits of the results differ. Besides that compilers keep the
order of floating-point operations, unless they are told otherwise.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from cutune.proof.rounding.float_operations import (
    FLOATS,
    FUSED,
    SUMS,
    FloatOperation,
    FloatOperations,
    Made,
)
from cutune.ptx.taint import results
from cutune.ptx.types import Function

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


Product = tuple[str, tuple[Made, Made]]
"""The type of a product, and the names that its factors depend on."""
Sum = tuple[Product, ...]
"""Products that are added to each other; where one is fused it is the first."""


@dataclass
class Products:
    """The products of a function, each identified by the names that its factors depend on.

    `fused`: those that are fused with an addition. `rounded`: all others. `added`: a fused product,
    and the rounded one that is added to it. `loose`: rounded products that are added; the assembler
    may still fuse them.
    """

    operations: FloatOperations
    fused: set[Sum] = field(default_factory=set)
    rounded: set[Sum] = field(default_factory=set)
    added: set[Sum] = field(default_factory=set)
    loose: set[Sum] = field(default_factory=set)

    def __post_init__(self) -> None:
        for one in self.operations.arithmetic:
            if one.opcode == "mul" and not one.is_rounded_always:
                self.rounded.add((_product(one),))
            elif one.opcode in FUSED:
                product, addend = _product(one), self._as_product(one.operands[2])
                self.fused.add((product,))
                self.added |= {(product, addend)} if addend is not None else set()
            elif one.opcode in SUMS:
                operands = map(self._as_product, one.operands)
                if products := tuple(product for product in operands if product is not None):
                    self.loose.add(products)

    def are_those_of(self, kernel: Products) -> bool:
        """Tell whether they are those of a kernel, of which this function is a copy."""
        pairs = (
            (self.fused, kernel.fused),
            (self.rounded, kernel.rounded),
            (self.added, kernel.added),
            (self.loose, kernel.loose),
        )
        turned = {one[::-1] for one in kernel.added | kernel.loose if len(one) > 1}
        both = self.added | self.loose
        return all(_are_alike(of_copy, of_kernel) for of_copy, of_kernel in pairs) and not any(
            _may_be(one, other) for one in both for other in turned
        )

    def _as_product(self, operand: str) -> Product | None:
        one = self.operations.definition(operand)
        if one is None:
            return None
        if one.opcode in ("neg", "mov"):
            return self._as_product(one.operands[0])
        is_product = one.opcode == "mul" and _kinds(one) and not one.is_rounded_always
        return _product(one) if is_product else None


def _product(one: FloatOperation) -> Product:
    first, second, *_ = one.made_of
    return _kinds(one)[0], (first, second)


def _kinds(one: FloatOperation) -> list[str]:
    return [word for word in one.instruction.modifiers if word in FLOATS]


def _are_alike(of_copy: Collection[Sum], of_kernel: Collection[Sum]) -> bool:
    return all(any(_may_be(one, other) for other in of_kernel) for one in of_copy) and all(
        any(_may_be(one, other) for one in of_copy) for other in of_kernel
    )


def _may_be(of_copy: Sum, of_kernel: Sum) -> bool:
    """May they be the same? A copy that keeps values in registers has them made of less."""
    return len(of_copy) == len(of_kernel) and all(map(_is_made_alike, of_copy, of_kernel))


def _is_made_alike(of_copy: Product, of_kernel: Product) -> bool:
    kind, (first, second) = of_copy
    other_kind, (one, other) = of_kernel
    return kind == other_kind and (
        (first <= one and second <= other) or (first <= other and second <= one)
    )


def rounds_alike(kernel: Function, copy: Function) -> bool:
    """Tell whether one of these is known.

    - Both have the same floating-point operations and loads in the same order.
    - Both have the same expressions, and products that are added to each other are different ones.
    - Both fuse the same products, round the same ones, and add the same ones to each other; these
      are made of different values.
    """
    of_kernel, of_copy = FloatOperations(kernel), FloatOperations(copy)
    if in_order(of_kernel) == in_order(of_copy):
        return True
    table: dict[Operation, int] = {}
    one, other = FloatExpressions(of_kernel, table), FloatExpressions(of_copy, table)
    if one.numbers == other.numbers and one.are_distinct and other.are_distinct:
        return True
    return Products(of_copy).are_those_of(Products(of_kernel))

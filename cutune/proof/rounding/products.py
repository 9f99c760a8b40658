"""Products of a function, fused with an addition or rounded before. Takes its operations."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from cutune.proof.rounding.operations import (
    FLOATS,
    FUSED,
    SUMS,
    FloatOperation,
    FloatOperations,
    Made,
)

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
        """The product that an operand is; None for anything else."""
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
    """Is there one of the kernel for each of the copy, and the other way round?"""
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

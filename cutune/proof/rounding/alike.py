"""Rounding in a copy of a kernel. Takes two compiled functions, says whether they round alike.

Where a program adds a product the compiler may fuse both, so that the product is not rounded, and
of `a * b + c * d` it may fuse either one. Which one depends on the code around: in a copy of a
kernel it may be the other, and the last bits of the results differ. Besides that compilers keep the
order of floating-point operations, unless they are told otherwise.
"""

from __future__ import annotations

from cutune.emulator.ptx.types import Function
from cutune.proof.rounding.expressions import FloatExpressions, Operation, in_order
from cutune.proof.rounding.operations import FloatOperations
from cutune.proof.rounding.products import Products


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

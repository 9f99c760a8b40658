"""Does a copy of a kernel round as the kernel does? Takes two compiled functions.

Where a program adds a product the compiler may fuse both, so that the product is not rounded, and
of `a * b + c * d` it may fuse either one. Which one depends on the code around: in a copy of a
kernel it may be the other, and the last bits of the results differ. Besides that compilers keep the
order of floating-point operations, unless they are told otherwise.
"""

from __future__ import annotations

from cutune.emulator.ptx.types import Function
from cutune.proof.rounding.expressions import Expressions, Operation, in_order
from cutune.proof.rounding.operations import Operations
from cutune.proof.rounding.products import Products


def rounds_alike(kernel: Function, copy: Function) -> bool:
    """Is one of these known?

    - Both have the same floating-point operations and loads in the same order.
    - Both have the same expressions, and products that are added to each other are different ones.
    - Both fuse the same products, round the same ones, and add the same ones to each other; these
      are made of different values.
    """
    own, others = Operations(kernel), Operations(copy)
    if in_order(own) == in_order(others):
        return True
    table: dict[Operation, int] = {}
    one, other = Expressions(own, table), Expressions(others, table)
    if one.numbers == other.numbers and one.are_told_apart and other.are_told_apart:
        return True
    return Products(others).are_those_of(Products(own))

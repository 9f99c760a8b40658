"""Built-ins in a walk: takes a built-in and its dimension, gives its value.

They are read as they are, over warps, or where the grid of a dimension is kept. In a walk over
warps an id is that of a warp, and a thread is a lane of it. There threadIdx.x is `32 * warp of the
block + lane` and blockDim.x is `32 * warps of a block`, so that `blockIdx.x * (blockDim.x / 32) +
threadIdx.x / 32` becomes an id as any other. That takes whole warps in x.
"""

from __future__ import annotations

from dataclasses import dataclass

from cutune.frontend.values.polynomial import (
    BLOCK,
    BLOCK_SIZE,
    IDENTITY,
    ONE,
    STRIDE,
    THREAD,
    ZERO,
    IntegerPolynomial,
)
from cutune.proof.values.terms import WARP, AtomProperties, Atoms, Interval

_WARP = IntegerPolynomial.constant(WARP)


@dataclass(frozen=True)
class BuiltIns:
    """A reading of built-ins.

    `single_thread`: dimensions in which blocks are taken to have one thread. `of_warps`: are ids in
    x those of warps?
    """

    single_thread: frozenset[str] = frozenset()
    of_warps: bool = False

    def value(self, kind: str, dimension: str, atoms: Atoms) -> IntegerPolynomial:
        """Return the value of a built-in."""
        if dimension in self.single_thread:
            if kind in (THREAD, BLOCK_SIZE):
                return ZERO if kind == THREAD else ONE
            return IntegerPolynomial.atom(IDENTITY if kind == BLOCK else STRIDE, dimension)
        value = IntegerPolynomial.atom(kind, dimension)
        if not self.of_warps or dimension != "x":
            return value
        if kind == THREAD:
            lane = AtomProperties(ids=frozenset("x"), interval=Interval(0, WARP - 1))
            return _WARP * value + atoms.named("lane", lane)
        return _WARP * value if kind == BLOCK_SIZE else value


BUILT_INS = BuiltIns()
#: Readings in which ids are those of warps; the second one where threads ask for their rank in the
#: block, which is threadIdx.x where blocks have one thread in y and z.
OVER_WARPS = (BuiltIns(of_warps=True), BuiltIns(single_thread=frozenset("yz"), of_warps=True))

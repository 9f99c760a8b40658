"""What built-ins are in a walk: takes one of a dimension, gives its value.

In a walk over warps an id is that of a warp, and a thread is a lane of it. There threadIdx.x is
`32 * warp of the block + lane` and blockDim.x is `32 * warps of a block`, so that `blockIdx.x *
(blockDim.x / 32) + threadIdx.x / 32` becomes an id as any other. That takes whole warps in x.
"""

from __future__ import annotations

from dataclasses import dataclass

from cutune.frontend.values.polynomial import BLOCK_SIZE, THREAD, IntegerPolynomial
from cutune.proof.values.terms import WARP, AtomProperties, Atoms, Interval, of_one_thread

_WARP = IntegerPolynomial.constant(WARP)


@dataclass(frozen=True)
class BuiltIns:
    """How built-ins are read.

    Attributes:
        single_thread: dimensions in which blocks are taken to have one thread.
        of_warps: are ids in x those of warps?
    """

    single_thread: frozenset[str] = frozenset()
    of_warps: bool = False

    def value(self, kind: str, dimension: str, atoms: Atoms) -> IntegerPolynomial:
        """A built-in."""
        if dimension in self.single_thread:
            return of_one_thread(kind, dimension)
        value = IntegerPolynomial.atom(kind, dimension)
        if not self.of_warps or dimension != "x":
            return value
        if kind == THREAD:
            return _WARP * value + lane(atoms)
        return _WARP * value if kind == BLOCK_SIZE else value


BUILT_INS = BuiltIns()


#: Readings in which ids are those of warps; the second one where threads ask for their rank in the
#: block, which is threadIdx.x where blocks have one thread in y and z.
OVER_WARPS = (
    BuiltIns(of_warps=True),
    BuiltIns(single_thread=frozenset("yz"), of_warps=True),
)


def lane(atoms: Atoms) -> IntegerPolynomial:
    """The place of a thread in its warp."""
    properties = AtomProperties(ids=frozenset("x"), interval=Interval(0, WARP - 1))
    return atoms.named("lane", properties)

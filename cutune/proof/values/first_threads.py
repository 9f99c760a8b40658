"""The work of the first threads of a block. Takes comparisons, gives how many threads do it.

`if (threadIdx.x < 256) table[threadIdx.x] = 0;` fills a row of 256 elements in blocks of at least
so many threads, and nothing but a part of it in smaller ones.
"""

from __future__ import annotations

from collections.abc import Iterable

from cutune.proof.values.id_bounds import ID_BITS, ordered
from cutune.proof.values.polynomial import IntegerPolynomial
from cutune.proof.values.predicates import Predicate, Relation
from cutune.toolchain.device.thread_block import LARGEST


def first_threads(known: Iterable[Predicate], thread: IntegerPolynomial) -> int:
    """Return the least N of comparisons that say `thread < N`; 0 where there is none.

    `thread`: its index in the block, of 32 bits, which has a sign or none: both are small.
    """
    pairs = (
        pair
        for one in known
        if isinstance(one, Relation) and one.bits >= ID_BITS and one.relation != "eq"
        for pair in ordered(one)
    )
    limits = (large.literal for small, large in pairs if small == thread)
    return min((n for n in limits if n is not None and 0 < n <= LARGEST), default=0)

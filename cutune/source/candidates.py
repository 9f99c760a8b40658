"""The thread-block shapes that a kernel may be given. Takes its free dimensions, gives shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from lark import LarkError

from cutune.core.typed import Formula
from cutune.space.annotation import Condition, Values
from cutune.toolchain.device.thread_block import (
    LARGEST,
    LARGEST_Z,
    WARP,
    Block,
    keeps_warps,
    threads_of,
)


@dataclass(frozen=True)
class BlockRange:
    """Sizes per dimension (None: any), and a condition on x, y and z as it was written.

    `proven`: sizes in x for which what threads of a block sum up is proven; empty: any.
    """

    x: Values | None = None
    y: Values | None = None
    z: Values | None = None
    where: Formula | None = None
    proven: tuple[int, ...] = ()

    def listed(self, axis: int) -> tuple[int, ...]:
        """The sizes that a list names for a dimension; nothing for a range."""
        values = (self.x, self.y, self.z)[axis]
        listed = values.listed if values is not None and values.interval is None else ()
        return tuple(map(int, listed))

    def allows(self, shape: tuple[int, int, int]) -> bool:
        axes = zip((self.x, self.y, self.z), shape, strict=True)
        if any(values is not None and size not in values for values, size in axes):
            return False
        if self.proven and shape[0] not in self.proven:
            return False
        if self._condition is None:
            return True
        # Loads numpy, which builds of most sources start quicker without.
        from cutune.space.columns import is_true

        return is_true(self._condition, dict(zip("xyz", shape, strict=True)))

    def asks(self, axis: int) -> bool:
        """Does it say anything about the size of a dimension?"""
        is_named = self._condition is not None and "xyz"[axis] in self._condition.names
        return is_named or (self.x, self.y, self.z)[axis] is not None

    @cached_property
    def _condition(self) -> Condition | None:
        return Condition.read(self.where) if self.where is not None else None

    def check(self) -> None:
        """Raise ValueError where the condition cannot be read, or asked about a block."""
        try:
            names = self._condition.names if self._condition is not None else frozenset[str]()
        except (LarkError, RecursionError) as error:
            raise ValueError(f"`where`: {self.where!r} is no condition on a block") from error
        if not names <= {*"xyz"}:
            raise ValueError(f"`where`: {self.where!r} is no condition on x, y and z")


@dataclass(frozen=True)
class FlatUse:
    """Within which limits the width of a block with one thread in y and z is known to be free.

    Attributes:
        obstacle: in words, what ties it to the block of its launch; empty: nothing.
        splits: first widths with which the code does something else than with narrower blocks.
        needs_powers: is the width halved?
        keeps_grid: must the number of blocks stay?
        is_of_block: does each block have a result of its own, of the elements that are its own?
        least: threads of the narrowest block that is known to be right.
        lanes: numbers of threads in x that it must have.
        most: the widest block that shared arrays have places for.
    """

    obstacle: str = "its code is not understood well enough"
    splits: tuple[int, ...] = ()
    needs_powers: bool = False
    keeps_grid: bool = False
    most: int = LARGEST
    is_of_block: bool = False
    least: int = WARP
    lanes: frozenset[int] = frozenset()

    def joined(self, other: FlatUse) -> FlatUse:
        if self.obstacle or other.obstacle:
            return self if self.obstacle else other
        return FlatUse(
            "",
            splits=tuple(sorted({*self.splits, *other.splits})),
            needs_powers=self.needs_powers or other.needs_powers,
            keeps_grid=self.keeps_grid or other.keeps_grid,
            most=min(self.most, other.most),
            least=max(self.least, other.least),
            lanes=self.lanes | other.lanes,
        )


@dataclass(frozen=True)
class BlockUse:
    """How the compiled code of a kernel uses its thread block, where it is not proven for others.

    Attributes:
        widths: dimensions whose `blockDim` it reads.
        sharing: how threads use shared memory, in words.
        sharing_line: of the PTX; 0: none.
        follows_block: may the places in its dynamic shared memory depend on the block?
        order: the operation on memory whose result it uses though that depends on the order of
            threads, and its line in the PTX.
        reads: dimensions whose `blockDim` any instance reads.
        singles_out: does it compare threadIdx with numbers beyond the first warp?
        flat: what is known of blocks with one thread in y and z.
        flat_y: the same of blocks of 32 x y threads. Its widths are the flat ones, 32 * y.
        flat_z: the same of blocks of z warps, each of x * y = 32 threads.
        layers: the same of blocks of 32 x y threads, of which there are several in z. What dynamic
            shared memory they need does not follow y.
        adds_rounded: may it add up rounded numbers of several threads?
        is_long: is its code so long that copies of it, and other readings, would take minutes?
    """

    widths: frozenset[str] = frozenset()
    sharing: str = ""
    sharing_line: int = 0
    follows_block: bool = True
    order: tuple[str, int] = ("", 0)
    reads: frozenset[str] = frozenset()
    singles_out: bool = False
    flat: FlatUse = FlatUse()
    flat_y: FlatUse = FlatUse()
    flat_z: FlatUse = FlatUse()
    layers: FlatUse = FlatUse()
    adds_rounded: bool = True
    is_long: bool = False


def candidate_blocks(
    free: Sequence[bool],
    own_block: Block,
    which: str = "paper",
    max_threads: int = LARGEST,
    allowed: BlockRange | None = None,
    needs_warps: bool = False,
) -> tuple[Block, ...]:
    """All shapes of one candidate set.

    Args:
        free: per dimension, may the block be changed?
        own_block: the program's own thread block. It is always a candidate, and gives the sizes of
            the dimensions that are not free.
        which: `paper`: powers of two per dimension with 32 <= product <= 1024 for kernels of two
            or three dimensions (z at most 64), multiples of 32 for kernels of one dimension;
            `all` adds every other shape whose product is a multiple of 32.
        max_threads: threads per block that the kernel allows.
        needs_warps: must each warp keep the threads that it has with `own_block`?
        allowed: what an annotation allows besides; sizes that it lists take the set's place.
    """
    allowed = allowed or BlockRange()
    if which == "all":
        axis: Sequence[int] = range(1, LARGEST + 1)
    elif sum(free) == 1:
        axis = range(WARP, LARGEST + 1, WARP)
    else:
        axis = [1 << exponent for exponent in range(11)]
    xs, ys, zs = (
        allowed.listed(index) or axis if is_free else [size]
        for index, (is_free, size) in enumerate(zip(free, own_block, strict=True))
    )
    # Nested instead of a full product: `all` in three dimensions has 65 million triples.
    bounded = (
        (x, y, z)
        for x, y in product(xs, ys)
        if x * y <= max_threads
        for z in zs
        if WARP <= x * y * z <= max_threads and not (free[2] and z > LARGEST_Z)
    )
    shapes = {
        shape
        for shape in bounded
        if (which != "all" or threads_of(shape) % WARP == 0)
        and allowed.allows(shape)
        and (not needs_warps or keeps_warps(own_block, shape))
    }
    return tuple(sorted(shapes | {own_block}))

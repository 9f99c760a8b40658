"""The thread-block shapes that a kernel may be given. Takes its free dimensions, gives shapes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from cutune.frontend.block_range import BlockRange

Block = tuple[int, int, int]

#: What models call the threads that a launch has to cover, or its blocks where the grid is kept.
EXTENTS = ("extent_x", "extent_y", "extent_z")
WARP = 32
LARGEST = 1024
LARGEST_Z = 64
#: Bytes of shared memory of a block, unless the program raises the limit (CUDA guide, 5.4).
LARGEST_SHARED = 49152


def as_block(values: Sequence[int]) -> Block:
    """Three integers, as JSON holds them in a list."""
    x, y, z = values
    return (x, y, z)


def threads_of(block: Block) -> int:
    """Threads of a block."""
    x, y, z = block
    return x * y * z


def warps_of(block: Block) -> int:
    """Warps of a block, the last one possibly with idle lanes."""
    return -(-threads_of(block) // WARP)


def warp_footprint(block: Block) -> Block:
    """How many ids one warp covers per dimension; for shapes that are no powers of two, nearly."""
    x = min(block[0], WARP)
    y = min(block[1], max(1, WARP // x))
    z = min(block[2], max(1, WARP // (x * y)))
    return (x, y, z)


def candidate_blocks(
    free: Sequence[bool],
    kept: Block,
    which: str = "paper",
    max_threads: int = LARGEST,
    allowed: BlockRange | None = None,
    needs_warps: bool = False,
) -> tuple[Block, ...]:
    """All shapes of one candidate set.

    Args:
        free: per dimension, may the block be changed?
        kept: block sizes of the dimensions that are not free; as a whole it is always a candidate.
        which: `paper`: powers of two per dimension with 32 <= product <= 1024 for kernels of two
            or three dimensions (z at most 64), multiples of 32 for kernels of one dimension;
            `all` adds every other shape whose product is a multiple of 32.
        max_threads: threads per block that the kernel allows.
        needs_warps: must each warp keep the threads that it has with the block `kept`?
        allowed: what an annotation allows besides; sizes that it lists take the set's place.
    """
    allowed = allowed or BlockRange()
    one_dimensional = sum(free) == 1
    powers = [1 << exponent for exponent in range(11)]
    multiples = list(range(WARP, LARGEST + 1, WARP))
    everything = list(range(1, LARGEST + 1))
    if which == "all":
        axis = everything
    else:
        axis = multiples if one_dimensional else powers
    axes = [
        list(allowed.listed(index)) or axis if is_free else [size]
        for index, (is_free, size) in enumerate(zip(free, kept, strict=True))
    ]
    if free[2]:
        axes[2] = [size for size in axes[2] if size <= LARGEST_Z]
    bounded = _bounded(axes, max_threads)
    shapes = {shape for shape in bounded if _fits(shape, which) and allowed.allows(shape)}
    if needs_warps:
        shapes = {shape for shape in shapes if keeps_warps(kept, shape)}
    return tuple(sorted(shapes | {kept}))


def keeps_warps(before: Block, after: Block) -> bool:
    """Has each warp the same threads with both blocks? `cutune_launch.h` has the same rule.

    Warps are 32 neighbours in x, or else the same whole rows.
    """
    if before[0] % WARP == 0:
        return after[0] % WARP == 0
    are_rows = all(x * y % WARP == 0 for x, y, _ in (before, after))
    return after[0] == before[0] and are_rows and WARP % before[0] == 0


def _bounded(axes: list[list[int]], max_threads: int) -> list[Block]:
    # Nested instead of a full product: `all` in three dimensions has 65 million triples.
    xs, ys, zs = axes
    return [
        (x, y, z)
        for x, y in product(xs, ys)
        if x * y <= max_threads
        for z in zs
        if x * y * z <= max_threads
    ]


def _fits(shape: Block, which: str) -> bool:
    threads = threads_of(shape)
    return threads >= WARP and (which != "all" or threads % WARP == 0)

"""The thread-block shapes that a kernel may be given. Takes its free dimensions, gives shapes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from cutune.device.thread_block import LARGEST, LARGEST_Z, WARP, Block, keeps_warps, threads_of
from cutune.frontend.block_range import BlockRange


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
        for index, (is_free, size) in enumerate(zip(free, own_block, strict=True))
    ]
    if free[2]:
        axes[2] = [size for size in axes[2] if size <= LARGEST_Z]
    bounded = _bounded(axes, max_threads)
    shapes = {shape for shape in bounded if _fits(shape, which) and allowed.allows(shape)}
    if needs_warps:
        shapes = {shape for shape in shapes if keeps_warps(own_block, shape)}
    return tuple(sorted(shapes | {own_block}))


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

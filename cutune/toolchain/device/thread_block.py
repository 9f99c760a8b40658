"""Thread blocks and grids: shapes, warps, and limits common to all devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from cutune.core.typed import Meta

Width = Annotated[int, Meta(ge=1, le=1024)]
Depth = Annotated[int, Meta(ge=1, le=64)]
Block = tuple[Width, Width, Depth]
_Extent = Annotated[int, Meta(ge=0, lt=1 << 62)]
#: Thread blocks, threads or ids per dimension.
Extents = tuple[_Extent, _Extent, _Extent]
#: Names in models: threads that a launch must cover, or thread blocks where the grid is kept.
EXTENTS = ("extent_x", "extent_y", "extent_z")
WARP = 32
LARGEST = 1024
LARGEST_Z = 64
#: Bytes of shared memory of a block, unless the program raises the limit (CUDA guide, 5.4).
LARGEST_SHARED = 49152


def as_block(values: Sequence[int]) -> Block:
    """Three integers of a JSON list as a block."""
    x, y, z = values
    return (x, y, z)


def shape(block: Block) -> str:
    """Write a block as people do: `32x8`, without trailing ones."""
    x, y, z = block
    return f"{x}x{y}x{z}" if z > 1 else f"{x}x{y}" if y > 1 else f"{x}"


def configuration_text(block: Block, variant: str) -> str:
    """Write a thread block, with the variant unless it is the kernel itself: `32x8 restrict`."""
    return f"{shape(block)} {variant}".rstrip()


def is_block(values: Sequence[int]) -> bool:
    """Are these the widths of a block that CUDA launches?"""
    most = (LARGEST, LARGEST, LARGEST_Z)
    fit = len(values) == 3 and all(0 < v <= m for v, m in zip(values, most, strict=True))
    return fit and threads_of(as_block(values)) <= LARGEST


def threads_of(block: Block) -> int:
    x, y, z = block
    return x * y * z


def warps_of(block: Block) -> int:
    """The number of warps; the last one may have idle lanes."""
    return -(-threads_of(block) // WARP)


def warp_footprint(block: Block) -> Block:
    """The ids that a warp covers per dimension; approximate unless sizes are powers of 2."""
    x = min(block[0], WARP)
    y = min(block[1], max(1, WARP // x))
    return (x, y, min(block[2], max(1, WARP // (x * y))))


def keeps_warps(before: Block, after: Block) -> bool:
    """Does each warp hold the same threads with both blocks? `cutune_launch.h` has the same rule.

    Warps are 32 neighbours in x, or else the same whole rows.
    """
    if before[0] % WARP == 0:
        return after[0] % WARP == 0
    are_rows = all(x * y % WARP == 0 for x, y, _ in (before, after))
    return after[0] == before[0] and are_rows and WARP % before[0] == 0


#: Blocks that a grid may have per dimension.
GRID_LIMITS = (2147483647, 65535, 65535)
NO_GRID_KEPT = (False, False, False)


def grid_of(block: Block, extents: Block, grid_kept: Sequence[bool] = NO_GRID_KEPT) -> Block:
    """The thread blocks that cover the extents; a kept grid's extents are its blocks."""
    x, y, z = (
        extent if is_kept else -(-extent // size)
        for extent, size, is_kept in zip(extents, block, grid_kept, strict=True)
    )
    return (x, y, z)

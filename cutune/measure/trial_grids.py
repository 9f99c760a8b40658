"""Grids of tiles. Takes a tile and sizes, gives its blocks, and how many more larger sizes have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cutune.model.rational.formulas import whole_value
from cutune.source.kernel_variant import ASKED, Tile
from cutune.toolchain.device.thread_block import GRID_LIMITS, Block, threads_of

Sizes = Mapping[str, int]


def per_block(tile: Tile, axis: int, assigned: Sequence[Sizes], most: int) -> float:
    """By how much a size has to grow for one more block, where a grid grows with sizes."""
    covered, own = tile.covered[axis], tile.own_covered[axis]
    if not tile.is_asked(axis):
        return max(covered, own)
    blocks = max(sizes[ASKED[axis]] for sizes in assigned)
    return most / min(blocks, max(1, blocks * own // covered))


def per_thread(tile: Tile, axis: int, per_block: float) -> float:
    """By how much it has to grow for one more thread of whole blocks."""
    threads, own = tile.block[axis], tile.own_block[axis]
    if tile.is_asked(axis):
        return per_block / min(threads, own)
    return max(tile.covered[axis] / threads, tile.own_covered[axis] / own)


def has_parts(tile: Tile) -> bool:
    """Can a block have less to do than others, by the extents?"""
    each = zip(range(3), tile.covered, tile.own_covered, strict=True)
    return any(a > 1 and b > 1 and not tile.is_asked(axis) for axis, a, b in each)


def is_uneven(tile: Tile, sizes: Sizes) -> bool:
    """Are blocks of both launches only partly used in some dimension?"""
    extents = [whole_value(text, sizes) or 0 for text in tile.extents]
    parts = zip(extents, tile.covered, tile.own_covered, strict=True)
    return any(extent % a and extent % b for extent, a, b in parts)


def has_several(tile: Tile, sizes: Sizes) -> bool:
    """Has a copy several blocks, in a dimension in which the program has more?"""
    few, many = grid_at(tile, sizes), grid_at(tile.own(), sizes)
    if few is None or many is None:
        return False
    return any(1 < one < other for one, other in zip(few, many, strict=True))


def grid_at(tile: Tile, sizes: Sizes) -> Block | None:
    """The grid of a tile; None where CUDA has none, or the tile is for others."""
    found = []
    for axis, (text, covered) in enumerate(zip(tile.extents, tile.covered, strict=True)):
        extent, most = whole_value(text, sizes), GRID_LIMITS[axis]
        if tile.is_asked(axis) and sizes[ASKED[axis]] % tile.whole[axis]:
            return None
        if extent is None or extent <= 0 or -(-extent // covered) > most:
            return None
        found.append(-(-extent // covered))
    x, y, z = found
    return (x, y, z) if threads_of(tile.block) <= 1024 else None

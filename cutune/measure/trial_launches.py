"""Launches of a kernel at which its copies are tried, and their grids.

Takes counters of many launches, gives few; takes a tile and sizes, gives its blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from cutune.core.diagnostics import CutuneError
from cutune.emulator.machine import LaunchCounters, LoadedModule, pointer
from cutune.measure.replay.replay import ARRAY_BYTES, GHOST_BASE, GHOSTS, MAX_ARRAYS
from cutune.measure.trial_parameters import LaunchParameters, Numbers
from cutune.model.rational.formulas import whole_value
from cutune.ptx.tried_sizes import TriedSizes
from cutune.source.kernel_variant import ASKED, KernelVariant, Tile
from cutune.toolchain.device.thread_block import GRID_LIMITS, Block, threads_of

#: Copies that are tried; others only where none of these does the same.
MOST_TRIED = 12
#: Launches with more are alike where there are many: one of so many is tried.
_LARGE, _OF_LARGE = 250_000, 5
#: Instructions of warps after which a kernel's copies are not tried any further.
_MOST_WORK = 600_000_000
_PAGE = 4096
#: Flags and enumerators are mostly no larger.
_SMALL = 4
#: Warp instructions of a launch that tells whether a grid covers all, at most.
_LONGEST = 20_000_000
#: Launches that reach further, as where an index wraps around at a small size, are not tried.
_MOST_BYTES = 1 << 28

_Sizes = Mapping[str, int]
Assigned = tuple[tuple[str, int], ...]
"""Integer parameters by their names, and a value of each."""


@dataclass(frozen=True)
class TriedLaunch:
    """A launch of a kernel, with the arrays that it accesses."""

    sizes: Assigned
    numbers: Numbers
    parameters: bytes
    #: Per pointer that is followed: its place among the parameters, where in an array it leads to,
    #: and the bytes of that array.
    arrays: tuple[tuple[int, int, int], ...] = ()
    warp_instructions: int = 0

    def said(self, names: Sequence[str]) -> str:
        """Return ` at n = 7`: its sizes and, if parameters have these names, the numbers."""
        numbers = [(names[index], value) for index, value in self.numbers] if names else []
        said = ", ".join(f"{name} = {value:.6g}" for name, value in (*self.sizes, *numbers))
        return f" at {said}" if said else ""


Shape = tuple[Block, Block, int]
"""The grid and the block of a launch, and the bytes of dynamic shared memory of a block."""


@dataclass
class Work:
    """How many instructions of warps launches have taken, whatever the machine that runs them."""

    instructions: int = 0

    @property
    def objection(self) -> str:
        """Return why nothing more is tried; "" where it is."""
        return "trying it would take too long" if self.instructions > _MOST_WORK else ""


Ended = tuple[TriedLaunch | None, str]
"""A launch with its arrays; None where it tells nothing, and what the checker found, if any."""
EndedWell = Callable[[TriedLaunch], TriedLaunch | None]
"""Gives a launch with its arrays, or None where it does not end well."""


def arrays_of(counted: LaunchCounters, places: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
    """Return `TriedLaunch.arrays` of a launch without data; nothing where they are not known.

    Nor where they are too large to be filled.

    `places`: of pointers among the parameters.
    """
    ranges: dict[int, tuple[int, int]] = {}
    for site in counted.sites:
        low, high = int(site["lowest"]), int(site["highest"])
        if site["traced"] and GHOST_BASE <= low < GHOST_BASE + GHOSTS[1]:
            array = (low - GHOST_BASE) // ARRAY_BYTES
            known = ranges.get(array, (low, high))
            ranges[array] = min(low, known[0]), max(high, known[1])
    if not ranges or len(places) > MAX_ARRAYS or max(ranges) >= len(places):
        return ()
    if sum(high - low for low, high in ranges.values()) > _MOST_BYTES:
        return ()
    begins = {one: GHOST_BASE + one * ARRAY_BYTES + ARRAY_BYTES // 2 for one in ranges}
    return tuple(
        (places[array], begins[array] - low, high - low)
        for array, (low, high) in sorted(ranges.items())
    )


def arrays_behind(
    launch: TriedLaunch, drawn: Iterator[NDArray[np.uint8]]
) -> tuple[bytes, list[NDArray[np.uint8]]]:
    """Return the parameters of a launch with pointers to arrays, and these, with what is drawn."""
    parameters, arrays = bytearray(launch.parameters), list[NDArray[np.uint8]]()
    for offset, place, size in launch.arrays:
        # As far behind a page as the array of a launch without data.
        room = np.zeros(size + 2 * _PAGE, np.uint8)
        begin = -(pointer(room) + place) % _PAGE
        array = room[begin : begin + size]
        array[:] = next(drawn)
        arrays.append(array)
        # What is accessed may lie so far behind the pointer that this would be below zero.
        begins = (pointer(array) + place) % (1 << 64)
        parameters[offset : offset + 8] = begins.to_bytes(8, "little")
    return bytes(parameters), arrays


def without_most_large(
    counted: Sequence[TriedLaunch], ended_well: EndedWell, few: int, asks_all: bool
) -> list[TriedLaunch]:
    """Return launches that end well, the longest first: of more than a few large ones not all.

    `counted`: the longest first. `asks_all`: is it asked of all of them how they end?
    """
    large = [one for one in counted if one.warp_instructions > _LARGE]
    others = [*_ended(counted[len(large) :], ended_well)]
    if not asks_all and len(large) > few:
        return [*_of_large(large, ended_well, few), *others]
    tried = [*_ended(large, ended_well)]
    return [*tried[:: _OF_LARGE if len(tried) > few else 1], *others]


def with_small_numbers(launches: Iterable[TriedLaunch]) -> Iterator[tuple[TriedLaunch, int]]:
    """Yield a launch for each size that is a small number, with the kind of its contents."""
    seen = set[tuple[str, int]]()
    for one in launches:
        small = {pair for pair in one.sizes if pair[1] <= _SMALL}
        if not small <= seen:
            seen |= small
            yield one, 0


def _ended(launches: Iterable[TriedLaunch], ended_well: EndedWell) -> Iterator[TriedLaunch]:
    return (found for one in launches if (found := ended_well(one)) is not None)


def _of_large(
    large: Sequence[TriedLaunch], ended_well: EndedWell, few: int
) -> Iterator[TriedLaunch]:
    """One of so many, and others where these are few."""
    parts = [[*large[n : n + _OF_LARGE]] for n in range(0, len(large), _OF_LARGE)]
    left, count = list[TriedLaunch](), 0
    for part in parts:
        asked = iter(part)
        found = next(_ended(asked, ended_well), None)
        left += asked
        if found is not None:
            count += 1
            yield found
    yield from islice(_ended(left, ended_well), max(0, few - count))


def batches(
    copies: Sequence[KernelVariant], order: Callable[[Sequence[KernelVariant]], Sequence[int]]
) -> Iterator[list[int]]:
    """The places of copies of so many names at a time, those of a name together.

    `order`: gives places, those first that may be chosen.
    """
    names = [*dict.fromkeys(one.name for one in copies)]
    if len(names) > MOST_TRIED:
        names = [*dict.fromkeys(copies[index].name for index in order(copies))]
    for first in range(0, len(names), MOST_TRIED):
        some = {*names[first : first + MOST_TRIED]}
        yield [index for index, one in enumerate(copies) if one.name in some]


def may_join(copy: KernelVariant, found: Sequence[KernelVariant]) -> bool:
    """Is a copy another one than those, and do its launches mean the same as theirs?"""
    is_alike = all(
        copy.tile is not None and one.tile is not None and copy.tile.extents == one.tile.extents
        for one in found
    )
    return is_alike and copy.name not in {one.name for one in found}


def tiles_of(copies: Iterable[KernelVariant]) -> tuple[Tile, ...]:
    """Return the tiles of copies."""
    return tuple(one.tile for one in copies if one.tile is not None)


def only_where(copy: KernelVariant, divided: tuple[str, ...], multiple: int) -> KernelVariant:
    """Return a copy for sizes at which parameters are multiples of a number."""
    assert copy.tile is not None, "the copy of a tile"
    return replace(copy, tile=replace(copy.tile, divided=divided, multiple=multiple))


# ---- grids of tiles


def tried_sizes(
    tile: Tile,
    assigned: Sequence[_Sizes],
    names: Mapping[int, str],
    compared: Mapping[int, frozenset[float]],
) -> TriedSizes:
    """Return what of a tile is tried at sizes. `names`: of integers, by their places."""
    most = {place: max(sizes[name] for sizes in assigned) for place, name in names.items()}
    most_of_all = max(most.values(), default=0)
    x, y, z = (_per_block(tile, axis, assigned, most_of_all) for axis in range(3))
    i, j, k = (_per_thread(tile, axis, whole) for axis, whole in enumerate((x, y, z)))
    return TriedSizes(most, (x, y, z), (i, j, k), compared)


def _per_block(tile: Tile, axis: int, assigned: Sequence[_Sizes], most: int) -> float:
    """By how much a size has to grow for one more block, where a grid grows with sizes."""
    covered, own = tile.covered[axis], tile.own_covered[axis]
    if not tile.is_asked(axis):
        return max(covered, own)
    blocks = max(sizes[ASKED[axis]] for sizes in assigned)
    return most / min(blocks, max(1, blocks * own // covered))


def _per_thread(tile: Tile, axis: int, per_block: float) -> float:
    """By how much it has to grow for one more thread of whole blocks."""
    threads, own = tile.block[axis], tile.own_block[axis]
    if tile.is_asked(axis):
        return per_block / min(threads, own)
    return max(tile.covered[axis] / threads, tile.own_covered[axis] / own)


def has_parts(tile: Tile) -> bool:
    """Can a block have less to do than others, by the extents?"""
    each = zip(range(3), tile.covered, tile.own_covered, strict=True)
    return any(a > 1 and b > 1 and not tile.is_asked(axis) for axis, a, b in each)


def is_uneven(tile: Tile, sizes: _Sizes) -> bool:
    """Are blocks of both launches only partly used in some dimension?"""
    extents = [whole_value(text, sizes) or 0 for text in tile.extents]
    parts = zip(extents, tile.covered, tile.own_covered, strict=True)
    return any(extent % a and extent % b for extent, a, b in parts)


def is_within_a_block(tile: Tile, launch: TriedLaunch) -> bool:
    """Are no extents larger than what a block of a tile, or of the program, covers?"""
    most = max(*tile.covered, *tile.own_covered)
    return all(value <= most for name, value in launch.sizes if name in tile.names)


def has_several(tile: Tile, sizes: _Sizes) -> bool:
    """Has a copy several blocks, in a dimension in which the program has more?"""
    few, many = grid_at(tile, sizes), grid_at(tile.own(), sizes)
    if few is None or many is None:
        return False
    return any(1 < one < other for one, other in zip(few, many, strict=True))


def shape_at(tile: Tile, sizes: Assigned) -> Shape | None:
    """The launch of a tile; None where CUDA has none, or the tile is for others."""
    grid = grid_at(tile, dict(sizes))
    return None if grid is None else (grid, tile.block, tile.shared)


def grid_at(tile: Tile, sizes: _Sizes) -> Block | None:
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


# ---- which sizes a grid follows


def that_cover(
    loaded: LoadedModule, entry: str, given: LaunchParameters, tiles: Iterable[Tile]
) -> set[tuple[str, str, str]]:
    """Return the extents of tiles with which the program's own grids cover all elements.

    In `turn<<<dim3((n + 31) / 32, (n + 31) / 32), block>>>(in, out, n, n)` the variable `n` is two
    sizes, `width` and `height`, and each dimension of the grid may follow either. Copies do the
    same with any of these; a model needs the right one. With it, one more block in each dimension
    stores nothing more. All extents are given where they are alike, or none covers.

    Args:
        entry: of the kernel.
        given: makes its parameters.
    """
    by_extents = {one.extents: one.own() for one in tiles}
    if len(by_extents) < 2:
        return {*by_extents}
    found = {e for e, own in by_extents.items() if _covers(loaded, entry, given, own)}
    return found or {*by_extents}


def _covers(loaded: LoadedModule, entry: str, given: LaunchParameters, own: Tile) -> bool:
    """Does the grid cover all elements, whichever of the sizes are the larger ones?"""
    unit = max(own.covered)
    for names in (given.integers, given.integers[::-1]):
        sizes = {**dict(zip(names, count(2 * unit, unit))), **dict.fromkeys(ASKED, 1)}
        shape = shape_at(own, tuple(sizes.items()))
        if shape is None:
            return False
        grid, block, shared = shape
        x, y, z = (n + (text != "1") for n, text in zip(grid, own.extents, strict=True))
        parameters = given.packed(loaded.kernel(entry), sizes, given.combined[0])
        try:
            stored, more = (
                _stored(loaded, entry, one, block, shared, parameters) for one in (grid, (x, y, z))
            )
        except CutuneError:
            return False
        if stored != more:
            return False
    return True


def _stored(
    loaded: LoadedModule, entry: str, grid: Block, block: Block, shared: int, parameters: bytes
) -> Sequence[int]:
    """How many threads execute each store and atomic operation in global memory."""
    counted = loaded.run(
        entry,
        grid,
        block,
        parameters,
        shared_bytes=shared,
        ghosts=GHOSTS,
        instruction_limit=_LONGEST,
    )
    sites = zip(loaded.kernel(entry).sites, counted.sites, strict=True)
    return [int(n["lanes"]) for site, n in sites if site.kind != "load" and site.space != "shared"]

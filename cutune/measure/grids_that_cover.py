"""Which sizes a grid follows, where a launch does not tell. Takes tiles, gives those that cover.

In `turn<<<dim3((n + 31) / 32, (n + 31) / 32), block>>>(in, out, n, n)` both dimensions may follow
`width`, or `height`, or one each: the variable `n` is the argument of both. Copies do the same with
any of these, but a model needs the right one. With it the grid covers all elements at any sizes,
so that a block more in each dimension stores nothing more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

from cutune.core.diagnostics import CutuneError
from cutune.emulator.machine import LoadedModule
from cutune.measure.replay.replay import GHOSTS
from cutune.measure.trial_launches import shape_at
from cutune.measure.trial_parameters import LaunchParameters
from cutune.source.kernel_variant import ASKED, Tile
from cutune.toolchain.device.thread_block import Block

#: Warp instructions of a launch at most.
_LONGEST = 20_000_000


def that_cover(
    loaded: LoadedModule, entry: str, given: LaunchParameters, tiles: Iterable[Tile]
) -> set[tuple[str, str, str]]:
    """Return the extents of tiles with which the program's own grids cover all elements.

    All extents, where no two differ, or none covers.

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

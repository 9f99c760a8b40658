"""What copies cost that nobody has timed. Takes one launch of each, gives the order to try them in.

Trying a copy takes many launches, so that of many values only those are tried that may be chosen.
Two blocks of one launch are counted, without data: how many cycles a multiprocessor takes per
element that they cover, full of such blocks, and with one alone, as in small launches. Copies are
compared with those whose blocks cover as much: which of these extents is best hangs on the size of
a launch, and is left to the model. The best copies of each extent come first, then the second ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain
from math import inf, log2, prod

from cutune.core.diagnostics import CutuneError
from cutune.emulator.machine import LaunchCounters, LoadedModule
from cutune.emulator.module_metadata import KernelCode
from cutune.measure.replay.replay import GHOSTS
from cutune.model.performance.constants import SIDE_BY_SIDE, SLICE_CYCLES, SLICE_REGISTERS
from cutune.source.kernel_variant import Tile
from cutune.toolchain.device.present import FALLBACK
from cutune.toolchain.device.profile import BlockResources, DeviceProfile, Limits, resident_blocks
from cutune.toolchain.device.thread_block import WARP, Block, threads_of

#: What a multiprocessor does in a cycle: instructions of warps, and sectors from or to L2.
#: Published: CUDA's programming guide.
_INSTRUCTIONS, _SECTORS = 4, 2
#: Of it so many warps keep all schedulers busy: four each.
_BUSY_WARPS = 16
#: All sizes of the launch that is counted, and of its grid where the program asks for one.
SIZE = 512
#: Warp instructions of it at most.
_LONGEST = 1_000_000
#: Of each memory instruction a window out of so many is looked at.
_EVERY = 8

Costs = tuple[float, float]
"""Cycles per element, of a multiprocessor that is full of blocks, and of one with one block."""
UNKNOWN = inf, inf


@cache
def limits() -> Limits:
    """The limits that costs are counted with. Copies are tried once, for all GPUs."""
    return DeviceProfile.named(FALLBACK).limits


def costs_of(
    loaded: LoadedModule, entry: str, tile: Tile, grid: Block | None, parameters: bytes
) -> Costs:
    """Return what two blocks of a launch cost; UNKNOWN where they fail, or take long."""
    if grid is None:
        return UNKNOWN
    x, y, z = grid
    try:
        counted = loaded.run(
            entry,
            grid,
            tile.block,
            parameters,
            shared_bytes=tile.shared,
            blocks=sorted({0, x // 2 + x * (y // 2 + y * (z // 2))}),
            trace=True,
            trace_every=_EVERY,
            ghosts=GHOSTS,
            instruction_limit=_LONGEST,
        )
    except CutuneError:
        return UNKNOWN
    return cycles_per_element(tile, loaded.kernel(entry), counted)


def cycles_per_element(tile: Tile, code: KernelCode, counted: LaunchCounters) -> Costs:
    """Return the cycles per element that blocks cover, by the counters of some of them."""
    wavefronts = sectors = 0.0
    for site, values in zip(code.sites, counted.sites, strict=True):
        if values["traced"]:
            times = int(values["executions"]) / int(values["traced"])
            is_shared = site.space == "shared"
            wavefronts += int(values["wavefronts" if is_shared else "lines"]) * times
            sectors += 0 if is_shared else int(values["new_sectors"]) * times
    pairs = zip(counted.block_executions, code.blocks, strict=True)
    barriers = sum(int(executed) * block.demand.barriers for executed, block in pairs)
    resources = counted.warp_instructions / _INSTRUCTIONS, wavefronts, sectors / _SECTORS
    busy: float = sum(cycles**SIDE_BY_SIDE for cycles in resources) ** (1 / SIDE_BY_SIDE)
    warps = -(-threads_of(tile.block) // WARP)
    elements = prod(tile.covered) * max(1, counted.executed_blocks)

    def cycles(blocks: int) -> float:
        idle = max(1.0, _BUSY_WARPS / (blocks * warps))
        return (busy * idle + SLICE_CYCLES * barriers / warps / blocks) / elements

    return cycles(_resident(tile, code)), cycles(1)


def _resident(tile: Tile, code: KernelCode) -> int:
    """Blocks of a multiprocessor. Each element of a thread takes a register, as a sum does."""
    threads = threads_of(tile.block)
    wanted = SLICE_REGISTERS + prod(tile.covered) // threads
    registers = min(limits().registers_per_thread, wanted)
    bytes_ = tile.shared + code.static_shared_bytes
    return max(1, resident_blocks(BlockResources(threads, registers, bytes_), limits()))


def in_order(costs: Sequence[Costs], tiles: Sequence[Tile]) -> list[int]:
    """Return the places of copies: the best for each extent of a block, then the second ones."""
    parts: dict[int, list[int]] = {}
    for place, tile in enumerate(tiles):
        parts.setdefault(round(log2(prod(tile.covered))), []).append(place)
    rank: dict[int, int] = {}
    for places in parts.values():
        full, alone = (sorted(places, key=lambda place: costs[place][n]) for n in range(2))
        both = dict.fromkeys(chain.from_iterable(zip(full, alone, strict=True)))
        rank |= {place: turn for turn, place in enumerate(both)}
    return sorted(rank, key=lambda place: (costs[place] == UNKNOWN, rank[place], costs[place]))

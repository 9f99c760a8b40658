"""Code and counters as measurements keep them. Takes a kernel's code, gives a `CompiledKernel`.

The least that a thread does needs no function of the sizes: whatever they are, a thread that
accesses memory went a way from the entry to an access, and on to an end.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from cutune.emulator.launch_log import site_counters as counters_of_machine
from cutune.emulator.module_metadata import Block, KernelCode
from cutune.model.measurement.measurement import (
    CodeBlock,
    CompiledKernel,
    LeastWork,
    MemoryInstruction,
    SiteCounters,
)
from cutune.toolchain.ptxas import StaticCounters


def least_work(code: KernelCode) -> LeastWork:
    """The least of any thread, and of one that accesses memory."""
    # The blocks of the kernel itself, without those of functions that it calls.
    reached = [0]
    for index in reached:
        reached += [target for target in code.blocks[index].targets if target not in reached]
    own = [code.blocks[index] for index in sorted(reached)]
    accessed = {site.block for site in code.sites}
    # A function that is called may be where a thread accesses memory.
    through = {b.index for b in own if b.index in accessed or b.calls} or {b.index for b in own}
    accesses = dict.fromkeys((block.index for block in own), 0)
    for site in code.sites:
        if site.block in accesses and not site.guarded and site.space in ("global", "generic"):
            accesses[site.block] += 1
    everywhere = {block.index for block in own}
    return LeastWork(
        _shortest(own, lambda block: block.demand.slots, everywhere),
        _shortest(own, lambda block: block.demand.slots, through),
        _shortest(own, lambda block: accesses[block.index], through),
    )


def _shortest(
    blocks: Sequence[Block], cost: Callable[[Block], int], through: Collection[int]
) -> int:
    """The cost of the cheapest way from the entry through one of some blocks to an end."""
    costs = {block.index: cost(block) for block in blocks}
    forward = {block.index: list(block.targets) for block in blocks}
    backward: dict[int, list[int]] = {block.index: [] for block in blocks}
    for block in blocks:
        for target in block.targets:
            backward[target].append(block.index)
    ends = [block.index for block in blocks if not block.targets]
    to, onwards = _distances([0], forward, costs), _distances(ends, backward, costs)
    ways = [to[i] + onwards[i] - costs[i] for i in through if i in to and i in onwards]
    return min(ways, default=0)


def _distances(
    starts: Sequence[int], edges: dict[int, list[int]], costs: dict[int, int]
) -> dict[int, int]:
    """The cost of the cheapest way to each node, both ends included (Dijkstra)."""
    found: dict[int, int] = {}
    waiting = [(costs[start], start) for start in starts]
    heapq.heapify(waiting)
    while waiting:
        distance, node = heapq.heappop(waiting)
        if node in found:
            continue
        found[node] = distance
        for target in edges[node]:
            heapq.heappush(waiting, (distance + costs[target], target))
    return found


_COUNTED_SPACES = ("global", "generic", "shared")
#: The counters of the machine that a measurement has unchanged.
_KEPT = {f.name for f in fields(SiteCounters)} & {c.name for c in counters_of_machine()}
NOT_EXECUTED = SiteCounters(**dict.fromkeys(_KEPT, 0), array=-1, low=0, high=0)


def compiled_kernel(code: KernelCode, static: StaticCounters) -> CompiledKernel:
    blocks = tuple(
        CodeBlock(
            block.loop,
            block.demand.slots,
            block.load_phases,
            block.demand.double,
            block.demand.special,
            block.demand.barriers,
            block.demand.constants,
        )
        for block in code.blocks
    )
    place = {block.index: position for position, block in enumerate(code.blocks)}
    memory = tuple(
        MemoryInstruction(
            index,
            site.kind,
            site.bytes,
            place[site.block],
            site.space == "shared",
            site.real,
            site.phase,
        )
        for index, site in enumerate(code.sites)
        if site.space in _COUNTED_SPACES
    )
    return CompiledKernel(static, blocks, memory, code.obliviousness.uncertain, least_work(code))


def site_counters(counted: Mapping[str, int] | np.void, array: int, start: int) -> SiteCounters:
    """Counters of one memory instruction in one launch, by the machine's names.

    `array`: the pointer parameter that it went through, or -1; `start`: what that points to.
    """
    values: dict[str, Any] = {name: int(counted[name]) for name in _KEPT}
    low, high = (int(counted[end]) - start if array >= 0 else 0 for end in ("lowest", "highest"))
    return SiteCounters(**values, array=array, low=low, high=high)

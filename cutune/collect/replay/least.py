"""The least that a thread does. Takes a kernel's code, gives what its shortest ways execute.

No function has to be found for that: whatever the sizes are, a thread that accesses memory went a
way from the entry to an access, and on to an end.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Sequence

from cutune.emulator.bytecode.module import Block, KernelCode
from cutune.fit.measurement.compiled_kernel import LeastWork


def least_work(code: KernelCode) -> LeastWork:
    """The least of any thread, and of one that accesses memory."""
    own = _own_blocks(code.blocks)
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


def _own_blocks(blocks: Sequence[Block]) -> list[Block]:
    """The blocks of the kernel itself, without those of functions that it calls."""
    found = [0]
    for index in found:
        found += [target for target in blocks[index].targets if target not in found]
    return [blocks[index] for index in sorted(found)]


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
    """The cost of the cheapest way to each node, both ends counted (Dijkstra)."""
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

"""Held-out launches. Takes a kernel and its counts, gives launches that took no part.

The largest launch that is quickly counted in full, and corners: one size large beside small ones,
and small beside large ones. Of still larger launches of these forms some blocks are counted. Small
values that the program itself has, a radius for instance, are tried beside sizes of the usual kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

from cutune.collect.replay.plan import WARP_BUDGET, Replay, count_block, counted_sizes
from cutune.device.thread_block import GRID_LIMITS, WARP, grid_of
from cutune.fit.count_functions import LEVELS, CountFunctions, count_points
from cutune.fit.measurement.measurement import CHECK, FAR, OWN_SMALL, RECHECK, MeasuredKernel
from cutune.fit.measurement.size_relations import extents_at

#: Warp instructions of a launch that is counted in full: some hundredths of a second.
CHECKED_INSTRUCTIONS = 2_000_000
#: Values of sizes that take no part in fitting: multiples of a warp, none a power of two. Others
#: where functions are fitted again with these.
CHECKED = (288, 352, 480, 736, 1120, 2080, 4128, 16416, 65568)
RECHECKED = (320, 416, 544, 800, 1248, 2336, 4640, 17440, 73760)
#: Values of which some blocks are counted.
FAR_VALUES = (544, 1056, 2080, 4128, 8224, 16416, 32800, 65568, 1 << 20, 1 << 24)
#: Threads that such a launch may have: their number, and that of bytes, must fit into 31 bits.
FAR_THREADS = 1 << 28
#: So many of the program's own small values are tried of each size.
OWN_VALUES = 3
#: Beside them all other sizes have this value.
USUAL = LEVELS[2]


def check_launches(
    kernel: MeasuredKernel, counts: CountFunctions, again: bool = False
) -> Iterator[Replay]:
    """Launches that are counted in full. `again`: for functions that were fitted with the first."""
    purpose, values = (RECHECK, RECHECKED) if again else (CHECK, CHECKED)

    def cost(sizes: Mapping[str, int]) -> float:
        return float(counts.instructions(sizes)) / WARP

    for point in _corners(kernel, values, cost):
        yield Replay(purpose, point, count_block(kernel), 1)


def far_launches(kernel: MeasuredKernel, counts: CountFunctions) -> Iterator[Replay]:
    """Much larger launches, of which some blocks are counted."""
    if kernel.asserted:
        return  # blocks without work are not told from others
    block = count_block(kernel)

    def cost(sizes: Mapping[str, int]) -> float:
        extents = extents_at(kernel, sizes)
        grid = grid_of(block, extents, kernel.grid_kept)
        fits = all(n <= most for n, most in zip(grid, GRID_LIMITS, strict=True))
        if not fits or max(prod(extents), *sizes.values()) > FAR_THREADS:
            return float("inf")
        per_thread = counts.per_thread(counts.instructions, sizes)
        return CHECKED_INSTRUCTIONS * per_thread / WARP_BUDGET

    for point in _corners(kernel, FAR_VALUES, cost):
        yield Replay(FAR, point, block, 1)


def small_launches(kernel: MeasuredKernel) -> Iterator[Replay]:
    """Launches with the program's own values of sizes that are always small."""
    if kernel.asserted:
        return
    columns = zip(*(sizes for sizes, _ in kernel.recorded), strict=True)
    for name, column in zip(kernel.parameters, columns, strict=False):
        values = sorted({value for value in column if value > 0})
        if not values or values[-1] >= LEVELS[0] or name == kernel.strided_to:
            continue
        middle = values[len(values) // 2]
        for value in sorted({values[0], middle, values[-1]})[:OWN_VALUES]:
            sizes = {**counted_sizes(kernel, dict.fromkeys(kernel.variables, USUAL)), name: value}
            yield Replay(OWN_SMALL, sizes, count_block(kernel), 1)


def _corners(
    kernel: MeasuredKernel, values: Sequence[int], cost: Callable[[Mapping[str, int]], float]
) -> Iterator[dict[str, int]]:
    """All sizes large; each large beside small ones, and small beside large ones."""
    names, least = kernel.variables, LEVELS[0]
    if not names:
        return
    groups = [names]
    if len(names) > 1:
        groups += [(name,) for name in names]
    if len(names) > 2:
        groups += [tuple(other for other in names if other != name) for name in names]
    # Of many threads or blocks beside a small size some would have no work: no function tells that.
    extents = {*kernel.extent_words.values()}
    groups = [group for group in groups if group == names or not extents & {*group}]
    counted = max(max(point.values()) for point in count_points(names))
    for large in groups:
        # The largest that can be afforded.
        for value in sorted(values, reverse=True):
            point = {name: value if name in large else least for name in names}
            sizes = counted_sizes(kernel, point)
            if value > counted and cost(sizes) <= CHECKED_INSTRUCTIONS:
                yield sizes
                break

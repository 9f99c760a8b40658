"""Sizes whose product counts the threads. Takes a kernel, gives levels at which it is counted.

`id < B * C * H * W` has a million threads where each size is that of a warp, and more than 32 bits
count where each is that of a matrix. So such sizes have smaller levels: their product still fills
warps.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from cutune.model.fit.count_functions import count_points
from cutune.model.measurement.measurement import MeasuredKernel
from cutune.model.measurement.size_relations import extents_at
from cutune.source.host_formula import names_in
from cutune.toolchain.device.thread_block import WARP

#: Steps between levels, the largest first: loops that are unrolled by four have no remainder.
UNITS = (WARP, 16, 8, 4)
#: Threads of the smallest launch that is counted, and of the largest.
FEWEST_THREADS, MOST_THREADS = 1 << 16, 1 << 21


def factors(kernel: MeasuredKernel) -> set[str]:
    """The sizes that have an extent in threads only with others: as a product, for example."""
    return {name for names in _products(kernel) for name in names}


def _products(kernel: MeasuredKernel) -> list[set[str]]:
    """The sizes of each extent that several have together; nothing for other dimensions."""
    texts = zip(kernel.guards, kernel.covers, strict=True)
    of_axes = ({*names_in(guard or cover or "")} & {*kernel.parameters} for guard, cover in texts)
    return [names if len(names) > 1 else set() for names in of_axes]


def unit_of(kernel: MeasuredKernel) -> int:
    """The step between levels of its `factors`: that of a warp, or less where these are many."""
    products, of_warp = _products(kernel), dict.fromkeys(kernel.variables, WARP)
    for unit in UNITS:
        extents = extents_at(kernel, {**of_warp, **dict.fromkeys(factors(kernel), unit)})
        if prod(extents) <= FEWEST_THREADS:
            # Without a guard, a block that is not full would do more than the sizes say.
            joined = [n for n, names in zip(extents, products, strict=True) if names]
            return unit if all(n % WARP == 0 for n in joined) else WARP
    return WARP


def count_points_of(kernel: MeasuredKernel) -> list[dict[str, int]]:
    """As `count_points`, with few launches in which many factors are all large."""
    if unit_of(kernel) == WARP:
        return count_points(kernel.variables)

    def is_quick(point: Mapping[str, int]) -> bool:
        return prod(extents_at(kernel, with_levels(kernel, point))) <= MOST_THREADS

    return count_points(kernel.variables, is_quick)


def with_levels(kernel: MeasuredKernel, point: Mapping[str, int]) -> dict[str, int]:
    """Multiples of a warp, of which those of `factors` become multiples of their unit."""
    unit, names = unit_of(kernel), factors(kernel)
    return {name: value * unit // WARP if name in names else value for name, value in point.items()}

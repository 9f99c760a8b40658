"""Feature launches to columns. Takes one for each (class, block), gives `FeatureColumn`s.

`Scale` turns the counters of the few blocks that were looked at into the work of a warp.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cutune.fit.count_functions import CountFunctions
from cutune.fit.fitted_model import (
    ATOMIC,
    ATOMIC_REAL,
    BARRIER,
    FIXED,
    ISSUE,
    SCATTERED,
    SECTORS,
    STEP,
    UNCOALESCED,
    FeatureColumn,
    in_single_precision,
)
from cutune.fit.measurement.measurement import MeasuredKernel, Measurement
from cutune.fit.per_warp import NEAR_ONE, Scale, growth


class _Group:
    """The memory instructions of a count group: all of them, and by kind."""

    def __init__(self, kernel: MeasuredKernel, counts: CountFunctions, index: int) -> None:
        self.index = index
        self.members = [place for place, group in enumerate(counts.group_of) if group == index]
        kinds = {i: kernel.memory[i].kind for i in self.members}
        self.shared = [i for i in self.members if kernel.memory[i].shared]
        #: In global memory: they make requests to the caches.
        self.requesting = [i for i in self.members if i not in self.shared]
        self.loads = [i for i in self.requesting if kinds[i] == "load"]
        self.stores = [i for i in self.requesting if kinds[i] != "load"]
        self.atomics = [i for i in self.stores if kinds[i] == "atomic"]

    def cost(
        self, kind: str, scales: Sequence[Scale], sites: Sequence[int], attribute: str
    ) -> FeatureColumn:
        return _feature(kind, self.index, [scale.cost(sites, attribute) for scale in scales])


def feature_columns(
    kernel: MeasuredKernel,
    counts: CountFunctions,
    launches: Sequence[Measurement],
    smaller: Sequence[Measurement],
) -> Iterator[FeatureColumn]:
    """Features per trip, summed over the memory instructions of each group.

    `smaller`: where the grid is kept, one more launch for each block.
    """
    scales = [Scale(kernel, counts, launch) for launch in launches]
    for index in range(len(counts.groups)):
        group = _Group(kernel, counts, index)
        if smaller:
            requests = [scale.requests(group.requesting) for scale in scales]
            yield _feature("request", index, requests)
        yield from _memory_columns(group, scales)
        yield from _array_columns(kernel, counts, group, launches, scales)
    if kernel.asserted or kernel.on_data:
        yield _feature("busiest", 0, [scale.busiest() for scale in scales])
    if smaller:
        yield from _growth_columns(scales, [Scale(kernel, counts, m) for m in smaller])
    else:  # work of a warp, relative to that of a thread
        yield _feature(ISSUE, 0, _settled([scale.relative("instructions") for scale in scales]))
        yield _feature(BARRIER, 0, [scale.relative("barriers") for scale in scales])


def transaction_columns(
    kernel: MeasuredKernel, counts: CountFunctions, launches: Sequence[Measurement]
) -> Iterator[FeatureColumn]:
    """Per group: 32-byte sectors per execution, and the part of them that is not coalesced."""
    for group in range(len(counts.groups)):
        members = _Group(kernel, counts, group).requesting
        rows = [[_sectors(launch, kernel, i) for i in members] for launch in launches]
        scattered = [[sectors for sectors, least in row if sectors > least] for row in rows]
        yield _feature(SECTORS, group, [sum(sectors for sectors, _ in row) for row in rows])
        yield _feature(UNCOALESCED, group, [float(len(row)) for row in scattered])
        yield _feature(SCATTERED, group, [sum(row, 0.0) for row in scattered])


def _memory_columns(group: _Group, scales: Sequence[Scale]) -> Iterator[FeatureColumn]:
    """The demand on caches and shared memory."""
    loads, stores, shared = group.loads, group.stores, group.shared
    if loads:
        yield group.cost("load", scales, loads, "load_cost_x20")
        shares = _settled([scale.missing(loads) for scale in scales])
        yield _feature("missing", group.index, shares)
    if stores:
        yield group.cost("store", scales, stores, "store_cost_x20")
        yield group.cost("rewritten", scales, stores, "rewritten_sectors")
        lines = [scale.lines(stores) for scale in scales]
        yield _feature("rewritten_lines", group.index, lines)
    if shared:
        values = [
            scale.cost(shared, "load_cost_x20") + scale.cost(shared, "store_cost_x20")
            for scale in scales
        ]
        yield _feature("shared", group.index, values)


def _array_columns(
    kernel: MeasuredKernel,
    counts: CountFunctions,
    group: _Group,
    launches: Sequence[Measurement],
    scales: Sequence[Scale],
) -> Iterator[FeatureColumn]:
    """Per array: sectors that miss L1, and bytes that atomic operations change."""
    for index, array in enumerate(counts.arrays):
        at_sites = [{launch.sites[i].array for launch in launches} for i in group.members]
        pairs = zip(group.members, at_sites, strict=True)
        touching = [i for i, arrays in pairs if array.parameter in arrays]
        if touching:
            values = [scale.cost(touching, "new_sectors") for scale in scales]
            yield _feature("missed", group.index, values, index)
        adding = [i for i in touching if i in group.atomics]
        if adding:
            kind = ATOMIC_REAL if any(kernel.memory[i].real for i in adding) else ATOMIC
            values = [scale.atomic_bytes(adding) for scale in scales]
            yield _feature(kind, group.index, values, index)


def _growth_columns(scales: Sequence[Scale], smaller: Sequence[Scale]) -> Iterator[FeatureColumn]:
    """The work of a warp that grows with the row, and the work that is fixed."""
    for kind, what in ((ISSUE, "instructions"), (STEP, "steps"), (BARRIER, "barriers")):
        # One smaller launch per block, whatever the alignment.
        pairs = [
            growth(scale, smaller[index % len(smaller)], what) for index, scale in enumerate(scales)
        ]
        yield _feature(kind, 0, [slope for slope, _ in pairs])
        yield _feature(f"{kind}{FIXED}", 0, [fixed for _, fixed in pairs])


def _sectors(launch: Measurement, kernel: MeasuredKernel, index: int) -> tuple[float, float]:
    """Sectors per execution of a memory instruction, and those of a coalesced full warp."""
    site = launch.sites[index]
    return (site.sectors / site.traced if site.traced else 0.0, float(kernel.memory[index].bytes))


def _settled(values: Sequence[float]) -> Sequence[float]:
    """The largest value for all, if they are nearly the same: one value needs no table."""
    least, most = min(values, default=0.0), max(values, default=0.0)
    return [most] * len(values) if most - least <= NEAR_ONE * most else values


def _feature(
    kind: str, group: int, values: Sequence[float], array: int | None = None
) -> FeatureColumn:
    return FeatureColumn(kind, group, array, in_single_precision(values))

"""Feature launches to columns. Takes one for each (class, block), gives `FeatureColumn`s.

`Scale` turns the counters of the few blocks that were looked at into the work of a warp.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, starmap
from math import prod
from operator import mul

from cutune.model.fit.count_functions import CODE_TOTALS, CountFunctions
from cutune.model.fit.fitted_model import (
    ATOMIC,
    ATOMIC_REAL,
    BARRIER,
    CHAIN,
    FIXED,
    ISSUE,
    SCATTERED,
    SECTORS,
    STEP,
    UNCOALESCED,
    FeatureColumn,
    in_single_precision,
)
from cutune.model.measurement.measurement import MeasuredKernel, Measurement, Measurements
from cutune.model.measurement.size_relations import extents_at
from cutune.toolchain.device.thread_block import warp_footprint, warps_of

#: Ratios that differ from 1 by less than this count as 1.
NEAR_ONE = 0.02


class Scale:
    """From the counters of a few blocks to work per warp and trip of the count group.

    - A proven kernel has the same counts for every block. How often a *warp* executes an
      instruction follows from its lanes.
    - Where an annotation alone allows other blocks (shared memory, barriers), the work differs
      between blocks. It is taken relative to the fitted counts.
    - Where the grid is kept, more threads share the same work. It is divided among all warps of a
      block.
    """

    def __init__(self, kernel: MeasuredKernel, counts: CountFunctions, launch: Measurement) -> None:
        self._kernel, self._counts, self.measured = kernel, counts, launch
        self._sizes = dict(launch.sizes)
        self._warps = self._working_warps()
        self._executions = [self._executed(index) for index in range(len(launch.sites))]

    def _working_warps(self) -> float:
        if self._kernel.keeps_grid:
            return self.measured.warps
        if not self._kernel.on_data or sum(self._kernel.free) == 1:
            return self.measured.working_warps
        # The whole launch was counted: warps at the edges of its grid are not full.
        extents = extents_at(self._kernel, self._sizes)
        pairs = zip(extents, warp_footprint(self.measured.block), strict=True)
        return float(max(1, prod(-(-extent // width) for extent, width in pairs)))

    def cost(self, sites: Sequence[int], attribute: str) -> float:
        """A counter of some memory instructions, per warp and trip."""
        total = 0.0
        for index in sites:
            site = self.measured.sites[index]
            if site.traced:
                unit = 20 if attribute.endswith("_x20") else 1
                value = int(getattr(site, attribute)) / unit / site.traced
                total += value * self._executions[index]
        return total

    def lines(self, sites: Sequence[int]) -> float:
        """Lines per execution of the stores among these that rewrite sectors."""
        counters = [self.measured.sites[index] for index in sites]
        rewriting = [site for site in counters if site.rewritten_sectors]
        traced = sum(site.traced for site in rewriting)
        return sum(site.lines for site in rewriting) / traced if traced else 0.0

    def requests(self, sites: Sequence[int]) -> float:
        """Executions of some memory instructions, per warp and trip."""
        return sum(self._executions[index] for index in sites)

    def missing(self, sites: Sequence[int]) -> float:
        """Steps per trip in which some warp of the block misses.

        Of overlapping loads only the worst counts. Loads of one group of a basic block overlap. The
        basic blocks of a loop overlap too, because its branches become predicates. Outside of loops
        each group waits for itself.
        """
        warps = warps_of(self.measured.block)
        worst: dict[int, dict[tuple[int, int], float]] = {}
        for index in sites:
            site, memory = self.measured.sites[index], self._kernel.memory[index]
            if site.traced:
                loop = self._kernel.code_blocks[memory.block].loop
                share = min(1.0, site.missing * warps / site.traced)
                # Before loops warps are in step: at one address all wait for the first that asked.
                in_step = loop < 0 and site.sectors == site.traced
                if self._kernel.on_data and not in_step:
                    # Warps do not stay in step: each waits for its own misses only.
                    share = min(share, site.new_sectors / site.traced)
                share *= self._executions[index]
                steps = worst.setdefault(loop, {})
                step = (memory.block, memory.phase)
                steps[step] = max(steps.get(step, 0.0), share)
        outside = sum(worst.pop(-1, {}).values())
        return outside + sum(map(_of_worst_block, worst.values()))

    def atomic_bytes(self, sites: Sequence[int]) -> float:
        """Bytes that atomic operations change, per thread and trip (of all blocks: grid kept)."""
        widths = [self._kernel.memory[index].bytes for index in sites]
        if not self._kernel.asserted:
            return float(sum(widths))
        changed = _dot([self.measured.sites[index].lanes for index in sites], widths)
        if self._kernel.keeps_grid:
            share = self.measured.executed_blocks / prod(self.measured.grid)
            group = self._counts.groups[self._counts.group_of[sites[0]]]
            return changed / share / max(1.0, float(group(self._sizes)))
        return changed / max(1, self.measured.working_threads) / self._trips(sites[0])

    def busiest(self) -> float:
        """Load steps of the busiest warp relative to the mean: at a barrier all wait for it."""
        pairs = zip(self.measured.sites, self._kernel.memory, strict=True)
        loads = [site for site, m in pairs if m.kind == "load" and not m.shared]
        warps: float = warps_of(self.measured.block)
        if self._kernel.on_data:
            # Large blocks are not full in small runs; in one dimension only the last block is not.
            blocks: float = max(1, self.measured.executed_blocks)
            if sum(self._kernel.free) == 1:
                blocks = min(blocks, max(1.0, self.measured.working_warps / warps))
            warps = min(warps, self.measured.working_warps / blocks)
        mean = sum(site.executions for site in loads) / warps
        busiest = sum(site.busiest for site in loads) / mean if mean else 1.0
        # Counters do not distinguish a warp with few working lanes from an idle one.
        return _near_one(max(1.0, busiest))

    def relative(self, what: str) -> float:
        """Work of a warp by basic blocks, relative to the fitted work of a thread."""
        measured = self.measured
        if self._kernel.asserted:
            per_thread = self.per_thread(what)
        else:
            weights = self._weights(what)
            per_thread = _dot(measured.lanes, weights) / max(1, measured.working_threads)
        per_warp = self.per_warp(what)
        return _near_one(per_warp / per_thread) if per_thread > 0 else 1.0

    def per_thread(self, what: str) -> float:
        return self._counts.per_thread(getattr(self._counts, what), self._sizes)

    def per_warp(self, what: str) -> float:
        """The work of a warp by basic blocks."""
        return _dot(self.measured.executions, self._weights(what)) / self._warps

    def _weights(self, what: str) -> list[int]:
        return [int(getattr(block, CODE_TOTALS[what])) for block in self._kernel.code_blocks]

    def _executed(self, index: int) -> float:
        """Executions by a warp per trip of the instruction's count group."""
        site = self.measured.sites[index]
        per_warp = site.executions / self._warps
        if self._kernel.asserted:
            return per_warp / self._trips(index)
        if not site.lanes:
            return 0.0
        return _near_one(per_warp * self.measured.working_threads / site.lanes)

    def _trips(self, index: int) -> float:
        group = self._counts.groups[self._counts.group_of[index]]
        return max(1e-9, self._counts.per_thread(group, self._sizes))


def _of_worst_block(steps: Mapping[tuple[int, int], float]) -> float:
    of_block: dict[int, float] = {}
    for (block, _), share in steps.items():
        of_block[block] = of_block.get(block, 0.0) + share
    return max(of_block.values())


def _dot(counts: Sequence[int], weights: Sequence[int]) -> int:
    return sum(starmap(mul, zip(counts, weights, strict=True)))


def growth(larger: Scale, smaller: Scale, what: str) -> tuple[float, float]:
    """(slope, fixed): the work of a warp is slope * (fitted work of a thread) + fixed.

    Takes launches of two sizes. If more threads share a row, the loop over the row has fewer steps.
    The other work of a warp, such as a reduction, is fixed.
    """
    threads, warps = larger.per_thread(what), larger.per_warp(what)
    if threads <= 0:
        return 0.0, warps
    run = threads - smaller.per_thread(what)
    slope = (warps - smaller.per_warp(what)) / run if run > NEAR_ONE * threads else -1.0
    fixed = warps - slope * threads
    if slope < 0 or fixed < 0:
        return warps / threads, 0.0
    return slope, fixed


def _near_one(ratio: float) -> float:
    """1 for ratios near 1: warps at the edge of the sampled blocks do not justify a table."""
    return 1.0 if abs(ratio - 1) < NEAR_ONE else ratio


class _Group:
    def __init__(self, kernel: MeasuredKernel, counts: CountFunctions, index: int) -> None:
        self.index, self.arrays, self.memory = index, counts.arrays, kernel.memory
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
    kernel: MeasuredKernel, counts: CountFunctions, launches: Measurements, smaller: Measurements
) -> Iterator[FeatureColumn]:
    """Features per trip, summed over each group. `smaller`: one more launch per block, or none."""
    scales = [Scale(kernel, counts, launch) for launch in launches]
    for index in range(len(counts.groups)):
        group = _Group(kernel, counts, index)
        if smaller:
            yield _feature("request", index, [scale.requests(group.requesting) for scale in scales])
        yield from _memory_columns(group, scales)
        yield from _array_columns(group, scales)
    if kernel.asserted or kernel.on_data:
        yield _feature("busiest", 0, [scale.busiest() for scale in scales])
    if smaller:
        yield from _growth_columns(scales, [Scale(kernel, counts, m) for m in smaller])
    else:  # work of a warp, relative to that of a thread
        yield _feature(ISSUE, 0, _settled([scale.relative("instructions") for scale in scales]))
        yield _feature(BARRIER, 0, [scale.relative("barriers") for scale in scales])


def transaction_columns(
    kernel: MeasuredKernel, counts: CountFunctions, launches: Measurements
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
    loads, stores, shared = group.loads, group.stores, group.shared
    if loads:
        yield group.cost("load", scales, loads, "load_cost_x20")
        yield _feature("missing", group.index, _settled([scale.missing(loads) for scale in scales]))
    if stores:
        yield group.cost("store", scales, stores, "store_cost_x20")
        yield group.cost("rewritten", scales, stores, "rewritten_sectors")
        yield _feature("rewritten_lines", group.index, [scale.lines(stores) for scale in scales])
    if shared:
        values = [
            scale.cost(shared, "load_cost_x20") + scale.cost(shared, "store_cost_x20")
            for scale in scales
        ]
        yield _feature("shared", group.index, values)


def _array_columns(group: _Group, scales: Sequence[Scale]) -> Iterator[FeatureColumn]:
    """Per array: sectors that miss L1, and bytes that atomic operations change."""
    for index, array in enumerate(group.arrays):
        at_sites = [{scale.measured.sites[i].array for scale in scales} for i in group.members]
        pairs = zip(group.members, at_sites, strict=True)
        touching = [i for i, arrays in pairs if array.parameter in arrays]
        if touching:
            values = [scale.cost(touching, "new_sectors") for scale in scales]
            yield _feature("missed", group.index, values, index)
        adding = [i for i in touching if i in group.atomics]
        if adding:
            kind = ATOMIC_REAL if any(group.memory[i].real for i in adding) else ATOMIC
            values = [scale.atomic_bytes(adding) for scale in scales]
            yield _feature(kind, group.index, values, index)


def _growth_columns(scales: Sequence[Scale], smaller: Sequence[Scale]) -> Iterator[FeatureColumn]:
    kinds = {ISSUE: "instructions", STEP: "steps", BARRIER: "barriers", CHAIN: "chain"}
    for kind, what in kinds.items():
        # One smaller launch per block, whatever the alignment.
        pairs = [growth(*one, what) for one in zip(scales, cycle(smaller), strict=False)]
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

"""Arrays that thread blocks go through in several passes. Takes launches, gives columns.

A softmax reads its row for the maximum, for the sum, and for the result. The emulated device counts
what a block has not touched in the same loop of late, so that each loop misses the whole row. Here
it is told how much of that earlier loops have touched: where all loops together touch an array a
whole number of times, and none of them touches anything twice, each thread block has a part of its
own, and goes through it once per pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from math import prod

from cutune.model.fit.count_functions import LITTLE, CountFunctions
from cutune.model.fit.fitted_model import (
    BETWEEN,
    LOADED,
    REPEATED,
    SECTOR,
    FeatureColumn,
    in_single_precision,
)
from cutune.model.measurement.measurement import MeasuredKernel, Measurement

#: Of L1.
SECTORS_OF_LINE = 4
#: What a loop may touch more than once, and by how much the passes may differ from a whole number:
#: sectors at both ends of a row belong to two rows.
TOLERANCE = 0.05


@dataclass(frozen=True)
class _Passes:
    """How often a launch touches all of an array, and the sectors that it loads again.

    Attributes:
        number: of passes.
        loaded, repeated: sectors that are loaded, and that are loaded though an earlier pass has
            touched them.
        of_all: the repeated ones, as a share of the new sectors of all arrays.
    """

    number: int
    loaded: float
    repeated: float
    of_all: float


class _Launch:
    """What the executed blocks of a launch touch, by array and loop, in sectors."""

    def __init__(self, kernel: MeasuredKernel, counts: CountFunctions, launch: Measurement) -> None:
        self.loaded: dict[tuple[int, int], float] = {}
        self.stored: dict[tuple[int, int], float] = {}
        self._starts_with_load: dict[int, bool] = {}
        self._is_changed: set[int] = set()  # by atomic operations
        places = {array.parameter: place for place, array in enumerate(counts.arrays)}
        pairs = zip(launch.sites, kernel.memory, strict=True)
        for site, memory in sorted(pairs, key=lambda pair: pair[1].block):
            if memory.shared or not site.traced or site.array not in places:
                continue
            array, is_load = places[site.array], memory.kind == "load"
            key = array, kernel.code_blocks[memory.block].loop
            touched = self.loaded if is_load else self.stored
            sectors = site.new_sectors * site.executions / site.traced
            touched[key] = touched.get(key, 0.0) + sectors
            self._starts_with_load.setdefault(array, is_load)
            if memory.kind == "atomic":
                self._is_changed.add(array)
        share = _executed(kernel, counts, launch)
        extents = (array.extent_bytes(dict(launch.sizes)) for array in counts.arrays)
        self.held = [float(extent) / SECTOR * share for extent in extents]

    @property
    def new(self) -> float:
        """All sectors that are new to a loop."""
        return sum(self.loaded.values()) + sum(self.stored.values())

    def touched(self, array: int) -> dict[int, float]:
        """Sectors of the array by loop; one that is loaded and stored there counts once."""
        loops = {loop for one, loop in {*self.loaded, *self.stored} if one == array}
        keys = {loop: (array, loop) for loop in sorted(loops)}
        return {k: max(self.loaded.get(v, 0), self.stored.get(v, 0)) for k, v in keys.items()}

    def passes(self, array: int) -> _Passes | None:
        """None where there is one at most, or they do not touch all of it once."""
        touched, held = self.touched(array), self.held[array]
        loads = sum(value for (one, _), value in self.loaded.items() if one == array)
        if held <= 0 or not loads or array in self._is_changed:
            return None
        passes = sum(touched.values()) / held
        number = round(passes)
        is_whole = abs(passes - number) <= TOLERANCE * passes
        if number < 2 or not is_whole or max(touched.values()) > (1 + TOLERANCE) * held:
            return None
        every = loads + sum(value for (one, _), value in self.stored.items() if one == array)
        repeated = max(0.0, loads - held) if self._starts_with_load[array] else loads
        return _Passes(number, loads / every, repeated / every, repeated / self.new)

    def between(self, array: int, number: int, spread: Sequence[float]) -> float:
        """What a pass over the array touches of all arrays, in sectors, relative to `new`."""
        loops = self.touched(array)
        in_loops = (
            sectors * spread[other]
            for other in range(len(self.held))
            for loop, sectors in self.touched(other).items()
            if loop in loops
        )
        return sum(in_loops) / number / self.new


def _executed(kernel: MeasuredKernel, counts: CountFunctions, launch: Measurement) -> float:
    """The share of the launch's work that was executed: some blocks stand for all."""
    if kernel.keeps_grid:
        return launch.executed_blocks / prod(launch.grid)
    return launch.working_threads / max(1.0, float(counts.working(dict(launch.sizes))))


def reread_columns(
    kernel: MeasuredKernel, counts: CountFunctions, launches: Sequence[Measurement], classes: int
) -> Iterator[FeatureColumn]:
    """Yield, for arrays that are read in passes, what is loaded, repeated, and between passes.

    `launches`: one for each (class, block). Those of the first class, whose sizes are aligned, tell
    how many passes there are.
    """
    aligned = [_Launch(kernel, counts, one) for one in launches[: len(launches) // classes]]
    spreads: list[tuple[float, ...]] = []
    for index in range(len(counts.arrays)):
        found = [launch.passes(index) for launch in aligned]
        passes = [one for one in found if one is not None]
        if len(passes) < len(found) or len({one.number for one in passes}) != 1:
            continue
        if all(one.of_all < LITTLE for one in passes):
            continue
        spreads = spreads or [_spreads(kernel, counts, launch) for launch in launches]
        between = [
            launch.between(index, passes[0].number, spread)
            for launch, spread in zip(cycle(aligned), spreads, strict=False)
        ]
        loaded = [one.loaded for one in passes] * classes
        repeated = [one.repeated for one in passes] * classes
        for kind, values in ((LOADED, loaded), (REPEATED, repeated), (BETWEEN, between)):
            yield FeatureColumn(kind, 0, index, in_single_precision(values))


def _spreads(
    kernel: MeasuredKernel, counts: CountFunctions, launch: Measurement
) -> tuple[float, ...]:
    """For each array, the sectors of its touched lines per touched sector; at least 1.

    L1 holds lines. Rows of a block are taken to lie side by side: there a line is filled at last.
    """
    if kernel.keeps_grid:
        return (1.0,) * len(counts.arrays)
    spreads = []
    for array in counts.arrays:
        pairs = zip(launch.sites, kernel.memory, strict=True)
        sites = [
            site
            for site, memory in pairs
            if site.array == array.parameter and not memory.shared and site.traced
        ]
        lines = sum(site.lines * site.executions / site.traced for site in sites)
        sectors = sum(site.sectors * site.executions / site.traced for site in sites)
        spreads.append(max(1.0, SECTORS_OF_LINE * lines / sectors) if sectors else 1.0)
    return tuple(spreads)

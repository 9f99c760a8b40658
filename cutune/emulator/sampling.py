"""Sampled launches: takes a launch, runs a few of its blocks, gives the counters of all of them.

Blocks at the corners and edges of a grid do other work than those inside, so each of these strata
is sampled on its own: first, last and inner blocks in every dimension. Within a stratum the blocks
are jittered (one in each slice of every dimension, like a Latin hypercube), because samples at a
fixed stride may all see the same alignment. What the sampled blocks counted is scaled to the
stratum. The result is exact where all blocks of a stratum do the same, as in most kernels, and an
estimate otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod, sqrt
from random import Random

import numpy as np
from numpy.typing import NDArray

from cutune.emulator.launch_log import Triple
from cutune.emulator.machine import SITE, LaunchCounters, LoadedModule

#: Warp instructions that a sampled launch should take: some ten milliseconds of one core.
BUDGET = 500_000
#: Warp instructions of one block, leaps aside, at which sampling by blocks is refused.
LONGEST_BLOCK = 4_000_000
#: Traced windows of a loop: this factor times the square root of the number of its windows.
ROOTS = 0.5
#: Least and largest number of traced windows.
WINDOWS = (4, 24)
#: Largest number of blocks: more do not improve the estimate.
MOST_BLOCKS = 48
WARP = 32
_COUNTED = ("executions", "lanes")
_TRACED = tuple(n for n in SITE.names or () if n not in (*_COUNTED, "traced", "lowest", "highest"))


@dataclass(frozen=True)
class Stratum:
    """Blocks that were chosen from `size` similar ones; indices are linear."""

    blocks: tuple[int, ...]
    size: int

    @property
    def weight(self) -> float:
        return self.size / len(self.blocks)


def strata(grid: Triple, wanted: int) -> tuple[Stratum, ...]:
    """Choose about `wanted` blocks of a grid, at least one of each stratum."""
    random = Random(f"0 {grid}")
    boxes = list(product(*map(_intervals, grid)))
    sizes = [prod(len(interval) for interval in box) for box in boxes]
    # Large strata get more blocks, but not in proportion: their blocks are much alike.
    total = sum(map(sqrt, sizes))
    return tuple(
        Stratum(_chosen(box, max(1, round(wanted * sqrt(size) / total)), grid, random), size)
        for box, size in zip(boxes, sizes, strict=True)
    )


def run_sampled(
    module: LoadedModule,
    kernel: str,
    grid: Triple,
    block: Triple,
    parameters: bytes,
    *,
    ghosts: tuple[int, int],
    shared_bytes: int = 0,
) -> LaunchCounters:
    """Run some blocks of a launch without data or memory; see `LoadedModule.run`.

    Gives the counters of all blocks, or estimates where those of a stratum do not do the same.

    The kernel's branches and addresses must not depend on data. A block in the middle runs first:
    it determines how many blocks fit into `BUDGET` warp instructions, and how many windows of a
    long loop are traced.

    Raises:
        CutuneError: as `LoadedModule.run`; CT465 when a single block takes too long.
    """
    launch = kernel, grid, block, parameters
    run = partial(module.run, *launch, shared_bytes=shared_bytes, ghosts=ghosts, threads=1)
    middle = max(strata(grid, 1), key=lambda stratum: stratum.size)
    probe = run(blocks=middle.blocks[:1], instruction_limit=LONGEST_BLOCK)
    warps = -(-prod(block) // WARP)
    windows = int(probe.sites["executions"].max(initial=0)) / warps / 8
    wanted = min(max(WINDOWS[0], ROOTS * sqrt(windows)), WINDOWS[1])
    every = max(1, int(windows / wanted))
    # Before each window that is traced stands one that is looked at.
    share = min(1.0, 2 / every)
    cost = probe.warp_instructions - probe.leapt_instructions * (1 - share)
    affordable = int(BUDGET / max(1.0, cost))
    chosen = strata(grid, max(1, min(MOST_BLOCKS, affordable)))
    parts = [(run(blocks=s.blocks, trace=True, trace_every=every), s.weight) for s in chosen]
    return _combined(parts)


def _intervals(extent: int) -> list[range]:
    parts = [range(1), range(1, extent - 1), range(extent - 1, extent)]
    return [part for part in (parts if extent > 1 else parts[:1]) if part]


def _chosen(box: tuple[range, ...], wanted: int, grid: Triple, random: Random) -> tuple[int, ...]:
    size = prod(map(len, box))
    if size <= wanted:
        places = set(product(*box))
    else:
        places = set(zip(*[_jittered(interval, wanted, random) for interval in box], strict=True))
    return tuple(sorted(x + grid[0] * (y + grid[1] * z) for x, y, z in places))


def _jittered(interval: range, count: int, random: Random) -> list[int]:
    """One place in each of `count` slices of the interval, in any order."""
    slices = list(range(count))
    random.shuffle(slices)
    return [interval[int((k + random.random()) * len(interval) / count)] for k in slices]


def _combined(parts: list[tuple[LaunchCounters, float]]) -> LaunchCounters:
    def total(name: str) -> int:
        return round(float(sum(weight * getattr(counters, name) for counters, weight in parts)))

    def array(name: str) -> NDArray[np.uint64]:
        first = np.zeros(len(getattr(parts[0][0], name)))
        found = sum((weight * getattr(c, name) for c, weight in parts), first)
        return np.rint(found).astype(np.uint64)

    sites = np.zeros(len(parts[0][0].sites), SITE)
    for name in (*_COUNTED, *_TRACED):
        found = np.zeros(len(sites))
        for counters, weight in parts:
            of_part = counters.sites
            # Traced executions stand for all.
            traced = np.maximum(1, of_part["traced"])
            scale = of_part["executions"] / traced if name in _TRACED else 1
            found += weight * scale * of_part[name]
        sites[name] = np.rint(found)
    sites["lowest"] = np.iinfo(np.uint64).max
    for counters, _ in parts:
        touched = counters.sites["traced"] > 0
        for end, nearer in (("lowest", np.minimum), ("highest", np.maximum)):
            sites[end][touched] = nearer(sites[end][touched], counters.sites[end][touched])
    # Shared memory has no addresses of its own.
    was_traced = np.any([counters.sites["traced"] > 0 for counters, _ in parts], axis=0)
    sites["traced"] = np.where(was_traced, sites["executions"], 0)
    return LaunchCounters(
        total("warp_instructions"),
        total("thread_instructions"),
        sum(counters.executed_blocks for counters, _ in parts),
        total("working_threads"),
        array("block_executions"),
        array("block_lanes"),
        leapt_instructions=0,
        sites=sites,
    )

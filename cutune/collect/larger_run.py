"""Runs at other sizes than those that were asked for. Takes runs and their launches.

Small runs of a data-dependent kernel differ from large ones: in divergence of its loops, in sectors
that threads share by chance, in cache hits. So the largest run is repeated with its sizes doubled,
as often as the limits allow.

Runs at smaller sizes are proposed as options to paste, at the end of a message. Which words of a
command line are sizes is not known; a number that a kernel was given as an argument is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, log2

from cutune.collect.run import Run

MOST_DOUBLINGS = 6
#: If doubling a value multiplies the work by less than this, the value is not a size.
LEAST_GROWTH = 1.25


@dataclass(frozen=True)
class Cost:
    """Warp instructions to count all candidates of a run, about, and bytes that kernels reach."""

    work: int
    memory: int


#: Limits of the larger run: a few seconds, and the memory of a small machine.
LIMIT = Cost(300_000_000, 1 << 30)


def larger_run(runs: Sequence[Run], costs: Sequence[Cost]) -> Run | None:
    """The largest run with its sizes doubled as often as possible; None where that is never.

    Its sizes are the values in which it exceeds the smallest run. `costs`: per run, all of the same
    kernels; a run in which nothing was counted has no work.
    """
    known = sorted((cost.work, index) for index, cost in enumerate(costs) if cost.work)
    if not known:
        return None
    least, most = known[0][1], known[-1][1]
    grown = _growths(runs[least], runs[most])
    if not grown:
        return None
    doublings = sum(log2(growth) for growth in grown.values()) / len(grown)
    work = _growth(costs[least].work, costs[most].work, doublings)
    memory = _growth(costs[least].memory, costs[most].memory, doublings)
    if work < LEAST_GROWTH:
        return None
    times = min(MOST_DOUBLINGS, int(log(LIMIT.work / costs[most].work) / log(work)))
    if memory > 1:
        times = min(times, int(log(LIMIT.memory / costs[most].memory) / log(memory)))
    if times < 1:
        return None
    # Powers of two: sizes that have to be multiples of something still are.
    larger = {name: str(int(runs[most].values[name]) << times) for name in grown}
    return replace(runs[most], values={**runs[most].values, **larger})


def _growth(before: int, after: int, doublings: float) -> float:
    """The factor per doubling by which a quantity grew."""
    return (after / before) ** (1 / doublings) if before else 1.0


def _growths(least: Run, most: Run) -> dict[str, float]:
    """The factors by which the integers of one run exceed those of another."""
    growths = {}
    for name, after in most.values.items():
        before = least.values[name]
        if before.isdecimal() and after.isdecimal() and 0 < int(before) < int(after):
            growths[name] = int(after) / int(before)
    return growths

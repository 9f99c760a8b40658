"""A run larger than those that were asked for. Takes runs and their work, gives one more or none.

Where data decide, small runs tell little of large ones: how far the loops of neighbours part, what
threads share by chance, what is in caches already. So the greatest run is repeated with its sizes
doubled, as often as there is time for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log, log2

from cutune.collect import Run

#: What counting all candidates may take in it, in warp instructions: a few seconds.
WORK = 300_000_000
MOST_DOUBLINGS = 6
#: Doubling what is no size changes the work by less.
LEAST_GROWTH = 1.25


def larger_run(runs: Sequence[Run], work: Sequence[int]) -> Run | None:
    """The greatest run, with every value that grew from the least one doubled as often as possible.

    Args:
        work: what counting took in each run, in warp instructions; 0 where nothing was counted.
    """
    known = sorted((done, index) for index, done in enumerate(work) if done)
    if not known:
        return None
    (least_work, least), (most_work, most) = known[0], known[-1]
    grown = _growths(runs[least], runs[most])
    if not grown:
        return None
    doublings = sum(log2(growth) for growth in grown.values()) / len(grown)
    per_doubling = (most_work / least_work) ** (1 / doublings)
    if per_doubling < LEAST_GROWTH:
        return None
    times = min(MOST_DOUBLINGS, int(log(WORK / most_work) / log(per_doubling)))
    if times < 1:
        return None
    # Powers of two: sizes that have to be multiples of something still are.
    larger = {name: str(int(runs[most].values[name]) << times) for name in grown}
    return replace(runs[most], values={**runs[most].values, **larger})


def _growths(least: Run, most: Run) -> dict[str, float]:
    """By what factor whole numbers grew from one run to another."""
    pairs = {name: (least.values[name], value) for name, value in most.values.items()}
    numbers = {
        name: (int(before), int(after))
        for name, (before, after) in pairs.items()
        if before.isdigit() and after.isdigit()
    }
    return {name: after / before for name, (before, after) in numbers.items() if 0 < before < after}

"""Times between measured sizes. Takes a table of one size, gives a denser one.

A rule that is good at measured sizes can be bad between them, where the best configuration changes.
Between two sizes log t is nearly linear in log N for each configuration. Interpolation shows where
two of them are equally fast, and whether a third one is the best in between.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from math import exp, log

from cutune.tunables.neighbours.table import Configuration, Point, TimeTable

#: Sizes that are inserted between two measured ones.
STEPS = 7


def densified(table: TimeTable, steps: int = STEPS) -> TimeTable:
    """Add interpolated times at sizes between; a table of several sizes stays as it is.

    Only configurations that were measured at both neighbours are interpolated, and only if the best
    of either neighbour is among them.
    """
    if len(table.sizes) != 1:
        return table
    times: dict[Point, Mapping[Configuration, float]] = dict(table.times)
    for left, right in pairwise(table.points):
        common = table.times[left].keys() & table.times[right].keys()
        if not {table.best(left), table.best(right)} <= common or left[0] < 1:
            continue
        for step in range(1, steps + 1):
            share = step / (steps + 1)
            size = round(exp(_mixed(log(left[0]), log(right[0]), share)))
            if left[0] < size < right[0]:
                times[(size,)] = {
                    c: exp(_mixed(log(table.times[left][c]), log(table.times[right][c]), share))
                    for c in common
                }
    return TimeTable(table.sizes, table.tunables, times)


def _mixed(first: float, second: float, share: float) -> float:
    return first + share * (second - first)

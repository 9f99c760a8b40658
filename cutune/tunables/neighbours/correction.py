"""Fewest intervals of bounded regret. Takes a table of times, gives one configuration per size.

The hand-made "correction" of M. Veneva, *ML-Based Optimum Sub-system Size for the GPU
Implementation of the Tridiagonal Partition Method*, as an algorithm: measured optima fluctuate
where several configurations are nearly as fast, and a heuristic wants few steps.
"""

from __future__ import annotations

from collections.abc import Mapping

from cutune.tunables.neighbours.table import Configuration, Point, TimeTable

#: The largest loss that the published correction by hand accepts is 3.96 %.
DEFAULT_LIMIT = 0.04


def observed(table: TimeTable) -> dict[Point, Configuration]:
    """Return the fastest configuration of each size."""
    return {point: table.best(point) for point in table.points}


def corrected(table: TimeTable, limit: float = DEFAULT_LIMIT) -> dict[Point, Configuration]:
    """Return a configuration per size with a regret of at most `limit`, changing rarely.

    With one size: the fewest intervals, and among those the smallest sum of regrets, by dynamic
    programming over (size, configuration). With several there is no order: the fewest
    configurations, greedily.
    """
    allowed = {}  # The best has the regret 0, so that one is always allowed.
    for point in table.points:
        regrets = {c: table.regret(point, c) for c in table.times[point]}
        allowed[point] = {c: r for c, r in regrets.items() if r is not None and r <= limit}
    if len(table.sizes) == 1:
        return _fewest_intervals(table, allowed)
    return _fewest_configurations(table, allowed)


#: By size the regrets of the configurations within the limit.
_Allowed = Mapping[Point, Mapping[Configuration, float]]


def _fewest_intervals(table: TimeTable, allowed: _Allowed) -> dict[Point, Configuration]:
    # Cost: (changes, sum of regrets). The smaller configuration wins where both are equal.
    first, *following = table.points
    costs = {c: (0, regret) for c, regret in allowed[first].items()}
    origins: list[dict[Configuration, Configuration]] = []
    for point in following:
        cheapest = min(costs, key=lambda c: (costs[c], c))
        change = (costs[cheapest][0] + 1, costs[cheapest][1])
        stays = {c: c in costs and costs[c] <= change for c in allowed[point]}
        origins.append({c: c if stay else cheapest for c, stay in stays.items()})
        before = {c: costs[c] if stay else change for c, stay in stays.items()}
        costs = {c: (n, total + allowed[point][c]) for c, (n, total) in before.items()}
    chosen = [min(costs, key=lambda c: (costs[c], c))]
    for origin in reversed(origins):
        chosen.append(origin[chosen[-1]])
    return dict(zip(table.points, reversed(chosen), strict=True))


def _fewest_configurations(table: TimeTable, allowed: _Allowed) -> dict[Point, Configuration]:
    chosen: list[Configuration] = []
    open_points = set(table.points)
    while open_points:
        covered = {
            c: [p for p in open_points if c in allowed[p]]
            for c in {c for p in open_points for c in allowed[p]}
        }
        best = min(
            covered, key=lambda c: (-len(covered[c]), sum(allowed[p][c] for p in covered[c]), c)
        )
        chosen.append(best)
        open_points.difference_update(covered[best])
    return {point: next(c for c in chosen if c in allowed[point]) for point in table.points}

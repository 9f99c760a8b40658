"""Fewest intervals of bounded regret. Takes a table of times, gives one configuration per size.

The hand-made "correction" of M. Veneva, *ML-Based Optimum Sub-system Size for the GPU
Implementation of the Tridiagonal Partition Method*, as an algorithm: measured optima fluctuate
where several configurations are nearly as fast, and a heuristic wants few steps.
"""

from __future__ import annotations

from cutune.tunables.neighbours.table import Configuration, Point, TimeTable

#: The largest loss that the published correction by hand accepts is 3.96 %.
DEFAULT_LIMIT = 0.04


def observed(table: TimeTable) -> dict[Point, Configuration]:
    """The fastest configuration of each size."""
    return {point: table.best(point) for point in table.points}


def corrected(table: TimeTable, limit: float = DEFAULT_LIMIT) -> dict[Point, Configuration]:
    """A configuration per size with a regret of at most `limit`, and as few changes as possible.

    With one size: the fewest intervals, and among those the smallest sum of regrets, by dynamic
    programming over (size, configuration). With several there is no order: the fewest
    configurations, greedily.
    """
    if len(table.sizes) == 1:
        return _fewest_intervals(table, limit)
    return _fewest_configurations(table, limit)


def _allowed(table: TimeTable, point: Point, limit: float) -> dict[Configuration, float]:
    """Regrets within the limit; the best has 0, so that there always is one."""
    regrets = {c: table.regret(point, c) for c in table.times[point]}
    return {c: regret for c, regret in regrets.items() if regret is not None and regret <= limit}


def _fewest_intervals(table: TimeTable, limit: float) -> dict[Point, Configuration]:
    # Cost: (changes, sum of regrets). The smaller configuration wins where both are equal.
    costs: dict[Configuration, tuple[int, float]] = {}
    origins: list[dict[Configuration, Configuration]] = []
    for point in table.points:
        allowed = _allowed(table, point, limit)
        if not costs:
            costs = {c: (0, regret) for c, regret in allowed.items()}
            origins.append({c: c for c in allowed})
            continue
        cheapest = min(costs, key=lambda c: (costs[c], c))
        following, origin = {}, {}
        for c, regret in allowed.items():
            changes, total = costs[cheapest]
            change = (changes + 1, total)
            origin[c] = c if c in costs and costs[c] <= change else cheapest
            changes, total = min(change, costs.get(c, change))
            following[c] = (changes, total + regret)
        costs = following
        origins.append(origin)
    label = min(costs, key=lambda c: (costs[c], c))
    found = {}
    for point, origin in zip(reversed(table.points), reversed(origins), strict=True):
        found[point] = label
        label = origin[label]
    return {point: found[point] for point in table.points}


def _fewest_configurations(table: TimeTable, limit: float) -> dict[Point, Configuration]:
    allowed = {point: _allowed(table, point, limit) for point in table.points}
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

"""Classifiers of sizes. Takes sizes with their configurations, gives one for any size.

With one size, nearest neighbours are intervals, and a comparison of integers decides. With several,
the nearest is the one with the smallest product of ratios, which is the sum of the distances of
the logarithms without a logarithm.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean

from cutune.tunables.neighbours.table import Configuration, Point, TimeTable


@dataclass(frozen=True)
class Intervals:
    """`configurations[i]` up to and including `limits[i]`; the last one has no limit."""

    limits: tuple[int, ...]
    configurations: tuple[Configuration, ...]

    def choose(self, point: Point) -> Configuration:
        """The configuration of a size."""
        return self.configurations[bisect_left(self.limits, point[0])]


@dataclass(frozen=True)
class Neighbours:
    """The configuration of the nearest measured sizes; the first of equally near ones."""

    points: tuple[Point, ...]
    configurations: tuple[Configuration, ...]

    def choose(self, point: Point) -> Configuration:
        """The configuration of sizes."""
        best, chosen = float("inf"), 0
        for index, known in enumerate(self.points):
            distance = ratio_distance(point, known)
            if distance < best:
                best, chosen = distance, index
        return self.configurations[chosen]


Classifier = Intervals | Neighbours


def ratio_distance(first: Point, second: Point) -> float:
    """The product of max(a, b) / min(a, b) over the sizes; sizes below 1 count as 1."""
    product = 1.0
    for a, b in zip(first, second, strict=True):
        x, y = float(max(a, 1)), float(max(b, 1))
        product *= x / y if x > y else y / x
    return product


def classifier(labels: Mapping[Point, Configuration]) -> Classifier:
    """1-nearest neighbour over labelled sizes."""
    points = tuple(sorted(labels))
    if len(points[0]) == 1:
        return _intervals([p[0] for p in points], [labels[p] for p in points])
    return Neighbours(points, tuple(labels[p] for p in points))


def _intervals(sizes: list[int], labels: list[Configuration]) -> Intervals:
    """Limits lie midway; a size exactly between two belongs to the smaller one."""
    limits: list[int] = []
    configurations = [labels[0]]
    for i in range(1, len(sizes)):
        if labels[i] != labels[i - 1]:
            limits.append((sizes[i - 1] + sizes[i]) // 2)
            configurations.append(labels[i])
    return Intervals(tuple(limits), tuple(configurations))


def leave_one_out(labels: Mapping[Point, Configuration]) -> dict[Point, Configuration]:
    """The configuration of each size by a classifier that was made without it."""
    found = {}
    for point in labels:
        rest = {p: label for p, label in labels.items() if p != point}
        found[point] = classifier(rest).choose(point) if rest else labels[point]
    return found


def accuracy(
    predicted: Mapping[Point, Configuration], actual: Mapping[Point, Configuration]
) -> float:
    """The share of sizes that get their own configuration."""
    return fmean(predicted[point] == label for point, label in actual.items())


def null_accuracy(labels: Mapping[Point, Configuration]) -> float:
    """The accuracy of always choosing the most frequent configuration."""
    return Counter(labels.values()).most_common(1)[0][1] / len(labels)


@dataclass(frozen=True)
class Regret:
    """Lost time, relative to the best measured configuration, over some sizes."""

    mean: float
    worst: float
    worst_point: Point
    #: The number of sizes at which the chosen configuration has a time.
    known: int
    total: int


def regret(table: TimeTable, chosen: Callable[[Point], Configuration]) -> Regret | None:
    """The regret of a rule over all sizes of a table; None where none of its times is known."""
    losses = {p: table.regret(p, chosen(p)) for p in table.points}
    known = {p: loss for p, loss in losses.items() if loss is not None}
    if not known:
        return None
    worst = max(known, key=lambda p: known[p])
    return Regret(fmean(known.values()), known[worst], worst, len(known), len(losses))


def best_fixed(table: TimeTable) -> Configuration | None:
    """The one configuration with the smallest mean regret among those measured everywhere."""
    found: dict[Configuration, float] = {}
    for configuration in table.configurations:
        lost = regret(table, lambda point, c=configuration: c)  # type: ignore[misc]
        if lost is not None and lost.known == lost.total:
            found[configuration] = lost.mean
    return min(found, key=lambda c: (found[c], c)) if found else None

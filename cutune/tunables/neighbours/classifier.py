"""Classifiers of sizes. Takes a table of times, gives a configuration for any size.

With one size, nearest neighbours are intervals, and a comparison of integers decides. With several,
the nearest is the one with the smallest product of ratios, which is the sum of the distances of
the logarithms without a logarithm.

Times between two measured sizes are interpolated: there log t is nearly linear in log N for each
configuration, and a rule that is good at measured sizes can be bad where the best configuration
changes. The labels are then chosen for the fewest intervals of bounded regret. That is the
hand-made "correction" of M. Veneva, *ML-Based Optimum Sub-system Size for the GPU Implementation of
the Tridiagonal Partition Method*, as an algorithm: measured optima fluctuate where several
configurations are nearly as fast, and a heuristic wants few steps.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from cutune.tunables.neighbours.table import Configuration, Point, TimeTable


@dataclass(frozen=True)
class Intervals:
    """`configurations[i]` up to and including `limits[i]`; the last one has no limit."""

    limits: tuple[int, ...]
    configurations: tuple[Configuration, ...]

    def choose(self, point: Point) -> Configuration:
        """Return the configuration of a size."""
        return self.configurations[bisect_left(self.limits, point[0])]


@dataclass(frozen=True)
class Neighbours:
    """The configuration of the nearest measured sizes; the first of equally near ones."""

    points: tuple[Point, ...]
    configurations: tuple[Configuration, ...]

    def choose(self, point: Point) -> Configuration:
        """Return the configuration of sizes."""
        distances = [ratio_distance(point, known) for known in self.points]
        return self.configurations[distances.index(min(distances))]


Classifier = Intervals | Neighbours


def ratio_distance(first: Point, second: Point) -> float:
    """Return the product of max(a, b) / min(a, b) over the sizes; sizes below 1 count as 1."""
    product = 1.0
    for a, b in zip(first, second, strict=True):
        x, y = float(max(a, 1)), float(max(b, 1))
        product *= x / y if x > y else y / x
    return product


def classifier(labels: Mapping[Point, Configuration]) -> Classifier:
    """Return the 1-nearest-neighbour classifier of labelled sizes.

    Limits of intervals lie midway; a size exactly between two belongs to the smaller one.
    """
    points = tuple(sorted(labels))
    if len(points[0]) > 1:
        return Neighbours(points, tuple(labels[p] for p in points))
    changes = [(a, b) for a, b in pairwise(points) if labels[a] != labels[b]]
    limits = tuple((low + high) // 2 for (low,), (high,) in changes)
    return Intervals(limits, (labels[points[0]], *(labels[high] for _, high in changes)))


def leave_one_out(labels: Mapping[Point, Configuration]) -> dict[Point, Configuration]:
    """Return the configuration of each size by a classifier that was made without it."""
    chosen = {}
    for point in labels:
        rest = {p: label for p, label in labels.items() if p != point}
        chosen[point] = classifier(rest).choose(point) if rest else labels[point]
    return chosen


def accuracy(
    predicted: Mapping[Point, Configuration], actual: Mapping[Point, Configuration]
) -> float:
    """Return the share of sizes that get their own configuration."""
    return fmean(predicted[point] == label for point, label in actual.items())


def null_accuracy(labels: Mapping[Point, Configuration]) -> float:
    """Return the accuracy of always choosing the most frequent configuration."""
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
    """Return the regret of a rule over all sizes of a table; None where no time is known."""
    losses = {p: table.regret(p, chosen(p)) for p in table.points}
    known = {p: loss for p, loss in losses.items() if loss is not None}
    if not known:
        return None
    worst = max(known, key=lambda p: known[p])
    return Regret(fmean(known.values()), known[worst], worst, len(known), len(losses))


def best_fixed(table: TimeTable) -> Configuration | None:
    """Return the configuration with the least mean regret of those measured at all sizes."""
    means: dict[Configuration, float] = {}
    for configuration in table.configurations:
        lost = regret(table, lambda point, c=configuration: c)  # type: ignore[misc]
        if lost is not None and lost.known == lost.total:
            means[configuration] = lost.mean
    return min(means, key=lambda c: (means[c], c)) if means else None

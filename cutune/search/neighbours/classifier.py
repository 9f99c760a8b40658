"""Classifiers of sizes. Takes a table of times, gives a configuration for any size, with evidence.

With one size, nearest neighbours are intervals, and a comparison of integers decides. With several,
the nearest is the one with the smallest product of ratios, which is the sum of the distances of
the logarithms without a logarithm.

Times between two measured sizes are interpolated: log t is nearly linear in log N for each
configuration, and a rule that is good at measured sizes can be bad between them. The labels are
then chosen for the fewest intervals of bounded regret: where several configurations are nearly as
fast, measured optima fluctuate. That is the hand-made "correction" of M. Veneva, *ML-Based Optimum
Sub-system Size for the GPU Implementation of the Tridiagonal Partition Method*, as an algorithm.

A tunable may be chosen given others that were chosen before (the sub-system size given the number
of recursive steps): there is one classifier per value of these. A rule that was made on one device
may be judged on others, as in the published Table III.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import exp, inf, log, sqrt
from statistics import fmean
from typing import Annotated, Any

from cutune.core.typed import Count, Integer, MemberName, Meta, Quantity, require
from cutune.search.neighbours.table import Configuration, Point, TimeTable

Integers = tuple[Integer, ...]


@dataclass(frozen=True)
class Classifier:
    """Configurations by intervals of one size, or of the nearest measured sizes.

    `configurations[i]` holds up to and including `limits[i]`, the last one for all sizes above; or
    it is that of `points[i]`, the first of equally near ones.
    """

    limits: Integers | None
    points: tuple[Integers, ...] | None
    configurations: tuple[Integers, ...]

    def choose(self, point: Point) -> Configuration:
        if self.limits is not None:
            return self.configurations[bisect_left(self.limits, point[0])]
        distances = [ratio_distance(point, known) for known in self.points or ()]
        return self.configurations[distances.index(min(distances))]


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
        return Classifier(None, points, tuple(labels[p] for p in points))
    changes = [(a, b) for a, b in pairwise(points) if labels[a] != labels[b]]
    limits = tuple((low + high) // 2 for (low,), (high,) in changes)
    return Classifier(limits, None, (labels[points[0]], *(labels[high] for _, high in changes)))


def leave_one_out(labels: Mapping[Point, Configuration]) -> dict[Point, Configuration]:
    """What each point would get from all the others."""
    if len(labels) < 2:
        return dict(labels)
    rests = {p: {q: label for q, label in labels.items() if q != p} for p in labels}
    return {point: classifier(rest).choose(point) for point, rest in rests.items()}


def accuracy(
    predicted: Mapping[Point, Configuration], actual: Mapping[Point, Configuration]
) -> float:
    """The share of points that get their label."""
    return fmean(predicted[point] == label for point, label in actual.items())


def null_accuracy(labels: Mapping[Point, Configuration]) -> float:
    """The share of points that have the most frequent label."""
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
    known = {p: loss for p, loss in losses.items() if loss < inf}
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


def corrected(table: TimeTable, limit: float) -> dict[Point, Configuration]:
    """Return a configuration per size with a regret of at most `limit`, changing rarely.

    With one size: the fewest intervals, and among those the smallest sum of regrets, by dynamic
    programming over (size, configuration). With several there is no order: the fewest
    configurations, greedily.
    """
    allowed = {}  # The best has the regret 0, so that one is always allowed.
    for point in table.points:
        regrets = {c: table.regret(point, c) for c in table.times[point]}
        allowed[point] = {c: lost for c, lost in regrets.items() if lost <= limit}
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


#: Sizes that are inserted between two measured ones.
STEPS = 7


def densified(table: TimeTable) -> TimeTable:
    """Add interpolated times at sizes between; a table of several sizes stays as it is.

    Only configurations that were measured at both neighbours are interpolated, and only if the best
    of either neighbour is among them.
    """
    if len(table.sizes) != 1:
        return table
    times: dict[Point, Mapping[Configuration, float]] = dict(table.times)
    for left, right in pairwise(table.points):
        common = table.times[left].keys() & table.times[right].keys()
        if not {table.best[left], table.best[right]} <= common or left[0] < 1:
            continue
        for step in range(1, STEPS + 1):
            share = step / (STEPS + 1)
            size = round(exp(_mixed(log(left[0]), log(right[0]), share)))
            if left[0] < size < right[0]:
                times[(size,)] = {
                    c: exp(_mixed(log(table.times[left][c]), log(table.times[right][c]), share))
                    for c in common
                }
    return TimeTable(table.sizes, table.tunables, times)


def _mixed(first: float, second: float, share: float) -> float:
    return first + share * (second - first)


SCHEMA = "cutune-choices/1"
FEWEST_TO_LEAVE_OUT = 3


@dataclass(frozen=True)
class Evidence:
    """The accuracies of the published procedure, and the regrets, of a classifier on its table."""

    observed_accuracy: float
    corrected_accuracy: float
    null_accuracy: float
    #: Of the classifier, at the sizes it was made from.
    at_measured: Regret | None
    #: Of classifiers that were each made without the size they are judged at (not the outermost:
    #: nothing is known beyond them).
    left_out: Regret | None
    fixed: Configuration | None
    at_fixed: Regret | None
    #: Sizes that should be measured, too: between measured ones where the rule may lose more than
    #: the limit, judging by the sizes that were left out.
    amid: tuple[int, ...] = ()


@dataclass(frozen=True)
class FittedClassifier:
    """One classifier, for one combination of the given values.

    `measured`: the number of sizes that it was made from; `lowest`, `highest`: their range, size by
    size. `limits`, `points`, `configurations`: of its `Classifier`. `evidence` is None when the
    model was read from a file.
    """

    given: Integers
    measured: Count
    lowest: Integers
    highest: Integers
    limits: Integers | None = None
    points: tuple[Integers, ...] | None = None
    configurations: Annotated[tuple[Integers, ...], Meta(min_length=1)] = ()
    evidence: Evidence | None = None

    @property
    def rule(self) -> Classifier:
        return Classifier(self.limits, self.points, self.configurations)


@dataclass(frozen=True)
class ChoiceModel:
    """The classifiers that choose one or several host integers, `tunables`, by others, `sizes`.

    Each combination of the values that are `given`, which were chosen before, has a classifier of
    its own. `limit`: the largest regret that was accepted for the sake of fewer intervals.
    """

    tunables: Annotated[tuple[MemberName, ...], Meta(min_length=1)]
    sizes: Annotated[tuple[MemberName, ...], Meta(min_length=1)]
    given: tuple[MemberName, ...]
    limit: Quantity
    choices: Annotated[tuple[FittedClassifier, ...], Meta(min_length=1)]

    def choose(self, point: Point, given: tuple[int, ...] = ()) -> Configuration:
        """Return the configuration at sizes; unknown given values get the last rule."""
        fitted = next((c for c in self.choices if c.given == given), self.choices[-1])
        return fitted.rule.choose(point)

    def check(self) -> None:
        """Raise ValueError where entries of a file do not fit together."""
        sizes, given, tunables = len(self.sizes), len(self.given), len(self.tunables)
        names = (*self.sizes, *self.given)
        require(len({*names}) == len(names), "each size stands there once")
        different = {one.given for one in self.choices}
        require(len(different) == len(self.choices), "given values have one classifier")
        for one in self.choices:
            require(len(one.lowest) == len(one.highest) == sizes, "a range is one of all sizes")
            require(len(one.given) == given, "a choice has all given values")
            require(one.limits is None or sizes == 1, "intervals are those of one size")
            has_all = all(len(configuration) == tunables for configuration in one.configurations)
            require(has_all, "a configuration has a value for each tunable")
        for one in self.choices:
            count = len(one.points or ()) if one.limits is None else len(one.limits) + 1
            has_sizes = one.limits is not None or all(len(p) == sizes for p in one.points or ())
            require(has_sizes, "a point has all sizes")
            require(count == len(one.configurations), "each point has a configuration")


def document_entry(choice: Any) -> dict[str, Any]:
    """Return the entry of choices.json of something with classifiers, without evidence."""

    def kept(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        return {name: value for name, value in items if value is not None and name != "evidence"}

    return asdict(choice, dict_factory=kept)


def fit_choice(table: TimeTable, limit: float, given: int = 0) -> ChoiceModel:
    """Fit a model to a table, whose first `given` sizes are the given values."""
    groups: dict[Point, dict[Point, Mapping[Configuration, float]]] = {}
    for point in table.points:
        groups.setdefault(point[:given], {})[point[given:]] = table.times[point]
    sizes = table.sizes[given:]
    choices = []
    for values, times in groups.items():
        own = TimeTable(sizes, table.tunables, times)
        rule = fit_rule(own, limit)
        choices.append(
            FittedClassifier(
                given=values,
                measured=len(times),
                lowest=tuple(map(min, zip(*times, strict=True))),
                highest=tuple(map(max, zip(*times, strict=True))),
                limits=rule.limits,
                points=rule.points,
                configurations=rule.configurations,
                evidence=_evidence(own, rule, limit),
            )
        )
    return ChoiceModel(table.tunables, sizes, table.sizes[:given], limit, tuple(choices))


def fit_rule(table: TimeTable, limit: float) -> Classifier:
    return classifier(corrected(densified(table), limit))


def _evidence(table: TimeTable, rule: Classifier, limit: float) -> Evidence:
    labels = {point: rule.choose(point) for point in table.points}
    fixed = best_fixed(table)
    left_out = _left_out(table, limit)
    inner = table.restricted(left_out)
    return Evidence(
        accuracy(leave_one_out(table.best), table.best),
        accuracy(leave_one_out(labels), labels),
        null_accuracy(labels),
        regret(table, rule.choose),
        regret(inner, left_out.__getitem__) if left_out else None,
        fixed,
        regret(table, lambda _: fixed) if fixed is not None else None,
        _amid(table, left_out, limit),
    )


def _left_out(table: TimeTable, limit: float) -> dict[Point, Configuration]:
    if len(table.points) < FEWEST_TO_LEAVE_OUT:
        return {}
    inner = table.points[1:-1] if len(table.sizes) == 1 else table.points
    rest = {p: table.restricted(other for other in table.points if other != p) for p in inner}
    return {p: fit_rule(own, limit).choose(p) for p, own in rest.items()}


def _amid(
    table: TimeTable, left_out: Mapping[Point, Configuration], limit: float
) -> tuple[int, ...]:
    """Return the middle, by ratio, of both gaps beside each size that loses more than the limit."""
    if len(table.sizes) != 1:
        return ()
    lossy = {p for p, chosen in left_out.items() if limit < table.regret(p, chosen) < inf}
    gaps = (gap for gap in pairwise(table.points) if lossy.intersection(gap))
    middles = (round(sqrt(low[0] * high[0])) for low, high in gaps)
    return tuple(size for size in middles if (size,) not in table.times)


Transfers = Mapping[tuple[str, str], Regret | None]
"""The regret of the classifier that was made from the times of one device on another."""


def transfer(tables: Mapping[str, TimeTable], limit: float) -> Transfers:
    """Judge every device's heuristic on every device, its own included."""
    rules = {name: fit_rule(table, limit) for name, table in tables.items()}
    return {
        (made_on, used_on): regret(table, rule.choose)
        for made_on, rule in rules.items()
        for used_on, table in tables.items()
    }

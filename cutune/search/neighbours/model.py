"""Classifiers with their evidence. Takes a table of times, gives a `ChoiceModel`, to and from JSON.

A tunable may be chosen given others that were chosen before (the sub-system size given the number
of recursive steps): there is one classifier per value of these. A rule that was made on one device
may be judged on others; the published Table III does this for that of the RTX 2080 Ti.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import sqrt
from typing import Annotated, Any

from cutune.core.typed import Count, Integer, MemberName, Meta, Quantity, require
from cutune.search.neighbours.classifier import (
    DEFAULT_LIMIT,
    Classifier,
    Intervals,
    Neighbours,
    Regret,
    accuracy,
    best_fixed,
    classifier,
    corrected,
    densified,
    leave_one_out,
    null_accuracy,
    observed,
    regret,
)
from cutune.search.neighbours.table import Configuration, Point, TimeTable

SCHEMA = "cutune-choices/1"
FEWEST_TO_LEAVE_OUT = 3


@dataclass(frozen=True)
class Evidence:
    """The quality of a classifier on the table that it was made from.

    Accuracies are those of the published procedure; regrets are the time that is lost.
    """

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
    """One classifier, for one combination of the given values."""

    given: tuple[int, ...]
    rule: Classifier
    #: The number of measured sizes that it was made from, and their range, size by size.
    measured: int
    lowest: Point
    highest: Point
    #: None when the model was read from a file.
    evidence: Evidence | None = None


@dataclass(frozen=True)
class ChoiceModel:
    """The classifiers that choose one or several host integers.

    Attributes:
        tunables: names of the integers.
        sizes: names of the integers that a classifier decides on.
        given: names of values that were chosen before; each combination has its own classifier.
        limit: the largest regret at a measured size that was accepted for the sake of fewer
            intervals.
    """

    tunables: tuple[str, ...]
    sizes: tuple[str, ...]
    given: tuple[str, ...]
    limit: float
    choices: tuple[FittedClassifier, ...]

    def choose(self, point: Point, given: tuple[int, ...] = ()) -> Configuration:
        """Return the configuration at sizes; unknown given values get the last rule."""
        return next((c for c in self.choices if c.given == given), self.choices[-1]).rule.choose(
            point
        )


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
        lowest, highest = (tuple(map(end, zip(*times, strict=True))) for end in (min, max))
        evidence = _evidence(own, rule, limit)
        choices.append(FittedClassifier(values, rule, len(times), lowest, highest, evidence))
    return ChoiceModel(table.tunables, sizes, table.sizes[:given], limit, tuple(choices))


def fit_rule(table: TimeTable, limit: float) -> Classifier:
    """Return the classifier of a table whose regret at and between the sizes is within a limit."""
    return classifier(corrected(densified(table), limit))


def _evidence(table: TimeTable, rule: Classifier, limit: float) -> Evidence:
    seen = observed(table)
    labels = {point: rule.choose(point) for point in table.points}
    fixed = best_fixed(table)
    left_out = _left_out(table, limit)
    inner = table.restricted(left_out)
    return Evidence(
        accuracy(leave_one_out(seen), seen),
        accuracy(leave_one_out(labels), labels),
        null_accuracy(labels),
        regret(table, rule.choose),
        regret(inner, left_out.__getitem__) if left_out else None,
        fixed,
        regret(table, lambda _: fixed) if fixed is not None else None,
        _amid(table, left_out, limit),
    )


def _left_out(table: TimeTable, limit: float) -> dict[Point, Configuration]:
    """Return what each size gets by a rule that was made without it."""
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
    lossy = {p for p, chosen in left_out.items() if (table.regret(p, chosen) or 0.0) > limit}
    gaps = (gap for gap in pairwise(table.points) if lossy.intersection(gap))
    middles = (round(sqrt(low[0] * high[0])) for low, high in gaps)
    return tuple(size for size in middles if (size,) not in table.times)


def to_json(model: ChoiceModel) -> dict[str, Any]:
    """Return a model as JSON, without its evidence."""
    names = {"tunables": model.tunables, "sizes": model.sizes, "given": model.given}
    choices = [
        {
            "given": choice.given,
            "measured": choice.measured,
            "lowest": choice.lowest,
            "highest": choice.highest,
            **asdict(choice.rule),
        }
        for choice in model.choices
    ]
    return {**names, "limit": model.limit, "choices": choices}


Integers = tuple[Integer, ...]


@dataclass(frozen=True)
class FittedClassifierEntry:
    """A classifier as a file holds it: intervals have limits, neighbours points."""

    given: Integers
    measured: Count
    lowest: Integers
    highest: Integers
    configurations: Annotated[tuple[Integers, ...], Meta(min_length=1)]
    limits: Integers | None = None
    points: tuple[Integers, ...] | None = None

    def read(self) -> FittedClassifier:
        """Return the classifier.

        Raises:
            ValueError: its entries do not fit together.
        """
        rule: Classifier
        if self.limits is not None:
            rule = Intervals(self.limits, self.configurations)
            count = len(self.limits) + 1
        else:
            rule = Neighbours(self.points or (), self.configurations)
            count = len(rule.points)
            sizes = len(self.lowest)
            require(all(len(p) == sizes for p in rule.points), "a point has all sizes")
        require(count == len(self.configurations), "each point has a configuration")
        return FittedClassifier(self.given, rule, self.measured, self.lowest, self.highest)


@dataclass(frozen=True)
class ChoiceModelEntry:
    """A model as a file holds it."""

    tunables: Annotated[tuple[MemberName, ...], Meta(min_length=1)]
    sizes: Annotated[tuple[MemberName, ...], Meta(min_length=1)]
    given: tuple[MemberName, ...]
    limit: Quantity
    choices: Annotated[tuple[FittedClassifierEntry, ...], Meta(min_length=1)]

    def read(self) -> ChoiceModel:
        """Return the model.

        Raises:
            ValueError: its entries do not fit together.
        """
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
        choices = tuple(choice.read() for choice in self.choices)
        return ChoiceModel(self.tunables, self.sizes, self.given, self.limit, choices)


@dataclass(frozen=True)
class Transfer:
    """The regret on one device of the classifier that was made from the times of another."""

    made_on: str
    used_on: str
    regret: Regret | None


def transfer(tables: Mapping[str, TimeTable], limit: float = DEFAULT_LIMIT) -> list[Transfer]:
    """Judge every device's heuristic on every device, its own included."""
    rules = {name: fit_rule(table, limit) for name, table in tables.items()}
    return [
        Transfer(made_on, used_on, regret(table, rule.choose))
        for made_on, rule in rules.items()
        for used_on, table in tables.items()
    ]

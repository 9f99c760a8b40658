"""A classifier with its evidence. Takes a table of times, gives a `ChoiceModel` and back from JSON.

A tunable may be chosen given others that are known by then (the sub-system size given the number
of recursive steps): there is one classifier per value of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cutune.neighbours.classifier import (
    Classifier,
    Regret,
    accuracy,
    best_fixed,
    classifier,
    leave_one_out,
    null_accuracy,
    regret,
)
from cutune.neighbours.correction import corrected, observed
from cutune.neighbours.table import Configuration, Point, TimeTable

SCHEMA = "cutune-choices/1"


@dataclass(frozen=True)
class Evidence:
    """How well a classifier does on the table that it was made from.

    Accuracies are those of the published procedure; regrets are what they mean in time.
    """

    observed_accuracy: float
    corrected_accuracy: float
    null_accuracy: float
    #: Of the classifier, at the sizes it was made from.
    at_measured: Regret | None
    #: Of classifiers that were each made without the size they are judged at.
    left_out: Regret | None
    fixed: Configuration | None
    at_fixed: Regret | None


@dataclass(frozen=True)
class Choice:
    """One classifier, for one combination of the given values."""

    given: tuple[int, ...]
    rule: Classifier
    labels: Mapping[Point, Configuration]
    #: None when the model was read from a file.
    evidence: Evidence | None = None


@dataclass(frozen=True)
class ChoiceModel:
    """What decides on one or several host integers."""

    tunables: tuple[str, ...]
    sizes: tuple[str, ...]
    given: tuple[str, ...]
    #: The largest regret at a measured size that was accepted for the sake of fewer intervals.
    limit: float
    choices: tuple[Choice, ...]

    def choose(self, point: Point, given: tuple[int, ...] = ()) -> Configuration:
        """The configuration at sizes; given values that were never measured get the last rule."""
        own = next((c for c in self.choices if c.given == given), self.choices[-1])
        return own.rule.choose(point)


def fit_choice(table: TimeTable, limit: float, given: int = 0) -> ChoiceModel:
    """Correct and classify; the first `given` sizes of the table are the given values."""
    groups: dict[Point, dict[Point, Mapping[Configuration, float]]] = {}
    for point in table.points:
        groups.setdefault(point[:given], {})[point[given:]] = table.times[point]
    sizes = table.sizes[given:]
    choices = []
    for values, times in groups.items():
        own = TimeTable(sizes, table.tunables, times)
        labels = corrected(own, limit)
        choices.append(Choice(values, classifier(labels), labels, _evidence(own, labels)))
    return ChoiceModel(table.tunables, sizes, table.sizes[:given], limit, tuple(choices))


def _evidence(table: TimeTable, labels: Mapping[Point, Configuration]) -> Evidence:
    seen = observed(table)
    left_out = leave_one_out(labels)
    fixed = best_fixed(table)
    return Evidence(
        accuracy(leave_one_out(seen), seen),
        accuracy(left_out, labels),
        null_accuracy(labels),
        regret(table, labels.__getitem__),
        regret(table, left_out.__getitem__),
        fixed,
        regret(table, lambda _: fixed) if fixed is not None else None,
    )


def to_json(model: ChoiceModel) -> dict[str, Any]:
    """The model without its evidence, which a report shows."""
    return {
        "tunables": list(model.tunables),
        "sizes": list(model.sizes),
        "given": list(model.given),
        "limit": model.limit,
        "choices": [
            {
                "given": list(choice.given),
                "points": [list(point) for point in choice.labels],
                "configurations": [list(label) for label in choice.labels.values()],
            }
            for choice in model.choices
        ],
    }


def from_json(document: Mapping[str, Any]) -> ChoiceModel:
    """A model as `to_json` has written it."""
    choices = []
    for entry in document["choices"]:
        points = map(tuple, entry["points"])
        labels = dict(zip(points, map(tuple, entry["configurations"]), strict=True))
        choices.append(Choice(tuple(entry["given"]), classifier(labels), labels))
    tunables, sizes, given = (tuple(document[key]) for key in ("tunables", "sizes", "given"))
    return ChoiceModel(tunables, sizes, given, float(document["limit"]), tuple(choices))

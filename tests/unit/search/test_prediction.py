"""Times that a local search expects of places."""

from __future__ import annotations

from math import exp

import pytest

from cutune.search.techniques.local_search import TimePredictor
from cutune.space.annotation import Condition
from cutune.space.parameter import Parameter
from cutune.space.space import Space

SPACE = Space.of([Parameter(name, tuple(range(8))) for name in "abc"])
START = (4, 4, 4)


def learned(strong: int, weak: int) -> TimePredictor:
    """A start and its neighbours; one parameter doubles the time each step, one adds a tenth."""
    prediction = TimePredictor(SPACE)
    neighbours = [
        (*START[:axis], value, *START[axis + 1 :])
        for axis in range(3)
        for value in range(8)
        if value != START[axis]
    ]
    for place in [START, *neighbours]:
        prediction.learn(place, 2.0 ** place[strong] * 1.1 ** place[weak])
    return prediction


@pytest.mark.parametrize(("strong", "weak", "dead"), [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_a_parameter_without_effect_promises_nothing(strong: int, weak: int, dead: int) -> None:
    """Of the neighbours of the fastest: the weak parameter may make it faster, the dead one not."""
    prediction = learned(strong, weak)
    (fastest,) = prediction.fastest(1)
    assert fastest[strong] == 0

    def changed(axis: int) -> tuple[int, ...]:
        return (*fastest[:axis], 1, *fastest[axis + 1 :])

    on_strong, on_weak, on_dead = prediction._spreads(prediction._logs)[[strong, weak, dead]]
    assert on_dead < on_weak < on_strong / 4
    of_weak, of_dead = prediction.least([changed(weak), changed(dead)])
    assert of_weak < of_dead


def test_of_places_with_the_same_time_one_is_among_the_fastest() -> None:
    prediction = learned(0, 1)
    fastest = prediction.fastest(4)
    times = [exp(prediction._logs[prediction.places.index(one)]) for one in fastest]
    assert times == pytest.approx([2.0**a * 1.1**4 for a in range(4)])


def test_what_fails_is_expected_to_be_slow() -> None:
    prediction = TimePredictor(SPACE)
    for b in range(8):
        prediction.learn((0, b, 0), 5.0)
        prediction.learn((7, b, 0), None)
    near_good, near_failed = prediction.least([(0, 3, 1), (7, 3, 1)])
    assert near_good < near_failed
    failed = TimePredictor(SPACE)
    failed.learn((0, 0, 0), None)
    failed.learn((1, 0, 0), None)
    first, second = failed.least([(2, 0, 0), (0, 5, 5)])
    assert first == second and failed.fastest(4) == [(0, 0, 0)]


def test_parameters_of_one_axis_are_told_apart() -> None:
    """Rows of a table that a condition makes of two parameters."""
    names = [Parameter(name, tuple(range(8))) for name in "ab"]
    space = Space.of(names, [Condition.read("a + b < 12")])
    (table,) = space.tables
    prediction = TimePredictor(space)
    for row in range(0, table.size, 2):
        prediction.learn((row,), 1.0 + int(str(table.row(row)["a"])))
    by_name = dict(zip(table.names, prediction._spreads(prediction._logs), strict=True))
    assert by_name["b"] < by_name["a"] / 4

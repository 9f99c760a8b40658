"""Techniques compared on known times."""

from __future__ import annotations

import itertools
from math import inf
from statistics import fmean

import pytest

from cutune.search.compare import (
    KnownTime,
    expected_of_chance,
    quartiles,
    random_curve,
    replayed,
)
from cutune.search.techniques.registry import TECHNIQUES, technique_named
from cutune.space.parameter import Parameter
from cutune.space.space import Space

SPACE = Space.of([Parameter(name, tuple(range(24))) for name in "ab"])


def valley(space: Space) -> dict[int, KnownTime]:
    """The further from (5, 17), the slower; each run takes half a second."""
    return {
        number: KnownTime(
            10.0
            + abs(int(space.configuration(number)["a"]) - 5)
            + abs(int(space.configuration(number)["b"]) - 17),
            0.5,
        )
        for number in range(space.size)
    }


def test_the_curve_of_random_search_is_exact() -> None:
    """Against all orders of five times, one of which failed and counts as the slowest."""
    times = [3.0, 1.0, None, 7.0, 2.5]
    known = {number: KnownTime(time, 0.0) for number, time in enumerate(times)}
    filled = [7.0 if time is None else time for time in times]
    orders = list(itertools.permutations(filled))
    curve = random_curve(known)
    assert 1 < len(curve) <= 5
    for draws, expected in enumerate(curve, 1):
        assert expected == pytest.approx(fmean(min(order[:draws]) for order in orders))


def test_random_search_scores_nothing_and_the_optimum_at_once_everything() -> None:
    known = valley(SPACE)
    chance = replayed(SPACE, known, technique_named("random"), 60)
    assert abs(chance.score) < 0.12
    assert fmean(chance.needed) == pytest.approx(expected_of_chance(known), rel=0.35)
    constant = {number: KnownTime(2.0, 1.0) for number in known}
    assert replayed(SPACE, constant, technique_named("random"), 3).score == 1.0


def test_a_search_that_follows_the_slope_is_ahead() -> None:
    known = valley(SPACE)
    local = replayed(SPACE, known, technique_named("local"), 8)
    assert local.score > 0.3 and quartiles(local.needed)[1] < expected_of_chance(known)
    assert local.seconds == tuple(0.5 * needed for needed in local.needed)
    assert local == replayed(SPACE, known, technique_named("local"), 8), "repeatable"


@pytest.mark.long
def test_what_is_never_found() -> None:
    """Of 10,000 configurations one is good, and 1,000 are measured."""
    space = Space.of([Parameter("a", tuple(range(10_000)))])
    known = {number: KnownTime(1.0 if number == 9_999 else 5.0, 1.0) for number in range(10_000)}
    (random_search,) = [one for one in TECHNIQUES if one.name == "brute_force"]
    found = replayed(space, known, random_search, 4)
    assert set(found.needed) <= {inf, 1.0}
    assert quartiles((3.0, inf, inf, inf)) == (3.0, inf, inf)
    assert quartiles((1.0, 2.0, 3.0, 4.0, 5.0)) == (2.0, 3.0, 4.0)
    failed = {number: KnownTime(None, 1.0) for number in range(10_000)}
    assert set(replayed(space, failed, random_search, 2).needed) == {inf}

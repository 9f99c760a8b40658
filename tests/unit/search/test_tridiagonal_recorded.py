"""What docs/tridiagonal.md says of the H200, from its recorded times."""

from __future__ import annotations

import pytest

from cutune.search.neighbours.classifier import Classifier, best_fixed, fit_rule, regret
from cutune.search.neighbours.table import TimeTable
from samples.tridiagonal.sweep import FRESH, RECURSION_BETWEEN, RECURSION_SIZES, SIZES
from tests.support.tridiagonal_times import (
    LIMIT,
    all_times,
    gain,
    published_m,
    recursion_table,
    sub_system_table,
)

PRECISIONS = ("fp64", "fp32")


@pytest.fixture(scope="module", params=PRECISIONS)
def times(request: pytest.FixtureRequest) -> TimeTable:
    return all_times(request.param)


@pytest.fixture(scope="module")
def measured(times: TimeTable) -> TimeTable:
    return sub_system_table(times, SIZES)


@pytest.fixture(scope="module")
def rule(measured: TimeTable) -> Classifier:
    return fit_rule(measured, LIMIT)


def test_the_choice_is_good_at_measured_sizes(measured: TimeTable, rule: Classifier) -> None:
    lost = regret(measured, rule.choose)
    assert lost is not None and lost.known == len(SIZES)
    assert lost.worst <= LIMIT


def test_the_choice_is_good_at_sizes_that_were_measured_later(
    times: TimeTable, rule: Classifier
) -> None:
    """At 60 random sizes: at most 2 % lost in the mean, 8 % at worst."""
    lost = regret(sub_system_table(times, FRESH), rule.choose)
    assert lost is not None and lost.known == len(FRESH)
    assert lost.mean <= 0.02 and lost.worst <= 0.08


def test_gain_against_other_rules(measured: TimeTable, rule: Classifier) -> None:
    assert gain(measured, rule.choose, lambda _: (4,))[0] > 1.7
    fixed = best_fixed(measured)
    assert fixed is not None
    lost = regret(measured, lambda _: fixed)
    assert lost is not None and lost.mean > 0.2
    elsewhere = regret(measured, published_m)
    assert elsewhere is not None and elsewhere.mean > 0.15


def test_every_step_of_recursion_pays_here() -> None:
    """In the publication 4 steps never win."""
    whole = all_times("fp64")
    table = recursion_table(whole, RECURSION_SIZES)
    assert gain(table, table.best.__getitem__, lambda _: (0,))[0] > 1.17
    assert all(table.best[p] == (4,) for p in table.points if p[0] >= 10**6)
    lost = regret(recursion_table(whole, RECURSION_BETWEEN), fit_rule(table, LIMIT).choose)
    assert lost is not None and lost.mean <= 0.02 and lost.worst <= 0.08

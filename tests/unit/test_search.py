"""Searching for the best configuration with few runs."""

from __future__ import annotations

from itertools import product
from math import inf

import pytest

from benchmarks.tridiagonal import all_times
from cutune.tunables.neighbours.table import Configuration
from cutune.tunables.search import search
from samples.tridiagonal.sweep import RECURSION_SIZES, published_streams

CHOICES = ((1, 2, 4, 8), (10, 20, 30))
SOLVER = ((0, 1, 2, 3, 4), (8, 16, 32, 64), (4, 10, 32))


def bowl(configuration: Configuration) -> float:
    first, second = configuration
    return abs(first - 8) + abs(second - 10) + 1.0


def best(times: dict[Configuration, float | None]) -> Configuration:
    return min((time, c) for c, time in times.items() if time is not None)[1]


def test_each_tunable_is_varied_while_the_others_are_held() -> None:
    times = search(CHOICES, bowl, 6)
    assert list(times)[:4] == [(4, 20), (2, 20), (8, 20), (1, 20)]
    assert set(list(times)[4:]) == {(8, 10), (8, 30)}
    assert best(times) == (8, 10)


def test_no_more_is_run_than_there_is_or_was_asked_for() -> None:
    tried: list[Configuration] = []

    def time(configuration: Configuration) -> float:
        tried.append(configuration)
        return bowl(configuration)

    assert len(search(CHOICES, time, 3)) == len(tried) == 3
    tried.clear()
    assert len(search(CHOICES, time, 100)) == len(set(tried)) == len(tried) == 12


def test_it_begins_where_it_is_told() -> None:
    times = search(CHOICES, bowl, 9, (1, 30))
    assert list(times)[:4] == [(1, 30), (2, 30), (4, 30), (8, 30)]


def test_what_fails_is_never_best() -> None:
    def time(configuration: Configuration) -> float | None:
        return None if configuration[0] != 2 else bowl(configuration)

    times = search(CHOICES, time, 12)
    assert best(times) == (2, 10) and times[(4, 20)] is None


def test_local_optima_are_left() -> None:
    """No single tunable improves (1, 10), but both together do."""

    def time(configuration: Configuration) -> float:
        return 2.0 if configuration == (1, 10) else 1.0 if configuration == (8, 30) else 3.0

    times = search(CHOICES, time, 12, (1, 10))
    assert list(times)[:6] == [(1, 10), (2, 10), (4, 10), (8, 10), (1, 20), (1, 30)]
    assert best(times) == (8, 30)


@pytest.mark.parametrize("precision", ["fp64", "fp32"])
def test_a_quarter_of_the_runs_finds_what_a_full_sweep_of_the_solver_finds(precision: str) -> None:
    """R, m and m1 of the tridiagonal solver, as recorded on an H200: 15 of 60 configurations."""
    whole = all_times(precision).times
    start: Configuration | None = None
    for n in RECURSION_SIZES:
        if precision == "fp64" or n < 10**8:  # as measured
            own: dict[Configuration, float | None] = {
                (steps, m, inner): whole[(n,)].get(
                    (m, steps, published_streams(n), inner if steps else 10)
                )
                for steps, m, inner in product(*SOLVER)
            }
            start = best(search(SOLVER, own.__getitem__, 15, start))
            lost = (own[start] or inf) / min(time for time in own.values() if time) - 1
            assert lost < 0.02, n

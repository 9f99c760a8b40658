"""Searching for the best configuration with few runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

import pytest

from benchmarks.tridiagonal import all_times
from cutune.search import local_search
from cutune.space import space as spaces
from cutune.space.condition import Condition
from cutune.space.parameter import Parameter
from samples.tridiagonal.sweep import RECURSION_SIZES, published_streams
from tests.spaces import space_of

Configuration = tuple[int, ...]
Choices = Sequence[Sequence[int]]
CHOICES = ((1, 2, 4, 8), (10, 20, 30))
SOLVER = ((0, 1, 2, 3, 4), (8, 16, 32, 64), (4, 10, 32))


def bowl(configuration: Configuration) -> float:
    first, second = configuration
    return abs(first - 8) + abs(second - 10) + 1.0


def search(
    choices: Choices,
    time: Callable[[Configuration], float | None],
    budget: int,
    start: Configuration | None = None,
    conditions: Sequence[str] = (),
) -> dict[Configuration, float | None]:
    """The search over parameters a, b, … as tuples of their values."""
    names = "abcdef"[: len(choices)]
    parameters = [Parameter(n, tuple(own)) for n, own in zip(names, choices, strict=True)]
    space = spaces.Space.of(parameters, map(Condition.read, conditions))
    begin = None if start is None else dict(zip(names, start, strict=True))

    def timed(configuration: spaces.Configuration) -> float | None:
        return time(values(configuration))

    found = local_search.search(space, timed, budget, begin)
    times = {values(one): t for one, t in found}
    assert len(times) == len(found), "nothing is tried twice"
    return times


def values(configuration: spaces.Configuration) -> Configuration:
    return tuple(int(value) for value in configuration.values())


def best(times: dict[Configuration, float | None]) -> Configuration:
    return min((time, c) for c, time in times.items() if time is not None)[1]


def test_each_parameter_is_varied_while_the_others_are_held() -> None:
    times = search(CHOICES, bowl, 7)
    order = list(times)
    assert order[0] == (4, 20) and all(one[1] == 20 for one in order[:4])
    assert set(order[4:]) == {(8, 10), (8, 30)} or best(times) == (8, 10)
    assert best(times) == (8, 10)


def test_connected_parameters_are_one_axis() -> None:
    """No parameter can change alone; a search that varies single ones never leaves its start."""

    def time(configuration: Configuration) -> float:
        return 1.0 + abs(configuration[0] - 8) + abs(configuration[2] - 64)

    powers = tuple(1 << e for e in range(8))
    times = search((powers,) * 4, time, 150, (1, 1, 1, 1), ["a * b == c * d"])
    assert all(a * b == c * d for a, b, c, d in times)
    assert min(t for t in times.values() if t is not None) == 1.0


def test_a_search_finds_its_way_in_a_large_space() -> None:
    """Each of 394,240 configurations is as slow as its parameters are far from the best."""
    space = space_of("reduction")
    wanted = space.configuration(space.size // 3)

    def time(configuration: spaces.Configuration) -> float:
        return 1.0 + sum(
            abs(p.values.index(configuration[p.name]) - p.values.index(wanted[p.name]))
            for p in space.parameters
        )

    times = local_search.search(space, time, 150)
    assert (wanted, 1.0) in times


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
    assert next(iter(times)) == (1, 30)
    moved = search(CHOICES, bowl, 9, (1, 30), ["a + b != 31"])
    assert next(iter(moved)) in {(2, 30), (1, 20)}, "the nearest that is allowed"


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
                for steps in SOLVER[0]
                for m in SOLVER[1]
                for inner in SOLVER[2]
            }
            start = best(search(SOLVER, own.__getitem__, 15, start))
            lost = (own[start] or inf) / min(time for time in own.values() if time) - 1
            assert lost < 0.02, n

"""Searching for the best configuration with few runs."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from statistics import median

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.search.techniques import registry
from cutune.search.techniques.registry import TECHNIQUES, Technique, shuffled, technique_named
from cutune.search.techniques.tries import Allowance, Budget, SearchEnd, Timed, Tries
from cutune.search.tunables import verb_options as method_names
from cutune.space import space as spaces
from cutune.space.annotation import Condition
from cutune.space.parameter import Parameter
from samples.tridiagonal.sweep import RECURSION_SIZES, published_streams
from tests.support.published_spaces import space_of
from tests.support.tridiagonal_times import all_times

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
    technique: str = "local",
    state: int = registry.STATE,
) -> dict[Configuration, float | None]:
    """The search over parameters a, b, … as tuples of their values."""
    names = "abcdef"[: len(choices)]
    parameters = [Parameter(n, tuple(own)) for n, own in zip(names, choices, strict=True)]
    space = spaces.Space.of(parameters, map(Condition.read, conditions))
    begin = None if start is None else dict(zip(names, start, strict=True))

    tries = searched(space, lambda one: time(values(one)), budget, begin, technique, state)
    return {values(space.of_rows(rows)): found for rows, found in tries.known.items()}


def searched(
    space: spaces.Space,
    time: Callable[[spaces.Configuration], float | None],
    budget: int,
    start: spaces.Configuration | None = None,
    technique: str = "local",
    state: int = registry.STATE,
) -> Tries:
    """A search; nothing is timed twice."""
    asked = set()

    def timed(configuration: spaces.Configuration) -> Timed:
        number = space.number(configuration)
        assert number is not None and number not in asked
        asked.add(number)
        return Timed(time(configuration))

    tries = Tries(space, timed, Allowance(budget))
    first = tuple(table.closest(start or {}) for table in space.tables)
    registry.search(named(technique), tries, first, state)
    assert len(asked) == len(tries.known) <= budget
    return tries


def named(name: str) -> Technique:
    found = next(one for one in TECHNIQUES if one.name == name)
    if found.package:
        pytest.importorskip(found.package)
    return found


def values(configuration: spaces.Configuration) -> Configuration:
    return tuple(int(value) for value in configuration.values())


def best(times: dict[Configuration, float | None]) -> Configuration:
    return min((time, c) for c, time in times.items() if time is not None)[1]


def test_after_the_start_come_random_places_then_neighbours_of_the_fastest() -> None:
    """In a space of 48 * 48 the nine first lie anywhere; the tenth is near the best of them."""
    choices = (tuple(range(48)),) * 2

    def slope(configuration: Configuration) -> float:
        return 1.0 + sum(configuration)

    order = list(search(choices, slope, 30, (47, 47)))
    assert order[0] == (47, 47)
    assert len({one[0] // 12 for one in order[:9]}) > 2, "anywhere"
    fastest = min(order[:9], key=slope)
    assert any(a == b for a, b in zip(order[9], fastest, strict=True))
    assert min(map(slope, order)) < slope(fastest)


def test_connected_parameters_are_one_axis() -> None:
    """No parameter can change alone; a search that varies single ones never leaves its start."""

    def time(configuration: Configuration) -> float:
        return 1.0 + abs(configuration[0] - 8) + abs(configuration[2] - 64)

    powers = tuple(1 << e for e in range(8))
    times = search((powers,) * 4, time, 200, (1, 1, 1, 1), ["a * b == c * d"])
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

    tries = searched(space, time, 400)
    assert tries.best == wanted


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


@pytest.mark.parametrize("technique", [one.name for one in TECHNIQUES])
def test_every_technique_ends_when_all_is_known(technique: str) -> None:
    """With conditions, parameters of one value, what fails, and axes of any length."""
    choices = ((1, 2, 4, 8), (1,), (1, 2, 4, 8), tuple(range(7)))

    def time(configuration: Configuration) -> float | None:
        return None if configuration[3] == 5 else 1.0 + sum(configuration)

    conditions = ["a * c <= 8", "b == 1"]
    times = search(choices, time, 1000, (8, 1, 1, 3), conditions, technique)
    assert len(times) == 10 * 7 and next(iter(times)) == (8, 1, 1, 3)
    assert best(times) == (1, 1, 1, 0)
    again = search(choices, time, 20, (8, 1, 1, 3), conditions, technique)
    assert list(again) == list(times)[:20], "a search is repeatable"


@pytest.mark.parametrize("technique", [one.name for one in TECHNIQUES])
def test_every_technique_bears_that_everything_fails(technique: str) -> None:
    times = search(CHOICES, lambda _: None, 100, (4, 20), (), technique)
    assert len(times) == 12 and set(times.values()) == {None}


@pytest.mark.parametrize("technique", [one.name for one in TECHNIQUES])
def test_every_technique_bears_a_space_without_a_choice(technique: str) -> None:
    assert search(((3,), (5,)), bowl, 100, None, (), technique) == {(3, 5): bowl((3, 5))}


@pytest.mark.parametrize(
    "technique",
    [
        one.name
        for one in TECHNIQUES
        if one.name not in ("random", "brute_force") and not one.package
    ],
)
def test_techniques_find_a_valley_sooner_than_chance(technique: str) -> None:
    """Of 4,096 places 13 are within the goal; random search takes 293 on the average."""
    choices = (tuple(range(64)),) * 2

    class FoundError(Exception):
        pass

    def needed(state: int) -> int:
        generator, count = random.Random(state), 0

        def time(configuration: Configuration) -> float:
            nonlocal count
            count += 1
            found = 1.0 + abs(configuration[0] - 40) + abs(configuration[1] - 11)
            if found < 4:
                raise FoundError
            return found

        start = generator.randrange(64), generator.randrange(64)
        with suppress(FoundError):
            search(choices, time, 250, start, (), technique, state)
        return count

    assert median(map(needed, range(5))) < 200


def test_a_search_counts_what_has_run() -> None:
    """What does not compile costs nothing, but not without end."""
    space = spaces.Space.of([Parameter("a", tuple(range(1000)))])

    def every_third(configuration: spaces.Configuration) -> Timed:
        is_measured = int(configuration["a"]) % 3 == 0
        return Timed(1.0 if is_measured else None, is_measured)

    tries = Tries(space, every_third, Allowance(20))
    registry.search(named("random"), tries, (0,))
    assert sum(time is not None for time in tries.known.values()) == 20
    none = Tries(space, lambda one: Timed(None, False), Allowance(20))
    registry.search(named("random"), none, (0,))
    assert len(none.known) == 400


def test_a_search_keeps_to_its_time() -> None:
    """Each of the tries takes a second; a first one is made in any case."""
    now = [0.0]

    def timed(configuration: spaces.Configuration) -> Timed:
        now[0] += 1.0
        return Timed(now[0])

    space = spaces.Space.of([Parameter("a", tuple(range(1000)))])
    for seconds, tried in ((10.0, 10), (0.0, 1), (0.5, 1), (1e9, 1000)):
        tries = Tries(space, timed, Allowance(1000, seconds), clock=lambda: now[0])
        registry.search(named("local"), tries, (500,))
        assert len(tries.known) == tried


def test_what_comes_next_is_said_before() -> None:
    """Programs are compiled while others run, and no more of them than may be measured."""
    said: list[spaces.Configuration] = []

    def timed(configuration: spaces.Configuration) -> Timed:
        assert configuration in said or not asked
        asked.append(configuration)
        return Timed(1.0)

    asked: list[spaces.Configuration] = []
    space = spaces.Space.of([Parameter(n, tuple(range(32))) for n in "ab"])
    for technique in ("local", "random", "brute_force"):
        said.clear()
        asked.clear()
        tries = Tries(space, timed, Allowance(37), said.extend)
        registry.search(named(technique), tries, (16, 16))
        assert len(asked) == 37 and len({space.number(one) for one in said}) <= 36


@pytest.mark.parametrize("technique", [one.name for one in TECHNIQUES])
def test_it_is_known_which_techniques_keep_several_workers_busy(technique: str) -> None:
    """Those that say more than one configuration ahead."""
    together: list[int] = []

    def expected(some: Iterable[spaces.Configuration]) -> None:
        together.append(len(list(some)))

    space = spaces.Space.of([Parameter(n, tuple(range(32))) for n in "ab"])
    tries = Tries(space, lambda one: Timed(1.0 + int(one["a"])), Allowance(60), expected)
    with suppress(SearchEnd):
        named(technique).run(tries, (16, 16), random.Random(1))
    assert (max(together, default=0) > 1) == named(technique).is_ahead


def test_numbers_are_shuffled_without_a_list_of_all() -> None:
    generator = random.Random(1)
    for size in (1, 2, 3, 10, 1001):
        assert sorted(shuffled(size, generator)) == list(range(size))
    huge = shuffled(10**15, generator)
    assert len({next(huge) for _ in range(100)}) == 100


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Nelder-Mead", "nelder_mead"),
        ("brute_force", "brute_force"),
        ("full search", "brute_force"),
        ("random_sample", "random"),
        ("diff_evo", "differential_evolution"),
        ("simulated_annealing", "annealing"),
        ("basinhopping", "basin_hopping"),
        ("RandomNelderMead", "nelder_mead"),
        ("PureRandom", "random"),
        ("MCMC", "mcmc"),
    ],
)
def test_names_of_other_tuners(written: str, name: str) -> None:
    assert technique_named(written).name == name


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("genetc", "did you mean 'genetic'?"),
        ("pso", "the nearest is 'differential_evolution'"),
        ("firefly_algorithm", "the nearest is 'differential_evolution'"),
        ("AUCBanditMetaTechniqueA", "the nearest is 'local'"),
        ("RegularTorczon", "the nearest is 'nelder_mead'"),
        ("UniformGreedyMutation", "the nearest is 'local'"),
        ("", "known: local, random"),
        ("---", "known: local, random"),
    ],
)
def test_unknown_techniques_are_refused_with_the_nearest(written: str, said: str) -> None:
    with pytest.raises(CutuneError) as caught:
        technique_named(written)
    assert caught.value.diagnostic.code is Code.UNKNOWN_TECHNIQUE
    assert said in caught.value.diagnostic.message


def test_techniques_of_optuna_say_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    with pytest.raises(CutuneError, match="pip install 'cutune\\[search\\]'"):
        technique_named("bayesian")
    assert technique_named("annealing").package == ""


def test_a_folder_is_no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "optuna").mkdir()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "optuna", raising=False)
    assert not named_without_its_package("tpe").is_installed


def named_without_its_package(name: str) -> Technique:
    return next(one for one in TECHNIQUES if one.name == name)


def test_the_options_list_the_techniques() -> None:
    assert [one.name for one in TECHNIQUES] == [*method_names.TECHNIQUES]
    words = [word for one in TECHNIQUES for word in (one.name, *one.others)]
    assert len(set(words)) == len(words)
    assert {*registry.NEAREST.values()} <= {one.name for one in TECHNIQUES}


@pytest.mark.parametrize(
    ("text", "most", "seconds"),
    [
        ("200", 200, inf),
        (" 1 ", 1, inf),
        ("5000", 1000, inf),
        ("5%", 50, inf),
        ("0.01%", 1, inf),
        ("12.55 %", 126, inf),
        ("100%", 1000, inf),
        ("30s", 1000, 30.0),
        ("10min", 1000, 600.0),
        ("1.5 h", 1000, 5400.0),
    ],
)
def test_budgets(text: str, most: int, seconds: float) -> None:
    assert Budget.read(text).at(1000, 0.0, 1) == Allowance(most, seconds)


@pytest.mark.parametrize(
    "text",
    [
        *("", "0", "-5", "0%", "101%", "100.001%", "0s", "0.0min", "5 parsecs", "1e3", "٣"),
        *("9" * 5000, "5%%", "min", "%", "nan", "inf", "1,000", "0x10", "10min 30s", "3.5"),
    ],
)
def test_what_is_no_budget(text: str) -> None:
    with pytest.raises(CutuneError) as caught:
        Budget.read(text)
    assert caught.value.diagnostic.code is Code.BAD_BUDGET


def test_time_is_shared_by_the_sizes_that_are_left() -> None:
    budget = Budget.read("60s")
    assert budget.at(10, 0.0, 3).seconds == 20.0
    assert budget.at(10, 30.0, 2).seconds == 15.0
    assert budget.at(10, 90.0, 1).seconds == 0.0


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

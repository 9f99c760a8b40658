"""Value sets: which ones a program holds, and the C that chooses one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from cutune.core.typed import typed
from cutune.model.measurement.measurement import Origin
from cutune.search.clones.value_sets import MOST_SETS, SetChoice, covering, emit_sets, fit_sets
from cutune.search.neighbours.classifier import document_entry
from cutune.search.neighbours.table import TimeTable
from cutune.search.regions import HostMeasurement
from cutune.toolchain.nvcc import host_compiler

ORIGIN = Origin("program.cu", "")
OWN = {"WPT": 1}
LIMIT = 0.04


def measured(times: Mapping[int, Mapping[int, float]]) -> list[HostMeasurement]:
    """Times by size and value of WPT."""
    return [
        HostMeasurement(ORIGIN, "a GPU", {"WPT": value}, {"WPT": {"n": n}}, time)
        for n, each in times.items()
        for value, time in each.items()
    ]


def fitted(times: Mapping[int, Mapping[int, float]]) -> SetChoice | None:
    return fit_sets(measured(times), ["WPT"], ["n"], OWN, LIMIT)


def test_each_size_gets_a_set() -> None:
    choice = fitted({10: {1: 1, 2: 2, 4: 3}, 100: {1: 3, 2: 1, 4: 2}, 1000: {1: 3, 2: 2, 4: 1}})
    assert choice is not None
    assert choice.sets == ((2,), (4,))
    assert [choice.model.choose((n,)) for n in (10, 100, 1000)] == [(0,), (1,), (2,)]


def test_the_own_values_serve_where_they_lose_little() -> None:
    """At 100 they lose 2 %: no set of its own."""
    choice = fitted({10: {1: 1, 2: 2}, 100: {1: 1.02, 2: 1}, 1000: {1: 3, 4: 1}})
    assert choice is not None and choice.sets == ((4,),)


def test_one_set_that_is_best_everywhere_is_no_choice() -> None:
    assert fitted({10: {1: 2, 2: 1}, 100: {1: 2, 2: 1.01}}) is None
    assert fitted({10: {1: 1, 2: 2}, 100: {1: 1, 2: 2}}) is None
    assert fitted({}) is None


def test_no_more_sets_than_are_wanted() -> None:
    """Each of twelve sizes has a best one of its own."""
    times = {10 * n: {v: 1.0 if v == n else 2.0 for v in range(2, 14)} for n in range(2, 14)}
    choice = fitted(times)
    assert choice is not None and len(choice.sets) <= MOST_SETS


def test_the_set_that_serves_most_sizes_comes_first() -> None:
    times: dict[tuple[int, ...], dict[tuple[int, ...], float]] = {
        (n,): {(0,): 1.0 if n == 1 else 2.0, (1,): 1.02, (2,): 5.0} for n in range(1, 4)
    }
    table = TimeTable(("n",), ("set",), times)
    assert covering(table, None) == [1]
    assert covering(table, 2) == [2, 1]


def test_times_of_other_sizes_or_without_values_do_not_count() -> None:
    known = measured({10: {1: 1, 2: 2}, 100: {1: 2, 2: 1}})
    other = HostMeasurement(ORIGIN, "a GPU", {"WPT": 2}, {"WPT": {"m": 1}}, 0.1)
    failed = HostMeasurement(ORIGIN, "a GPU", {"WPT": 2}, {"WPT": {"n": 10}}, None)
    choice = fit_sets([*known, other, failed], ["WPT"], ["n"], OWN, LIMIT)
    assert choice is not None and choice.model.choose((10,)) == (0,)
    assert [choice.fits(one, OWN) for one in (*known, other)] == [True, False, False, True, False]


def test_a_choice_is_read_as_it_was_written() -> None:
    choice = fitted({10: {1: 1, 2: 2}, 100: {1: 2, 2: 1}})
    assert choice is not None
    entry = json.loads(json.dumps(document_entry(choice)))
    assert document_entry(typed(SetChoice, entry)) == document_entry(choice)
    with pytest.raises(ValueError, match="number"):
        typed(SetChoice, {**entry, "sets": [[2]], "model": _labelled(entry["model"], 3)}).check()


def _labelled(model: Mapping[str, object], label: int) -> dict[str, object]:
    found = json.loads(json.dumps(model))
    found["choices"][0]["configurations"][0] = [label]
    assert isinstance(found, dict)
    return found


INCLUDED = "#include <cstdio>\n#include <cstdlib>\n"
MAIN = """
int main(int argc, char **argv) {
    for (int i = 1; i < argc; ++i) printf("%d ", choose(atoll(argv[i])));
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Chooses among three sets, of which the second one has no copy."""
    times = {
        n: {v: 1.0 if v == best else 2.0 for v in (1, 2, 4, 8)}
        for n, best in ((10, 1), (100, 2), (1000, 4), (10000, 8))
    }
    choice = fitted(times)
    assert choice is not None and choice.sets == ((2,), (4,), (8,))
    folder = tmp_path_factory.mktemp("sets")
    text = emit_sets(choice, "choose", {1: 1, 3: 2}, ["1"])
    (folder / "choose.cpp").write_text(text + INCLUDED + MAIN)
    options = ["-std=c++11", "-Wall", "-Wextra", "-Werror"]
    command = [host_compiler(), *options, str(folder / "choose.cpp"), "-o", str(folder / "choose")]
    subprocess.run(command, check=True)
    return folder / "choose"


@pytest.mark.parametrize(
    ("variables", "chosen"),
    [
        ({}, "0 0 1 0 2 0 "),
        ({"CUTUNE": "off"}, "0 0 0 0 0 0 "),
        ({"CUTUNE": "refine,off"}, "0 0 0 0 0 0 "),
        ({"CUTUNE": "offf"}, "0 0 1 0 2 0 "),
        ({"CUTUNE": "off", "CUTUNE_VALUES": "1"}, "0 0 0 0 0 0 "),
        ({"CUTUNE_VALUES": "1"}, "1 1 1 1 1 1 "),
        ({"CUTUNE_VALUES": "7"}, "0 0 0 0 0 0 "),
        ({"CUTUNE_VALUES": "next"}, "0 1 2 0 1 2 "),
    ],
)
def test_the_program_chooses(program: Path, variables: dict[str, str], chosen: str) -> None:
    """Below 10 and above 10000 nothing was measured."""
    sizes = ["9", "10", "100", "1000", "10000", "10001"]
    done = subprocess.run(
        [program, *sizes], env=variables, capture_output=True, check=True, text=True
    )
    assert done.stdout == chosen


def test_each_new_choice_is_shown(program: Path) -> None:
    done = subprocess.run(
        [program, "10", "10", "100", "10"],
        env={"CUTUNE": "verbose"},
        capture_output=True,
        check=True,
        text=True,
    )
    lines = done.stderr.splitlines()
    assert lines == [f"cutune: WPT = {v} for n = {n}" for v, n in ((1, 10), (2, 100), (1, 10))]


def test_of_several_sizes_the_nearest_place_decides(tmp_path: Path) -> None:
    """As the model says, also where a thread comes back to sizes of before."""
    places = {(10, 10): 1, (10, 1000): 2, (1000, 10): 4, (1000, 1000): 2}
    times = [
        HostMeasurement(ORIGIN, "a GPU", {"WPT": v}, {"WPT": {"n": n, "m": m}}, 1.0 + (v != best))
        for (n, m), best in places.items()
        for v in (1, 2, 4)
    ]
    choice = fit_sets(times, ["WPT"], ["n", "m"], OWN, LIMIT)
    assert choice is not None
    main = """
int main(int argc, char **argv) {
    for (int i = 1; i + 1 < argc; i += 2) printf("%d ", choose(atoll(argv[i]), atoll(argv[i + 1])));
}
"""
    asked = [(10, 10), (10, 1000), (10, 1000), (11, 900), (900, 11), (10, 10), (1000, 999)]
    cases = {number: number for number in range(1, len(choice.sets) + 1)}
    text = emit_sets(choice, "choose", cases, ["1"])
    (tmp_path / "choose.cpp").write_text(text + INCLUDED + main)
    binary = tmp_path / "choose"
    options = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-o", str(binary)]
    subprocess.run([host_compiler(), *options, str(tmp_path / "choose.cpp")], check=True)
    sizes = [str(size) for point in asked for size in point]
    done = subprocess.run([binary, *sizes], env={}, capture_output=True, check=True, text=True)
    assert [int(word) for word in done.stdout.split()] == [choice.model.choose(p)[0] for p in asked]

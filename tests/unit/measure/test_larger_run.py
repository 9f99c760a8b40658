"""The run that nobody asked for: as large as there is time for, and no larger."""

from __future__ import annotations

import pytest

from cutune.measure.program_runs import LIMIT, MOST_DOUBLINGS, Cost, Run, larger_run


def runs(*values: str) -> list[Run]:
    return [Run(("{program}", "{n}", "fixed"), {"n": value}, program="./app") for value in values]


def costs(*work: int) -> list[Cost]:
    return [Cost(one, 0) for one in work]


@pytest.mark.parametrize("steepness", [1, 2, 3])
def test_it_takes_what_there_is_time_for(steepness: int) -> None:
    sizes = [100, 300]
    work = [size**steepness for size in sizes]
    found = larger_run(runs("100", "300"), costs(*work))
    assert found is not None
    size = int(found.values["n"])
    doublings = (size // 300).bit_length() - 1
    assert size == 300 << doublings
    assert found.command == ("./app", str(size), "fixed")
    assert size**steepness <= LIMIT.work
    assert doublings == MOST_DOUBLINGS or (2 * size) ** steepness > LIMIT.work


def test_memory_that_grows_faster_than_the_work_is_not_used_up() -> None:
    cubes = [Cost(64**2, 64**3 * 4), Cost(128**2, 128**3 * 4)]
    found = larger_run(runs("64", "128"), cubes)
    assert found is not None and int(found.values["n"]) == 512
    assert 512**3 * 4 <= LIMIT.memory < 1024**3 * 4


def test_the_order_of_runs_does_not_matter() -> None:
    assert larger_run(runs("300", "100"), costs(90_000, 10_000)) == larger_run(
        runs("100", "300"), costs(10_000, 90_000)
    )


def test_values_that_do_not_grow_stay() -> None:
    words = ("{program}", "{n}", "{steps}", "{name}")
    few = Run(words, {"n": "64", "steps": "3", "name": "a"})
    many = Run(words, {"n": "128", "steps": "3", "name": "b"})
    found = larger_run([few, many], costs(1000, 4000))
    assert found is not None
    assert found.values == {"n": str(128 << MOST_DOUBLINGS), "steps": "3", "name": "b"}


@pytest.mark.parametrize(
    ("values", "work"),
    [
        (("100",), (1000,)),  # how work grows is not known
        (("100", "200"), (0, 1000)),  # nor where one run counts for nothing
        (("100", "200"), (0, 0)),
        (("100", "200"), (1000, 1100)),  # a number of steps, or the like
        (("100", "200"), (LIMIT.work // 4, LIMIT.work)),  # there is no time
        (("0.5", "0.7"), (1000, 4000)),
        (("small", "large"), (1000, 4000)),
        (("0", "100"), (1000, 4000)),
        (("200", "100"), (1000, 4000)),  # less work at the larger size
    ],
)
def test_none_is_made_where_that_tells_nothing(
    values: tuple[str, ...], work: tuple[int, ...]
) -> None:
    assert larger_run(runs(*values), costs(*work)) is None

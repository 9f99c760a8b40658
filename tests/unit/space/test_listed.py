"""Spaces whose configurations are listed: the same axes as from conditions, the same numbers."""

from __future__ import annotations

import random
from itertools import product

import pytest

from cutune.lab.tuner_comparison.tables import listed_space
from cutune.space.parameter import Parameter
from cutune.space.space import Space
from tests.support.published_spaces import space_of


def test_a_list_has_the_axes_of_the_conditions_that_it_comes_from() -> None:
    described = space_of("sort")
    every = list(described)
    random.Random(1).shuffle(every)
    found = listed_space(every)
    assert found.size == described.size == 1728
    axes = sorted(sorted(table.names) for table in found.tables)
    assert axes == sorted(sorted(table.names) for table in described.tables)
    numbers = [found.number(one) for one in every]
    assert sorted(n for n in numbers if n is not None) == list(range(1728))
    assert all(
        dict(found.configuration(n)) == dict(one)
        for n, one in zip(numbers, every, strict=True)
        if n
    )
    other = {**every[0], "SCAN_DATA": 2, "SCAN_BLOCK": 16, "SORT_DATA": 8, "SORT_BLOCK": 1024}
    assert found.number(other) is None


def test_what_only_three_together_decide_is_one_axis() -> None:
    every = [
        dict(zip("abcd", v, strict=True)) for v in product((0, 1), repeat=4) if sum(v[:3]) % 2 == 0
    ]
    found = listed_space(every)
    assert [table.names for table in found.tables] == [("a", "b", "c", "d")]
    assert {tuple(one.values()) for one in found} == {tuple(one.values()) for one in every}


@pytest.mark.parametrize("seed", range(20))
def test_random_lists_come_back(seed: int) -> None:
    generator = random.Random(seed)
    whole = Space.of([Parameter(name, (1, 2, 3)) for name in "abc"])
    every = [one for one in whole if generator.random() < 0.5] or [whole.configuration(0)]
    found = listed_space(every)
    assert found.size == len(every)
    assert sorted(map(str, found)) == sorted(map(str, every))
    assert [found.number(one) is not None for one in whole] == [one in every for one in whole]


def test_words_and_single_values() -> None:
    found = listed_space([{"w": "b", "n": 2, "one": 7}, {"w": "a", "n": 1, "one": 7}])
    assert [one.values for one in found.parameters] == [("b", "a"), (1, 2), (7,)]
    assert found.size == 2

"""The space of configurations: the same as filtering the product, without making it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cutune.core.diagnostics import CutuneError
from cutune.space import tables
from cutune.space.annotation import Condition, Value, Values, read_choice
from cutune.space.columns import Column, is_true, mask
from cutune.space.parameter import (
    Parameter,
    ParameterOptions,
    narrowed,
    parameter_of,
    read_option,
    shown,
)
from cutune.space.space import Configuration, Space
from tests.support.exact_conditions import holds
from tests.support.published_spaces import SPACES, space_of

# ---- conditions

NUMBERS = st.one_of(
    st.integers(-3, 40),
    st.sampled_from([0, 1, 2**31, 2**62 + 1, -(2**70)]),
    st.fractions(-4, 4, max_denominator=6),
)


def expressions(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    leaves = st.one_of(st.sampled_from(names), st.integers(0, 2**33).map(str))

    def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.builds("({} {} {})".format, inner, st.sampled_from("+-*/%"), inner),
            st.builds("{}({})".format, st.sampled_from(("ceil", "floor")), inner),
            st.builds("{}({}, {})".format, st.sampled_from(("min", "max")), inner, inner),
        )

    return st.recursive(leaves, grown, max_leaves=6)


def conditions(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    signs = st.sampled_from(("<", "<=", "==", "!=", ">", ">="))
    compared = st.builds("{} {} {}".format, expressions(names), signs, expressions(names))
    words = st.builds("{} {} none".format, st.sampled_from(names), st.sampled_from(("==", "!=")))

    def joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.builds("({} {} {})".format, inner, st.sampled_from(("&&", "||")), inner)

    return st.recursive(st.one_of(compared, words), joined, max_leaves=4)


@settings(max_examples=60, deadline=None)
@given(conditions(("a", "b")), st.lists(st.tuples(NUMBERS, NUMBERS | st.just("none")), min_size=1))
@example("(a / b > 1 || a == b)", [(0, 0), (0, 1), (1, 0)])
@example("(b == none || b > 3)", [(1, "none"), (1, 3), (1, 4)])
@example("(a != none && b + 1 > 0)", [(1, "none"), (1, 1)])
@example("((a * a) * (a * a)) > (b / 3)", [(2**62, Fraction(1, 3)), (-(2**70), 2**62)])
@example("min(a, (b / 3)) == (a % b)", [(5, -3), (-5, 3), (5, 0)])
def test_many_rows_at_once_are_what_each_is_alone(
    text: str, rows: list[tuple[int | Fraction, Value]]
) -> None:
    condition = Condition.read(text)
    columns = {
        name: Column.of(values) for name, values in zip("ab", zip(*rows, strict=True), strict=True)
    }
    found = np.broadcast_to(mask(condition.tree, columns), len(rows))
    named = [dict(zip("ab", row, strict=True)) for row in rows]
    assert list(found) == [holds(condition, values) for values in named]
    assert list(found) == [is_true(condition, values) for values in named]


@pytest.mark.parametrize(
    ("text", "values", "is_held"),
    [
        ("R == none || R >= 20", {"R": "none"}, True),
        ("R == none || R >= 20", {"R": 19}, False),
        ("R >= 20", {"R": "none"}, False),
        ("R != none", {"R": 3}, True),
        ("a / b >= 0 || b == 0", {"a": 1, "b": 0}, True),
        ("a / b >= 0 && b == 0", {"a": 1, "b": 0}, False),
        ("a / b != 3", {"a": 1, "b": 0}, False),
        ("a / 3 * 3 == a", {"a": 10**30 + 1}, True),
        ("n / 4 == m / 2", {"n": 6, "m": 3}, True),
        # A word without letters is no number.
        ("R == 0 || R < 1 || min(R, 1) == 0", {"R": ""}, False),
        ("R != 0 && R != none", {"R": ""}, True),
    ],
)
def test_what_has_no_value_decides_nothing(
    text: str, values: Mapping[str, Value], is_held: bool
) -> None:
    condition = Condition.read(text)
    assert holds(condition, values) is is_held
    assert is_true(condition, values) is is_held


def test_the_conditions_of_a_conjunction_are_asked_one_by_one() -> None:
    parts = list(Condition.read("a > 1 && (b > 2 && c > 3) && (a > 1 || b > 1)").conjuncts())
    assert [sorted(part.names) for part in parts] == [["a"], ["b"], ["c"], ["a", "b"]]


# ---- parameters


def test_values_of_options_and_pragmas() -> None:
    assert read_option("R=none,40,20") == Parameter("R", ("none", 40, 20))
    assert read_option("W=1..3") == Parameter("W", (1, 2, 3))
    assert read_option("M=-1, 20..22, fast") == Parameter("M", (-1, 20, 21, 22, "fast"))
    assert read_option("B=32..128:32, -4..4:4") == Parameter("B", (32, 64, 96, 128, -4, 0, 4))
    assert read_choice("1..3") == Values((), (1, 3))
    narrow = narrowed(Parameter("R", (20, 40, "none")), read_option("R=none,20"))
    assert narrow.values == ("none", 20)
    assert [shown(v) for v in (3, "none", Fraction(1, 2), Fraction(4))] == ["3", "none", "0.5", "4"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("R=", "CT801"),
        ("R", "CT801"),
        ("R=1,,2", "CT801"),
        ("R=1..8:0", "CT801"),
        ("R=1..8:-2", "CT801"),
        ("R=8..1:2", "CT800"),
        ("R.x=1", "CT801"),
        ("R=a b", "CT801"),
        ("R=1,2,1", "1 occurs twice"),
        ("R=1..3,2", "2 occurs twice"),
        ("R=3..1", "3..1 has no or too many values"),
        ("R=1..99999999", "too many values"),
        ("R=7,1..99999999", "there are"),
    ],
)
def test_bad_values(word: str, said: str) -> None:
    with pytest.raises(CutuneError) as error:
        read_option(word)
    assert said in error.value.diagnostic.render()


def test_a_pragma_is_narrowed_to_its_own_values() -> None:
    with pytest.raises(CutuneError, match="30 is none of those of its pragma"):
        narrowed(Parameter("R", (20, 40)), read_option("R=20,30"))
    with pytest.raises(CutuneError, match="occurs twice"):
        parameter_of("m", Values((4, 8, 4)))


# ---- spaces


def brute_force(space: Space) -> list[Configuration]:
    """Every combination of which all conditions hold."""
    values = product(*(parameter.values for parameter in space.parameters))
    rows = (dict(zip(space.names, row, strict=True)) for row in values)
    every = space.conditions
    return [row for row in rows if all(holds(c, {**space.known, **row}) for c in every)]


def key(configuration: Configuration) -> tuple[str, ...]:
    return tuple(f"{name}={value}" for name, value in configuration.items())


NAMES = ("a", "b", "c", "d")
FORMS = (
    "{0} <= {1}",
    "{0} * {1} == {2} * {3}",
    "{0} % {1} == 0",
    "{0} / {1} == {2}",
    "{0} / {1} != 2 || {1} == 0",
    "{0} == none || {0} > {1}",
    "{0} != none && {1} < 6",
    "({0} + {1} <= n || {2} == {3}) && {0} != {3}",
    "ceil({0} / 4) == floor({1} / 3)",
    "min({0}, {1}, {2}) < max({3}, 2)",
    "{0} - {1} > 0 - 3",
    "n > 4",
    "{0}",
)
CONDITIONS = st.builds(
    lambda form, names: form.format(*names), st.sampled_from(FORMS), st.permutations(NAMES)
)
VALUES = st.lists(
    st.sampled_from([-2, -1, 0, 1, 2, 3, 4, 6, 8, 12, Fraction(1, 2), "none", "some"]),
    min_size=1,
    max_size=4,
    unique=True,
)


def made(values: tuple[list[Value], ...], texts: list[str], n: int) -> Space:
    parameters = [Parameter(name, tuple(own)) for name, own in zip(NAMES, values, strict=True)]
    return Space(tuple(parameters), tuple(map(Condition.read, texts)), {"n": n})


SPACES_AT_RANDOM = st.builds(
    made, st.tuples(*(VALUES for _ in NAMES)), st.lists(CONDITIONS, max_size=4), st.integers(-2, 8)
)


@settings(max_examples=200, deadline=None)
@given(SPACES_AT_RANDOM)
def test_a_space_is_what_filtering_the_product_leaves(space: Space) -> None:
    wanted = sorted(map(key, brute_force(space)))
    try:
        found = list(space)
    except CutuneError as error:
        assert "CT804" in error.diagnostic.render()
        assert wanted == []
        return
    assert sorted(map(key, found)) == wanted
    assert space.size == len(wanted) and len(set(wanted)) == len(wanted)
    assert [space.number(configuration) for configuration in found] == list(range(len(found)))


def neighbours(space: Space, start: Configuration, axis: int, most: int) -> list[Configuration]:
    """The nearest configurations that differ in one table alone."""
    table = space.tables[axis]
    row = table.index(start)
    assert row is not None
    return [{**start, **table.row(near)} for near in table.nearest(row, most)]


@settings(deadline=None)
@given(SPACES_AT_RANDOM, st.randoms(use_true_random=False))
def test_neighbours_differ_in_one_table_alone(space: Space, generator: random.Random) -> None:
    try:
        start = space.configuration(generator.randrange(space.size))
    except CutuneError:
        return
    assert start in space
    for axis, table in enumerate(space.tables):
        near = neighbours(space, start, axis, 1000)
        assert len({key(one) for one in near}) == len(near) == table.size - 1
        assert all(one in space for one in near)
        for one in near:
            assert {n for n in NAMES if one[n] != start[n]} <= set(table.names)
        assert neighbours(space, start, axis, 2) == near[:2]


def test_nearest_rows_differ_in_few_parameters_first() -> None:
    parameters = [Parameter("a", (1, 2, 4, 8)), Parameter("b", (1, 2, 4, 8))]
    space = Space.of(parameters, [Condition.read("a * b <= 16")])
    near = [tuple(one.values()) for one in neighbours(space, {"a": 2, "b": 2}, 0, 7)]
    assert {*near[:4]} == {(1, 2), (2, 1), (2, 4), (4, 2)}
    assert {*near[4:6]} == {(2, 8), (8, 2)}
    assert near[6] in {(1, 1), (4, 4), (1, 4), (4, 1)}
    assert space.tables[0].index({"a": 8, "b": 8}) is None, "not allowed itself"


def test_of_rows_at_one_distance_the_first_come_first() -> None:
    space = Space.of([Parameter("a", tuple(range(9))), Parameter("b", (0, 1, 2))], [])
    start = {"a": 4, "b": 1}
    for axis, table in enumerate(space.tables):
        near = neighbours(space, start, axis, table.size)
        for most in range(table.size):
            assert neighbours(space, start, axis, most) == near[:most]


def test_draws_are_uniform() -> None:
    parameters = [Parameter(name, (0, 1, 2)) for name in "ab"] + [Parameter("c", (0, 1))]
    space = Space.of(parameters, [Condition.read("a <= b")])
    generator = random.Random(3)
    counts = Counter(
        key(space.configuration(generator.randrange(space.size))) for _ in range(12_000)
    )
    assert len(counts) == space.size == 12
    assert all(850 < count < 1150 for count in counts.values())


def test_large_spaces_are_counted_and_drawn_from() -> None:
    space = Space.of([Parameter(f"p{i}", tuple(range(1024))) for i in range(20)])
    assert space.size == space.raw_size == 2**200
    drawn = space.configuration(random.Random(1).randrange(space.size))
    number = space.number(drawn)
    assert number is not None and space.configuration(number) == drawn


def test_sizes_may_be_given_later() -> None:
    parameters = [Parameter("m", (4, 8, 16))]
    conditions = [Condition.read("n >= 2 * m")]
    space = Space.of(parameters, conditions, {"n": 0})
    assert [space.at({"n": n}).size for n in (8, 16, 100)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["a > b"], "no configuration satisfies 'a > b'"),
        (["a * b == 6"], "'a * b == 6'"),
        (["a + b + c >= 8", "a + b + c != 8"], "'a + b + c >= 8' and 'a + b + c != 8'"),
        (["a > 3"], "'a > 3'"),
        (["n > 3"], "'n > 3'"),
    ],
)
def test_conditions_that_leave_nothing_are_named(texts: list[str], said: str) -> None:
    parameters = [Parameter("a", (1, 2)), Parameter("b", (2, 4)), Parameter("c", (1, 2))]
    space = Space.of(parameters, map(Condition.read, texts), {"n": 1})
    with pytest.raises(CutuneError, match="no configuration") as error:
        print(space.size)
    assert said in error.value.diagnostic.message


def test_parts_that_do_not_fit_are_refused() -> None:
    once = Parameter("a", (1, "none"))
    with pytest.raises(CutuneError, match="'a' is given twice"):
        Space.of([once, once])
    with pytest.raises(CutuneError, match="holds 'b', which is no parameter"):
        Space.of([once], [Condition.read("a > b")])
    with pytest.raises(CutuneError, match="holds 'nine'"):
        Space.of([once], [Condition.read("a == nine")])
    assert Space.of([once], [Condition.read("a == none")]).size == 1


def test_a_table_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_BYTES", 1000)
    parameters = [Parameter(name, tuple(range(32))) for name in "ab"]
    with pytest.raises(CutuneError, match="than fit into 2 GiB"):
        print(Space.of(parameters, [Condition.read("a + b != 5")]).size)


@pytest.mark.parametrize("name", SPACES)
def test_published_spaces(name: str) -> None:
    """Counts as published, or as other programs enumerate them."""
    space = space_of(name)
    assert (space.raw_size, space.size) == SPACES[name].sizes
    generator = random.Random(5)
    for _ in range(20):
        drawn = space.configuration(generator.randrange(space.size))
        assert all(holds(c, {**space.known, **drawn}) for c in space.conditions)
        number = space.number(drawn)
        assert number is not None and space.configuration(number) == drawn


def test_sort_depends_on_the_shared_memory() -> None:
    assert space_of("sort").at({"device.shared": 96 << 10}).size == 1760


def test_tables_hold_connected_parameters() -> None:
    sort = {table.names: table.size for table in space_of("sort").tables}
    assert sorted(sort.values()) == [2, 2, 2, 2, 2, 54]
    assert sum(table.size for table in space_of("dedispersion").tables) == 255


@pytest.mark.parametrize(
    ("make", "none", "twenty"),
    [
        ("make F={R} all", "make  all", "make F=20 all"),
        ("make F='-O3 -r={R}'", "make F='-O3 '", "make F='-O3 -r=20'"),
        ('make F="{R}" XF={R}', 'make F="" ', 'make F="20" XF=20'),
        ("make F=${R} G={Q}", "make F=${R} G={Q}", "make F=${R} G={Q}"),
    ],
)
def test_values_in_the_command_that_builds(make: str, none: str, twenty: str) -> None:
    """A word without a value is left out, also within quotes; what a shell expands is its own."""
    asked = ParameterOptions((read_option("R=none,20"),), make=make)
    assert asked.make_at({}) == none and asked.make_at({"R": 20}) == twenty
    assert asked.make_at({"other": 1}) == none

"""Formulas of integers in files: which are read, what they are worth, how a size follows one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cutune.model.measurement.measurement import checked_kernel
from cutune.model.rational.formulas import Tie, is_formula, limited_value, tie_of, whole_value
from tests.support.measured_kernel import KERNEL


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7), ("0x1F", 31), ("010", 8), ("0", 0), ("5u", 5), ("5ULL", 5),
        ("9223372036854775807", None),
        ("n", 10), ("p.n", 4), ("(long)n", 10), ("+n", 10), ("-n", -10), ("(unsigned)(n - 1)", 9),
        ("n + m", 13), ("n - m", 7), ("n * m", 30), ("n / m", 3), ("n % m", 1),
        ("n < m ? n : m", 3), ("n > m ? n : m", 10), ("n < n ? 1 : 2", 2), ("n > n ? 1 : 2", 2),
        ("(n + 2) / m * 2", 8), ("n - m - 1", 6), ("n / (m - 3)", None),
        ("4611686018427387903 + 1", None), ("4611686018427386880", 4611686018427386880),
    ],
)  # fmt: skip
def test_values(text: str, expected: int | None) -> None:
    assert is_formula(text)
    assert whole_value(text, {"n": 10, "m": 3, "p.n": 4}) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "n +", "n & m", "n << 1", "n == m", "n <= m ? 1 : 2", "!n", "~n", "*p", "p->n",
        "p[0].n", "f(n)", "1.5", "'a'", "9223372036854775808", "-(n & m)", "n + (m & 1)",
        "(n | 1) + m",
        "n ? m & 1 : 1", "n ? 1 : m & 1", "(n & 1) ? 1 : 2",
    ],
)  # fmt: skip
def test_what_is_no_formula(text: str) -> None:
    assert not is_formula(text)
    assert whole_value(text, {"n": 10, "m": 3}) is None


def test_what_is_too_large_is_as_large_as_can_be() -> None:
    for n, limited in ((1 << 24, 1 << 62), (100, 10**8), (-100, 10**8)):
        assert limited_value("n * n * n * n", {"n": n}) == limited
    assert limited_value("n * n * n", {"n": -(1 << 30)}) == -(1 << 62)
    for nothing in ("1 / (n - n)", "0 / (n - n)", "n & 1"):
        assert limited_value(nothing, {"n": 3}) == 0


def test_names() -> None:
    assert is_formula("n + m", {"n", "m", "k"})
    assert not is_formula("n + m", {"n"})
    assert not is_formula("p.n", {"n", "p"})
    assert is_formula("5", ())
    with pytest.raises(KeyError):
        whole_value("n + m", {"n": 1})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n", Tie("n", 1, 0, 1)),
        ("n + 1", Tie("n", 1, 1, 1)),
        ("n - 2", Tie("n", 1, -2, 1)),
        ("n * 4", Tie("n", 4, 0, 1)),
        ("n / 2", Tie("n", 1, 0, 2)),
        ("(n + 1) / 2", Tie("n", 1, 1, 2)),
        ("(n - 31) / 32", Tie("n", 1, -31, 32)),
        ("p.n / 2", Tie("p.n", 1, 0, 2)),
        ("n + 999999", Tie("n", 1, 999999, 1)),
        ("n * 999999", Tie("n", 999999, 0, 1)),
    ],
)
def test_how_a_size_follows_from_another(text: str, expected: Tie) -> None:
    assert tie_of(text, ("n", "p.n")) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "m", "5", "n + m", "n / 0", "n * 0", "n + 1000000", "n / 1000000", "(n)", "(n + 1)",
        "(n + 1) * 2", "n + 1 / 2", "(n / 2", "n / 2)", "(n) / 2", "n * 2 / 3", "n+1", "n / -2",
        "2 * n", "n + ٣",
    ],
)  # fmt: skip
def test_other_texts_tie_nothing(text: str) -> None:
    assert tie_of(text, ("n", "p.n")) is None


@pytest.mark.parametrize(
    ("positions", "tied", "required", "problem"),
    [
        ([0, 1], [("k", 2, "n / 2")], [(3, 5)], ""),
        ([0], [], [], "`positions`"),
        ([0, 1], [("n", 2, "m / 2")], [], "a name of its own"),
        ([0, 0], [], [], "read once"),
        ([0, 1], [("k", 1, "n / 2")], [], "read once"),
        ([0, 1], [("k", 2, "n / 2")], [(2, 5)], "read once"),
        ([0, 1], [("k", 2, "n * m")], [], "'n \\* m' is no part of one size"),
        ([0, 1], [("k", 2, "k / 2")], [], "'k / 2' is no part of one size"),
    ],
)
def test_arguments_that_fit_together(
    positions: list[int],
    tied: list[tuple[str, int, str]],
    required: list[tuple[int, int]],
    problem: str,
) -> None:
    def check() -> None:
        kernel = replace(KERNEL, parameters=("n", "m"), recorded=(((8, 8), (8, 1, 1)),))
        given: dict[str, Any] = {"tied": tuple(tied), "required_arguments": tuple(required)}
        checked_kernel(replace(kernel, positions=tuple(positions), **given))

    if problem:
        with pytest.raises(ValueError, match=problem):
            check()
    else:
        check()

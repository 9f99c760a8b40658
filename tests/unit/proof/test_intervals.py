"""Intervals of registers: they hold every result, and no more than they must."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from cutune.proof.values.operations import (
    bits_of,
    held_of,
    hull,
    reduced,
    shifted_right,
    whole_of,
    within,
)
from cutune.proof.values.terms import Interval

ENDS = (-9, -4, -1, 0, 1, 3, 8, 13)
INTERVALS = [Interval(low, high) for low, high in product(ENDS, repeat=2) if low <= high]
ANY = Interval(None, None)


def numbers(interval: Interval) -> range:
    assert interval.low is not None and interval.high is not None
    return range(interval.low, interval.high + 1)


def tightest(values: list[int]) -> Interval:
    return Interval(min(values), max(values))


@pytest.mark.parametrize(
    ("kind", "bits", "low", "high"),
    [
        ("s8", 8, -128, 127),
        ("u16", 16, -(1 << 15), (1 << 16) - 1),
        ("s32", 32, -(1 << 31), (1 << 31) - 1),
        ("u32", 32, -(1 << 31), (1 << 32) - 1),
        ("b64", 64, -(1 << 63), (1 << 63) - 1),
    ],
)
def test_what_a_register_holds(kind: str, bits: int, low: int, high: int) -> None:
    assert bits_of(kind) == bits
    assert whole_of(kind) == Interval(low, high)


def test_what_is_read_without_a_sign_is_not_negative() -> None:
    assert held_of("u32") == Interval(0, (1 << 32) - 1)
    assert held_of("s32") == whole_of("s32")
    assert within(Interval(-1, 9), held_of("u16")) == Interval(0, (1 << 16) - 1)


def test_what_may_wrap_may_be_anything() -> None:
    whole = Interval(-8, 7)
    assert within(Interval(-8, 7), whole) == Interval(-8, 7)
    assert within(Interval(0, 3), whole) == Interval(0, 3)
    for wide in (Interval(-9, 0), Interval(0, 8), Interval(None, 3), Interval(3, None)):
        assert within(wide, whole) == whole


@pytest.mark.parametrize("by", [0, 1, 3])
def test_shifts(by: int) -> None:
    for interval in INTERVALS:
        assert shifted_right(interval, by) == tightest([n >> by for n in numbers(interval)])


@pytest.mark.parametrize(
    ("opcode", "operation"),
    [("shr", lambda n, by: n >> by), ("div", lambda n, by: n // by), ("rem", lambda n, by: n % by)],
)
@pytest.mark.parametrize("by", [1, 2, 5])
def test_numbers_that_get_smaller(
    opcode: str, operation: Callable[[int, int], int], by: int
) -> None:
    for interval in INTERVALS:
        found = reduced(opcode, interval, by)
        if numbers(interval)[0] < 0:
            assert found == ANY
        elif opcode == "rem":
            assert found == Interval(0, by - 1)
        else:
            assert found == tightest([operation(n, by) for n in numbers(interval)])


@pytest.mark.parametrize(("opcode", "operation"), [("min", min), ("max", max)])
def test_one_of_two(opcode: str, operation: Callable[[int, int], int]) -> None:
    for first, second in product(INTERVALS, repeat=2):
        pairs = product(numbers(first), numbers(second))
        assert hull(opcode, first, second) == tightest([operation(a, b) for a, b in pairs])
        either = tightest([*numbers(first), *numbers(second)])
        assert hull("selp", first, second) == either

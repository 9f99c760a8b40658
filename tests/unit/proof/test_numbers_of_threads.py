"""Instructions on the numbers of all threads: each case is one, and what registers hold then."""

from __future__ import annotations

import numpy as np
import pytest

from cutune.proof.collectives.arithmetic import compared, computed
from cutune.proof.collectives.lanes import (
    TERM,
    UNKNOWN,
    Lanes,
    Numbers,
    Terms,
    can_begin,
    combined,
    numbers,
    uniform,
)

MINUS_ONE = 0xFFFFFFFF


def _numbers(*values: int) -> list[Numbers]:
    return [np.array([value], np.int64) for value in values]


@pytest.mark.parametrize(
    ("relation", "kind", "first", "second", "holds"),
    [
        # Constants stand in the text with their sign, registers hold their bits.
        ("gt", "s32", MINUS_ONE - 4, -1, False),
        ("lt", "s32", MINUS_ONE - 4, -1, True),
        ("eq", "s32", MINUS_ONE, -1, True),
        ("gt", "u32", MINUS_ONE, 5, True),
        ("lt", "s16", 0x8000, 0, True),
    ],
)
def test_comparisons(relation: str, kind: str, first: int, second: int, holds: bool) -> None:
    assert compared(relation, kind, *_numbers(first, second))[0] == holds


@pytest.mark.parametrize(
    ("instruction", "operands", "result"),
    [
        ("shr.s32", (-4, 1), MINUS_ONE - 1),
        ("max.s32", (-4, 1), 1),
        ("mul.wide.s32", (MINUS_ONE, 3), -3),
        ("cvt.s64.s32", (MINUS_ONE,), -1),
        ("mul.f32", (0x40400000, 0x3D000000), 0x3DC00000),  # 3 / 32
        ("cvt.rn.f32.s32", (5,), 0x40A00000),
        ("cvt.rzi.ftz.s32.f32", (0x40A00000,), 5),
        ("bfi.b32", (3, 7, 5, 27), 103),
        ("bfi.b32", (MINUS_ONE, 0, 4, 8), 0xFF0),
        ("bfi.b32", (0, MINUS_ONE, 4, 8), MINUS_ONE - 0xFF0),
    ],
)
def test_results(instruction: str, operands: tuple[int, ...], result: int) -> None:
    opcode, *modifiers = instruction.split(".")
    assert computed(opcode, modifiers, _numbers(*operands))[0] == result


@pytest.mark.parametrize(
    ("instruction", "operands"),
    [
        ("max.relu.s32", (-4, -1)),
        ("add.sat.s32", (1, 2)),
        ("bfi.b32", (1, 1, 30, 5)),
        # Its result is 1 at most.
        ("cvt.rn.sat.f32.s32", (5,)),
        # It may become one instruction with a sum, which rounds once.
        ("mul.f32", (0x3DCCCCCD, 0x3DCCCCCD)),
    ],
)
def test_not_computed(instruction: str, operands: tuple[int, ...]) -> None:
    opcode, *modifiers = instruction.split(".")
    with pytest.raises(ValueError, match=r"'|product"):
        computed(opcode, modifiers, _numbers(*operands))


@pytest.mark.parametrize(
    ("operation", "number", "can"),
    [
        ("add.f32", 0, True),
        ("add.f32", 1 << 31, False),
        ("max.f32", 0xFF800000, True),
        ("max.f32", 0x7FC00000, False),
        ("max.f64", 0x7FF0000000000001, False),
        ("max.s32", 5, True),
        ("add.b32", 5, False),
    ],
)
def test_what_sums_may_begin_with(operation: str, number: int, can: bool) -> None:
    assert can_begin(operation, number) == can


@pytest.mark.parametrize(
    ("operation", "neutral", "is_kept"),
    [("add.b32", 0, True), ("max.f32", 0xFF800000, False), ("add.f32", 0, False)],
)
def test_neutral_numbers(operation: str, neutral: int, is_kept: bool) -> None:
    """A term may be a NaN, which the least number takes away, or -0."""
    terms = Terms(1)
    term = uniform(1, TERM, terms.number(("value", "x")))
    result = combined(operation, numbers(np.array([neutral], np.int64)), term, terms)
    assert result.equals(term) == is_kept


@pytest.mark.parametrize(("bits", "held"), [(16, 0xFFFF), (32, MINUS_ONE), (64, -1)])
def test_registers(bits: int, held: int) -> None:
    assert numbers(np.array([-1], np.int64)).in_register(bits).data[0] == held


def test_halves_are_no_numbers() -> None:
    whole = numbers(np.array([5 << 32], np.int64))
    half = Lanes(whole.kind, whole.data, piece=1)
    assert whole.is_number and not half.is_number
    assert not half.are_numbers(half.kind != UNKNOWN)

"""Loops around a compare-and-swap as compilers seldom write them: each case is PTX."""

from __future__ import annotations

import pytest

from cutune.proof.flow.simplified import without_cas_loops
from cutune.ptx.parse import parse
from cutune.ptx.types import Instruction

HEAD = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(
.param .u64 kernel_param_0, .param .u32 kernel_param_1, .param .f32 kernel_param_2)
{
.reg .pred %p<9>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %rd<20>;
ld.param.u64 %rd1, [kernel_param_0];
ld.param.u32 %r1, [kernel_param_1];
ld.param.f32 %f1, [kernel_param_2];
"""
GUESS = "ld.global.u32 %r2, [%rd1]; "
SWAP = "atom.global.cas.b32 %r4, [%rd1], %r2, {};"
REPEAT = "setp.ne.s32 %p1, %r2, %r4; mov.u32 %r2, %r4; @%p1 bra $again;"
ADD = f"add.s32 %r3, %r2, %r1; {SWAP.format('%r3')} {REPEAT}"
#: The loop is left where memory is as small, or as large, already.
LEAST = f"{GUESS} $again: setp.{{}} %p2, %r2, %r1; @%p2 bra $done; {SWAP.format('%r1')} {REPEAT}"


def operations(body: str) -> list[str]:
    """What is in place of the loops; nothing where the code stays as it is."""
    (function,) = parse(f"{HEAD}{body}\n$done: ret;\n}}\n").functions.values()
    changed = without_cas_loops(function)
    items = [item for item in changed.body or () if isinstance(item, Instruction)]
    found = [f"{'.'.join(i.modifiers)} {i.operands[1]}" for i in items if i.opcode == "red"]
    assert bool(found) is (changed.body != function.body)
    return found


@pytest.mark.parametrize("behind", ["", "mov.u32 %r9, %r2;", "st.global.u32 [%rd1+4], %r4;"])
@pytest.mark.parametrize("between", ["", "add.u32 %r10, %r1, 1;"])
def test_what_the_loop_leaves_in_registers_is_not_lost(between: str, behind: str) -> None:
    found = operations(f"{GUESS} $again: {ADD} {between} {behind}")
    assert found == ([] if behind else ["global.add.s32 %r1"])


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("le.s32", "min.s32"),
        ("lt.s32", "min.s32"),
        ("ge.s32", "max.s32"),
        ("gt.s32", "max.s32"),
        ("lt.u32", "min.u32"),
        ("gt.u32", "max.u32"),
        # Relations of numbers without a sign.
        ("ls.s32", "min.u32"),
        ("lo.s32", "min.u32"),
        ("hs.s32", "max.u32"),
        ("hi.s32", "max.u32"),
    ],
)
def test_where_nothing_is_to_be_done(relation: str, expected: str) -> None:
    assert operations(LEAST.format(relation)) == [f"global.{expected} %r1"]


@pytest.mark.parametrize("relation", ["eq.s32", "ne.s32", "lt.s16", "lt.s64", "lt.f32"])
def test_what_tells_no_extremum(relation: str) -> None:
    assert operations(LEAST.format(relation)) == []


def test_a_loop_that_is_left_behind_the_swap_stays() -> None:
    """What was swapped may be larger than what was there: that is no minimum."""
    test = "setp.le.s32 %p2, %r2, %r1; @%p2 bra $done;"
    assert operations(f"{GUESS} $again: {SWAP.format('%r1')} {test} {REPEAT}") == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # It goes on where nothing has changed, or where something else has.
        ("setp.ne", "setp.eq"),
        ("@%p1", "@!%p1"),
        ("setp.ne.s32 %p1, %r2", "setp.ne.s32 %p1, %r1"),
        # No number is equal to itself if it is none.
        ("setp.ne.s32", "setp.ne.f32"),
        # Nothing is swapped under another condition.
        ("atom", "@%p3 atom"),
    ],
)
def test_a_loop_of_another_form_stays(before: str, after: str) -> None:
    assert before in ADD
    assert operations(f"{GUESS} $again: {ADD.replace(before, after)}") == []


@pytest.mark.parametrize("guess", ["ld.global.u16 %r2", "ld.global.v2.u32 {%r7, %r2}"])
def test_a_first_guess_that_is_not_what_is_swapped(guess: str) -> None:
    """Where memory is as small as the guess nothing is stored, whatever it holds."""
    loop = LEAST.format("le.s32").replace("ld.global.u32 %r2", guess)
    assert guess in loop and operations(loop) == []


def test_a_number_that_is_put_together_in_each_round() -> None:
    loop = (
        "ld.global.u64 %rd2, [%rd1]; $again: {} add.s64 %rd3, %rd2, %rd8;"
        " atom.global.cas.b64 %rd4, [%rd1], %rd2, %rd3; setp.ne.s64 %p1, %rd2, %rd4;"
        " mov.u64 %rd2, %rd4; @%p1 bra $again;"
    )
    assert operations(loop.format("")) == ["global.add.s64 %rd8"]
    assert operations(loop.format("add.s32 %r5, %r5, 1; mov.b64 %rd8, {%r5, %r1};")) == []


def test_a_loop_that_is_entered_in_the_middle_stays() -> None:
    jump = "setp.eq.s32 %p3, %r1, 7; @%p3 bra $inner;"
    assert operations(f"{GUESS} {jump} $again: $inner: {ADD}") == []
    assert operations(f"{GUESS} {jump} $inner: $again: {ADD}") == ["global.add.s32 %r1"]


def test_the_bits_of_a_number_may_have_been_copied_long_before() -> None:
    leaves = "mov.b32 %f2, %r2; setp.leu.f32 %p2, %f2, %f1; @%p2 bra $done;"
    loop = f"$again: {leaves} {SWAP.format('%r8')} {REPEAT}"
    assert operations(f"mov.b32 %r8, %f1; {GUESS} {loop}") == ["global.min.f32 %f1"]
    assert operations(f"mov.b32 %r8, %f1; $far: {GUESS} {loop}") == ["global.min.f32 %f1"]
    # Another number, or one that a second instruction changes.
    assert operations(f"mov.b32 %r8, %f3; $far: {GUESS} {loop}") == []
    assert operations(f"mov.b32 %r8, %f1; $far: {GUESS} mov.b32 %r8, %f3; {loop}") == []

"""Tests that leave out adding 0, and others that look like them: each case is PTX."""

from __future__ import annotations

import pytest

from cutune.proof.entry import prove
from cutune.proof.flow.simplified import without_idle_adds
from cutune.ptx.parse import parse
from cutune.ptx.types import Function, Module

HEAD = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(
.param .u64 kernel_param_0, .param .u64 kernel_param_1, .param .u32 kernel_param_2)
{
.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>;
ld.param.u64 %rd1, [kernel_param_0];
ld.param.u64 %rd2, [kernel_param_1];
ld.param.u32 %r1, [kernel_param_2];
"""
TEST = "setp.eq.s32 %p1, %r1, 0;"
LEAVE = "@%p1 bra $skip;"
PLACE = "add.s64 %rd3, %rd1, %rd2;"
ADD = "red.global.add.u32 [%rd3], %r1;"
#: Elements that are not 0 go to the places of a row one behind the other.
PACKED = """\
mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mov.u32 %r5, %nctaid.x;
mad.lo.s32 %r6, %r2, %r3, %r4; mul.lo.s32 %r7, %r3, %r5;
setp.ge.s32 %p2, %r6, %r1; @%p2 bra $done;
sub.s32 %r8, %r6, %r7;
$again: mul.wide.s32 %rd4, %r6, 4; add.s64 %rd5, %rd1, %rd4; ld.global.u32 %r9, [%rd5];
setp.eq.s32 %p1, %r9, 0; @%p1 bra $skip;
{place} mul.wide.s32 %rd6, %r8, 4; add.s64 %rd7, %rd2, %rd6; red.global.add.u32 [%rd7], %r9;
$skip: add.s32 %r6, %r6, %r7; setp.lt.s32 %p3, %r6, %r1; @%p3 bra $again;
$done:"""


def module(body: str) -> Module:
    return parse(f"{HEAD}{body} ret;\n}}\n")


def is_left_out(body: str) -> bool:
    function: Function = module(body).functions["kernel"]
    return without_idle_adds(function).body != function.body


def test_adding_nothing_is_no_condition() -> None:
    assert is_left_out(f"{TEST} {LEAVE} {PLACE} {ADD} $skip:")
    assert is_left_out(f"setp.ne.s32 %p1, %r1, 0; @!%p1 bra $skip; {PLACE} {ADD} $skip:")
    assert is_left_out(f"{TEST} mov.u32 %r2, %r1; {LEAVE} {PLACE} {ADD} $skip:")


@pytest.mark.parametrize(
    "body",
    [
        # The value that is added is another one than was tested.
        f"{TEST} add.s32 %r1, %r1, -1; {LEAVE} {PLACE} {ADD} $skip:",
        f"{TEST} {LEAVE} add.s32 %r1, %r1, 1; {PLACE} {ADD} $skip:",
        # Another value, another relation, a second condition, another test on one way.
        f"setp.eq.s32 %p1, %r2, 0; {LEAVE} {PLACE} {ADD} $skip:",
        f"setp.ne.s32 %p1, %r1, 0; {LEAVE} {PLACE} {ADD} $skip:",
        f"setp.lt.s32 %p1, %r1, 0; {LEAVE} {PLACE} {ADD} $skip:",
        f"setp.eq.and.s32 %p1, %r1, 0, %p2; {LEAVE} {PLACE} {ADD} $skip:",
        f"setp.eq.s32 %p1, %r2, 0; @%p2 bra $here; {TEST} $here: {LEAVE} {PLACE} {ADD} $skip:",
        # More than one add, another operation, a result that is read.
        f"{TEST} {LEAVE} red.global.add.u32 [%rd1], %r1; {PLACE} {ADD} $skip:",
        f"{TEST} {LEAVE} red.global.max.s32 [%rd1], %r1; $skip:",
        f"{TEST} {LEAVE} atom.global.add.u32 %r2, [%rd1], %r1; $skip: st.global.u32 [%rd2], %r2;",
        # The opposite of a test.
        f"setp.eq.s32 %p2|%p1, %r1, 0; {LEAVE} {PLACE} {ADD} $skip:",
        # What is left in registers, or in the carry, goes on with the next value, or behind.
        f"mov.u64 %rd3, %rd1; $again: {TEST} {LEAVE} add.s64 %rd3, %rd3, 4; {ADD} $skip:"
        " setp.ne.s32 %p2, %r1, 1; @%p2 bra $again;",
        f"{TEST} {LEAVE} {PLACE} {ADD} $skip: st.global.u64 [%rd1], %rd3;",
        f"{TEST} {LEAVE} add.cc.s64 %rd3, %rd1, %rd2; {ADD} $skip: addc.u32 %r2, %r1, 0;",
    ],
)
def test_what_is_not_left_out(body: str) -> None:
    assert not is_left_out(body)


@pytest.mark.parametrize("place", ["mov.u32 %r8, %r6;", "add.s32 %r8, %r8, %r7;"])
def test_how_many_values_came_before_depends_on_the_grid(place: str) -> None:
    proof = prove(module(PACKED.format(place=place)), "kernel")
    (x, _, _) = proof.dimensions
    assert proof.refused is None
    assert bool(x.free_up_to) is (place == "mov.u32 %r8, %r6;")

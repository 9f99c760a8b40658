"""Loads of what was loaded before, and others that look like them: each case is PTX."""

from __future__ import annotations

import pytest

from cutune.proof.flow.simplified import without_repeated_loads
from cutune.ptx.parse import parse
from cutune.ptx.types import Function

HEAD = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 kernel_param_0, .param .u32 kernel_param_1)
{
.reg .pred %p<9>; .reg .b16 %h<4>; .reg .b32 %r<20>; .reg .f32 %f<4>; .reg .b64 %rd<20>;
ld.param.u64 %rd1, [kernel_param_0];
ld.param.u32 %r1, [kernel_param_1];
setp.eq.s32 %p1, %r1, 0;
"""
FIRST = "ld.global.u32 %r2, [%rd1+4];"
AGAIN = "ld.global.u32 %r3, [%rd1+4];"
USE = "st.global.u32 [%rd1+8], %r3;"
LOOP = "$again:\n{}\nadd.s32 %r9, %r9, %r3; setp.lt.s32 %p2, %r9, %r1; @%p2 bra $again;"


def function(body: str) -> Function:
    return parse(f"{HEAD}{body} ret;\n}}\n").functions["kernel"]


def lines(body: str) -> frozenset[int]:
    return without_repeated_loads(function(body))[1]


def test_a_value_is_loaded_once() -> None:
    before = function(f"{FIRST}\n{LOOP.format(AGAIN)}")
    after, kept = without_repeated_loads(before)
    (load,) = (one for one in after.instructions if "global" in one.modifiers)
    assert kept == {load.line}
    assert load.operands == ("%r2", "[%rd1+4]")
    (moved,) = (one for one in after.instructions if one.opcode == "mov")
    assert moved.operands == ("%r3", "%r2")


def test_the_first_of_three_stays() -> None:
    third = "ld.global.u32 %r4, [%rd1+4];"
    after, _ = without_repeated_loads(function(f"{FIRST}\n{AGAIN}\n{third}\n{USE}"))
    moves = [one.operands for one in after.instructions if one.opcode == "mov"]
    assert moves == [("%r3", "%r2"), ("%r4", "%r2")]


@pytest.mark.parametrize(
    "body",
    [
        f"@%p1 bra $skip;\n{FIRST}\n$skip: {AGAIN}\n{USE}",
        f"@%p1 {FIRST}\n{AGAIN}\n{USE}",
        f"{FIRST}\nadd.s64 %rd1, %rd1, 4;\n{AGAIN}\n{USE}",
        f"{FIRST}\nadd.s32 %r2, %r2, 1;\n{AGAIN}\n{USE}",
        f"{FIRST}\nld.global.u32 %r3, [%rd1+8];\n{USE}",
        f"{FIRST}\nld.volatile.global.u32 %r3, [%rd1+4];\n{USE}",
        f"{FIRST}\nld.shared.u32 %r3, [%rd1+4];\n{USE}",
        f"{FIRST} {AGAIN} {USE}",
        "ld.global.f32 %f1, [%rd1];\nld.global.f32 %f2, [%rd1];",
        "ld.global.u16 %h1, [%rd1];\nld.global.u16 %h2, [%rd1];",
        "ld.global.u32 %rd2, [%rd1];\nld.global.u32 %rd3, [%rd1];",
    ],
    ids=lambda body: body.replace("\n", " ")[:40],
)
def test_what_may_be_another_value_stays(body: str) -> None:
    assert not lines(body)

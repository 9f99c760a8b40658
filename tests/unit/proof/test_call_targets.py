"""Calls by address: each case is how a kernel gets one, and what is proven of it."""

from __future__ import annotations

import pytest

from cutune.proof.entry import prove
from cutune.ptx.control_flow import CallTargets
from cutune.ptx.parse import parse
from cutune.ptx.types import WHOLE_PROGRAM, Module
from tests.support.proof_verdicts import described

HEAD = """\
.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 room[64];
.extern .func (.param .b64 result) malloc(.param .b64 size);
.func (.param .b32 result) doubled(.param .b32 value)
{{ .reg .b32 %r<4>; ld.param.u32 %r1, [value]; add.s32 %r2, %r1, %r1;
st.param.b32 [result], %r2; ret; }}
.func (.param .b32 result) placed(.param .b32 value)
{{ .reg .b32 %r<4>; mov.u32 %r1, %tid.x; st.param.b32 [result], %r1; ret; }}
.func (.param .b32 result) waiting(.param .b32 value)
{{ bar.sync 0; ret; }}
.func (.param .b32 result) sharing(.param .b32 value)
{{ .reg .b32 %r<4>; mov.u32 %r1, room; ret; }}
.func (.param .b32 result) storing(.param .b32 value)
{{ .reg .b32 %r<4>; .reg .b64 %rd<4>; st.global.u32 [%rd1], %r1; ret; }}
.func (.param .b32 result) allocating(.param .b32 value)
{{ .param .b64 size; .param .b64 place; call (place), malloc, (size); ret; }}
.func (.param .b32 result) direct(.param .b32 value)
{{ .param .b32 one; .param .b32 other; call (other), placed, (one); ret; }}
.func (.param .b32 result) endless(.param .b32 value)
{{ .reg .b64 %rd<4>; .param .b32 one; .param .b32 other;
again: .callprototype (.param .b32 _) _ (.param .b32 _); call (other), %rd1, (one), again; ret; }}
.func (.param .b32 result) of_two(.param .b32 value, .param .b32 other)
{{ .reg .b32 %r<4>; mov.u32 %r1, %tid.x; st.param.b32 [result], %r1; ret; }}
.func of_none(.param .b32 value)
{{ .reg .b32 %r<4>; mov.u32 %r1, %tid.x; ret; }}
.func (.param .b64 result) of_more(.param .b32 value)
{{ .reg .b32 %r<4>; mov.u32 %r1, %tid.x; ret; }}
.func (.param .b32 result) of_any(.param .align 8 .b8 values[])
{{ .reg .b32 %r<4>; mov.u32 %r1, %tid.x; ret; }}
.func (.param .b32 result) of_float(.param .f32 value)
{{ ret; }}
.func (.param .b32 result) missing(.param .b32 value);
{before}
.visible .entry kernel(
.param .u64 kernel_param_0, .param .u32 kernel_param_1, .param .u64 kernel_param_2)
{{
.reg .pred %p<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>;
ld.param.u64 %rd1, [kernel_param_0];
ld.param.u32 %r1, [kernel_param_1];
mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
mad.lo.s32 %r6, %r3, %r4, %r5;
setp.ge.s32 %p1, %r6, %r1; @%p1 bra $end;
{address}
{{ .param .b32 value; .param .b32 result; st.param.b32 [value], %r6;
prototype_0 : {table};
call (result), %rd9, (value), prototype_0;
ld.param.b32 %r7, [result]; }}
mul.wide.s32 %rd2, %r6, 4; add.s64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r7;
$end: ret;
}}
"""
PROTOTYPE = ".callprototype (.param .b32 _) _ (.param .b32 _)"
#: A table of functions, an argument, an object.
OF_TABLE = "mov.u64 %rd4, table; ld.global.u64 %rd9, [%rd4+8];"
OF_ARGUMENT = "ld.param.u64 %rd9, [kernel_param_2];"
OF_OBJECT = "ld.param.u64 %rd4, [kernel_param_2]; ld.u64 %rd5, [%rd4]; ld.u64 %rd9, [%rd5+16];"
OF_BLOCK = "mul.wide.u32 %rd5, %r3, 8; add.s64 %rd4, %rd4, %rd5; ld.global.u64 %rd9, [%rd4];"


def table(*names: str, space: str = "global") -> str:
    return f".{space} .align 8 .u64 table[{len(names)}] = {{{', '.join(names)}}};"


def module(before: str, address: str, prototype: str = PROTOTYPE, whole: bool = True) -> Module:
    text = HEAD.format(before=before, address=address, table=prototype)
    return parse(text + WHOLE_PROGRAM if whole else text)


def verdict(before: str, address: str, prototype: str = PROTOTYPE, whole: bool = True) -> str:
    proof = prove(module(before, address, prototype, whole), "kernel")
    return described(proof, {"1:0:b32": "n"})


RIGHT = "x < n; warps"


@pytest.mark.parametrize("address", [OF_TABLE, OF_ARGUMENT, OF_OBJECT])
@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (("doubled", "doubled"), RIGHT),
        (("0", "storing"), RIGHT),
        (("0", "endless", "doubled"), RIGHT),
        (("of_float", "doubled"), RIGHT),
        (("doubled", "placed"), "CT290"),
        (("doubled", "waiting"), "CT290"),
        (("doubled", "sharing"), "CT290"),
        (("endless", "direct"), "CT290"),
        (("doubled", "allocating"), "CT218"),
        (("doubled", "missing"), "CT218"),
        (("doubled", "of_any"), "CT290"),
        # Of other parameters and results.
        (("doubled", "of_two", "of_none", "of_more"), RIGHT),
        # Nothing can be called.
        (("of_two",), "CT290"),
    ],
)
def test_a_call_may_be_one_of_each_function(
    named: tuple[str, ...], expected: str, address: str
) -> None:
    assert verdict(table(*named), address).removesuffix("; meet 0 2") == expected


@pytest.mark.parametrize(
    ("before", "address"),
    [
        (table("doubled", "placed", space="const"), OF_ARGUMENT),
        (".const .align 8 .b8 bytes[8] = {0xFF(placed), 0xFF00(placed)};", OF_ARGUMENT),
        (f"{table('doubled')}\n.global .u64 other = generic(placed);", OF_TABLE),
        (table("doubled"), f"mov.u64 %rd8, placed; {OF_ARGUMENT}"),
        (f"{table('doubled', 'alias')}\n.alias alias, placed;", OF_TABLE),
        # Where another kernel takes the address.
        (
            f"{table('doubled')}\n.visible .entry other()\n"
            "{ .reg .b64 %rd<4>; mov.u64 %rd1, placed; ret; }",
            OF_TABLE,
        ),
    ],
)
def test_addresses_are_taken_anywhere(before: str, address: str) -> None:
    assert verdict(before, address) == "CT290"
    assert (
        verdict(before.replace("placed", "doubled"), address.replace("placed", "doubled")) == RIGHT
    )


def test_a_function_that_is_called_by_name_alone_is_not_called_by_address() -> None:
    caller = ".func calling() { .param .b32 a; .param .b32 b; call (b), placed, (a); ret; }"
    assert verdict(f"{table('doubled')}\n{caller}", OF_TABLE) == RIGHT


@pytest.mark.parametrize(
    ("prototype", "whole", "expected"),
    [
        (PROTOTYPE, False, "CT290"),
        (".calltargets doubled", False, RIGHT),
        (".calltargets doubled, placed", False, "CT290"),
        (".callprototype (.param .align 4 .b8 _[4]) _ (.param .f32 _)", True, RIGHT),
        (".callprototype (.param .b32 _) _ (.param .align 8 .b8 _[])", True, "CT290"),
    ],
)
def test_prototypes(prototype: str, whole: bool, expected: str) -> None:
    assert verdict(table("doubled", "doubled"), OF_TABLE, prototype, whole) == expected


def test_a_function_that_the_block_chooses() -> None:
    assert verdict(table("doubled"), f"mov.u64 %rd4, table; {OF_BLOCK}") == "x raw"


@pytest.mark.parametrize(
    ("address", "whole", "expected"),
    [
        (OF_OBJECT, True, "makes a virtual call, which may reach 'placed' with threadIdx.x;"),
        (OF_TABLE, True, "makes a call through a function pointer, which may reach 'placed' "),
        (OF_OBJECT, False, "makes a virtual call, which functions of other sources may answer;"),
    ],
)
def test_the_reason_names_the_call(address: str, whole: bool, expected: str) -> None:
    proof = prove(module(table("doubled", "placed"), address, whole=whole), "kernel")
    assert proof.refused is not None and proof.refused.message.startswith(expected)
    assert proof.refused.line > 0


def test_functions_that_are_reached_count_for_the_block() -> None:
    proof = prove(module(table("doubled", "waiting"), OF_TABLE), "kernel")
    assert not proof.warp_level
    lanes = "waiting(.param .b32 value)\n{ bar.warp.sync 0; ret; }\n"
    text = HEAD.format(before=table("waiting"), address=OF_TABLE, table=PROTOTYPE)
    changed = text.replace("waiting(.param .b32 value)\n{ bar.sync 0; ret; }\n", lanes)
    assert changed != text and prove(parse(changed + WHOLE_PROGRAM), "kernel").warp_level


def test_direct_calls_have_one_target() -> None:
    known = module("", OF_ARGUMENT)
    function = known.functions["direct"]
    (call,) = [item for item in function.instructions if item.opcode == "call"]
    assert CallTargets(known).of(call, function) == ("placed",)

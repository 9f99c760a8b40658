"""What has to show in trials of a kernel: each case is PTX and the instructions that decide."""

from __future__ import annotations

import pytest

from cutune.ptx.decisions import Decision, Decisions
from cutune.ptx.parse import parse
from cutune.ptx.tried_sizes import FollowedSizes, TriedSizes

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1, .param .u32 k_param_2,
 .param .f32 k_param_3) {
.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %d<9>;
ld.param.u64 %d1, [k_param_0]; cvta.to.global.u64 %d2, %d1;
ld.param.u32 %r1, [k_param_1]; ld.param.u32 %r2, [k_param_2]; ld.param.f32 %f1, [k_param_3];
mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x; shl.b32 %r5, %r4, 5; add.s32 %r6, %r5, %r3;
ld.global.u32 %r7, [%d2]; ld.global.f32 %f2, [%d2];
"""
#: n is %r1, m %r2, the thread %r3, an index %r6, data %r7 and %f2, a number of the launch %f1.
DECIDING = {
    "index": ("setp.ge.s32 %p1, %r6, %r1;", []),
    "two_sizes": ("setp.gt.s32 %p1, %r1, %r2;", ["setp"]),
    "small_number": ("setp.lt.s32 %p1, %r1, 1;", []),
    "least": ("setp.gt.s32 %p1, %r1, 3;", ["setp"]),
    "blocks": ("add.s32 %r8, %r1, 31; shr.u32 %r9, %r8, 5; setp.eq.s32 %p1, %r9, 0;", ["shr 0"]),
    "at_least_one": ("add.s32 %r8, %r1, 31; shr.s32 %r9, %r8, 5; max.s32 %r10, %r9, 1;", ["shr 0"]),
    "at_least_two": ("max.s32 %r8, %r1, 2;", ["max %r1 2"]),
    "sum_of_sizes": ("add.s32 %r8, %r1, %r2; setp.lt.s32 %p1, %r8, 2;", []),
    "below": ("add.s32 %r8, %r1, -1; setp.lt.s32 %p1, %r8, 0;", []),
    "far_below": ("add.s32 %r8, %r1, -2; setp.lt.s32 %p1, %r8, 0;", ["setp"]),
    "plane": (
        "shl.b32 %r8, %r4, 3; mov.u32 %r9, %r8; $again: setp.lt.s32 %p1, %r9, 0;"
        "add.s32 %r9, %r9, 1; setp.lt.s32 %p2, %r9, %r1; @%p2 bra $again;",
        [],
    ),
    "plane_far_before": (
        "shl.b32 %r8, %r4, 3; add.s32 %r9, %r8, -500; $again: setp.lt.s32 %p1, %r9, 0;"
        "add.s32 %r9, %r9, 1; setp.lt.s32 %p2, %r9, %r1; @%p2 bra $again;",
        ["setp"],
    ),
    "plane_going_down": (
        "shl.b32 %r8, %r4, 3; mov.u32 %r9, %r8; $again: setp.lt.s32 %p1, %r9, 0;"
        "add.s32 %r9, %r9, -1; setp.gt.s32 %p2, %r9, %r1; @%p2 bra $again;",
        ["setp"],
    ),
    "row_and_column": ("or.b32 %r8, %r6, %r5; setp.gt.s32 %p1, %r8, -1;", []),
    "far_unsigned": ("add.s32 %r8, %r1, 9; setp.gt.u32 %p1, %r8, -20;", ["setp"]),
    "number": ("setp.gt.s32 %p1, %r1, 500;", ["setp"]),
    "moved": ("sub.s32 %r9, %r1, 500; setp.gt.s32 %p1, %r9, 0;", ["setp"]),
    "moved_by_register": (
        "mov.u32 %r8, 500; sub.s32 %r9, %r8, %r1; setp.lt.s32 %p1, %r9, 0;",
        ["setp"],
    ),
    "thread": ("setp.lt.u32 %p1, %r3, 500;", []),
    "limit_of_a_thread": ("mul.lo.s32 %r8, %r3, 3000; setp.gt.s32 %p1, %r1, %r8;", ["setp"]),
    "both": (
        "setp.gt.s32 %p1, %r1, 500; setp.gt.s32 %p2, %r2, 500; and.pred %p3, %p1, %p2;",
        ["setp", "setp", "and"],
    ),
    "guards": (
        "setp.ge.s32 %p1, %r6, %r1; setp.ge.s32 %p2, %r6, %r2; or.pred %p3, %p1, %p2;",
        [],
    ),
    "quotient": ("div.s32 %r8, %r1, %r2;", ["div 0"]),
    "rest": ("rem.s32 %r8, %r1, %r2;", ["rem 0 %r1"]),
    "upper_bits": ("shr.u32 %r8, %r1, 12;", ["shr 0"]),
    "sign_of_a_size": ("shr.s32 %r8, %r1, 31;", []),
    "sign_of_a_difference": ("sub.s32 %r8, %r2, %r1; shr.s32 %r9, %r8, 31;", ["shr 0"]),
    "absolute": ("sub.s32 %r8, %r2, %r1; abs.s32 %r9, %r8;", ["abs %r8"]),
    "limit": ("min.s32 %r8, %r1, 500;", ["min %r1 500"]),
    "end_of_tile": ("add.s32 %r8, %r6, 32; min.s32 %r9, %r8, %r1;", []),
    "lane": ("and.b32 %r8, %r3, 31; shr.u32 %r9, %r3, 5;", []),
    "data": ("setp.eq.s32 %p1, %r7, 0;", []),
    "bits_of_data": ("and.b32 %r8, %r7, 255; clz.b32 %r9, %r7;", []),
    "real_limit": ("min.f32 %f3, %f2, 0f447A0000;", []),
    "rounding": (
        "add.f32 %f3, %f1, 0f4B400000; sub.f32 %f4, %f3, 0f4B400000;",
        ["add 0f00000000", "sub 0f00000000"],
    ),
    "chosen": ("setp.eq.s32 %p1, %r7, 0; selp.b32 %r8, %r1, %r2, %p1;", []),
    "chosen_by_a_size": ("setp.ge.s32 %p1, %r6, %r1; selp.b32 %r8, %r7, 0, %p1;", []),
    "chosen_by_two_sizes": (
        "setp.gt.s32 %p1, %r1, %r2; selp.b32 %r8, 1, 0, %p1; mul.lo.s32 %r9, %r8, %r8;",
        ["setp", "selp 0 1", "mul * %r8 %r8"],
    ),
    "chosen_by_a_multiple": (
        "mul.lo.s32 %r8, %r1, 20; setp.gt.s32 %p1, %r6, %r8; selp.b32 %r9, 1, 0, %p1;",
        ["selp 0 1"],
    ),
    "chosen_of_chosen": (
        "setp.gt.s32 %p1, %r1, 40; selp.b32 %r8, 1, 0, %p1; setp.ge.s32 %p2, %r6, %r1;"
        "selp.b32 %r9, %r2, %r8, %p2;",
        ["setp", "selp 0 1", "selp %r2"],
    ),
    "factor": (
        "setp.gt.s32 %p1, %r1, 40; selp.b32 %r8, 1, 0, %p1; mad.lo.s32 %r9, %r8, %r7, %r9;",
        ["setp", "selp 0 1", "mad * %r8 %r7"],
    ),
    "bits_times_bits": (
        "shr.u32 %r8, %r7, 28; and.b32 %r9, %r7, 7; mul.lo.s32 %r10, %r8, %r9;",
        [],
    ),
    "hidden_by_bits": (
        "setp.gt.s32 %p1, %r1, 40; selp.b32 %r8, 0, -1, %p1; or.b32 %r9, %r8, %r7;",
        ["setp", "selp -1 0", "or %r8"],
    ),
    "sum_of_flags": (
        "setp.gt.s32 %p1, %r1, 40; selp.b32 %r8, 1, 0, %p1; add.s32 %r9, %r8, %r10;"
        "mul.lo.s32 %r11, %r9, %r8;",
        ["setp", "selp 0 1", "mul * %r9 %r8"],
    ),
    "flags_of_sizes": (
        "setp.gt.s32 %p1, %r1, 40; selp.b32 %r8, 1, 0, %p1; mul.lo.s32 %r9, %r8, %r8;",
        ["setp", "selp 0 1", "mul * %r8 %r8"],
    ),
    "flags_in_memory": (
        "setp.gt.s32 %p1, %r1, 40; selp.b32 %r8, 1, 0, %p1; st.shared.u32 [%r3], %r8;"
        "ld.shared.u32 %r9, [%r3]; ld.shared.u32 %r10, [%r3+4]; mul.lo.s32 %r11, %r9, %r10;",
        ["setp", "selp 0 1", "mul * %r9 %r10"],
    ),
    "data_in_memory": (
        "st.shared.u32 [%r3], %r7; ld.shared.u32 %r9, [%r3]; mul.lo.s32 %r11, %r9, %r7;",
        [],
    ),
    "value_of_a_branch": (
        "mov.u32 %r8, 1; setp.gt.s32 %p1, %r1, 40; @%p1 bra $out; mov.u32 %r8, 0; $out:"
        "mul.lo.s32 %r9, %r8, %r7;",
        ["setp", "mul * %r8 %r7"],
    ),
    "upper_half_of_a_size": ("mul.hi.s32 %r8, %r1, 99;", []),
    "asked_elsewhere": (
        "setp.gt.s32 %p1, %r1, 40; setp.ge.s32 %p2, %r6, %r1; @%p2 bra $out; @%p1 bra $out; $out:",
        ["setp", "bra ? %p1"],
    ),
    "brought_along": (
        "setp.gt.s32 %p1, %r1, 40; mov.pred %p2, %p1; @%p2 bra $out; $out:",
        ["setp", "bra ? %p2"],
    ),
    "one_operand": ("activemask.b32 %r8; membar.cta;", []),
    "scaled_data": ("mul.f32 %f3, %f2, %f1; add.f32 %f4, %f3, %f2;", []),
}


def _values(body: str) -> FollowedSizes:
    function = parse(f"{HEAD}{body}\nret; }}\n").functions["k"]
    tried = TriedSizes({1: 1, 2: 1}, (1, 1, 1), (1, 1, 1), {})
    return FollowedSizes(function, function, tried)


def decisions(values: FollowedSizes) -> list[Decision]:
    return [*Decisions(values).found()]


def _said(one: Decision) -> str:
    read = ("?", one.read) if one.read else ()
    factors = ("*", *one.factors) if one.factors else ()
    return " ".join((one.instruction.opcode, *one.differs_from, *factors, *read))


@pytest.mark.parametrize("name", list(DECIDING))
def test_what_has_to_show(name: str) -> None:
    body, expected = DECIDING[name]
    found = decisions(_values(body))
    assert [*map(_said, found)] == expected


@pytest.mark.parametrize(("least", "asked"), [(1, 1), (15, 1), (16, 0), (32, 0)])
def test_sizes_that_are_multiples_settle_what_no_smaller_one_decides(
    least: int, asked: int
) -> None:
    values = _values("setp.lt.s32 %p1, %r1, 16; @%p1 bra $out; $out:")
    assert len([*Decisions(values, {1: least}).found()]) == asked


def test_of_blocks_in_turn_only_comparisons_of_data_have_to() -> None:
    bodies = (DECIDING[name][0] for name in ("number", "data", "bits_of_data", "quotient"))
    found = [*Decisions(_values(" ".join(bodies))).found(of_data=True)]
    assert [one.instruction.operands[1] for one in found] == ["%r7"]


def test_what_a_function_is_given_may_be_data() -> None:
    text = f"""{HEAD}
.reg .b32 %q<3>; {{ .param .b32 param0; st.param.b32 [param0+0], %r7; .param .b32 retval0;
call.uni (retval0), asked, (param0); ld.param.b32 %r8, [retval0+0]; }}
setp.eq.s32 %p1, %r8, %r1; ret; }}
.func (.param .b32 func_retval0) asked(.param .b32 asked_param_0) {{
.reg .pred %p<2>; .reg .b32 %r<4>;
ld.param.u32 %r1, [asked_param_0]; setp.lt.s32 %p1, %r1, 1; selp.b32 %r2, 1, 0, %p1;
st.param.b32 [func_retval0+0], %r2; ret; }}
"""
    module = parse(text)
    tried = TriedSizes({1: 1, 2: 1}, (1, 1, 1), (1, 1, 1), {})
    for name in ("k", "asked"):
        values = FollowedSizes(module.functions[name], module.functions["k"], tried)
        assert decisions(values) == []


#: A thread counts up by 8 from where it is in its block.
ROUNDS = (
    "mov.u32 %r8, %r3; $again: st.global.u32 [%d2], %r8; {} add.s32 %r8, %r8, 8;"
    " setp.lt.s32 %p1, %r8, {}; @%p1 bra $again; setp.gt.s32 %p2, %r8, 700;"
)


@pytest.mark.parametrize(
    ("within", "end", "expected"),
    [
        ("", "640", 0),
        ("", "%r1", 1),
        ("setp.gt.s32 %p3, %r8, %r1; @%p3 bra $out;", "640", 2),
        ("setp.gt.s32 %p3, %r3, %r8; @%p3 bra $out;", "640", 0),
        ("add.s32 %r8, %r8, %r4;", "640", 2),
        ("ld.global.u32 %r8, [%d2];", "640", 0),
    ],
)
def test_what_only_the_place_in_a_block_decides(within: str, end: str, expected: int) -> None:
    found = decisions(_values(ROUNDS.format(within, end) + " $out:"))
    assert len(found) == expected, [one.instruction for one in found]


#: An index less a number is below zero, in blocks of 32.
@pytest.mark.parametrize(
    ("text", "is_shown"),
    [
        ("add.s32 %r8, %r6, -63;", True),
        # Also in the third block.
        ("add.s32 %r8, %r6, -64;", False),
        ("add.s32 %r8, %r6, %r1; add.s32 %r8, %r8, -31;", False),
        # In the first of each row of blocks.
        ("mov.u32 %r9, %ctaid.y; mad.lo.s32 %r10, %r9, 99, %r6; add.s32 %r8, %r10, -63;", False),
        ("add.s32 %r8, %r6, -63; @%p5 bra $on; add.s32 %r8, %r5, -63; $on:", False),
        # In each round over a window of a fixed size; of as many elements as there are.
        (f"add.s32 %r9, %r6, -63; {ROUNDS.format('add.s32 %r9, %r9, 8;', '640')}", True),
        (f"add.s32 %r9, %r6, -63; {ROUNDS.format('add.s32 %r9, %r9, 8;', '%r1')}", False),
    ],
)
def test_what_only_first_blocks_do_shows(text: str, is_shown: bool) -> None:
    index = "%r9" if "%r9, %r9" in text else "%r8"
    found = decisions(_values(f"{text} setp.lt.s32 %p8, {index}, 0;"))
    assert is_shown != any("%p8" in one.instruction.operands for one in found)


def test_a_loop_within_another_begins_anew() -> None:
    inner = ROUNDS.format("", "640").replace("$again", "$inner")
    outer = f"mov.u32 %r10, 0; $outer: {inner} add.s32 %r10, %r10, 1; {{}} @%p4 bra $outer;"
    of_size = outer.format("setp.lt.s32 %p4, %r10, %r1;")
    assert decisions(_values(of_size)) == []
    goes_on = of_size.replace("mov.u32 %r8, %r3; $inner", "$inner")
    assert len(decisions(_values("mov.u32 %r8, %r3; " + goes_on))) == 2
    step = "add.s32 %r8, %r8, 8;"
    by_another = of_size.replace(step, "add.s32 %r11, %r8, 8; mov.u32 %r8, %r11;")
    assert by_another != of_size
    assert decisions(_values(by_another)) == []


def test_a_value_of_the_round_before() -> None:
    loop = "mov.u32 %r8, 1; mov.u32 %r10, 0; $again: setp.gt.s32 %p1, %r8, 700;"
    ends = "add.s32 %r10, %r10, 1; setp.lt.s32 %p2, %r10, {}; @%p2 bra $again;"
    later = "mul.lo.s32 %r8, %r3, 9;"
    assert decisions(_values(f"{loop} {later} {ends.format(640)}")) == []
    found = decisions(_values(f"{loop} {later} {ends.format('%r1')}"))
    assert [one.instruction.operands[0] for one in found] == ["%p1"]
    assert decisions(_values(f"{later} {loop.split(';', 1)[1]} {ends.format('%r1')}")) == []


#: Two counts of one or two, and whether both are two.
BY_BRANCHES = """mov.u32 %r8, 1; mov.u32 %r9, 1;
setp.gt.s32 %p1, {0}; @%p1 bra $one; st.global.u32 [%d2], %r1; mov.u32 %r8, 2; $one:
setp.gt.s32 %p2, {0}; @%p2 bra $two; add.s32 %r9, %r9, 1; st.global.u32 [%d2], %r2; $two:
setp.eq.s32 %p3, %r8, 2; setp.eq.s32 %p4, %r9, 2; and.pred %p5, %p3, %p4;"""


@pytest.mark.parametrize(("test", "expected"), [("%r1, 3", 5), ("%r3, 3", 0)])
def test_branches_that_sizes_decide(test: str, expected: int) -> None:
    found = [one.instruction.opcode for one in decisions(_values(BY_BRANCHES.format(test)))]
    assert found == ["setp", "setp", "setp", "setp", "and"][:expected]
    counted = BY_BRANCHES.format(test).replace("mov.u32 %r8, 2;", "add.s32 %r8, %r8, 1;")
    assert [one.instruction.opcode for one in decisions(_values(counted))] == found


def test_nobody_sees_what_a_branch_leaves_out() -> None:
    within = "mov.u32 %r8, %r3; $again: st.global.u32 [%d2], %r8; add.s32 %r8, %r8, 8;"
    ends = "setp.lt.s32 %p1, %r8, 640; @%p1 bra $again;"
    guarded = f"setp.ge.s32 %p2, %r6, %r1; @%p2 bra $out; {within} {ends} $out:"
    assert decisions(_values(guarded)) == []
    begins_before = guarded.replace("mov.u32 %r8, %r3;", "")
    assert decisions(_values("mov.u32 %r8, %r3; " + begins_before)) == []
    seen = begins_before + " setp.gt.s32 %p3, %r8, 700;"
    assert len(decisions(_values("mov.u32 %r8, %r3; " + seen))) == 2


def test_flags_that_a_loop_joins_are_followed_once() -> None:
    """By two instructions of which each reads what the other one gives."""
    body = "or.b32 %r8, %r9, %r6;\nor.b32 %r9, %r8, %r1;\nsetp.lt.s32 %p1, %r9, 0;"
    module = parse(f"{HEAD}{body}\nret;\n}}")
    (function,) = module.functions.values()
    tried = TriedSizes({1: 200, 2: 200}, (32, 1, 1), (1, 1, 1), {})
    assert FollowedSizes(function, function, tried).reason() == ""
    other = parse(f"{HEAD}{body}\nmul.lo.s32 %r10, %r8, 3;\nret;\n}}")
    (function,) = other.functions.values()
    assert FollowedSizes(function, function, tried).reason() != ""

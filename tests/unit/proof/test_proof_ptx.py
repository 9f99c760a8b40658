"""Verdicts on PTX that compilers seldom write: each case is a body and what is proven of it."""

from __future__ import annotations

import pytest

from cutune.proof.entry import prove
from cutune.proof.entry_proof import in_source
from cutune.proof.flow import walk
from cutune.proof.memory.access_places import AccessPlace
from cutune.proof.memory.thread_meetings import _ThreadMeetings
from cutune.ptx.parse import parse
from tests.support.proof_verdicts import described

HEAD = """\
.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 room[64];
.const .align 4 .b8 table[64];
.func (.param .b32 result) square(.param .b32 value)
{ .reg .b32 %r<4>; ld.param.u32 %r1, [value]; $again: mul.lo.s32 %r2, %r1, %r1;
st.param.b32 [result], %r2; ret; }
.func missing(.param .b32 value);
.func clocked(.param .b32 value) { .reg .b32 %r<4>; mov.u32 %r1, %clock; ret; }
.func waiting(.param .b32 value) { bar.sync 0; ret; }
.func sharing(.param .b32 value) { .reg .b32 %r<4>; mov.u32 %r1, room; ret; }
.func loading(.param .b32 value)
{ .reg .b32 %r<4>; .reg .b64 %rd<4>; ld.shared.u32 %r1, [%rd1]; ret; }
.func ordering(.param .b32 value)
{ .reg .b32 %r<4>; .reg .b64 %rd<4>; ld.volatile.u32 %r1, [%rd1]; ret; }
.func hinted(.param .b32 value)
{ .reg .b32 %r<4>; .reg .b64 %rd<4>; ld.global.L1::evict_last.u32 %r1, [%rd1]; ret; }
.func storing(.param .b32 value)
{ .reg .b32 %r<4>; .reg .b64 %rd<4>; st.shared.u32 [%rd1], %r1; ret; }
.func labelled(.param .b32 value) { $begin: bar.sync 0; ret; }
.func outer(.param .b32 value) { call waiting, (value); ret; }
.func endless(.param .b32 value) { call endless, (value); ret; }
.visible .entry kernel(
.param .u64 kernel_param_0, .param .u32 kernel_param_1, .param .u32 kernel_param_2)
{
.local .align 4 .b8 room_of_each[64];
.reg .pred %p<9>; .reg .f32 %f<9>; .reg .b16 %rs<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>;
ld.param.u64 %rd1, [kernel_param_0];
ld.param.u32 %r1, [kernel_param_1];
ld.param.u32 %r2, [kernel_param_2];
mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;
mad.lo.s32 %r6, %r3, %r4, %r5;
"""
#: An element per id; the same where the id is below n, and a value there.
OWN = "mul.wide.s32 %rd2, %r6, 4; add.s64 %rd3, %rd1, %rd2; "
STORE = f"{OWN} st.global.u32 [%rd3], {{}};"
BELOW = "setp.ge.s32 %p1, %r6, %r1; @%p1 bra $end; "


def verdict(body: str) -> str:
    module = parse(f"{HEAD}{body}\n$end: ret;\n}}\n")
    return described(prove(module, "kernel"), {"1:0:b32": "n", "2:0:b32": "m"})


def test_a_proof_ends_after_so_much_work(monkeypatch: pytest.MonkeyPatch) -> None:
    module = parse(f"{HEAD}{BELOW}{STORE.format('%r1')}\n$end: ret;\n}}\n")
    assert prove(module, "kernel").refused is None
    monkeypatch.setattr(walk, "_MOST_WALKED", 0)
    monkeypatch.setattr(walk, "_MOST_WALKED_EACH", 1)
    refused = prove(module, "kernel").refused
    assert refused is not None and "code that takes too long to walk through" in refused.message


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("setp.lt.s32 %p1, %r6, %r1; @!%p1 bra $end;", "x < n"),
        # With another condition: both hold, or one of them.
        ("setp.ne.s32 %p2, %r2, 7; setp.lt.and.s32 %p1, %r6, %r1, %p2; @!%p1 bra $end;", "x < n"),
        ("setp.ne.s32 %p2, %r2, 7; setp.lt.or.s32 %p1, %r6, %r1, %p2; @!%p1 bra $end;", "x"),
        ("setp.ge.s32 %p2, %r6, %r1; setp.ne.and.s32 %p1, %r2, 7, !%p2; @!%p1 bra $end;", "x < n"),
        ("setp.ge.s32 %p2, %r6, %r1; setp.ne.and.s32 %p1, %r2, 7, %p2; @!%p1 bra $end;", "x"),
        ("setp.ge.s32 %p2, %r6, %r1; setp.ne.xor.s32 %p1, %r2, 7, %p2; @!%p1 bra $end;", "x"),
        # The second result is another condition.
        ("setp.lt.s32 %p1|%p2, %r6, %r1; @!%p1 bra $end;", "x < n"),
        ("setp.lt.s32 %p2|%p1, %r6, %r1; @!%p1 bra $end;", "x"),
        # Conditions in registers.
        ("setp.lt.s32 %p1, %r6, %r1; not.pred %p2, %p1; @%p2 bra $end;", "x < n"),
        ("setp.lt.s32 %p2, %r6, %r1; mov.pred %p1, %p2; @!%p1 bra $end;", "x < n"),
        ("setp.lt.s32 %p2, %r6, %r1; mov.pred %p1, !%p2; @!%p1 bra $end;", "x"),
        ("setp.ge.s32 %p2, %r6, %r1; mov.pred %p1, !%p2; @!%p1 bra $end;", "x < n"),
        (
            "setp.lt.s32 %p2, %r6, %r1; setp.lt.s32 %p3, %r6, %r2; or.pred %p1, %p2, %p3;"
            " @!%p1 bra $end;",
            "x",
        ),
        (
            "setp.ge.s32 %p2, %r6, %r1; setp.ge.s32 %p3, %r6, %r2; or.pred %p1, %p2, %p3;"
            " @%p1 bra $end;",
            "x < n; x < m",
        ),
        (
            "setp.lt.s32 %p2, %r6, %r1; setp.lt.s32 %p3, %r6, %r2; xor.pred %p1, %p2, %p3;"
            " @!%p1 bra $end;",
            "x",
        ),
        # With a condition that is known, as loops have that are unrolled by two.
        (
            "setp.lt.s32 %p2, %r6, %r1; mov.pred %p3, 0; xor.pred %p1, %p2, %p3; @!%p1 bra $end;",
            "x < n",
        ),
        (
            "setp.lt.s32 %p2, %r6, %r1; mov.pred %p3, -1; xor.pred %p1, %p3, %p2; @%p1 bra $end;",
            "x < n",
        ),
        (
            "setp.lt.s32 %p2, %r6, %r1; mov.pred %p3, -1; xor.pred %p1, %p2, %p3; @!%p1 bra $end;",
            "x",
        ),
        # Chosen by a number, or by another condition.
        (
            "setp.lt.s32 %p2, %r6, %r1; selp.u32 %r7, 1, 0, %p2; setp.eq.s32 %p1, %r7, 0;"
            " @%p1 bra $end;",
            "x < n",
        ),
        (
            "setp.lt.s32 %p2, %r6, %r1; selp.u32 %r7, 0, 1, %p2; setp.eq.s32 %p1, %r7, 0;"
            " @%p1 bra $end;",
            "x",
        ),
        # Times a number that may be 0.
        (
            "setp.ge.s32 %p2, %r6, %r1; selp.u32 %r7, 1, 0, %p2; mul.lo.s32 %r8, %r7, %r2;"
            " setp.ne.s32 %p1, %r8, 0; @%p1 bra $end;",
            "x",
        ),
        # A part of a size, and an id that is shifted.
        (
            "add.s32 %r7, %r6, 2; shr.u32 %r8, %r1, 2; setp.ge.u32 %p1, %r7, %r8; @%p1 bra $end;",
            "4 * x < n - 11",
        ),
        # The id by another name.
        ("cvt.u32.s32 %r7, %r6; setp.ge.s32 %p1, %r7, %r1; @%p1 bra $end;", "x < n"),
        ("shl.b32 %r7, %r6, 0; setp.ge.s32 %p1, %r7, %r1; @%p1 bra $end;", "x < n"),
        # Of two conditions one holds: which, a third one decides.
        (
            "setp.lt.s32 %p1, %r6, %r1; setp.eq.s32 %p2, %r2, 7; @%p2 bra $over;"
            " setp.lt.s32 %p1, %r6, %r2; $over: @!%p1 bra $end;",
            "x",
        ),
        # The condition itself may have been replaced.
        (
            "setp.lt.s32 %p1, %r6, %r1; setp.eq.s32 %p2, %r2, 7; @%p2 mov.pred %p1, %p3;"
            " @!%p1 bra $end;",
            "x",
        ),
    ],
)
def test_conditions(condition: str, expected: str) -> None:
    assert verdict(condition + STORE.format("%r2")) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # What threads store, by their ids or by the block.
        (STORE.format("%r6"), "x < n"),
        (STORE.format("%r5"), "x raw"),
        (f"add.u32 %r7, %r5, 1; {STORE.format('%r7')}", "x raw"),
        (f"and.b32 %r7, %r5, 48; {STORE.format('%r7')}", "x raw"),
        # Bits of a lane.
        (f"and.b32 %r7, %r5, 12; {STORE.format('%r7')}", "x < n; warps"),
        (f"shl.b32 %r7, %r5, 2; and.b32 %r8, %r7, 28; {STORE.format('%r8')}", "x < n; warps"),
        (f"shl.b32 %r7, %r5, 2; and.b32 %r8, %r7, 144; {STORE.format('%r8')}", "x raw"),
        # In words and halves.
        (f"mov.b32 {{%rs1, %rs2}}, %r6; cvt.u32.u16 %r7, %rs2; {STORE.format('%r7')}", "x < n"),
        (f"mov.b32 {{%rs1, %rs2}}, %r5; cvt.u32.u16 %r7, %rs2; {STORE.format('%r7')}", "x raw"),
        (f"mov.b32 {{%rs1, _}}, %r5; cvt.u32.u16 %r7, %rs1; {STORE.format('%r7')}", "x raw"),
        (f"mov.b64 %rd5, {{%r5, %r2}}; shr.u64 %rd6, %rd5, 32; cvt.u32.u64 %r7, %rd6;"
         f" {STORE.format('%r7')}", "x raw"),
        (f"mov.b64 %rd5, {{%r6, %r2}}; shr.u64 %rd6, %rd5, 32; cvt.u32.u64 %r7, %rd6;"
         f" {STORE.format('%r7')}", "x < n"),
        # With a carry.
        (f"add.cc.u32 %r7, %r6, %r2; addc.u32 %r8, %r2, 0; {STORE.format('%r8')}", "x < n"),
        (f"add.cc.u32 %r7, %r5, %r2; addc.u32 %r8, %r2, 0; {STORE.format('%r8')}", "x raw"),
        (f"sub.cc.u32 %r7, %r5, %r2; subc.u32 %r8, %r2, 0; {STORE.format('%r8')}", "x raw"),
        # Where a condition holds.
        (f"setp.eq.s32 %p2, %r2, 7; mov.u32 %r7, 0; @%p2 mov.u32 %r7, %r6; {STORE.format('%r7')}",
         "x < n"),
        (f"setp.eq.s32 %p2, %r2, 7; mov.u32 %r7, 0; @%p2 mov.u32 %r7, %r5; {STORE.format('%r7')}",
         "x raw"),
        (f"setp.eq.s32 %p2, %r5, 7; mov.u32 %r7, 0; @%p2 mov.u32 %r7, %r2; {STORE.format('%r7')}",
         "x raw"),
        (f"setp.eq.s32 %p2, %r2, 7; mov.u32 %r7, %r5; @%p2 mov.u32 %r7, 0; {STORE.format('%r7')}",
         "x raw"),
        (f"setp.eq.s32 %p2, %r5, 7; {OWN} @%p2 st.global.u32 [%rd3], %r2;", "x raw"),
        (f"setp.eq.s32 %p2, %r5, 7; {OWN} @%p2 red.global.add.u32 [%rd3], %r2;", "x raw"),
        (f"setp.eq.s32 %p2, %r2, 7; {OWN} @%p2 red.global.add.u32 [%rd3], %r2;", "x < n"),
        (f"setp.eq.s32 %p2, %r5, 7; {OWN} @%p2 atom.global.add.u32 %r7, [%rd3], %r2;", "x raw"),
        (f"setp.eq.s32 %p2, %r5, 7; {OWN} @%p2 ld.global.u32 %r7, [%rd3];", "x raw"),
        (f"setp.eq.s32 %p2, %r5, 7; @%p2 trap; {STORE.format('%r2')}", "x raw"),
        (f"setp.eq.s32 %p2, %r2, 7; @%p2 trap; {STORE.format('%r2')}", "x < n"),
        (f"setp.eq.s32 %p2, %r5, 7; {{ .param .b32 value; st.param.b32 [value], %r2;"
         f" @%p2 call hinted, (value); }} {STORE.format('%r2')}", "x raw"),
        (f"setp.eq.s32 %p2, %r2, 7; {OWN} @%p2 st.global.u32 [%rd3], %r2;", "x < n"),
        # On the way that a condition has chosen.
        ("setp.eq.s32 %p2, %r2, 7; mov.u32 %r7, 0; @%p2 bra $over; mov.u32 %r7, %r6;"
         f" $over: {STORE.format('%r7')}", "x < n"),
        ("setp.eq.s32 %p2, %r5, 7; mov.u32 %r7, 0; @%p2 bra $over; mov.u32 %r7, %r2;"
         f" $over: {STORE.format('%r7')}", "x raw"),
        # A loop that is come to from two places.
        ("mov.u32 %r7, 0; setp.eq.s32 %p2, %r2, 7; @%p2 bra $loop; mov.u32 %r7, 5;"
         f" $loop: {STORE.format('%r7')} add.u32 %r7, %r7, 1; setp.lt.s32 %p3, %r7, %r2;"
         " @%p3 bra $loop;", "x < n"),
        ("mov.u32 %r7, %r5; setp.eq.s32 %p2, %r2, 7; @%p2 bra $loop; mov.u32 %r7, 5;"
         f" $loop: {STORE.format('%r7')} add.u32 %r7, %r7, 1; setp.lt.s32 %p3, %r7, %r2;"
         " @%p3 bra $loop;", "x raw"),
        # What was never written, is told by other lanes, or comes from a texture.
        (STORE.format("%r30"), "x < n"),
        (f"vote.sync.ballot.b32 %r7, %p1, -1; {STORE.format('%r7')}", "x < n; warps"),
        (f"setp.eq.s32 %p2, %r5, 7; vote.sync.ballot.b32 %r7, %p2, -1; {STORE.format('%r7')}",
         "x raw"),
        (f"setp.eq.s32 %p2, %r5, 7; vote.sync.ballot.b32 %r7, !%p2, -1; {STORE.format('%r7')}",
         "x raw"),
        (f"mov.u32 %r7, %laneid; {STORE.format('%r7')}", "x < n; warps"),
        (f"mov.u32 %r7, %lanemask_lt; and.b32 %r8, %r7, %r2; {STORE.format('%r8')}",
         "x < n; warps"),
        (f"tex.1d.v4.u32.s32 {{%r7, _, _, _}}, [%rd5, {{%r6}}]; {STORE.format('%r7')}", "x < n"),
        (f"tex.1d.v4.u32.s32 {{%r7, _, _, _}}, [%rd5, {{%r5}}]; {STORE.format('%r7')}", "x raw"),
        # No operation on conditions that is known.
        (f"cnot.pred %p2, %p1; {STORE.format('%r2')}", "CT219"),
        # By a table of labels.
        ("$which: .branchtargets $one, $end; brx.idx %r2, $which; $one: " + STORE.format("%r2"),
         "x < n"),
        ("$which: .branchtargets $one, $end; brx.idx %r5, $which; $one: " + STORE.format("%r2"),
         "x raw"),
        # What nobody asks for changes nothing.
        (f"mov.u32 %r7, %r5; {STORE.format('%r2')}", "x < n"),
    ],
)  # fmt: skip
def test_values(body: str, expected: str) -> None:
    assert verdict(BELOW + body) == expected


#: Eight bytes per id, and the address of an element by the thread alone.
PAIRS = "mul.wide.s32 %rd2, %r6, 8; add.s64 %rd3, %rd1, %rd2;"
BY_THREAD = "mul.wide.s32 %rd6, %r5, 4; add.s64 %rd7, %rd1, %rd6;"
#: One of so many bytes per id, which a number from a table tells.
IN_STEP = (
    "ld.const.u32 %r7, [table]; {}; mad.lo.s32 %r9, %r6, {}, %r8; cvt.s64.s32 %rd6, %r9;"
    " add.s64 %rd7, %rd1, %rd6; st.global.u8 [%rd7], %r6;"
)
#: A loop that blocks share, with the test that lets it go on.
SHARED_ROW = """
mov.u32 %r10, %r5; setp.ge.s32 %p1, %r10, %r1; @%p1 bra $end; add.s32 %r12, %r1, -1;
$row: mad.lo.s32 %r11, %r3, %r1, %r10; mul.wide.s32 %rd2, %r11, 4; add.s64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r10; add.s32 %r10, %r10, %r4; setp.{}; @%p2 bra $row;
"""
#: The same over a row of three elements, the first of which is not tested by its place in memory.
ROW_OF_THREE = """
mov.u32 %r10, %r5; setp.ge.s32 %p1, %r10, 3; @%p1 bra $end;
$row: mad.lo.s32 %r11, %r3, 3, %r10; mul.wide.s32 %rd2, %r11, 4; add.s64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r10; add.s32 %r10, %r10, %r4; shl.b32 %r13, %r10, 2;
setp.lt.s32 %p2, %r13, {}; @%p2 bra $row;
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # Several numbers at once: as many bytes as the ids leave, or more.
        (f"{PAIRS} st.global.v2.u32 [%rd3], {{%r2, %r6}};", "x < n"),
        (f"{OWN} st.global.v2.u32 [%rd3], {{%r2, %r6}};", "x < n; warps"),
        (f"{PAIRS} st.global.v2.u32 [%rd3], {{%r2, %r5}};", "x raw"),
        (f"{PAIRS} st.global.u32 [%rd3], %r2; st.global.u32 [%rd3+4], %r6;", "x < n"),
        (f"{PAIRS} st.global.u64 [%rd3], %rd1; ld.global.u32 %r7, [%rd3+8];", "x < n; warps"),
        (f"{PAIRS} ld.global.u32 %r7, [%rd3]; st.global.u32 [%rd3+4], %r7;", "x < n"),
        # Addresses by the thread alone.
        (f"{BY_THREAD} st.global.u32 [%rd7], %r2;", "x raw"),
        (f"{BY_THREAD} ld.global.u32 %r7, [%rd7]; {STORE.format('%r7')}", "x raw"),
        (f"{BY_THREAD} red.global.add.u32 [%rd7], %r2;", "x raw"),
        (f"{BY_THREAD} prefetch.global.L2 [%rd7]; {STORE.format('%r2')}", "x raw"),
        (f"{OWN} prefetch.global.L2 [%rd3]; st.global.u32 [%rd3], %r2;", "x < n"),
        # Each thread has local memory of its own.
        ("st.local.u32 [room_of_each], %r6; ld.local.u32 %r7, [room_of_each];"
         f" {STORE.format('%r7')}", "x < n"),
        (f"st.local.u32 [room_of_each], %r5; {STORE.format('%r2')}", "x raw"),
        # Atomic operations: in any order, with results that nobody reads.
        ("red.global.add.u32 [%rd1], %r2;", "x < n"),
        ("red.global.add.u32 [%rd1], %r5;", "x raw"),
        ("atom.global.max.s32 %r7, [%rd1], %r6;", "x < n"),
        ("atom.global.max.s32 _, [%rd1], %r6;", "x < n"),
        (f"atom.global.add.u32 %r7, [%rd1], %r2; {STORE.format('%r7')}", "CT216"),
        ("atom.global.acquire.add.u32 %r7, [%rd1], %r2;", "CT222"),
        ("red.global.L2::cache_hint.add.u32 [%rd1], %r2;", "x < n"),
        # All exchange one value, or different ones; others may do something else there.
        ("atom.global.exch.b32 %r7, [%rd1], %r2;", "x < n"),
        ("atom.global.exch.b32 %r7, [%rd1], 1; atom.global.exch.b32 %r7, [%rd1], 1;", "x < n"),
        ("atom.global.exch.b32 %r7, [%rd1], %r6;", "CT222"),
        ("atom.global.exch.b32 %r7, [%rd1], 1; atom.global.exch.b32 %r7, [%rd1], 0;", "CT222"),
        ("atom.global.exch.b32 %r7, [%rd1], 1; red.global.add.u32 [%rd1], 1;", "CT222"),
        ("atom.global.exch.b32 %r7, [%rd1], 1; st.global.u32 [%rd1], 0;", "x < n; warps"),
        ("atom.global.exch.b32 %r7, [%rd1], 1; ld.global.u32 %r8, [%rd1];", "x < n; warps"),
        (f"atom.global.exch.b32 %r7, [%rd1], 1; {STORE.format('%r7')}", "CT216"),
        ("atom.global.exch.b32 %r7, [%rd1], %r5;", "CT222"),
        ("ld.global.u32 %r7, [%rd1+64]; atom.global.exch.b32 %r8, [%rd1], %r7;", "CT222"),
        (f"{OWN} atom.global.exch.b32 %r7, [%rd3], %r6;", "x < n"),
        ("red.global.add.u32 [%rd1], %r2; red.global.max.u32 [%rd1], %r2;", "CT222"),
        ("red.global.add.u32 [%rd1], %r2; red.global.max.u32 [%rd1+4], %r2;", "x < n"),
        ("red.global.inc.u32 [%rd1], %r2;", "x < n"),
        ("red.global.inc.u32 [%rd1], %r6;", "CT222"),
        # What threads meet in.
        ("st.global.u32 [%rd1], %r2;", "x < n"),  # all write the same
        ("st.global.u32 [%rd1], %r2; ld.global.u32 %r7, [%rd1];", "x < n; warps"),
        ("st.global.u32 [%rd1], %r2; st.global.u32 [%rd1], %r1;", "x < n; warps"),
        ("st.global.u32 [%rd1], %r6;", "x < n; warps"),
        (f"{OWN} st.global.u32 [%rd3], %r2; ld.global.u32 %r7, [%rd3+4];", "x < n; warps"),
        (f"{OWN} ld.global.u32 %r7, [%rd3]; st.global.u32 [%rd3], %r7;", "x < n"),
        ("ld.global.u64 %rd9, [%rd1]; st.global.u32 [%rd9], %r2;", "x < n; warps"),
        # One of two numbers, by a condition that holds for some threads, or for all.
        ("setp.lt.s32 %p2, %r6, 7; mov.u32 %r7, 0; @%p2 bra $over; mov.u32 %r7, %r2;"
         " $over: st.global.u32 [%rd1], %r7;", "x < n; warps"),
        ("setp.lt.s32 %p2, %r2, 7; mov.u32 %r7, 0; @%p2 bra $over; mov.u32 %r7, %r2;"
         " $over: st.global.u32 [%rd1], %r7;", "x < n"),
        ("tex.1d.v4.u32.s32 {%r7, _, _, _}, [%rd5, {%r6}]; mul.wide.s32 %rd6, %r7, 4;"
         " add.s64 %rd7, %rd1, %rd6; st.global.u32 [%rd7], %r6;", "x < n; warps"),
        # A byte of 256, unless it has a sign.
        (IN_STEP.format("cvt.u8.s32 %r8, %r7", 256), "x < n"),
        (IN_STEP.format("cvt.u8.s32 %r8, %r7", 255), "x < n; warps"),
        (IN_STEP.format("cvt.s8.s32 %r8, %r7", 256), "x < n; warps"),
        # Its third, and the upper half of a multiple.
        (IN_STEP.format("cvt.u8.s32 %r7, %r7; div.u32 %r8, %r7, 3", 86), "x < n"),
        (IN_STEP.format("cvt.u8.s32 %r7, %r7; div.u32 %r8, %r7, 3", 85), "x < n; warps"),
        (IN_STEP.format("cvt.u8.s32 %r7, %r7; mul.hi.u32 %r8, %r7, 0x10000000", 16), "x < n"),
        # An element by the id, or by twice the id, as a condition says.
        ("mov.u32 %r7, %r6; setp.ge.s32 %p2, %r6, 100; @%p2 bra $over; shl.b32 %r7, %r6, 1;"
         " $over: mul.wide.s32 %rd2, %r7, 4; add.s64 %rd3, %rd1, %rd2;"
         " st.global.u32 [%rd3], %r6;", "x < n; warps"),
        # Warps: all lanes, or some.
        (f"bar.warp.sync -1; {STORE.format('%r2')}", "x < n; warps"),
        (f"bar.warp.sync 3; {STORE.format('%r2')}", "CT213"),
        (f"vote.sync.any.pred %p2, %p1, -1; {STORE.format('%r2')}", "x < n; warps"),
        (f"vote.sync.ballot.b32 %r7, %p1, 7; {STORE.format('%r7')}", "CT213"),
        (f"shfl.sync.idx.b32 %r7, %r5, 0, 31, -1; {STORE.format('%r7')}", "x raw"),
        (f"match.any.sync.b32 %r7, %r6, -1; {STORE.format('%r7')}", "CT213"),
        # ~i | -32 is ~(i & 31).
        (f"not.b32 %r7, %r5; or.b32 %r7, %r7, -32; {STORE.format('%r7')}", "x < n; warps"),
        (f"not.b32 %r7, %r5; or.b32 %r7, %r7, -64; {STORE.format('%r7')}", "x raw"),
        (f"or.b32 %r7, %r5, -32; {STORE.format('%r7')}", "x raw"),
        (f"not.b32 %r7, %r5; or.b32 %r7, %r7, 32; {STORE.format('%r7')}", "x raw"),
        # What a warp has told about itself may say who takes part.
        (f"activemask.b32 %r7; {STORE.format('%r7')}", "x < n; warps"),
        (f"activemask.b32 %r8; shfl.sync.idx.b32 %r7, %r6, 0, 31, %r8; {STORE.format('%r7')}",
         "x < n; warps"),
        (f"vote.sync.ballot.b32 %r8, %p1, -1; shfl.sync.idx.b32 %r7, %r6, 0, 31, %r8;"
         f" {STORE.format('%r7')}", "x < n; warps"),
        (f"activemask.b32 %r8; shr.u32 %r8, %r8, 1; shfl.sync.idx.b32 %r7, %r6, 0, 31, %r8;"
         f" {STORE.format('%r7')}", "CT213"),
        (f"activemask.b32 %r8; @%p1 shfl.sync.idx.b32 %r7, %r6, 0, 31, %r8;"
         f" {STORE.format('%r7')}", "CT213"),
        (f"ld.global.u32 %r8, [%rd1]; shfl.sync.idx.b32 %r7, %r6, 0, 31, %r8;"
         f" {STORE.format('%r7')}", "CT213"),
        (f"membar.gl; {STORE.format('%r2')}", "CT222"),
        (f"ld.volatile.global.u32 %r7, [%rd1]; {STORE.format('%r7')}", "CT222"),
        (f"ld.global.relaxed.gpu.u32 %r7, [%rd1]; {STORE.format('%r7')}", "CT222"),
        (f"ld.shared.u32 %r7, [room]; {STORE.format('%r7')}", "CT211"),
    ],
)  # fmt: skip
def test_memory(body: str, expected: str) -> None:
    assert verdict(BELOW + body) == expected


@pytest.mark.parametrize(
    ("test", "is_shared"),
    [
        ("lt.s32 %p2, %r10, %r1", True),
        ("gt.s32 %p2, %r1, %r10", True),
        ("le.s32 %p2, %r10, %r12", True),
        ("ge.s32 %p2, %r12, %r10", True),
        # The first element is tested by another limit than those behind it.
        ("le.s32 %p2, %r10, %r1", False),
        ("lt.s32 %p2, %r10, %r12", False),
        ("gt.s32 %p2, %r10, %r1", False),
        ("ne.s32 %p2, %r10, %r1", False),
        # Numbers of 16 bits.
        ("lt.s16 %p2, %r10, %r1", False),
    ],
)
def test_rows_that_blocks_share(test: str, is_shared: bool) -> None:
    assert _is_shared(SHARED_ROW.format(test)) is is_shared


@pytest.mark.parametrize(
    ("end", "is_shared"), [(8, False), (9, True), (10, True), (12, True), (13, False)]
)
def test_rows_whose_bytes_are_counted(end: int, is_shared: bool) -> None:
    """The rest of an element is one more."""
    assert _is_shared(ROW_OF_THREE.format(end)) is is_shared


def _is_shared(body: str) -> bool:
    room = ".local .align 4 .b8 room_of_each[64];\n"
    module = parse(f"{HEAD.replace(room, '')}{body}\n$end: ret;\n}}\n")
    (found, *_) = prove(module, "kernel").dimensions
    assert (found.raw is None) is found.grid_kept
    return found.grid_kept


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        ("square", "x < n; warps"),
        ("hinted", "x < n; warps"),
        ("endless", "x < n; warps"),
        ("missing", "CT218"),
        ("__cudaCDP2GetParameterBufferV2", "CT222"),
        ("cudaLaunchDeviceV2", "CT222"),
        ("clocked", "CT219"),
        ("waiting", "CT219"),
        ("sharing", "CT219"),
        ("loading", "CT219"),
        ("storing", "CT219"),
        ("labelled", "CT219"),
        ("ordering", "CT219"),
        ("outer", "CT219"),
    ],
)
def test_functions_that_are_called(called: str, expected: str) -> None:
    call = f"{{ .param .b32 value; st.param.b32 [value], %r2; call {called}, (value); }} "
    if called == "square":
        call = call.replace("call square", ".param .b32 result; call (result), square")
    assert verdict(BELOW + call + STORE.format("%r2")) == expected


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("mov.u32 %r7, %clock;", "CT222"),
        ("mov.u64 %rd5, %globaltimer;", "CT222"),
        ("mov.u32 %r7, %smid;", "CT219"),
        ("shfl.sync.bfly.b32 %r7|%p2, %r6, 1, 31, -1;", "x < n; warps"),
        ("bar.sync 0;", "CT212"),
        ("nanosleep.u32 100;", "CT219"),
        ("st.shared.u32 [room], %r2;", "CT211"),
    ],
)
def test_instructions_besides(instruction: str, expected: str) -> None:
    assert verdict(BELOW + instruction + STORE.format("%r2")) == expected


@pytest.mark.parametrize(
    ("what", "named"),
    [
        ("'%clock'", "clock()"),
        ("'%clock64'", "clock64()"),
        ("'%globaltimer'", "'%globaltimer'"),
        ("'%rd12'", "a function by its address"),
        ("'_Z4walkPi'", "'walk'"),
    ],
)
def test_what_code_uses_is_named_as_in_the_source(what: str, named: str) -> None:
    assert in_source(what) == named


@pytest.mark.parametrize(("directive", "most"), [("", 1024), (".maxntid 128, 2, 1\n", 256)])
def test_how_many_threads_a_block_was_compiled_for(directive: str, most: int) -> None:
    head = HEAD.replace("{\n.local", f"{directive}{{\n.local")
    assert (head == HEAD) is (not directive)
    module = parse(f"{head}{BELOW}{STORE.format('%r2')}\n$end: ret;\n}}\n")
    assert prove(module, "kernel").max_threads == most


def test_places_of_one_column_are_not_compared_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand stores are a million pairs."""
    compared: list[object] = []
    own = _ThreadMeetings._two

    def counted(self: _ThreadMeetings, write: AccessPlace, other: AccessPlace) -> None:
        compared.append(write)
        own(self, write, other)

    monkeypatch.setattr(_ThreadMeetings, "_two", counted)
    row = "mul.wide.s32 %rd4, %r1, 4; "
    next_row = "st.global.u32 [%rd3], 7; add.s64 %rd3, %rd3, %rd4; "
    assert verdict(f"{BELOW}{OWN}{row}{next_row * 30}") == "x < n"
    assert not compared
    # An element further on: that of the next thread.
    assert "warps" in verdict(f"{BELOW}{OWN}{row}{next_row * 3}st.global.u32 [%rd3+4], %r6;")
    assert compared


def test_long_code_is_read_by_ids_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of tiles that are unrolled would be walked dozens of times, for minutes."""
    row = "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2;"
    text = HEAD + f"{row} st.global.u32 [%rd3], %r1; ret; }}"
    monkeypatch.setattr("cutune.proof.block_use.MOST_INSTRUCTIONS", 3)
    monkeypatch.setattr("cutune.proof.entry.MOST_INSTRUCTIONS", 3)
    monkeypatch.setattr("cutune.proof.entry._by_other_readings", None)
    proof = prove(parse(text), "kernel")
    assert not proof.is_tunable and proof.block_use.is_long
    assert "instructions" in proof.block_use.flat.obstacle

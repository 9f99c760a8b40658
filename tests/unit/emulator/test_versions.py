"""Full warps compute with one number, or numbers in steps, in place of lanes: the same results.

Threads of a block whose last warp lacks a lane do not: both must leave the same, and so must a
kernel in which steps are hidden from the machine.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from cutune.core.diagnostics import CutuneError
from cutune.emulator.machine import SITE, LaunchCounters
from tests.support.ptx_statements import BEGIN, END, aligned, launch, module, run

BLOCKS = [
    (32, 1, 1),
    (64, 2, 1),
    (16, 4, 1),
    (8, 8, 1),
    (4, 8, 1),
    (1, 32, 1),
    (16, 1, 4),
    (24, 4, 1),
]


def both(body: str, before: str = "") -> list[int]:
    """The values of the first 31 threads, which must not depend on whether there is one more."""
    full, partial = run(body, 32, before=before), run(body, 31, before=before)
    assert full[:31] == partial
    return partial


def test_an_index_that_wraps_around_in_one_lane() -> None:
    body = """
      add.u32 %r4, %r1, 0xfffffff0;
      mul.wide.u32 %rd4, %r4, 4;
      mad.wide.s32 %rd5, %r4, 8, %rd4;
      cvt.s64.s32 %rd6, %r4;
      cvt.u64.u32 %rd7, %r4;
      shr.u64 %rd8, %rd5, 3;
      add.s64 %rd8, %rd8, %rd6;
      add.s64 %rd8, %rd8, %rd7;
      shr.u64 %rd9, %rd8, 32;
      cvt.u32.u64 %r2, %rd8;
      cvt.u32.u64 %r5, %rd9;
      xor.b32 %r2, %r2, %r5;
    """
    mask, expected = (1 << 64) - 1, []
    for thread in range(31):
        index = (thread + 0xFFFFFFF0) & 0xFFFFFFFF
        signed = index - (1 << 32) if index >> 31 else index
        value = ((4 * index + 8 * signed & mask) >> 3) + signed + index & mask
        expected.append((value ^ value >> 32) & 0xFFFFFFFF)
    assert both(body) == expected


def test_signed_index_that_wraps_around_from_row_to_row() -> None:
    text = """
.visible .entry kernel(.param .u64 out) {
  .reg .b64 %rd<9>; .reg .b32 %r<9>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y;
  mad.lo.u32 %r3, %r2, 16, %r1;
  mul.wide.u32 %rd2, %r3, 8;
  add.s64 %rd3, %rd1, %rd2;
  mad.lo.s32 %r4, %r2, 0x40000000, %r1;
  add.s32 %r4, %r4, 0x40000000;
  mul.wide.s32 %rd4, %r4, 3;
  st.global.u64 [%rd3], %rd4;
  ret;
}"""
    out = np.zeros(64, np.int64)
    launch(text, (16, 4, 1), out)
    x, y = np.arange(64) % 16, np.arange(64) // 16
    assert (out == 3 * (x + (y + 1) * 0x40000000).astype(np.int32).astype(np.int64)).all()


def test_registers_reach_their_lanes_where_lanes_part() -> None:
    body = """
      mov.u32 %r2, 5; mad.lo.u32 %r3, %r1, 3, 7; mov.u32 %r6, 0;
    again:
      add.u32 %r3, %r3, 2;
      add.u32 %r2, %r2, %r3;
      and.b32 %r4, %r1, 3;
      setp.eq.u32 %p1, %r4, 2;
      @%p1 bra skip;
      add.u32 %r2, %r2, 100;
      sub.u32 %r3, %r3, 1;
    skip:
      shl.b32 %r5, %r3, 1;
      add.u32 %r2, %r2, %r5;
      add.u32 %r6, %r6, 1;
      setp.lt.u32 %p2, %r6, 5;
      @%p2 bra again;
    """
    expected = []
    for thread in range(31):
        value, number = 5, 3 * thread + 7
        for _ in range(5):
            number += 2
            value += number
            if thread & 3 != 2:
                value, number = value + 100, number - 1
            value += 2 * number
        expected.append(value)
    assert both(body) == expected


def test_predicated_instructions_on_some_lanes_all_and_none() -> None:
    body = """
      mov.u32 %r2, 1; add.u32 %r3, %r1, 4; mov.u32 %r4, 9;
      setp.lt.u32 %p1, %r1, 10; setp.lt.u32 %p2, %r4, 10; setp.gt.u32 %p3, %r4, 10;
      @%p1 add.u32 %r2, %r3, %r4;
      @!%p1 mov.u32 %r4, %r3;
      @%p2 add.u32 %r2, %r2, %r4;
      @%p3 mov.u32 %r2, 0;
      @!%p3 mad.lo.u32 %r3, %r4, 10, %r3;
      add.u32 %r2, %r2, %r3;
    """
    expected = []
    for thread in range(31):
        value, number, other = 1, thread + 4, 9
        if thread < 10:
            value = number + other
        else:
            other = number
        expected.append(value + other + number + 10 * other)
    assert both(body) == expected


def test_lanes_that_leave_early() -> None:
    body = """
      mov.u32 %r2, 3; mad.lo.u32 %r3, %r1, 2, 1;
      st.global.u32 [%rd3], %r3;
      setp.ge.u32 %p1, %r1, 20;
      @%p1 exit;
      add.u32 %r2, %r2, %r3;
    """
    assert both(body) == [3 + 2 * i + 1 if i < 20 else 2 * i + 1 for i in range(31)]


def test_barriers_in_a_loop_keep_what_is_known() -> None:
    text = """
.visible .entry kernel(.param .u64 out, .param .u32 rounds) {
  .reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .pred %p<3>;
  .shared .align 4 .b8 cells[512];
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r9, [rounds];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, cells;
  shl.b32 %r3, %r1, 2;
  add.u32 %r4, %r2, %r3;
  mov.u32 %r5, %r1;
  mov.u32 %r6, 0;
again:
  st.shared.u32 [%r4], %r5;
  bar.sync 0;
  ld.shared.u32 %r7, [cells+4];
  xor.b32 %r8, %r4, 128;
  ld.shared.u32 %r5, [%r8];
  bar.sync 0;
  mad.lo.u32 %r5, %r7, 3, %r5;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p1, %r6, %r9;
  @%p1 bra again;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r5;
  ret;
}"""
    out = aligned(128)
    launch(text, 128, out, 7)
    cells = np.arange(128, dtype=np.uint32)
    for _ in range(7):
        cells = cells[np.arange(128) ^ 32] + 3 * cells[1]
    assert (out == cells).all()


@pytest.mark.parametrize(("kind", "lane"), [("u32", 0), ("u64", 16)])
def test_stores_of_all_lanes_to_one_address(kind: str, lane: int) -> None:
    wide = "cvt.u64.u32 %rd4, %r1;" if kind == "u64" else ""
    value = "%rd4" if kind == "u64" else "%r1"
    body = f"{wide} st.global.{kind} [%rd1], {value}; ld.global.u32 %r2, [%rd1];"
    assert run(body) == [lane] * 32


def test_stores_to_rows_upon_each_other() -> None:
    text = """
.visible .entry kernel(.param .u64 out, .param .u32 row) {
  .reg .b64 %rd<9>; .reg .b32 %r<9>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r3, [row];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  mad.lo.u32 %r5, %r2, 16, %r1;
  mul.wide.s32 %rd2, %r4, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3+256], %r5;
  ret;
}"""
    for row in (16, 15, 1, 0, -1, -15, -16, 40):
        out = aligned(256)
        launch(text, (16, 2, 1), out, row)
        expected = np.zeros(256, np.uint32)
        for thread in reversed(range(32)):  # the lowest lane's value stays
            expected[64 + thread // 16 * row + thread % 16] = thread
        assert (out == expected).all(), row


# Which registers are uniform, in steps or in lanes depends on the way.
WAYS = 12


def _ways(way: int) -> str:
    values = ["3", "%r1", "%r6"]
    return " ".join(f"mov.u32 %r{7 + k}, {values[way // 3**k % 3]};" for k in range(3))


@pytest.mark.parametrize("uniform", [False, True])
def test_a_block_that_is_reached_in_many_ways(uniform: bool) -> None:
    if uniform:
        tests = "setp.ne.u32 %p2, %r5, {0}; @%p2 bra no{0}; {1} bra join; no{0}:"
        parts = [tests.format(way, _ways(way)) for way in range(WAYS)]
    else:
        labels = ", ".join(f"way{way}" for way in range(WAYS))
        parts = [f"ts: .branchtargets {labels}; brx.idx %r5, ts;"]
        parts += [f"way{way}: {_ways(way)} bra join;" for way in range(WAYS)]
    body = f"""
      ld.global.u32 %r6, [%rd3];
      mov.u32 %r2, 0; mov.u32 %r5, 0; mov.u32 %r7, 0; mov.u32 %r8, 0; mov.u32 %r9, 0;
    again:
      {" ".join(parts)}
    join:
      mad.lo.u32 %r2, %r2, 3, %r7;
      mad.lo.u32 %r2, %r8, 5, %r2;
      mad.lo.u32 %r2, %r9, 7, %r2;
      add.u32 %r5, %r5, 1;
      setp.lt.u32 %p1, %r5, {WAYS};
      @%p1 bra again;
    """
    expected = []
    for thread in range(31):
        of, value = [3, thread, 0], 0
        for way in range(WAYS):
            value = 3 * value + of[way % 3] + 5 * of[way // 3 % 3] + 7 * of[way // 9 % 3]
        expected.append(value & 0xFFFFFFFF)
    assert both(body) == expected


def test_registers_of_a_matrix_reach_their_lanes() -> None:
    # Its registers stand in a table, which is the first of the module.
    text = """
      .reg .f32 %g<5>; .reg .b32 %z;
      mov.u32 %z, %laneid; xor.b32 %z, %z, %z; ZERO
      add.u32 %r4, %r1, 0x3c00; mad.lo.u32 %r5, %r1, 2, 0x3800; add.u32 %r6, %r1, 0x4000;
      add.u32 %r4, %r4, %z; add.u32 %r5, %r5, %z; add.u32 %r6, %r6, %z;
      mov.f32 %g1, 0f00000000; mov.f32 %g2, %g1; mov.f32 %g3, %g1; mov.f32 %g4, %g1;
      mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32
        {%g1, %g2, %g3, %g4}, {%r4, %r5}, {%r6}, {%g1, %g2, %g3, %g4};
      add.f32 %g1, %g1, %g2; add.f32 %g3, %g3, %g4; fma.rn.f32 %g1, %g3, %g1, %g3;
      mov.b32 %r2, %g1;
    """
    known, hidden = run(text.replace("ZERO", "mov.u32 %z, 0;")), run(text.replace("ZERO", ""))
    assert known == hidden
    assert len(set(known)) > 16


def test_constants_that_are_first_read_while_another_warp_is_in_a_function() -> None:
    before = """
.func (.param .b32 result) slow(.param .b32 x) {
  .reg .b32 %r<9>; .reg .pred %p<2>;
  ld.param.b32 %r1, [x];
  mov.u32 %r2, 0; mov.u32 %r4, 3; mov.u32 %r5, 4; mov.u32 %r6, 5;
again:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, %r1;
  @%p1 bra again;
  st.param.b32 [result], %r2;
  ret;
}
"""
    body = """
      shr.u32 %r3, %r1, 5;
      mad.lo.u32 %r3, %r3, 40, 2;
      { .param .b32 a; .param .b32 b;
        st.param.b32 [a], %r3;
        call (b), slow, (a);
        ld.param.b32 %r4, [b]; }
      mov.u32 %r5, 0x12345;
      add.u32 %r5, %r5, 0x777;
      add.u32 %r2, %r4, %r5;
    """
    assert run(body, 96, before=before) == [0x12345 + 0x777 + 40 * (i // 32) + 2 for i in range(96)]


@pytest.mark.parametrize(
    "access",
    [
        "ld.global.u32 %r2, [%rd3+8];",
        "st.global.u32 [%rd3+-8], %r1;",
        "mul.wide.u32 %rd4, %r1, 3; add.s64 %rd4, %rd4, %rd1; ld.global.u32 %r2, [%rd4];",
        "ld.global.u32 %r2, [%rd1+2];",
        "st.global.u32 [%rd1+4096], %r1;",
        "mov.u32 %r4, 600; ld.shared.u32 %r2, [%r4];",
        "shl.b32 %r4, %r1, 5; ld.shared.u32 %r2, [%r4];",
        "shl.b32 %r4, %r1, 5; add.u32 %r4, %r4, -32; st.shared.u32 [%r4], %r1;",
        "ld.global.f32 %f1, [%rd3]; ld.global.f32 %f2, [%rd3+12]; fma.rn.f32 %f3, %f1, %f2, %f4;",
        "ld.global.f32 %f1, [%rd1+-4]; ld.global.f32 %f2, [%rd3]; fma.rn.f32 %f3, %f1, %f2, %f4;",
        "add.u32 %r4, %r1, -1; mul.wide.u32 %rd4, %r4, 4; add.s64 %rd4, %rd4, %rd1;"
        " ld.global.u32 %r2, [%rd4];",
    ],
)
def test_faults_are_those_of_lanes(access: str) -> None:
    text = BEGIN.replace("{", "{ .shared .align 4 .b8 cells[512];", 1) + access + END
    messages = []
    for hidden in (False, True):
        out = aligned(32)
        with pytest.raises(CutuneError) as caught:
            launch(_hidden(text) if hidden else text, 32, out)
        message = caught.value.diagnostic.message
        assert "PTX line" in message
        messages.append(re.sub(r"0x[0-9a-f]{6,}", "address", message))
    assert messages[0] == messages[1]


# Registers behind which the machine sees no steps: loaded values have been added, which are zero.
_STEPS = re.compile(r"(ld|st)(\.(?:global|shared)\.\w+ (?:\S+, )?\[)(%rd?\d+)")


def _hidden(text: str) -> str:
    """The same kernel, on the same lines, whose addresses are in lanes."""
    zeros = " mov.u32 %hx, %laneid; xor.b32 %hx, %hx, %hx; cvt.u64.u32 %hy, %hx;"
    text = text.replace("{", "{ .reg .b32 %hx, %hn; .reg .b64 %hy, %hw;" + zeros, 1)

    def access(match: re.Match[str]) -> str:
        narrow = ".shared." in match[2]
        add = f"add.u32 %hn, {match[3]}, %hx; " if narrow else f"add.u64 %hw, {match[3]}, %hy; "
        return f"{add}{match[1]}{match[2]}{'%hn' if narrow else '%hw'}"

    return _STEPS.sub(access, text)


PRODUCTS = """
.visible .entry kernel(.param .u64 out, .param .u64 from) {
  .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<20>; .reg .pred %p<3>;
  .shared .align 8 .b8 cells[4096];
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [from];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  mul.wide.u32 %rd6, %r1, 4;
  add.s64 %rd6, %rd2, %rd6;
  mul.wide.u32 %rd7, %r2, 4;
  add.s64 %rd7, %rd2, %rd7;
  mov.u32 %r5, cells;
  shl.b32 %r6, %r4, 2;
  add.u32 %r6, %r6, %r5;
  ld.global.f32 %f1, [%rd5];
  st.shared.f32 [%r6], %f1;
  bar.sync 0;
  shl.b32 %r7, %r1, 2; add.u32 %r7, %r7, %r5;
  mov.f32 %f0, 0f3f800000;
  ld.global.f32 %f2, [%rd5]; ld.global.f32 %f3, [%rd2+8]; fma.rn.f32 %f0, %f2, %f3, %f0;
  ld.global.f32 %f4, [%rd7+4]; ld.global.f32 %f5, [%rd6]; fma.rn.f32 %f0, %f5, %f4, %f0;
  ld.global.f32 %f6, [%rd2]; ld.global.f32 %f7, [%rd5+4]; fma.rn.f32 %f0, %f6, %f7, %f0;
  ld.shared.f32 %f8, [%r6]; ld.shared.f32 %f9, [%r7]; fma.rn.f32 %f0, %f8, %f9, %f0;
  ld.shared.f32 %f10, [%r5+4]; ld.shared.f32 %f11, [%r7]; fma.rn.f32 %f0, %f10, %f11, %f0;
  ld.global.f32 %f12, [%rd5]; ld.global.f32 %f13, [%rd6]; fma.rn.f32 %f0, %f12, %f13, %f0;
  add.f32 %f0, %f0, %f12;
  ld.global.f32 %f14, [%rd5]; ld.global.f32 %f15, [%rd6]; fma.rn.f32 %f0, %f0, %f14, %f15;
  ld.shared.f32 %f16, [%r6]; ld.global.f32 %f17, [%rd6]; fma.rn.f32 %f0, %f17, %f16, %f0;
  st.global.f32 [%rd4], %f0;
  ret;
}
"""


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_sums_of_products(block: tuple[int, int, int]) -> None:
    block = (block[0], block[1], 1)
    count = block[0] * block[1]
    out, source = aligned(count).view(np.float32), aligned(count + 64).view(np.float32)
    source[:] = np.arange(count + 64) * 7 % 5 - 2
    source[3] = np.nan
    launch(PRODUCTS, block, out, source)
    thread = np.arange(count)
    x, own, of_row = source[thread % block[0]], source[thread], source[thread // block[0] + 1]
    total = 1 + own * source[2] + x * of_row + source[0] * source[thread + 1]
    total = total + own * x + source[1] * x + own * x + own
    np.testing.assert_array_equal(out, total * own + x + x * own)
    nans = out.view(np.uint32)[np.isnan(out)]
    assert len(nans)
    assert (nans == 0x7FFFFFFF).all()


ROWS = """
.visible .entry kernel(.param .u64 out, .param .u64 from, .param .u32 column, .param .u32 row) {
  .reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .pred %p<3>; .reg .b16 %h<3>;
  .shared .align 8 .b8 cells[16384];
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd5, [from];
  ld.param.u32 %r8, [column];
  ld.param.u32 %r9, [row];
  mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y;
  mov.u32 %r12, %tid.z;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r1, %r8, 2048;
  mad.lo.u32 %r4, %r2, %r9, %r4;
  mad.lo.u32 %r4, %r12, 64, %r4;
  cvt.u64.u32 %rd2, %r4;
  add.s64 %rd3, %rd1, %rd2;
  add.s64 %rd4, %rd5, %rd2;
  mov.u32 %r10, cells;
  add.u32 %r5, %r10, %r4;
  mov.u32 %r6, 0;
again:
  ld.global.TYPE VALUE, [%rd4];
  st.shared.TYPE [%r5], VALUE;
  bar.sync 0;
  ld.shared.TYPE VALUE, [%r5+8];
  ld.shared.u32 %r11, [cells+64];
  st.global.TYPE [%rd3], VALUE;
  bar.sync 0;
  ld.global.u32 %r7, [%rd5];
  add.u32 %r7, %r7, %r11;
  st.global.u32 [%rd1], %r7;
  add.s64 %rd4, %rd4, 16;
  add.s64 %rd3, %rd3, 8;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p1, %r6, 21;
  @%p1 bra again;
  ret;
}
"""
VALUES = {"u8": "%r7", "u16": "%h1", "u32": "%r7", "u64": "%rd6"}


def _rows(text: str, block: tuple[int, int, int], steps: tuple[int, int], every: int) -> Any:
    space = aligned(8192)
    out, source = space[:4096], space[4096:]
    source[:] = np.arange(4096) * 2654435761 & 0xFFFFFFFF
    counters = launch(
        module(text), block, out, source, *steps, trace=every > 0, trace_every=max(every, 1)
    )
    return out.copy(), counters, int(out.ctypes.data)


def _same(one: LaunchCounters, other: LaunchCounters, moved: int) -> None:
    assert (one.block_executions == other.block_executions).all()
    assert (one.block_lanes == other.block_lanes).all()
    for name in SITE.names or ():
        expected = other.sites[name].astype(np.int64)
        if name in ("lowest", "highest"):
            expected = np.where(expected, expected + moved, 0)
        assert (one.sites[name].astype(np.int64) == expected).all(), name


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_memory_and_counters_do_not_depend_on_what_is_known(
    kind: str, block: tuple[int, int, int]
) -> None:
    text = ROWS.replace("TYPE", kind).replace("VALUE", VALUES[kind])
    size = int(kind[1:]) // 8
    for every in (0, 1, 3):
        for steps in [
            (size, size * block[0]),
            (size, 32 * size),
            (0, size),
            (0, 0),
            (3 * size, 64),
            (-size & 0xFFFFFFFF, 128),
            (8, -16 & 0xFFFFFFFF),
        ]:
            out, known, at = _rows(text, block, steps, every)
            hidden_out, hidden, hidden_at = _rows(_hidden(text), block, steps, every)
            assert (out == hidden_out).all(), steps
            _same(known, hidden, at - hidden_at)

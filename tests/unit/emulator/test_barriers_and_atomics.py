"""Barriers, atomics and races on the emulated machine."""

from __future__ import annotations

import numpy as np
import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from tests.support.ptx_statements import BEGIN, END, aligned, launch, run


def test_barrier_orders_warps() -> None:
    body = """
      .shared .align 4 .b8 tile[512];
      mov.u32 %r4, tile;
      mad.lo.u32 %r5, %r1, 4, %r4;
      st.shared.u32 [%r5], %r1;
      bar.sync 0;
      xor.b32 %r6, %r1, 127;
      mad.lo.u32 %r5, %r6, 4, %r4;
      ld.shared.u32 %r2, [%r5];
    """
    assert run(body, 128) == [127 - i for i in range(128)]


def test_barrier_in_a_loop_and_with_exited_threads() -> None:
    body = """
      .shared .align 4 .b8 cell[4];
      mov.u32 %r4, cell; mov.u32 %r2, 0; mov.u32 %r3, 0;
      setp.ge.u32 %p1, %r1, 70;
      @%p1 exit;
    again:
      setp.eq.u32 %p2, %r1, %r3;
      @%p2 st.shared.u32 [%r4], %r1;
      bar.sync 0;
      ld.shared.u32 %r5, [%r4];
      add.u32 %r2, %r2, %r5;
      bar.sync 0;
      add.u32 %r3, %r3, 1;
      setp.lt.u32 %p1, %r3, 70;
      @%p1 bra again;
    """
    assert run(body, 96) == [69 * 70 // 2] * 70 + [0] * 26


@pytest.mark.parametrize(
    ("operation", "expected"), [("popc.u32", 20), ("and.pred", 0), ("or.pred", 1)]
)
def test_barrier_reduction(operation: str, expected: int) -> None:
    target = "%r2" if operation == "popc.u32" else "%p2"
    body = f"""
      setp.lt.u32 %p1, %r1, 20;
      bar.red.{operation} {target}, 0, %p1;
      {"" if operation == "popc.u32" else "selp.u32 %r2, 1, 0, %p2;"}
    """
    assert run(body, 64) == [expected] * 64


def test_named_barriers_with_counts() -> None:
    # The first warp waits for the second at barrier 1; the third never comes there.
    body = """
      .shared .align 4 .b8 cell[4];
      mov.u32 %r4, cell; mov.u32 %r2, 0;
      setp.ge.u32 %p1, %r1, 64;
      @%p1 bra done;
      setp.ge.u32 %p1, %r1, 32;
      @%p1 bra second;
      bar.sync 1, 64;
      ld.shared.u32 %r2, [%r4];
      bra done;
    second:
      st.shared.u32 [%r4], 77;
      bar.arrive 1, 64;
    done:
    """
    assert run(body, 96) == [77] * 32 + [0] * 64


def test_barriers_do_not_wait_for_lanes_that_exit_later() -> None:
    # The lanes that go on reach the barrier first: the others lie behind it in the code.
    body = """
      setp.ge.u32 %p1, %r1, 40;
      @%p1 bra gone;
      mov.u32 %r2, 7;
      bar.sync 0;
      st.global.u32 [%rd3], %r2;
    gone:
      ret;
    """
    out = aligned(64)
    launch(BEGIN + body + "}", 64, out)
    assert list(out) == [7] * 40 + [0] * 24


def test_unequal_barriers_deadlock() -> None:
    body = "mov.u32 %r2, 0; setp.lt.u32 %p1, %r1, 32; @%p1 bar.sync 1, 64; @!%p1 bar.sync 2, 64;"
    with pytest.raises(CutuneError) as caught:
        run(body, 64)
    assert caught.value.diagnostic.code is Code.DEADLOCK


def test_warp_barrier_waits_for_the_named_lanes() -> None:
    body = """
      .shared .align 4 .b8 cell[4];
      mov.u32 %r4, cell; mov.u32 %r2, 0;
      setp.lt.u32 %p1, %r1, 16;
      @%p1 bra low;
      st.shared.u32 [%r4], 5;
      bar.warp.sync 0xffffffff;
      bra done;
    low:
      bar.warp.sync 0xffffffff;
      ld.shared.u32 %r2, [%r4];
    done:
    """
    assert run(body) == [5] * 16 + [0] * 16
    swapped = body.replace("@%p1 bra low", "@!%p1 bra low")
    assert run(swapped) == [0] * 16 + [5] * 16


def test_atomics_count_every_lane() -> None:
    out = np.zeros(128, np.uint32)
    body = "atom.global.add.u32 %r2, [%rd1+256], 1; red.global.add.u32 [%rd1+260], 2;"
    counters = launch(BEGIN + body + END, 32, out, grid=3, trace=True)
    assert out[64] == 96
    assert out[65] == 192
    assert sorted(out[:32]) == list(range(64, 96))
    atomic = counters.sites[0]
    assert (atomic["executions"], atomic["lanes"], atomic["sectors"]) == (3, 96, 3)


@pytest.mark.parametrize(
    ("operation", "operand", "before", "after"),
    [
        ("min.s32", "-3", 5, 0xFFFFFFFD),
        ("max.u32", "-3", 5, 0xFFFFFFFD),
        ("and.b32", "6", 3, 2),
        ("or.b32", "6", 3, 7),
        ("xor.b32", "6", 3, 5),
        ("exch.b32", "6", 3, 6),
        ("cas.b32", "3, 9", 3, 9),
        ("cas.b32", "4, 9", 3, 3),
        ("inc.u32", "7", 7, 0),
        ("inc.u32", "7", 3, 4),
        ("dec.u32", "7", 0, 7),
        ("dec.u32", "7", 9, 7),
        ("dec.u32", "7", 3, 2),
        ("add.f32", "0f3F800000", 0x3F800000, 0x40000000),
    ],
)
def test_atomic_operations(operation: str, operand: str, before: int, after: int) -> None:
    out = np.zeros(64, np.uint32)
    out[32] = before
    kind = operation.split(".")[1]
    target = "%f1" if kind == "f32" else "%r2"
    read_back = "mov.b32 %r2, %f1;" if kind == "f32" else ""
    body = f"atom.global.{operation} {target}, [%rd1+128], {operand}; {read_back}"
    launch(BEGIN + body + END, 1, out)
    assert (out[0], out[32]) == (before, after)


def test_spin_lock_makes_progress() -> None:
    body = """
    again:
      atom.global.cas.b32 %r3, [%rd1+128], 0, 1;
      setp.ne.u32 %p1, %r3, 0;
      @%p1 bra again;
      ld.global.u32 %r4, [%rd1+132];
      add.u32 %r4, %r4, 1;
      st.global.u32 [%rd1+132], %r4;
      mov.u32 %r2, %r4;
      atom.global.exch.b32 %r3, [%rd1+128], 0;
    """
    out = np.zeros(64, np.uint32)
    launch(BEGIN + body + END, 32, out, instruction_limit=10_000_000)
    assert out[33] == 32
    assert sorted(out[:32]) == list(range(1, 33))


def test_racing_warps_interleave() -> None:
    # Eight warps add to the same cell without a barrier, one block apart: as on a GPU, the last
    # writer wins although every warp has read before.
    body = """
      ld.global.u32 %r2, [%rd1+1024];
      bra next;
    next:
      add.u32 %r2, %r2, 1;
      st.global.u32 [%rd1+1024], %r2;
    """
    out = np.zeros(300, np.uint32)
    launch(BEGIN + body + END, 256, out)
    assert out[256] == 1

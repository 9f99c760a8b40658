"""Control flow, barriers, atomics, calls and faults on the emulated machine."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from cutune.diagnostics import Code, CutuneError
from cutune.emulator.machine import pointer
from tests.emulated import aligned, launch, module

BEGIN = """
.visible .entry kernel(.param .u64 out) {
  .reg .b64 %rd<20>; .reg .b32 %r<20>; .reg .pred %p<9>; .reg .f32 %f<9>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
"""
END = "\n  st.global.u32 [%rd3], %r2;\n  ret;\n}\n"


def run(body: str, threads: int = 32, *, before: str = "", **options: object) -> list[int]:
    """The values that threads leave in %r2."""
    out = aligned(threads)
    launch(before + BEGIN + body + END, threads, out, **options)  # type: ignore[arg-type]
    return [int(x) for x in out]


def test_branches_reconverge() -> None:
    body = """
      mov.u32 %r2, 0;
      setp.lt.u32 %p1, %r1, 10;
      @%p1 bra low;
      mov.u32 %r2, 100;
      bra join;
    low:
      mov.u32 %r2, 7;
    join:
      activemask.b32 %r3;
      popc.b32 %r3, %r3;
      add.u32 %r2, %r2, %r3;
    """
    assert run(body) == [39] * 10 + [132] * 22


def test_loops_of_different_length_reconverge_behind_the_loop() -> None:
    body = """
      mov.u32 %r2, 0; mov.u32 %r3, 0;
    again:
      add.u32 %r2, %r2, %r3;
      add.u32 %r3, %r3, 1;
      setp.le.u32 %p1, %r3, %r1;
      @%p1 bra again;
      activemask.b32 %r4;
      popc.b32 %r4, %r4;
      mad.lo.u32 %r2, %r4, 1000, %r2;
    """
    assert run(body) == [32000 + i * (i + 1) // 2 for i in range(32)]


def test_lanes_that_continue_wait_for_the_others() -> None:
    # Two back edges: without a common latch, lanes would run ahead of each other for ever.
    body = """
      mov.u32 %r2, 0; mov.u32 %r3, 0;
    head:
      add.u32 %r3, %r3, 1;
      setp.gt.u32 %p1, %r3, 8;
      @%p1 bra done;
      and.b32 %r4, %r1, 1;
      setp.eq.u32 %p2, %r4, 0;
      @%p2 bra head;
      activemask.b32 %r5;
      popc.b32 %r5, %r5;
      add.u32 %r2, %r2, %r5;
      bra head;
    done:
    """
    assert run(body) == [0, 8 * 16] * 16


def test_guarded_instructions_leave_other_lanes_alone() -> None:
    body = """
      mov.u32 %r2, 5;
      setp.eq.u32 %p1, %r1, 3;
      @%p1 mov.u32 %r2, 1;
      @!%p1 add.u32 %r2, %r2, 1;
      setp.gt.u32 %p1, %r1, 99;
      @%p1 mov.u32 %r2, 0;
    """
    assert run(body) == [6, 6, 6, 1] + [6] * 28


def test_guarded_store_counts_what_was_stored() -> None:
    out = aligned(32)
    body = "setp.lt.u32 %p1, %r1, 5; @%p1 st.global.u32 [%rd3], 9; mov.u32 %r2, 1;"
    counters = launch(BEGIN + body + END, 32, out, trace=True)
    first = counters.sites[0]
    assert (first["executions"], first["lanes"], first["sectors"]) == (1, 5, 1)
    body = "setp.gt.u32 %p1, %r1, 50; @%p1 st.global.u32 [%rd3], 9; mov.u32 %r2, 1;"
    assert launch(BEGIN + body + END, 32, out, trace=True).sites[0]["executions"] == 0


def test_early_exit() -> None:
    body = "mov.u32 %r2, 1; setp.lt.u32 %p1, %r1, 30; @%p1 exit;"
    assert run(body) == [0] * 30 + [1, 1]
    body = "mov.u32 %r2, 1; setp.lt.u32 %p1, %r1, 30; @!%p1 ret;"
    assert run(body) == [1] * 30 + [0, 0]


def test_branch_table() -> None:
    body = """
      and.b32 %r3, %r1, 3;
      targets: .branchtargets zero, one, two, one;
      brx.idx %r3, targets;
    zero: mov.u32 %r2, 10; bra join;
    one: mov.u32 %r2, 11; bra join;
    two: mov.u32 %r2, 12;
    join:
    """
    assert run(body) == [10, 11, 12, 11] * 8


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


CALLED = """
.func (.param .b32 result) factorial(.param .b32 n) {
  .reg .b32 %r<5>; .reg .pred %p1;
  ld.param.u32 %r1, [n];
  setp.gt.u32 %p1, %r1, 1;
  @%p1 bra more;
  st.param.b32 [result], 1;
  ret;
more:
  add.u32 %r2, %r1, -1;
  {
  .param .b32 p; .param .b32 q;
  st.param.b32 [p], %r2;
  call.uni (q), factorial, (p);
  ld.param.b32 %r3, [q];
  }
  mul.lo.u32 %r4, %r3, %r1;
  st.param.b32 [result], %r4;
  ret;
}
"""


def test_recursive_calls_that_diverge() -> None:
    body = """
      {
      .param .b32 p; .param .b32 q;
      and.b32 %r3, %r1, 7;
      st.param.b32 [p], %r3;
      call.uni (q), factorial, (p);
      ld.param.b32 %r2, [q];
      }
    """
    expected = [int(np.prod(np.arange(1, (i & 7) + 1))) for i in range(32)]
    assert run(body, before=CALLED) == expected


def test_guarded_call() -> None:
    body = """
      mov.u32 %r2, 0;
      setp.eq.u32 %p1, %r1, 5;
      {
      .param .b32 p; .param .b32 q;
      st.param.b32 [p], %r1;
      @%p1 call (q), factorial, (p);
      @%p1 ld.param.b32 %r2, [q];
      }
    """
    assert run(body, before=CALLED) == [120 if i == 5 else 0 for i in range(32)]


def test_indirect_call() -> None:
    body = """
      mov.u64 %rd4, factorial;
      {
      .param .b32 p; .param .b32 q;
      st.param.b32 [p], 4;
      prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
      call (q), %rd4, (p), prototype;
      ld.param.b32 %r2, [q];
      }
    """
    assert run(body, before=CALLED) == [24] * 32


def test_indirect_call_of_several_functions() -> None:
    other = CALLED.replace("factorial", "other").replace("mul.lo", "add")
    body = """
      and.b32 %r3, %r1, 1;
      setp.eq.u32 %p1, %r3, 0;
      mov.u64 %rd4, factorial;
      mov.u64 %rd5, other;
      selp.b64 %rd4, %rd4, %rd5, %p1;
      {
      .param .b32 p; .param .b32 q;
      st.param.b32 [p], 4;
      prototype: .callprototype (.param .b32 _) _ (.param .b32 _);
      call (q), %rd4, (p), prototype;
      ld.param.b32 %r2, [q];
      }
      add.u32 %r2, %r2, %r1;
    """
    assert run(body, before=CALLED + other) == [i + (10 if i & 1 else 24) for i in range(32)]


def test_counters_of_called_functions_follow_the_kernels() -> None:
    body = """
      {
      .param .b32 p; .param .b32 q;
      st.param.b32 [p], 3;
      call.uni (q), factorial, (p);
      ld.param.b32 %r2, [q];
      }
    """
    loaded = module(CALLED + BEGIN + body + END)
    kernel = loaded.kernel("kernel")
    counters = launch(loaded, 32, np.zeros(32, np.uint32))
    assert len(kernel.blocks) == len(counters.block_executions)
    executed = dict(zip((b.index for b in kernel.blocks), counters.block_executions, strict=True))
    assert executed[0] == 1
    assert max(executed.values()) == 3  # factorial's entry: 3, 2, 1


def test_local_memory_belongs_to_its_thread() -> None:
    body = """
      .local .align 16 .b8 depot[64];
      mov.u64 %rd5, depot;
      cvta.local.u64 %rd6, %rd5;
      and.b32 %r3, %r1, 7;
      mul.wide.u32 %rd7, %r3, 4;
      add.s64 %rd8, %rd5, %rd7;
      st.local.u32 [%rd8], %r1;
      add.s64 %rd9, %rd6, %rd7;
      ld.u32 %r2, [%rd9];
      st.local.v2.u32 [%rd5+8], {%r1, %r2};
      ld.local.u32 %r4, [depot+12];
      add.u32 %r2, %r2, %r4;
    """
    assert run(body) == [2 * i for i in range(32)]


def test_generic_addresses_reach_shared_memory() -> None:
    body = """
      .shared .align 4 .b8 tile[128];
      mov.u32 %r4, tile;
      cvt.u64.u32 %rd4, %r4;
      cvta.shared.u64 %rd5, %rd4;
      add.s64 %rd6, %rd5, %rd2;
      st.u32 [%rd6], %r1;
      isspacep.shared %p1, %rd6;
      cvta.to.shared.u64 %rd7, %rd6;
      ld.shared.u32 %r2, [%rd7];
      @%p1 add.u32 %r2, %r2, 1000;
      isspacep.global %p1, %rd3;
      @!%p1 mov.u32 %r2, 0;
    """
    assert run(body) == [1000 + i for i in range(32)]


def test_dynamic_shared_memory_lies_behind_the_static() -> None:
    before = ".extern .shared .align 16 .b8 dynamic[];\n"
    body = """
      .shared .align 4 .b8 fixed[20];
      mov.u32 %r3, fixed; mov.u32 %r4, dynamic;
      sub.u32 %r2, %r4, %r3;
      mad.lo.u32 %r5, %r1, 4, %r4;
      st.shared.u32 [%r5], %r1;
    """
    assert run(body, before=before, shared_bytes=128) == [32] * 32
    with pytest.raises(CutuneError) as caught:
        run(body, before=before, shared_bytes=124)
    assert caught.value.diagnostic.code is Code.ILLEGAL_ADDRESS


def test_asynchronous_copy() -> None:
    body = """
      .shared .align 16 .b8 tile[512];
      mov.u32 %r4, tile;
      mad.lo.u32 %r5, %r1, 16, %r4;
      st.global.u32 [%rd3], %r1;
      bar.sync 0;
      mul.wide.u32 %rd5, %r1, 12;
      add.s64 %rd4, %rd3, %rd5;
      setp.lt.u32 %p1, %r1, 8;
      @%p1 cp.async.cg.shared.global [%r5], [%rd4], 16;
      cp.async.commit_group;
      cp.async.wait_group 0;
      bar.sync 0;
      mad.lo.u32 %r5, %r1, 4, %r4;
      ld.shared.u32 %r2, [%r5];
    """
    assert run(body) == list(range(32))


def test_module_variables() -> None:
    before = """
    .global .align 4 .b8 table[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3};
    .global .align 8 .u64 place = generic(table)+4;
    .const .align 4 .f32 half = 0f3F000000;
    """
    body = """
      ld.global.u64 %rd4, [place];
      ld.u32 %r2, [%rd4];
      ld.const.f32 %f1, [half];
      cvt.rzi.u32.f32 %r3, %f1;
      add.u32 %r2, %r2, %r3;
      ld.global.u32 %r4, [table+8];
      mad.lo.u32 %r2, %r4, 10, %r2;
    """
    assert run(body, before=before) == [32] * 32


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ("ld.global.u32 %r2, [%rd3+4];", Code.ILLEGAL_ADDRESS, "thread (31, 0, 0)"),
        ("mov.u64 %rd4, 16; ld.global.u32 %r2, [%rd4];", Code.ILLEGAL_ADDRESS, "0x10"),
        ("ld.global.u64 %rd4, [%rd1+4];", Code.MISALIGNED_ADDRESS, "8 bytes"),
        ("mov.u32 %r4, 0; ld.shared.u32 %r2, [%r4];", Code.ILLEGAL_ADDRESS, "has 0 bytes"),
        ("setp.eq.u32 %p1, %r1, 9; @%p1 trap;", Code.TRAPPED, "thread (9, 0, 0)"),
        ("again: bra again;", Code.INSTRUCTION_LIMIT, "kernel kernel"),
    ],
)
def test_faults_name_the_place(body: str, code: Code, words: str) -> None:
    with pytest.raises(CutuneError) as caught:
        run("mov.u32 %r2, 0; " + body, instruction_limit=100_000)
    assert caught.value.diagnostic.code is code
    assert words in caught.value.diagnostic.message


def test_source_line_of_a_fault() -> None:
    body = "\n.loc 1 42 7\nld.global.u32 %r2, [%rd3+4096];\n"
    with pytest.raises(CutuneError, match="source line 42"):
        run(body)


def test_ghost_addresses_have_no_memory() -> None:
    out = np.full(32, 9, np.uint32)
    body = "ld.global.u32 %r2, [%rd1+4096]; add.u32 %r2, %r2, 1; st.global.u32 [%rd1+4096], %r2;"
    counters = launch(BEGIN + body + END, 32, out, ghosts=(pointer(out) + 4096, 4096), trace=True)
    assert out.tolist() == [1] * 32
    assert counters.sites[0]["sectors"] == 1
    loaded = module(BEGIN + body + END)
    base = 1 << 44
    parameters = base.to_bytes(8, "little")
    counters = loaded.run(
        "kernel", (4, 1, 1), (32, 1, 1), parameters, ghosts=(base, 1 << 40), trace=True
    )
    assert counters.sites["sectors"].tolist() == [4, 4, 16]


def test_bad_launches_are_refused() -> None:
    loaded = module(BEGIN + "mov.u32 %r2, 0;" + END)
    with pytest.raises(CutuneError) as caught:
        loaded.run("nothing", (1, 1, 1), (32, 1, 1), b"")
    assert caught.value.diagnostic.code is Code.UNKNOWN_KERNEL
    with pytest.raises(CutuneError) as caught:
        loaded.run("kernel", (1, 1, 1), (32, 1, 1), b"")
    assert caught.value.diagnostic.code is Code.BAD_LAUNCH
    with pytest.raises(CutuneError, match="1056 threads"):
        loaded.run("kernel", (1, 1, 1), (1056, 1, 1), bytes(8))


def test_printf(capfd: pytest.CaptureFixture[str]) -> None:
    before = """
    .extern .func (.param .b32 status) vprintf(.param .b64 form, .param .b64 values);
    .global .align 1 .b8 form[32] =
      {105, 61, 37, 100, 32, 120, 61, 37, 46, 50, 102, 32, 37, 37, 10};
    """
    body = """
      .local .align 8 .b8 depot[16];
      mov.u64 %rd5, depot;
      st.local.u32 [%rd5], %r1;
      mov.u64 %rd6, 0x3ff8000000000000;
      st.local.u64 [%rd5+8], %rd6;
      cvta.local.u64 %rd7, %rd5;
      mov.u64 %rd8, form;
      cvta.global.u64 %rd9, %rd8;
      setp.lt.u32 %p1, %r1, 2;
      {
      .param .b64 a; .param .b64 b; .param .b32 c;
      st.param.b64 [a], %rd9;
      st.param.b64 [b], %rd7;
      @%p1 call.uni (c), vprintf, (a, b);
      ld.param.b32 %r2, [c];
      }
    """
    assert run(body, before=before)[:2] == [2, 2]
    ctypes.CDLL(None).fflush(None)
    assert capfd.readouterr().out == "i=0 x=1.50 %\ni=1 x=1.50 %\n"


def test_device_malloc_and_use_after_free() -> None:
    before = """
    .extern .func (.param .b64 place) malloc(.param .b64 bytes);
    .extern .func free(.param .b64 place);
    """
    allocate = """
      {
      .param .b64 a; .param .b64 b;
      st.param.b64 [a], 64;
      call.uni (b), malloc, (a);
      ld.param.b64 %rd4, [b];
      }
      st.global.u32 [%rd4+60], %r1;
      ld.global.u32 %r2, [%rd4+60];
    """
    assert run(allocate, before=before) == list(range(32))
    release = """
      {
      .param .b64 a;
      st.param.b64 [a], %rd4;
      call.uni free, (a);
      }
      ld.global.u32 %r2, [%rd4];
    """
    with pytest.raises(CutuneError, match="freed"):
        run(allocate + release, before=before)

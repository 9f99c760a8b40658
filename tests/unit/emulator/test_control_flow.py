"""Branches, exits and calls on the emulated machine."""

from __future__ import annotations

import numpy as np

from tests.support.ptx_statements import BEGIN, END, aligned, launch, module, run


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
    assert counters.block_executions[0] == 1
    assert max(counters.block_executions) == 3  # factorial's entry: 3, 2, 1

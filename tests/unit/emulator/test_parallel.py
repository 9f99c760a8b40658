"""Blocks on several threads of the host: the same memory, counters and errors as on one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.emulator.machine import SITE, LaunchCounters
from tests.support.ptx_statements import aligned, launch, module

# Thread t of block b adds b * t to its own word `rounds` times: long enough to be spread.
BODY = """
.visible .entry kernel(.param .u64 out, .param .u64 bins, .param .u32 rounds, .param .u32 last) {
  .reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .pred %p<9>;
  ld.param.u64 %rd1, [out];
  ld.param.u64 %rd2, [bins];
  ld.param.u32 %r8, [rounds];
  ld.param.u32 %r9, [last];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.u32 %r4, %r2, %r3, %r1;
  setp.gt.u32 %p2, %r2, %r9;
  mul.wide.u32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3;
  mul.lo.u32 %r5, %r1, %r2;
  mov.u32 %r6, 0;
again:
  ld.global.u32 %r7, [%rd4];
  add.u32 %r7, %r7, %r5;
  st.global.u32 [%rd4], %r7;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p1, %r6, %r8;
  @%p1 bra again;
  and.b32 %r10, %r7, 31;
  mul.wide.u32 %rd5, %r10, 4;
  add.s64 %rd6, %rd2, %rd5;
  atom.global.add.u32 %r11, [%rd6], 1;
  FAULT
  ret;
}
"""
BLOCKS, THREADS, ROUNDS = 64, 64, 2000


def run(
    threads: int, fault: str = "", last: int = BLOCKS, **options: Any
) -> tuple[Any, LaunchCounters]:
    out, bins = aligned(BLOCKS * THREADS), aligned(32)
    loaded = module(BODY.replace("FAULT", fault))
    counters = launch(
        loaded, THREADS, out, bins, ROUNDS, last, grid=BLOCKS, threads=threads, **options
    )
    return (out.copy(), bins.copy()), counters


@pytest.mark.parametrize("every", [1, 4])
def test_memory_and_counters_do_not_depend_on_the_number_of_threads(every: int) -> None:
    (out, bins), alone = run(1, trace=True, trace_every=every)
    (spread_out, spread_bins), spread = run(4, trace=True, trace_every=every)
    index = np.arange(BLOCKS * THREADS)
    assert (out == index // THREADS * (index % THREADS) * ROUNDS).all()
    assert (spread_out == out).all()
    assert (spread_bins == bins).all()
    assert bins.sum() == BLOCKS * THREADS
    assert spread.warp_instructions == alone.warp_instructions
    assert spread.thread_instructions == alone.thread_instructions
    assert spread.executed_blocks == alone.executed_blocks == BLOCKS
    assert spread.working_threads == alone.working_threads
    assert (spread.block_executions == alone.block_executions).all()
    assert (spread.block_lanes == alone.block_lanes).all()
    for name in SITE.names or ():
        if name not in ("lowest", "highest"):  # addresses of two runs
            assert (spread.sites[name] == alone.sites[name]).all(), name


@pytest.mark.parametrize("threads", [1, 4])
def test_of_several_faults_that_of_the_first_block_is_reported(threads: int) -> None:
    with pytest.raises(CutuneError) as caught:
        run(threads, "@%p2 trap;", last=20)
    assert caught.value.diagnostic.code is Code.TRAPPED
    assert "block (21, 0, 0)" in caught.value.diagnostic.message


@pytest.mark.parametrize("threads", [1, 4])
def test_the_limit_is_that_of_the_launch(threads: int) -> None:
    _, counters = run(threads)
    run(threads, instruction_limit=counters.warp_instructions)
    with pytest.raises(CutuneError) as caught:
        run(threads, instruction_limit=counters.warp_instructions - 1)
    assert caught.value.diagnostic.code is Code.INSTRUCTION_LIMIT


def test_blocks_that_see_each_other_run_in_turn() -> None:
    # Tickets that decide where a block writes: in turn, block b gets ticket b.
    text = """
    .visible .entry kernel(.param .u64 out, .param .u64 ticket) {
      .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p1;
      ld.param.u64 %rd1, [out];
      ld.param.u64 %rd2, [ticket];
      mov.u32 %r1, 0;
    again:
      add.u32 %r1, %r1, 1;
      setp.lt.u32 %p1, %r1, 20000;
      @%p1 bra again;
      atom.global.add.u32 %r2, [%rd2], 1;
      mov.u32 %r3, %ctaid.x;
      mul.wide.u32 %rd3, %r3, 4;
      add.s64 %rd4, %rd1, %rd3;
      st.global.u32 [%rd4], %r2;
      ret;
    }
    """
    out, ticket = aligned(32), aligned(1)
    launch(text, 1, out, ticket, grid=32, threads=4)
    assert list(out) == list(range(32))

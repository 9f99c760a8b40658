"""Loops that are leapt through: counters with and without, and what must not be leapt through."""

from __future__ import annotations

import numpy as np
import pytest

from cutune.emulator.assemble import assemble
from cutune.emulator.machine import LaunchCounters, LoadedModule, pointer
from tests.support.launch_parameters import pack_parameters
from tests.support.ptx_statements import HEADER

GHOST_BASE = 1 << 56
GHOSTS = (GHOST_BASE, 1 << 44)
N = 600
THREADS = 96
#: Whatever a loop does, it stays in an array of so many bytes, and begins so far into it.
ARRAY, MIDDLE = 1 << 20, 1 << 19


def loop(setup: str, body: str) -> LoadedModule:
    """Each thread sums elements that lie 128 bytes apart, while %q holds."""
    return LoadedModule(
        assemble(
            f"""{HEADER}
.visible .entry sum(.param .u64 array, .param .u32 n) {{
  .reg .pred %q, %r;
  .reg .b32 %n, %t, %i, %j;
  .reg .b64 %base, %p, %end, %w;
  .reg .f32 %f, %s;
  ld.param.u64 %base, [array];
  ld.param.u32 %n, [n];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %w, %t, 4;
  add.s64 %p, %base, %w;
  mov.f32 %s, 0f00000000;
  {setup}
$again:
  ld.global.f32 %f, [%p];
  add.f32 %s, %s, %f;
  {body}
  @%q bra $again;
  st.global.f32 [%p], %s;
  ret;
}}
"""
        )
    )


AHEAD = "add.s64 %p, %p, 128;"
LEAPT = {
    "up": ("mov.u32 %i, 0;", f"{AHEAD} add.u32 %i, %i, 1; setp.lt.u32 %q, %i, %n;"),
    "up to": ("mov.u32 %i, 1;", f"{AHEAD} add.s32 %i, %i, 7; setp.le.s32 %q, %i, %n;"),
    "down": ("mov.u32 %i, %n;", f"{AHEAD} add.s32 %i, %i, -4; setp.ne.s32 %q, %i, 0;"),
    "below nothing": ("mov.u32 %i, 300;", f"{AHEAD} sub.s32 %i, %i, 5; setp.gt.s32 %q, %i, -700;"),
    "down to": ("mov.u32 %i, %n;", f"{AHEAD} add.s32 %i, %i, -1; setp.ge.s32 %q, %i, 3;"),
    "sides exchanged": ("mov.u32 %i, 0;", f"{AHEAD} add.u32 %i, %i, 3; setp.gt.u32 %q, %n, %i;"),
    "every thread for itself": (
        "mov.u32 %i, %t;",
        f"{AHEAD} add.s32 %i, %i, 1; setp.lt.s32 %q, %i, %n;",
    ),
    "steps of its own": (
        "mov.u32 %i, 0; add.u32 %j, %t, 1;",
        f"{AHEAD} add.s32 %i, %i, %j; setp.lt.s32 %q, %i, %n;",
    ),
    "tested before it grows": (
        "mov.u32 %i, 0;",
        f"{AHEAD} add.u32 %j, %i, 2; setp.lt.u32 %q, %j, %n; add.u32 %i, %i, 2;",
    ),
    "by the address": (
        "mul.wide.u32 %end, %n, 128; add.s64 %end, %end, %base;",
        f"{AHEAD} setp.lt.u64 %q, %p, %end;",
    ),
    "wrapping around first": (
        "mov.u32 %i, 0xffffff00;",
        f"{AHEAD} add.u32 %i, %i, 1; setp.ne.u32 %q, %i, 100;",
    ),
    "a register moved on": (
        "mov.u32 %i, 0;",
        f"{AHEAD} add.u32 %j, %i, 1; mov.u32 %i, %j; setp.ne.u32 %q, %i, %n;",
    ),
}
EXECUTED = {
    "until it does not hold": (
        "mov.u32 %i, 0;",
        f"{AHEAD} add.u32 %i, %i, 1; setp.ge.u32 %r, %i, %n; not.pred %q, %r;",
    ),
    "until the second does not hold": (
        "mov.u32 %i, 0;",
        f"{AHEAD} add.u32 %i, %i, 1; setp.ge.u32 %r|%q, %i, %n;",
    ),
    "doubled": ("mov.u32 %i, 1;", f"{AHEAD} shl.b32 %i, %i, 1; setp.lt.u32 %q, %i, %n;"),
    "past its bound": ("mov.u32 %i, 1;", f"{AHEAD} add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 2;"),
    "exchanged": (
        "mov.u32 %i, 0; mov.u32 %j, 1;",
        f"{AHEAD} add.u32 %t, %i, 1; mov.u32 %i, %j; mov.u32 %j, %t; setp.lt.u32 %q, %i, %n;",
    ),
    "a sum of numbers": (
        "mov.u32 %i, 0; mov.u32 %j, 0;",
        f"{AHEAD} mad.lo.u32 %j, %i, %i, %j; add.u32 %i, %i, 1; setp.lt.u32 %q, %i, %n;",
    ),
}


def counted(module: LoadedModule, every: int, *, ghosts: bool) -> LaunchCounters:
    """One traced block; without ghosts, everything is executed."""
    code = module.kernel("sum")
    array = np.zeros(ARRAY + 4096, np.uint8)
    address = GHOST_BASE if ghosts else pointer(array) + -pointer(array) % 4096
    return module.run(
        "sum",
        (1, 1, 1),
        (THREADS, 1, 1),
        pack_parameters(code, address + MIDDLE, N),
        trace=True,
        trace_every=every,
        ghosts=GHOSTS if ghosts else None,
        buffers=[] if ghosts else [array],
    )


@pytest.mark.parametrize("every", [1, 5, 16])
@pytest.mark.parametrize("case", [*LEAPT, *EXECUTED])
def test_counters_are_those_of_a_launch_with_data(case: str, every: int) -> None:
    module = loop(*{**LEAPT, **EXECUTED}[case])
    leapt, executed = (counted(module, every, ghosts=ghosts) for ghosts in (True, False))
    assert executed.leapt_instructions == 0
    assert (leapt.leapt_instructions > 0) == (every > 1 and case in LEAPT)
    for name in ("warp_instructions", "thread_instructions", "working_threads"):
        assert getattr(leapt, name) == getattr(executed, name)
    np.testing.assert_array_equal(leapt.block_executions, executed.block_executions)
    np.testing.assert_array_equal(leapt.block_lanes, executed.block_lanes)
    for name in executed.sites.dtype.names or ():
        found, expected = leapt.sites[name], executed.sites[name]
        if name in ("new_sectors", "missing"):  # they know which warp of the block came first
            np.testing.assert_allclose(found, expected, rtol=0.01, err_msg=name)
        elif name not in ("lowest", "highest"):
            np.testing.assert_array_equal(found, expected, name)
    extent = leapt.sites["highest"] - leapt.sites["lowest"]
    np.testing.assert_array_equal(extent, executed.sites["highest"] - executed.sites["lowest"])

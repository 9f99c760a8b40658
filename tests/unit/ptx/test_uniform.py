"""Reads of constant memory that all threads of a warp make at one computed address."""

from __future__ import annotations

import pytest

from cutune.emulator.assemble import assemble

MODULE = """
.version 8.0
.target sm_80
.address_size 64
.const .align 16 .b8 table[4096];
.visible .entry k(.param .u64 p, .param .u32 q)
{{
    .reg .pred %p<2>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>;
    ld.param.u64 %rd1, [p];
    ld.param.u32 %r1, [q];
    mov.u64 %rd2, table;
    mov.u32 %r2, 0;
    mov.u32 %r3, %tid.x;
    {before}
LOOP:
    {inside}
    add.s64 %rd2, %rd2, 16;
    add.s32 %r2, %r2, 1;
    setp.lt.s32 %p1, %r2, %r1;
    @%p1 bra LOOP;
END:
    st.global.f32 [%rd1], %f1;
    ret;
}}
"""
#: Replaces the end of the loop.
ROUNDS = (
    "add.s64 %rd2, %rd2, 16; add.s32 %r4, %r4, 1; setp.lt.s32 %p1, %r4, {}; @%p1 bra LOOP; bra END;"
)


@pytest.mark.parametrize(
    ("before", "inside", "reads"),
    [
        ("", "ld.const.f32 %f1, [%rd2];", 1),
        ("", "ld.const.v4.f32 {%f1, %f2, %f3, %f4}, [%rd2+16];", 2),
        ("", "ld.const.f32 %f1, [%rd2]; ld.const.u64 %rd5, [%rd2+8];", 2),
        # At an address that is known, and outside of a loop.
        ("", "ld.const.f32 %f1, [table+16];", 0),
        ("ld.const.f32 %f1, [%rd2];", "", 0),
        # At addresses that follow from the thread, or from what it has loaded.
        ("cvt.u64.u32 %rd3, %r3; add.s64 %rd2, %rd2, %rd3;", "ld.const.f32 %f1, [%rd2];", 0),
        ("ld.global.u64 %rd3, [%rd1]; add.s64 %rd2, %rd2, %rd3;", "ld.const.f32 %f1, [%rd2];", 0),
        # What stands in a table is the same for all threads.
        ("ld.const.u64 %rd3, [table]; add.s64 %rd2, %rd2, %rd3;", "ld.const.f32 %f1, [%rd2];", 1),
        ("", "ld.global.f32 %f1, [%rd1];", 0),
        # Where threads part, but not where the whole warp goes one way.
        ("", "setp.lt.u32 %p0, %r3, 9; @%p0 bra OVER; ld.const.f32 %f1, [%rd2]; OVER:", 0),
        ("", "setp.lt.u32 %p0, %r1, 9; @%p0 bra OVER; ld.const.f32 %f1, [%rd2]; OVER:", 1),
        # Around a loop that some threads leave sooner, but not around one that all do together.
        (
            "",
            "mov.u32 %r5, %r3; IN: add.s32 %r5, %r5, 32; setp.lt.s32 %p0, %r5, %r1; @%p0 bra IN; "
            "ld.const.f32 %f1, [%rd2];",
            0,
        ),
        (
            "",
            "mov.u32 %r5, 0; IN: add.s32 %r5, %r5, 32; setp.lt.s32 %p0, %r5, %r1; @%p0 bra IN; "
            "ld.const.f32 %f1, [%rd2];",
            1,
        ),
        # ptxas knows the addresses in a loop of few known rounds.
        ("mov.u32 %r4, 0;", "ld.const.f32 %f1, [%rd2]; " + ROUNDS.format(8), 0),
        ("mov.u32 %r4, 0;", "ld.const.f32 %f1, [%rd2]; " + ROUNDS.format(9), 1),
        ("mov.u32 %r4, %r1;", "ld.const.f32 %f1, [%rd2]; " + ROUNDS.format(8), 1),
    ],
)
def test_what_is_read_in_step(before: str, inside: str, reads: int) -> None:
    kernel = assemble(MODULE.format(before=before, inside=inside)).kernels["k"]
    assert sum(block.demand.constants for block in kernel.blocks) == reads

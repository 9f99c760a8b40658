"""Do all threads of a block come to its barriers, and those of a warp to its shuffles?"""

from __future__ import annotations

import pytest

from cutune.proof.flow.together import parted
from cutune.ptx.parse import parse

HEAD = """.version 8.0
.target sm_80
.address_size 64
.func called(.param .b32 x) { .reg .b32 %q<3>; mov.u32 %q1, 1; ret; }
.func waiting(.param .b32 x) { bar.sync 0; ret; }
.visible .entry k(.param .u32 n, .param .u64 p)
{
    .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>;
    ld.param.u32 %r1, [n]; ld.param.u64 %rd1, [p];
    mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %tid.y;
"""
BARRIER, SHUFFLE = "bar.sync 0; ", "shfl.sync.down.b32 %r8, %r8, 1, 31, -1; "
SOME, OF_WARP = "some threads may not come to a barrier", "some threads of a warp may not come to"
SKIP = "@%p1 bra $end; {}$end: mov.u32 %r7, 1; "


def where(test: str, then: str) -> str:
    return test + SKIP.format(then)


CASES = {
    "plain": (BARRIER, ""),
    "whole blocks": (where("setp.ge.s32 %p1, %r3, %r1; ", BARRIER), ""),
    "some threads": (where("setp.ge.s32 %p1, %r2, %r1; ", BARRIER), SOME),
    "by ids": (where("mad.lo.s32 %r5, %r3, 128, %r2; setp.ge.s32 %p1, %r5, %r1; ", BARRIER), SOME),
    "a warp": (where("setp.gt.u32 %p1, %r2, 31; ", SHUFFLE), ""),
    "a warp at a barrier": (where("setp.gt.u32 %p1, %r2, 31; ", BARRIER), SOME),
    "half of a warp": (where("setp.gt.u32 %p1, %r2, 15; ", SHUFFLE), OF_WARP),
    "the first of a warp": (where("setp.ne.s32 %p1, %r2, 0; ", SHUFFLE), OF_WARP),
    "warps": (where("shr.u32 %r5, %r2, 5; setp.ne.s32 %p1, %r5, 0; ", SHUFFLE), ""),
    "lanes": (where("shr.u32 %r5, %r2, 4; setp.ne.s32 %p1, %r5, 0; ", SHUFFLE), OF_WARP),
    "rows": (where("setp.ne.s32 %p1, %r4, 0; ", SHUFFLE), ""),
    "rows at a barrier": (where("setp.ne.s32 %p1, %r4, 0; ", BARRIER), SOME),
    "of data": (where("ld.global.u32 %r5, [%rd1]; setp.ne.s32 %p1, %r5, 0; ", BARRIER), SOME),
    "of a vote": (
        where("vote.sync.ballot.b32 %r5, %p2, -1; setp.ne.s32 %p1, %r5, 0; ", BARRIER),
        SOME,
    ),
    # What is written where threads part is not alike behind it.
    "two ways": (
        "mov.u32 %r5, 1; setp.ne.s32 %p1, %r2, 0; @%p1 bra $on; mov.u32 %r5, 2; $on: "
        + where("setp.eq.s32 %p1, %r5, 1; ", BARRIER),
        SOME,
    ),
    "rounds": (
        "$next: add.s32 %r5, %r5, 1; bar.sync 0; setp.lt.s32 %p1, %r5, %r1; @%p1 bra $next;",
        "",
    ),
    "own rounds": (
        "mov.u32 %r5, %r2; $next: add.s32 %r5, %r5, 1; bar.sync 0; setp.lt.s32 %p1, %r5, %r1; "
        "@%p1 bra $next;",
        SOME,
    ),
    # Threads have counted different numbers of rounds.
    "after own rounds": (
        "mov.u32 %r6, %r2; mov.u32 %r5, 0; $next: add.s32 %r6, %r6, 1; add.s32 %r5, %r5, 1; "
        "setp.lt.s32 %p1, %r6, %r1; @%p1 bra $next; " + where("setp.gt.s32 %p1, %r5, 3; ", BARRIER),
        SOME,
    ),
    "returned": ("setp.ge.s32 %p1, %r2, 64; @%p1 ret; " + BARRIER, SOME),
    "returned in whole": ("setp.ge.s32 %p1, %r3, %r1; @%p1 ret; " + BARRIER, ""),
    "returned later": (BARRIER + "setp.ge.s32 %p1, %r2, %r1; @%p1 ret; ", ""),
    "under a condition": ("setp.ge.s32 %p1, %r2, 64; @%p1 bar.sync 0; ", SOME),
    "named": ("bar.sync 1; ", "it has a barrier of some threads"),
    "counted": ("bar.sync 0, 64; ", "it has a barrier of some threads"),
    "not named": ("shfl.down.b32 %r8, %r8, 1, 31; ", "'shfl' does not name its threads"),
    "exit": ("exit; ", "nothing is known of 'exit'"),
    "copies on their way": ("cp.async.commit_group; ", "nothing is known of 'cp'"),
    "a call": ("call called, (%r1); ", ""),
    "a call that waits": ("call waiting, (%r1); ", "a function that it calls has 'bar'"),
    "a call of nobody": ("call vprintf, (%r1); ", "it calls a function that is not known"),
    "no end": ("$next: bra $next; ", "it may go on without an end"),
}


@pytest.mark.parametrize("name", list(CASES))
def test_who_comes_along(name: str) -> None:
    body, expected = CASES[name]
    module = parse(f"{HEAD}{body}\nret;\n}}\n")
    found = parted(module, module.functions["k"], (64, 4, 1))
    assert found.startswith(expected) and bool(found) is bool(expected)


def test_warps_of_narrow_blocks_are_not_rows() -> None:
    module = parse(f"{HEAD}{where('setp.gt.u32 %p1, %r2, 31; ', SHUFFLE)}\nret;\n}}\n")
    assert parted(module, module.functions["k"], (48, 4, 1)).startswith(OF_WARP)

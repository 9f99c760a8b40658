"""Loops that may wait for another thread: `while (*flag == 0);`."""

from __future__ import annotations

import pytest

from cutune.proof.memory.waiting_loops import may_wait
from cutune.ptx.parse import parse
from cutune.ptx.types import Instruction

HEAD = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 kernel_param_0, .param .u32 kernel_param_1)
{
.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>;
ld.param.u64 %rd1, [kernel_param_0]; ld.param.u32 %r1, [kernel_param_1];
"""
END = "setp.eq.u32 %p1, %r2, 0; @%p1 bra $again;"
COUNTING = "setp.lt.u32 %p1, %r3, %r2; @%p1 bra $again;"


def waits(body: str) -> bool:
    # Instructions are told apart by their lines.
    text = HEAD + body.replace(":", ":\n").replace("; ", ";\n")
    (function,) = parse(f"{text}\nret;\n}}\n").functions.values()
    instructions = [item for item in function.body or () if isinstance(item, Instruction)]
    return may_wait(function, instructions)


@pytest.mark.parametrize(
    "body",
    [
        f"$again: ld.volatile.u32 %r2, [%rd1]; {END}",
        f"$again: ld.global.u32 %r2, [%rd1]; and.b32 %r2, %r2, 1; {END}",
        # The address is made of what does not change in the loop.
        f"add.s64 %rd2, %rd1, 4; $again: ld.global.u32 %r2, [%rd2]; {END}",
        f"$again: add.s64 %rd2, %rd1, 4; ld.global.u32 %r2, [%rd2]; {END}",
        # A counter that comes back.
        "mov.u32 %r3, 0; $again: xor.b32 %r3, %r3, 1; ld.global.u32 %r2, [%rd1]; "
        "setp.ne.u32 %p1, %r3, %r2; @%p1 bra $again;",
        "mov.u32 %r3, 0; $again: add.s32 %r4, %r3, 1; rem.u32 %r3, %r4, 4;"
        f" ld.global.u32 %r2, [%rd1]; {COUNTING}",
        # One of two ways out waits.
        "mov.u32 %r3, 0; $again: add.s32 %r3, %r3, 1; setp.gt.u32 %p2, %r3, 9; @%p2 bra $out;"
        f" ld.global.u32 %r2, [%rd1]; {END} $out:",
        # An inner loop waits, an outer one counts.
        f"mov.u32 %r5, 0; $outer: $again: ld.global.u32 %r2, [%rd1]; {END} add.s32 %r5, %r5, 1;"
        " setp.lt.s32 %p3, %r5, 9; @%p3 bra $outer;",
    ],
)
def test_loops_that_may_wait(body: str) -> None:
    assert waits(body)


@pytest.mark.parametrize(
    "body",
    [
        "",
        # Loads decide about no branch, or about none that leaves a loop.
        "mov.u32 %r3, 0; $again: ld.global.u32 %r2, [%rd1]; add.s32 %r3, %r3, 1;"
        " setp.lt.s32 %p1, %r3, 9; @%p1 bra $again;",
        "ld.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra $out; mov.u32 %r3, 1; $out:",
        "mov.u32 %r3, 0; $again: ld.global.u32 %r2, [%rd1]; setp.eq.u32 %p2, %r2, 0;"
        " @%p2 bra $next; st.global.u32 [%rd1], %r3; $next: add.s32 %r3, %r3, 1;"
        " setp.lt.s32 %p1, %r3, 9; @%p1 bra $again;",
        # It counts up to a number in memory.
        f"mov.u32 %r3, 0; $again: add.s32 %r3, %r3, 1; ld.global.u32 %r2, [%rd1]; {COUNTING}",
        # It goes on through memory: by an index, by a pointer, along a list.
        f"mov.u64 %rd2, %rd1; $again: ld.global.u32 %r2, [%rd2]; add.s64 %rd2, %rd2, 4; {END}",
        f"mov.u64 %rd2, %rd1; $again: ld.global.u64 %rd2, [%rd2]; ld.global.u32 %r2, [%rd2]; {END}",
        f"mov.u64 %rd2, %rd1; $again: add.s64 %rd2, %rd2, 8; ld.global.u64 %rd3, [%rd2];"
        f" ld.global.u32 %r2, [%rd3]; {END}",
        "mov.u64 %rd2, %rd1; $again: ld.global.u64 %rd3, [%rd2]; ld.global.u64 %rd2, [%rd3+8];"
        f" ld.global.u32 %r2, [%rd2]; {END}",
        # One way back of a loop that counts.
        "mov.u32 %r3, 0; $again: setp.ge.u32 %p2, %r3, %r1; @%p2 bra $out; add.s32 %r3, %r3, 1;"
        " ld.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra $again;"
        " add.s32 %r3, %r3, 2; bra $again; $out:",
        # What was loaded before the loop stays.
        f"ld.global.u32 %r2, [%rd1]; mov.u32 %r3, 0; $again: add.s32 %r3, %r3, 1; {COUNTING}",
        # A parameter is nothing that another thread writes.
        "$again: ld.param.u32 %r2, [kernel_param_1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra $again;",
    ],
)
def test_other_loops(body: str) -> None:
    assert not waits(body)

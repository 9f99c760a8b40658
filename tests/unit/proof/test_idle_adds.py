"""Tests that leave out adding 0: each case is PTX, as compilers write it and as they seldom do."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.proof.flow.idle_adds import without_idle_adds
from cutune.ptx.parse import parse

HEAD = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)
{
.reg .pred %p<4>;
.reg .b32 %r<9>;
.reg .b64 %rd<9>;
"""
ADD = "add.s64 %rd2, %rd1, 4; red.global.add.u32 [%rd2], %r1; $done:"
#: What stands in an entry, and whether it is left without its branch.
CASES: Mapping[str, tuple[str, bool]] = {
    "plain": (f"setp.eq.s32 %p1, %r1, 0; @%p1 bra $done; {ADD}", True),
    "negated": (f"setp.ne.s32 %p1, %r1, 0; @!%p1 bra $done; {ADD}", True),
    "between": (f"setp.eq.s32 %p1, %r1, 0; mov.u32 %r3, %r4; @%p1 bra $done; {ADD}", True),
    "where_it_is_0": (f"setp.ne.s32 %p1, %r1, 0; @%p1 bra $done; {ADD}", False),
    "less_than_0": (f"setp.lt.s32 %p1, %r1, 0; @%p1 bra $done; {ADD}", False),
    "another_value": (f"setp.eq.s32 %p1, %r2, 0; @%p1 bra $done; {ADD}", False),
    # The value that is added was not tested.
    "changed": (f"setp.eq.s32 %p1, %r1, 0; mov.u32 %r1, %r4; @%p1 bra $done; {ADD}", False),
    "changed_behind": (
        f"setp.eq.s32 %p1, %r1, 0; @%p1 bra $done; add.s32 %r1, %r1, 1; {ADD}",
        False,
    ),
    "second_predicate": (f"setp.eq.s32 %p2|%p1, %r1, 0; @%p1 bra $done; {ADD}", False),
    "and_another": (f"setp.eq.and.s32 %p1, %r1, 0, %p2; @%p1 bra $done; {ADD}", False),
    "largest": (
        "setp.eq.s32 %p1, %r1, 0; @%p1 bra $done; red.global.max.s32 [%rd1], %r1; $done:",
        False,
    ),
    "two_adds": (
        f"setp.eq.s32 %p1, %r1, 0; @%p1 bra $done; red.global.add.u32 [%rd1], %r1; {ADD}",
        False,
    ),
    "result_is_read": (
        "setp.eq.s32 %p1, %r1, 0; @%p1 bra $done; atom.global.add.u32 %r5, [%rd1], %r1; $done:"
        " st.global.u32 [%rd3], %r5;",
        False,
    ),
    "predicate_of_two": (
        "setp.eq.s32 %p1, %r2, 0; @%p2 bra $here; setp.eq.s32 %p1, %r1, 0; $here:"
        f" @%p1 bra $done; {ADD}",
        False,
    ),
}


@pytest.mark.parametrize("name", list(CASES))
def test_a_branch_goes_only_where_nothing_is_added(name: str) -> None:
    body, is_left_out = CASES[name]
    (function,) = parse(f"{HEAD}{body}\nret;\n}}\n").functions.values()
    assert (without_idle_adds(function) != function) is is_left_out

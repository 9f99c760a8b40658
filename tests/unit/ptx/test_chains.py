"""What a warp waits for: loads behind short branches, and chains of instructions."""

from __future__ import annotations

import pytest

from cutune.ptx.chains import BRANCH, PREDICATED, SHARED_LOAD, Waiting, waiting_of
from cutune.ptx.control_flow import control_flow
from cutune.ptx.parse import parse
from tests.support.ptx_statements import HEADER


def waiting(body: str, joined: dict[int, int] | None = None) -> list[Waiting]:
    """Of each basic block; the first statement is in line 0."""
    head = (
        f"{HEADER}.visible .entry k(.param .u64 p) {{\n.shared .align 4 .b8 s[64];\n"
        ".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p<9>; .reg .f32 %f<99>;\n"
    )
    first = head.count("\n") + 1
    function = parse(f"{head}{body}\nret;\n}}\n").functions["k"]
    lines = {first + line: bytes_of for line, bytes_of in (joined or {}).items()}
    return waiting_of(control_flow(function, lambda name: False), lines)


def chain_of(body: str, joined: dict[int, int] | None = None) -> int:
    [block] = waiting(body, joined)
    return block.chain


def sums(count: int, each: str) -> str:
    return "\n".join(each.replace("N", str(n)) for n in range(count))


def test_sums_that_need_each_other_follow_each_other() -> None:
    # Eight sums, and the end of the kernel, which needs none of them.
    assert chain_of(sums(8, "fma.rn.f32 %f1, %f1, %f2, %f3;")) == 8


def test_sums_that_need_no_other_are_issued_one_a_cycle() -> None:
    # A chain of one, but 16 of them, and the end, take as long as four that follow each other.
    assert chain_of(sums(15, "fma.rn.f32 %fN, %fN, %f97, %f98;")) == 4
    assert chain_of(sums(16, "fma.rn.f32 %fN, %fN, %f97, %f98;")) == 5


def test_two_chains_beside_each_other_take_as_long_as_the_longer_one() -> None:
    both = sums(6, "fma.rn.f32 %f1, %f1, %f3, %f4;") + sums(5, "add.f32 %f2, %f2, %f3;")
    assert chain_of(both) == 6


def test_a_value_from_shared_memory_is_waited_for() -> None:
    assert chain_of("ld.shared.f32 %f1, [s];\nadd.f32 %f2, %f1, %f1;") == SHARED_LOAD + 1
    # Loads that need no other come one after the other.
    two = "ld.shared.f32 %f1, [s];\nld.shared.f32 %f2, [s+4];\nadd.f32 %f3, %f1, %f2;"
    assert chain_of(two) == SHARED_LOAD + 1


def test_parts_of_a_vector_are_not_issued() -> None:
    loads = sums(16, "ld.shared.f32 %fN, [s+N];")
    slots = sums(16, "add.f32 %f9N, %f98, %f98;")
    # 16 loads, 16 sums, and the end: 33 slots; with four loads only, 21.
    joined = {line: 16 if line % 4 == 0 else 0 for line in range(16)}
    assert chain_of(f"{loads}\n{slots}") == 9
    assert chain_of(f"{loads}\n{slots}", joined) == 6 + (SHARED_LOAD > 6)


def test_nothing_moves_above_a_division() -> None:
    # A sum, a division of 12 slots with a branch to its slow path, and four sums that need neither
    # of them. An approximate division takes three slots, and the sums run beside it.
    others = sums(4, "add.f32 %f2, %f2, %f97;")
    body = "add.f32 %f1, %f1, %f97;\ndiv.{}.f32 %f1, %f1, %f97;\n" + others
    assert chain_of(body.format("rn")) == 1 + 12 + BRANCH + 4
    assert chain_of(body.format("full")) == 1 + 3


LOOP = "mov.u32 %r1, 0;\nx:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 9;\n@%p1 bra x;"


def test_a_round_of_a_loop_waits_for_its_branch() -> None:
    _, loop, _ = waiting(LOOP)
    assert loop.chain == 1 + 1 + BRANCH


def skipping(count: int, middle: str = "") -> str:
    """A load, if `%r2` is not 0, behind so many instructions, and a store of it, twice."""
    return "\n".join(
        f"setp.eq.u32 %p{n}, %r2, 0;\n@%p{n} bra behind{n};\n"
        + "add.s64 %rd2, %rd2, 4;\n" * (count - 1)
        + f"ld.global.f32 %f{n}, [%rd1+{n}];\n{middle}\nbehind{n}:\n"
        + f"st.shared.f32 [s+{4 * n}], %f{n};"
        for n in (1, 2)
    )


def steps(body: str) -> int:
    return sum(block.steps for block in waiting(body))


def test_loads_behind_short_branches_overlap() -> None:
    assert steps(skipping(PREDICATED)) == 1


def test_a_long_way_round_stays_a_branch() -> None:
    assert steps(skipping(PREDICATED + 1)) == 2


def test_what_no_predicate_can_skip_stays_behind_a_branch() -> None:
    assert steps(skipping(2, "bar.sync 0;")) == 2


def test_predicates_need_no_branch() -> None:
    blocks = waiting(skipping(1))
    assert len(blocks) == 5
    # Twice a comparison and a load in any order, two stores and the end: they wait for no branch.
    assert sum(block.chain for block in blocks) < BRANCH


@pytest.mark.parametrize(("condition", "expected"), [("%r2", 1), ("%r3", 2)])
def test_a_load_waits_for_its_condition(condition: str, expected: int) -> None:
    body = (
        f"ld.global.u32 %r3, [%rd1];\nsetp.eq.u32 %p1, {condition}, 0;\n@%p1 bra behind;\n"
        "ld.global.u32 %r4, [%rd1+4];\nbehind:\nst.shared.u32 [s], %r4;"
    )
    assert steps(body) == expected

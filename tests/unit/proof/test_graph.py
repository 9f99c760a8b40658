"""Control flow as the proofs read it: which blocks lie on all ways, and whose branches decide."""

from __future__ import annotations

import pytest

from cutune.proof.flow.graph import Graph, Irreducible
from cutune.ptx.control_flow import control_flow
from cutune.ptx.parse import parse

HEAD = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel()
{
.reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
"""
#: An alternative, a loop and a condition. The number of a block is what it writes to %r8.
TEXT = """\
mov.u32 %r8, 0; setp.lt.s32 %p1, %r1, 9; @%p1 bra $other;
mov.u32 %r8, 1; mov.u32 %r2, 5; bra $both;
$other: mov.u32 %r8, 2; mov.u32 %r2, 6;
$both: mov.u32 %r8, 3;
$loop: mov.u32 %r8, 4; add.s32 %r2, %r2, %r3; setp.lt.s32 %p2, %r2, 99; @%p2 bra $loop;
mov.u32 %r8, 5; setp.lt.s32 %p3, %r4, 9; @%p3 bra $end;
mov.u32 %r8, 6; st.global.u32 [%rd1], %r2;
$end: mov.u32 %r8, 7;
"""


def graph(body: str) -> Graph:
    (function,) = parse(f"{HEAD}{body}ret;\n}}\n").functions.values()
    return Graph(control_flow(function, lambda name: True))


def bits(sets: int) -> set[int]:
    return {number for number in range(sets.bit_length()) if sets >> number & 1}


def live(graph: Graph) -> list[set[str]]:
    """Registers: labels are read, too."""
    return [{name for name in names if name.startswith("%")} for names in graph.live]


GRAPH = graph(TEXT)


def test_blocks_are_those_of_the_text() -> None:
    firsts = [block.instructions[0].operands for block in GRAPH.flow.blocks]
    assert firsts == [("%r8", str(number)) for number in range(8)]
    assert GRAPH.predecessors == ((), (0,), (0,), (1, 2), (3, 4), (4,), (5,), (5, 6))


def test_blocks_on_all_ways() -> None:
    assert [bits(one) for one in GRAPH.dominators] == [
        {0}, {0, 1}, {0, 2}, {0, 3}, {0, 3, 4}, {0, 3, 4, 5}, {0, 3, 4, 5, 6}, {0, 3, 4, 5, 7},
    ]  # fmt: skip
    assert [bits(one) for one in GRAPH.postdominators] == [
        {0, 3, 4, 5, 7}, {1, 3, 4, 5, 7}, {2, 3, 4, 5, 7},
        {3, 4, 5, 7}, {4, 5, 7}, {5, 7}, {6, 7}, {7},
    ]  # fmt: skip


def test_a_loop() -> None:
    assert GRAPH.loop_of_header == {4: {4}}
    assert [set(one) for one in GRAPH.loops_around] == [*[set[int]()] * 4, {4}, *[set[int]()] * 3]
    assert (GRAPH.entries(4), GRAPH.latches(4)) == ((3,), (4,))


def test_from_which_branches_a_block_is_reached_or_missed() -> None:
    decided = {1: [0], 2: [0], 6: [0, 4, 5]}
    assert [GRAPH.controllers(b) for b in range(8)] == [decided.get(b, []) for b in range(8)]


def test_which_branches_decide_from_where_a_block_is_reached() -> None:
    deciders = GRAPH.deciders
    assert (deciders[3], deciders[4], deciders[7]) == ((0,), (4,), (5,))
    assert (deciders[0], deciders[6]) == ((), (5,))


def test_which_branches_decide_how_often_a_block_runs() -> None:
    decided = {1: {0}, 2: {0}, 4: {4}, 6: {5}}
    assert [set(one) for one in GRAPH.dependences] == [decided.get(b, set()) for b in range(8)]


def test_a_block_depends_on_what_its_condition_depends_on() -> None:
    nested = graph(
        "@%p1 bra $end; mov.u32 %r8, 1; @%p2 bra $end; mov.u32 %r8, 2; $end: mov.u32 %r8, 3;"
    )
    assert [set(one) for one in nested.dependences] == [set(), {0}, {0, 1}, set()]
    assert nested.controllers(2) == [0, 1]


def test_which_registers_are_read_later() -> None:
    later = live(GRAPH)
    always = {"%r4", "%rd1"}
    assert later[0] == {"%r1", "%r3"} | always
    assert later[1] == later[2] == {"%r3"} | always
    assert later[3] == later[4] == {"%r2", "%r3"} | always
    assert later[5:] == [{"%r2"} | always, {"%r2", "%rd1"}, set()]


def test_what_is_written_on_a_condition_alone_keeps_its_value() -> None:
    kept = graph("@%p1 mov.u32 %r1, 0; st.global.u32 [%rd1], %r1;")
    written = graph("mov.u32 %r1, 0; st.global.u32 [%rd1], %r1;")
    assert live(kept)[0] == {"%p1", "%r1", "%rd1"}
    assert live(written)[0] == {"%rd1"}


def test_a_branch_reads_its_condition() -> None:
    assert "%p1" in graph("bra $next; $next: @%p1 bra $end; mov.u32 %r8, 1; $end:").live[0]


@pytest.mark.parametrize(
    ("body", "expected"), [(TEXT, True), ("@%p1 bra $end; $again: bra $again; $end:", False)]
)
def test_is_there_a_way_out_of_everywhere(body: str, expected: bool) -> None:
    assert graph(body).ends_everywhere is expected


def test_a_cycle_with_two_entries_is_no_loop() -> None:
    cycle = graph(
        "@%p1 bra $second; $first: mov.u32 %r8, 1; @%p2 bra $end;"
        " $second: mov.u32 %r8, 2; @%p3 bra $first; $end:"
    )
    with pytest.raises(Irreducible):
        for block in range(cycle.count):
            cycle.entries(block)

"""What barriers keep apart, in the control flow of small entries."""

from __future__ import annotations

import pytest

from cutune.proof.flow.graph import Graph, Phases
from cutune.ptx.control_flow import control_flow
from cutune.ptx.parse import parse
from cutune.ptx.types import Instruction

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u32 n)
{
    .reg .pred %p<4>;
    .reg .b32 %r<9>;
    ld.param.u32 %r1, [n];
    setp.eq.s32 %p1, %r1, 0;
"""
ENTRIES = {
    "between": "mov.u32 %r2, 1; bar.sync 0; mov.u32 %r3, 1;",
    "one_way": "mov.u32 %r2, 1; @%p1 bra $end; bar.sync 0; $end: mov.u32 %r3, 1;",
    "both_ways": (
        "mov.u32 %r2, 1; @%p1 bra $else; bar.sync 0; bra $end; $else: bar.sync 0;"
        " $end: mov.u32 %r3, 1;"
    ),
    "around_again": ("$loop: mov.u32 %r2, 1; bar.sync 0; mov.u32 %r3, 1; @%p1 bra $loop;"),
    "kept_apart": (
        "$loop: mov.u32 %r2, 1; bar.sync 0; mov.u32 %r3, 1; bar.sync 0; @%p1 bra $loop;"
    ),
    "none": "mov.u32 %r2, 1; @%p1 bra $end; mov.u32 %r3, 1; $end:",
}
#: May `%r2` and `%r3` be written at the same time?
TOGETHER = {"one_way", "around_again", "none"}


@pytest.mark.parametrize("name", list(ENTRIES))
def test_two_writes(name: str) -> None:
    body = ENTRIES[name].replace("; ", ";\n    ").replace(": ", ":\n    ")
    module = parse(f"{HEAD}    {body}\n    ret;\n}}\n")
    graph = Graph(control_flow(module.functions["k"], lambda called: True))
    blocks = enumerate(graph.flow.blocks)
    placed = [(index, item) for index, block in blocks for item in block.instructions]
    (first,) = {index for index, item in placed if _writes(item, "%r2")}
    (second,) = {index for index, item in placed if _writes(item, "%r3")}
    phases = Phases(graph, {index for index, item in placed if item.opcode == "bar"})
    assert phases.meet(first, second) == phases.meet(second, first) == (name in TOGETHER)


def _writes(item: Instruction, register: str) -> bool:
    return item.opcode == "mov" and item.operands[0] == register

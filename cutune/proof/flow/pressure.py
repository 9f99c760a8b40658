"""An estimate of the registers that a thread needs. Takes a function, gives a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cutune.emulator.ptx.control_flow import BasicBlock, control_flow
from cutune.emulator.ptx.taint import results, sources
from cutune.emulator.ptx.types import UNREADABLE, Function
from cutune.proof.flow.graph import Graph

#: 32-bit registers by the end of a PTX type; predicates have registers of their own.
_WORDS = {"8": 1, "16": 1, "32": 1, "64": 2, "28": 4}


def register_pressure(function: Function) -> int:
    """Return the most 32-bit registers that are live at once; 0 for code that cannot be followed.

    ptxas moves instructions, so it is an estimate, which tells for which kernels ptxas is asked.
    """
    try:
        graph = Graph(control_flow(function, lambda name: True))
        return max((_of_block(b, graph, function.registers) for b in graph.flow.blocks), default=0)
    except UNREADABLE:
        return 0


def _of_block(block: BasicBlock, graph: Graph, types: Mapping[str, str]) -> int:
    live = {name for target in block.terminator.targets for name in graph.live[target]}
    if block.terminator.guard:
        live.add(block.terminator.guard)
    most = _words(live, types)
    for instruction in reversed(block.instructions):
        if not instruction.guard and instruction.opcode != "call":
            live.difference_update(results(instruction))
        live.update(sources(instruction))
        most = max(most, _words(live, types))
    return most


def _words(names: Iterable[str], types: Mapping[str, str]) -> int:
    return sum(_WORDS.get(types.get(name, "")[-2:].lstrip("bfsu"), 0) for name in names)

"""Compare-and-swaps that are repeated until they succeed. Takes a flow, for `block_use`.

    old = *p;
    do { seen = old; old = atomicCAS(p, seen, f(seen)); } while (old != seen);

Memory holds f of what it held, as after an atomic operation whose result is not used. Which thread
came first is not told but to memory. No proof rests on it: what f is, is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cutune.proof.flow.graph import Graph
from cutune.proof.values.operations import FUNCTIONS
from cutune.ptx.taint import names, results, sources
from cutune.ptx.types import Instruction


def is_retried(swap: Instruction, graph: Graph) -> bool:
    """Tell whether the result of a swap reaches nothing but whether, and how, it is tried again."""
    if "cas" not in swap.modifiers:
        return False
    instructions = (item for block in graph.flow.blocks for item in block.instructions)
    swaps = [item for item in instructions if _is_swap_at(item, swap.operands[1])]
    if swap not in swaps:
        return False
    told = _reached_from(swaps, graph)
    # What fails is tried again, with what memory held instead.
    return told is not None and any(item.operands[2] in told for item in swaps)


def _is_swap_at(item: Instruction, place: str) -> bool:
    return item.opcode == "atom" and "cas" in item.modifiers and item.operands[1] == place


def _reached_from(swaps: Sequence[Instruction], graph: Graph) -> set[str] | None:
    """The registers that depend on their results; None where an effect does."""
    told, before = {item.operands[0] for item in swaps}, 0
    while before != (before := len(told)):
        for item, is_decided in _in_order(graph, told):
            is_read = not told.isdisjoint((*sources(item), item.guard))
            if item in swaps or not (is_read or is_decided):
                continue
            if item.opcode not in FUNCTIONS and (is_read or item.opcode not in ("ld", "bra")):
                return None
            told.update(results(item))
    is_place = any(not told.isdisjoint(names(item.operands[1])) for item in swaps)
    return told if not is_place else None


def _in_order(graph: Graph, told: set[str]) -> Iterator[tuple[Instruction, bool]]:
    """All instructions but branches; do such registers decide whether a thread comes to one?"""
    blocks = graph.flow.blocks
    for index, block in enumerate(blocks):
        deciding = (blocks[other].terminator for other in graph.dependences[index])
        is_decided = any(one.guard in told for one in deciding)
        yield from ((i, is_decided) for i in block.instructions if i.opcode != "bra")

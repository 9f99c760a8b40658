"""Kernels whose blocks fill a table in shared memory. Takes an entry, gives its two phases.

All threads of a block fill the table, wait for each other once, and read it then. So the entry has
one barrier, on every way and in no loop, and what lies before it never comes behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cutune.emulator.ptx.taint import names
from cutune.emulator.ptx.types import Function, Instruction, Variable
from cutune.proof.flow.graph import Graph

_BARRIERS = ("bar", "barrier")
_PLAIN = frozenset({"sync", "aligned", "cta"})
#: Instructions that may name an array in shared memory: they compute its address, or access it.
_NAMING = ("mov", "ld", "st")


@dataclass(frozen=True)
class Table:
    """Its two phases.

    Attributes:
        filling: the entry up to the barrier, where it ends.
        before: the blocks of the whole entry in which the table is filled.
    """

    filling: Function
    before: frozenset[int]


def table_of(function: Function, graph: Graph, variables: Mapping[str, Variable]) -> Table | None:
    """The phases of an entry that fills a table; None where it has other ones."""
    barriers = [
        (index, one)
        for index, block in enumerate(graph.flow.blocks)
        for one in block.instructions
        if one.opcode in _BARRIERS and "warp" not in one.modifiers
    ]
    if len(barriers) != 1 or not _is_one_array(function, variables):
        return None
    ((place, barrier),) = barriers
    is_plain = {*barrier.modifiers} <= _PLAIN and len(barrier.operands) == 1 and not barrier.guard
    if not is_plain:
        return None
    behind = _behind(graph, place)
    is_once = graph.postdominators[0] >> place & 1 and not graph.loops_around[place]
    if not is_once or not all(graph.dominators[block] >> place & 1 for block in behind):
        return None
    end = replace(barrier, opcode="ret", modifiers=(), operands=())
    body = tuple(end if item == barrier else item for item in function.body or ())
    before = frozenset(range(graph.count)) - behind
    return Table(replace(function, body=body), before)


def _behind(graph: Graph, place: int) -> frozenset[int]:
    """The blocks that may come after a block."""
    found: set[int] = set()
    ahead = [*graph.flow.blocks[place].terminator.targets]
    while ahead:
        block = ahead.pop()
        if block not in found:
            found.add(block)
            ahead += graph.flow.blocks[block].terminator.targets
    return frozenset(found)


def _is_one_array(function: Function, variables: Mapping[str, Variable]) -> bool:
    """Do different names stand for different memory, which no other pointer leads to?"""
    body = [item for item in function.body or () if isinstance(item, Instruction)]
    if any(item.opcode == "cvta" and "shared" in item.modifiers for item in body):
        return False
    named = [
        (name, item.opcode)
        for item in body
        for operand in item.operands
        for name in names(operand)
        if name in variables and variables[name].space == "shared"
    ]
    # Arrays of unknown length all begin at one place.
    open_ended = {name for name, _ in named if variables[name].count == 0}
    is_plain = all(opcode in _NAMING for _, opcode in named)
    return bool(named) and len(open_ended) <= 1 and is_plain

"""Where the run of a block (`block_run`) ends, what it does outside, and where it goes around.

Takes control flow, gives what stands between a branch and where its ways meet.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass

from cutune.core.codes import Code
from cutune.proof.collectives.lanes import Flags, Lanes
from cutune.proof.flow.graph import Graph
from cutune.proof.values.operations import FUNCTIONS
from cutune.ptx.taint import results, sources
from cutune.ptx.types import Instruction

#: `%tid.x`, `%laneid`, and registers besides.
_BUILT_IN = re.compile(r"%[\w$]+(?:\.[xyz])?")


class Unsettled(Exception):
    """It is not known what threads do there, or, with a `code`, what is wrong about it.

    `instruction`: None where control flow ends it.
    """

    def __init__(
        self, what: str, instruction: Instruction | None = None, code: Code | None = None
    ) -> None:
        super().__init__(what)
        self.what, self.instruction, self.code = what, instruction, code


@dataclass(frozen=True)
class Stop:
    """Where all threads stop: at the end of a basic block, or in front of a loop."""

    block: int
    is_in_front: bool = False


@dataclass(frozen=True)
class Effect:
    """An access of global memory: by which threads, and the values that it gets."""

    instruction: Instruction
    threads: Flags
    values: tuple[Lanes, ...]


@dataclass(frozen=True)
class Detour:
    """Basic blocks behind a branch that only compute, up to where its ways meet again.

    Attributes:
        end: where they meet.
        read: registers on which the results depend, those of the condition among them.
        written: registers that hold the results.
    """

    end: int
    blocks: frozenset[int]
    read: tuple[str, ...]
    written: tuple[str, ...]


def detour(graph: Graph, block: int, registers: Container[str]) -> Detour | None:
    """Return what stands behind a branch; None where more is done than to compute.

    `registers`: those of the function; all else that is read has a value everywhere.
    """
    end = graph.flow.meetings[block]
    if end >= graph.count:
        return None
    blocks = set[int]()
    waiting = [*graph.flow.blocks[block].terminator.targets]
    while waiting:
        one = waiting.pop()
        if one == end or one in blocks:
            continue
        terminator = graph.flow.blocks[one].terminator
        # A way back is a loop.
        if not block < one < end or terminator.kind not in ("branch", "jump"):
            return None
        blocks.add(one)
        waiting += terminator.targets
    items = [item for one in blocks for item in _computing(graph, one)]
    if not all(item.opcode in FUNCTIONS for item in items):
        return None
    targets = graph.flow.blocks[block].terminator.targets
    before = frozenset[str]().union(*(graph.live[target] for target in targets))
    alive = {name for item in items for name in results(item)} & graph.live[end]
    guards = {graph.flow.blocks[one].terminator.guard for one in blocks}
    # Where a register is not written on one of the ways it keeps what it has.
    named = {name for item in items for name in _read(item)} | guards | alive
    read = {name for name in named if name in before or name not in registers}
    read.add(graph.flow.blocks[block].terminator.guard)
    return Detour(end, frozenset(blocks), tuple(sorted(read - {""})), tuple(sorted(alive)))


def _read(item: Instruction) -> Iterator[str]:
    """What an instruction reads: registers, its guard, and built-ins."""
    yield from sources(item)
    yield item.guard
    yield from (one for operand in item.operands[1:] for one in _BUILT_IN.findall(operand))


def _computing(graph: Graph, block: int) -> Iterator[Instruction]:
    return (item for item in graph.flow.blocks[block].instructions if item.opcode != "bra")

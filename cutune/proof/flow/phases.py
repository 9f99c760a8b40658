"""Phases between barriers. Takes control flow and barriers that all threads of a block reach."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property

from cutune.proof.flow.graph import Graph


@dataclass(frozen=True)
class Phases:
    """The phases of an entry. A barrier is the last instruction of its basic block.

    Threads of a block execute the same barriers in the same order: between two of them each thread
    is in blocks to which the first one leads without another one. Two blocks that no barrier, nor
    the beginning, leads to both are never executed at the same time.
    """

    graph: Graph
    barriers: Collection[int]

    def meet(self, first: int, second: int) -> bool:
        """Tell whether two threads of a block may be in these basic blocks at the same time."""
        return any(first in phase and second in phase for phase in self._phases)

    @cached_property
    def _phases(self) -> list[frozenset[int]]:
        blocks = self.graph.flow.blocks
        begins = [(0,), *(tuple(blocks[barrier].terminator.targets) for barrier in self.barriers)]
        return [self._from(begin) for begin in dict.fromkeys(begins)]

    def _from(self, begin: tuple[int, ...]) -> frozenset[int]:
        phase: set[int] = set()
        waiting = list(begin)
        while waiting:
            block = waiting.pop()
            if block in phase:
                continue
            phase.add(block)
            if block not in self.barriers:
                waiting += self.graph.flow.blocks[block].terminator.targets
        return frozenset(phase)

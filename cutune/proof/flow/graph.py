"""Facts that follow from control flow alone. Takes a function's text, or its basic blocks.

Gives dominators, loops, live registers, an estimate of the registers that a thread needs, whether
threads run straight through, and the phases between barriers that all threads of a block reach.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from cutune.emulator.ptx.control_flow import ControlFlow, on_all_ways
from cutune.emulator.ptx.taint import results, sources
from cutune.emulator.ptx.types import Instruction


class Irreducible(Exception):
    """A cycle that is no loop with one entry."""


@dataclass(frozen=True)
class Graph:
    """Control flow of a function's blocks. Sets of blocks are bits of an integer."""

    flow: ControlFlow

    @property
    def count(self) -> int:
        """The number of blocks."""
        return len(self.flow.blocks)

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """Per block those from which it may be reached."""
        sources_of: list[list[int]] = [[] for _ in self.flow.blocks]
        for index, block in enumerate(self.flow.blocks):
            for target in dict.fromkeys(block.terminator.targets):
                sources_of[target].append(index)
        return tuple(map(tuple, sources_of))

    @cached_property
    def loops_around(self) -> tuple[frozenset[int], ...]:
        """Per block the headers of the loops that it lies in."""
        return tuple(
            frozenset(loop.header for loop in self.flow.loops if index in loop.blocks)
            for index in range(self.count)
        )

    @cached_property
    def loop_of_header(self) -> dict[int, frozenset[int]]:
        """The blocks of each loop, by its header."""
        return {loop.header: loop.blocks for loop in self.flow.loops}

    def entries(self, block: int) -> tuple[int, ...]:
        """Return the predecessors that come before a block: all but those that close a loop.

        Raises:
            Irreducible: one comes later and closes none.
        """
        if any(p not in self.loop_of_header.get(block, ()) for p in self.latches(block)):
            raise Irreducible
        return tuple(p for p in self.predecessors[block] if p < block)

    def latches(self, header: int) -> tuple[int, ...]:
        """Return the blocks from which a loop goes back to its header."""
        return tuple(p for p in self.predecessors[header] if p >= header)

    @cached_property
    def dominators(self) -> tuple[int, ...]:
        """Per block those that lie on every way to it, itself included."""
        return tuple(on_all_ways([(), *self.predecessors[1:]], range(self.count)))

    @cached_property
    def postdominators(self) -> tuple[int, ...]:
        """Per block those that lie on every way from it to an end, itself included."""
        successors = [block.terminator.targets for block in self.flow.blocks]
        return tuple(on_all_ways(successors, reversed(range(self.count))))

    @cached_property
    def _branching(self) -> dict[int, frozenset[int]]:
        """The ways on of those blocks that have several."""
        ways = [frozenset(block.terminator.targets) for block in self.flow.blocks]
        return {index: targets for index, targets in enumerate(ways) if len(targets) > 1}

    def deciders(self, block: int) -> list[int]:
        """Return the blocks whose branches may decide from where a block is reached."""
        here = self.dominators[block] & ~(1 << block)
        nearest = here.bit_length() - 1
        loop = self.loop_of_header.get(block, frozenset())
        return [
            other
            for other in self._branching
            if other in loop
            or (
                nearest >= 0
                and self.dominators[other] >> nearest & 1
                and not self.dominators[other] >> block & 1
            )
        ]

    def controllers(self, block: int) -> list[int]:
        """Return the blocks whose branches decide whether a block is executed at all."""
        return [
            other
            for other in self._branching
            if not self.postdominators[other] >> block & 1 and self._reaches[other] >> block & 1
        ]

    @cached_property
    def dependences(self) -> tuple[frozenset[int], ...]:
        """Per block those whose branches decide, perhaps by others, how often it is executed."""
        deciding = [
            {
                other
                for other, targets in self._branching.items()
                if any(self.postdominators[target] >> block & 1 for target in targets)
                and not (block != other and self.postdominators[other] >> block & 1)
            }
            for block in range(self.count)
        ]
        changed = True
        while changed:
            changed = False
            for blocks in deciding:
                before = len(blocks)
                blocks.update(*[deciding[other] for other in blocks])
                changed |= len(blocks) > before
        return tuple(map(frozenset, deciding))

    @property
    def ends_everywhere(self) -> bool:
        """Tell whether there is a way to an end from every block."""
        ends = sum(
            1 << i for i, block in enumerate(self.flow.blocks) if not block.terminator.targets
        )
        return all(reached & ends for reached in self._reaches)

    @cached_property
    def _reaches(self) -> tuple[int, ...]:
        """Per block those that may follow it, itself included."""
        following = [1 << index for index in range(self.count)]
        changed = True
        while changed:
            changed = False
            for index in reversed(range(self.count)):
                reached = following[index]
                for target in self.flow.blocks[index].terminator.targets:
                    reached |= following[target]
                changed |= reached != following[index]
                following[index] = reached
        return tuple(following)

    @cached_property
    def live(self) -> tuple[frozenset[str], ...]:
        """Per block the registers whose values at its beginning may still be read."""
        used, defined = zip(
            *(_used_and_defined(b.instructions) for b in self.flow.blocks), strict=True
        )
        found = [set(names) for names in used]
        for index, block in enumerate(self.flow.blocks):
            if block.terminator.guard:
                found[index] |= {block.terminator.guard} - defined[index]
        changed = True
        while changed:
            changed = False
            for index in reversed(range(self.count)):
                for target in self.flow.blocks[index].terminator.targets:
                    passing = found[target] - defined[index] - found[index]
                    found[index] |= passing
                    changed |= bool(passing)
        return tuple(frozenset(names) for names in found)


def _used_and_defined(instructions: Sequence[Instruction]) -> tuple[set[str], set[str]]:
    used: set[str] = set()
    defined: set[str] = set()
    for instruction in instructions:
        used.update(name for name in sources(instruction) if name not in defined)
        if instruction.guard:
            # A register that it does not write keeps its value.
            used.update(name for name in results(instruction) if name not in defined)
        elif instruction.opcode != "call":
            defined.update(results(instruction))
    return used, defined

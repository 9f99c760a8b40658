"""Facts that follow from control flow alone. Takes a function's text, or its basic blocks.

Gives dominators, loops, live registers, an estimate of the registers that a thread needs, whether
threads run straight through, and the phases between barriers that all threads of a block reach. A
function is cut where these meet (shuffles, barriers, shared memory): a reduction may begin there.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import TypeVar

from cutune.core.reaching import reached
from cutune.ptx.control_flow import BasicBlock, ControlFlow, control_flow, on_all_ways
from cutune.ptx.taint import results, sources, spaces
from cutune.ptx.types import BARRIERS, UNREADABLE, Function, Instruction, Label

T = TypeVar("T")
_MEETING = BARRIERS | {"shfl", "redux", "vote"}


class Irreducible(Exception):
    """A cycle that is no loop with one entry."""


@dataclass(frozen=True)
class Graph:
    """Control flow of a function's blocks. Sets of blocks are bits of an integer."""

    flow: ControlFlow

    @property
    def count(self) -> int:
        return len(self.flow.blocks)

    @cached_property
    def meeting_blocks(self) -> tuple[int, ...]:
        """Those with instructions in which threads of a block meet."""
        blocks = enumerate(self.flow.blocks)
        return tuple(index for index, one in blocks if any(map(is_meeting, one.instructions)))

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
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
        return {loop.header: loop.blocks for loop in self.flow.loops}

    def entries(self, block: int) -> tuple[int, ...]:
        """Return a block's predecessors but those that close a loop; raises Irreducible."""
        if any(p not in self.loop_of_header.get(block, ()) for p in self.latches(block)):
            raise Irreducible
        return tuple(p for p in self.predecessors[block] if p < block)

    def latches(self, header: int) -> tuple[int, ...]:
        return tuple(p for p in self.predecessors[header] if p >= header)

    def exits(self, header: int) -> list[int]:
        """Return the blocks of a loop from which it may be left."""
        blocks = self.loop_of_header[header]
        return [b for b in blocks if {*self.flow.blocks[b].terminator.targets} - blocks]

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
        ways = [frozenset(block.terminator.targets) for block in self.flow.blocks]
        return {index: targets for index, targets in enumerate(ways) if len(targets) > 1}

    @cached_property
    def deciders(self) -> tuple[tuple[int, ...], ...]:
        """Per block those whose branches may decide from which predecessor it is reached."""
        return tuple(map(self._deciders, range(self.count)))

    def _deciders(self, block: int) -> tuple[int, ...]:
        here = self.dominators[block] & ~(1 << block)
        nearest = here.bit_length() - 1
        loop = self.loop_of_header.get(block, frozenset())
        return tuple(
            other
            for other in self._branching
            if other in loop
            or (
                nearest >= 0
                and self.dominators[other] >> nearest & 1
                and not self.dominators[other] >> block & 1
            )
        )

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
        return _closed(deciding, deciding)

    @property
    def ends_everywhere(self) -> bool:
        """Tell whether there is a way to an end from every block."""
        ends = sum(1 << i for i, b in enumerate(self.flow.blocks) if not b.terminator.targets)
        return all(reached & ends for reached in self._reaches)

    @cached_property
    def _reaches(self) -> tuple[int, ...]:
        following, before = [1 << index for index in range(self.count)], list[int]()
        while following != before:
            before = list(following)
            for index in reversed(range(self.count)):
                for target in self.flow.blocks[index].terminator.targets:
                    following[index] |= following[target]
        return tuple(following)

    @cached_property
    def live(self) -> tuple[frozenset[str], ...]:
        """Per block the registers whose values at its beginning may still be read."""
        places, found = self.live_bits
        return tuple(frozenset(compress(places, map(int, reversed(f"{bits:b}")))) for bits in found)

    @cached_property
    def live_bits(self) -> tuple[Mapping[str, int], Sequence[int]]:
        """`live` as the bits of numbers, and the place of each register among them.

        Code may have thousands of blocks, and of registers.
        """
        places, found, kept = dict[str, int](), list[int](), list[int]()
        for block in self.flow.blocks:
            used, defined = _used_and_defined(block.instructions)
            kept.append(~_bits_of(defined, places))
            guard = [block.terminator.guard] if block.terminator.guard else []
            found.append(_bits_of(used, places) | _bits_of(guard, places) & kept[-1])
        before = list[int]()
        while before != (before := [*found]):
            for index in reversed(range(len(found))):
                for other in self.flow.blocks[index].terminator.targets:
                    found[index] |= found[other] & kept[index]
        return places, found


def _bits_of(names: Iterable[str], places: dict[str, int]) -> int:
    """Names as the bits of a number; one that has no place among them gets the next."""
    found = 0
    for name in names:
        found |= 1 << places.setdefault(name, len(places))
    return found


def _closed(found: Sequence[set[T]], others: Sequence[Iterable[int]]) -> tuple[frozenset[T], ...]:
    """Add to what is found at each block what is found at others, until nothing is added."""
    before = -1
    while before != (before := sum(map(len, found))):
        for index in reversed(range(len(found))):
            for other in tuple(others[index]):
                found[index] |= found[other]
    return tuple(map(frozenset, found))


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
        return [self.beginning_at(begin) for begin in dict.fromkeys(begins)]

    def beginning_at(self, begin: tuple[int, ...]) -> frozenset[int]:
        """Return the basic blocks that threads come to from these without a barrier."""
        blocks = self.graph.flow.blocks

        def behind(block: int) -> tuple[int, ...]:
            return () if block in self.barriers else blocks[block].terminator.targets

        return frozenset(reached(begin, behind))


#: 32-bit registers by the end of a PTX type; predicates have registers of their own.
_WORDS = {"8": 1, "16": 1, "32": 1, "64": 2, "28": 4}


def register_pressure(function: Function) -> int:
    """Return the most 32-bit registers that are live at once; 0 for code that cannot be followed.

    ptxas moves instructions, so it is an estimate, which tells for which kernels ptxas is asked.
    """
    with suppress(*UNREADABLE):
        graph, types = Graph(control_flow(function, lambda name: True)), function.registers
        words = {name: _WORDS.get(type_[-2:].lstrip("bfsu"), 0) for name, type_ in types.items()}
        live = _LiveWords(graph, words)
        return max((one for block in graph.flow.blocks for one in live.of(block)), default=0)
    return 0


class _LiveWords:
    def __init__(self, graph: Graph, words: Mapping[str, int]) -> None:
        places, self._live = graph.live_bits
        self._places = dict(places)  # What lives within a block alone gets one, too.
        self._words = words
        self._having = dict.fromkeys({*words.values()} - {0}, 0)
        for name, place in self._places.items():
            if count := words.get(name, 0):
                self._having[count] |= 1 << place

    def of(self, block: BasicBlock) -> Iterator[int]:
        """Words that may still be read: at the end of a block, then at each instruction."""
        places = self._places
        live = _bits_of([block.terminator.guard] if block.terminator.guard else (), places)
        for target in block.terminator.targets:
            live |= self._live[target]
        # The sum is carried along: sets are as large as a kernel of many registers.
        count = sum(each * (live & having).bit_count() for each, having in self._having.items())
        yield count
        for instruction in reversed(block.instructions):
            if not instruction.guard and instruction.opcode != "call":
                ended = [one for one in {*results(instruction)} if live & _bits_of([one], places)]
                live &= ~_bits_of(ended, places)
                count -= sum(self._words.get(name, 0) for name in ended)
            begun = [one for one in {*sources(instruction)} if not live & _bits_of([one], places)]
            live |= _bits_of(begun, places)
            count += sum(self._words.get(name, 0) for name in begun)
            yield count


def is_straight(function: Function, assembly: Container[int]) -> bool:
    """Tell whether it has no loop, and nothing by which the program itself ends a thread early.

    `assembly`: lines of PTX that the program has written itself.
    """
    for item in function.instructions:
        if item.opcode == "exit" or (item.opcode == "ret" and item.line in assembly):
            return False
    with suppress(*UNREADABLE):
        return not control_flow(function, lambda name: True).loops
    return False


def cut_where_threads_meet(function: Function) -> Function:
    """Return the function with a label in front of each such instruction behind others."""
    body: list[Instruction | Label] = []
    begin, was_meeting = 0, False
    for item in function.body or ():
        meets = isinstance(item, Instruction) and is_meeting(item)
        if meets and not was_meeting:
            body.insert(begin, Label(f"$meet{len(body)}"))
        was_meeting = meets
        body.append(item)
        if not _takes_apart(item):
            begin = len(body)
    return replace(function, body=tuple(body))


def _takes_apart(item: Instruction | Label) -> bool:
    """Does it make halves of a value, or constants, for threads that exchange the halves?"""
    return isinstance(item, Instruction) and item.opcode == "mov" and not item.guard


def is_meeting(instruction: Instruction) -> bool:
    """Tell whether threads of a block meet in an instruction."""
    return instruction.opcode in _MEETING or "shared" in spaces(instruction)

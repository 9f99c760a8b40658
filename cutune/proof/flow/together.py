"""Where threads of a block are together. Takes a function and its block, says what is against it.

A thread whose kernel returns is gone: no barrier, and no shuffle of its warp, waits for it. A copy
in which it goes on, to a barrier behind the kernel's body, is another matter: there all threads
have to come to each barrier, and all lanes of a warp to each warp-level instruction. So branches
that decide whether they do must go alike for all of them. What a branch depends on is alike in a
block if it is made of parameters, constants, indices of blocks and shapes; in a warp also of
`threadIdx.x / 32`, and `threadIdx.x < 64`. What is written where threads part differs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from enum import IntEnum
from functools import cached_property

from cutune.proof.flow.graph import Graph
from cutune.proof.memory.accesses import BARRIER_WORDS
from cutune.ptx.control_flow import BasicBlock, call_target, control_flow
from cutune.ptx.taint import results, sources, spaces
from cutune.ptx.types import (
    ARITHMETIC,
    BARRIERS,
    BRANCHES,
    LOADS,
    MEMORY,
    UNREADABLE,
    Function,
    Instruction,
    Module,
    integer,
    of_last,
)
from cutune.toolchain.device.thread_block import WARP, Block

_WARP_LEVEL = frozenset({"shfl", "vote", "redux"})
_CARRYING = frozenset({"addc", "subc", "madc"})
_FENCES = frozenset({"membar", "fence"})
#: What a function that is called may do.
_CALLED = ARITHMETIC | _CARRYING | MEMORY | BRANCHES | _FENCES | {"call", "ret"}
_KNOWN = _CALLED | BARRIERS | _WARP_LEVEL
_PLACE = re.compile(r"%tid\.([xyz])")
_SHAPE = re.compile(r"%(?:ntid|ctaid|nctaid)\.[xyz]")
_LITERAL = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?")
#: Comparisons with the number of the first thread of a warp, and with that of a last one.
_BELOW_FIRST, _BELOW_LAST = frozenset({"lt", "ge", "lo", "hs"}), frozenset({"le", "gt", "ls", "hi"})


class Alike(IntEnum):
    """The threads that have one value in a register where all of them come to an instruction."""

    BLOCK = 0
    WARP = 1
    THREAD = 2


@of_last
def parted(module: Module, function: Function, block: Block) -> str:
    """Return what may keep threads that go on behind a kernel from doing what it does, or ""."""
    with suppress(*UNREADABLE):
        return next(_Together(module, function, block).objections(), "")
    return "its code cannot be followed"


class _Together:
    def __init__(self, module: Module, function: Function, block: Block) -> None:
        self.module, self.function, self.block = module, function, block
        self.graph = Graph(control_flow(function, lambda name: name not in module.functions))
        #: Those of registers that are not alike in the block.
        self.levels: dict[str, Alike] = {}
        before = None
        while before != self.levels:
            before = dict(self.levels)
            self._follow()

    def objections(self) -> Iterator[str]:
        """Yield what is against it, in words."""
        if not self.graph.ends_everywhere:
            yield "it may go on without an end"
        for index, block in enumerate(self.graph.flow.blocks):
            for one in (*block.instructions, *filter(None, [block.terminator.instruction])):
                yield from self._against(one, self._deciding(index))

    def _against(self, one: Instruction, decided: Alike) -> Iterator[str]:
        decided = max(decided, self._level(one.guard)) if one.guard else decided
        is_of_warp = one.opcode in _WARP_LEVEL or "warp" in one.modifiers
        if one.opcode not in _KNOWN:
            yield f"nothing is known of '{one.opcode}' where threads go on"
        elif one.opcode == "call":
            yield from self._against_called(call_target(one), ())
        elif is_of_warp:
            if "sync" not in one.modifiers:
                yield f"'{one.opcode}' does not name its threads"
            if decided > Alike.WARP:
                yield f"some threads of a warp may not come to '{one.opcode}'"
        elif one.opcode in BARRIERS:
            if not ({*one.modifiers} <= BARRIER_WORDS and one.operands == ("0",)):
                yield "it has a barrier of some threads, or one that tells something"
            if decided > Alike.BLOCK:
                yield "some threads may not come to a barrier"

    def _against_called(self, name: str, above: tuple[str, ...]) -> Iterator[str]:
        called = self.module.functions.get(name)
        if called is None or called.body is None or name in above:
            yield "it calls a function that is not known"
            return
        for one in called.instructions:
            if one.opcode not in _CALLED:
                yield f"a function that it calls has '{one.opcode}'"
            elif one.opcode == "call":
                yield from self._against_called(call_target(one), (*above, name))

    # ---- what is alike

    def _follow(self) -> None:
        """Hand levels on from each instruction to what it writes."""
        for index, block in enumerate(self.graph.flow.blocks):
            decided = self._deciding(index)
            for one in block.instructions:
                level = max(decided, self._level_of(one))
                for name in results(one) if level else ():
                    self.levels[name] = max(level, self._level(name))

    def _level(self, name: str) -> Alike:
        return self.levels.get(name, Alike.BLOCK)

    def _deciding(self, index: int) -> Alike:
        """For whom the branches go alike that decide how often a basic block is executed."""
        blocks = self.graph.flow.blocks
        ends = (blocks[other] for other in self.graph.dependences[index])
        return max(map(self._branching, ends), default=Alike.BLOCK)

    def _branching(self, block: BasicBlock) -> Alike:
        end = block.terminator
        level = self._level(end.guard) if end.guard else Alike.BLOCK
        if end.instruction is None:
            return level
        return max([level, *map(self._level, sources(end.instruction))])

    def _level_of(self, one: Instruction) -> Alike:
        if self._is_alike_in_warp(one):
            return max(Alike.WARP, self._level(one.guard))
        if one.opcode in LOADS and not self._is_of_launch(one):
            return Alike.THREAD
        if one.opcode not in ARITHMETIC | LOADS:
            return Alike.THREAD
        return max([*map(self._level, sources(one)), *map(self._special, one.operands)])

    def _is_of_launch(self, one: Instruction) -> bool:
        """Does it load a parameter, or a constant?"""
        names = {parameter.name for parameter in self.function.parameters}
        of_kernel = "param" in spaces(one) and not names.isdisjoint(sources(one))
        return of_kernel or "const" in spaces(one)

    def _special(self, operand: str) -> Alike:
        """For whom a register is alike that the program only reads."""
        if place := _PLACE.fullmatch(operand):
            return self._of_place("xyz".index(place[1]))
        is_own = operand in self.function.registers or not operand.startswith("%")
        return Alike.BLOCK if is_own or _SHAPE.fullmatch(operand) else Alike.THREAD

    def _of_place(self, axis: int) -> Alike:
        if self.block[axis] == 1:
            return Alike.BLOCK
        row = (1, self.block[0], self.block[0] * self.block[1])[axis]
        return Alike.WARP if row % WARP == 0 else Alike.THREAD

    def _is_alike_in_warp(self, one: Instruction) -> bool:
        """Does it make of threadIdx.x what all lanes of a warp have alike?"""
        if self.block[0] % WARP or len(one.operands) != 3 or one.operands[1] not in self._columns:
            return False
        if not _LITERAL.fullmatch(one.operands[2]):
            return False
        number, words = integer(one.operands[2]), {*one.modifiers}
        match one.opcode:
            case "shr":
                return 5 <= number < 32
            case "and":
                return number % WARP == 0
            case "setp":
                first, last = words & _BELOW_FIRST, words & _BELOW_LAST
                is_plain = words <= {*first, *last, "s32", "u32"}
                return is_plain and number >= 0 and (number + bool(last)) % WARP == 0
        return False

    @cached_property
    def _columns(self) -> frozenset[str]:
        """Registers that hold threadIdx.x, wherever they are read."""
        written: dict[str, list[Instruction]] = {}
        for one in self.function.instructions:
            for name in results(one):
                written.setdefault(name, []).append(one)
        return frozenset(
            name
            for name, by in written.items()
            if all(one.opcode == "mov" and one.operands[1:] == ("%tid.x",) for one in by)
            and not any(one.guard for one in by)
        )

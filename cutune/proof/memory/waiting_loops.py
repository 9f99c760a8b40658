"""Loops that may wait for another thread. Takes a function, says whether it has one.

Such a loop goes on until memory holds something else at a place that stays the same, and nothing
else in its condition changes: `while (*flag == 0);`. A loop that counts up to a number in memory
ends by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cutune.ptx.control_flow import ControlFlow, Loop, control_flow, leading_to
from cutune.ptx.taint import results, sources
from cutune.ptx.types import Function, Instruction

#: By these a number that each round changes may come back: `k ^= 1`, `k = (k + 1) % 4`.
_RETURNING = frozenset(
    {"and", "or", "xor", "lop3", "not", "neg", "rem", "selp", "bfe", "bfi", "prmt"}
)


def may_wait(function: Function, body: Sequence[Instruction]) -> bool:
    """Tell whether there is such a loop in a function, whose instructions these are."""
    loops = _Loops(body)
    leaving = ("bra", "ret", "exit")
    guards = {item.guard for item in body if item.opcode in leaving and item.guard}
    if not any(item.opcode == "ld" for item in loops.made_of(guards, None)):
        return False  # most functions
    flow = control_flow(function, lambda name: True)
    return any(
        any(loops.exits(flow, loop.blocks))
        or any(all(loops.exits(flow, blocks)) for blocks in _inner_loops(flow, loop))
        for loop in flow.loops
    )


@dataclass
class _Loops:
    body: Sequence[Instruction]

    @cached_property
    def _written_by(self) -> Mapping[str, list[Instruction]]:
        writers: defaultdict[str, list[Instruction]] = defaultdict(list)
        for instruction in self.body:
            for name in results(instruction):
                writers[name].append(instruction)
        return writers

    def made_of(
        self, registers: Iterable[str], lines: Container[int] | None, through_loads: bool = False
    ) -> list[Instruction]:
        """The instructions, on these lines, that decide about registers; loads end the search."""
        deciding: dict[int, Instruction] = {}
        waiting, seen = list(registers), set(registers)
        while waiting:
            for item in self._written_by.get(waiting.pop(), ()):
                if id(item) in deciding or (lines is not None and item.line not in lines):
                    continue
                if "param" in item.modifiers:
                    continue
                deciding[id(item)] = item
                if item.opcode == "ld" and not through_loads:
                    continue
                new = {*sources(item)} - seen
                seen |= new
                waiting += new
        return list(deciding.values())

    def exits(self, flow: ControlFlow, blocks: frozenset[int]) -> Iterator[bool]:
        """Per condition to leave a loop: does it depend on loads, and on nothing that changes?"""
        lines = {item.line for b in blocks for item in flow.blocks[b].instructions}
        for block in blocks:
            terminator = flow.blocks[block].terminator
            if terminator.guard and set(terminator.targets) - blocks:
                tests = (o for o in self.made_of({terminator.guard}, lines) if o.opcode == "setp")
                made_of = (self.made_of({*sources(test)}, lines) for test in tests)
                yield any(
                    any(item.opcode == "ld" for item in one)
                    and all(self._is_steady(item, lines) for item in one)
                    for one in made_of
                )

    def _is_steady(self, instruction: Instruction, lines: Container[int]) -> bool:
        if instruction.opcode != "ld":
            return not self._goes_on(instruction, lines)
        address = self.made_of({*sources(instruction)}, lines, True)
        return not any(self._goes_on(item, lines, True) for item in (instruction, *address))

    def _goes_on(
        self, instruction: Instruction, lines: Container[int], through_loads: bool = False
    ) -> bool:
        """Does it depend on its result of the round before, by nothing that may come back to it?"""
        behind = self.made_of({*sources(instruction)}, lines, through_loads)
        returning = (item for item in behind if item.opcode in _RETURNING)
        return instruction in behind and not any(
            instruction in self.made_of({*sources(item)}, lines, through_loads)
            for item in returning
        )


def _inner_loops(flow: ControlFlow, loop: Loop) -> Iterator[frozenset[int]]:
    """Loops that begin where one does: `for (…) while (…);`. Control flow has them as one.

    Its empty latch then stands for several ways back. A way back is an inner loop, or a `continue`.
    """
    before: defaultdict[int, list[int]] = defaultdict(list)
    for block in sorted(loop.blocks):
        for target in flow.blocks[block].terminator.targets:
            before[target].append(block)
    (latch,) = (block for block in before[loop.header] if block in loop.blocks)
    ends = before.pop(latch)
    if flow.blocks[latch].instructions or len(ends) < 2:
        return
    for end in ends:
        yield leading_to([end], loop.header, before) | {latch}

"""Taint analysis: do branches and addresses of a function depend on loaded data?

If they do not, the kernel is *data-oblivious*: its counters are the same for any contents of its
buffers, so it can be run at sizes for which no data and no memory exist. Tainted are values loaded
from global and constant memory, results of atomics and clocks, and all values computed from them,
also through shared and local memory and through calls. The analysis ignores the order of
instructions, so it may report a dependence that does not exist, but misses none.

A tainted branch is accepted where it only leads to a *detour*: the instructions between it and its
immediate post-dominator, without barriers, calls or exits. One without memory accesses changes no
count that the models use; one outside of loops accesses memory at most once per instruction and
thread. The results of a detour are tainted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain

from cutune.ptx.control_flow import ControlFlow, call_target, control_flow
from cutune.ptx.types import (
    BARRIERS,
    BINDING,
    LEAVING,
    MEMORY,
    STEERING,
    UNCOUNTED,
    WITHOUT_RESULT,
    Function,
    Instruction,
)


@dataclass(frozen=True)
class Detour:
    """The instructions of a detour, and how many of them access memory."""

    instructions: tuple[Instruction, ...]
    accesses: int


def detour(flow: ControlFlow, branch: Instruction) -> Detour | None:
    """The detour behind a branch; None if the skipped or repeated code changes counts."""
    start = next((i for i, b in enumerate(flow.blocks) if b.terminator.instruction is branch), None)
    if start is None or flow.blocks[start].terminator.kind != "branch":
        return None
    between = blocks_between(flow, start, flow.meetings[start])
    if start in between:  # the branch decides how often a loop runs
        return None
    blocks = [flow.blocks[index] for index in between]
    instructions = tuple(i for block in blocks for i in block.instructions)
    leaves = any(block.terminator.kind in LEAVING for block in blocks)
    if leaves or any(i.opcode in BINDING for i in instructions):
        return None
    accesses = sum(i.opcode in MEMORY and "param" not in i.modifiers for i in instructions)
    if accesses and any(block.loop >= 0 for block in blocks):
        return None
    return Detour(instructions, accesses)


def blocks_between(flow: ControlFlow, start: int, meeting: int) -> set[int]:
    """Blocks that can run after `start` and before `meeting`."""
    found: set[int] = set()
    waiting = list(flow.blocks[start].terminator.targets)
    while waiting:
        index = waiting.pop()
        if index != meeting and index not in found:
            found.add(index)
            waiting.extend(flow.blocks[index].terminator.targets)
    return found


_NAME = re.compile(r"[%$A-Za-z_][\w$@]*")
#: System calls that are rare, or end the launch.
_WITHOUT_COST = frozenset(["vprintf", "__assertfail", "free"])
_CLOCKS = ("%clock", "%globaltimer", "%smid", "%warpid")


@dataclass(frozen=True)
class Obliviousness:
    """The verdict; when it is no, the reason.

    Attributes:
        countable: do the counters describe all of its work, given the data?
        uncertain: memory instructions that may be skipped depending on data; a thread executes each
            at most once.
        loaded: registers whose value depends on data.
    """

    holds: bool
    reason: str = ""
    countable: bool = True
    uncertain: int = 0
    loaded: frozenset[str] = field(default=frozenset(), compare=False, repr=False)


def results(instruction: Instruction) -> tuple[str, ...]:
    """The registers that an instruction writes."""
    is_reduction = instruction.opcode in BARRIERS and "red" in instruction.modifiers
    has_result = is_reduction or instruction.opcode not in WITHOUT_RESULT
    if not has_result or not instruction.operands:
        return ()
    written = names(instruction.operands[0])
    return tuple(name for name in written if name != "_") if "_" in written else written


@cache
def names(operand: str) -> tuple[str, ...]:
    """The registers and variables that an operand mentions."""
    return tuple(_NAME.findall(operand))


def sources(instruction: Instruction) -> tuple[str, ...]:
    """The registers that an instruction reads, its guard included."""
    operands = instruction.operands[1:] if results(instruction) else instruction.operands
    found = tuple(chain.from_iterable(map(names, operands)))
    return (*found, instruction.guard) if instruction.guard else found


def spaces(instruction: Instruction) -> frozenset[str]:
    """The state spaces among the modifiers."""
    return _bases(instruction.modifiers)


@cache
def _bases(modifiers: tuple[str, ...]) -> frozenset[str]:
    return frozenset(m.split("::")[0] for m in modifiers)


def data_oblivious(kernel: Function, functions: dict[str, Function]) -> Obliviousness:
    """Judge a kernel together with the functions that it calls."""
    verdict = _Analysis(kernel, functions, frozenset()).verdict(False)[0]
    return replace(verdict, countable=verdict.holds or _is_countable(kernel, functions, set()))


def _is_countable(function: Function, functions: dict[str, Function], seen: set[str]) -> bool:
    """Are all of its instructions known, and does a counter cover each?"""
    seen.add(function.name)
    for instruction in function.instructions:
        if instruction.opcode in UNCOUNTED:
            return False
        for target in _callees(instruction, function, functions):
            if target in _WITHOUT_COST:
                continue
            callee = functions.get(target)
            if callee is None or callee.body is None:
                return False
            if target not in seen and not _is_countable(callee, functions, seen):
                return False
    return True


def _callees(
    instruction: Instruction, function: Function, functions: dict[str, Function]
) -> list[str]:
    """What an instruction may call: by an address, any function of the module."""
    if instruction.opcode != "call":
        return []
    target = call_target(instruction)
    if target not in function.registers:
        return [target]
    return [name for name, one in functions.items() if one.body is not None and not one.is_kernel]


class _Analysis:
    def __init__(
        self, function: Function, functions: dict[str, Function], above: frozenset[str]
    ) -> None:
        self.function = function
        self.functions = functions
        self.above = above | {function.name}
        self.instructions = function.instructions
        self.tainted: set[str] = set()
        self.detours: dict[int, int] = {}  # line of a branch to accesses on its detour
        self.on_detour: set[int] = set()  # ids of instructions
        self.memory = False  # shared or local memory holds something tainted

    def verdict(self, parameters_tainted: bool) -> tuple[Obliviousness, bool]:
        if parameters_tainted:
            self.tainted |= {parameter.name for parameter in self.function.parameters}
            self.memory = True
        before = (-1, False)
        problem = Obliviousness(True)
        while problem.holds and before != (len(self.tainted), self.memory):
            before = (len(self.tainted), self.memory)
            for instruction in self.instructions:
                found = self._propagate(instruction)
                problem = problem if not problem.holds or found is None else found
            for instruction in self.instructions:
                if problem.holds:
                    problem = self._judge(instruction)
        if problem.holds:
            uncertain = sum(self.detours.values())
            problem = Obliviousness(True, uncertain=uncertain, loaded=frozenset(self.tainted))
        return problem, any(result.name in self.tainted for result in self.function.results)

    def _is_tainted(self, found: tuple[str, ...]) -> bool:
        return not self.tainted.isdisjoint(found)

    def _propagate(self, instruction: Instruction) -> Obliviousness | None:
        opcode, where = instruction.opcode, spaces(instruction)
        if opcode == "call":
            return self._call(instruction)
        if opcode in ("st", "red"):
            if not self._is_tainted(names(instruction.operands[1])):
                return None
            if "param" in where:
                self.tainted.update(names(instruction.operands[0]))
            elif "global" not in where:
                self.memory = True
        elif self._gives_tainted(instruction):
            self.tainted.update(results(instruction))
        return None

    def _gives_tainted(self, instruction: Instruction) -> bool:
        opcode, where = instruction.opcode, spaces(instruction)
        if opcode in ("atom", "mbarrier", "tex", "tld4", "suld", "ldmatrix", "wmma"):
            return True
        if opcode in ("ld", "ldu"):
            if "param" in where:
                return self._is_tainted(sources(instruction))
            if "shared" in where or "local" in where:
                return self.memory or self._is_tainted(sources(instruction))
            return True
        read = sources(instruction)
        return self._is_tainted(read) or any(name.startswith(_CLOCKS) for name in read)

    def _call(self, instruction: Instruction) -> Obliviousness | None:
        target = call_target(instruction)
        at = instruction.operands.index(target)
        arguments = [n for text in instruction.operands[at + 1 :] for n in names(text)]
        returned = names(instruction.operands[0]) if at else ()
        callee = self.functions.get(target)
        if target in _WITHOUT_COST:
            return None
        if callee is None or callee.body is None or target in self.above:
            self.tainted.update(returned)
            is_known = target not in self.function.registers
            called = target if is_known else "functions by their address"
            return Obliviousness(False, f"calls {called}")
        inner = _Analysis(callee, self.functions, self.above)
        inner.memory = self.memory
        problem, results_tainted = inner.verdict(self._is_tainted(tuple(arguments)))
        self.memory |= inner.memory
        if results_tainted:
            self.tainted.update(returned)
        return None if problem.holds else problem

    def _judge(self, instruction: Instruction) -> Obliviousness:
        opcode = instruction.opcode
        if opcode in UNCOUNTED:
            return Obliviousness(False, f"no model has the cost of its '{opcode}' instructions")
        decided = instruction.guard in self.tainted and id(instruction) not in self.on_detour
        if decided and opcode in STEERING and not self._is_detour(instruction):
            what = "a branch" if opcode == "bra" else f"whether '{opcode}' is executed"
            return Obliviousness(False, f"{what} depends on loaded data")
        if opcode == "brx" and self._is_tainted(names(instruction.operands[0])):
            return Obliviousness(False, "a branch depends on loaded data")
        if opcode in MEMORY and "param" not in spaces(instruction):
            place = 0 if opcode in ("st", "red") else 1
            if self._is_tainted(names(instruction.operands[place])):
                return Obliviousness(False, "an address depends on loaded data")
        return Obliviousness(True)

    @cached_property
    def _flow(self) -> ControlFlow:
        return control_flow(self.function, lambda name: name not in self.functions)

    def _is_detour(self, instruction: Instruction) -> bool:
        """May this branch depend on data? Its dependents are then tainted too."""
        if instruction.opcode in MEMORY:
            loops = (block for block in self._flow.blocks if block.loop >= 0)
            if not any(one is instruction for block in loops for one in block.instructions):
                self.detours[instruction.line] = 1
                return True
        found = detour(self._flow, instruction) if instruction.opcode == "bra" else None
        if found is None:
            return False
        self.detours[instruction.line] = found.accesses
        self.on_detour.update(map(id, found.instructions))
        for inner in found.instructions:
            self.tainted.update(results(inner))
            if inner.opcode == "st" and "global" not in spaces(inner):
                self.memory = True
        return True

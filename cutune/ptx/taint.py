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
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import chain

from cutune.core.reaching import circles, reached
from cutune.ptx.control_flow import ControlFlow, call_target, control_flow
from cutune.ptx.types import (
    BARRIERS,
    BINDING,
    LEAVING,
    LOADS,
    MEMORY,
    STEERING,
    UNCOUNTED,
    WITHOUT_RESULT,
    Function,
    Instruction,
)


def _detour(flow: ControlFlow, branch: Instruction) -> tuple[list[Instruction], int] | None:
    """The instructions of the detour behind a branch, and how many of them access memory.

    None if the skipped or repeated code changes counts.
    """
    start = next((i for i, b in enumerate(flow.blocks) if b.terminator.instruction is branch), None)
    if start is None or flow.blocks[start].terminator.kind != "branch":
        return None
    between = blocks_between(flow, start, flow.meetings[start])
    if start in between:  # the branch decides how often a loop runs
        return None
    blocks = [flow.blocks[index] for index in between]
    instructions = [i for block in blocks for i in block.instructions]
    leaves = any(block.terminator.kind in LEAVING for block in blocks)
    if leaves or any(i.opcode in BINDING for i in instructions):
        return None
    accesses = sum(i.opcode in MEMORY and "param" not in i.modifiers for i in instructions)
    if accesses and any(block.loop >= 0 for block in blocks):
        return None
    return instructions, accesses


def blocks_between(flow: ControlFlow, start: int, meeting: int) -> set[int]:
    """Blocks that can run after `start` and before `meeting`."""

    def behind(block: int) -> set[int]:
        return {*flow.blocks[block].terminator.targets} - {meeting}

    return {*reached(behind(start), behind)}


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
    found = instruction.written
    if found is None:
        found = _results(instruction.opcode, instruction.modifiers, instruction.operands)
        object.__setattr__(instruction, "written", found)
    return found


def _results(opcode: str, modifiers: tuple[str, ...], operands: tuple[str, ...]) -> tuple[str, ...]:
    is_reduction = opcode in BARRIERS and "red" in modifiers
    if not operands or not (is_reduction or opcode not in WITHOUT_RESULT):
        return ()
    written = names(operands[0])
    return tuple(name for name in written if name != "_") if "_" in written else written


@cache
def names(operand: str) -> tuple[str, ...]:
    """The registers and variables that an operand mentions."""
    return tuple(_NAME.findall(operand))


def sources(instruction: Instruction) -> tuple[str, ...]:
    """The registers that an instruction reads, its guard included."""
    found = instruction.read
    if found is None:
        skipped = 1 if results(instruction) else 0
        found = _sources(instruction.operands, skipped, instruction.guard)
        object.__setattr__(instruction, "read", found)
    return found


def _sources(operands: tuple[str, ...], skipped: int, guard: str) -> tuple[str, ...]:
    found = tuple(chain.from_iterable(map(names, operands[skipped:])))
    return (*found, guard) if guard else found


def moved_once(instructions: Sequence[Instruction]) -> dict[str, str]:
    """Return what registers hold that are written once, by a `mov`."""
    writers = Counter(name for one in instructions for name in results(one))
    moves = (one for one in instructions if one.opcode == "mov" and not one.guard)
    return {o[0]: o[1] for o in (one.operands for one in moves) if writers[o[0]] == 1}


def made_of_themselves(reads: Mapping[str, Collection[str]]) -> set[str]:
    """Return the names that follow from themselves; `reads`: what each follows from at once."""
    own = {name: [n for n in read if n in reads] for name, read in reads.items()}
    return {name for circle in circles(own) for name in circle}


def loads_data(instruction: Instruction) -> bool:
    """Does it load from memory, and no parameter?"""
    return instruction.opcode in LOADS | {"atom"} and "param" not in spaces(instruction)


def spaces(instruction: Instruction) -> frozenset[str]:
    """The state spaces among the modifiers."""
    return _bases(instruction.modifiers)


@cache
def _bases(modifiers: tuple[str, ...]) -> frozenset[str]:
    return frozenset(m.split("::")[0] for m in modifiers)


def data_oblivious(kernel: Function, functions: dict[str, Function]) -> Obliviousness:
    """Judge a kernel together with the functions that it calls."""
    analysis = _Analysis(kernel, functions, frozenset())
    try:
        analysis.run()
    except _DataDependent as error:
        return Obliviousness(False, str(error), _is_countable(kernel, functions, set()))
    uncertain = sum(analysis.detours.values())
    return Obliviousness(True, uncertain=uncertain, loaded=frozenset(analysis.tainted))


def _is_countable(function: Function, functions: dict[str, Function], seen: set[str]) -> bool:
    """Are all of its instructions known, and does a counter cover each?"""
    seen.add(function.name)
    if any(instruction.opcode in UNCOUNTED for instruction in function.instructions):
        return False
    called = {call_target(item) for item in function.instructions if item.opcode == "call"}
    if not called.isdisjoint(function.registers):  # by an address, any function of the module
        called -= function.registers.keys()
        called |= {name for name, one in functions.items() if one.body and not one.is_kernel}
    for target in called - _WITHOUT_COST:
        callee = functions.get(target)
        if callee is None or callee.body is None:
            return False
        if target not in seen and not _is_countable(callee, functions, seen):
            return False
    return True


class _DataDependent(Exception):
    """Why a kernel is not data-oblivious."""


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

    def run(self) -> None:
        """Find all that is tainted. Raises _DataDependent."""
        before = (-1, False)
        while before != (len(self.tainted), self.memory):
            before = (len(self.tainted), self.memory)
            for instruction in self.instructions:
                self._propagate(instruction)
            for instruction in self.instructions:
                self._check(instruction)

    def _is_tainted(self, found: tuple[str, ...]) -> bool:
        return not self.tainted.isdisjoint(found)

    def _propagate(self, instruction: Instruction) -> None:
        opcode, where = instruction.opcode, spaces(instruction)
        if opcode == "call":
            self._call(instruction)
        elif opcode in ("st", "red"):
            is_tainted = self._is_tainted(names(instruction.operands[1]))
            if is_tainted and "param" in where:
                self.tainted.update(names(instruction.operands[0]))
            elif is_tainted and "global" not in where:
                self.memory = True
        elif not self.tainted.issuperset(results(instruction)) and self._gives_tainted(instruction):
            self.tainted.update(results(instruction))

    def _gives_tainted(self, instruction: Instruction) -> bool:
        opcode, where = instruction.opcode, spaces(instruction)
        if opcode in ("atom", "mbarrier", "tex", "tld4", "suld", "ldmatrix", "wmma"):
            return True
        if opcode in ("ld", "ldu") and "param" not in where:
            is_own = "shared" in where or "local" in where
            return not is_own or self.memory or self._is_tainted(sources(instruction))
        read = sources(instruction)
        return self._is_tainted(read) or any(name.startswith(_CLOCKS) for name in read)

    def _call(self, instruction: Instruction) -> None:
        target = call_target(instruction)
        at = instruction.operands.index(target)
        arguments = [n for text in instruction.operands[at + 1 :] for n in names(text)]
        returned = names(instruction.operands[0]) if at else ()
        callee = self.functions.get(target)
        if target in _WITHOUT_COST:
            return
        if callee is None or callee.body is None or target in self.above:
            is_known = target not in self.function.registers
            raise _DataDependent(f"calls {target if is_known else 'functions by their address'}")
        inner = _Analysis(callee, self.functions, self.above)
        inner.memory = self.memory
        if self._is_tainted(tuple(arguments)):
            inner.tainted |= {parameter.name for parameter in callee.parameters}
            inner.memory = True
        inner.run()
        self.memory |= inner.memory
        if inner._is_tainted(tuple(result.name for result in callee.results)):
            self.tainted.update(returned)

    def _check(self, instruction: Instruction) -> None:
        opcode = instruction.opcode
        if opcode in UNCOUNTED:
            raise _DataDependent(f"no model has the cost of its '{opcode}' instructions")
        decided = instruction.guard in self.tainted and id(instruction) not in self.on_detour
        if decided and opcode in STEERING and not self._is_detour(instruction):
            what = "a branch" if opcode == "bra" else f"whether '{opcode}' is executed"
            raise _DataDependent(f"{what} depends on loaded data")
        if opcode == "brx" and self._is_tainted(names(instruction.operands[0])):
            raise _DataDependent("a branch depends on loaded data")
        if opcode in MEMORY and "param" not in spaces(instruction):
            place = 0 if opcode in ("st", "red") else 1
            if self._is_tainted(names(instruction.operands[place])):
                raise _DataDependent("an address depends on loaded data")

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
        found = _detour(self._flow, instruction) if instruction.opcode == "bra" else None
        if found is None:
            return False
        instructions, self.detours[instruction.line] = found
        self.on_detour.update(map(id, instructions))
        for inner in instructions:
            self.tainted.update(results(inner))
            if inner.opcode == "st" and "global" not in spaces(inner):
                self.memory = True
        return True

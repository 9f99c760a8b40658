"""The demand of PTX on the units of an SM, as ptxas expands it.

Takes an instruction, gives issue slots and passes through the FP64 and special-function units.
Divisions, roots and remainders are short routines on every GPU; the slot counts are those of the
fast path as nvcc 13 compiles it for compute capability 8.0 to 9.0, rounded.

Takes a function, gives its reads of constant memory through uniform registers, by block. If all
threads of a warp read constant memory at the same computed address, as in a loop over a table,
ptxas may read it into uniform registers. That is fast while the warps of an SM are at the same
place of the table, and about twenty times slower otherwise (measured on an H200).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import TypeVar

from cutune.ptx.control_flow import BasicBlock, ControlFlow, Loop
from cutune.ptx.taint import blocks_between, names, results, sources, spaces
from cutune.ptx.types import (
    BARRIERS,
    NOT_ISSUED,
    SPECIAL,
    TYPE_BYTES,
    VARYING,
    Function,
    Instruction,
)

_WIDE = frozenset(("s64", "u64", "b64"))
#: Operations of the FP32 units, if they are of `float`.
_SINGLE = frozenset(("add", "sub", "mul", "fma", "mad"))


@dataclass(frozen=True)
class Demand:
    """Work of a piece of straight-line code per execution by a warp.

    `slots`: issue slots. `double`, `special`: instructions for the FP64 and the special-function
    units. `barriers`: waits for all warps of the block. `constants`: uniform registers filled from
    constant memory. `single`: additions and products of the FP32 units.
    """

    slots: int = 0
    double: int = 0
    special: int = 0
    barriers: int = 0
    constants: int = 0
    single: int = 0

    def __add__(self, other: Demand) -> Demand:
        return Demand(
            self.slots + other.slots,
            self.double + other.double,
            self.special + other.special,
            self.barriers + other.barriers,
            self.constants + other.constants,
            self.single + other.single,
        )

    def __mul__(self, times: int) -> Demand:
        return Demand(
            self.slots * times,
            self.double * times,
            self.special * times,
            self.barriers * times,
            self.constants * times,
            self.single * times,
        )


def demand_of(block: BasicBlock) -> Demand:
    """The demand of one execution of a basic block."""
    total = Demand()
    for (opcode, modifiers), times in Counter(map(_KIND, block.instructions)).items():
        total += _demand(opcode, modifiers) * times
    return total


_KIND = attrgetter("opcode", "modifiers")


def instruction_demand(instruction: Instruction) -> Demand:
    return _demand(instruction.opcode, instruction.modifiers)


@cache
def _demand(opcode: str, modifiers: tuple[str, ...]) -> Demand:
    kind = modifiers[-1] if modifiers else ""
    if opcode in BARRIERS:
        return Demand(slots=1, barriers=1)
    if opcode == "cvt":
        # Between FP64 and anything else: a pass through the FP64 unit.
        return Demand(slots=1, double=1) if "f64" in modifiers else Demand()
    if opcode in NOT_ISSUED or (opcode in ("ld", "st") and "param" in modifiers):
        return Demand()
    if opcode in ("div", "rem"):
        is_approximate = "approx" in modifiers or "full" in modifiers
        if kind == "f64":
            return Demand(slots=14, double=10, special=1)
        if kind == "f32":
            return Demand(slots=3 if is_approximate else 12, special=1)
        return Demand(slots=70, special=4) if kind in _WIDE else Demand(slots=20, special=3)
    if opcode in SPECIAL:
        if kind == "f64":
            return Demand(slots=14, double=8, special=1)
        return Demand(slots=1, special=1) if "approx" in modifiers else Demand(8, 0, 1)
    is_single = kind == "f32" and opcode in _SINGLE
    return Demand(slots=1, double=int("f64" in modifiers), single=int(is_single))


#: What such a read brings into uniform registers at once.
_UNIFORM_BYTES = 8
#: ptxas unrolls loops with a known number of rounds up to this.
_MOST_ROUNDS = 8
Item = TypeVar("Item")
_OF_THREADS = ("%tid", "%laneid", "%lanemask", "%clock", "%globaltimer")


def varying_registers(function: Function) -> frozenset[str]:
    """The registers that may differ among the threads of a warp."""
    varying: set[str] = set()
    known = -1
    while len(varying) > known:
        known = len(varying)
        for instruction in function.instructions:
            if _varies(instruction, varying):
                varying.update(results(instruction))
    return frozenset(varying)


def uniform_reads(flow: ControlFlow, function: Function) -> list[int]:
    """Count, for each block, the uniform registers (8 bytes) filled from computed addresses.

    Only reads in loops count, and only where the threads of a warp do not diverge: a read that some
    of them skip, for instance at a border, goes to an ordinary register, and so does mostly a read
    in a loop around a divergent loop. In loops with few known rounds, which ptxas unrolls, the
    addresses are constants.
    """
    if not any(map(_is_constant, function.instructions)):
        return [0] * len(flow.blocks)
    varying = varying_registers(function)
    reads = [_reads(b.instructions, varying) if b.loop >= 0 else 0 for b in flow.blocks]
    if not any(reads):
        return reads
    parted = _parted(flow, varying) | _around_uneven_loops(flow, varying)
    rounds = [_rounds(flow, loop) for loop in flow.loops]
    unrolled = {i for i, count in enumerate(rounds) if count is not None and count <= _MOST_ROUNDS}
    return [
        0 if index in parted or flow.blocks[index].loop in unrolled else count
        for index, count in enumerate(reads)
    ]


def _reads(instructions: Iterable[Instruction], varying: frozenset[str]) -> int:
    return sum(
        -(-bytes_of(instruction) // _UNIFORM_BYTES)
        for instruction in instructions
        if _is_constant(instruction)
        and any(name.startswith("%") for name in names(instruction.operands[1]))
        and varying.isdisjoint(names(instruction.operands[1]))
    )


def _parted(flow: ControlFlow, varying: frozenset[str]) -> set[int]:
    """Blocks that only some threads of a warp run, in one round of their loop."""
    found: set[int] = set()
    for index, block in enumerate(flow.blocks):
        end = block.terminator
        if end.kind == "branch" and end.guard in varying and block.loop >= 0:
            skipped = blocks_between(flow, index, flow.meetings[index])
            if index not in skipped:  # else it decides how often the loop runs
                found |= skipped
    return found


def _around_uneven_loops(flow: ControlFlow, varying: frozenset[str]) -> set[int]:
    """Blocks of loops around a loop in which threads of a warp part, or which some leave sooner."""
    ends = (block for block in flow.blocks if block.loop >= 0 and block.terminator.kind == "branch")
    uneven = {block.loop for block in ends if block.terminator.guard in varying}
    parents = {flow.loops[loop].parent for loop in uneven} - {-1}
    return {index for parent in parents for index in flow.loops[parent].blocks}


def _rounds(flow: ControlFlow, loop: Loop) -> int | None:
    """How many rounds a loop makes that counts from one number to another; None for others."""
    inside = [i for index in loop.blocks for i in flow.blocks[index].instructions]
    # The comparison on which the loop is left, if there is one way out of it.
    ends = (flow.blocks[index].terminator for index in loop.blocks)
    end = _only(end for end in ends if not set(end.targets) <= loop.blocks)
    tests = (i for i in inside if end and i.opcode == "setp" and end.guard in results(i))
    test = _only(tests)
    if test is None:
        return None
    others = [block for index, block in enumerate(flow.blocks) if index not in loop.blocks]
    outside = [i for block in others for i in block.instructions]
    counter, limit = test.operands[1], _number(test.operands[2])
    first = _operand_of_only(outside, counter, ("mov",))
    each = _operand_of_only(inside, counter, ("add", "sub"))
    if limit is None or first is None or not each:
        return None
    return -(-abs(limit - first) // abs(each))


def _operand_of_only(
    instructions: Iterable[Instruction], register: str, opcodes: tuple[str, ...]
) -> int | None:
    """The number that is the last operand of the one instruction that writes the register."""
    found = _only(i for i in instructions if register in results(i))
    return _number(found.operands[-1]) if found and found.opcode in opcodes else None


def _only(items: Iterable[Item]) -> Item | None:
    found = list(items)
    return found[0] if len(found) == 1 else None


def _number(operand: str) -> int | None:
    try:
        return int(operand, 0)
    except ValueError:
        return None


def _varies(instruction: Instruction, varying: set[str]) -> bool:
    if instruction.opcode in VARYING:
        return True
    is_load = instruction.opcode == "ld" and "param" not in spaces(instruction)
    if is_load and not _is_constant(instruction):
        return True
    read = sources(instruction)
    return not varying.isdisjoint(read) or any(name.startswith(_OF_THREADS) for name in read)


def _is_constant(instruction: Instruction) -> bool:
    return instruction.opcode == "ld" and "const" in spaces(instruction)


def bytes_of(instruction: Instruction) -> int:
    """The bytes that a load or store accesses at once, for one thread."""
    widths = [int(m[1:]) for m in instruction.modifiers if m in ("v2", "v4", "v8")]
    return TYPE_BYTES.get(instruction.modifiers[-1], 0) * (widths[0] if widths else 1)


def global_widths(function: Function, *opcodes: str) -> list[int]:
    """The bytes of each load or store of a function (`ld`, `st`) that may access global memory."""
    return [
        bytes_of(one)
        for one in function.instructions
        if one.opcode in opcodes and not {"param", "local", "shared"} & {*spaces(one)}
    ]

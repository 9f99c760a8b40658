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

from dataclasses import dataclass

from cutune.emulator.ptx.control_flow import BasicBlock
from cutune.emulator.ptx.opcode_sets import BARRIERS, NOT_ISSUED, SPECIAL
from cutune.emulator.ptx.types import Instruction

_WIDE = frozenset(("s64", "u64", "b64"))


@dataclass(frozen=True)
class Demand:
    """Work of a piece of straight-line code per execution by a warp.

    `slots`: issue slots. `double`, `special`: instructions for the FP64 and the special-function
    units. `barriers`: waits for all warps of the block. `constants`: uniform registers filled from
    constant memory.
    """

    slots: int = 0
    double: int = 0
    special: int = 0
    barriers: int = 0
    constants: int = 0

    def __add__(self, other: Demand) -> Demand:
        return Demand(
            self.slots + other.slots,
            self.double + other.double,
            self.special + other.special,
            self.barriers + other.barriers,
            self.constants + other.constants,
        )


def demand_of(block: BasicBlock) -> Demand:
    """The demand of one execution of a basic block."""
    total = Demand()
    for instruction in block.instructions:
        total = total + instruction_demand(instruction)
    return total


def instruction_demand(instruction: Instruction) -> Demand:
    """The demand of one instruction."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    kind = modifiers[-1] if modifiers else ""
    if opcode in BARRIERS:
        return Demand(slots=1, barriers=1)
    if opcode == "cvt":
        # Between FP64 and anything else: a pass through the FP64 unit.
        return Demand(slots=1, double=1) if "f64" in modifiers else Demand()
    if opcode in NOT_ISSUED or (opcode in ("ld", "st") and "param" in modifiers):
        return Demand()
    if opcode in ("div", "rem"):
        return _quotient(kind, "approx" in modifiers or "full" in modifiers)
    if opcode in SPECIAL:
        if kind == "f64":
            return Demand(slots=14, double=8, special=1)
        return Demand(slots=1, special=1) if "approx" in modifiers else Demand(8, 0, 1)
    return Demand(slots=1, double=int("f64" in modifiers))


def _quotient(kind: str, is_approximate: bool) -> Demand:
    if kind == "f64":
        return Demand(slots=14, double=10, special=1)
    if kind == "f32":
        return Demand(slots=3, special=1) if is_approximate else Demand(slots=12, special=1)
    if kind in _WIDE:
        return Demand(slots=70, special=4)
    return Demand(slots=20, special=3)

"""Constant memory that is read in step: takes a function, says what its blocks read that way.

Where all threads of a warp read a constant at one address that is computed, a table that a loop
walks through, ptxas may read it into uniform registers. That is fast while the warps of an SM walk
together, and some twenty times slower while each is elsewhere in the table (seen on an H200).
"""

from __future__ import annotations

from collections.abc import Iterable

from cutune.emulator.ptx import TYPE_BYTES, Function, Instruction
from cutune.emulator.taint import names, results, sources, spaces

#: What such a read brings into uniform registers at once.
UNIFORM_BYTES = 8
_OF_THREADS = ("%tid", "%laneid", "%lanemask", "%clock", "%globaltimer")
#: Memory that may hold another value for each thread, and what threads tell each other.
_VARYING = frozenset(
    ["ldu", "atom", "tex", "tld4", "suld", "shfl", "vote", "match", "redux", "activemask", "call"]
)


def varying_registers(function: Function) -> frozenset[str]:
    """The registers that may differ among the threads of a warp."""
    instructions = [item for item in function.body or () if isinstance(item, Instruction)]
    varying: set[str] = set()
    known = -1
    while len(varying) > known:
        known = len(varying)
        for instruction in instructions:
            if _varies(instruction, varying):
                varying.update(results(instruction))
    return frozenset(varying)


def uniform_reads(instructions: Iterable[Instruction], varying: frozenset[str]) -> int:
    """How many uniform registers, of 8 bytes, are filled from computed addresses."""
    return sum(
        -(-_bytes_of(instruction) // UNIFORM_BYTES)
        for instruction in instructions
        if _is_constant(instruction)
        and any(name.startswith("%") for name in names(instruction.operands[1]))
        and varying.isdisjoint(names(instruction.operands[1]))
    )


def _varies(instruction: Instruction, varying: set[str]) -> bool:
    if instruction.opcode in _VARYING:
        return True
    is_load = instruction.opcode == "ld" and "param" not in spaces(instruction)
    if is_load and not _is_constant(instruction):
        return True
    read = sources(instruction)
    return not varying.isdisjoint(read) or any(name.startswith(_OF_THREADS) for name in read)


def _is_constant(instruction: Instruction) -> bool:
    return instruction.opcode == "ld" and "const" in spaces(instruction)


def _bytes_of(instruction: Instruction) -> int:
    widths = [int(m[1:]) for m in instruction.modifiers if m in ("v2", "v4", "v8")]
    return TYPE_BYTES[instruction.modifiers[-1]] * (widths[0] if widths else 1)

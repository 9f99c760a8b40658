"""Reads of constant memory through uniform registers. Takes a function, counts them per block.

If all threads of a warp read constant memory at the same computed address, as in a loop over a
table, ptxas may read it into uniform registers. That is fast while the warps of an SM are at the
same place of the table, and about twenty times slower otherwise (measured on an H200).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from cutune.emulator.ptx.control_flow import ControlFlow, Loop
from cutune.emulator.ptx.detours import blocks_between
from cutune.emulator.ptx.opcode_sets import VARYING
from cutune.emulator.ptx.taint import names, results, sources, spaces
from cutune.emulator.ptx.types import TYPE_BYTES, Function, Instruction

#: What such a read brings into uniform registers at once.
_UNIFORM_BYTES = 8
#: ptxas unrolls loops with a known number of rounds up to this.
_MOST_ROUNDS = 8
Item = TypeVar("Item")
_OF_THREADS = ("%tid", "%laneid", "%lanemask", "%clock", "%globaltimer")


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


def uniform_reads(flow: ControlFlow, varying: frozenset[str]) -> list[int]:
    """By block: how many uniform registers, of 8 bytes, are filled from computed addresses.

    Only reads in loops count, and only where the threads of a warp do not diverge: a read that some
    of them skip, for instance at a border, goes to an ordinary register, and so does mostly a read
    in a loop around a divergent loop. In loops with few known rounds, which ptxas unrolls, the
    addresses are constants.
    """
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
        -(-_bytes_of(instruction) // _UNIFORM_BYTES)
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
    test = _test(flow, loop, inside)
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


def _test(flow: ControlFlow, loop: Loop, inside: Iterable[Instruction]) -> Instruction | None:
    """The comparison on which the loop is left, if there is one way out of it."""
    ends = (flow.blocks[index].terminator for index in loop.blocks)
    end = _only(end for end in ends if not set(end.targets) <= loop.blocks)
    if end is None:
        return None
    return _only(i for i in inside if i.opcode == "setp" and end.guard in results(i))


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


def _bytes_of(instruction: Instruction) -> int:
    widths = [int(m[1:]) for m in instruction.modifiers if m in ("v2", "v4", "v8")]
    return TYPE_BYTES[instruction.modifiers[-1]] * (widths[0] if widths else 1)

"""Compare-and-swaps that are repeated until they succeed. Takes instructions, for `block_use`.

    old = *p;
    do { seen = old; old = atomicCAS(p, seen, f(seen)); } while (old != seen);

Memory holds f of what it held, as after an atomic operation whose result is not used. Which thread
came first is not told but to memory. No proof rests on it: what f is, is not asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from cutune.proof.values.operations import FUNCTIONS
from cutune.ptx.taint import names, results, sources
from cutune.ptx.types import Instruction


def is_retried(swap: Instruction, instructions: Sequence[Instruction]) -> bool:
    """Tell whether the result of a swap reaches nothing but tests for success and later swaps."""
    if "cas" not in swap.modifiers:
        return False
    swaps = [item for item in instructions if _is_swap_at(item, swap.operands[1])]
    expected = {item.operands[2] for item in swaps}
    told = _reached_from(swaps, expected, instructions)
    # What fails is tried again, with what memory held instead.
    return told is not None and not told.isdisjoint(expected)


def _reached_from(
    swaps: Sequence[Instruction], expected: set[str], items: Sequence[Instruction]
) -> set[str] | None:
    """The registers that their results lead to; None where these lead to anything else."""
    told, before = {item.operands[0] for item in swaps}, 0
    while before != (before := len(told)):
        for item in items:
            if told.isdisjoint(sources(item)) or item in swaps:
                continue
            if item.opcode == "setp":
                if not _is_test(item, told, expected, items):
                    return None
            elif item.opcode not in FUNCTIONS or not told.isdisjoint([item.guard]):
                return None
            else:
                told.update(results(item))
    is_place = any(not told.isdisjoint(names(item.operands[1])) for item in swaps)
    return told if not is_place else None


def _is_swap_at(item: Instruction, place: str) -> bool:
    return item.opcode == "atom" and "cas" in item.modifiers and item.operands[1] == place


def _is_test(
    item: Instruction, told: set[str], expected: set[str], items: Sequence[Instruction]
) -> bool:
    """Does a branch ask whether memory held what was expected, and nothing else ask that?"""
    target, one, other = (*item.operands, "")[:3]
    is_asked = (one in told and other in expected) or (other in told and one in expected)
    deciding = [i for i in items if i.guard == target or target in i.operands[1:]]
    is_branch = all(i.opcode == "bra" for i in deciding)
    return item.modifiers[0] in ("eq", "ne") and len(item.operands) == 3 and is_asked and is_branch

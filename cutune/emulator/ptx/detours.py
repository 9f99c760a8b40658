"""Detours: code behind a data-dependent branch that does not change the counts.

Takes a function's control flow and a branch, gives the instructions between the branch and its
immediate post-dominator. A detour without memory accesses, barriers, calls or exits changes no
count that the models use. A detour outside of loops accesses memory at most once per instruction
and thread.
"""

from __future__ import annotations

from dataclasses import dataclass

from cutune.emulator.ptx.control_flow import ControlFlow
from cutune.emulator.ptx.opcode_sets import BINDING, LEAVING, MEMORY
from cutune.emulator.ptx.types import Instruction


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


def in_loop(flow: ControlFlow, instruction: Instruction) -> bool:
    """Does the instruction stand in a loop?"""
    return any(
        block.loop >= 0 and any(i is instruction for i in block.instructions)
        for block in flow.blocks
    )


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

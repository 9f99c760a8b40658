"""Does each thread run through to the end, once? Takes a function, says so."""

from __future__ import annotations

from collections.abc import Container

from cutune.emulator.ptx.control_flow import control_flow
from cutune.emulator.ptx.types import UNREADABLE, Function, Instruction

#: By these a thread ends early.
_ENDING = frozenset({"exit", "ret"})


def is_straight(function: Function, assembly: Container[int]) -> bool:
    """No loop, and nothing by which the program itself ends a thread before the end of the text.

    `assembly`: lines of PTX that the program has written itself.
    """
    body = [item for item in function.body or () if isinstance(item, Instruction)]
    for item in body:
        if item.opcode == "exit" or (item.opcode in _ENDING and item.line in assembly):
            return False
    try:
        return not control_flow(function, lambda name: True).loops
    except UNREADABLE:
        return False

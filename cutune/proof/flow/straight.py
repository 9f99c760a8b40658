"""Threads that run through to the end, once. Takes a function, says whether all do."""

from __future__ import annotations

from collections.abc import Container

from cutune.emulator.ptx.control_flow import control_flow
from cutune.emulator.ptx.types import UNREADABLE, Function, Instruction


def is_straight(function: Function, assembly: Container[int]) -> bool:
    """Tell whether it has no loop, and nothing by which the program itself ends a thread early.

    `assembly`: lines of PTX that the program has written itself.
    """
    for item in function.body or ():
        if not isinstance(item, Instruction):
            continue
        if item.opcode == "exit" or (item.opcode == "ret" and item.line in assembly):
            return False
    try:
        return not control_flow(function, lambda name: True).loops
    except UNREADABLE:
        return False

"""Where threads of a block meet (shuffles, barriers, shared memory), and a reduction may begin.

Takes a function, gives it with basic blocks that begin there; takes its graph, gives these.
"""

from __future__ import annotations

from dataclasses import replace

from cutune.proof.flow.graph import Graph
from cutune.ptx.taint import spaces
from cutune.ptx.types import BARRIERS, Function, Instruction, Label

_MEETING = BARRIERS | {"shfl", "redux", "vote"}


def cut_where_threads_meet(function: Function) -> Function:
    """Return the function with a label in front of each such instruction behind others."""
    body: list[Instruction | Label] = []
    begin, was_meeting = 0, False
    for item in function.body or ():
        meets = isinstance(item, Instruction) and is_meeting(item)
        if meets and not was_meeting:
            body.insert(begin, Label(f"$meet{len(body)}"))
        was_meeting = meets
        body.append(item)
        if not _takes_apart(item):
            begin = len(body)
    return replace(function, body=tuple(body))


def _takes_apart(item: Instruction | Label) -> bool:
    """Does it make halves of a value, or constants, for threads that exchange the halves?"""
    return isinstance(item, Instruction) and item.opcode == "mov" and not item.guard


def where_threads_meet(graph: Graph) -> tuple[int, ...]:
    """Return the basic blocks with such instructions."""
    return tuple(
        index
        for index, block in enumerate(graph.flow.blocks)
        if any(map(is_meeting, block.instructions))
    )


def is_meeting(instruction: Instruction) -> bool:
    """Tell whether threads of a block meet in an instruction."""
    return instruction.opcode in _MEETING or "shared" in spaces(instruction)

"""How often loops go round. Takes PTX, gives loops, and what they go on with."""

from __future__ import annotations

from collections.abc import Iterator, Set

from cutune.ptx.of_place import Body, is_branch, labels_of, loops
from cutune.ptx.taint import results, sources
from cutune.ptx.types import Instruction


def uneven_rounds(body: Body, carried: Set[str]) -> set[str]:
    """Return the registers of loops that end by more than steps of one length.

    Of these the rounds are few at any size, as digits of a number are: few of them show.

    `carried`: registers of integers that loops compute from themselves.
    """
    found, labels = set[str](), labels_of(body)
    for begin, end in loops(body):
        loop = [one for one in body[begin : end + 1] if isinstance(one, Instruction)]
        going_on = {name for one in loop for name in results(one)} & carried
        inside = {name for name, place in labels.items() if begin <= place <= end}
        deciding = {
            one.guard
            for one in loop
            if is_branch(one) and (one is body[end] or one.operands[-1] not in inside)
        }
        size = -1
        while size != (size := len(deciding)):
            for one in loop:
                if not deciding.isdisjoint(results(one)):
                    deciding.update(name for name in sources(one) if name != one.guard)
        steps = (one for one in loop if not deciding.isdisjoint(results(one)))
        if not all(_is_step(one, going_on) for one in steps):
            found |= going_on
    return found


def _is_step(one: Instruction, going_on: Set[str]) -> bool:
    """Does it keep what a loop goes on with, or add what is the same in all rounds?"""
    if going_on.isdisjoint(results(one)):
        return True
    read = [operand for operand in one.operands[1:] if operand in going_on]
    if one.opcode == "mad":
        return not read or read == [one.operands[-1]]
    return not read or (one.opcode in ("mov", "cvt", "add", "sub") and len(read) == 1)


def loops_with_one_end(body: Body) -> Iterator[tuple[list[Instruction], list[Instruction]]]:
    """Yield loops that are one piece of text and have one end, each with its last block."""
    labels = labels_of(body)
    for begin, end in loops(body):
        last = body[end]
        if not is_branch(last) or not last.guard:
            continue
        loop = [item for item in body[begin : end + 1] if isinstance(item, Instruction)]
        inside = {name for name, place in labels.items() if begin <= place <= end}
        leaves = any(
            one.opcode in ("ret", "exit", "brx")
            or (is_branch(one) and one.operands[-1] not in inside)
            for one in loop
        )
        starts = [place for place in labels.values() if place <= end]
        jumps = [n + 1 for n, item in enumerate(body[:end]) if is_branch(item)]
        if not leaves:
            first = max([*starts, *jumps])
            yield loop, [item for item in body[first : end + 1] if isinstance(item, Instruction)]

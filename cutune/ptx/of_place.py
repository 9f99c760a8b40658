"""Registers that hold the same in all launches. Takes PTX, gives the names of registers.

A thread that knows its place in a block, and nothing else, does the same at all sizes. So these
are the registers that are computed of literals, `%tid` and `%ntid` alone:

    mov.u32 %r1, %tid.x;  shr.u32 %r2, %r1, 5;    both
    ld.param.u32 %r3, [n];  add.s32 %r4, %r2, %r3;    neither

A register with several writers is one of them only where such registers decide which one wrote it.
What a loop carries from round to round is one only where such registers decide how many rounds
there are: `for (k = 0; k < 8; ++k)`, not `for (k = 0; k < n; ++k)`. Loops are pieces of text that
end with a branch back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TypeGuard

from cutune.ptx.taint import names, results, sources
from cutune.ptx.types import ARITHMETIC, Instruction, Label

_PLACES = re.compile(r"%n?tid\.[xyz]|%laneid")
Body = Sequence[Instruction | Label]


def registers_of_places(body: Body) -> frozenset[str]:
    """Return the registers that hold the same for a thread of a block in all launches."""
    found = {name for one in _instructions(body) for name in results(one)}
    live, size = live_at_labels(body), -1
    while size != (size := len(found)):
        _leave_made(body, found)
        found -= decided_otherwise(body, live, found, found)
        for begin, end in loops(body):
            if not _ends_alike(body, begin, end, found):
                found -= _going_on(body, begin, end, live)
    return frozenset(found)


def _leave_made(body: Body, found: set[str]) -> None:
    """Remove registers that are computed of anything else."""
    is_less = True
    while is_less:
        before = len(found)
        for one in _instructions(body):
            read = [o for o in (*one.operands[1:], one.guard) if not _PLACES.fullmatch(o)]
            registers = (name for o in read for name in names(o) if name[0] == "%")
            is_made = one.opcode in ARITHMETIC and all(map(found.__contains__, registers))
            if not is_made:
                found.difference_update(results(one))
        is_less = len(found) < before


def decided_otherwise(
    body: Body, live: Mapping[str, Set[str]], asked: Set[str], found: Set[str]
) -> set[str]:
    """Return which registers have one of several values by a branch whose guard is not in `found`.

    Such a branch skips some writers of the register. Where it skips all of them, or the register is
    dead at its target, nobody sees another value.

    Args:
        live: registers that are live at each label, see `live_at_labels`.
        asked: the registers in question.
        found: predicates that are the same in all launches.
    """
    written, labels = dict[str, set[int]](), labels_of(body)
    for place, one in enumerate(body):
        if isinstance(one, Instruction):
            for name in asked & {*results(one)}:
                written.setdefault(name, set()).add(place)
    other = set[str]()
    for place, one in enumerate(body):
        if not is_branch(one) or (one.guard and one.guard in found):
            continue
        target = one.operands[-1]
        for name in written.keys() & live.get(target, ()):
            over = {at for at in written[name] if place < at < labels[target]}
            if over and over != written[name]:
                other.add(name)
    return other


def _instructions(body: Body) -> Iterator[Instruction]:
    return (item for item in body if isinstance(item, Instruction))


def labels_of(body: Body) -> dict[str, int]:
    """Return the place of each label."""
    return {item.name: place for place, item in enumerate(body) if isinstance(item, Label)}


def loops(body: Body) -> Iterator[tuple[int, int]]:
    """Yield the places of the first label and of the branch back of each loop."""
    labels = labels_of(body)
    for end, last in enumerate(body):
        if is_branch(last) and labels.get(last.operands[-1], end + 1) <= end:
            yield labels[last.operands[-1]], end


def loops_with_one_end(body: Body) -> Iterator[tuple[list[Instruction], list[Instruction]]]:
    """Yield the instructions of each loop with a single exit, and those of its last basic block."""
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


def is_branch(item: Instruction | Label) -> TypeGuard[Instruction]:
    return isinstance(item, Instruction) and item.opcode == "bra"


def in_uneven_loops(body: Body, of_places: Set[str]) -> set[int]:
    """Return the places of instructions in loops whose number of rounds launches decide.

    `of_places`: see `registers_of_places`.
    """
    uneven = (loop for loop in loops(body) if not _ends_alike(body, *loop, of_places))
    return {place for begin, end in uneven for place in range(begin, end + 1)}


def _ends_alike(body: Body, begin: int, end: int, found: Set[str]) -> bool:
    """Do only registers in `found` decide how many rounds a loop has?"""
    labels = labels_of(body)
    for place in range(begin, end + 1):
        one = body[place]
        if not isinstance(one, Instruction) or one.opcode not in ("bra", "ret", "exit", "brx"):
            continue
        is_inside = one.opcode == "bra" and begin <= labels.get(one.operands[-1], -1) <= end
        leaves = place == end or not is_inside
        if leaves and (one.opcode != "bra" or (one.guard and one.guard not in found)):
            return False
    return True


def _going_on(body: Body, begin: int, end: int, live: Mapping[str, Set[str]]) -> set[str]:
    """Registers that a loop carries from round to round: written in it, and live at its head."""
    first = body[begin]
    written = {name for one in _instructions(body[begin : end + 1]) for name in results(one)}
    return written & live[first.name] if isinstance(first, Label) else written


def live_at_labels(body: Body) -> dict[str, set[str]]:
    """The registers that are live at each label, by its name."""
    live: dict[str, set[str]] = {name: set() for name in labels_of(body)}
    every = {name for one in _instructions(body) for name in sources(one)}
    is_more = True
    while is_more:
        is_more, here = False, set[str]()
        for item in reversed(body):
            if isinstance(item, Label):
                is_more |= len(here) > len(live[item.name])
                live[item.name] = set(here)
                continue
            if not item.guard and item.opcode in ("bra", "ret", "exit"):
                here = set()
            if is_branch(item):
                here |= live.get(item.operands[-1], every)
            elif item.opcode == "brx":
                here = set(every)
            elif not item.guard:
                here.difference_update(results(item))
            here.update(sources(item))
    return live


def uneven_rounds(body: Body, carried: Set[str]) -> set[str]:
    """Return the carried registers of loops whose counter does not go by constant steps.

    In `for (s = 1; s < n; s *= 16)` the rounds are few at any size, and trials show few of them.

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
    """Does it copy a carried register, or add what is the same in all rounds?"""
    if going_on.isdisjoint(results(one)):
        return True
    read = [operand for operand in one.operands[1:] if operand in going_on]
    if one.opcode == "mad":
        return not read or read == [one.operands[-1]]
    return not read or (one.opcode in ("mov", "cvt", "add", "sub") and len(read) == 1)

"""Values that all launches have alike. Takes PTX, gives registers that places in a block decide.

A register is made of literals, threadIdx and blockDim alone, and no loop that ends otherwise goes
on with it: what a thread counts until it comes to a literal is the same at all sizes, while the
rounds of `for (k = 0; k < n; ++k)` are not. Loops are pieces of text that end with a branch back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cutune.ptx.taint import names, results
from cutune.ptx.types import MEMORY, Instruction, Label

_PLACES = re.compile(r"%n?tid\.[xyz]|%laneid")
_NEVER = MEMORY | {"call", "shfl", "vote", "match", "activemask", "tex", "suld", "clock"}
Body = Sequence[Instruction | Label]


def registers_of_places(body: Body) -> frozenset[str]:
    """Return the registers that hold the same for a thread of a block in all launches."""
    found = {name for one in _instructions(body) for name in results(one)}
    size = -1
    while size != (size := len(found)):
        _leave_made(body, found)
        for begin, end in _loops(body):
            if not _ends_alike(body, begin, end, found):
                found -= _going_on(body, begin, end, found)
    return frozenset(found)


def _leave_made(body: Body, found: set[str]) -> None:
    """Take out what is made of anything else."""
    is_less = True
    while is_less:
        before = len(found)
        for one in _instructions(body):
            read = [o for o in (*one.operands[1:], one.guard) if not _PLACES.fullmatch(o)]
            registers = (name for o in read for name in names(o) if name[0] == "%")
            is_made = one.opcode not in _NEVER and all(map(found.__contains__, registers))
            if not is_made:
                found.difference_update(results(one))
        is_less = len(found) < before


def _instructions(body: Body) -> Iterator[Instruction]:
    return (item for item in body if isinstance(item, Instruction))


def _labels(body: Body) -> dict[str, int]:
    return {item.name: place for place, item in enumerate(body) if isinstance(item, Label)}


def _loops(body: Body) -> Iterator[tuple[int, int]]:
    """Where loops begin, and their branches back."""
    labels = _labels(body)
    for end, last in enumerate(body):
        if isinstance(last, Instruction) and last.opcode == "bra":
            begin = labels.get(last.operands[-1], end + 1)
            if begin <= end:
                yield begin, end


def _ends_alike(body: Body, begin: int, end: int, found: set[str]) -> bool:
    """Do only registers of places decide how often a loop goes round?"""
    labels = _labels(body)
    for place in range(begin, end + 1):
        one = body[place]
        if not isinstance(one, Instruction) or one.opcode not in ("bra", "ret", "exit", "brx"):
            continue
        is_inside = one.opcode == "bra" and begin <= labels.get(one.operands[-1], -1) <= end
        leaves = place == end or not is_inside
        if leaves and (one.opcode != "bra" or (one.guard and one.guard not in found)):
            return False
    return True


def _going_on(body: Body, begin: int, end: int, found: set[str]) -> set[str]:
    """Registers that a round of a loop has from the one before."""
    inner = {
        place
        for first, last in _loops(body)
        if begin <= first and last < end
        for place in range(first, last + 1)
    }
    every, outer = dict[str, set[str]](), dict[str, set[str]]()
    for place in range(begin, end + 1):
        one = body[place]
        if not isinstance(one, Instruction):
            continue
        read = {n for o in (*one.operands[1:], one.guard) for n in names(o)} & found
        for name in found.intersection(results(one)):
            every.setdefault(name, set()).update(read)
            if place not in inner:
                outer.setdefault(name, set()).update(read)
    # What an inner loop begins anew with is written in front of it.
    return _made_of_themselves(outer) | (_made_of_themselves(every) - outer.keys())


def _made_of_themselves(reads: dict[str, set[str]]) -> set[str]:
    known, is_new = dict(reads), True
    while is_new:
        is_new = False
        for name, its in [*known.items()]:
            known[name] = its.union(*(known.get(other, set()) for other in its))
            is_new |= len(known[name]) > len(its)
    return {name for name, its in known.items() if name in its}

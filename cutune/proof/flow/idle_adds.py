"""Tests that leave out adding nothing. Takes an entry, gives an entry that always adds.

    setp.eq.s32 %p, %v, 0;
    @%p bra SKIP;                           add.s64 %a, %b, %rd1;
    add.s64 %a, %b, %rd1;                   red.global.add.u32 [%a], %v;
    red.global.add.u32 [%a], %v;        SKIP:
SKIP:

Memory holds the same in the end, so what is proven of one is true of the other. What stands between
must be functions of registers that nothing else reads, and one operation whose result is not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from cutune.proof.values.operations import FUNCTIONS
from cutune.ptx.taint import results, sources
from cutune.ptx.types import Function, Instruction, Label

Item = Instruction | Label
#: Operations on integers that a 0 does not change.
_IDLE = frozenset({"add", "or", "xor"})
_INTEGERS = ("s32", "u32", "b32", "s64", "u64", "b64")


def without_idle_adds(function: Function) -> Function:
    """Return the entry without tests that only leave out adding 0."""
    items = list(function.body or ())
    ends = {item.name: place for place, item in enumerate(items) if isinstance(item, Label)}
    defined = Counter(
        name for item in items if isinstance(item, Instruction) for name in results(item)
    )
    kept = [
        item
        for place, item in enumerate(items)
        if not (
            isinstance(item, Instruction)
            and item.opcode == "bra"
            and item.guard
            and place < (end := ends.get(item.operands[0], -1))
            and defined[item.guard] == 1
            and _adds_nothing(items, place, end)
        )
    ]
    return replace(function, body=tuple(kept)) if len(kept) < len(items) else function


def _adds_nothing(items: Sequence[Item], place: int, end: int) -> bool:
    """Is what a branch leaves out the adding of a value that is 0 then?"""
    branch, inside = items[place], [*items[place + 1 : end]]
    assert isinstance(branch, Instruction), "a branch is an instruction"
    value = _tested(items[:place], branch)
    *before, last = inside or [branch]
    if not value or not isinstance(last, Instruction) or not _adds(last, value):
        return False
    written = {name for item in inside if isinstance(item, Instruction) for name in results(item)}
    outside = [*items[: place + 1], *items[end:]]
    return (
        all(map(_is_function, before))
        and value not in written
        and not any(written & {*sources(item)} for item in outside if isinstance(item, Instruction))
    )


def _tested(before: Sequence[Item], branch: Instruction) -> str:
    """The register that is 0 where a branch is taken, tested just before; empty: none."""
    changed = set[str]()
    for item in reversed(before):
        if not isinstance(item, Instruction) or item.opcode in ("bra", "call"):
            return ""
        if branch.guard in results(item):
            value = _is_zero_where(item, branch)
            return value if value not in changed else ""
        changed.update(results(item))
    return ""


def _is_zero_where(item: Instruction, branch: Instruction) -> str:
    """The register that is 0 where a branch by what an instruction writes is taken."""
    match item.operands:
        # Of two predicates, `%p|%q`, the second is the other way round.
        case (predicate, value, "0") if item.opcode == "setp" and predicate == branch.guard:
            relation = "ne" if branch.negated else "eq"
            is_zero = item.modifiers[0] == relation and not item.guard
            return value if is_zero and item.modifiers[-1] in _INTEGERS else ""
    return ""


def _adds(item: Instruction, value: str) -> bool:
    operation = next((word for word in item.modifiers if word in _IDLE), "")
    is_plain = item.opcode in ("red", "atom") and item.operands[-1] == value and not item.guard
    return is_plain and operation != "" and item.modifiers[-1] in _INTEGERS


def _is_function(item: Item) -> bool:
    return isinstance(item, Instruction) and item.opcode in FUNCTIONS and not item.guard

"""Loops whose iterations need not be executed. Takes a block, gives the change of its registers.

This holds for a block that branches to itself if each carried register changes by the same amount
in every iteration, and its branch compares one of them with an invariant value. The number of
iterations and all values then follow from the values at its beginning. As long as its addresses
are not traced, the machine (machine_leap.cpp) adds up the counters of many iterations and goes on
at the next traced one. Values from memory may change in any way: the kernel's branches and
addresses do not depend on them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from dataclasses import dataclass, replace

from cutune.ptx.control_flow import BasicBlock
from cutune.ptx.taint import results, sources, spaces
from cutune.ptx.types import ARITHMETIC, Instruction, integer

_INTEGERS = frozenset(("s32", "u32", "b32", "s64", "u64", "b64"))
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?")
#: Comparisons that may end a loop: the other way round, and with the sides exchanged.
_OPPOSITE = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "ne": "eq", "eq": "ne"}
_EXCHANGED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "ne": "ne", "eq": "eq"}


@dataclass(frozen=True)
class Sum:
    """A register's value at the beginning of the block (or 0), plus a number, plus invariants.

    `terms`: registers that the block does not write, each with its factor.
    """

    start: str | None = None
    number: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    def plus(self, other: Sum, sign: int) -> Sum | None:
        """The sum with another, or the difference; None when it has no such form."""
        if other.start is not None and (self.start is not None or sign < 0):
            return None
        counts = dict(self.terms)
        for name, count in other.terms:
            counts[name] = counts.get(name, 0) + sign * count
        terms = tuple(sorted((name, count) for name, count in counts.items() if count))
        return Sum(self.start or other.start, self.number + sign * other.number, terms)


@dataclass(frozen=True)
class Leap:
    """The block repeats while `tested` is `comparison` (as `type`) to `bound`.

    `steps`: what one iteration adds to each carried register. These sums and `bound` start from 0.
    """

    comparison: str
    type: str
    tested: Sum
    bound: Sum
    steps: tuple[tuple[str, Sum], ...] = ()


def leap_of(
    index: int, block: BasicBlock, registers: Container[str], loaded: Container[str]
) -> Leap | None:
    """How the block with this number repeats; None: its iterations must be executed.

    `registers`: all of the function; `loaded`: those that hold values from memory, on which no
    branch or address depends.
    """
    end = block.terminator
    if end.kind != "branch" or index not in end.targets or end.instruction is None:
        return None
    body = [x for x in block.instructions if x is not end.instruction]
    if not all(map(_is_plain, body)):
        return None
    final, tests, carried = _executed(body, registers)
    steps = []
    for name in (name for name in carried if name not in loaded):
        value = final[name]
        if value is None or value.start != name:
            return None
        steps.append((name, replace(value, start=None)))
    test = tests.get(end.guard)
    if test is None:
        return None
    if (index == end.targets[0]) == end.negated:
        test = replace(test, comparison=_OPPOSITE[test.comparison])
    if test.tested.start is None:
        test = Leap(_EXCHANGED[test.comparison], test.type, test.bound, test.tested)
    is_bounded = test.bound.start is None and test.tested.start in dict(steps)
    return replace(test, steps=tuple(steps)) if is_bounded and test.comparison != "eq" else None


def _is_plain(instruction: Instruction) -> bool:
    """Are its result and a store to an array its only effects?"""
    if instruction.guard or "cc" in instruction.modifiers:
        return False
    if instruction.opcode == "st":
        return "global" in spaces(instruction)
    return instruction.opcode in ARITHMETIC or instruction.opcode in ("ld", "ldu")


def _executed(
    body: list[Instruction], registers: Container[str]
) -> tuple[dict[str, Sum | None], dict[str, Leap], list[str]]:
    """Registers after the block as sums, the tests made in it, and what is read before written."""
    written = {name for instruction in body for name in results(instruction)}
    values: dict[str, Sum | None] = {}
    tests: dict[str, Leap] = {}
    carried: list[str] = []

    def value(operand: str) -> Sum | None:
        if operand in values:
            return values[operand]
        if _NUMBER.fullmatch(operand):
            return Sum(number=integer(operand))
        if operand not in registers:
            return None
        return Sum(start=operand) if operand in written else Sum(terms=((operand, 1),))

    for instruction in body:
        carried += (n for n in sources(instruction) if n in written and n not in values)
        found = _sum(instruction, value)
        test = _test(instruction, value)
        for name in results(instruction):
            values[name] = found
            tests.pop(name, None)
            if test is not None:
                tests[name] = test
    return values, tests, list(dict.fromkeys(carried))


_Value = Callable[[str], Sum | None]


def _sum(instruction: Instruction, value: _Value) -> Sum | None:
    opcode, modifiers, operands = instruction.opcode, instruction.modifiers, instruction.operands
    if not modifiers or modifiers[-1] not in _INTEGERS:
        return None
    if (opcode == "mov" and len(modifiers) == 1) or (opcode == "cvta" and "global" in modifiers):
        return value(operands[1])
    if opcode not in ("add", "sub") or len(modifiers) != 1:
        return None
    left, right = value(operands[1]), value(operands[2])
    if left is None or right is None:
        return None
    return left.plus(right, 1 if opcode == "add" else -1)


def _test(instruction: Instruction, value: _Value) -> Leap | None:
    modifiers, operands = instruction.modifiers, instruction.operands
    if instruction.opcode != "setp" or len(modifiers) != 2 or modifiers[1] not in _INTEGERS:
        return None
    if len(results(instruction)) != 1:
        return None  # `p|q`: q is the opposite
    left, right = value(operands[1]), value(operands[2])
    if modifiers[0] not in _OPPOSITE or left is None or right is None:
        return None
    return Leap(modifiers[0], modifiers[1], left, right)

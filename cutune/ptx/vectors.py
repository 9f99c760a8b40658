"""Loads from shared memory that ptxas joins to vectors of 8 and 16 bytes per lane.

Takes a function and where its shared variables are aligned, gives the joined loads. Words that lie
side by side behind an address that is known to be a multiple of 16 or 8 bytes are one load in
machine code, if no store is between: seen in code for sm_90 that nvcc 13 compiles.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from cutune.core.reaching import reached
from cutune.ptx.control_flow import ControlFlow
from cutune.ptx.taint import results, sources, spaces
from cutune.ptx.types import ATOMICS, TYPE_BYTES, Function, Instruction, integer

#: Bytes per lane of a vector, the widest first.
WIDTHS = (16, 8)
#: More than any address is known to be a multiple of.
_MOST = 1 << 16
_ADDRESS = re.compile(r"\[\s*([%$A-Za-z_][\w$]*)\s*(?:\+\s*(-?\d+)\s*)?\]")


def joined_loads(
    function: Function, flow: ControlFlow, aligned_to: Mapping[str, int]
) -> dict[int, int]:
    """Return, by line, the bytes per lane of the vector load that begins there; 0: within one.

    Args:
        aligned_to: what the addresses of shared variables are multiples of, by name.
    """
    if not any(map(_is_shared_load, function.instructions)):
        return {}
    several = (run for block in flow.blocks for run in _runs(block.instructions))
    runs = [run for run in several if len(run.lines) > 1]
    asked = {run.base for run in runs}
    divisors = {**aligned_to, **_divisors(function, asked, aligned_to)}
    joined: dict[int, int] = {}
    for run in runs:
        joined |= run.joined(divisors.get(run.base, 1))
    return joined


@dataclass
class _Run:
    """Loads of one width behind one value of a register: a line by offset."""

    base: str
    bytes: int
    lines: dict[int, int] = field(default_factory=dict)

    def joined(self, divisor: int) -> dict[int, int]:
        found: dict[int, int] = {}
        for width in WIDTHS:
            if width <= self.bytes or divisor % width:
                continue
            for start in sorted({offset - offset % width for offset in self.lines}):
                lines = [self.lines.get(o) for o in range(start, start + width, self.bytes)]
                whole = [line for line in lines if line is not None and line not in found]
                if len(whole) == len(lines):
                    found |= dict.fromkeys(whole, 0) | {whole[0]: width}
        return found


def _runs(instructions: Iterable[Instruction]) -> Iterator[_Run]:
    """Loads from shared memory with nothing between them that may write there."""
    runs: dict[tuple[str, int], _Run] = {}
    for one in instructions:
        is_shared = not spaces(one).isdisjoint(("shared", "generic"))
        if one.opcode in ATOMICS or (one.opcode == "st" and (is_shared or not _is_told(one))):
            yield from runs.values()
            runs = {}
        address = _ADDRESS.fullmatch(one.operands[-1]) if one.operands else None
        if _is_shared_load(one) and address and _is_plain(one):
            width = TYPE_BYTES[one.modifiers[-1]]
            run = runs.setdefault((address[1], width), _Run(address[1], width))
            run.lines.setdefault(int(address[2] or 0), one.line)
        for name in results(one):
            for key in [key for key in runs if key[0] == name]:
                yield runs.pop(key)
    yield from runs.values()


def _is_shared_load(one: Instruction) -> bool:
    return one.opcode == "ld" and "shared" in spaces(one)


def _is_plain(one: Instruction) -> bool:
    is_scalar = not {"v2", "v4", "v8", "volatile"}.intersection(one.modifiers)
    return is_scalar and not one.guard


def _is_told(one: Instruction) -> bool:
    """Does a store name its state space?"""
    return not spaces(one).isdisjoint(("global", "local", "shared", "param"))


def _divisors(
    function: Function, asked: Collection[str], aligned_to: Mapping[str, int]
) -> dict[str, int]:
    """Return, by register, a power of two that divides its value wherever it is read.

    `asked`: those that matter. Nothing is found of others that do not lead to them.
    """
    writers: dict[str, list[Instruction]] = {}
    for one in function.instructions:
        for name in results(one):
            writers.setdefault(name, []).append(one)
    leading = {*reached(asked, lambda n: chain.from_iterable(map(sources, writers.get(n, ()))))}
    instructions = [one for one in function.instructions if not leading.isdisjoint(results(one))]
    found: dict[str, int] = {}
    is_settled = False
    while not is_settled:
        is_settled = True
        for one in instructions:
            divisor = _divisor(one, function.registers, found, aligned_to)
            for name in results(one):
                if divisor < found.get(name, _MOST + 1):
                    found[name], is_settled = divisor, False
    return found


def _divisor(
    one: Instruction,
    registers: Collection[str],
    found: Mapping[str, int],
    aligned_to: Mapping[str, int],
) -> int:
    def of(operand: str) -> int:
        if operand in registers:
            return found.get(operand, _MOST)
        try:
            value = integer(operand)
        except ValueError:
            return aligned_to.get(operand, 1)
        return min(_MOST, value & -value) if value else _MOST

    match one.opcode, one.operands:
        case ("mov" | "cvta" | "cvt", (_, a)) if not {"f32", "f64", "f16"}.intersection(
            one.modifiers
        ):
            return of(a)
        case ("add" | "sub" | "min" | "max" | "or" | "xor", (_, a, b)):
            return min(of(a), of(b))
        case ("selp", (_, a, b, _)):
            return min(of(a), of(b))
        case ("and", (_, a, b)):
            return max(of(a), of(b))
        case ("mul", (_, a, b)) if "hi" not in one.modifiers:
            return min(_MOST, of(a) * of(b))
        case ("mad", (_, a, b, c)) if "hi" not in one.modifiers:
            return min(_MOST, of(a) * of(b), of(c))
        case ("shl", (_, a, b)) if b.isdecimal():
            return min(_MOST, of(a) << min(16, int(b)))
        case _:
            return 1

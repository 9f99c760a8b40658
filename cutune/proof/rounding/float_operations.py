"""Floating-point operations of a function. Takes its text, gives them with names for their values.

A value has the names of the parameters, built-in variables, loaded values and constants that it
depends on, without the order of basic blocks. These stay the same when the compiler unrolls a loop,
keeps a value in a register or moves code. A value that is read through a pointer depends on all
values that are stored through it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from cutune.ptx.taint import names, results
from cutune.ptx.types import TYPE_BYTES, Function, Instruction

Made = frozenset[str]
"""The names that a value depends on, which mean the same in a kernel and its copies."""


@dataclass(frozen=True)
class FloatOperation:
    """An instruction, and the names that its operands depend on.

    `leaves`: with the offsets in the addresses of those that are loaded.
    """

    instruction: Instruction
    made_of: tuple[Made, ...]
    leaves: tuple[Made, ...] = ()

    @property
    def opcode(self) -> str:
        return self.instruction.opcode

    @property
    def operands(self) -> tuple[str, ...]:
        return self.instruction.operands[1:]

    @property
    def is_load(self) -> bool:
        return self.opcode in _LOADS

    @property
    def is_rounded_always(self) -> bool:
        """Is it never fused with another one, because it names its rounding (`-fmad=false`)?"""
        return "rn" in self.instruction.modifiers


FLOATS = frozenset({"f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"})
FUSED = frozenset({"fma", "mad"})
SUMS = frozenset({"add", "sub"})
_LOADS = frozenset({"ld", "ldu", "tex", "tld4", "suld", "atom", "ldmatrix"})
_STORES = frozenset({"st", "atom", "red"})
_MOVES = frozenset({"mov", "cvta"})
_REGISTER = re.compile(r"%[\w$]+(?:\.[xyz])?")
_CONSTANT = re.compile(r"0[fFdD][0-9a-fA-F]+$")
_PARAMETER = re.compile(r"\[\s*\w+?_param_(\d+)\s*(?:\+\s*(\d+))?\s*\]")
_OFFSET = re.compile(r"\+\s*(-?\d+)\s*\]")
_OF_PARAMETER = "parameter"


@dataclass
class FloatOperations:
    """The operations of a function with a body."""

    function: Function
    #: The names that registers and memory depend on, whoever writes them.
    _made: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    #: The same of registers that were written before in the same basic block.
    _local: dict[str, set[str]] = field(default_factory=dict)
    #: The memory behind the address of each access.
    _places: dict[int, str] = field(default_factory=dict)
    _read: dict[int, tuple[Made, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._until_nothing_is_added()
        for number, one in self._instructions:
            if (address := _address(one)) is not None:
                self._places[number] = self._place(address)
        # Addresses are known: from here on loads depend on stored values.
        self._made.clear()
        self._until_nothing_is_added()

    @property
    def arithmetic(self) -> Iterator[FloatOperation]:
        """All operations on floating-point numbers, in order."""
        for number, one in self._instructions:
            if _is_arithmetic(one):
                leaves = map(self._leaf, one.operands[1:], self._read[number])
                yield FloatOperation(one, self._read[number], tuple(leaves))

    @property
    def in_order(self) -> Iterator[FloatOperation]:
        """All operations on floating-point numbers and all loads, by their places, in order."""
        for number, one in self._instructions:
            if one.opcode in _LOADS and number in self._places:
                yield FloatOperation(one, (frozenset({self._places[number]}),))
            elif _is_arithmetic(one):
                yield FloatOperation(one, self._read[number])

    def definition(self, operand: str) -> FloatOperation | None:
        """Return the only instruction that writes a register; None where there are several."""
        definitions = self._definitions.get(operand.lstrip("-"), [])
        if len(definitions) != 1:
            return None
        number, one = definitions[0]
        return FloatOperation(one, self._read[number])

    @cached_property
    def _instructions(self) -> list[tuple[int, Instruction]]:
        body = enumerate(self.function.body or ())
        return [(number, item) for number, item in body if isinstance(item, Instruction)]

    @cached_property
    def _definitions(self) -> Mapping[str, list[tuple[int, Instruction]]]:
        found: defaultdict[str, list[tuple[int, Instruction]]] = defaultdict(list)
        for number, one in self._instructions:
            for name in results(one):
                found[name].append((number, one))
        return found

    def _leaf(self, operand: str, made: Made) -> Made:
        """A value that is loaded is known by the constant in its address, too."""
        found = self.definition(operand)
        address = _address(found.instruction) if found is not None else None
        if found is None or address is None or found.opcode not in _LOADS:
            return made
        offset = _OFFSET.search(address)
        behind = int(offset[1]) if offset else 0
        part = results(found.instruction).index(operand.lstrip("-"))
        return made | {f"at {behind + part * _bytes(found.instruction)}"}

    def _until_nothing_is_added(self) -> None:
        before = -1
        while before != (before := sum(map(len, self._made.values()))):
            self._local.clear()
            for number, item in enumerate(self.function.body or ()):
                if isinstance(item, Instruction):
                    self._add(number, item)
                else:
                    self._local.clear()

    def _of(self, operand: str) -> set[str]:
        is_constant = _CONSTANT.match(operand) and operand.strip("0dDfF")
        found = {operand} if is_constant else set()
        return found.union(*(self._of_register(name) for name in _REGISTER.findall(operand)))

    def _of_register(self, name: str) -> set[str]:
        if name not in self.function.registers:
            return {name}
        # A condition selects values, it is no part of them.
        is_condition = self.function.registers[name] == "pred"
        return set() if is_condition else self._local.get(name, self._made[name])

    def _add(self, number: int, one: Instruction) -> None:
        self._read[number] = tuple(frozenset(self._of(o)) for o in one.operands[1:])
        place = self._places.get(number, "")
        if place and one.opcode in _STORES:
            for operand in one.operands[1:]:
                self._made[place] |= self._of(_as_float(operand))
        if one.opcode not in _LOADS:
            found = {f"call {one.operands[-2:]}"} if one.opcode == "call" else set()
            found = found.union(*map(self._of, one.operands[1:]))
        else:
            found = self._made[place] | {place} if place else set()
        written = [name for name in results(one) if name in self.function.registers]
        for part, name in enumerate(written):
            is_parameter = one.opcode in _LOADS and "param" in one.modifiers
            value = {_parameter(one, part)} if is_parameter else set(found)
            # Under a condition it may keep its value.
            before = self._local.get(name, self._made[name]) if one.guard else set()
            self._made[name] |= value
            self._local[name] = value | before

    def _place(self, operand: str) -> str:
        """The memory behind an address: the parameters and variables that it depends on."""
        found: set[str] = set()
        for name in names(operand):
            made = self._made.get(name, {name})
            found |= {word for word in made if _OF_PARAMETER in word or word == name}
        return f"behind {sorted(found)}"


def _is_arithmetic(one: Instruction) -> bool:
    return bool(FLOATS & {*one.modifiers}) and one.opcode not in _LOADS | _STORES | _MOVES


def _address(one: Instruction) -> str | None:
    if "param" in one.modifiers or one.opcode not in _LOADS | _STORES:
        return None
    return one.operands[0 if one.opcode in ("st", "red") else 1]


def _parameter(one: Instruction, part: int) -> str:
    found = _PARAMETER.search(one.operands[1])
    if found is None:
        return one.operands[1]
    return f"{_OF_PARAMETER} {found[1]} {int(found[2] or 0) + part * _bytes(one)}"


def _bytes(one: Instruction) -> int:
    return next((TYPE_BYTES[word] for word in one.modifiers if word in TYPE_BYTES), 0)


def _as_float(operand: str) -> str:
    """A constant that is stored by its bits, as it is written elsewhere."""
    return f"0f{int(operand):08X}" if operand.isdecimal() else operand

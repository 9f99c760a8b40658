"""What code says of numbers and of parameters. Takes PTX, gives literals, types, tests of real
parameters, and accesses through pointers.

A register follows from a pointer if any instruction makes it of one. What functions that are called
do, they may do through each pointer that is handed to them.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, cached_property
from math import nan

from cutune.ptx.taint import loads_data, names, results, sources, spaces
from cutune.ptx.types import LOADS, MEMORY, Function, Instruction
from cutune.ptx.units import bytes_of

REALS = frozenset({"f16", "f16x2", "bf16", "bf16x2", "f32", "f64"})
REAL_NUMBER = re.compile(r"0[fFdD][0-9a-fA-F]+")
_WIDENED = (("f64", "f32"), ("f32", "f16"))
_INTEGER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?")
#: Operations whose literals are compared with sizes or data, or move them.
_NAMING = frozenset(
    ["setp", "min", "max", "add", "sub", "and", "or", "xor", "set", "fma", "mad", "selp"]
)
#: In place of a pointer: an access that no parameter tells of.
ELSEWHERE = -1
_POINTER_BYTES = 8
_WRITES = frozenset({"st", "atom", "red"})
#: Bits of a register that may hold anything, and writers of registers that are followed.
_ALL, _DEEPEST = 64, 8


@cache
def literal(operand: str) -> int | None:
    """The integer that an operand is, if it is one."""
    return int(operand.rstrip("U"), 0) if _INTEGER.fullmatch(operand) else None


def numbers_of(one: Instruction) -> list[int]:
    """The literals that an instruction reads."""
    return [value for o in one.operands[1:] if (value := literal(o)) is not None]


def step_of_upper_half(one: Instruction) -> float:
    """By how much a number grows until the upper half of its product with a literal does by one.

    So compilers divide by what is no power of two: `mul.hi.u32 q, n, -1431655765; shr.u32 q, q, 1`.
    0: it is no such product.
    """
    if one.opcode != "mul" or "hi" not in one.modifiers:
        return 0
    factor, bits = literal(one.operands[-1]), type_of(one, 0)
    if not factor:
        return 0
    whole = 1 << int(bits[1:])
    return whole / abs(factor % whole if bits[0] == "u" else factor)


def type_of(one: Instruction, place: int) -> str:
    """The type of the result (0) or of the last operand (1)."""
    types = _types(one.modifiers)
    return types[min(place, len(types) - 1)] if types else ""


@cache
def _types(modifiers: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(m for m in modifiers if re.fullmatch(r"(?:[subf]|bf)\d+(?:x2)?|pred", m))


def literals(functions: Iterable[Function]) -> tuple[frozenset[int], frozenset[int]]:
    """The integers, and the bits of `float` numbers, that the operands of functions have."""
    integers, reals = set[int](), set[int]()
    for function in functions:
        for one in function.instructions:
            for operand in one.operands if one.opcode in _NAMING else ():
                if operand.startswith("%"):
                    continue
                if (value := literal(operand)) is not None:
                    integers.add(value)
                elif REAL_NUMBER.fullmatch(operand) and operand[1] in "fF":
                    reals.add(int(operand[2:], 16))
    return frozenset(integers), frozenset(reals)


def tested_numbers(kernel: Function) -> dict[int, frozenset[float]]:
    """The numbers with which a kernel compares its real parameters, by their places.

    NaN is among them where it asks for more than whether they are equal.
    """
    found: dict[int, frozenset[float]] = {}
    for place, numbers in tests_of_parameters(kernel).values():
        found[place] = found.get(place, frozenset()) | numbers
    return found


def tests_of_parameters(kernel: Function) -> dict[int, tuple[int, frozenset[float]]]:
    """The parameter, and the numbers, of each comparison of a real parameter with numbers alone."""
    places = _unchanged_parameters(kernel)
    turned = {
        places[one.operands[-1]]
        for one in kernel.instructions
        if one.opcode in ("abs", "neg") and one.operands[-1] in places
    }
    found: dict[int, tuple[int, frozenset[float]]] = {}
    for one in kernel.instructions:
        if one.opcode != "setp" or len(one.operands) != 3:
            continue
        reals = [_real(o) for o in one.operands[1:] if REAL_NUMBER.fullmatch(o)]
        own = {places.get(o) for o in one.operands[1:] if not REAL_NUMBER.fullmatch(o)}
        place = own.pop() if len(own) == 1 else None
        if place is not None:
            opposite = [-number for number in reals if place in turned]
            strict = [] if {"eq", "neu"} & {*one.modifiers} and reals else [nan]
            found[id(one)] = place, frozenset((*reals, *opposite, *strict))
    return found


def _unchanged_parameters(kernel: Function) -> dict[str, int]:
    """Registers of a real parameter, but for its sign and width, with its place."""
    places = {one.name: place for place, one in enumerate(kernel.parameters)}
    written = Counter(name for one in kernel.instructions for name in results(one))
    found: dict[str, int] = {}
    for one in kernel.instructions:
        if type_of(one, 0) not in REALS or written[one.operands[0]] != 1:
            continue
        named = [places[name] for name in names(one.operands[-1]) if name in places]
        if one.opcode in LOADS and named and "param" in spaces(one):
            found[one.operands[0]] = named[0]
        elif one.operands[-1] in found and (
            one.opcode in ("mov", "abs", "neg") or one.modifiers in _WIDENED
        ):
            found[one.operands[0]] = found[one.operands[-1]]
    return found


def _real(operand: str) -> float:
    kind, digits = operand[1].lower(), operand[2:]
    value: float = struct.unpack(f">{kind}", bytes.fromhex(digits))[0]
    return value


Writers = Mapping[str, Sequence[Instruction]]
"""The instructions that write each register."""


def joins_bits(one: Instruction, writers: Writers) -> bool:
    """Is an `or` a sum, because one of two numbers has only bits that the other has not?"""
    first, second = one.operands[1:3]
    bits, zeros = ([of(n, writers) for n in (first, second)] for of in (_below, _zeros))
    return bits[0] <= zeros[1] or bits[1] <= zeros[0]


def _zeros(name: str, writers: Writers) -> int:
    """How many of the lowest bits of a register are certain to be 0."""
    return min(map(_zeros_of, writers.get(name, ())), default=0)


def _zeros_of(one: Instruction) -> int:
    """How many of its lowest bits a shift, or a product with a literal, leaves 0."""
    last = literal(one.operands[-1]) if one.opcode in ("shl", "mul") else None
    if last is None or last <= 0 or "hi" in one.modifiers:
        return 0
    return last if one.opcode == "shl" else (last & -last).bit_length() - 1


def _below(name: str, writers: Writers, depth: int = 0) -> int:
    """The number of low bits of a register outside of which it holds nothing."""
    bits = (_bits(one, writers, depth) for one in writers.get(name, ()))
    return max(bits, default=_ALL)


def _bits(one: Instruction, writers: Writers, depth: int) -> int:
    if one.opcode == "and" and (mask := literal(one.operands[2])) is not None and mask >= 0:
        return mask.bit_length()
    is_widened = one.opcode == "cvt" and type_of(one, 1)[:1] == "u"
    if depth < _DEEPEST and (one.opcode == "mov" or is_widened):
        return _below(one.operands[1], writers, depth + 1)
    return _ALL


@dataclass(frozen=True)
class PointerParameters:
    """The accesses of a kernel. `functions`: itself, and those that it may call."""

    kernel: Function
    functions: Sequence[Function]

    def widths(self, of_functions: Callable[[Sequence[int]], int]) -> Mapping[int, int]:
        """Return the most bits of an access through each pointer, by the place of its parameter.

        `of_functions`: what counts of the accesses of functions that are given a pointer.
        """
        found: dict[int, int] = {}
        for one in self._accesses(self.kernel):
            for place in self._places_of(one) or {ELSEWHERE}:
                found[place] = max(found.get(place, 0), 8 * bytes_of(one))
        if within := [8 * bytes_of(one) for one in self._within]:
            for place in self._handed or {ELSEWHERE}:
                found[place] = max(found.get(place, 0), of_functions(within))
        return found

    @property
    def written(self) -> frozenset[int]:
        """Places of parameters through which memory may be written."""
        stores = (one for one in self._accesses(self.kernel) if one.opcode in _WRITES)
        found = {place for one in stores for place in self._places_of(one)}
        may_write = any(one.opcode in _WRITES for one in self._within)
        return frozenset(found | (self._handed if may_write else set()))

    @cached_property
    def _within(self) -> list[Instruction]:
        others = (one for one in self.functions if one is not self.kernel)
        return [access for one in others for access in self._accesses(one)]

    @staticmethod
    def _accesses(function: Function) -> list[Instruction]:
        """Accesses of memory that others see."""
        return [
            one
            for one in function.instructions
            if one.opcode in MEMORY and not spaces(one) & {"param", "shared", "local"}
        ]

    def _places_of(self, access: Instruction) -> Set[int]:
        address = access.operands[0 if access.opcode in ("st", "red") else 1]
        return {place for name in names(address) for place in self._origins.get(name, ())}

    @cached_property
    def _handed(self) -> set[int]:
        """Places of what is handed to functions."""
        given = (one for one in self.kernel.instructions if one.opcode == "st")
        values = (o for one in given if "param" in spaces(one) for o in one.operands[1:])
        return {place for o in values for name in names(o) for place in self._origins.get(name, ())}

    @cached_property
    def _origins(self) -> dict[str, set[int]]:
        """Places of the parameters that registers follow from."""
        known = enumerate(self.kernel.parameters)
        parameters = {one.name: place for place, one in known if one.size == _POINTER_BYTES}
        found: dict[str, set[int]] = {}
        handed, size, nothing = set[int](), -1, frozenset[int]()
        steps = [
            (
                sources(one),
                results(one),
                one.opcode in LOADS and {parameters[n] for n in sources(one) if n in parameters},
                one.opcode == "st" and "param" in spaces(one),
            )
            for one in self.kernel.instructions
            if not loads_data(one)
        ]
        while size != (size := sum(map(len, found.values())) + len(handed)):
            for read, written, loaded, is_handed in steps:
                origins = nothing.union(*(found[name] for name in read if name in found))
                if loaded is not False:
                    # Or it is what a function returns.
                    origins |= loaded or handed
                if is_handed:
                    handed |= origins
                for name in written if origins else ():
                    found.setdefault(name, set()).update(origins)
        return found


def asks_for_more(kernel: PointerParameters, copy: PointerParameters) -> bool:
    """Tell whether accesses of a copy are longer through a pointer than any of its kernel.

    They would ask for pointers to multiples of more bytes.
    """
    allowed = kernel.widths(min)
    return any(bits > allowed.get(place, 0) for place, bits in copy.widths(max).items())

"""Integer types of CUDA C++ on a 64-bit host, and structures that kernels get by value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cutune.source.syntax.tokens import word_set


class IntegerType(NamedTuple):
    """Width and signedness."""

    bits: int
    signed: bool


#: Stands for `::` in a name.
SCOPE = "$"
#: Real numbers, by the bytes that they have.
REAL_BYTES = {"float": 4, "double": 8, "half": 2, "__half": 2, "__nv_bfloat16": 2, "nv_bfloat16": 2}
_ALIASES = {
    name: IntegerType(bits, is_signed)
    for bits, is_signed, names in (
        (8, False, "bool uchar uint8_t __uint8_t"),
        (8, True, "int8_t __int8_t"),
        (16, False, "ushort uint16_t __uint16_t"),
        (16, True, "int16_t __int16_t"),
        (32, False, "uint uint32_t u_int32_t __uint32_t"),
        (32, True, "int32_t __int32_t"),
        (64, False, "size_t uint64_t ulong uintptr_t __uint64_t ulonglong"),
        (64, True, "int64_t ssize_t ptrdiff_t __int64_t intptr_t longlong"),
    )
    for name in names.split()
}
ALIASES: Mapping[str, IntegerType] = {
    **_ALIASES,
    **{f"std${name}": type_ for name, type_ in _ALIASES.items() if name.endswith("_t")},
}
#: Words that say nothing about the value.
QUALIFIERS = word_set(
    """
    const constexpr volatile register static inline typename struct __restrict__ __restrict
    restrict __grid_constant__ extern mutable __device__ __constant__ __managed__
    """
)
#: Words of which the integers of the language are made.
INTEGER_WORDS = frozenset({"int", "char", "short", "long", "unsigned", "signed"})


def integer_type(
    words: Sequence[str], typedefs: Mapping[str, Sequence[str]] | None = None, depth: int = 0
) -> IntegerType | None:
    """The integer type that a specifier list names, or None for any other type."""
    # `std::size_t`, as it is written and as one word.
    words = [word.replace("::", SCOPE).removeprefix(SCOPE) for word in words]
    names = [word for word in words if word not in QUALIFIERS]
    if not names:
        return None
    if len(names) == 1 and names[0] in ALIASES:
        return ALIASES[names[0]]
    if {*names} <= INTEGER_WORDS:
        widths = {"char": 8, "short": 16, "long": 64}
        bits = next((widths[word] for word in widths if word in names), 32)
        return IntegerType(bits, "unsigned" not in names)
    alias = typedefs.get(names[0]) if typedefs and len(names) == 1 and depth < 10 else None
    return integer_type(alias, typedefs, depth + 1) if alias is not None else None


#: Characters of an integer literal: 64 bits in binary, with its prefix and some zeros.
LONGEST_LITERAL = 80


def literal_value(text: str) -> int | None:
    """The value of an integer literal, or None for a floating-point one."""
    digits = text.replace("'", "").rstrip("uUlL")
    if len(digits) > LONGEST_LITERAL:
        return None
    is_octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    try:
        return int(digits, 8 if is_octal else 0)
    except ValueError:
        return None


class PassedMember(NamedTuple):
    """A number or a pointer of a structure.

    `path`: `inner.w_2` of `inner.w[2]`; `type`: as written; `words`: of the type of a number that
    it stands for; `steps`: the pointers to members that lead to it, of integers alone; an element
    of an array has a type in place of one.
    """

    path: str
    type: str
    words: tuple[str, ...]
    offset: int
    bytes: int
    steps: tuple[str, ...]

    @property
    def is_pointer(self) -> bool:
        return "*" in self.type

    @property
    def is_integer(self) -> bool:
        return not self.is_pointer and integer_type(self.words) is not None


@dataclass(frozen=True)
class PassedStructure:
    """A structure that is an argument of a kernel by value: all that it holds, in its order.

    `name`: its type as one may name it anywhere; `unknown`: the first member whose place and size
    are not known, if any: then nothing else is told.
    """

    argument: int
    name: str
    bytes: int = 0
    members: tuple[PassedMember, ...] = ()
    unknown: str = ""

"""Integer types of CUDA C++ on a 64-bit host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cutune.source.syntax.tokens import word_set


class IntegerType(NamedTuple):
    """Width and signedness."""

    bits: int
    signed: bool


#: Stands for `::` in a name.
SCOPE = "$"
_ALIASES = {
    **dict.fromkeys(("uint", "uint32_t", "u_int32_t", "__uint32_t"), IntegerType(32, False)),
    **dict.fromkeys(("int32_t", "__int32_t"), IntegerType(32, True)),
    **dict.fromkeys(
        ("size_t", "uint64_t", "ulong", "uintptr_t", "std$size_t", "__uint64_t", "ulonglong"),
        IntegerType(64, False),
    ),
    **dict.fromkeys(
        ("int64_t", "ssize_t", "ptrdiff_t", "std$ptrdiff_t", "__int64_t", "intptr_t", "longlong"),
        IntegerType(64, True),
    ),
    **dict.fromkeys(("uint16_t", "ushort", "__uint16_t"), IntegerType(16, False)),
    **dict.fromkeys(("int16_t", "__int16_t"), IntegerType(16, True)),
    **dict.fromkeys(("uint8_t", "uchar", "__uint8_t"), IntegerType(8, False)),
    **dict.fromkeys(("int8_t", "__int8_t"), IntegerType(8, True)),
    "bool": IntegerType(8, False),
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
_KEYWORDS = frozenset({"int", "char", "short", "long", "unsigned", "signed"})


def integer_type(
    words: Sequence[str], typedefs: Mapping[str, Sequence[str]] | None = None, depth: int = 0
) -> IntegerType | None:
    """The integer type that a specifier list names, or None for any other type."""
    names = [word for word in words if word not in QUALIFIERS]
    if not names:
        return None
    if len(names) == 1 and names[0] not in _KEYWORDS:
        alias = ALIASES.get(names[0])
        if alias is not None:
            return alias
        if typedefs and names[0] in typedefs and depth < 10:
            return integer_type(typedefs[names[0]], typedefs, depth + 1)
    if not set(names) <= _KEYWORDS:
        return None
    signed = "unsigned" not in names
    if "char" in names:
        return IntegerType(8, signed)
    if "short" in names:
        return IntegerType(16, signed)
    return IntegerType(64 if "long" in names else 32, signed)


#: Characters of an integer literal: 64 bits in binary, with its prefix and some zeros.
LONGEST_LITERAL = 80


def literal_value(text: str) -> int | None:
    """The value of an integer literal, or None for a floating-point one."""
    digits = text.replace("'", "").rstrip("uUlL")
    if len(digits) > LONGEST_LITERAL:
        return None
    try:
        if len(digits) > 1 and digits[0] == "0" and digits.isdigit():
            return int(digits, 8)
        return int(digits, 0)
    except ValueError:
        return None

"""Instructions on the numbers of all threads. Takes arrays, gives arrays.

A register of w < 64 bits holds a number from 0 up to 2^w - 1; one of 64 bits holds it as an int64.
Floating-point numbers are held as their bits. What IEEE 754 does not round to one result in every
implementation is not computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cutune.proof.collectives.lanes import NUMBER, Flags, Lanes, Numbers, numbers
from cutune.proof.values.terms import WARP

LOGIC: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_RING: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
}
_ORDER: Mapping[str, Callable[..., Flags]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}

Reals = npt.NDArray[np.floating[Any]]
#: The types in which numpy holds the bits of a floating-point number, and the number.
_REALS: Mapping[str, tuple[type[np.unsignedinteger[Any]], type[np.floating[Any]]]] = {
    "f32": (np.uint32, np.float32),
    "f64": (np.uint64, np.float64),
}
_INTEGERS = frozenset(f"{sign}{bits}" for sign in "sub" for bits in (8, 16, 32, 64))
#: Words besides the type, of instructions on integers.
_OTHER_WORDS: Mapping[str, frozenset[str]] = {
    "mul": frozenset({"lo", "hi", "wide"}),
    "mad": frozenset({"lo", "hi", "wide"}),
    "cvta": frozenset({"to", "shared"}),
    "cvt": _INTEGERS,
}
#: Rounded to the nearest number by all who follow IEEE 754.
_REAL: Mapping[str, Callable[..., Reals]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "abs": np.abs,
    "neg": np.negative,
    "min": np.minimum,
    "max": np.maximum,
}


def held(values: Numbers, bits: int) -> Numbers:
    """Return what a register of so many bits holds of these numbers."""
    return values if bits >= 64 else values & np.int64((1 << bits) - 1)


def signed(values: Numbers, bits: int) -> Numbers:
    """Return the numbers that a register holds, read with a sign."""
    if bits >= 64:
        return values
    kept = held(values, bits)
    return np.where(kept >> np.int64(bits - 1) & 1, kept - np.int64(1 << bits), kept)


def read_as(values: Numbers, kind: str) -> Numbers:
    """Return the numbers that an instruction of a type reads: `s32`, `u64`.

    Raises:
        ValueError: numbers of 64 bits without a sign, of which some are too large for an int64.
    """
    bits = int(kind[1:])
    if kind[0] == "s":
        return signed(values, bits)
    if bits == 64 and (values < 0).any():
        raise ValueError("numbers that are too large")
    return held(values, bits)


def compared(relation: str, kind: str, first: Numbers, second: Numbers) -> Flags:
    """Return where `first relation second` holds.

    Raises:
        ValueError: the comparison is not known.
    """
    if kind in _REALS and relation.removesuffix("u") in _ORDER:
        # Without a NaN ordered and unordered comparisons are alike.
        one, other = _real(first, kind), _real(second, kind)
        return _ORDER[relation.removesuffix("u")](one, other)
    if relation not in _ORDER or kind[0] not in "sub":
        raise ValueError(f"the comparison '{relation}.{kind}'")
    if relation in ("eq", "ne"):
        bits = int(kind[1:])
        return _ORDER[relation](held(first, bits), held(second, bits))
    as_kind = f"u{kind[1:]}" if relation in ("lo", "ls", "hi", "hs") else kind
    return _ORDER[relation](read_as(first, as_kind), read_as(second, as_kind))


def computed(opcode: str, modifiers: Sequence[str], operands: Sequence[Numbers]) -> Numbers:
    """Return the result of an instruction.

    Raises:
        ValueError: the instruction is not known here.
    """
    kind = modifiers[-1]
    if not _REALS.keys().isdisjoint(modifiers):
        return _computed_real(opcode, modifiers, operands)
    is_integer = kind[0] in "sub" and kind[1:].isdigit()
    if not is_integer or not _OTHER_WORDS.get(opcode, frozenset()).issuperset(modifiers[:-1]):
        raise ValueError(f"'{opcode}.{kind}'")
    bits = int(kind[1:])
    if opcode in ("mul", "mad"):
        return _product(modifiers, operands, bits)
    if opcode in _RING:
        return held(_RING[opcode](operands[0], operands[1]), bits)
    if opcode in LOGIC:
        return held(LOGIC[opcode](operands[0], operands[1]), bits)
    match opcode:
        case "mov" | "cvta":
            return operands[0]
        case "not":
            return held(~operands[0], bits)
        case "neg":
            return held(-operands[0], bits)
        case "abs":
            return held(np.abs(signed(operands[0], bits)), bits)
        case "cvt":
            to = modifiers[-2]
            return held(_converted(to, kind, operands[0]), max(int(to[1:]), 32))
        case "shl" | "shr":
            return _shifted(opcode, kind, operands[0], operands[1])
        case "min" | "max":
            first, second = (read_as(one, kind) for one in operands)
            chosen = np.minimum(first, second) if opcode == "min" else np.maximum(first, second)
            return held(chosen, bits)
        case "div" | "rem":
            return _divided(opcode, kind, operands[0], operands[1])
        case "popc":
            return np.array([int(v).bit_count() for v in held(operands[0], bits)], np.int64)
        case "lop3":
            return held(_by_table(operands), bits)
        case "bfe":
            return _field(kind, *operands)
        case "bfi":
            return _inserted(bits, *operands)
    raise ValueError(f"'{opcode}'")


def _real(bits: Numbers, kind: str) -> Reals:
    """The floating-point numbers that registers hold.

    Raises:
        ValueError: one is no number, or so small that instructions may flush it.
    """
    unsigned, real = _REALS[kind]
    return _usual(bits.astype(unsigned).view(real))


def _usual(values: Reals) -> Reals:
    is_small = (values != 0) & (np.abs(values) < np.finfo(values.dtype).tiny)
    if np.isnan(values).any() or is_small.any():
        raise ValueError("a NaN, or a subnormal number")
    return values


def _computed_real(opcode: str, modifiers: Sequence[str], operands: Sequence[Numbers]) -> Numbers:
    kind = modifiers[-1]
    words = {*modifiers} - {"ftz", "rn", kind}
    if opcode == "cvt":
        return _converted_real(modifiers, operands[0])
    if opcode not in _REAL or words or (opcode == "div" and "rn" not in modifiers):
        raise ValueError(f"'{opcode}.{kind}'")
    reals = [_real(one, kind) for one in operands]
    if opcode == "mul" and "rn" not in modifiers and not _is_exact_product(*reals):
        raise ValueError("a product that may be added unrounded")
    if opcode in ("min", "max") and (np.equal(*reals) & np.not_equal(*operands)).any():
        raise ValueError("zeros of different signs")
    with np.errstate(all="ignore"):
        return _bits(_REAL[opcode](*reals), kind)


def _is_exact_product(first: Reals, second: Reals) -> bool:
    """Have both so few bits that no product is rounded? Assemblers may fuse it with a sum."""
    kept = np.float32 if first.dtype == np.float64 else np.float16
    with np.errstate(all="ignore"):
        are_short = [(one.astype(kept) == one).all() for one in (first, second)]
    return bool(all(are_short))


def _converted_real(modifiers: Sequence[str], value: Numbers) -> Numbers:
    """`cvt.rn.f32.u32` and `cvt.rzi.u32.f32`, of numbers that both types hold."""
    rounding, to, kind = modifiers[0], modifiers[-2], modifiers[-1]
    if {*modifiers[1:-2]} - {"ftz"}:
        raise ValueError(f"'cvt.{'.'.join(modifiers)}'")
    if rounding == "rn" and to in _REALS and kind[0] in "su":
        return _bits(read_as(value, kind).astype(_REALS[to][1]), to)
    if rounding == "rzi" and to in ("s32", "u32") and kind in _REALS:
        whole = np.trunc(_real(value, kind))
        if (whole < 0).any() or (whole >= 1 << 31).any():
            raise ValueError("a number that is too large")
        return whole.astype(np.int64)
    raise ValueError(f"'cvt.{to}.{kind}'")


def _bits(values: Reals, kind: str) -> Numbers:
    return _usual(values).view(_REALS[kind][0]).astype(np.int64)


def known_results(opcode: str, modifiers: Sequence[str], values: Sequence[Lanes]) -> Lanes | None:
    """Return the results of the threads that have numbers; None where these are not computed."""
    if not modifiers or any(value.piece >= 0 for value in values):
        return None
    if values and all(value.is_number for value in values):
        try:
            return numbers(computed(opcode, modifiers, [value.data for value in values]))
        except ValueError:
            return None
    are_known = np.ones(values[0].count if values else 0, np.bool_)
    for value in values:
        are_known &= value.kind == NUMBER
    places = np.flatnonzero(are_known)
    if not places.size:
        return None
    try:
        known = computed(opcode, modifiers, [value.data[places] for value in values])
    except ValueError:
        return None
    return numbers(known).spread(places, values[0].count)


def places_read(mode: str, threads: Numbers, by: Numbers, clamp: Numbers) -> tuple[Numbers, Flags]:
    """Return which thread each one reads by `shfl.mode`, and whether that lies in its segment."""
    lane, steps = threads % WARP, held(by, 5)
    limit, segment = held(clamp, 5), held(clamp >> np.int64(8), 5)
    least, most = lane & segment, lane & segment | limit & ~segment & 31
    place = {
        "up": lane - steps,
        "down": lane + steps,
        "bfly": lane ^ steps,
        "idx": least | steps & ~segment & 31,
    }[mode]
    inside = place >= most if mode == "up" else place <= most
    return threads - lane + np.where(inside, place, lane), inside


def _product(modifiers: Sequence[str], operands: Sequence[Numbers], bits: int) -> Numbers:
    kind = modifiers[-1]
    if "hi" in modifiers:
        if bits > 32:
            raise ValueError("'mul.hi'")
        product = read_as(operands[0], kind) * read_as(operands[1], kind) >> np.int64(bits)
        return held(product + operands[2] if len(operands) > 2 else product, bits)
    first, second = operands[:2]
    if "wide" in modifiers:
        first, second, bits = read_as(first, kind), read_as(second, kind), 2 * bits
    product = first * second
    return held(product + operands[2] if len(operands) > 2 else product, bits)


def _converted(to: str, kind: str, value: Numbers) -> Numbers:
    bits = min(int(to[1:]), int(kind[1:]))
    narrow = held(value, bits)
    return signed(narrow, bits) if (kind if bits == int(kind[1:]) else to)[0] == "s" else narrow


def _shifted(opcode: str, kind: str, value: Numbers, by: Numbers) -> Numbers:
    bits = int(kind[1:])
    count = held(by, 32)
    inside = np.minimum(count, np.int64(min(bits, 64) - 1))
    if opcode == "shl":
        return np.where(count >= bits, np.int64(0), held(value << inside, bits))
    if kind[0] == "s":
        return held(signed(value, bits) >> inside, bits)
    return np.where(count >= bits, np.int64(0), read_as(value, f"u{bits}") >> inside)


def _divided(opcode: str, kind: str, value: Numbers, by: Numbers) -> Numbers:
    bits = int(kind[1:])
    first, second = read_as(value, kind), read_as(by, kind)
    if (second == 0).any():
        raise ValueError("a division by 0")
    # C rounds toward 0.
    quotient: Numbers = np.abs(first) // np.abs(second) * np.sign(first) * np.sign(second)
    return held(quotient if opcode == "div" else first - quotient * second, bits)


def _by_table(operands: Sequence[Numbers]) -> Numbers:
    """`lop3`: bit by bit the function whose values the last operand lists."""
    a, b, c, table = operands
    result = np.zeros_like(a)
    for row in range(8):
        bits = [one if row >> shift & 1 else ~one for one, shift in ((a, 2), (b, 1), (c, 0))]
        chosen = bits[0] & bits[1] & bits[2]
        result |= np.where(table >> np.int64(row) & 1, chosen, np.int64(0))
    return result


def _field(kind: str, value: Numbers, begin: Numbers, length: Numbers) -> Numbers:
    bits = int(kind[1:])
    if kind[0] != "u" or bits > 32 or (begin + length > bits).any():
        raise ValueError("'bfe'")
    mask: Numbers = np.left_shift(np.int64(1), length) - 1
    return held(value, bits) >> begin & mask


def _inserted(bits: int, value: Numbers, into: Numbers, begin: Numbers, length: Numbers) -> Numbers:
    if bits > 32 or (begin < 0).any() or (length < 0).any() or (begin + length > bits).any():
        raise ValueError("'bfi'")
    mask: Numbers = np.left_shift(np.int64(1), length) - 1
    return held((into & ~(mask << begin)) | ((value & mask) << begin), bits)

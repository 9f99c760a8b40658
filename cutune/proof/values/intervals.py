"""Results of operations on integers: as intervals, and where possible as polynomials.

Takes an opcode, its type and its operands. The polynomials hold where registers hold the exact
numbers: from 0 up to the largest with a sign.
"""

from __future__ import annotations

from cutune.emulator.ptx.types import TYPE_BYTES
from cutune.proof.values.terms import ANYTHING, Interval, number_range


def bits_of(kind: str) -> int:
    """Return the bits of a PTX type."""
    return 8 * TYPE_BYTES[kind]


def held_of(kind: str) -> Interval:
    """Return the numbers that an instruction of this type may read in a register."""
    return Interval(*number_range(bits_of(kind), kind[0] != "u"))


def whole_of(kind: str) -> Interval:
    """Return the numbers in a register of this type, read with a sign or without."""
    least, _ = number_range(bits_of(kind), True)
    return Interval(least, held_of(kind).high)


def within(interval: Interval, whole: Interval) -> Interval:
    """Return the interval of a register that holds such a number; `whole` where that may wrap."""
    assert whole.low is not None and whole.high is not None
    return interval if interval.within(whole.low, whole.high) else whole


def shifted_right(interval: Interval, by: int) -> Interval:
    """Return the interval after an arithmetic shift."""
    low, high = interval
    assert low is not None and high is not None
    return Interval(low >> by, high >> by)


def reduced(opcode: str, interval: Interval, by: int) -> Interval:
    """Return the interval after `shr`, `div` or `rem`; anything where it may be negative."""
    low, high = interval
    assert low is not None and high is not None
    if low < 0:
        return ANYTHING
    if opcode == "shr":
        return shifted_right(interval, by)
    return Interval(low // by, high // by) if opcode == "div" else Interval(0, by - 1)


def upper_half(interval: Interval, by: int, kind: str) -> Interval:
    """Return the interval after `mul.hi`; the whole type where one of the two is negative."""
    bits, whole = bits_of(kind), whole_of(kind)
    factor = by % (1 << bits) if kind[0] == "u" else by
    if interval.low is None or interval.high is None or interval.low < 0 or factor < 0:
        return whole
    return within(Interval(interval.low * factor >> bits, interval.high * factor >> bits), whole)


def hull(opcode: str, first: Interval, second: Interval) -> Interval:
    """Return the interval of `min`, of `max`, or of one of the two (`selp`)."""
    assert first.low is not None and first.high is not None
    assert second.low is not None and second.high is not None
    low = max if opcode == "max" else min
    high = min if opcode == "min" else max
    return Interval(low(first.low, second.low), high(first.high, second.high))

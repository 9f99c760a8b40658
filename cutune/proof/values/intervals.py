"""Intervals of registers: what an operation makes of the intervals of its operands."""

from __future__ import annotations

from cutune.emulator.ptx.types import TYPE_BYTES
from cutune.proof.values.terms import Interval


def bits_of(kind: str) -> int:
    """Bits of a PTX type."""
    return 8 * TYPE_BYTES[kind]


def held_of(kind: str) -> Interval:
    """All numbers that an instruction of this type reads in a register."""
    bits = bits_of(kind)
    return Interval(0, (1 << bits) - 1) if kind[0] == "u" else whole_of(kind)


def whole_of(kind: str) -> Interval:
    """All numbers that stand for what a register of this type holds, whoever reads it."""
    bits = bits_of(kind)
    return Interval(-(1 << (bits - 1)), (1 << (bits if kind[0] == "u" else bits - 1)) - 1)


def within(interval: Interval, whole: Interval) -> Interval:
    """The range of a register that holds such a number; the whole of it where that may wrap."""
    assert whole.low is not None and whole.high is not None
    return interval if interval.within(whole.low, whole.high) else whole


def shifted_right(interval: Interval, by: int) -> Interval:
    """After an arithmetic shift."""
    low, high = interval
    assert low is not None and high is not None
    return Interval(low >> by, high >> by)


def reduced(opcode: str, interval: Interval, by: int) -> Interval:
    """After `shr`, `div` or `rem` by a constant; anything where it may be negative."""
    low, high = interval
    assert low is not None and high is not None
    if low < 0:
        return Interval(None, None)
    if opcode == "shr":
        return shifted_right(interval, by)
    return Interval(low // by, high // by) if opcode == "div" else Interval(0, by - 1)


def upper_half(interval: Interval, by: int, kind: str) -> Interval:
    """After `mul.hi` by a constant; all numbers of the type where one of the two is negative."""
    bits, whole = bits_of(kind), whole_of(kind)
    factor = by % (1 << bits) if kind[0] == "u" else by
    if interval.low is None or interval.high is None or interval.low < 0 or factor < 0:
        return whole
    return within(Interval(interval.low * factor >> bits, interval.high * factor >> bits), whole)


def hull(opcode: str, first: Interval, second: Interval) -> Interval:
    """Of `min`, of `max`, or of one of the two."""
    assert first.low is not None and first.high is not None
    assert second.low is not None and second.high is not None
    if opcode == "min":
        return Interval(min(first.low, second.low), min(first.high, second.high))
    if opcode == "max":
        return Interval(max(first.low, second.low), max(first.high, second.high))
    return Interval(min(first.low, second.low), max(first.high, second.high))

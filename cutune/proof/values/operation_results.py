"""Results of operations on integers: as intervals, and where possible as polynomials.

Takes an opcode, its type and its operands. The polynomials hold where registers hold the exact
numbers: from 0 up to the largest with a sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cutune.proof.values.polynomial import IntegerPolynomial, Monomial
from cutune.proof.values.terms import (
    ANYTHING,
    AtomOperation,
    Atoms,
    Interval,
    modulo,
    number_range,
    wrapped,
)
from cutune.ptx.types import TYPE_BYTES


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


def divided(
    opcode: str, kind: str, values: Sequence[IntegerPolynomial], atoms: Atoms
) -> IntegerPolynomial | None:
    """Return quotient or remainder by a constant of `step * quotient + rest`, 0 <= rest < step."""
    bits, by = bits_of(kind), values[1].literal
    if by is None:
        return None
    number = wrapped(by, bits, kind[0] == "s")
    step, value = _step(opcode, number, bits), modulo(values[0], bits)
    if step is None or not _is_exact(value, kind, atoms):
        return None
    quotient, rest = _parts(value, step)
    if not atoms.interval(rest).within(0, step - 1):
        return None
    if opcode == "and" and any(c % _lowest(number) for _, c in rest.terms):
        # Bits of the step and above are not in the mask.
        properties = replace(atoms.of(rest), interval=Interval(0, number))
        masked = AtomOperation(f"and.{kind}", (rest, IntegerPolynomial.constant(number)))
        return atoms.computed(masked, properties) if rest != value else None
    return quotient if opcode in ("shr", "div") else rest


def chosen(
    opcode: str, kind: str, values: Sequence[IntegerPolynomial], atoms: Atoms
) -> IntegerPolynomial | None:
    """Return the operand of `min` or `max` that is never beyond the other one."""
    first, second = (modulo(value, bits_of(kind)) for value in values)
    if not (_is_exact(first, kind, atoms) and _is_exact(second, kind, atoms)):
        return None
    for one, other in ((first, second), (second, first)):
        less, more = (one, other) if opcode == "min" else (other, one)
        high, low = atoms.interval(less).high, atoms.interval(more).low
        if high is not None and low is not None and high <= low:
            return one
    return None


def _is_exact(value: IntegerPolynomial, kind: str, atoms: Atoms) -> bool:
    return atoms.interval(value).within(0, (1 << (bits_of(kind) - 1)) - 1)


def _step(opcode: str, number: int, bits: int) -> int | None:
    """The number that an operation divides by; None where it does not divide."""
    match opcode:
        case "shr":
            return 1 << number if 0 <= number < bits else None
        case "and":
            # A mask of neighbouring bits: those below are 0 where the number is a multiple.
            whole = number + _lowest(number)
            return whole if number > 0 and whole & (whole - 1) == 0 else None
    return number if number > 0 else None


def _lowest(mask: int) -> int:
    return mask & -mask


def _parts(value: IntegerPolynomial, step: int) -> tuple[IntegerPolynomial, IntegerPolynomial]:
    """Quotient and rest, where each term goes into one of them; a number into both."""
    quotient: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in value.terms:
        if monomial and coefficient % step:
            rest[monomial] = coefficient
        else:
            quotient[monomial], left = divmod(coefficient, step)
            if left:
                rest[monomial] = left
    return IntegerPolynomial.of(quotient), IntegerPolynomial.of(rest)

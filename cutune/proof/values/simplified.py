"""Operations on integers whose result is a polynomial: takes one and its operands, gives that.

Registers hold the exact number here: from 0 up to the largest with a sign.
"""

from __future__ import annotations

from collections.abc import Sequence

from cutune.frontend.values.polynomial import IntegerPolynomial, Monomial
from cutune.proof.values.intervals import bits_of
from cutune.proof.values.terms import Atoms, modulo, wrapped


def divided(
    opcode: str, kind: str, values: Sequence[IntegerPolynomial], atoms: Atoms
) -> IntegerPolynomial | None:
    """Return quotient or remainder of `step * quotient + rest`, with a rest from 0 up to the step.

    By `shr`, `div`, `rem` or `and` with a constant.
    """
    bits, by = bits_of(kind), values[1].literal
    if by is None:
        return None
    number = wrapped(by, bits, kind[0] == "s")
    step = _step(opcode, number, bits)
    value = modulo(values[0], bits)
    if step is None or not _is_exact(value, kind, atoms):
        return None
    quotient, rest = _parts(value, step)
    if not atoms.interval(rest).within(0, step - 1):
        return None
    if opcode == "and" and any(coefficient % _lowest(number) for _, coefficient in rest.terms):
        return None
    return quotient if opcode in ("shr", "div") else rest


def chosen(
    opcode: str, kind: str, values: Sequence[IntegerPolynomial], atoms: Atoms
) -> IntegerPolynomial | None:
    """Return the operand of `min` or `max` that is never beyond the other one."""
    first, second = (modulo(value, bits_of(kind)) for value in values)
    if not (_is_exact(first, kind, atoms) and _is_exact(second, kind, atoms)):
        return None
    small, large = (first, second) if opcode == "min" else (second, first)
    for less, more, is_first in ((small, large, True), (large, small, False)):
        high, low = atoms.interval(less).high, atoms.interval(more).low
        if high is not None and low is not None and high <= low:
            return first if is_first else second
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
    """The lowest bit of a mask."""
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

"""Quotients and remainders of ids: takes a value, gives it as a sum of digits, each with a step.

A thread that finds its place by `/` and `%` takes its id x apart into digits of mixed radix. All
quotients are written as Q(D) = floor(x / D), Q(1) being x. For whole x >= 0 and D, E, G >= 1:

    Q(D) / E = Q(D * E)            Q(D) % E = Q(D) - E * Q(D * E)
    (Q(D) % (E * G)) / E = Q(D * E) - G * Q(D * E * G)

So whatever way the digits were computed, a place is a polynomial in these quotients. Where each of
their divisors divides the next one, 1 = D0 | D1 | … | Dm, with Rk = D(k+1) / Dk, it is a sum of
sk * dk with digits dk = Q(Dk) % Rk and dm = Q(Dm); the digits together tell which x it is.

A launch is asked whether the divisors of the program are from 1 to 2^30: then registers hold them,
and each quotient and remainder, whether they are read with a sign or without.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cutune.proof.values.launch_conditions import SizeConditions
from cutune.proof.values.polynomial import (
    IDENTITY,
    ONE,
    OPAQUE,
    ZERO,
    Atom,
    IntegerPolynomial,
    exactly,
)
from cutune.proof.values.terms import MOST_THREADS, Alternatives, Atoms, is_of_parameters, modulo

_MOST = IntegerPolynomial.constant(MOST_THREADS)
_BITS = {"s32": 32, "u32": 32, "b32": 32, "s64": 64, "u64": 64, "b64": 64}
#: Quotients of quotients that are followed.
_MOST_DEPTH = 24


@dataclass(frozen=True)
class Quotient:
    """floor(id / divisor) in a dimension."""

    dimension: str
    divisor: IntegerPolynomial


@dataclass(frozen=True)
class Digit:
    """A part of an id, and how far it moves a place.

    `divisor` divides the id. The digit is less than `radix`; None for the uppermost digit of an id,
    which only the id's bound limits.
    """

    dimension: str
    divisor: IntegerPolynomial
    step: IntegerPolynomial
    radix: IntegerPolynomial | None


@dataclass(frozen=True)
class InDigits:
    """A value as digits and a rest without ids, and the conditions under which it is that."""

    digits: tuple[Digit, ...]
    rest: IntegerPolynomial
    conditions: SizeConditions


@dataclass
class DigitReader:
    """Reads one value.

    `elements`: by dimension, what is added to the id in a loop that strides over elements, which
    are taken apart in place of the id then. `unsigned`: parts of the value that are right only
    where they are below 2^32.
    """

    atoms: Atoms
    alternatives: Mapping[str, Alternatives]
    elements: Mapping[str, IntegerPolynomial] = field(default_factory=dict)
    unsigned: list[IntegerPolynomial] = field(default_factory=list)
    _quotients: dict[Quotient, Atom] = field(default_factory=dict)
    _named: dict[Atom, Quotient] = field(default_factory=dict)
    _read: dict[Atom, IntegerPolynomial] = field(default_factory=dict)
    _divisors: set[IntegerPolynomial] = field(default_factory=set)
    _depth: int = 0

    def read(self, value: IntegerPolynomial) -> IntegerPolynomial:
        """Return a value as a polynomial in quotients of ids; raises TooLarge."""
        return value.substituted(self._atom)

    def in_digits(self, value: IntegerPolynomial) -> InDigits | None:
        """Return the digits of a value that was read; None where it is not a sum of them."""
        factors: defaultdict[str, defaultdict[IntegerPolynomial, IntegerPolynomial]]
        factors, rest = defaultdict(lambda: defaultdict(lambda: ZERO)), ZERO
        for monomial, coefficient in value.terms:
            quotients = [q for atom in monomial if (q := self._quotient(atom)) is not None]
            others = tuple(atom for atom in monomial if self._quotient(atom) is None)
            if len(quotients) > 1:
                return None
            for quotient in quotients:
                factors[quotient.dimension][quotient.divisor] += IntegerPolynomial.of(
                    {others: coefficient}
                )
            rest += ZERO if quotients else IntegerPolynomial.of({monomial: coefficient})
        digits: list[Digit] = []
        for dimension in sorted(factors):
            if (parts := _digits_of(dimension, factors[dimension])) is None:
                return None
            digits += parts
        # For all divisors: some may have vanished only because these conditions hold.
        values = {end for one in self._divisors for end in (one - 1, _MOST - one)}
        conditions = SizeConditions(frozenset(values))
        return InDigits(tuple(digits), rest, conditions)

    def _quotient(self, atom: Atom) -> Quotient | None:
        if atom.kind == IDENTITY and atom.name not in self.elements:
            return Quotient(atom.name, ONE)
        return self._named.get(atom)

    def _as_atom(self, dimension: str, divisor: IntegerPolynomial) -> IntegerPolynomial:
        if (divisor.literal or 0) > MOST_THREADS:
            return ZERO
        quotient = Quotient(dimension, divisor)
        unused = Atom(OPAQUE, f"quotient {len(self._quotients)}")
        atom = self._quotients.setdefault(quotient, unused)
        self._named[atom] = quotient
        return IntegerPolynomial.atom(*atom)

    def _part(self, value: IntegerPolynomial) -> tuple[Quotient, IntegerPolynomial | None] | None:
        """The quotient of Q(D), or of Q(D) % E, and E. Both are from 0 to 2^30."""
        quotients = {atom: q for atom in value.atoms if (q := self._quotient(atom)) is not None}
        for atom, quotient in quotients.items():
            rest = value - IntegerPolynomial.of({(atom,): 1})
            if rest == ZERO:
                return quotient, None
            for other, larger in quotients.items():
                radix = exactly(larger.divisor, quotient.divisor)
                if larger.dimension != quotient.dimension or other == atom or radix is None:
                    continue
                if rest == -radix * IntegerPolynomial.of({(other,): 1}):
                    return quotient, radix
        return None

    def _atom(self, atom: Atom) -> IntegerPolynomial:
        value = self._read.get(atom)
        if value is None:
            value = IntegerPolynomial.of({(atom,): 1})
            if atom.kind == IDENTITY and atom.name in self.elements:
                value = self._as_atom(atom.name, ONE) - self.elements[atom.name]
            elif atom.kind == OPAQUE and self._depth < _MOST_DEPTH:
                self._depth += 1
                value = self._computed(atom) or value
                self._depth -= 1
            self._read[atom] = value
        return value

    def _computed(self, atom: Atom) -> IntegerPolynomial | None:
        operation = self.atoms.operation(atom)
        if operation is None:
            alternatives = self.alternatives.get(atom.name)
            ways = alternatives.values if alternatives is not None else ()
            # Where long divisions look for short operands, all ways lead to the same value.
            values = {self.read(value) for _, value in ways}
            return values.pop() if len(values) == 1 else None
        operands = operation.numbers
        if operation.name in ("s32", "u32"):
            value = self._held(operands[0], 32)
            # Numbers with a sign do not overflow; others may wrap around in any program.
            if operation.name == "u32" and self._part(value) is None:
                self.unsigned.append(value)
            return value
        name, _, kind = operation.name.rpartition(".")
        if kind not in _BITS or len(operands) != len(operation.operands) or len(operands) < 2:
            return None
        if name == "shr":
            return self._shifted(operands[0], operands[1].literal, _BITS[kind])
        value = self._held(operands[0], _BITS[kind])
        match name:
            case "div":
                return self._divided(value, operands[1])
            case "rem":
                quotient = self._divided(value, operands[1])
                return None if quotient is None else value - quotient * operands[1]
            case "mul.hi":
                return self._scaled(operands, kind, _BITS[kind], ZERO)
            case "or":
                return self._joined(value, self._held(operands[1], _BITS[kind]))
            case "and":
                return self._masked(value, operands[1].literal)
            case "bfe" if kind[0] == "u":
                return self._field(value, *(one.literal for one in operands[1:]))
        return None

    def _held(self, value: IntegerPolynomial, bits: int) -> IntegerPolynomial:
        return modulo(self.read(value), bits)

    def _divided(self, value: IntegerPolynomial, by: IntegerPolynomial) -> IntegerPolynomial | None:
        if value == ZERO or by == ONE:
            return value
        is_size = by.literal is None and is_of_parameters(by)
        if not (is_size or (by.literal or 0) > 1):
            return None
        part = self._part(value)
        if part is None:
            return self._without_factor(value, by)
        quotient, radix = part
        spare = (by - radix).literal if radix is not None else None
        if (by.literal or 0) > MOST_THREADS or (spare is not None and spare >= 0):
            return ZERO
        digits = exactly(radix, by) if radix is not None else ONE
        if digits is None:
            return None
        if by.literal is None:
            self._divisors.add(by)
        value = self._as_atom(quotient.dimension, quotient.divisor * by)
        if radix is None:
            return value
        return value - digits * self._as_atom(quotient.dimension, quotient.divisor * radix)

    def _without_factor(
        self, value: IntegerPolynomial, by: IntegerPolynomial
    ) -> IntegerPolynomial | None:
        """`(x - x % by) / by`: a multiple of a quotient that is not more than x."""
        whole = exactly(value, by)
        part = self._part(whole) if whole is not None else None
        if part is None or exactly(part[0].divisor, by) is None:
            return None
        if by.literal is None:
            self._divisors.add(by)
        return whole

    def _shifted(
        self, operand: IntegerPolynomial, by: int | None, bits: int
    ) -> IntegerPolynomial | None:
        if by is None or not 0 <= by < bits:
            return None
        by_multiplication = self._of_upper_half(operand, by)
        if by_multiplication is not None:
            return by_multiplication
        value = self._held(operand, bits)
        factor = value.terms[0][1] if len(value.terms) == 1 else 1
        # Small enough that the register holds the multiple, with a sign or without.
        if factor > 1 and factor * MOST_THREADS < 1 << (bits - 1):
            unit = IntegerPolynomial.of({value.terms[0][0]: 1})
            return self._quotient_of(unit, factor, by)
        return self._divided(value, IntegerPolynomial.constant(1 << by))

    def _of_upper_half(self, operand: IntegerPolynomial, by: int) -> IntegerPolynomial | None:
        """`mul.hi(x, m) >> s` and `(mul.hi(x, m) + x) >> s`, as compilers divide by constants."""
        for atom in sorted(set(operand.atoms)):
            operation = self.atoms.operation(atom)
            if operation is None or not operation.name.startswith("mul.hi."):
                continue
            kind = operation.name.removeprefix("mul.hi.")
            if kind not in _BITS:
                return None
            rest = operand - IntegerPolynomial.of({(atom,): 1})
            return self._scaled(operation.numbers, kind, _BITS[kind] + by, rest)
        return None

    def _scaled(
        self, operands: Sequence[IntegerPolynomial], kind: str, by: int, rest: IntegerPolynomial
    ) -> IntegerPolynomial | None:
        """floor((x * m / 2^bits + rest) / 2^(by - bits)), where the rest is 0 or x."""
        bits, factor = _BITS[kind], operands[1].literal
        value, rest = self._held(operands[0], bits), self._held(rest, bits)
        if factor is None or self._part(value) is None:
            return None
        factor = factor % (1 << bits) if kind[0] == "u" else factor
        if rest == value:
            factor += 1 << bits
        elif rest != ZERO:
            return None
        # The sum of both halves has to fit into the register, too.
        fits = factor > 0 and factor * MOST_THREADS < 1 << (2 * bits - 1)
        return self._quotient_of(value, factor, by) if fits else None

    def _quotient_of(
        self, value: IntegerPolynomial, factor: int, by: int
    ) -> IntegerPolynomial | None:
        """floor(value * factor / 2^by) as a quotient of the value, which is from 0 to 2^30.

        With divisor = ceil(2^by / factor) and spare = factor * divisor - 2^by it is
        floor(value / divisor + value * spare / (divisor * 2^by)): where value * spare < 2^by, less
        than 1 / divisor is added, which leads to no further whole number.
        """
        divisor = -(-(1 << by) // factor)
        if (factor * divisor - (1 << by)) * MOST_THREADS >= 1 << by:
            return None
        return self._divided(value, IntegerPolynomial.constant(divisor))

    def _masked(self, value: IntegerPolynomial, mask: int | None) -> IntegerPolynomial | None:
        """`x & mask` for a mask of adjacent bits, or of all bits from one on."""
        step = 1
        if mask is not None and mask > 0:
            # `(x << s) & mask`: bits that are lost at the upper end are not in the mask.
            step = min((c & -c for _, c in value.terms), default=1)
            value, mask = _over(value, step), mask // step
        if not mask:
            return None
        first = (mask & -mask).bit_length() - 1
        length = (mask >> first).bit_length() if mask > 0 else None
        is_adjacent = mask >> first == (-1 if length is None else (1 << length) - 1)
        if not is_adjacent or self._part(value) is None:
            return None
        bits = self._field_at(value, first, length)
        return None if bits is None else bits * step

    def _joined(
        self, first: IntegerPolynomial, second: IntegerPolynomial
    ) -> IntegerPolynomial | None:
        """`x | y`, where no bit can be in both."""
        bits = [self._bits_of(one) for one in (first, second)]
        if bits[0] is None or bits[1] is None or bits[0] & bits[1]:
            return None
        return first + second

    def _bits_of(self, value: IntegerPolynomial) -> int | None:
        """The bits that may be in a value; a negative number stands for all from one on.

        Known where it is a sum of digits that are some bits of an id, and have places of their own.
        """
        parts = self.in_digits(value)
        if parts is None or parts.rest != ZERO:
            return None
        result = 0
        for digit in parts.digits:
            step, radix = digit.step.literal, digit.radix.literal if digit.radix else 0
            if step is None or radix is None or step < 0 or not (_is_bit(step) and _is_bit(radix)):
                return None
            bits = step * (radix - 1)
            if bits & result:
                return None
            result |= bits
        return result

    def _field(
        self, value: IntegerPolynomial, first: int | None, length: int | None
    ) -> IntegerPolynomial | None:
        """`bfe`, read without a sign: so many bits of a number from one on."""
        if first is None or length is None or not 0 <= first < 31 or not 0 < length < 31:
            return None
        bits = self._field_at(value, first, length)
        return _over(bits, 1 << first) if bits is not None else None

    def _field_at(
        self, value: IntegerPolynomial, first: int, length: int | None
    ) -> IntegerPolynomial | None:
        above = self._times_bits(value, first)
        if above is None or length is None:
            return above
        beyond = self._times_bits(value, first + length)
        return None if beyond is None else above - beyond

    def _times_bits(self, value: IntegerPolynomial, bits: int) -> IntegerPolynomial | None:
        whole = self._divided(value, IntegerPolynomial.constant(1 << bits))
        return None if whole is None else whole * (1 << bits)


def _digits_of(
    dimension: str, factors: Mapping[IntegerPolynomial, IntegerPolynomial]
) -> list[Digit] | None:
    chain = [ONE]
    waiting = [divisor for divisor in factors if divisor != ONE]
    while waiting:
        later = [d for d in waiting if all(exactly(other, d) is not None for other in waiting)]
        if len(later) != 1 or exactly(later[0], chain[-1]) is None:
            return None
        chain.append(later[0])
        waiting.remove(later[0])
    digits = []
    for index, divisor in enumerate(chain):
        step = ZERO
        for lower in chain[: index + 1]:
            if (times := exactly(divisor, lower)) is None:
                return None
            step += factors.get(lower, ZERO) * times
        radix = exactly(chain[index + 1], divisor) if index + 1 < len(chain) else None
        digits.append(Digit(dimension, divisor, step, radix))
    return digits


def _is_bit(value: int) -> bool:
    return value & (value - 1) == 0


def _over(value: IntegerPolynomial, step: int) -> IntegerPolynomial:
    return IntegerPolynomial.of({m: c // step for m, c in value.terms})

"""Expressions that are not negative, what bounds an atom, and what has to be asked for it."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from cutune.frontend.values.polynomial import PARAMETER, Atom, IntegerPolynomial
from cutune.proof.values.terms import Interval

#: Larger numbers do not come from sizes: asking would be in vain.
_MOST_ASKED = 1 << 20


@dataclass(frozen=True)
class Asked:
    """What a launch has to be asked: expressions of parameters that are not negative.

    `fitting`: parameters that must fit into 31 bits.
    """

    not_negative: frozenset[IntegerPolynomial] = frozenset()
    fitting: frozenset[Atom] = frozenset()

    def joined(self, other: Asked) -> Asked:
        """Both."""
        return Asked(self.not_negative | other.not_negative, self.fitting | other.fitting)


NOTHING_ASKED = Asked()


@dataclass(frozen=True)
class Fact:
    """`value` is not negative, provided that parameters fit."""

    value: IntegerPolynomial
    fitting: frozenset[Atom]


@dataclass(frozen=True)
class Bound:
    """`factor * atom` is at most, or at least, a value."""

    factor: int
    value: IntegerPolynomial
    asked: Asked = NOTHING_ASKED


Facts = tuple[Fact, ...]


def all_numbers(bits: int, signed: bool) -> Interval:
    """All numbers of so many bits."""
    half = 1 << (bits - 1)
    return Interval(-half, half - 1) if signed else Interval(0, 2 * half - 1)


def is_size(atom: Atom) -> bool:
    """A parameter of which a launch may ask how large it is."""
    return atom.kind == PARAMETER


def may_hold(value: IntegerPolynomial) -> bool:
    """Is it worth asking: may it be positive where sizes are large?"""
    is_small = all(abs(coefficient) <= _MOST_ASKED for _, coefficient in value.terms)
    positive = max((len(monomial) for monomial, c in value.terms if c > 0), default=0)
    negative = max((len(monomial) for monomial, c in value.terms if c < 0), default=0)
    return is_small and positive > 0 and positive >= negative


def reduced(value: IntegerPolynomial) -> IntegerPolynomial:
    """What is not negative where this is not: divided by what its terms have in common."""
    common = gcd(*(coefficient for monomial, coefficient in value.terms if monomial))
    if common <= 1:
        return value
    return IntegerPolynomial.of({m: c // common for m, c in value.terms})

"""Conditions: values of predicate registers, and comparisons that follow from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cutune.frontend.values.polynomial import IntegerPolynomial
from cutune.proof.values.terms import NOTHING, AtomProperties, Atoms

_NEGATED = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}
_NEGATED |= {"lo": "hs", "hs": "lo", "ls": "hi", "hi": "ls"}


@dataclass(frozen=True)
class Comparison:
    """`left relation right` of integers of `bits` bits; `signed` says how they are read."""

    relation: str
    bits: int
    signed: bool
    left: IntegerPolynomial
    right: IntegerPolynomial

    def negated(self) -> Comparison:
        """What holds where this does not."""
        return Comparison(_NEGATED[self.relation], self.bits, self.signed, self.left, self.right)


@dataclass(frozen=True)
class Both:
    """Two conditions at once."""

    first: Predicate
    second: Predicate


@dataclass(frozen=True)
class Not:
    """A condition that does not hold."""

    inner: Predicate


@dataclass(frozen=True)
class Unknown:
    """Any other condition.

    Attributes:
        name: tells these conditions apart.
        properties: of the values that it depends on.
    """

    name: str
    properties: AtomProperties


@dataclass(frozen=True)
class Fixed:
    """True or false."""

    holds: bool


Predicate = Comparison | Both | Not | Unknown | Fixed


def negation(predicate: Predicate) -> Predicate:
    """The opposite."""
    match predicate:
        case Comparison():
            return predicate.negated()
        case Not(inner):
            return inner
        case Fixed(holds):
            return Fixed(not holds)
    return Not(predicate)


def either(first: Predicate, second: Predicate) -> Predicate:
    """Does one of two hold?"""
    return Not(Both(negation(first), negation(second)))


def properties_of(predicate: Predicate, atoms: Atoms) -> AtomProperties:
    """Properties of the condition's truth value."""
    match predicate:
        case Comparison(left=left, right=right):
            return atoms.of(left).joined(atoms.of(right))
        case Both(first, second):
            return properties_of(first, atoms).joined(properties_of(second, atoms))
        case Not(inner):
            return properties_of(inner, atoms)
        case Unknown(properties=properties):
            return properties
    return NOTHING


def follows(predicate: Predicate, holds: bool) -> Iterator[Comparison]:
    """Comparisons that hold where the predicate does, or where it does not."""
    match predicate:
        case Comparison():
            yield predicate if holds else predicate.negated()
        case Not(inner):
            yield from follows(inner, not holds)
        case Both(first, second) if holds:
            yield from follows(first, True)
            yield from follows(second, True)

"""Predicate registers: takes conditions, gives comparisons that follow from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from cutune.core.reaching import reached
from cutune.proof.values.polynomial import IntegerPolynomial
from cutune.proof.values.terms import NOTHING, AtomProperties, Atoms

_NEGATED = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}
_NEGATED |= {"lo": "hs", "hs": "lo", "ls": "hi", "hi": "ls"}


@dataclass(frozen=True)
class Relation:
    """`left relation right` of integers of `bits` bits, read as `signed` says."""

    relation: str
    bits: int
    signed: bool
    left: IntegerPolynomial
    right: IntegerPolynomial

    def negated(self) -> Relation:
        return Relation(_NEGATED[self.relation], self.bits, self.signed, self.left, self.right)


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
    """Any other condition: a name of its own, and the properties of its operands."""

    name: str
    properties: AtomProperties


@dataclass(frozen=True)
class Fixed:
    """True or false."""

    holds: bool


Predicate = Relation | Both | Not | Unknown | Fixed
Value = IntegerPolynomial | Predicate
"""The value of a register of either kind."""


def unknown(name: str, kind: str | None, properties: AtomProperties, atoms: Atoms) -> Value:
    """Return a value of its own, for a register of this type, of which no more is known."""
    return Unknown(name, properties) if kind == "pred" else atoms.named(name, properties)


def as_predicate(value: Value) -> Predicate:
    """Return the condition that a number is not 0, or the condition itself."""
    return Fixed(bool(value.terms)) if isinstance(value, IntegerPolynomial) else value


def negation(predicate: Predicate) -> Predicate:
    """Return the opposite."""
    match predicate:
        case Relation():
            return predicate.negated()
        case Not(inner):
            return inner
        case Fixed(holds):
            return Fixed(not holds)
    return Not(predicate)


def operands_of(value: object) -> tuple[Value, ...]:
    """Return the numbers or conditions that a condition is made of."""
    match value:
        case Relation(left=first, right=second) | Both(first, second):
            return first, second
        case Not(inner):
            return (inner,)
    return ()


def all_parts_of(values: Iterable[object], atoms: Atoms) -> Iterator[object]:
    """Yield values, and all numbers and conditions that they are computed from, each once."""

    def parts_of(value: object) -> Sequence[object]:
        if not isinstance(value, IntegerPolynomial):
            return operands_of(value)
        operations = map(atoms.operation, value.atoms)
        return [part for one in operations if one is not None for part in one.operands]

    return reached(values, parts_of)


def properties_of(value: Value, atoms: Atoms) -> AtomProperties:
    """Return the properties of a number, or of a predicate's truth value."""
    match value:
        case IntegerPolynomial():
            return atoms.of(value)
        case Unknown(properties=properties):
            return properties
    return properties_of_all(operands_of(value), atoms)


def properties_of_all(values: Iterable[Value], atoms: Atoms) -> AtomProperties:
    """Return the properties of a value that depends on all of these."""
    return reduce(AtomProperties.joined, (properties_of(value, atoms) for value in values), NOTHING)


def follows(predicate: Predicate, holds: bool) -> Iterator[Relation]:
    """Yield comparisons that hold where the predicate does, or where it does not."""
    match predicate:
        case Relation():
            yield predicate if holds else predicate.negated()
        case Not(inner):
            yield from follows(inner, not holds)
        case Both(first, second) if holds:
            yield from follows(first, True)
            yield from follows(second, True)

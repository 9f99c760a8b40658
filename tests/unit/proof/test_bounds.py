"""Bounds of ids that follow from comparisons in compiled code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from cutune.proof.values.id_bounds import IdBound, bounds, common
from cutune.proof.values.polynomial import IDENTITY, OPAQUE, PARAMETER, IntegerPolynomial
from cutune.proof.values.predicates import Both, Fixed, Not, Relation, Unknown, follows, negation
from cutune.proof.values.terms import NOTHING, AtomOperation, Atoms

X, Y = (IntegerPolynomial.atom(IDENTITY, d) for d in "xy")
N, M = (IntegerPolynomial.atom(PARAMETER, name) for name in "nm")
LONG = IntegerPolynomial.atom(PARAMETER, "0:0:b64")
LOADED = IntegerPolynomial.atom(OPAQUE, "loaded")


def of(value: int) -> IntegerPolynomial:
    return IntegerPolynomial.constant(value)


def compared(
    left: IntegerPolynomial,
    relation: str,
    right: IntegerPolynomial,
    signed: bool = True,
    bits: int = 32,
) -> Relation:
    return Relation(relation, bits, signed, left, right)


def found(known: Iterable[Relation], atoms: Atoms | None = None) -> set[IdBound]:
    return {*bounds(known, "x", atoms or Atoms()).values()}


@pytest.mark.parametrize(
    ("comparison", "limit"),
    [
        (compared(X, "lt", N), N),
        (compared(X, "le", N), N + of(1)),
        (compared(N, "gt", X), N),
        (compared(N, "ge", X), N + of(1)),
        (compared(X, "eq", N), N + of(1)),
        (compared(N, "eq", X), N + of(1)),
        # The id and a small number, or a parameter.
        (compared(X + of(3), "lt", N), N - of(3)),
        (compared(X - of(3), "lt", N), N + of(3)),
        (compared(X + M, "lt", N), N - M),
        (compared(X - M, "lt", N), N + M),
        (compared(X + M + of(1), "le", N * M), N * M - M),
    ],
)
def test_an_id_is_less_than(comparison: Relation, limit: IntegerPolynomial) -> None:
    assert {replace(one, is_firm=True) for one in found([comparison])} == {IdBound(limit)}


@pytest.mark.parametrize(
    ("comparison", "is_firm"),
    [
        (compared(X, "lt", N), True),
        (compared(X, "eq", N, signed=False), True),
        (compared(X, "lt", N + of(5)), True),
        (compared(X, "lt", N, signed=False), False),
        # An id and a parameter may be too large together.
        (compared(X + M, "lt", N), False),
        # What need not fit into 32 bits with a sign, and what fits into 64.
        (compared(X, "lt", LONG), False),
        (compared(X, "lt", LONG, bits=64), True),
        (compared(X, "lt", LONG * N, bits=64), False),
        (compared(X, "lt", N + M), False),
        (compared(X, "lt", of(2) * N), False),
        (compared(X, "lt", N * M), False),
        (compared(X, "eq", N * M), False),
        (compared(X, "lt", N * M, bits=64), True),
        (compared(X, "lt", N * M * N, bits=64), False),
    ],
)
def test_limits_below_one(comparison: Relation, is_firm: bool) -> None:
    assert {one.is_firm for one in found([comparison])} == {is_firm}


@pytest.mark.parametrize(
    "comparison",
    [
        compared(X, "gt", N),
        compared(X, "ge", N),
        compared(X, "ne", N),
        # Of other threads, of data, or of what may wrap around.
        compared(Y, "lt", N),
        compared(of(64) * X, "lt", N),
        compared(of(2) * X, "lt", N + M),
        compared(-X, "lt", N),
        compared(X, "lt", Y),
        compared(X, "lt", LOADED),
        compared(X + LOADED, "lt", N),
        compared(X + N + M, "lt", N),
        compared(X + of(2) * M, "lt", N),
        compared(X + N * M, "lt", N),
        compared(X + of(1 << 40), "lt", N),
        compared(X - of(1 << 40), "lt", N),
        # Equal in 16 bits alone.
        compared(X, "eq", N, bits=16),
    ],
)
def test_what_bounds_nothing(comparison: Relation) -> None:
    assert found([comparison]) == set()


def test_unsigned_numbers_below_zero_are_large() -> None:
    def limits(left: IntegerPolynomial) -> set[IdBound]:
        return found([compared(left, "lt", N, signed=False)])

    assert limits(X) == {IdBound(N, (), False)}
    assert limits(X - of(1)) == {IdBound(N + of(1), (), False)}
    assert limits(X - of(2)) == {IdBound(N + of(2), (N,), False)}
    assert limits(X - M) == {IdBound(N + M, (N,), False)}


@pytest.mark.parametrize(
    ("name", "operands", "signed", "expected"),
    [
        ("min.s32", (N, M), True, {IdBound(N), IdBound(M)}),
        ("min.s64", (N, M), True, {IdBound(N), IdBound(M)}),
        ("min.u32", (N, M), False, {IdBound(N, (), False), IdBound(M, (), False)}),
        ("min.u32", (N, M), True, set()),
        ("min.s32", (N, M), False, set()),
        ("max.s32", (N, M), True, set()),
        ("min.s32", (N, LOADED), True, {IdBound(N)}),
        # Extended numbers are what they extend, unsigned ones unless that is below zero; those of
        # few bits are no more than it, unless it is.
        ("s32", (N,), True, {IdBound(N)}),
        ("s8", (N,), True, {IdBound(N, (), False)}),
        ("u32", (N,), True, {IdBound(N, (N,), False)}),
        ("u16", (N,), True, {IdBound(N, (N,), False)}),
        ("f32", (N,), True, set()),
    ],
)
def test_limits_that_are_computed(
    name: str, operands: tuple[IntegerPolynomial, ...], signed: bool, expected: set[IdBound]
) -> None:
    atoms = Atoms()
    limit = atoms.computed(AtomOperation(name, operands), NOTHING)
    assert found([compared(X, "lt", limit, signed)], atoms) == expected
    more = {replace(one, limit=one.limit + of(2)) for one in expected}
    assert found([compared(X, "lt", limit + of(2), signed)], atoms) == more
    for wrong in (limit + N, limit + of(1 << 40), limit + limit, limit * limit):
        assert found([compared(X, "lt", wrong, signed)], atoms) == set()


@pytest.mark.parametrize(
    ("name", "by"), [("div.s32", 4), ("div.u32", 4), ("div.s64", 4), ("shr.u32", 2), ("shr.s64", 2)]
)
def test_limits_that_are_quotients(name: str, by: int) -> None:
    """`id < n / 4` is `4 * id < n - 3`, where n / 4 is at least 1."""
    atoms = Atoms()
    limit = atoms.computed(AtomOperation(name, (N, of(by))), NOTHING)
    assert found([compared(X, "lt", limit)], atoms) == {IdBound(N - of(3), (), False, 4)}
    more = found([compared(X, "lt", limit + of(2))], atoms)
    assert more == {IdBound(N + of(5), (N,), False, 4)}
    for wrong in (of(0), of(-4), of(1 << 20), M):
        other = atoms.computed(AtomOperation(name, (N, wrong)), NOTHING)
        assert found([compared(X, "lt", other)], atoms) == set()


def test_of_equal_bounds_that_with_fewer_conditions_counts() -> None:
    atoms = Atoms()
    extended = atoms.computed(AtomOperation("u32", (N,)), NOTHING)
    both = [compared(X, "lt", extended), compared(X, "lt", N)]
    assert found(both, atoms) == found(both[::-1], atoms) == {IdBound(N)}


def test_bounds_that_hold_everywhere() -> None:
    atoms = Atoms()
    extended = atoms.computed(AtomOperation("u32", (N,)), NOTHING)
    first = [compared(X, "lt", N), compared(X, "lt", M), compared(X, "lt", N + M)]
    second = [compared(X, "lt", N + M), compared(X, "lt", extended)]
    # Those of fewer terms first.
    assert common([first, second], "x", atoms) == [
        IdBound(N, (N,), False),
        IdBound(N + M, (), False),
    ]
    assert common([first, []], "x", atoms) == []
    assert common([], "x", atoms) == []


# Conditions.


def test_the_opposite() -> None:
    less, unknown = compared(X, "lt", N), Unknown("p", NOTHING)
    opposites = {"lt": "ge", "le": "gt", "eq": "ne", "lo": "hs", "ls": "hi"}
    for relation, opposite in opposites.items():
        one, other = compared(X, relation, N), compared(X, opposite, N)
        assert (negation(one), negation(other)) == (other, one)
    assert negation(Fixed(True)) == Fixed(False)
    assert negation(unknown) == Not(unknown)
    assert negation(Not(less)) == less


def test_what_follows() -> None:
    less, equal = compared(X, "lt", N), compared(Y, "eq", M)
    both = Both(less, equal)
    assert [*follows(both, True)] == [less, equal]
    assert [*follows(both, False)] == []
    assert [*follows(Not(both), False)] == [less, equal]
    either = Not(Both(negation(less), negation(equal)))
    assert [*follows(either, False)] == [less.negated(), equal.negated()]
    assert [*follows(either, True)] == []
    assert [*follows(less, False)] == [compared(X, "ge", N)]
    assert [*follows(Fixed(True), True)] == [*follows(Unknown("p", NOTHING), True)] == []

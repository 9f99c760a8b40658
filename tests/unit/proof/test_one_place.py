"""Where accesses lead: do two places overlap, and are they the place of one thread?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from cutune.proof.memory.access_places import (
    LARGEST_UNSIGNED,
    AccessPlace,
    decisive_places,
    exact_factors,
    is_multiple,
    leads_back,
    never_overlap,
    quotient,
    size_of,
    steps_of,
    wrap_together,
)
from cutune.proof.memory.accesses import MemoryAccess
from cutune.proof.values.polynomial import IDENTITY, PARAMETER, ZERO, IntegerPolynomial
from cutune.proof.values.predicates import Relation
from cutune.proof.values.terms import NOTHING
from cutune.ptx.types import Instruction

STORE = Instruction("st", ("global", "f32"), ("[%rd1]", "%f1"), "", False, 1, 0)
X, Y = (IntegerPolynomial.atom(IDENTITY, d) for d in "xy")
N, M = (IntegerPolynomial.atom(PARAMETER, name) for name in "nm")


def of(value: int) -> IntegerPolynomial:
    return IntegerPolynomial.constant(value)


def place(
    offset: IntegerPolynomial,
    bytes: int = 4,
    known: Iterable[Relation] = (),
    unsigned: tuple[IntegerPolynomial, ...] = (),
) -> AccessPlace:
    access = MemoryAccess("store", STORE, 0, frozenset(known), NOTHING, None, bytes)
    return AccessPlace(access, None, offset, unsigned)


def is_zero(value: IntegerPolynomial, bits: int = 32, relation: str = "eq") -> Relation:
    return Relation(relation, bits, True, value, ZERO)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        # Members of structures of 8 bytes, of which one is as long as two.
        (place(of(8) * X), place(of(8) * X + of(4)), True),
        (place(of(8) * X + of(4)), place(of(8) * X), True),
        (place(of(8) * X), place(of(8) * Y + of(4)), True),
        (place(of(8) * X), place(of(8) * X), False),
        (place(of(8) * X + of(2)), place(of(8) * X + of(2)), False),
        (place(of(12) * X + of(2)), place(of(12) * X + of(8)), True),
        (place(of(8) * X, 8), place(of(8) * X + of(4)), False),
        (place(of(8) * X), place(of(8) * X + of(4), 8), False),
        (place(of(8) * X), place(of(8) * X + of(6)), False),
        (place(of(8) * X), place(of(8) * X + of(2), 4), False),
        # They move in steps that both have in common.
        (place(of(8) * X), place(of(12) * N + of(4)), False),
        (place(of(16) * X), place(of(8) * N * Y + of(4)), True),
        (place(of(8) * X), place(of(8) * X + of(20)), True),
        (place(of(8) * X), place(of(8) * X - of(4)), True),
        # They do not move.
        (place(of(0)), place(of(4)), True),
        (place(of(4)), place(of(0)), True),
        (place(of(0)), place(of(3)), False),
        (place(of(3)), place(of(0)), False),
        (place(of(0), 8), place(of(4)), False),
        (place(of(5)), place(of(5)), False),
    ],
)
def test_which_places_never_overlap(
    first: AccessPlace, second: AccessPlace, expected: bool
) -> None:
    assert never_overlap(first, second) is expected


def test_which_places_are_one() -> None:
    anywhere, first = place(of(4) * X), place(ZERO, known=[is_zero(X)])
    assert decisive_places(anywhere, anywhere) == [anywhere, anywhere]
    # The thread whose id is 0 stays at its own place.
    assert decisive_places(anywhere, first) == [anywhere]
    assert decisive_places(first, anywhere) == [anywhere]
    assert decisive_places(anywhere, place(ZERO)) == []
    assert decisive_places(anywhere, place(of(8), known=[is_zero(X)])) == []
    assert decisive_places(anywhere, place(of(8), known=[is_zero(X - of(2))])) == [anywhere]
    assert decisive_places(anywhere, place(of(8), known=[is_zero(of(2) - X)])) == [anywhere]


@pytest.mark.parametrize(
    "known",
    [is_zero(X, 16), is_zero(X, relation="le"), is_zero(of(2) * X), is_zero(X + Y), is_zero(N)],
)
def test_what_does_not_tell_an_id(known: Relation) -> None:
    assert decisive_places(place(of(4) * X), place(ZERO, known=[known])) == []


def test_unsigned_indices_wrap_around_together() -> None:
    """By 2^32: not where the places are a parameter apart, or one of them has no such index."""

    def wraps(first: IntegerPolynomial, second: IntegerPolynomial) -> bool:
        return wrap_together(place(first, unsigned=(first,)), place(second, unsigned=(second,)))

    assert wrap_together(place(X), place(X + N))
    assert wraps(X, X + of(3))
    assert wraps(X + N, X + N + of(3))
    assert wraps(X + N, Y + N)
    assert not wraps(X, X + N)
    assert not wraps(X + N, X + M)
    assert not wraps(X, X + of(1 << 30))
    assert wraps(X, X + of((1 << 30) - 1))
    assert not wrap_together(place(X + N, unsigned=(X + N,)), place(X + N))
    assert wrap_together(place(X, unsigned=(X,)), place(X))


def test_by_what_ids_are_multiplied() -> None:
    offset = of(4) * X + N * Y + of(8) * Y + M
    assert steps_of(place(offset)) == {"x": of(4), "y": N + of(8)}
    assert steps_of(place(M)) == {}
    assert steps_of(place(X * Y)) is None


def test_what_lies_before_its_base() -> None:
    assert leads_back(place(-X - of(4)))
    assert not leads_back(place(X - of(4)))
    assert not leads_back(place(ZERO))


def test_steps_by_size() -> None:
    mixed = [N * M, of(-8), of(-2) * N, of(4), N]
    assert sorted(mixed, key=size_of) == [of(4), of(-8), N, of(-2) * N, N * M]


@pytest.mark.parametrize(
    ("value", "times"),
    [(ZERO, 0), (of(6) * N, 3), (-of(2) * N, -1), (of(3) * N, None), (N * M, None), (N + M, None)],
)
def test_how_often_a_width_fits(value: IntegerPolynomial, times: int | None) -> None:
    assert quotient(value, of(2) * N) == times


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ZERO, True),
        (of(4) * N * M + of(2) * N, True),
        (of(3) * N, False),
        (of(2) * M, False),
        (of(2) * N + of(2), False),
    ],
)
def test_multiples_of_a_width(value: IntegerPolynomial, expected: bool) -> None:
    assert is_multiple(of(2) * N, value) is expected


def test_a_multiple_has_each_factor_as_often() -> None:
    assert is_multiple(N * N, N * N * M)
    assert not is_multiple(N * N, N * M)


@pytest.mark.parametrize(
    ("factor", "asked"),
    [
        # A parameter of 32 bits that is not negative fits.
        (N, {N}),
        (of(8) * N, {of(8) * N, LARGEST_UNSIGNED - of(8) * N}),
        (N * M, {N * M, LARGEST_UNSIGNED - N * M}),
        (X, set()),
        (of(8), set()),
    ],
)
def test_what_keeps_unsigned_factors_exact(
    factor: IntegerPolynomial, asked: set[IntegerPolynomial]
) -> None:
    found = exact_factors(replace(place(X), factors=(factor,)))
    assert found.not_negative == asked

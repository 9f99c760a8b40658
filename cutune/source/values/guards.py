"""Guards: upper bounds of global ids. Takes comparisons as polynomials, gives bounds.

A `GuardBound` says `id.d < g` with g a polynomial over kernel parameters. Bounds use only values
that never change (ids, parameters), so a bound that holds once holds from then on.

Integers are read as exact. Where they wrap around, the compiled code says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from cutune.source.program import DIMENSIONS
from cutune.source.values.polynomial import (
    IDENTITY,
    ONE,
    PARAMETER,
    QUOTIENT,
    STRIDE,
    ZERO,
    Atom,
    IntegerPolynomial,
    to_c,
)

#: Kinds of atoms whose values are known at the launch.
KNOWN = frozenset({PARAMETER, QUOTIENT})
_NEVER_NEGATIVE = frozenset({IDENTITY, STRIDE})


class GuardBound(NamedTuple):
    """id.dimension < limit."""

    dimension: str
    limit: IntegerPolynomial


GuardBounds = frozenset[GuardBound]
NO_BOUNDS: GuardBounds = frozenset()


class ThreadRow(NamedTuple):
    """The row of a thread: its id divided by the width, a polynomial over parameters."""

    dimension: str
    width: IntegerPolynomial


class Range(NamedTuple):
    """Limits of a variable that only grows, or only shrinks; or it is a row."""

    lower: IntegerPolynomial | None = None
    upper: IntegerPolynomial | None = None
    row: ThreadRow | None = None


RangeOf = Callable[[Atom], Range]


def bounds(
    smaller: IntegerPolynomial, larger: IntegerPolynomial, strict: bool, range_of: RangeOf
) -> GuardBounds:
    """The bounds of ids that follow from `smaller < larger` (or `<=`)."""
    return frozenset(_bounds(smaller - larger, strict, range_of))


def compared(
    operator: str, a: IntegerPolynomial, b: IntegerPolynomial, range_of: RangeOf
) -> tuple[GuardBounds, GuardBounds]:
    """The bounds where a comparison is true, and where it is false."""
    below = bounds(a, b, True, range_of)
    at_most = bounds(a, b, False, range_of)
    above = bounds(b, a, True, range_of)
    at_least = bounds(b, a, False, range_of)
    equal = at_most | at_least
    return {
        "<": (below, at_least),
        "<=": (at_most, above),
        ">": (above, at_most),
        ">=": (at_least, below),
        "==": (equal, NO_BOUNDS),
        "!=": (NO_BOUNDS, equal),
    }[operator]


def _bounds(difference: IntegerPolynomial, strict: bool, range_of: RangeOf) -> Iterable[GuardBound]:
    """Bounds from `difference < 0`, with the variables replaced by their lower limits."""
    yield from _rows(difference, strict, range_of)
    least = _least(difference, range_of)
    if least is None:
        return
    for dimension in DIMENSIONS:
        identity = (Atom(IDENTITY, dimension),)
        factor = dict(least.terms).get(identity, 0)
        if factor <= 0:
            continue
        rest = {m: c for m, c in least.terms if m != identity}
        # Other ids and strides only make the smaller side larger.
        rest = {m: c for m, c in rest.items() if not (c > 0 and _never_negative(m))}
        remainder = IntegerPolynomial.of(rest)
        if remainder.kinds() <= KNOWN:
            yield GuardBound(dimension, _limit(-remainder, factor, strict))


def _rows(difference: IntegerPolynomial, strict: bool, range_of: RangeOf) -> Iterable[GuardBound]:
    """From `row + rest < 0`: there are fewer rows than `-rest`, each of so many ids."""
    for monomial, coefficient in difference.terms:
        row = range_of(monomial[0]).row if len(monomial) == 1 and coefficient == 1 else None
        if row is None:
            continue
        rest = _least(difference - IntegerPolynomial.of({monomial: 1}), range_of)
        if rest is not None and rest.kinds() <= KNOWN:
            yield GuardBound(row.dimension, _area(row.width, -rest if strict else -rest + ONE))


def _area(width: IntegerPolynomial, rows: IntegerPolynomial) -> IntegerPolynomial:
    """Ids in so many rows, as one symbol; 0, which bounds nothing, unless the width is positive."""
    if width.literal is not None:
        return width * rows
    product = f"{_factor(width)} * {_factor(rows)}"
    return IntegerPolynomial.atom(QUOTIENT, f"(0 < {to_c(width)} ? {product} : 0)")


def _limit(right: IntegerPolynomial, factor: int, strict: bool) -> IntegerPolynomial:
    """The least g with `factor * id < right` (or `<=`) → id < g, for positive g."""
    if factor == 1:
        return right if strict else right + ONE
    dividend = right + IntegerPolynomial.constant(factor - 1 if strict else factor)
    return quotient(dividend, factor)


def quotient(dividend: IntegerPolynomial, divisor: int) -> IntegerPolynomial:
    """An integer division, which rounds towards zero, as one symbol."""
    if dividend.literal is not None:
        magnitude = abs(dividend.literal) // divisor
        return IntegerPolynomial.constant(magnitude if dividend.literal >= 0 else -magnitude)
    return IntegerPolynomial.atom(QUOTIENT, f"({_factor(dividend)} / {divisor})")


def _factor(polynomial: IntegerPolynomial) -> str:
    """Its text, in parentheses unless it is a product."""
    is_simple = len(polynomial.terms) == 1 and polynomial.terms[0][1] > 0
    atoms = list(polynomial.atoms)
    # A single quotient drops the parentheses of its own, and so needs new ones.
    is_bare = len(atoms) == 1 and atoms[0].kind == QUOTIENT
    return to_c(polynomial) if is_simple and not is_bare else f"({to_c(polynomial)})"


def row_of(dividend: IntegerPolynomial, divisor: IntegerPolynomial) -> ThreadRow | None:
    """The row that a quotient is, if its dividend is just an id."""
    is_width = divisor.kinds() <= KNOWN and (divisor.literal is None or divisor.literal > 0)
    if not _is_symbol(dividend) or not is_width:
        return None
    atom = dividend.terms[0][0][0]
    return ThreadRow(atom.name, divisor) if atom.kind == IDENTITY else None


def _is_symbol(polynomial: IntegerPolynomial) -> bool:
    return [(len(monomial), c) for monomial, c in polynomial.terms] == [(1, 1)]


def _least(polynomial: IntegerPolynomial, range_of: RangeOf) -> IntegerPolynomial | None:
    """A polynomial that is never above this one, free of variables; None if there is none."""
    result = ZERO
    for monomial, coefficient in polynomial.terms:
        term = IntegerPolynomial.of({monomial: coefficient})
        if all(atom.kind in KNOWN | _NEVER_NEGATIVE for atom in monomial):
            result = result + term
            continue
        if len(monomial) != 1:
            return None
        range_ = range_of(monomial[0])
        limit = range_.lower if coefficient > 0 else range_.upper
        if limit is None:
            return None
        result = result + limit * IntegerPolynomial.constant(coefficient)
    return result


def _never_negative(monomial: Sequence[Atom]) -> bool:
    return bool(monomial) and all(atom.kind in _NEVER_NEGATIVE for atom in monomial)


def guard(dimension: str, effects: Iterable[GuardBounds]) -> IntegerPolynomial | None:
    """The bound of a dimension under which every effect lies."""
    limits = [[b.limit for b in reached if b.dimension == dimension] for reached in effects]
    if not limits:
        return None
    candidates = sorted(
        {limit for one in limits for limit in one}, key=lambda g: (len(g.terms), g.terms)
    )
    common = [g for g in candidates if all(any(_implies(h, g) for h in one) for one in limits)]
    least = [g for g in common if not any(h != g and _implies(h, g) for h in common)]
    return least[0] if least else None


def _implies(tight: IntegerPolynomial, wide: IntegerPolynomial) -> bool:
    """Does id < tight make id < wide?"""
    gap = (wide - tight).literal
    return gap is not None and gap >= 0

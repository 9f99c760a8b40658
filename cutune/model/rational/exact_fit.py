"""Rational functions fitted to counted totals. Takes samples, gives a function and its evidence.

Counts of an emulated device are integers, so the exact fit over the rationals comes first: a zero
residual on every sample, the largest ones held out, is a certificate. Only where no exact function
of low degree exists, a numerical fit is made (`numerical_fit`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np

from cutune.model.rational.functions import (
    SINGULAR,
    Exponents,
    Polynomial,
    RationalFunction,
    constant_function,
    exponents_up_to,
    monomial,
    monomials,
)

MAX_DEGREE = 4
#: Sizes of which the products are tried that are of a higher degree.
MOST_FACTORS = 6
#: Denominators of the coefficients of counts: products of unrolling and of triangular sums.
LARGEST_DENOMINATOR = 5040
#: A prime beyond twice the square of any numerator and denominator that counts lead to.
PRIME = (1 << 521) - 1
#: Unknowns up to which Gaussian elimination in exact numbers is quick.
SMALL_SYSTEM = 20
#: Degrees of numerator and denominator that are tried, the simplest first.
EXACT_DEGREES = ((0, 1), (1, 1), (2, 1), (1, 2), (2, 2))
#: Samples that an exact function must meet besides those that determine it.
SPARE = 2


def fit(
    variables: tuple[str, ...], points: Sequence[Sequence[int]], values: Sequence[int]
) -> RationalFunction:
    """The simplest rational function of the data parameters `variables` through the samples.

    `points`: an integer per variable, for each sample; `values`: its counted total.
    """
    if len(set(values)) == 1:
        return constant_function(variables, values[0])
    return _fitted(variables, tuple(map(tuple, points)), tuple(values))


# A kernel is fitted again with launches that take no part, and once more with these.
@lru_cache(maxsize=1024)
def _fitted(
    variables: tuple[str, ...], points: tuple[tuple[int, ...], ...], values: tuple[int, ...]
) -> RationalFunction:
    for fit_exactly in (fit_polynomial, fit_quotient, _fit_larger):
        if (exact := fit_exactly(variables, points, values)) is not None:
            return exact
    # Takes half a second to import, and most counts are exact.
    from cutune.model.rational.numerical_fit import fit_numerical  # noqa: PLC0415

    return fit_numerical(variables, points, values)


def fit_polynomial(
    variables: tuple[str, ...],
    points: Sequence[Sequence[int]],
    values: Sequence[int],
    spare: int = 0,
) -> RationalFunction | None:
    """The polynomial of least total degree that meets every sample exactly, if there is one.

    A quarter of the samples, those at the largest sizes, never enter the equations. `spare`: number
    of samples that must exceed the number of coefficients.
    """
    order = sorted(range(len(points)), key=lambda s: sum(points[s]))
    held_out = max(1, len(points) // 4)
    used = order[:-held_out]
    for exponents in _forms(points, used):
        if len(exponents) > min(len(used), len(points) - spare):
            continue
        for solve in (_guess, _solve) if len(exponents) <= SMALL_SYSTEM else (_guess,):
            solution = solve([points[s] for s in used], exponents, [values[s] for s in used])
            if solution is None:
                continue
            numerator = Polynomial(variables, _terms(exponents, solution))
            one, width = constant_function(variables, 1).numerator, len(exponents)
            polynomial = RationalFunction(numerator, one, True, 0.0, 0.0, width, width)
            if _meets(polynomial, points, values):
                return polynomial
    return None


def _forms(points: Sequence[Sequence[int]], used: Sequence[int]) -> Iterator[list[Exponents]]:
    """Monomials of each total degree; then products of many sizes, none of them squared."""
    for degree in range(MAX_DEGREE + 1):
        yield exponents_up_to(points, used, degree)
    if MAX_DEGREE < len(points[0]) <= MOST_FACTORS:
        yield [*product((0, 1), repeat=len(points[0]))]


def _fit_larger(
    variables: tuple[str, ...], points: Sequence[Sequence[int]], values: Sequence[int]
) -> RationalFunction | None:
    """A polynomial that meets all samples from some size on; smaller samples may differ.

    A filter of 127 taps has other work at sizes below 127. Only for one variable: with several,
    samples at which all are large say nothing about one that is much larger than another.
    """
    if len(variables) != 1:
        return None
    order = sorted(range(len(points)), key=lambda place: points[place][0])
    for dropped in range(1, len(order) - SPARE):
        kept = order[dropped:]
        larger = [points[place] for place in kept]
        polynomial = fit_polynomial(variables, larger, [values[place] for place in kept], SPARE)
        if polynomial is not None:
            return polynomial
    return None


def fit_quotient(
    variables: tuple[str, ...], points: Sequence[Sequence[int]], values: Sequence[int]
) -> RationalFunction | None:
    """The quotient of polynomials of least degree that meets every sample exactly.

    The constant of the denominator is 1. Samples at the largest sizes never enter the equations;
    a quotient with a pole among the samples is none.
    """
    order = sorted(range(len(points)), key=lambda s: sum(points[s]))
    used = order[: -max(1, len(points) // 4)]
    targets = [values[s] for s in used]
    for top, bottom in EXACT_DEGREES:
        upper = exponents_up_to(points, used, top)
        lower = exponents_up_to(points, used, bottom)[1:]
        width = len(upper) + len(lower)
        if not lower or width > min(SMALL_SYSTEM, len(used)):
            continue
        rows = [
            [monomial(points[s], e) for e in upper]
            + [-target * monomial(points[s], e) for e in lower]
            for s, target in zip(used, targets, strict=True)
        ]
        solution = _eliminated(rows, targets)
        if solution is None:
            continue
        numerator = Polynomial(variables, _terms(upper, solution[: len(upper)]))
        one = ((0,) * len(variables), Fraction(1))
        denominator = Polynomial(variables, (one, *_terms(lower, solution[len(upper) :])))
        quotient = RationalFunction(numerator, denominator, True, 0.0, 0.0, width, width)
        if _meets(quotient, points, values):
            return quotient
    return None


def _meets(
    function: RationalFunction, points: Sequence[Sequence[int]], values: Sequence[int]
) -> bool:
    """Does a function have no pole, and is it exact, at every sample?"""
    for point, value in zip(points, values, strict=True):
        named = dict(zip(function.numerator.variables, point, strict=True))
        bottom = function.denominator(named)
        if bottom <= 0 or function.numerator(named) != value * bottom:
            return False
    return True


def _terms(
    exponents: Sequence[Exponents], coefficients: Sequence[Fraction]
) -> tuple[tuple[Exponents, Fraction], ...]:
    return tuple((e, c) for e, c in zip(exponents, coefficients, strict=True) if c)


def _guess(
    points: Sequence[Sequence[int]], exponents: list[Exponents], values: Sequence[int]
) -> list[Fraction] | None:
    """Least squares in floating point, rounded to simple fractions; the caller checks exactly."""
    sizes = np.array(points, dtype=np.float64)
    scale = np.maximum(sizes.max(axis=0), 1)  # a size that is always 0 stays so
    columns = monomials(sizes / scale, exponents)
    targets = np.array(values, dtype=np.float64)
    solution, _, rank, _ = np.linalg.lstsq(columns, targets, rcond=SINGULAR)
    if rank < len(exponents):
        return None
    units = [float(np.prod(scale ** np.array(exponent))) for exponent in exponents]
    coefficients = (float(c) / unit for c, unit in zip(solution, units, strict=True))
    return [Fraction(c).limit_denominator(LARGEST_DENOMINATOR) for c in coefficients]


def _solve(
    points: Sequence[Sequence[int]], exponents: list[Exponents], values: Sequence[int]
) -> list[Fraction] | None:
    """Exact solution of an overdetermined system; None when inconsistent or rank deficient."""
    matrix = [[monomial(point, exponent) for exponent in exponents] for point in points]
    return _eliminated(matrix, values)


def _eliminated(matrix: Sequence[Sequence[int]], values: Sequence[int]) -> list[Fraction] | None:
    """Gaussian elimination; None when inconsistent or rank deficient.

    Computes modulo a large prime and recovers the fractions of the solution from their residues
    (Wang's rational reconstruction). That is much faster than with fractions, which grow. The
    result is wrong if numerators or denominators are too large: callers check it at all samples.
    """
    rows = [[*row, value] for row, value in zip(matrix, values, strict=True)]
    width = len(matrix[0])
    for column in range(width):
        pivot = next((r for r in range(column, len(rows)) if rows[r][column] % PRIME), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        head = rows[column]
        inverse = pow(head[column], -1, PRIME)
        head[:] = [value * inverse % PRIME for value in head]
        for r, row in enumerate(rows):
            if r != column and row[column]:
                factor = row[column]
                rows[r] = [(a - factor * b) % PRIME for a, b in zip(row, head, strict=True)]
    if any(row[width] % PRIME for row in rows[width:]):
        return None
    return [_fraction_of(rows[column][width]) for column in range(width)]


def _fraction_of(residue: int) -> Fraction:
    """The fraction of small numerator and denominator with this residue modulo the prime."""
    before, now = PRIME, residue
    factor_before, factor = 0, 1
    while now * now > PRIME // 2:
        quotient = before // now
        before, now = now, before - quotient * now
        factor_before, factor = factor, factor_before - quotient * factor
    return Fraction(now, factor)

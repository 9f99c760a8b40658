"""Rational functions fitted to counted totals. Takes samples, gives a function and its evidence.

Counts of an emulated device are integers, so the exact fit over the rationals comes first: a zero
residual on every sample, the largest ones held out, is a certificate. Only where no exact function
of low degree exists, a numerical fit is made: homogeneous least squares with scaled variables and
relative weights, refined after Sanathanan and Koerner and then by its true relative residuals, its
degree chosen by the error at the largest sizes held out (Brandt et al., section 3, with the
remedies of their stated problems). A function with a pole among the samples or far beyond them, or
below 0 there, is no candidate. `cutune.paper_fit` has the published method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import svd
from scipy.optimize import least_squares

from cutune.rational_program import Expression, expression
from cutune.rational_program import Parameter as Name

Exponents = tuple[int, ...]
Floats = NDArray[np.float64]

MAX_DEGREE = 4
MAX_DEGREE_PER_VARIABLE = 3
SINGULAR = 1e-10
REFINEMENTS = 8
#: Denominators of the coefficients of counts: products of unrolling and of triangular sums.
LARGEST_DENOMINATOR = 5040
#: A prime beyond twice the square of any numerator and denominator that counts lead to.
PRIME = (1 << 521) - 1
#: Unknowns up to which Gaussian elimination in exact numbers is quick.
SMALL_SYSTEM = 20
#: Degrees of numerator and denominator that are tried, the simplest first.
EXACT_DEGREES = ((0, 1), (1, 1), (2, 1), (1, 2), (2, 2))
NUMERICAL_DEGREES = ((0, 0), (1, 0), (2, 0), (1, 1), (3, 0), (2, 1), (4, 0), (3, 1), (2, 2))
#: Relative residuals beyond which a sample counts less and less in the last refinement.
OUTLIER = 0.01
#: A function that close at the held-out sizes is good enough: what a higher degree would gain there
#: it may lose many times at sizes far beyond.
GOOD_ENOUGH = 0.02
#: Samples that an exact function must meet besides those that determine it.
SPARE = 2
#: Multiples of the largest sample at which a numerical function must make sense.
FAR = (4, 64, 1024, 16384)


@dataclass(frozen=True)
class Polynomial:
    """A sum of coefficient * product(variable ** exponent)."""

    variables: tuple[str, ...]
    terms: tuple[tuple[Exponents, Fraction], ...]

    def __call__(self, values: Mapping[str, int]) -> Fraction:
        point = [values[name] for name in self.variables]
        return sum((c * _monomial(point, e) for e, c in self.terms), Fraction(0))

    def expression(self) -> Expression:
        """The same polynomial as a node of a rational program, in nested (Horner) form."""
        return _horner(self.variables, self.terms)


@dataclass(frozen=True)
class RationalFunction:
    """numerator / denominator, and the evidence for it.

    `exact`: every sample is met exactly, also the held-out ones. `held_out_error`: the largest
    relative error at the largest sizes, which were not used for choosing coefficients. `residual`:
    the same at the samples that were used. `rank`: of the system that gave the coefficients, and
    `unknowns`, how many it had besides the one that scales all.
    """

    numerator: Polynomial
    denominator: Polynomial
    exact: bool
    held_out_error: float
    residual: float = 0.0
    rank: int = 1
    unknowns: int = 1

    def __call__(self, values: Mapping[str, int]) -> Fraction:
        """The value at a point.

        Raises:
            ZeroDivisionError: the denominator is 0 there.
        """
        return self.numerator(values) / self.denominator(values)

    def expression(self) -> Expression:
        """The same function as a node of a rational program."""
        if all(not any(e) for e, _ in self.denominator.terms):
            return self.numerator.expression()
        return self.numerator.expression() / self.denominator.expression()


def constant_function(variables: tuple[str, ...], value: int | Fraction) -> RationalFunction:
    """The function that is `value` everywhere."""
    one = Polynomial(variables, (((0,) * len(variables), Fraction(1)),))
    if value == 0:
        return RationalFunction(Polynomial(variables, ()), one, True, 0.0)
    top = Polynomial(variables, (((0,) * len(variables), Fraction(value)),))
    return RationalFunction(top, one, True, 0.0)


def fit(
    variables: tuple[str, ...], points: Sequence[Sequence[int]], values: Sequence[int]
) -> RationalFunction:
    """The simplest rational function through the samples.

    Args:
        variables: names of the data parameters.
        points: one integer per variable and sample.
        values: the counted total of each sample.
    """
    if len(set(values)) == 1:
        return constant_function(variables, values[0])
    exact = fit_polynomial(variables, points, values) or fit_quotient(variables, points, values)
    exact = exact or _fit_larger(variables, points, values)
    return exact if exact is not None else fit_numerical(variables, points, values)


def fit_polynomial(
    variables: tuple[str, ...],
    points: Sequence[Sequence[int]],
    values: Sequence[int],
    spare: int = 0,
) -> RationalFunction | None:
    """The polynomial of least total degree that meets every sample exactly, if there is one.

    A quarter of the samples, those at the largest sizes, never enter the equations. `spare`: so
    many samples at least are more than the coefficients.
    """
    order = sorted(range(len(points)), key=lambda s: sum(points[s]))
    held_out = max(1, len(points) // 4)
    used = order[:-held_out]
    for degree in range(MAX_DEGREE + 1):
        exponents = _exponents(points, used, degree)
        if len(exponents) > min(len(used), len(points) - spare):
            return None
        for solve in (_guess, _solve) if len(exponents) <= SMALL_SYSTEM else (_guess,):
            solution = solve([points[s] for s in used], exponents, [values[s] for s in used])
            if solution is None:
                continue
            found = Polynomial(variables, _terms(exponents, solution))
            samples = zip(points, values, strict=True)
            if all(found(dict(zip(variables, p, strict=True))) == v for p, v in samples):
                one = constant_function(variables, 1).numerator
                width = len(exponents)
                return RationalFunction(found, one, True, 0.0, 0.0, width, width)
    return None


def _fit_larger(
    variables: tuple[str, ...], points: Sequence[Sequence[int]], values: Sequence[int]
) -> RationalFunction | None:
    """A polynomial that meets all samples from some size on, where the smaller ones are different.

    A filter of 127 taps has other work at sizes below 127. Of one variable only: of several, all
    that are large together say nothing of one that is much larger than another.
    """
    if len(variables) != 1:
        return None
    order = sorted(range(len(points)), key=lambda place: points[place][0])
    for dropped in range(1, len(order) - SPARE):
        kept = order[dropped:]
        larger = [points[place] for place in kept]
        found = fit_polynomial(variables, larger, [values[place] for place in kept], SPARE)
        if found is not None:
            return found
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
        upper = _exponents(points, used, top)
        lower = _exponents(points, used, bottom)[1:]
        width = len(upper) + len(lower)
        if not lower or width > min(SMALL_SYSTEM, len(used)):
            continue
        rows = [
            [_monomial(points[s], e) for e in upper]
            + [-target * _monomial(points[s], e) for e in lower]
            for s, target in zip(used, targets, strict=True)
        ]
        solution = _eliminated(rows, targets)
        if solution is None:
            continue
        numerator = Polynomial(variables, _terms(upper, solution[: len(upper)]))
        one = ((0,) * len(variables), Fraction(1))
        denominator = Polynomial(variables, (one, *_terms(lower, solution[len(upper) :])))
        found = RationalFunction(numerator, denominator, True, 0.0, 0.0, width, width)
        if _meets(found, points, values):
            return found
    return None


def _meets(found: RationalFunction, points: Sequence[Sequence[int]], values: Sequence[int]) -> bool:
    """Does a function have no pole, and is it exact, at every sample?"""
    for point, value in zip(points, values, strict=True):
        named = dict(zip(found.numerator.variables, point, strict=True))
        bottom = found.denominator(named)
        if bottom <= 0 or found.numerator(named) != value * bottom:
            return False
    return True


def _terms(
    exponents: Sequence[Exponents], coefficients: Sequence[Fraction]
) -> tuple[tuple[Exponents, Fraction], ...]:
    return tuple((e, c) for e, c in zip(exponents, coefficients, strict=True) if c)


def fit_numerical(
    variables: tuple[str, ...], points: Sequence[Sequence[int]], values: Sequence[int]
) -> RationalFunction:
    """The simplest rational function that is good enough at the held-out largest sizes, or best."""
    sizes = np.array(points, dtype=np.float64)
    targets = np.array(values, dtype=np.float64)
    order = np.argsort(sizes.sum(axis=1), kind="stable")
    held_out = order[-max(1, len(order) // 4) :]
    used = order[: -len(held_out)]
    scale = sizes.max(axis=0)
    best: RationalFunction | None = None
    for top, bottom in NUMERICAL_DEGREES:
        candidate = _fit_degrees(variables, sizes, targets, used, held_out, scale, top, bottom)
        # A higher degree must earn its place: 10 % better, not just luck.
        if candidate and (
            best is None or candidate.held_out_error < 0.9 * best.held_out_error - 1e-12
        ):
            best = candidate
        if best and best.held_out_error <= GOOD_ENOUGH:
            break
    if best is None:
        mean = Fraction(float(targets.mean())).limit_denominator(10**6)
        return RationalFunction(
            constant_function(variables, mean).numerator,
            constant_function(variables, 1).numerator,
            False,
            float("inf"),
            float("inf"),
        )
    return best


def _fit_degrees(
    variables: tuple[str, ...],
    sizes: Floats,
    targets: Floats,
    used: NDArray[np.intp],
    held_out: NDArray[np.intp],
    scale: Floats,
    top: int,
    bottom: int,
) -> RationalFunction | None:
    points = [tuple(int(v) for v in row) for row in sizes]
    upper = _exponents(points, list(used), top)
    lower = _exponents(points, list(used), bottom)
    if len(upper) + len(lower) - 1 > len(used):
        return None
    scaled = sizes / scale
    numerator, denominator = _monomials(scaled, upper), _monomials(scaled, lower)
    weights = 1.0 / np.maximum(np.abs(targets), 1.0)
    found = _homogeneous(numerator[used], denominator[used], targets[used], weights[used])
    if found is None:
        return None
    solution, rank = found
    solution = _refined(solution, numerator[used], denominator[used], targets[used], weights[used])
    tops, bottoms = numerator @ solution[: len(upper)], denominator @ solution[len(upper) :]
    if bottoms.min() * bottoms.max() <= 0:  # a pole inside the samples
        return None
    predicted = tops / bottoms
    if targets.min() >= 0 and predicted.min() < -1e-6 * targets.max():  # a count below 0
        return None
    if targets.min() >= 0 and not _makes_sense_far(upper, lower, solution):
        return None
    errors = np.abs(predicted - targets) * weights
    unit = solution[len(upper)] or 1.0
    return RationalFunction(
        _polynomial(variables, upper, solution[: len(upper)] / unit, scale),
        _polynomial(variables, lower, solution[len(upper) :] / unit, scale),
        False,
        float(errors[held_out].max()),
        float(errors[used].max()),
        rank,
        len(upper) + len(lower) - 1,
    )


def _makes_sense_far(upper: list[Exponents], lower: list[Exponents], solution: Floats) -> bool:
    """Is the quotient neither below 0 nor at a pole, also where all sizes are much larger?"""
    far = np.outer(FAR, np.ones(len(upper[0])))
    tops = _monomials(far, upper) @ solution[: len(upper)]
    bottoms = _monomials(far, lower) @ solution[len(upper) :]
    return bool((tops * bottoms >= 0).all() and (bottoms != 0).all())


def _homogeneous(
    numerator: Floats, denominator: Floats, targets: Floats, weights: Floats
) -> tuple[Floats, int] | None:
    """Coefficients with P - y Q least in relative weights, numerator first, and the rank.

    None where more than one null vector leaves the ratio undetermined: a lower degree says the
    same then.
    """
    width, bottom = numerator.shape[1], denominator.shape[1] > 1
    previous = np.ones(len(targets))
    solution: Floats = np.zeros(width + denominator.shape[1])
    rank = 0
    for _ in range(REFINEMENTS if bottom else 1):
        rows = np.hstack([numerator, -targets[:, None] * denominator])
        rows *= (weights / np.abs(previous))[:, None]
        norms = np.linalg.norm(rows, axis=0)
        norms[norms == 0] = 1.0
        _, singular, right = svd(rows / norms)
        # The least one belongs to the solution itself.
        rank = int(np.sum(singular[: rows.shape[1] - 1] > SINGULAR * singular[0]))
        if len(singular) > 1 and singular[-2] < SINGULAR * singular[0] and bottom:
            return None
        solution = right[-1] / norms
        previous = denominator @ solution[width:]
        if np.any(np.abs(previous) < 1e-12):
            return None
    return solution, rank


def _refined(
    solution: Floats, numerator: Floats, denominator: Floats, targets: Floats, weights: Floats
) -> Floats:
    """The same coefficients after a descent on the true relative residuals P/Q - y."""
    width = numerator.shape[1]
    scale = float(np.abs(solution).max())

    def residuals(coefficients: Floats) -> Floats:
        bottom = denominator @ coefficients[width:]
        # Far from what is wanted, so that no step crosses a pole.
        safe = np.where(np.abs(bottom) < 1e-12, 1e-12, bottom)
        result: Floats = (numerator @ coefficients[:width] / safe - targets) * weights
        return result

    start = solution / scale
    before = residuals(start)
    if len(targets) < len(solution) or float(np.abs(before).max()) < 1e-9:
        return solution
    better = least_squares(residuals, start, loss="soft_l1", f_scale=OUTLIER, max_nfev=50)
    improved = np.abs(residuals(better.x)).sum() < np.abs(before).sum()
    return np.asarray(better.x * scale) if improved else solution


def _polynomial(
    variables: tuple[str, ...], exponents: list[Exponents], coefficients: Floats, scale: Floats
) -> Polynomial:
    terms = []
    for exponent, coefficient in zip(exponents, coefficients, strict=True):
        value = Fraction(float(coefficient / np.prod(scale ** np.array(exponent))))
        terms.append((exponent, value))
    return Polynomial(variables, tuple(terms))


def _monomials(points: Floats, exponents: list[Exponents]) -> Floats:
    columns = [np.prod(points ** np.array(exponent), axis=1) for exponent in exponents]
    return np.stack(columns, axis=1)


def _exponents(
    points: Sequence[Sequence[int]], used: Sequence[int], degree: int
) -> list[Exponents]:
    """Monomials of bounded total degree, no variable higher than its distinct samples can tell."""
    width = len(points[0])
    levels = [len({points[s][v] for s in used}) - 1 for v in range(width)]
    ranges = [range(min(degree, level, MAX_DEGREE_PER_VARIABLE) + 1) for level in levels]
    return sorted((e for e in product(*ranges) if sum(e) <= degree), key=lambda e: (sum(e), e))


def _monomial(point: Sequence[int], exponents: Exponents) -> int:
    return prod(base**exponent for base, exponent in zip(point, exponents, strict=True))


def _guess(
    points: Sequence[Sequence[int]], exponents: list[Exponents], values: Sequence[int]
) -> list[Fraction] | None:
    """Least squares in floating point, rounded to simple fractions; the caller checks exactly."""
    sizes = np.array(points, dtype=np.float64)
    scale = sizes.max(axis=0)
    columns = _monomials(sizes / scale, exponents)
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
    matrix = [[_monomial(point, exponent) for exponent in exponents] for point in points]
    return _eliminated(matrix, values)


def _eliminated(matrix: Sequence[Sequence[int]], values: Sequence[int]) -> list[Fraction] | None:
    """Gaussian elimination; None when inconsistent or rank deficient.

    In integers modulo a prime so large that the fractions of the solution can be told from their
    residues (Wang's rational reconstruction): much faster than in fractions, which grow. A solution
    without such fractions comes out wrong; callers try it at all samples.
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


def _horner(variables: tuple[str, ...], terms: Sequence[tuple[Exponents, Fraction]]) -> Expression:
    if not terms:
        return expression(0)
    if not variables:
        return expression(terms[0][1])
    by_power: dict[int, list[tuple[Exponents, Fraction]]] = {}
    for exponents, coefficient in terms:
        by_power.setdefault(exponents[0], []).append((exponents[1:], coefficient))
    variable = Name(variables[0])
    powers = sorted(by_power, reverse=True)
    result = _horner(variables[1:], by_power[powers[0]])
    for power in range(powers[0] - 1, -1, -1):
        result = result * variable
        if power in by_power:
            result = result + _horner(variables[1:], by_power[power])
    return result

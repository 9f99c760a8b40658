"""Polynomials and their quotients over data parameters, and how they are fitted to totals.

Takes samples, gives a function and its evidence. Counts of an emulated device are integers, so the
exact fit over the rationals comes first: a zero residual on every sample, the largest ones held
out, is a certificate. Only where no exact function of low degree exists, one is fitted in floating
point. The method is that of Brandt et al., section 3, with remedies for the problems stated there:

- Homogeneous least squares with scaled variables and relative weights.
- Refinement after Sanathanan and Koerner, then on the true relative residuals.
- The degree is chosen by the error at the largest sizes, which are held out.
- A function that has a pole or is negative among the samples or far beyond them is rejected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import product
from math import lcm, prod
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cutune.core.typed import Count, Meta, Quantity
from cutune.model.rational.program import Expression, Reference, expression, size_name

Exponents = tuple[Annotated[int, Meta(ge=0, le=16)], ...]
#: A polynomial: a sum of coefficient * product(variable ** exponent).
Terms = tuple[tuple[Exponents, Fraction], ...]
Floats = NDArray[np.float64]
Monomials = list[Exponents]
Names = tuple[str, ...]
#: Samples: a value of each variable.
Points = Sequence[Sequence[int]]

MAX_DEGREE_PER_VARIABLE = 3
#: Singular values up to this, relative to the largest, count as 0.
SINGULAR = 1e-10


@dataclass(frozen=True)
class RationalFunction:
    """numerator / denominator, and the evidence for it.

    Attributes:
        exact: is every sample met exactly, also the held-out ones?
        held_out_error: the largest relative error at the largest sizes, which the fit did not use.
        residual: the largest relative error at the samples that it used.
        rank, unknowns: of the system of equations, without the unknown that scales all others.
        variables: in the order of the exponents; files do not repeat them.
    """

    numerator: Terms
    denominator: Terms
    exact: bool
    held_out_error: Quantity
    residual: Quantity
    rank: Count
    unknowns: Count
    variables: Names = ()

    @property
    def is_zero(self) -> bool:
        return not any(coefficient for _, coefficient in self.numerator)

    def __call__(self, values: Mapping[str, int]) -> Fraction:
        """The value at a point; raises ZeroDivisionError where the denominator is 0."""
        point = tuple([values[name] for name in self.variables])
        if point not in self._known:
            bottom = value_at(self.denominator, point)
            self._known[point] = value_at(self.numerator, point) / bottom
        return self._known[point]

    @cached_property
    def _known(self) -> dict[tuple[int, ...], Fraction]:
        """Values by point: all memory instructions of a group are asked at the same ones."""
        return {}

    def expression(self, names: Sequence[str] | None = None) -> Expression:
        """The value as a node in nested (Horner) form. `names`: of the variables, else sizes."""
        read = tuple(names or map(size_name, self.variables))
        top = _horner(read, self.numerator)
        is_whole = all(not any(e) for e, _ in self.denominator)
        return top if is_whole else top / _horner(read, self.denominator)


def constant_function(variables: Names, value: int | Fraction) -> RationalFunction:
    """The function that is `value` everywhere."""
    powers = (0,) * len(variables)
    top = ((powers, Fraction(value)),) if value else ()
    return RationalFunction(top, ((powers, Fraction(1)),), True, 0.0, 0.0, 1, 1, variables)


def value_at(polynomial: Terms, point: Sequence[int]) -> Fraction:
    unit = lcm(*(c.denominator for _, c in polynomial))
    terms = (c.numerator * (unit // c.denominator) * monomial(point, e) for e, c in polynomial)
    return Fraction(sum(terms), unit)


def exponents_up_to(points: Points, used: Sequence[int], degree: int) -> Monomials:
    """Monomials of bounded total degree, no variable higher than its distinct samples determine."""
    levels = [len({points[s][v] for s in used}) - 1 for v in range(len(points[0]))]
    ranges = [range(min(level, MAX_DEGREE_PER_VARIABLE) + 1) for level in levels]
    return sorted((e for e in product(*ranges) if sum(e) <= degree), key=lambda e: (sum(e), e))


def monomial(point: Sequence[int], exponents: Exponents) -> int:
    return prod(base**exponent for base, exponent in zip(point, exponents, strict=True))


def monomials(points: Floats, exponents: Monomials) -> Floats:
    """Products of powers, a row per point and a column per monomial."""
    columns = [np.prod(points ** np.array(exponent), axis=1) for exponent in exponents]
    return np.stack(columns, axis=1)


def _horner(names: Names, terms: Sequence[tuple[Exponents, Fraction]]) -> Expression:
    if not terms:
        return expression(0)
    if not names:
        return expression(terms[0][1])
    by_power: dict[int, list[tuple[Exponents, Fraction]]] = {}
    for exponents, coefficient in terms:
        by_power.setdefault(exponents[0], []).append((exponents[1:], coefficient))
    variable = Reference(names[0])
    powers = sorted(by_power, reverse=True)
    result = _horner(names[1:], by_power[powers[0]])
    for power in range(powers[0] - 1, -1, -1):
        result = result * variable
        if power in by_power:
            result = result + _horner(names[1:], by_power[power])
    return result


# ---- the exact fit

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


def fit(variables: Names, points: Points, values: Sequence[int]) -> RationalFunction:
    """The simplest rational function of `variables` through the samples: `values` at `points`."""
    if len(set(values)) == 1:
        return constant_function(variables, values[0])
    return _fitted(variables, tuple(map(tuple, points)), tuple(values))


# A kernel is fitted again with launches that take no part, and once more with these.
@lru_cache(maxsize=1024)
def _fitted(
    variables: Names, points: tuple[tuple[int, ...], ...], values: tuple[int, ...]
) -> RationalFunction:
    for fit_exactly in (fit_polynomial, fit_quotient, _fit_larger):
        if (exact := fit_exactly(variables, points, values)) is not None:
            return exact
    return fit_numerical(variables, points, values)


def fit_polynomial(
    variables: Names, points: Points, values: Sequence[int], spare: int = 0
) -> RationalFunction | None:
    """The polynomial of least total degree that meets every sample exactly, if there is one.

    A quarter of the samples, those at the largest sizes, never enter the equations. `spare`: number
    of samples that must exceed the number of coefficients.
    """
    used = _used(points)
    for exponents in _forms(points, used):
        if len(exponents) > min(len(used), len(points) - spare):
            continue
        for solve in (_guess, _solve) if len(exponents) <= SMALL_SYSTEM else (_guess,):
            solution = solve([points[s] for s in used], exponents, [values[s] for s in used])
            exact = _quotient(variables, exponents, [], solution)
            if exact is not None and _meets(exact, points, values):
                return exact
    return None


def _used(points: Points) -> list[int]:
    """The samples that enter the equations: all but a quarter, those at the largest sizes."""
    order = sorted(range(len(points)), key=lambda s: sum(points[s]))
    return order[: -max(1, len(points) // 4)]


def _forms(points: Points, used: Sequence[int]) -> Iterator[Monomials]:
    """Monomials of each total degree; then products of many sizes, none of them squared."""
    for degree in range(MAX_DEGREE + 1):
        yield exponents_up_to(points, used, degree)
    if MAX_DEGREE < len(points[0]) <= MOST_FACTORS:
        yield [*product((0, 1), repeat=len(points[0]))]


def _fit_larger(variables: Names, points: Points, values: Sequence[int]) -> RationalFunction | None:
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
    variables: Names, points: Points, values: Sequence[int]
) -> RationalFunction | None:
    """The quotient of polynomials of least degree that meets every sample exactly.

    The constant of the denominator is 1. Samples at the largest sizes never enter the equations;
    a quotient with a pole among the samples is none.
    """
    used = _used(points)
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
        exact = _quotient(variables, upper, lower, _eliminated(rows, targets))
        if exact is not None and _meets(exact, points, values):
            return exact
    return None


def _quotient(
    variables: Names, upper: Monomials, lower: Monomials, solution: list[Fraction] | None
) -> RationalFunction | None:
    """The function with these coefficients, the numerator's first; None where there are none."""
    if solution is None:
        return None
    terms = [*zip([*upper, *lower], solution, strict=True)]
    top = [term for term in terms[: len(upper)] if term[1]]
    bottom = [term for term in terms[len(upper) :] if term[1]]
    one = ((0,) * len(variables), Fraction(1))
    width = len(terms)
    return RationalFunction((*top,), (one, *bottom), True, 0.0, 0.0, width, width, variables)


def _meets(function: RationalFunction, points: Points, values: Sequence[int]) -> bool:
    """Does a function have no pole, and is it exact, at every sample?"""
    for point, value in zip(points, values, strict=True):
        bottom = value_at(function.denominator, point)
        if bottom <= 0 or value_at(function.numerator, point) != value * bottom:
            return False
    return True


def _guess(points: Points, exponents: Monomials, values: Sequence[int]) -> list[Fraction] | None:
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


def _solve(points: Points, exponents: Monomials, values: Sequence[int]) -> list[Fraction] | None:
    """Exact solution of an overdetermined system; None when inconsistent or rank deficient."""
    matrix = [[monomial(point, exponent) for exponent in exponents] for point in points]
    return _eliminated(matrix, values)


def _eliminated(matrix: Points, values: Sequence[int]) -> list[Fraction] | None:
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


# ---- the fit in floating point

REFINEMENTS = 8
#: Degrees of numerator and denominator that are tried, the simplest first.
NUMERICAL_DEGREES = ((0, 0), (1, 0), (2, 0), (1, 1), (3, 0), (2, 1), (4, 0), (3, 1), (2, 2))
#: Relative residual from which on the last refinement weights a sample less and less.
OUTLIER = 0.01
#: Held-out error at which a function is accepted. A higher degree would be closer there, but may be
#: much worse at far larger sizes.
GOOD_ENOUGH = 0.02
#: Multiples of the largest sample at which a numerical function must be finite and not negative.
FAR = (4, 64, 1024, 16384)


def fit_numerical(variables: Names, points: Points, values: Sequence[int]) -> RationalFunction:
    """The simplest function whose held-out error is `GOOD_ENOUGH`, else the one with the least."""
    sizes = np.array(points, dtype=np.float64)
    targets = np.array(values, dtype=np.float64)
    # Where nothing fits, the mean.
    mean = Fraction(float(targets.mean())).limit_denominator(10**6)
    best = replace(constant_function(variables, mean), exact=False, held_out_error=float("inf"))
    # The largest sizes, which come last, are held out.
    order = np.argsort(sizes.sum(axis=1), kind="stable")
    sizes, targets, used = sizes[order], targets[order], len(order) - max(1, len(order) // 4)
    for top, bottom in NUMERICAL_DEGREES:
        candidate = _fit_degrees(variables, sizes, targets, used, top, bottom)
        # A higher degree must be 10 % better, so that it is not chosen by chance.
        if candidate and candidate.held_out_error < 0.9 * best.held_out_error - 1e-12:
            best = candidate
        if best.held_out_error <= GOOD_ENOUGH:
            break
    return best


def _fit_degrees(
    variables: Names, sizes: Floats, targets: Floats, used: int, top: int, bottom: int
) -> RationalFunction | None:
    points = [tuple(int(v) for v in row) for row in sizes]
    upper = exponents_up_to(points, range(used), top)
    lower = exponents_up_to(points, range(used), bottom)
    if len(upper) + len(lower) - 1 > used:
        return None
    scale = np.maximum(sizes.max(axis=0), 1.0)  # a size may be 0 everywhere
    scaled = sizes / scale
    numerator, denominator = monomials(scaled, upper), monomials(scaled, lower)
    weights = 1.0 / np.maximum(np.abs(targets), 1.0)
    samples = (numerator[:used], denominator[:used], targets[:used], weights[:used])
    linear = _homogeneous(*samples)
    if linear is None:
        return None
    solution, rank = _refined(linear[0], *samples), linear[1]
    tops, bottoms = numerator @ solution[: len(upper)], denominator @ solution[len(upper) :]
    if bottoms.min() * bottoms.max() <= 0:  # a pole inside the samples
        return None
    predicted = tops / bottoms
    if targets.min() >= 0 and (
        predicted.min() < -1e-6 * targets.max()  # a count below 0
        or not _makes_sense_far(upper, lower, solution)
    ):
        return None
    errors = np.abs(predicted - targets) * weights
    unit = solution[len(upper)] or 1.0
    over = _unscaled(upper, solution[: len(upper)] / unit, scale)
    under = _unscaled(lower, solution[len(upper) :] / unit, scale)
    far, near = float(errors[used:].max()), float(errors[:used].max())
    unknowns = len(upper) + len(lower) - 1
    return RationalFunction(over, under, False, far, near, rank, unknowns, variables)


def _makes_sense_far(upper: Monomials, lower: Monomials, solution: Floats) -> bool:
    """Is the quotient finite and not negative also at much larger sizes?"""
    far = np.outer(FAR, np.ones(len(upper[0])))
    tops = monomials(far, upper) @ solution[: len(upper)]
    bottoms = monomials(far, lower) @ solution[len(upper) :]
    return bool((tops * bottoms >= 0).all() and (bottoms != 0).all())


def _homogeneous(
    numerator: Floats, denominator: Floats, targets: Floats, weights: Floats
) -> tuple[Floats, int] | None:
    """Coefficients with P - y Q least in relative weights, numerator first, and the rank.

    None where more than one null vector leaves the ratio undetermined: a lower degree says the
    same then.
    """
    # Takes half a second to import, and most counts are exact.
    from scipy.linalg import qr, svd  # noqa: PLC0415

    width, bottom = numerator.shape[1], denominator.shape[1] > 1
    previous = np.ones(len(targets))
    solution: Floats = np.zeros(width + denominator.shape[1])
    rank = 0
    for _ in range(REFINEMENTS if bottom else 1):
        rows = np.hstack([numerator, -targets[:, None] * denominator])
        rows *= (weights / np.abs(previous))[:, None]
        norms = np.linalg.norm(rows, axis=0)
        norms[norms == 0] = 1.0
        # The samples themselves are not needed, of which there are many more than coefficients.
        (triangle,) = qr(rows / norms, mode="r")
        _, singular, right = svd(triangle[: rows.shape[1]])
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
    """The coefficients after a descent on the true relative residuals P/Q - y."""
    from scipy.optimize import least_squares  # noqa: PLC0415

    width = numerator.shape[1]
    scale = float(np.abs(solution).max())

    def residuals(coefficients: Floats) -> Floats:
        bottom = denominator @ coefficients[width:]
        # A huge residual near the pole, so that no step crosses it.
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


def _unscaled(exponents: Monomials, coefficients: Floats, scale: Floats) -> Terms:
    units = [np.prod(scale ** np.array(exponent)) for exponent in exponents]
    values = [Fraction(float(c / unit)) for c, unit in zip(coefficients, units, strict=True)]
    return tuple(zip(exponents, values, strict=True))

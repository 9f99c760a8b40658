"""Rational functions fitted in floating point, where no exact function of low degree exists.

Takes samples, gives a function. The method is that of Brandt et al., section 3, with remedies for
the problems stated there:

- Homogeneous least squares with scaled variables and relative weights.
- Refinement after Sanathanan and Koerner, then on the true relative residuals.
- The degree is chosen by the error at the largest sizes, which are held out.
- A function that has a pole or is negative among the samples or far beyond them is rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, svd
from scipy.optimize import least_squares

from cutune.model.rational.functions import (
    SINGULAR,
    Exponents,
    Floats,
    Polynomial,
    RationalFunction,
    constant_function,
    exponents_up_to,
    monomials,
)

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


def fit_numerical(
    variables: tuple[str, ...], points: Sequence[Sequence[int]], values: Sequence[int]
) -> RationalFunction:
    """The simplest function whose held-out error is `GOOD_ENOUGH`, else the one with the least."""
    sizes = np.array(points, dtype=np.float64)
    targets = np.array(values, dtype=np.float64)
    order = np.argsort(sizes.sum(axis=1), kind="stable")
    held_out = order[-max(1, len(order) // 4) :]
    used = order[: -len(held_out)]
    scale = np.maximum(sizes.max(axis=0), 1.0)  # a size may be 0 everywhere
    # Where nothing fits, the mean.
    mean = Fraction(float(targets.mean())).limit_denominator(10**6)
    best = replace(constant_function(variables, mean), exact=False, held_out_error=float("inf"))
    for top, bottom in NUMERICAL_DEGREES:
        candidate = _fit_degrees(variables, sizes, targets, used, held_out, scale, top, bottom)
        # A higher degree must be 10 % better, so that it is not chosen by chance.
        if candidate and candidate.held_out_error < 0.9 * best.held_out_error - 1e-12:
            best = candidate
        if best.held_out_error <= GOOD_ENOUGH:
            break
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
    upper = exponents_up_to(points, list(used), top)
    lower = exponents_up_to(points, list(used), bottom)
    if len(upper) + len(lower) - 1 > len(used):
        return None
    scaled = sizes / scale
    numerator, denominator = monomials(scaled, upper), monomials(scaled, lower)
    weights = 1.0 / np.maximum(np.abs(targets), 1.0)
    samples = (numerator[used], denominator[used], targets[used], weights[used])
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
    over = _polynomial(variables, upper, solution[: len(upper)] / unit, scale)
    under = _polynomial(variables, lower, solution[len(upper) :] / unit, scale)
    far, near = float(errors[held_out].max()), float(errors[used].max())
    return RationalFunction(over, under, False, far, near, rank, len(upper) + len(lower) - 1)


def _makes_sense_far(upper: list[Exponents], lower: list[Exponents], solution: Floats) -> bool:
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


def _polynomial(
    variables: tuple[str, ...], exponents: list[Exponents], coefficients: Floats, scale: Floats
) -> Polynomial:
    units = [np.prod(scale ** np.array(exponent)) for exponent in exponents]
    values = [Fraction(float(c / unit)) for c, unit in zip(coefficients, units, strict=True)]
    return Polynomial(variables, tuple(zip(exponents, values, strict=True)))

"""The published way of fitting, for comparison (`--fit paper`): counters per warp as P / Q.

Follows the technique's section on estimation, as its tool carries it out:

- Degree bounds per variable grow along a staircase up to 5, equally for numerator and denominator.
- The samples give rows [monomials, -y monomials] without scaling.
- To exclude the trivial solution, the equation of the first sample is replaced by "this coefficient
  of the denominator is 1", for each coefficient in turn.
- Least squares by singular values, at any rank.
- The solution with the least training error relative to the mean is taken. Above 100 % the mean is.

No sample is held out, and poles are not detected. The comparison shows what this costs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

from cutune.fit.rational.functions import Exponents, Polynomial, RationalFunction, constant_function

Floats = NDArray[np.float64]

LARGEST_DEGREE = 5
#: Unknowns up to which systems are solved: ever larger ones take minutes and gain nothing.
LARGEST_SYSTEM = 64
#: Largest accepted training error: root mean square error relative to the mean.
ACCEPTED = 1.0
#: Training error at which no more unknowns are tried.
PERFECT = 1e-12


def fit_paper(
    variables: tuple[str, ...], points: Sequence[Sequence[int]], values: Sequence[float]
) -> RationalFunction:
    """The quotient with the least training error; the mean where none is accepted."""
    targets = np.array(values, dtype=np.float64)
    if np.all(targets == targets[0]):
        return constant_function(variables, Fraction(float(targets[0])))
    sizes = np.array(points, dtype=np.float64)
    best: RationalFunction | None = None
    for step in range(LARGEST_DEGREE * len(variables) + 1):
        exponents = _staircase(step, len(variables))
        if 2 * len(exponents) > min(len(points), LARGEST_SYSTEM):
            break
        columns = np.stack([np.prod(sizes ** np.array(e), axis=1) for e in exponents], axis=1)
        for index in range(len(exponents)):
            quotient = _solved(variables, exponents, columns, targets, index)
            if quotient is not None and (best is None or quotient.residual < best.residual):
                best = quotient
        if best is not None and best.residual < PERFECT:
            break
    if best is not None and best.residual <= ACCEPTED:
        return best
    mean = constant_function(variables, Fraction(float(targets.mean())))
    error = float(np.sqrt(np.mean((targets - targets.mean()) ** 2)) / abs(targets.mean()))
    return replace(mean, exact=False, held_out_error=error, residual=error)


def _staircase(step: int, width: int) -> list[Exponents]:
    """All monomials within the bounds of a step: each step raises one variable's bound."""
    bounds = [step // width + (variable < step % width) for variable in range(width)]
    return list(product(*(range(bound + 1) for bound in bounds)))


def _solved(
    variables: tuple[str, ...],
    exponents: list[Exponents],
    columns: Floats,
    targets: Floats,
    index: int,
) -> RationalFunction | None:
    """Least squares with one coefficient of the denominator set to 1."""
    width = len(exponents)
    rows = np.hstack([columns, -targets[:, None] * columns])
    rows[0] = 0.0
    rows[0, width + index] = 1.0
    right = np.zeros(len(targets))
    right[0] = 1.0
    solution, _, rank, _ = lstsq(rows, right, cond=np.finfo(np.float64).eps, lapack_driver="gelss")
    with np.errstate(all="ignore"):
        predicted = (columns @ solution[:width]) / (columns @ solution[width:])
        error = float(np.sqrt(np.mean((predicted - targets) ** 2)) / abs(targets.mean()))
    if not np.isfinite(error):
        return None
    return RationalFunction(
        _polynomial(variables, exponents, solution[:width]),
        _polynomial(variables, exponents, solution[width:]),
        False,
        error,
        error,
        int(rank) - 1,
        2 * width - 1,
    )


def _polynomial(
    variables: tuple[str, ...], exponents: list[Exponents], coefficients: Floats
) -> Polynomial:
    pairs = zip(exponents, coefficients, strict=True)
    return Polynomial(variables, tuple((e, Fraction(float(c))) for e, c in pairs if c))

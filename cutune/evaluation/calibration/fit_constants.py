"""From times of micro-kernels to constants. Takes models and times, gives constants with evidence.

Least squares on logarithms of times, pulled to prior values (published or of another GPU) in
proportion to how uncertain these are: a constant that no micro-kernel shows keeps its prior. Blocks
near the best of a case weigh most, because the model has to tell these apart.

The prior: published figures where there are some; for the rest the values of an H200, which in
cycles are about the same on every GPU since Volta.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from cutune.device.profile import DeviceProfile
from cutune.evaluation.calibration.prior import Belief
from cutune.evaluation.calibration.suite import MicroBenchmark
from cutune.fit.fitted_model import FittedModel
from cutune.fit.rational.program import RationalProgram, point
from cutune.fit.rational.values import evaluate
from cutune.models.definitions import TIME
from cutune.models.mechanistic import compose_symbolic

Floats = NDArray[np.float64]

#: Not visible in times of kernels that run one after the other, or a step of the model.
FIXED = frozenset(("floor_us", "resident_vector_bytes"))
#: Standard deviation of the logarithm of a time that the model explains well.
NOISE = 0.05
MAX_EVALUATIONS = 60
#: Step of the numerical derivative.
STEP = 1e-5


@dataclass(frozen=True)
class TimedCase:
    """A micro-benchmark, its model, and the time of each block in the order of the model's."""

    case: MicroBenchmark
    model: FittedModel
    microseconds: tuple[float, ...]


@dataclass(frozen=True)
class Calibration:
    """Fitted constants and how well they explain the times.

    `seen`: how far the data narrowed each constant, from 0 (as its prior) to 1. `errors`: per case
    the root mean square of the logarithmic error over its blocks.
    """

    constants: Mapping[str, float]
    seen: Mapping[str, float]
    errors: Mapping[str, float]

    @property
    def typical_error(self) -> float:
        """Median over the cases."""
        return float(np.median(list(self.errors.values())))


def fit_constants(
    cases: Sequence[TimedCase], device: DeviceProfile, prior: Mapping[str, Belief]
) -> Calibration:
    """Fit all constants at once.

    Args:
        device: the GPU's limits and rates; its constants do not matter.
    """
    start = {name: float(belief.value) for name, belief in prior.items()}
    names = [name for name in start if name not in FIXED]
    deviations = np.array([prior[name].deviation for name in names])
    programs = [compose_symbolic(case.model, device) for case in cases]

    def errors(points: Floats) -> list[Floats]:
        """Per case one row per point: all points go through a program at once."""
        moved = {n: start[n] * np.exp(points[:, k : k + 1]) for k, n in enumerate(names)}
        pairs = zip(cases, programs, strict=True)
        return [_errors(case, program, {**start, **moved}) for case, program in pairs]

    def residuals(points: Floats) -> Floats:
        pairs = zip(cases, errors(points), strict=True)
        parts = [error * _weights(case) / NOISE for case, error in pairs]
        return np.hstack([*parts, points / deviations])

    def residual(point: Floats) -> Floats:
        row: Floats = residuals(point[None, :])[0]
        return row

    def jacobian(point: Floats) -> Floats:
        moved = residuals(np.vstack([point, point + STEP * np.eye(len(point))]))
        slopes: Floats = (moved[1:] - moved[0]).T / STEP
        return slopes

    solution = least_squares(
        residual,
        np.zeros(len(names)),
        jac=jacobian,
        bounds=(-2.5, 2.5),
        loss="soft_l1",
        max_nfev=MAX_EVALUATIONS,
    )
    chosen = {n: start[n] * float(np.exp(x)) for n, x in zip(names, solution.x, strict=True)}
    slopes = jacobian(solution.x)
    precision = np.linalg.inv(slopes.T @ slopes)
    narrowed = 1 - np.sqrt(np.diag(precision)) / deviations
    seen = {name: float(max(0.0, s)) for name, s in zip(names, narrowed, strict=True)}
    remaining = zip(cases, errors(solution.x[None, :]), strict=True)
    left = {timed.case.name: float(np.sqrt(np.mean(error**2))) for timed, error in remaining}
    return Calibration({**start, **chosen}, seen, left)


def _errors(timed: TimedCase, program: RationalProgram, constants: Mapping[str, object]) -> Floats:
    """Logarithm of predicted over measured: a column per block, a row per point of constants."""
    predicted = evaluate(program, point({}, timed.case.extents) | dict(constants))[TIME]
    result: Floats = np.log(predicted / np.array(timed.microseconds))
    return result


def _weights(timed: TimedCase) -> Floats:
    """Every case counts the same, blocks near its best more than others."""
    times = np.array(timed.microseconds)
    weights = times.min() / times
    result: Floats = weights / np.sqrt(np.sum(weights**2))
    return result

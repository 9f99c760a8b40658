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
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from cutune.measure.calibration.suite import MicroBenchmark
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.performance.definitions import TIME
from cutune.model.performance.mechanistic import compose
from cutune.model.rational.program import RationalProgram, evaluate, point
from cutune.toolchain.device.profile import DeviceProfile, ModelConstants

GUIDE = "CUDA C++ Programming Guide, throughput of arithmetic instructions"

#: FP64 results per cycle and SM, by compute capability (the guide's table); all others have two.
DOUBLE_LANES = {(6, 0): 32, (6, 1): 4, (7, 0): 32, (8, 0): 32, (9, 0): 64, (10, 0): 64}
DOUBLE_LANES_OTHERWISE = 2
#: Special functions per cycle and SM.
SPECIAL_LANES, SPECIAL_LANES_OTHERWISE = {(6, 1): 32}, 16
LANES = 32


@dataclass(frozen=True)
class Belief:
    """A value, the standard deviation of its logarithm, and where it comes from."""

    value: Fraction
    deviation: float
    source: str


def beliefs(compute_capability: tuple[int, int], clock_ghz: Fraction) -> dict[str, Belief]:
    double = DOUBLE_LANES.get(compute_capability, DOUBLE_LANES_OTHERWISE)
    special = SPECIAL_LANES.get(compute_capability, SPECIAL_LANES_OTHERWISE)
    typical, wide = "typical of GPUs since Volta", 0.7
    cycle_us = 1 / (1000 * clock_ghz)
    rows: dict[str, tuple[int | Fraction, float, str]] = {
        "load_cycles_per_wavefront": (1, wide, "one wavefront a cycle"),
        "shared_cycles_per_wavefront": (1, 0.2, "32 banks of 4 bytes a cycle"),
        "cycles_per_request": (1, wide, typical),
        "store_cycles_per_sector": (2, wide, "16 bytes a cycle and SM"),
        "cycles_per_missed_sector": (1, wide, "32 bytes a cycle and SM"),
        "cycles_per_rewritten_sector": (1, wide, "32 bytes a cycle and SM"),
        "issue_per_cycle": (4, 0.15, "four schedulers, one instruction each"),
        "double_cycles": (Fraction(LANES, double), 0.3, GUIDE),
        "special_cycles": (Fraction(LANES, special), 0.3, GUIDE),
        "barrier_cycles": (1, wide, typical),
        "dispatch_us_per_block": (
            Fraction(12, 10) * cycle_us,
            wide,
            "one block per 1.2 cycles, whole GPU",
        ),
        "block_granularity": (Fraction(1, 4), wide, typical),
        "block_granularity_dram": (Fraction(1, 2), wide, typical),
        "rows_doubled": (Fraction(1, 100), wide, typical),
        "launch_us": (Fraction(3, 2), wide, typical),
        "floor_us": (Fraction(42, 10), wide, "launches of a host loop in C++"),
        "latency_cycles_start": (250, wide, typical),
        "latency_cycles_per_step": (40, wide, "a hit in L1"),
        "latency_cycles_per_miss": (250, wide, "a hit in L2"),
        "latency_cycles_dram": (300, wide, "DRAM behind L2"),
        "latency_cycles_per_slot": (2, wide, "dependent instructions, 4 cycles"),
        "latency_cycles_per_barrier": (30, wide, typical),
        "resident_vector_bytes": (32768, wide, "a fraction of L1"),
        "l2_share_kept": (Fraction(35, 100), 0.15, "arrays and what wrote them share the cache"),
        "l2_share_lost": (Fraction(15, 100), 0.3, typical),
        "dram_efficiency": (Fraction(92, 100), 0.05, "copies of large arrays"),
        "atomic_us_same_address": (Fraction(36, 10) * cycle_us, wide, "3.6 cycles on one address"),
        "atomic_us_integer": (Fraction(15, 10) * cycle_us, wide, "1.5 cycles on one address"),
        "uniform_cycles": (20, wide, "a constant cache that misses"),
    }
    return {name: Belief(Fraction(v), wide, text) for name, (v, wide, text) in rows.items()}


def prior_constants(compute_capability: tuple[int, int], clock_ghz: Fraction) -> ModelConstants:
    known = beliefs(compute_capability, clock_ghz)
    return ModelConstants(**{name: belief.value for name, belief in known.items()})


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
        return float(np.median(list(self.errors.values())))


def fit_constants(
    cases: Sequence[TimedCase], device: DeviceProfile, prior: Mapping[str, Belief]
) -> Calibration:
    """Fit all constants at once. `device`: the GPU's limits and rates."""
    start = {name: float(belief.value) for name, belief in prior.items()}
    names = [name for name in start if name not in FIXED]
    deviations = np.array([prior[name].deviation for name in names])
    programs = [compose(case.model, device, symbolic=True) for case in cases]

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

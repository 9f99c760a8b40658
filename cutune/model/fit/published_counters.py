"""The published way of fitting, for comparison (`--fit paper`): counters per warp as P / Q.

Takes launches at the paper's training sizes (powers of two up to 512, every block). Gives the
counters that MWP-CWP reads, per warp, or a rational function of size and block for each counter;
Table 2 compares both. Follows the technique's section on estimation, as its tool carries it out:

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
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import scipy  # loads its parts where they are used first

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.model.fit.fitted_model import PublishedCounts
from cutune.model.measurement.measurement import MeasuredKernel, Measurement, Measurements, Purpose
from cutune.model.rational.functions import (
    Floats,
    Monomials,
    Names,
    Points,
    RationalFunction,
    constant_function,
    monomials,
)
from cutune.toolchain.device.thread_block import Block

LARGEST_DEGREE = 5
#: Unknowns up to which systems are solved: ever larger ones take minutes and gain nothing.
LARGEST_SYSTEM = 64
#: Largest accepted training error: root mean square error relative to the mean.
ACCEPTED = 1.0
#: Training error at which no more unknowns are tried.
PERFECT = 1e-12


def fit_paper(variables: Names, points: Points, values: Sequence[float]) -> RationalFunction:
    """The quotient with the least training error; the mean where none is accepted."""
    targets = np.array(values, dtype=np.float64)
    if np.all(targets == targets[0]):
        return constant_function(variables, Fraction(float(targets[0])))
    sizes = np.array(points, dtype=np.float64)
    best: RationalFunction | None = None
    width = len(variables)
    for step in range(LARGEST_DEGREE * width + 1):
        # All monomials within the bounds of a step: each step raises one variable's bound.
        bounds = (step // width + (variable < step % width) for variable in range(width))
        exponents = list(product(*(range(bound + 1) for bound in bounds)))
        if 2 * len(exponents) > min(len(points), LARGEST_SYSTEM):
            break
        columns = monomials(sizes, exponents)
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


def _solved(
    variables: Names, exponents: Monomials, columns: Floats, targets: Floats, index: int
) -> RationalFunction | None:
    """Least squares with one coefficient of the denominator set to 1."""
    width = len(exponents)
    rows = np.hstack([columns, -targets[:, None] * columns])
    rows[0] = 0.0
    rows[0, width + index] = 1.0
    right = np.zeros(len(targets))
    right[0] = 1.0
    least = np.finfo(np.float64).eps
    solution, _, rank, _ = scipy.linalg.lstsq(rows, right, cond=least, lapack_driver="gelss")
    with np.errstate(all="ignore"):
        predicted = (columns @ solution[:width]) / (columns @ solution[width:])
        error = float(np.sqrt(np.mean((predicted - targets) ** 2)) / abs(targets.mean()))
    if not np.isfinite(error):
        return None
    top, bottom = (
        tuple((e, Fraction(float(c))) for e, c in zip(exponents, part, strict=True) if c)
        for part in (solution[:width], solution[width:])
    )
    unknowns = 2 * width - 1
    return RationalFunction(top, bottom, False, error, error, int(rank) - 1, unknowns, variables)


COUNTERS = ("issued", "memory", "uncoalesced", "scattered", "sectors", "barriers")
AXES = ("block_x", "block_y", "block_z")


@dataclass(frozen=True)
class TrainingCounters:
    """Counters of one launch at `size`, per warp, by the names in `COUNTERS`."""

    size: int
    block: Block
    values: dict[str, float]


def training_counters(kernel: MeasuredKernel, measured: Measurements) -> list[TrainingCounters]:
    return [
        TrainingCounters(dict(m.sizes)[kernel.variables[0]], m.block, _per_warp(kernel, m))
        for m in measured
        if m.purpose == Purpose.TRAINING
    ]


def _per_warp(kernel: MeasuredKernel, measurement: Measurement) -> dict[str, float]:
    """The counters of a full warp of working threads: totals over lanes by working threads."""
    working = max(1, measurement.working_threads)
    values = dict.fromkeys(COUNTERS, 0.0)
    for lanes, block in zip(measurement.lanes, kernel.code_blocks, strict=True):
        values["issued"] += lanes * block.instructions / working
        values["barriers"] += lanes * block.barriers / working
    for memory, site in zip(kernel.memory, measurement.sites, strict=True):
        if memory.shared:
            continue
        trips = site.lanes / working
        sectors = site.sectors / site.traced if site.traced else 0.0
        values["memory"] += trips
        values["sectors"] += trips * sectors
        if sectors > memory.bytes:
            values["uncoalesced"] += trips
            values["scattered"] += trips * sectors
    return values


def fit_published(kernel: MeasuredKernel, measured: Measurements) -> PublishedCounts | Diagnostic:
    """One function per counter, of the first size and the block's free dimensions."""
    launches = training_counters(kernel, measured)
    if not launches:
        return Diagnostic.at(Code.NO_MEASUREMENTS, kernel=kernel.name)
    axes = [axis for axis, free in enumerate(kernel.free) if free]
    variables = (kernel.variables[0], *(AXES[axis] for axis in axes))
    points = [(one.size, *(one.block[axis] for axis in axes)) for one in launches]
    return PublishedCounts(
        *(fit_paper(variables, points, [one.values[name] for one in launches]) for name in COUNTERS)
    )

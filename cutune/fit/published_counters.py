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
from dataclasses import dataclass

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.device.thread_block import Block
from cutune.fit.fitted_model import PublishedCounts
from cutune.fit.measurement.measurement import TRAINING, MeasuredKernel, Measurement
from cutune.fit.rational.published_fit import fit_paper

COUNTERS = ("issued", "memory", "uncoalesced", "scattered", "sectors", "barriers")
AXES = ("block_x", "block_y", "block_z")


@dataclass(frozen=True)
class TrainingCounters:
    """Counters of one launch at `size`, per warp, by the names in `COUNTERS`."""

    size: int
    block: Block
    values: dict[str, float]


def training_counters(
    kernel: MeasuredKernel, measured: Sequence[Measurement]
) -> list[TrainingCounters]:
    return [
        TrainingCounters(dict(m.sizes)[kernel.variables[0]], m.block, _per_warp(kernel, m))
        for m in measured
        if m.purpose == TRAINING
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


def fit_published(
    kernel: MeasuredKernel, measured: Sequence[Measurement]
) -> PublishedCounts | Diagnostic:
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

"""Cycles per warp of the schedulers and the arithmetic units of an SM.

Takes the features of a kernel, defines cycles per warp. There are two regimes: each thread has its
own work, or the threads of a block share its work because the number of blocks is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from cutune.device.thread_block import WARP
from cutune.fit.fitted_model import BARRIER, FIXED, ISSUE, STEP, in_single_precision
from cutune.fit.rational.nodes import (
    CANDIDATE,
    Expression,
    Lookup,
    Reference,
    maximum,
    minimum,
    norm,
)
from cutune.models.constants import (
    NEARLY_NONE,
    READS_IN_STEP,
    SIDE_BY_SIDE,
    THREADS_IN_STEP,
    UNDISTURBED_WARPS,
)
from cutune.models.features import Features


def define_issue(features: Features, resident_warps: Sequence[int]) -> Expression:
    """Defines `warp_issue_cycles`, `slots`, `barriers` and, where the grid is kept, these per warp.

    `resident_warps`: warps of an SM by candidate.
    """
    model, lines = features.model, features.lines
    slots = lines.define("slots", features.per_thread(model.instructions))
    units = features.constant("double_cycles") * features.per_thread(model.double)
    units = units + features.constant("special_cycles") * features.per_thread(model.special)
    barriers = lines.define("barriers", features.per_thread(model.barriers))
    if features.keeps_grid:
        issue = _of_shared_work(features, slots, units, barriers)
    else:
        issue = _of_own_work(features, slots, units, barriers, resident_warps)
    return lines.define("warp_issue_cycles", issue)


def _of_own_work(
    features: Features,
    slots: Expression,
    units: Expression,
    barriers: Expression,
    resident_warps: Sequence[int],
) -> Expression:
    """(slots and units) * unevenness + reads of constants + barriers."""
    issue = _joined(features, slots, units) * features.only(ISSUE)
    if not features.model.constants.is_zero:
        issue = issue + _of_constant_reads(features, resident_warps)
    if features.has_barriers:
        cost = features.lines.define("barrier_cost", barriers * features.constant("barrier_cycles"))
        issue = issue + cost * features.only(BARRIER)
    return issue


def _of_shared_work(
    features: Features, slots: Expression, units: Expression, barriers: Expression
) -> Expression:
    """(slots and units) + barriers, where the warps of a block share a given amount of work."""

    def of_warp(name: str, kind: str, count: Expression) -> Expression:
        total = count * features.only(kind) + features.only(f"{kind}{FIXED}")
        return features.lines.define(name, total)

    units = units * features.only(ISSUE)
    slots = of_warp("warp_slots", ISSUE, slots)
    barriers = of_warp("warp_barriers", BARRIER, barriers)
    of_warp("warp_steps", STEP, Reference("steps"))
    return _joined(features, slots, units) + barriers * features.constant("barrier_cycles")


def _joined(features: Features, slots: Expression, units: Expression) -> Expression:
    """Schedulers and arithmetic units side by side."""
    plain = maximum(NEARLY_NONE, slots / features.constant("issue_per_cycle"))
    joined = norm(SIDE_BY_SIDE, plain, maximum(NEARLY_NONE, units))
    return features.lines.define("issue_cycles", joined)


def _of_constant_reads(features: Features, resident_warps: Sequence[int]) -> Expression:
    """Cycles of uniform reads of constant memory: they miss if warps of an SM are not in step.

    The warps of a block start in step. They stay in step for a number of reads, which
    `docs/model.md` has as a formula.
    """
    lines = features.lines
    reads = lines.define("uniform_reads", features.per_thread(features.model.constants))
    in_step = THREADS_IN_STEP * reads / (reads + READS_IN_STEP)
    lines.define("threads_in_step", maximum(1, in_step))
    ratio = lines.define("step_ratio", Reference("threads") / Reference("threads_in_step"))
    square = lines.define("step_ratio_2", ratio * ratio)
    fourth = lines.define("step_ratio_4", square * square)
    lines.tables["at_once"] = in_single_precision(resident_warps)
    warps = Reference("working") / (WARP * features.device.sm_count)
    warps = minimum(warps, Lookup("at_once", Reference(CANDIDATE)))
    crowd = minimum(1, maximum(0, warps / UNDISTURBED_WARPS - 1))
    cost = lines.define("uniform_cost", reads * features.constant("uniform_cycles"))
    return cost * crowd / (1 + fourth * fourth)

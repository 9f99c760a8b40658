"""Cycles in which a warp keeps the schedulers and the arithmetic units of an SM busy."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from cutune.device.thread_block import WARP
from cutune.fit.fitted_model import BARRIER, FIXED, ISSUE, STEP, in_single_precision
from cutune.fit.rational.functions import RationalFunction
from cutune.fit.rational.program import (
    CANDIDATE,
    Expression,
    Lookup,
    Parameter,
    maximum,
    minimum,
    norm,
)
from cutune.models.features import Features

#: Threads of a block whose warps stay together in a table, however long it is, and the reads after
#: which that is half as many; so few warps of an SM do not disturb each other. Rounded from walks
#: through tables of 32 to 10,000 elements on an H200.
TOGETHER, READS_TOGETHER, FEW_WARPS = 700, 300, 16
TINY = Fraction(1, 1000)


def issue_cycles(features: Features, keeps_grid: bool, warps_at_once: Sequence[int]) -> Expression:
    """Cycles per warp; defines `slots`, `barriers` and, where the grid is kept, these per warp.

    `warps_at_once`: warps of an SM by candidate.
    """
    model, lines = features.model, features.lines
    slots = lines.define("slots", features.per_thread(model.instructions))
    units = _units(features, model.double, "double_cycles")
    units = units + _units(features, model.special, "special_cycles")
    barriers = lines.define("barriers", features.per_thread(model.barriers))
    if keeps_grid:
        return _shared_out(features, slots, units * features.only(ISSUE), barriers)
    issue = _joined(features, slots, units) * features.only(ISSUE)
    issue = _with_constants(features, issue, warps_at_once)
    if features.has_barriers:
        cost = lines.define("barrier_cost", barriers * features.constant("barrier_cycles"))
        issue = issue + cost * features.only(BARRIER)
    return issue


def _units(features: Features, count: RationalFunction, constant: str) -> Expression:
    return features.constant(constant) * features.per_thread(count)


def _joined(features: Features, slots: Expression, units: Expression) -> Expression:
    plain = maximum(TINY, slots / features.constant("issue_per_cycle"))
    joined = norm(3, plain, maximum(TINY, units))
    return features.lines.define("issue_cycles", joined)


def _with_constants(
    features: Features, issue: Expression, warps_at_once: Sequence[int]
) -> Expression:
    """More where uniform reads of constant memory miss, because warps are apart.

    Large blocks start their warps together and keep them so, up to some number of reads.
    """
    model, lines = features.model, features.lines
    if not any(c.numerator for _, c in model.constants.numerator.terms):
        return issue
    reads = lines.define("uniform_reads", features.per_thread(model.constants))
    lines.define("together", maximum(1, TOGETHER * reads / (reads + READS_TOGETHER)))
    ratio = lines.define("threads_apart", Parameter("threads") / Parameter("together"))
    square = lines.define("apart_2", ratio * ratio)
    fourth = lines.define("apart_4", square * square)
    lines.tables["at_once"] = in_single_precision(warps_at_once)
    warps = Parameter("working") / (WARP * features.device.sm_count)
    warps = minimum(warps, Lookup("at_once", Parameter(CANDIDATE)))
    crowd = minimum(1, maximum(0, warps / FEW_WARPS - 1))
    cost = lines.define("uniform_cost", reads * features.constant("uniform_cycles"))
    return issue + cost * crowd / (1 + fourth * fourth)


def _shared_out(
    features: Features, slots: Expression, units: Expression, barriers: Expression
) -> Expression:
    """The same where the threads of a block share its work, however many they are."""

    def grown(name: str, kind: str, count: Expression) -> Expression:
        total = count * features.only(kind) + features.only(f"{kind}{FIXED}")
        return features.lines.define(name, total)

    slots = grown("warp_slots", ISSUE, slots)
    barriers = grown("warp_barriers", BARRIER, barriers)
    grown("warp_steps", STEP, Parameter("steps"))
    return _joined(features, slots, units) + barriers * features.constant("barrier_cycles")

"""The time that the SMs take for a launch: their throughput, and the latency of their warps.

Takes the features of a kernel and the cycles that a warp costs its SM, gives microseconds;
`docs/model.md` has the terms as formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log2

from cutune.device.thread_block import Block
from cutune.fit.fitted_model import ISSUE, in_single_precision
from cutune.fit.rational.nodes import (
    CANDIDATE,
    Expression,
    Lookup,
    Reference,
    ceiling,
    choice,
    expression,
    less_equal,
    maximum,
    minimum,
    norm,
)
from cutune.models.constants import IN_PHASES, PLANES_DOUBLED, SIDE_BY_SIDE
from cutune.models.features import Features
from cutune.models.thread_space import define_warps_on_sm


def define_rows_factor(features: Features) -> Expression | None:
    """Defines a factor on the memory cost of blocks with several rows: these are far apart.

    Planes cost more, because they lie in other pages too. None, for no such factor: the kernel has
    a loop, or all candidates have one row.
    """
    doublings = [_doublings(block) for block in features.model.blocks]
    if features.model.looped or not any(doublings):
        return None
    features.lines.tables["doublings"] = in_single_precision(doublings)
    share = features.constant("rows_doubled") * Lookup("doublings", Reference(CANDIDATE))
    return features.lines.define("rows_factor", 1 + share)


def _doublings(block: Block) -> float:
    _, rows, planes = block
    return log2(rows) + PLANES_DOUBLED * log2(planes)


def with_rows(cost: Expression, rows: Expression | None) -> Expression:
    """A cost of memory times the factor for rows, where there is one."""
    return cost if rows is None else cost * rows


def _waiting(
    features: Features, latency: Expression, cycles: Expression, rounds: Expression
) -> Expression:
    """Cycles that an SM waits for its warps, by how blocks follow each other on it.

    - No loop: warps are short, and a block frees its resources only when all of its warps end.
      More, the larger the share of an SM that a block holds.
    - A loop: blocks take equally long and end together, so a partial last wave counts whole.
    - A loop with barriers: the warps of a block wait for each other, so their work adds up.

    Args:
        latency: cycles of a warp alone.
        cycles: cycles that a warp costs its SM.
        rounds: warps of the SM by those that are resident at a time, at least 1.
    """
    if not features.model.looped:
        return (latency + cycles) * rounds * _turnover(features)
    if features.has_barriers:
        cycles = cycles * Reference("warps")
    return (latency + cycles) * maximum(rounds, ceiling(Reference("blocks") / Reference("wave")))


def _turnover(features: Features) -> Expression:
    """1 + h/A with A resident blocks; h grows with the share of traffic that DRAM serves."""
    constant, lines = features.constant, features.lines
    loss = constant("block_granularity")
    loss = loss + Reference("dram_share") * constant("block_granularity_dram")
    loss = lines.define("turnover_loss", loss)
    return lines.define("turnover_factor", 1 + loss * Lookup("turnover", Reference(CANDIDATE)))


def define_busy(features: Features, rows: Expression | None, cycles: Expression) -> Reference:
    """Defines `busy_us`: microseconds of the SM with the most work.

    `rows`: the factor for rows; `cycles`: what a warp costs its SM.
    """
    lines = features.lines
    one_wave = less_equal(Reference("blocks"), Reference("wave"))
    warps = define_warps_on_sm(features, one_wave)
    rounds = maximum(1, warps * Lookup("share", Reference(CANDIDATE)))
    latency = _latency(features, rows, one_wave)
    waiting = _waiting(features, latency, cycles, rounds)
    throughput = lines.define("throughput_cycles", cycles * warps)
    waiting = lines.define("waiting_cycles", waiting)
    busy = norm(IN_PHASES if features.in_phases else SIDE_BY_SIDE, throughput, waiting)
    return lines.define("busy_us", busy * (1 / (features.device.clock_ghz * 1000)))


@dataclass(frozen=True)
class _Warp:
    """A warp alone: load steps, their cycles if they hit L1, and the cycles of all else."""

    steps: Expression
    hits: Expression
    instructions: Expression


def _latency(features: Features, rows: Expression | None, one_wave: Expression) -> Expression:
    """Cycles that a warp alone would take.

    start + instructions + (hits + misses) * last
    """
    lines, constant = features.lines, features.constant
    warp = _warp(features)
    fixed = lines.define("latency_fixed", constant("latency_cycles_start") + warp.instructions)
    miss = constant("latency_cycles_dram") * Reference("dram_misses")
    miss = lines.define("miss_latency", constant("latency_cycles_per_miss") + miss)
    missing = _missing_steps(features)
    hits = lines.define("steps_latency", warp.hits)
    loads = hits + with_rows(miss, rows) * minimum(warp.steps, missing)
    return lines.define("latency_cycles", fixed + _of_last_warp(features, loads, one_wave))


def _warp(features: Features) -> _Warp:
    """The work of a warp: that of a thread, times the feature `issue`, or counted per warp."""
    if features.keeps_grid:
        return _counted(features, "warp_")
    warp, share = _counted(features, ""), features.only(ISSUE)
    if share == expression(1):
        return warp
    steps = features.lines.define("warp_steps", warp.steps * share)
    return _Warp(steps, warp.hits * share, warp.instructions * share)


def _counted(features: Features, prefix: str) -> _Warp:
    constant, steps = features.constant, Reference(f"{prefix}steps")
    slots = constant("latency_cycles_per_slot") * Reference(f"{prefix}slots")
    barriers = constant("latency_cycles_per_barrier") * Reference(f"{prefix}barriers")
    return _Warp(steps, constant("latency_cycles_per_step") * steps, slots + barriers)


def _missing_steps(features: Features) -> Expression:
    """Load steps of a warp in which its block misses L1."""
    missing = expression(0)
    for index, column in features.filled(("missing",)):
        cell = features.cell(index, column)
        missing = missing + Reference(f"trips_{column.group}") * cell
    return missing * Reference("still_missing")


def _of_last_warp(features: Features, loads: Expression, one_wave: Expression) -> Expression:
    """Cycles of loads of the warp that the others wait for.

    - Data-dependent kernel: the busiest warp of a block; if all blocks run at once, of the launch.
    - Loop with barriers: the busiest warp of a block.
    - Otherwise all warps do the same.
    """
    if features.model.kernel.on_data:
        columns = [column for column in features.model.columns if column.kind == "busiest"]
        most = max((value for column in columns for value in column.values), default=1.0)
        return loads * choice(one_wave, Fraction(most), features.only("busiest"))
    if features.in_phases:
        return loads * features.only("busiest")
    return loads

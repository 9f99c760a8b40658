"""How long the SMs are busy with a launch: their throughput, and the latency of their warps.

Takes the features of a kernel and the cycles that a warp costs its SM, gives microseconds. Kernels
differ in how their blocks follow each other on an SM. Each class here is one such regime: a sum of
terms, which `docs/model.md` has as formulas.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import log2
from typing import ClassVar

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


@dataclass(frozen=True)
class Regime(ABC):
    """How blocks follow each other on an SM."""

    #: The norm that joins throughput and waiting.
    power: ClassVar[int] = SIDE_BY_SIDE

    def of_memory(self, cost: Expression) -> Expression:
        """A cost of memory, in this regime."""
        return cost

    @abstractmethod
    def waiting(self, latency: Expression, cycles: Expression, rounds: Expression) -> Expression:
        """Cycles that an SM waits for its warps.

        Args:
            latency: cycles of a warp alone.
            cycles: cycles that a warp costs its SM.
            rounds: warps of the SM by those that are resident at a time, at least 1.
        """


@dataclass(frozen=True)
class Straight(Regime):
    """No loop: warps are short, and a block frees its resources only when all of its warps end.

    memory * rows, (latency + cycles) * rounds * turnover
    """

    features: Features
    #: Extra cost of memory for blocks of several rows; None where all candidates have one row.
    rows: Expression | None

    def of_memory(self, cost: Expression) -> Expression:
        """More for blocks of several rows."""
        return cost if self.rows is None else cost * self.rows

    def waiting(self, latency: Expression, cycles: Expression, rounds: Expression) -> Expression:
        """More, the larger the share of an SM that a block holds."""
        return (latency + cycles) * rounds * self._turnover()

    def _turnover(self) -> Expression:
        """1 + h/A with A resident blocks; h grows with the share of traffic that DRAM serves."""
        constant, lines = self.features.constant, self.features.lines
        loss = constant("block_granularity")
        loss = loss + Reference("dram_share") * constant("block_granularity_dram")
        loss = lines.define("turnover_loss", loss)
        return lines.define("turnover_factor", 1 + loss * Lookup("turnover", Reference(CANDIDATE)))


@dataclass(frozen=True)
class Looped(Regime):
    """A loop: blocks take equally long and end together, so a partial last wave counts whole.

    (latency + cycles) * max(rounds, waves)
    """

    def waiting(self, latency: Expression, cycles: Expression, rounds: Expression) -> Expression:
        """All waves count whole."""
        return (latency + cycles) * _whole_waves(rounds)


@dataclass(frozen=True)
class Phased(Regime):
    """A loop with barriers: the warps of a block wait for each other at each of them.

    (latency + cycles * warps of a block) * max(rounds, waves)
    """

    power = IN_PHASES

    def waiting(self, latency: Expression, cycles: Expression, rounds: Expression) -> Expression:
        """The work of a block's warps adds up."""
        return (latency + cycles * Reference("warps")) * _whole_waves(rounds)


def regime_of(features: Features) -> Regime:
    """The regime of a kernel."""
    if not features.model.looped:
        return Straight(features, _rows_factor(features))
    return Phased() if features.has_barriers else Looped()


def _rows_factor(features: Features) -> Expression | None:
    """Factor on the memory cost of blocks with several rows: rows are far apart in memory.

    Planes cost more, because they lie in other pages too. None: all candidates have one row.
    """
    doublings = [_doublings(block) for block in features.model.blocks]
    if not any(doublings):
        return None
    features.lines.tables["doublings"] = in_single_precision(doublings)
    share = features.constant("rows_doubled") * Lookup("doublings", Reference(CANDIDATE))
    return features.lines.define("rows_factor", 1 + share)


def _doublings(block: Block) -> float:
    _, rows, planes = block
    return log2(rows) + PLANES_DOUBLED * log2(planes)


def _whole_waves(rounds: Expression) -> Expression:
    return maximum(rounds, ceiling(Reference("blocks") / Reference("wave")))


def define_busy(features: Features, regime: Regime, cycles: Expression) -> Reference:
    """Defines `busy_us`: microseconds of the SM with the most work.

    Args:
        cycles: cycles that a warp costs its SM.
    """
    lines = features.lines
    one_wave = less_equal(Reference("blocks"), Reference("wave"))
    warps = define_warps_on_sm(features, one_wave)
    rounds = maximum(1, warps * Lookup("share", Reference(CANDIDATE)))
    latency = _latency(features, regime, one_wave)
    waiting = regime.waiting(latency, cycles, rounds)
    throughput = lines.define("throughput_cycles", cycles * warps)
    waiting = lines.define("waiting_cycles", waiting)
    busy = norm(regime.power, throughput, waiting)
    return lines.define("busy_us", busy * (1 / (features.device.clock_ghz * 1000)))


@dataclass(frozen=True)
class _Warp:
    """A warp alone: load steps, their cycles if they hit L1, and the cycles of all else."""

    steps: Expression
    hits: Expression
    instructions: Expression


def _latency(features: Features, regime: Regime, one_wave: Expression) -> Expression:
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
    loads = hits + regime.of_memory(miss) * minimum(warp.steps, missing)
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
        last = choice(one_wave, expression(Fraction(_busiest(features))), features.only("busiest"))
        return loads * last
    if features.in_phases:
        return loads * features.only("busiest")
    return loads


def _busiest(features: Features) -> float:
    """The largest feature `busiest` of all classes and candidates."""
    columns = features.model.columns
    busiest = (v for column in columns if column.kind == "busiest" for v in column.values)
    return max(busiest, default=1.0)

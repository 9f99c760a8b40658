"""Constants of a GPU before anything is timed, each with its source.

Published figures where there are some; for the rest the values of an H200, which in cycles are
about the same on every GPU since Volta.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from cutune.device.profile import ModelConstants

GUIDE = "CUDA C++ Programming Guide, throughput of arithmetic instructions"

#: FP64 results per cycle and SM, by compute capability (the guide's table).
DOUBLE_LANES = {
    (6, 0): 32,
    (6, 1): 4,
    (7, 0): 32,
    (7, 5): 2,
    (8, 0): 32,
    (8, 6): 2,
    (8, 7): 2,
    (8, 9): 2,
    (9, 0): 64,
    (10, 0): 64,
    (12, 0): 2,
}
#: Special functions per cycle and SM.
SPECIAL_LANES = {(6, 0): 16, (6, 1): 32}
SPECIAL_LANES_OTHERWISE = 16
LANES = 32


@dataclass(frozen=True)
class Belief:
    """A value, the standard deviation of its logarithm, and where it comes from."""

    value: Fraction
    deviation: float
    source: str


def beliefs(compute_capability: tuple[int, int], clock_ghz: Fraction) -> dict[str, Belief]:
    """The prior of every constant."""
    double = DOUBLE_LANES.get(compute_capability, 2)
    special = SPECIAL_LANES.get(compute_capability, SPECIAL_LANES_OTHERWISE)
    typical = "typical of GPUs since Volta"
    wide = 0.7
    return {
        "load_cycles_per_wavefront": Belief(Fraction(1), wide, "one wavefront a cycle"),
        "shared_cycles_per_wavefront": Belief(Fraction(1), 0.2, "32 banks of 4 bytes a cycle"),
        "cycles_per_request": Belief(Fraction(1), wide, typical),
        "store_cycles_per_sector": Belief(Fraction(2), wide, "16 bytes a cycle and SM"),
        "cycles_per_missed_sector": Belief(Fraction(1), wide, "32 bytes a cycle and SM"),
        "cycles_per_rewritten_sector": Belief(Fraction(1), wide, "32 bytes a cycle and SM"),
        "issue_per_cycle": Belief(Fraction(4), 0.15, "four schedulers, one instruction each"),
        "double_cycles": Belief(Fraction(LANES, double), 0.3, GUIDE),
        "special_cycles": Belief(Fraction(LANES, special), 0.3, GUIDE),
        "barrier_cycles": Belief(Fraction(1), wide, typical),
        "dispatch_us_per_block": Belief(
            Fraction(12, 10_000) / clock_ghz, wide, "one block per 1.2 cycles, whole GPU"
        ),
        "block_granularity": Belief(Fraction(1, 4), wide, typical),
        "block_granularity_dram": Belief(Fraction(1, 2), wide, typical),
        "rows_doubled": Belief(Fraction(1, 100), wide, typical),
        "launch_us": Belief(Fraction(3, 2), wide, typical),
        "floor_us": Belief(Fraction(42, 10), wide, "launches of a host loop in C++"),
        "latency_cycles_start": Belief(Fraction(250), wide, typical),
        "latency_cycles_per_step": Belief(Fraction(40), wide, "a hit in L1"),
        "latency_cycles_per_miss": Belief(Fraction(250), wide, "a hit in L2"),
        "latency_cycles_dram": Belief(Fraction(300), wide, "DRAM behind L2"),
        "latency_cycles_per_slot": Belief(Fraction(2), wide, "dependent instructions, 4 cycles"),
        "latency_cycles_per_barrier": Belief(Fraction(30), wide, typical),
        "resident_vector_bytes": Belief(Fraction(32768), wide, "a fraction of L1"),
        "l2_share_kept": Belief(
            Fraction(35, 100), 0.15, "arrays and what wrote them share the cache"
        ),
        "l2_share_lost": Belief(Fraction(15, 100), 0.3, typical),
        "dram_efficiency": Belief(Fraction(92, 100), 0.05, "copies of large arrays"),
        "atomic_us_same_address": Belief(
            Fraction(36, 10_000) / clock_ghz, wide, "3.6 cycles on one address"
        ),
        "atomic_us_integer": Belief(
            Fraction(15, 10_000) / clock_ghz, wide, "1.5 cycles on one address"
        ),
        "uniform_cycles": Belief(Fraction(20), wide, "a constant cache that misses"),
    }


def prior_constants(compute_capability: tuple[int, int], clock_ghz: Fraction) -> ModelConstants:
    """The values alone."""
    known = beliefs(compute_capability, clock_ghz)
    return ModelConstants(**{name: belief.value for name, belief in known.items()})

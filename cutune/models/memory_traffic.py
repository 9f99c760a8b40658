"""What a warp asks of memory: of the load/store unit, of what lies beyond L1, and of DRAM.

Takes the features of a kernel; reads `working`, `trips_*`, `array_bytes_*` and `blocks`. Defines
what the demand of a warp, its latency, and the time of what stands beside the SMs (DRAM, atomic
operations) are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import cycle
from math import sqrt

from cutune.device.thread_block import threads_of, warps_of
from cutune.fit.fitted_model import ATOMIC, ATOMIC_REAL, FeatureColumn, in_single_precision
from cutune.fit.rational.program import (
    Expression,
    Parameter,
    choice,
    expression,
    less,
    less_equal,
    maximum,
    minimum,
)
from cutune.models.candidates import Residency
from cutune.models.constants import (
    ALONE_UNMERGED,
    ENDLESS,
    L1_BESIDE_SHARED,
    MERGING_LINES,
    MERGING_WARPS,
    NEARLY_NONE,
)
from cutune.models.features import Features

ATOMIC_COSTS = {ATOMIC: "atomic_us_integer", ATOMIC_REAL: "atomic_us_same_address"}


def define_arrays(features: Features) -> None:
    """How large each array is, and whether it is taken from beyond L1."""
    lines = features.lines
    for index, array in enumerate(features.model.arrays):
        extent = maximum(0, array.extent_bytes.expression())
        extent = lines.define(f"array_bytes_{index}", extent)
        lines.define(f"far_{index}", less(features.constant("resident_vector_bytes"), extent))


def define_footprint(features: Features) -> None:
    """How much of the traffic goes to DRAM, and how long DRAM takes for all of it."""
    lines, device, constant = features.lines, features.device, features.constant
    footprint = traffic = expression(0)
    for index, array in enumerate(features.model.arrays):
        passes = array.is_loaded + array.is_stored
        footprint = footprint + Parameter(f"array_bytes_{index}")
        traffic = traffic + passes * Parameter(f"array_bytes_{index}")
    # What is touched sparsely is less than from its lowest to its highest address.
    missed = maximum(1, Parameter("working") * _typically_missed(features))
    missed = lines.define("missed_bytes", missed)
    whole = lines.define("extent_bytes", maximum(1, footprint))
    footprint = lines.define("footprint_bytes", minimum(whole, missed))
    traffic = lines.define("traffic_bytes", traffic * footprint / whole)
    filled = footprint / device.l2_bytes - constant("l2_share_kept")
    share = minimum(1, maximum(0, filled / constant("l2_share_lost")))
    share = lines.define("dram_share", share)
    rate = device.dram_gbs * 1000 * constant("dram_efficiency")
    lines.define("dram_us", share * traffic / rate)
    # Of what misses L1, the first touch of each byte goes to DRAM; the others find it in L2.
    lines.define("dram_misses", share * minimum(1, traffic / missed))


def define_demand(features: Features, residency: Residency) -> tuple[Expression, Expression]:
    """Defines cycles per warp of the load/store unit, and of the traffic below L1."""
    lines, load = features.lines, expression(0)
    # Where the grid is kept, requests are a column: they do not follow from the trips.
    requests = () if features.keeps_grid else features.model.requests
    for index, count in enumerate(requests):
        load = load + features.constant("cycles_per_request") * count * Parameter(f"trips_{index}")
    load = features.total("load", load, ("request", "load", "shared"))
    store = features.total("store", expression(0), ("store",)) + _rewritten(features, residency)
    store = store + define_missed(features, residency.shared_bytes)
    load_cycles = lines.define("load_cycles", maximum(NEARLY_NONE, load))
    return load_cycles, lines.define("store_cycles", maximum(NEARLY_NONE, store))


def _rewritten(features: Features, residency: Residency) -> Expression:
    """Cycles of stores to sectors on their way to L2, as far as they do not merge there."""
    rewritten = features.filled(("rewritten",))
    if not rewritten:
        return expression(0)
    lines = {c.group: c.values for _, c in features.filled(("rewritten_lines",))}
    most = features.device.limits.warps_per_sm
    started = [warps_of(block) for block in features.model.blocks]
    crowds = [(s, held / most) for s, held in zip(started, residency.warps, strict=True)]
    unmerged = []
    for index, column in rewritten:
        cells = zip(column.values, lines[column.group], cycle(crowds))
        values = [sectors * unmerged_share(touched, *crowd) for sectors, touched, crowd in cells]
        unmerged.append((index, replace(column, values=in_single_precision(values))))
    return features.total_of("rewritten", expression(0), unmerged)


def unmerged_share(lines: float, warps: int, present: float) -> float:
    """Of stores to sectors that the warp has just written in part, the share that costs anew.

    Those to few lines, by few warps at a time, wait for each other on their way to L2 and become
    one. Where few warps are resident, half of the others do, too.

    Args:
        lines: to which such a store goes.
        warps: that start together. present: warps of an SM, by the most that it may have.
    """
    few_lines, few_warps = (
        MERGING_LINES / max(1.0, lines),
        MERGING_WARPS / max(MERGING_WARPS, warps),
    )
    merging = few_lines**2 * sqrt(few_warps)
    cost = float(ALONE_UNMERGED) + float(1 - ALONE_UNMERGED) * present
    return max(0.0, 1 - merging) * cost


def define_missed(features: Features, shared_in_use: int) -> Expression:
    """What misses L1: of an array that fits into it, each byte once per SM that has a block.

    What other blocks of an SM have brought is there. Defines `still_missing`, the share of all that
    a block would miss if it were alone.

    Args:
        shared_in_use: bytes of shared memory of the blocks of an SM.

    Returns:
        Cycles per warp of what is taken from beyond L1.
    """
    lines, device = features.lines, features.device
    l1_bytes = device.limits.shared_bytes_per_sm + L1_BESIDE_SHARED - shared_in_use
    # Where the grid is kept, each block has rows of its own.
    is_shared = not features.keeps_grid
    sms = lines.define("sms", minimum(Parameter("blocks"), device.sm_count))
    cycles = alone = together = expression(0)
    for index in range(len(features.model.arrays)):
        missed = features.missed(index)
        if missed is None:
            continue
        alone = alone + lines.define(f"alone_{index}", missed)
        if is_shared:
            extent = Parameter(f"array_bytes_{index}")
            once = choice(less_equal(extent, l1_bytes), extent / Parameter("working"), ENDLESS)
            once = lines.define(f"once_{index}", once)
            missed = minimum(Parameter(f"alone_{index}"), once * sms)
        still = lines.define(f"still_{index}", missed)
        together = together + still
        cost = features.constant("cycles_per_missed_sector") * Parameter(f"far_{index}")
        cycles = cycles + lines.define(f"far_cycles_{index}", cost) * still
    is_told = is_shared and alone != expression(0)
    lines.define("still_missing", together / maximum(NEARLY_NONE, alone) if is_told else 1)
    return cycles


def _typically_missed(features: Features) -> Expression:
    """Bytes per thread that miss L1, with a block that is neither good nor bad at reuse."""
    columns = [column for column in features.model.columns if column.kind == "missed"]
    cells = range(len(columns[0].values) if columns else 0)
    scale = _thread_scale(features)

    def bytes_of(column: FeatureColumn, cell: int) -> float:
        return column.values[cell] * scale[cell % len(scale)]

    by_reuse = sorted(cells, key=lambda cell: sum(bytes_of(c, cell) for c in columns))
    total = expression(0)
    for column in columns:
        # A sector per warp is a byte per thread.
        typical = Fraction(bytes_of(column, by_reuse[len(by_reuse) // 2]))
        total = total + typical * Parameter(f"trips_{column.group}")
    return total


def _thread_scale(features: Features) -> Sequence[float]:
    """By block: its threads by those of the block that was counted, where the grid is kept."""
    threads = [threads_of(block) for block in features.model.blocks]
    least = min(threads)
    return [t / (least if features.keeps_grid else t) for t in threads]


def beside_sms(features: Features) -> Expression:
    """Time of DRAM, or of the busiest address where atomics meet: one after the other."""
    busiest: Expression = Parameter("dram_us")
    for index, column in enumerate(features.model.columns):
        if column.kind not in ATOMIC_COSTS:
            continue
        operations = maximum(0, features.model.groups[column.group].expression())
        changed = maximum(1, Parameter(f"array_bytes_{column.array}"))
        each = features.constant(ATOMIC_COSTS[column.kind]) * operations / changed
        each = features.lines.define(f"atomic_us_{index}", each)
        busiest = maximum(busiest, each * features.cell(index, column))
    return busiest

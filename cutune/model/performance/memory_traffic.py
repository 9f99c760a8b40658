"""The demand of a warp on memory: on the load/store unit, on the traffic below L1, and on DRAM.

Takes the features of a kernel; reads `working`, `trips_*`, `array_bytes_*` and `blocks`. Defines
the terms of the demand of a warp, of its latency, and of the time outside the SMs (DRAM, atomic
operations).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import cycle
from math import sqrt

from cutune.model.fit.fitted_model import ATOMIC, ATOMIC_REAL, FeatureColumn, in_single_precision
from cutune.model.performance.constants import (
    ALONE_UNMERGED,
    ENDLESS,
    L1_BESIDE_SHARED,
    MERGING_LINES,
    MERGING_WARPS,
    NEARLY_NONE,
)
from cutune.model.performance.definitions import Features, Residency
from cutune.model.rational.program import (
    Expression,
    Reference,
    choice,
    expression,
    less,
    less_equal,
    maximum,
    minimum,
)
from cutune.toolchain.device.thread_block import threads_of, warps_of

ATOMIC_COSTS = {ATOMIC: "atomic_us_integer", ATOMIC_REAL: "atomic_us_same_address"}


def define_arrays(features: Features) -> None:
    """Defines the extent of each array, and whether it is served from below L1."""
    lines = features.lines
    for index, array in enumerate(features.model.arrays):
        extent = maximum(0, array.extent_bytes.expression())
        extent = lines.define(f"array_bytes_{index}", extent)
        lines.define(f"far_{index}", less(features.constant("resident_vector_bytes"), extent))


def define_footprint(features: Features) -> None:
    """Defines the share of the traffic that goes to DRAM, and the time of DRAM for it."""
    lines, device, constant = features.lines, features.device, features.constant
    footprint = traffic = expression(0)
    for index, array in enumerate(features.model.arrays):
        passes = array.is_loaded + array.is_stored
        footprint = footprint + Reference(f"array_bytes_{index}")
        traffic = traffic + passes * Reference(f"array_bytes_{index}")
    # Sparse accesses touch fewer bytes than lie between the lowest and the highest address.
    missed = maximum(1, Reference("working") * _typically_missed(features))
    missed = lines.define("missed_bytes", missed)
    whole = lines.define("extent_bytes", maximum(1, footprint))
    footprint = lines.define("footprint_bytes", minimum(whole, missed))
    traffic = lines.define("traffic_bytes", traffic * footprint / whole)
    filled = footprint / device.l2_bytes - constant("l2_share_kept")
    share = minimum(1, maximum(0, filled / constant("l2_share_lost")))
    share = lines.define("dram_share", share)
    rate = device.dram_gbs * 1000 * constant("dram_efficiency")
    lines.define("dram_us", share * traffic / rate)
    # Of the misses of L1, the first access to each byte goes to DRAM, the others hit L2.
    lines.define("dram_misses", share * minimum(1, traffic / missed))


def define_demand(features: Features, residency: Residency) -> tuple[Expression, Expression]:
    """Defines cycles per warp of the load/store unit, and of the traffic below L1."""
    lines, load = features.lines, expression(0)
    # Where the grid is kept, requests are a column: they do not follow from the trips.
    requests = () if features.keeps_grid else features.model.requests
    for index, count in enumerate(requests):
        load = load + features.constant("cycles_per_request") * count * Reference(f"trips_{index}")
    load = features.total("load", load, features.filled(("request", "load", "shared")))
    store = features.total("store", expression(0), features.filled(("store",)))
    store = store + _rewritten(features, residency)
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
    return features.total("rewritten", expression(0), unmerged)


def unmerged_share(lines: float, warps: int, present: float) -> float:
    """The share of repeated stores to a partly written sector that does not merge.

    A store by a warp that has just written another part of the sector may merge with that on the
    way to L2, and then costs nothing. Stores to few lines by few warps merge. Where no other warp
    is resident, `ALONE_UNMERGED` of the remaining stores cost; where an SM is full, all of them.

    Args:
        lines: 128-byte lines that a store of a warp accesses.
        warps: warps of a block, which start together.
        present: resident warps of an SM, relative to the most that it can have.
    """
    few_lines, few_warps = (
        MERGING_LINES / max(1.0, lines),
        MERGING_WARPS / max(MERGING_WARPS, warps),
    )
    merging = few_lines**2 * sqrt(few_warps)
    cost = float(ALONE_UNMERGED) + float(1 - ALONE_UNMERGED) * present
    return max(0.0, 1 - merging) * cost


def define_missed(features: Features, shared_in_use: int) -> Expression:
    """Cycles per warp of the sectors that miss L1 and are served from below it.

    An array that fits into L1 is read once per SM: other blocks of the SM have loaded it. Defines
    `still_missing`: misses relative to those of a block that runs alone. `shared_in_use`: bytes of
    shared memory of the blocks of an SM.
    """
    lines, device = features.lines, features.device
    l1_bytes = device.limits.shared_bytes_per_sm + L1_BESIDE_SHARED - shared_in_use
    # Where the grid is kept, each block has its own rows.
    is_shared = not features.keeps_grid
    sms = lines.define("sms", minimum(Reference("blocks"), device.sm_count))
    cycles = alone = together = expression(0)
    for index in range(len(features.model.arrays)):
        missed = features.missed(index)
        if missed is None:
            continue
        alone = alone + lines.define(f"alone_{index}", missed)
        if is_shared:
            extent = Reference(f"array_bytes_{index}")
            once = choice(less_equal(extent, l1_bytes), extent / Reference("working"), ENDLESS)
            once = lines.define(f"once_{index}", once)
            missed = minimum(Reference(f"alone_{index}"), once * sms)
        still = lines.define(f"still_{index}", missed)
        together = together + still
        cost = features.constant("cycles_per_missed_sector") * Reference(f"far_{index}")
        cycles = cycles + lines.define(f"far_cycles_{index}", cost) * still
    has_misses = is_shared and alone != expression(0)
    lines.define("still_missing", together / maximum(NEARLY_NONE, alone) if has_misses else 1)
    return cycles


def _typically_missed(features: Features) -> Expression:
    """Bytes per thread that miss L1, with a block of median reuse."""
    columns = [column for column in features.model.columns if column.kind == "missed"]
    cells = range(len(columns[0].values) if columns else 0)
    threads = [threads_of(block) for block in features.model.blocks]
    # Where the grid is kept, by the threads of a block, relative to those of the counted block.
    scale = [t / (min(threads) if features.keeps_grid else t) for t in threads]

    def bytes_of(column: FeatureColumn, cell: int) -> float:
        return column.values[cell] * scale[cell % len(scale)]

    by_reuse = sorted(cells, key=lambda cell: sum(bytes_of(c, cell) for c in columns))
    total = expression(0)
    for column in columns:
        # A sector per warp is a byte per thread.
        typical = Fraction(bytes_of(column, by_reuse[len(by_reuse) // 2]))
        total = total + typical * Reference(f"trips_{column.group}")
    return total


def beside_sms(features: Features) -> Expression:
    """Microseconds of DRAM, or of the busiest address: atomic operations on it are serial."""
    busiest: Expression = Reference("dram_us")
    for index, column in enumerate(features.model.columns):
        if column.kind not in ATOMIC_COSTS:
            continue
        operations = maximum(0, features.model.groups[column.group].expression())
        changed = maximum(1, Reference(f"array_bytes_{column.array}"))
        each = features.constant(ATOMIC_COSTS[column.kind]) * operations / changed
        each = features.lines.define(f"atomic_us_{index}", each)
        busiest = maximum(busiest, each * features.cell(index, column))
    return busiest

"""The mechanistic model: time of one launch from exact address features and device constants.

Takes a `FittedModel` and a `DeviceProfile`, gives a `RationalProgram` over the kernel's data
parameters and thread-space extents, one entry per candidate block. No timing of the kernel enters.

Per warp, the load/store unit, the traffic below L1 and the issue slots are worked in parallel;
per SM, throughput and latency; per GPU, the SMs, DRAM and the dispatcher. Each pair of parallel
resources is joined by a smooth maximum. `docs/model.md` has each term as a formula. A `define_*`
function gives names to terms that others read by these names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from fractions import Fraction
from itertools import cycle
from math import log2, sqrt

from cutune.model.fit.fitted_model import (
    ATOMIC,
    ATOMIC_REAL,
    BARRIER,
    CHAIN,
    FIXED,
    ISSUE,
    SECTOR,
    STEP,
    FeatureColumn,
    FittedModel,
    in_single_precision,
)
from cutune.model.performance import constants
from cutune.model.performance.definitions import (
    ALIGNMENT_CLASS,
    CYCLES_PER_WARP,
    TIME,
    TIME_WITH_FLOOR,
    Features,
    Lines,
    define_grid,
    define_warps_on_sm,
    describe_candidates,
    resident_on,
    resources_of,
)
from cutune.model.performance.rereads import Rereads, define_rereads
from cutune.model.rational.program import (
    CANDIDATE,
    TERM,
    Expression,
    Lookup,
    RationalProgram,
    Reference,
    ceiling,
    choice,
    expression,
    less,
    less_equal,
    maximum,
    minimum,
    norm,
)
from cutune.toolchain.device.profile import DeviceProfile, ModelConstants
from cutune.toolchain.device.thread_block import WARP, threads_of, warps_of

# ---- memory: the load/store unit, the traffic below L1, and DRAM

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


def define_demand(features: Features) -> tuple[Expression, Expression]:
    """Defines cycles per warp of the load/store unit, and of the traffic below L1."""
    lines, load = features.lines, expression(0)
    # Where the grid is kept, requests are a column: they do not follow from the trips.
    requests = () if features.keeps_grid else features.model.requests
    for index, count in enumerate(requests):
        load = load + features.constant("cycles_per_request") * count * Reference(f"trips_{index}")
    load = features.total("load", load, features.filled(("request", "load", "shared")))
    store = features.total("store", expression(0), features.filled(("store",)))
    store = store + _rewritten(features) + define_missed(features)
    load_cycles = lines.define("load_cycles", maximum(constants.NEARLY_NONE, load))
    return load_cycles, lines.define("store_cycles", maximum(constants.NEARLY_NONE, store))


def _rewritten(features: Features) -> Expression:
    """Cycles of stores to sectors on their way to L2, as far as they do not merge there."""
    rewritten = features.filled(("rewritten",))
    if not rewritten:
        return expression(0)
    lines = {c.group: c.values for _, c in features.filled(("rewritten_lines",))}
    most = features.device.limits.warps_per_sm
    started = [warps_of(block) for block in features.model.blocks]
    crowds = [(s, held / most) for s, held in zip(started, features.resident_warps, strict=True)]
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
        constants.MERGING_LINES / max(1.0, lines),
        constants.MERGING_WARPS / max(constants.MERGING_WARPS, warps),
    )
    merging = few_lines**2 * sqrt(few_warps)
    cost = float(constants.ALONE_UNMERGED) + float(1 - constants.ALONE_UNMERGED) * present
    return max(0.0, 1 - merging) * cost


def define_missed(features: Features) -> Expression:
    """Cycles per warp of the sectors that miss L1 and are served from below it.

    Defines `still_missing`: misses relative to those of a block that runs alone and forgets what it
    has read in another loop. Where blocks go through arrays in passes these are misses of loads.
    """
    lines = features.lines
    lines.define("sms", minimum(Reference("blocks"), features.device.sm_count))
    each, rereads = _alone(features), dict[int, Rereads]()
    if features.has_rereads:
        missed = dict(each)
        each, rereads = iter(missed.items()), define_rereads(features, missed)
    cycles = alone = together = expression(0)
    for array, count in each:
        reread = rereads.get(array)
        misses = count if reread is None else count - reread.kept
        still = lines.define(f"still_{array}", _of_sm(features, array, misses))
        stores = count * _stored(features, array, reread) if rereads else expression(0)
        alone = alone + (count - stores if rereads else count)
        together = together + (maximum(0, still - stores) if rereads else still)
        cost = features.constant("cycles_per_missed_sector") * Reference(f"far_{array}")
        cycles = cycles + lines.define(f"far_cycles_{array}", cost) * still
    has_misses = (not features.keeps_grid or rereads) and alone != expression(0)
    alone = maximum(constants.NEARLY_NONE, alone)
    lines.define("still_missing", together / alone if has_misses else 1)
    if rereads:
        _define_repeated(features, rereads.values(), alone)
    return cycles


def _alone(features: Features) -> Iterator[tuple[int, Reference]]:
    """By array, the sectors per warp that miss if a block runs alone."""
    for array in range(len(features.model.arrays)):
        columns = [(i, c) for i, c in features.filled(("missed",)) if c.array == array]
        if columns:
            missed = features.total(f"missed_{array}", expression(0), columns)
            yield array, features.lines.define(f"alone_{array}", missed)


def _of_sm(features: Features, array: int, misses: Expression) -> Expression:
    """The misses per warp that are left if other blocks of the SM have read the same array.

    An array that fits into L1 is read once per SM. Where the grid is kept, each block has its own
    rows.
    """
    if features.keeps_grid:
        return misses
    device, model = features.device, features.model
    pairs = zip(resident_on(model, device), model.blocks, strict=True)
    in_use = (resident * resources_of(model, block).shared_bytes for resident, block in pairs)
    l1_bytes = device.limits.shared_bytes_per_sm + constants.L1_BESIDE_SHARED
    l1_bytes -= max(in_use, default=0)
    extent = Reference(f"array_bytes_{array}")
    once = choice(less_equal(extent, l1_bytes), extent / Reference("working"), constants.ENDLESS)
    once = features.lines.define(f"once_{array}", once)
    return minimum(misses, once * Reference("sms"))


def _stored(features: Features, array: int, reread: Rereads | None) -> Expression:
    """The share of the array's missed sectors that stores miss."""
    if reread is not None:
        return 1 - reread.loaded
    one = features.model.arrays[array]
    return expression(Fraction(one.is_stored, max(1, one.is_loaded + one.is_stored)))


def _define_repeated(features: Features, rereads: Iterable[Rereads], alone: Expression) -> None:
    """Defines the time of DRAM for what is read again, and how many misses go there."""
    lines = features.lines
    sectors = sum((one.from_dram for one in rereads), expression(0))
    rate = features.device.dram_gbs * 1000 * features.constant("dram_efficiency")
    traffic = sectors * SECTOR * Reference("active_warps")
    lines.define("repeated_us", traffic / rate)
    still = maximum(constants.NEARLY_NONE, Reference("still_missing"))
    far = (Reference("dram_misses") + sectors / alone) / still
    lines.define("dram_remaining", minimum(1, far))


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
    if features.has_rereads:
        busiest = busiest + Reference("repeated_us")
    for index, column in enumerate(features.model.columns):
        if column.kind not in ATOMIC_COSTS:
            continue
        operations = maximum(0, features.model.groups[column.group].expression())
        changed = maximum(1, Reference(f"array_bytes_{column.array}"))
        each = features.constant(ATOMIC_COSTS[column.kind]) * operations / changed
        each = features.lines.define(f"atomic_us_{index}", each)
        busiest = maximum(busiest, each * features.cell(index, column))
    return busiest


# ---- issue, latency, and the time of the launch


def define_rows_factor(features: Features) -> Expression | None:
    """Defines a factor on the memory cost of blocks with several rows: these are far apart.

    Planes cost more, because they lie in other pages too. None, for no such factor: the kernel has
    a loop, or all candidates have one row.
    """
    blocks = features.model.blocks
    doublings = [log2(rows) + constants.PLANES_DOUBLED * log2(planes) for _, rows, planes in blocks]
    if features.model.looped or not any(doublings):
        return None
    features.lines.tables["doublings"] = in_single_precision(doublings)
    share = features.constant("rows_doubled") * Lookup("doublings", Reference(CANDIDATE))
    return features.lines.define("rows_factor", 1 + share)


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
    - A loop with barriers: the warps of a block wait for each other, so their work adds up. It goes
      on beside the chain of instructions of each of them. Where the number of blocks is kept, that
      is mostly the chain of a reduction, which comes behind the work.

    Args:
        latency: cycles of a warp alone.
        cycles: cycles that a warp costs its SM.
        rounds: warps of the SM by those that are resident at a time, at least 1.
    """
    if not features.model.looped:
        # 1 + h/A with A resident blocks; h grows with the share of traffic that DRAM serves.
        constant, lines = features.constant, features.lines
        loss = Reference("dram_share") * constant("block_granularity_dram")
        loss = lines.define("turnover_loss", constant("block_granularity") + loss)
        held = Lookup("turnover", Reference(CANDIDATE))
        return (latency + cycles) * rounds * lines.define("turnover_factor", 1 + loss * held)
    if features.has_barriers:
        cycles = cycles * Reference("warps")
        if features.works_beside_chains:
            chain = Reference("chain_cycles")
            cycles = norm(constants.SIDE_BY_SIDE, chain, cycles) - chain
    return (latency + cycles) * maximum(rounds, ceiling(Reference("blocks") / Reference("wave")))


def define_busy(features: Features, rows: Expression | None, cycles: Expression) -> Reference:
    """Defines `busy_us`, of the SM with the most work. `cycles`: what a warp costs its SM."""
    lines = features.lines
    one_wave = less_equal(Reference("blocks"), Reference("wave"))
    warps, held = define_warps_on_sm(features, one_wave)
    rounds = maximum(1, held * Lookup("share", Reference(CANDIDATE)))
    latency = _latency(features, rows, one_wave)
    waiting = _waiting(features, latency, cycles, rounds)
    throughput = lines.define("throughput_cycles", cycles * warps)
    waiting = lines.define("waiting_cycles", waiting)
    if features.in_phases:
        busy = _in_phases(features, throughput, waiting, cycles * rounds)
    else:
        busy = norm(constants.SIDE_BY_SIDE, throughput, waiting)
    return lines.define("busy_us", busy * (1 / (features.device.clock_ghz * 1000)))


def _in_phases(
    features: Features, throughput: Expression, waiting: Expression, rounds_of_warp: Expression
) -> Expression:
    """Cycles of an SM whose warps wait for each other in every round of a loop.

    What one resident block does is in both its throughput and its waiting: nothing of that goes on
    beside itself. The work of the other resident blocks does, beside what this block waits for.

    Args:
        rounds_of_warp: cycles that one warp of each round of resident blocks costs the SM.
    """
    own = minimum(throughput, rounds_of_warp * Reference("warps"))
    own = features.lines.define("own_cycles", own)
    return own + norm(constants.IN_PHASES, throughput - own, waiting - own)


def _latency(features: Features, rows: Expression | None, one_wave: Expression) -> Expression:
    """Cycles that a warp alone would take: start + instructions + (hits + misses) * last."""
    lines, constant = features.lines, features.constant
    steps, hits, chain, others = _warp(features)
    if features.works_beside_chains:
        chain = lines.define("chain_cycles", chain)
    others = chain + others
    fixed = lines.define("latency_fixed", constant("latency_cycles_start") + others)
    far = Reference("dram_remaining" if features.has_rereads else "dram_misses")
    miss = constant("latency_cycles_dram") * far
    miss = lines.define("miss_latency", constant("latency_cycles_per_miss") + miss)
    # Load steps of a warp in which its block misses L1.
    missing = expression(0)
    for index, column in features.filled(("missing",)):
        cell = features.cell(index, column)
        missing = missing + Reference(f"trips_{column.group}") * cell
    missing = missing * Reference("still_missing")
    hits = lines.define("steps_latency", hits)
    loads = hits + with_rows(miss, rows) * minimum(steps, missing)
    return lines.define("latency_cycles", fixed + _of_last_warp(features, loads, one_wave))


def _warp(features: Features) -> tuple[Expression, Expression, Expression, Expression]:
    """Of a warp alone: load steps, their cycles if they hit L1, of chains, and of barriers.

    They are counted per warp, or those of a thread, times the feature `issue`.
    """
    constant, prefix = features.constant, "warp_" if features.keeps_grid else ""
    steps = Reference(f"{prefix}steps")
    hits = constant("latency_cycles_per_step") * steps
    chain = constant("latency_cycles_per_slot") * Reference(f"{prefix}chain")
    others = constant("latency_cycles_per_barrier") * Reference(f"{prefix}barriers")
    if features.keeps_grid or (share := features.only(ISSUE)) == expression(1):
        return steps, hits, chain, others
    steps = features.lines.define("warp_steps", steps * share)
    return steps, hits * share, chain * share, others * share


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


def define_issue(features: Features) -> Expression:
    """Defines `warp_issue_cycles`, `slots`, `chain`, `barriers`; of a kept grid these per warp."""
    model, lines = features.model, features.lines
    lines.define("chain", features.per_thread(model.chain))
    slots = lines.define("slots", features.per_thread(model.instructions))
    units = features.constant("double_cycles") * features.per_thread(model.double)
    units = units + features.constant("special_cycles") * features.per_thread(model.special)
    barriers = lines.define("barriers", features.per_thread(model.barriers))
    if features.has_few_singles:
        units = maximum(units, features.device.single_cycles * features.per_thread(model.single))
    if features.keeps_grid:
        issue = _of_shared_work(features, slots, units, barriers)
    else:
        issue = _of_own_work(features, slots, units, barriers)
    return lines.define("warp_issue_cycles", issue)


def _of_own_work(
    features: Features, slots: Expression, units: Expression, barriers: Expression
) -> Expression:
    """(slots and units) * unevenness + reads of constants + barriers."""
    issue = _joined(features, slots, units) * features.only(ISSUE)
    if not features.model.constants.is_zero:
        issue = issue + _of_constant_reads(features)
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
    of_warp("warp_chain", CHAIN, Reference("chain"))
    return _joined(features, slots, units) + barriers * features.constant("barrier_cycles")


def _joined(features: Features, slots: Expression, units: Expression) -> Expression:
    plain = maximum(constants.NEARLY_NONE, slots / features.constant("issue_per_cycle"))
    is_single = features.has_few_singles
    if is_single or not (features.model.double.is_zero and features.model.special.is_zero):
        plain = norm(constants.SIDE_BY_SIDE, plain, maximum(constants.NEARLY_NONE, units))
    return features.lines.define("issue_cycles", plain)


def _of_constant_reads(features: Features) -> Expression:
    """Cycles of uniform reads of constant memory: they miss if warps of an SM are not in step.

    The warps of a block start in step, and stay so for some reads: a formula in `docs/model.md`.
    """
    lines = features.lines
    reads = lines.define("uniform_reads", features.per_thread(features.model.constants))
    in_step = constants.THREADS_IN_STEP * reads / (reads + constants.READS_IN_STEP)
    lines.define("threads_in_step", maximum(1, in_step))
    ratio = lines.define("step_ratio", Reference("threads") / Reference("threads_in_step"))
    square = lines.define("step_ratio_2", ratio * ratio)
    fourth = lines.define("step_ratio_4", square * square)
    lines.tables["at_once"] = in_single_precision(features.resident_warps)
    warps = Reference("working") / (WARP * features.device.sm_count)
    warps = minimum(warps, Lookup("at_once", Reference(CANDIDATE)))
    crowd = minimum(1, maximum(0, warps / constants.UNDISTURBED_WARPS - 1))
    cost = lines.define("uniform_cost", reads * features.constant("uniform_cycles"))
    return cost * crowd / (1 + fourth * fourth)


CONSTANTS = tuple(field.name for field in fields(ModelConstants))
#: Parts of the throughput of an SM, by the definition that holds their cycles per warp.
PER_WARP_TERMS = {
    "load_store_unit": "load_cycles",
    "below_l1": "store_cycles",
    "issue": "warp_issue_cycles",
}


def compose(model: FittedModel, device: DeviceProfile, symbolic: bool = False) -> RationalProgram:
    """Write the model of one kernel on one device as a rational program.

    Defines, per candidate: `time_us`, `time_with_floor_us` (what the host sees) and
    `cycles_per_warp` (throughput cost of one warp on its SM, cycles). `symbolic`: the constants of
    the model are further sizes, by name, so that they can be fitted.
    """
    features = Features(model, device, Lines(), symbolic)
    lines = features.lines
    describe_candidates(features)
    lines.define("working", maximum(1, model.working.expression()))
    for index, group in enumerate(model.groups):
        lines.define(f"trips_{index}", features.per_thread(group))
    lines.define("steps", features.per_thread(model.steps))
    define_arrays(features)
    lines.define(ALIGNMENT_CLASS, lines.class_index(model))
    define_footprint(features)
    define_grid(features)
    rows = define_rows_factor(features)
    memory = norm(constants.SIDE_BY_SIDE, *define_demand(features))
    issue = define_issue(features)
    cycles = norm(constants.SIDE_BY_SIDE, with_rows(memory, rows), issue)
    cycles = lines.define(CYCLES_PER_WARP, cycles)
    _define_time(features, define_busy(features, rows, cycles))
    _define_terms(features)
    return lines.program(model, CONSTANTS if symbolic else ())


def _define_time(features: Features, busy: Expression) -> None:
    """The time of the launch: SMs, DRAM and the dispatcher side by side, behind the launch."""
    lines, constant = features.lines, features.constant
    dispatch = constant("dispatch_us_per_block") * Reference("blocks")
    dispatch = lines.define("dispatch_us", dispatch)
    busy = norm(constants.SIDE_BY_SIDE, busy, beside_sms(features))
    launch = constant("launch_us")
    for is_enough in _bounds(features):
        launch = launch / is_enough
    time = launch + norm(constants.NEARLY_MAXIMUM, busy, dispatch)
    time = lines.define(TIME, _as_timed(features, time))
    lines.define(TIME_WITH_FLOOR, norm(constants.NEARLY_MAXIMUM, time, constant("floor_us")))


def _as_timed(features: Features, time: Expression) -> Expression:
    """The time, corrected by what candidates took on this device, where they were timed there.

    The factor of a candidate is the mean of those at the lengths that were timed. Each weighs
    1 / ((t / T + T / t - 2)^2 + c), where t is predicted, T was there, and c is small (inverse
    distances, Shepard 1968). Beside them stands one for all lengths, with a weight that they exceed
    where they are near: launches of another length may be bounded by something else.
    """
    model, lines = features.model, features.lines
    timed = model.timed_on(features.device.name)
    if timed is None:
        return time
    time = lines.define("untimed_us", time)
    lines.tables["beyond_timed"] = in_single_precision(timed.beyond)
    weights = expression(constants.WEIGHT_BEYOND)
    total = weights * Lookup("beyond_timed", Reference(CANDIDATE))
    for index, (places, factors) in enumerate(zip(timed.predicted_us, timed.factors, strict=True)):
        lines.tables[f"timed_us_{index}"] = in_single_precision(places)
        lines.tables[f"as_timed_{index}"] = in_single_precision(factors)
        place = lines.define(f"timed_{index}", Lookup(f"timed_us_{index}", Reference(CANDIDATE)))
        gap = lines.define(f"gap_{index}", time / place + place / time - 2)
        nearness = 1 / (gap * gap + constants.NEAREST_TIMED)
        nearness = lines.define(f"nearness_{index}", nearness)
        weights = weights + nearness
        total = total + nearness * Lookup(f"as_timed_{index}", Reference(CANDIDATE))
    return time * (total / weights)


def _bounds(features: Features) -> Iterator[Expression]:
    """1 where counts are no less than what every thread executes that accesses memory, else 0.

    That needs no fit. Where counts are less, which only a fault can bring about, the time is
    infinite, and the program's own configuration stays.
    """
    model, least = features.model, features.model.kernel.compiled.least
    share = constants.NEARLY_ALL - Fraction(model.held_out_error)
    if share <= 0 or not model.groups:
        return  # some counts are no more than a guess, or no thread accessed memory
    if least.of_working:
        yield less_equal(least.of_working * share, Reference("slots"))
    if least.accesses:
        trips = (n * Reference(f"trips_{index}") for index, n in enumerate(model.requests))
        yield less_equal(least.accesses * share, sum(trips, expression(0)))


def _define_terms(features: Features) -> None:
    """Microseconds of each resource alone: for people, no part of the time."""
    lines, per_us = features.lines, features.device.clock_ghz * 1000
    for term, cycles in PER_WARP_TERMS.items():
        time = Reference(cycles) * Reference("warps_on_sm") / per_us
        lines.define(f"{TERM}{term}", time)
    lines.define(f"{TERM}waiting", Reference("waiting_cycles") / per_us)
    lines.define(f"{TERM}dispatch", Reference("dispatch_us"))
    lines.define(f"{TERM}dram", Reference("dram_us"))
    lines.define(f"{TERM}launch", features.constant("launch_us"))

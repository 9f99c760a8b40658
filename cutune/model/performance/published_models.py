"""The models of the literature, for comparison: MWP-CWP, and bounds by latency and throughput.

Takes a `FittedModel` and a `DeviceProfile`, gives a `RationalProgram`. Counts are totals over
threads divided by the working threads: those of a full working warp. Nothing is fitted per warp.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from cutune.model.fit.fitted_model import (
    SCATTERED,
    SECTORS,
    UNCOALESCED,
    FittedModel,
    PublishedCounts,
)
from cutune.model.performance.constants import NEARLY_NONE
from cutune.model.performance.definitions import (
    ALIGNMENT_CLASS,
    CYCLES_PER_WARP,
    TIME,
    TIME_WITH_FLOOR,
    Lines,
    resident_on,
)
from cutune.model.rational.program import (
    Cell,
    Expression,
    Number,
    RationalProgram,
    Reference,
    ceiling,
    choice,
    equal,
    expression,
    less,
    less_equal,
    maximum,
    minimum,
    size_name,
)
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import warps_of


@dataclass(frozen=True)
class WarpCounts:
    """Per warp: instructions that are no memory accesses, accesses of each kind, barriers.

    `transactions`: per access that is not coalesced. `sectors`: 32-byte sectors of all accesses.
    """

    compute: Expression
    coalesced: Expression
    uncoalesced: Expression
    transactions: Expression
    sectors: Expression
    barriers: Expression

    @property
    def memory(self) -> Expression:
        return self.coalesced + self.uncoalesced


@dataclass(frozen=True)
class LaunchShape:
    """Blocks of the launch, warps of a block, blocks that one SM holds, SMs that have work."""

    blocks: Expression
    warps: Expression
    resident: Expression
    sms: Expression


def define_counts(lines: Lines, model: FittedModel) -> WarpCounts:
    """The counts of one warp of working threads."""
    count = _published(model.published) if model.published else _totals(lines, model)
    memory = lines.define("memory", count("memory"))
    compute = lines.define("compute", maximum(0, count("issued") - memory))
    if model.published is None:
        lines.define(ALIGNMENT_CLASS, lines.class_index(model))
    uncoalesced, scattered, sectors = (
        lines.define(kind, count(kind)) for kind in (UNCOALESCED, SCATTERED, SECTORS)
    )
    coalesced = lines.define("coalesced", maximum(0, memory - uncoalesced))
    transactions = lines.define("transactions", scattered / maximum(NEARLY_NONE, uncoalesced))
    barriers = lines.define("barriers", count("barriers"))
    return WarpCounts(compute, coalesced, uncoalesced, transactions, sectors, barriers)


def _totals(lines: Lines, model: FittedModel) -> Callable[[str], Expression]:
    """Counts by the names in `PublishedCounts`: totals divided by the working threads."""
    working = lines.define("working", maximum(1, _working(model)))
    memory = expression(0)
    for index, (group, requests) in enumerate(zip(model.groups, model.requests, strict=True)):
        trips = lines.define(f"trips_{index}", maximum(0, group.expression()) / working)
        memory = memory + requests * trips
    counts = {
        "memory": memory,
        "issued": maximum(0, model.instructions.expression()) / working,
        "barriers": maximum(0, model.barriers.expression()) / working,
    }
    return lambda name: counts[name] if name in counts else _weighted(lines, model, name)


def _working(model: FittedModel) -> Expression:
    """Threads that share the work: where the grid is kept, all that a block has."""
    if not model.kernel.keeps_grid:
        return model.working.expression()
    threads = expression(1)
    for name, is_kept in zip("xyz", model.kernel.grid_kept, strict=True):
        threads = threads * Reference(f"extent_{name}")
        threads = threads * Reference(f"block_{name}") if is_kept else threads
    return threads


def _published(counts: PublishedCounts) -> Callable[[str], Expression]:
    """Counters as fitted by the published method: functions of size and block, no tables."""
    # The first variable is a size; the others are properties of the candidate.
    size, *axes = counts.issued.variables
    names = (size_name(size), *axes)

    def count(name: str) -> Expression:
        value: Expression = getattr(counts, name).expression(names)
        return value if name == "issued" else maximum(0, value)

    return count


def _weighted(lines: Lines, model: FittedModel, kind: str) -> Expression:
    """A feature per execution times executions, summed over all groups."""
    total = expression(0)
    for column in model.transactions:
        if column.kind == kind:
            table = f"{kind}_{column.group}"
            lines.tables[table] = column.values
            cell = Cell(table, Reference(ALIGNMENT_CLASS))
            total = total + Reference(f"trips_{column.group}") * cell
    return total


def define_launch(lines: Lines, model: FittedModel, device: DeviceProfile) -> LaunchShape:
    """Blocks of the launch, and how many are resident on an SM."""
    blocks = expression(1)
    for axis, name in enumerate("xyz"):
        lines.properties[f"block_{name}"] = tuple(block[axis] for block in model.blocks)
        extent, is_kept = Reference(f"extent_{name}"), model.kernel.grid_kept[axis]
        blocks = blocks * (extent if is_kept else ceiling(extent / Reference(f"block_{name}")))
    lines.properties["warps"] = tuple(warps_of(block) for block in model.blocks)
    lines.properties["resident"] = resident_on(model, device)
    blocks = lines.define("blocks", blocks)
    sms = lines.define("sms", minimum(device.sm_count, blocks))
    return LaunchShape(blocks, Reference("warps"), Reference("resident"), sms)


def with_times(
    lines: Lines, model: FittedModel, device: DeviceProfile, cycles: Expression
) -> RationalProgram:
    """The program whose results are the time of `cycles`; there is no floor in these models."""
    total = lines.define("cycles", cycles)
    time = lines.define(TIME, total / (device.clock_ghz * 1000))
    lines.define(TIME_WITH_FLOOR, time)
    warps = Reference("blocks") * Reference("warps")
    lines.define(CYCLES_PER_WARP, total * Reference("sms") / warps)
    return lines.program(model)


#: Unloaded latency of device memory on GPUs from Volta to Hopper, cycles (published: 450 to 600).
MEMORY_LATENCY = Fraction(500)
SECTOR_BYTES = 32
#: A coalesced access of a warp: 4 bytes per thread.
LOAD_BYTES = 128


@dataclass(frozen=True)
class MwpCwpHardware:
    """Device parameters: cycles, GHz, GB/s, bytes.

    `departure_*`: cycles between two transactions that leave an SM; one that is coalesced moves
    `load_bytes`, another one sector.
    """

    clock_ghz: Fraction
    bandwidth_gbs: Fraction
    issue_cycles: Fraction
    memory_latency: Fraction
    departure_coalesced: Fraction
    departure_uncoalesced: Fraction
    load_bytes: Fraction = Fraction(LOAD_BYTES)

    @staticmethod
    def of(device: DeviceProfile) -> MwpCwpHardware:
        """From a profile: the SMs share the bandwidth of DRAM, which limits how sectors leave."""
        sector = SECTOR_BYTES * device.sm_count * device.clock_ghz / device.dram_gbs
        return MwpCwpHardware(
            device.clock_ghz,
            device.dram_gbs,
            1 / device.model.issue_per_cycle,
            MEMORY_LATENCY,
            sector * (LOAD_BYTES // SECTOR_BYTES),
            sector,
        )


def compose_mwp_cwp(model: FittedModel, device: DeviceProfile) -> RationalProgram:
    """The model of one kernel on one device as a rational program."""
    lines = Lines()
    counts = define_counts(lines, model)
    shape = define_launch(lines, model, device)
    cycles = mwp_cwp_cycles(lines, counts, shape, MwpCwpHardware.of(device))
    return with_times(lines, model, device, cycles)


def mwp_cwp_cycles(
    lines: Lines, warp: WarpCounts, launch: LaunchShape, hardware: MwpCwpHardware
) -> Expression:
    """Execution cycles of a launch by MWP-CWP; intermediate results are definitions `mwp_*`.

    S. Hong, H. Kim, "An Analytical Model for a GPU Architecture with Memory-level and Thread-level
    Parallelism Awareness", ISCA 2009, equations 1 to 23; the model of the technique that cutune
    follows. The number of transactions is per instruction, residency follows the allocation rules
    of today's hardware, and MWP is at least 1; repetitions stay a fraction.
    """

    def define(name: str, value: Number) -> Expression:
        return lines.define(f"mwp_{name}", value)

    active = define("active_warps", launch.warps * launch.resident)
    latency_uncoalesced = define(
        "latency_uncoalesced",
        hardware.memory_latency + (warp.transactions - 1) * hardware.departure_uncoalesced,
    )
    memory = define("accesses", maximum(NEARLY_NONE, warp.memory))
    share = define("share_uncoalesced", warp.uncoalesced / memory)
    latency = define("latency", share * latency_uncoalesced + (1 - share) * hardware.memory_latency)
    departure = define(
        "departure",
        share * warp.transactions * hardware.departure_uncoalesced
        + (1 - share) * hardware.departure_coalesced,
    )
    per_warp = define("bandwidth_per_warp", hardware.clock_ghz * hardware.load_bytes / latency)
    peak = define("peak", hardware.bandwidth_gbs / (per_warp * launch.sms))
    mwp = define("mwp", maximum(1, minimum(minimum(latency / departure, peak), active)))
    memory_cycles = define(
        "memory_cycles",
        warp.uncoalesced * latency_uncoalesced + warp.coalesced * hardware.memory_latency,
    )
    compute_cycles = define("compute_cycles", hardware.issue_cycles * (warp.compute + memory))
    cwp = define("cwp", minimum((memory_cycles + compute_cycles) / compute_cycles, active))
    repetitions = define("repetitions", launch.blocks / (launch.resident * launch.sms))
    per_period = define("compute_per_period", compute_cycles / memory)
    few_warps = memory_cycles + compute_cycles + per_period * (mwp - 1)
    memory_bound = memory_cycles * active / mwp + per_period * (mwp - 1)
    compute_bound = latency + compute_cycles * active
    is_memory_bound = maximum(less_equal(mwp, cwp), less(memory_cycles, compute_cycles))
    others = define("others", choice(is_memory_bound, memory_bound, compute_bound))
    is_few = define("is_few", equal(mwp, active) * equal(cwp, active))
    execution = define("execution", choice(is_few, few_warps, others) * repetitions)
    synchronisation = (
        departure * (minimum(mwp, launch.warps) - 1) * warp.barriers * launch.resident * repetitions
    )
    return define("total", execution + synchronisation)


#: Dependent arithmetic, cycles, and sectors per cycle of an SM's L1 (64 bytes): Volta to Hopper.
ARITHMETIC_LATENCY = Fraction(4)
SECTORS_PER_CYCLE = Fraction(2)


@dataclass(frozen=True)
class LatencyHardware:
    """Device parameters: cycles, per cycle and SM; `bytes_per_cycle` for the whole GPU."""

    issue_per_cycle: Fraction
    sectors_per_cycle: Fraction
    bytes_per_cycle: Fraction
    memory_latency: Fraction
    arithmetic_latency: Fraction

    @staticmethod
    def of(device: DeviceProfile) -> LatencyHardware:
        """From a profile."""
        return LatencyHardware(
            device.model.issue_per_cycle,
            SECTORS_PER_CYCLE,
            device.dram_gbs / device.clock_ghz,
            MEMORY_LATENCY,
            ARITHMETIC_LATENCY,
        )


def compose_latency(model: FittedModel, device: DeviceProfile) -> RationalProgram:
    """The model of one kernel on one device as a rational program."""
    lines = Lines()
    counts = define_counts(lines, model)
    shape = define_launch(lines, model, device)
    touched = expression(0)
    for array in model.arrays:
        touched = touched + maximum(0, array.extent_bytes.expression())
    dram_bytes = lines.define("bytes", touched)
    cycles = latency_cycles(lines, counts, shape, dram_bytes, LatencyHardware.of(device))
    return with_times(lines, model, device, cycles)


def latency_cycles(
    lines: Lines,
    warp: WarpCounts,
    launch: LaunchShape,
    dram_bytes: Expression,
    hardware: LatencyHardware,
) -> Expression:
    """Cycles of a launch: the sum of its four bounds, each a definition.

    V. Volkov, "Understanding Latency Hiding on GPUs" (2016): the throughput of an SM is bounded by
    issue, by the load/store unit, by bandwidth, and by warps in flight over latency. The bounds are
    added: with their maximum alone, shapes would tie and coalescing would not show.

    `dram_bytes`: bytes that the launch moves to and from device memory.
    """
    warps = lines.define("warps_per_sm", ceiling(launch.blocks / launch.sms) * launch.warps)
    issue = lines.define(
        "bound_issue", warps * (warp.compute + warp.memory) / hardware.issue_per_cycle
    )
    units = lines.define("bound_units", warps * warp.sectors / hardware.sectors_per_cycle)
    bandwidth = lines.define("bound_bandwidth", dram_bytes / hardware.bytes_per_cycle)
    once = warp.memory * hardware.memory_latency + warp.compute * hardware.arithmetic_latency
    rounds = maximum(1, ceiling(launch.blocks / (launch.sms * launch.resident)))
    latency = lines.define("bound_latency", once * rounds)
    return issue + units + bandwidth + latency

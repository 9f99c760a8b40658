"""Building blocks of performance models: lines of a rational program, features, and candidates.

`Lines` collects the definitions and tables of a rational program with one entry per candidate. The
meanings of its definitions are comments in the emitted C. `Features` are counts and feature columns
of a fitted kernel as expressions. Of candidates the properties and static tables are defined that
no size changes (shapes, warps, how many an SM holds), and the blocks and warps with work of three
kinds of launches:

- One dimension: the working threads are those that access memory.
- Two or three dimensions: blocks at the edges are partly idle.
- The number of blocks is kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from cutune.model.fit.fitted_model import REPEATED, FeatureColumn, FittedModel, in_single_precision
from cutune.model.performance.constants import FILL_OFFSET, FILL_SLOPE, LAST_BLOCK
from cutune.model.rational.functions import RationalFunction
from cutune.model.rational.program import (
    Cell,
    Constant,
    Definition,
    Expression,
    Lookup,
    Number,
    RationalProgram,
    Reference,
    ceiling,
    choice,
    expression,
    maximum,
    minimum,
    size_name,
)
from cutune.toolchain.device.profile import (
    BlockResources,
    DeviceProfile,
    can_launch,
    resident_blocks,
)
from cutune.toolchain.device.thread_block import (
    EXTENTS,
    WARP,
    Block,
    threads_of,
    warp_footprint,
    warps_of,
)

#: By name without its number, which stands for `{}`.
MEANINGS = {
    # ---- counts
    "working": "threads that work",
    "trips": "executions of group {} per thread that works",
    "steps": "dependent load steps per thread",
    "slots": "issue slots per thread",
    "chain": "issue slots per thread that follow each other",
    "barriers": "barriers per thread",
    "uniform_reads": "uniform reads of constant memory per thread",
    "alignment_class": "alignment class of the sizes: which rows of the tables hold",
    # ---- memory
    "array_bytes": "bytes between the ends of array {}",
    "far": "1 where array {} is served from below L1",
    "extent_bytes": "bytes between the ends of all arrays",
    "missed_bytes": "bytes that miss L1, with a typical block",
    "footprint_bytes": "bytes that are touched at all",
    "traffic_bytes": "bytes that are read and written once each",
    "dram_share": "share of the traffic that goes to DRAM",
    "dram_us": "microseconds of DRAM",
    "dram_misses": "share of the misses of L1 that go to DRAM",
    "missed_fixed": "sectors of array {} that miss L1 with any block, per warp",
    "alone": "sectors of array {} that miss L1 per warp of a block that is alone",
    "touched": "sectors per warp of a block that all blocks of its SM touch",
    "repeated": "sectors of array {} per warp that the block has read in an earlier pass",
    "between": "sectors per warp of a block that its SM touches in a pass over array {}",
    "crowd": "the same, relative to what L1 keeps half of; a power of it",
    "kept": "sectors of array {} per warp that L1 has kept since an earlier pass",
    "from_dram": "sectors of array {} per warp that even L2 has not kept",
    "repeated_us": "microseconds of DRAM for what is read again",
    "dram_remaining": "share of the remaining misses of L1 that go to DRAM",
    "once": "sectors of array {} per warp if each SM reads it once",
    "still": "sectors of array {} that miss L1 per warp",
    "far_cycles": "cycles per sector of array {} that misses L1",
    "still_missing": "share of these misses that other blocks do not save",
    "rows_factor": "factor on the cost of memory for blocks of several rows",
    "atomic_us": "microseconds per atomic operation of column {} on the busiest address",
    # ---- cycles of a warp
    "weight": "what a unit of column {} counts, per warp",
    "load_fixed": "cycles of loads that are the same for any block",
    "store_fixed": "cycles of stores that are the same for any block",
    "rewritten_fixed": "cycles of rewritten sectors that are the same for any block",
    "load_cycles": "cycles of the load/store unit per warp",
    "store_cycles": "cycles of the traffic below L1 per warp",
    "issue_cycles": "cycles of issue and arithmetic units per warp of a full block",
    "barrier_cost": "cycles of barriers per warp",
    "threads_in_step": "threads of a block whose warps read constants in step",
    "step_ratio": "threads of the block by those",
    "step_ratio_2": "squared",
    "step_ratio_4": "to the fourth",
    "uniform_cost": "cycles of uniform reads that miss, per warp",
    "warp_slots": "issue slots per warp",
    "warp_barriers": "barriers per warp",
    "warp_steps": "dependent load steps per warp",
    "warp_chain": "issue slots per warp that follow each other",
    "warp_issue_cycles": "cycles of issue and arithmetic units per warp",
    "cycles_per_warp": "cycles of its SM per warp: memory and issue side by side",
    # ---- the SM and the GPU
    "blocks": "blocks that have work",
    "active_warps": "warps that have work",
    "sms": "SMs that have a block",
    "blocks_per_sm": "blocks per SM",
    "launched": "warps that are launched",
    "working_warps": "of them, those that have work",
    "held": "warps that an SM works off, idle ones as well",
    "warps_on_sm": "warps that an SM works off, idle ones for less",
    "turnover_loss": "loss where a block ends and the next one begins",
    "turnover_factor": "factor on waiting, with the blocks that an SM holds",
    "miss_latency": "cycles of a miss of L1",
    "chain_cycles": "cycles of a warp alone: instructions that follow each other",
    "latency_fixed": "cycles of a warp alone: start, instructions, barriers",
    "steps_latency": "cycles of a warp alone: load steps",
    "latency_cycles": "cycles of a warp alone, with its misses",
    "throughput_cycles": "cycles of an SM that is never idle",
    "waiting_cycles": "cycles of an SM that waits for its warps",
    "own_cycles": "those of one resident block per round, beside which nothing else of it goes on",
    "busy_us": "microseconds of the SMs",
    "dispatch_us": "microseconds of the dispatcher",
    "untimed_us": "microseconds of the launch by the model alone",
    "timed": "microseconds that the model alone gives for length {}, which was timed",
    "gap": "how far that is from this launch, 0 where it takes as long",
    "nearness": "weight of what was measured there",
    "time_us": "microseconds of the launch",
    "time_with_floor_us": "microseconds of the launch as the host sees them",
    # ---- published models
    "memory": "memory instructions per warp",
    "compute": "other instructions per warp",
    "uncoalesced": "memory instructions per warp that are not coalesced",
    "coalesced": "memory instructions per warp that are coalesced",
    "scattered": "sectors of those that are not coalesced, per warp",
    "sectors": "sectors per warp",
    "transactions": "transactions of one that is not coalesced",
    "cycles": "cycles of the launch",
    "bytes": "bytes that the launch touches",
    "warps_per_sm": "warps per SM",
    "bound_issue": "cycles of issue",
    "bound_units": "cycles of the load/store unit",
    "bound_bandwidth": "cycles of DRAM",
    "bound_latency": "cycles of latency",
    "mwp_active_warps": "warps that an SM holds",
    "mwp_latency_uncoalesced": "cycles of an access that is not coalesced",
    "mwp_accesses": "memory accesses per warp",
    "mwp_share_uncoalesced": "share of them that is not coalesced",
    "mwp_latency": "cycles of a mean access",
    "mwp_departure": "cycles between two accesses that leave an SM",
    "mwp_bandwidth_per_warp": "bandwidth that one warp uses",
    "mwp_peak": "warps that use all bandwidth",
    "mwp_mwp": "memory warp parallelism",
    "mwp_memory_cycles": "cycles of memory per warp",
    "mwp_compute_cycles": "cycles of computation per warp",
    "mwp_cwp": "computation warp parallelism",
    "mwp_repetitions": "rounds of resident blocks",
    "mwp_compute_per_period": "cycles of computation per access",
    "mwp_others": "cycles per round, where warps are many",
    "mwp_is_few": "1 where warps are few",
    "mwp_execution": "cycles without synchronisation",
    "mwp_total": "cycles of the launch",
}
_NUMBER = re.compile(r"_(\d+)(?=_|$)")


def meaning_of(name: str) -> str:
    """The comment of a definition of this name; empty where there is none."""
    if name in MEANINGS or (number := _NUMBER.search(name)) is None:
        return MEANINGS.get(name, "")
    return MEANINGS.get(_NUMBER.sub("", name), "").replace("{}", number[1])


#: Results of every program, per candidate: the time of the launch, the time that the host sees,
#: both in microseconds, and the cycles that one warp costs its SM.
TIME, TIME_WITH_FLOOR, CYCLES_PER_WARP = "time_us", "time_with_floor_us", "cycles_per_warp"

#: The alignment class of the sizes: which row of the tables of features holds.
ALIGNMENT_CLASS = "alignment_class"


@dataclass
class Lines:
    """Definitions and tables, collected line by line."""

    definitions: list[Definition] = field(default_factory=list)
    tables: dict[str, tuple[float, ...]] = field(default_factory=dict)
    properties: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def define(self, name: str, value: Number) -> Reference:
        """Define a name for a value; returns the expression that reads it."""
        self.definitions.append(Definition(name, expression(value), meaning_of(name)))
        return Reference(name)

    def class_index(self, model: FittedModel) -> Expression:
        """The alignment class of the sizes: residues of the data parameters, mixed radix."""
        index = expression(0)
        for name, classes in zip(model.kernel.parameters, model.classes, strict=True):
            if len(set(classes)) > 1:
                table = f"class_of_{name}"
                self.tables[table] = tuple(map(float, classes))
                residue = Lookup(table, Reference(size_name(name)) % len(classes))
                index = index * (max(classes) + 1) + residue
        return index

    def program(self, model: FittedModel, constants: tuple[str, ...] = ()) -> RationalProgram:
        """All lines as a program over the data parameters and extents of a kernel."""
        return RationalProgram(
            (*map(size_name, model.kernel.parameters), *EXTENTS, *constants),
            self.properties,
            self.tables,
            tuple(self.definitions),
            len(model.blocks),
        )


def resources_of(model: FittedModel, block: Block) -> BlockResources:
    """The resources of an SM that a block of the kernel needs."""
    static = model.kernel.compiled.static
    shared = static.static_shared_bytes + model.kernel.shared_bytes(block)
    return BlockResources(threads_of(block), static.registers, shared)


def resident_on(model: FittedModel, device: DeviceProfile) -> tuple[int, ...]:
    """Blocks that an SM of the device holds, by candidate; at least one."""
    needs = (resources_of(model, block) for block in model.blocks)
    return tuple(max(1, resident_blocks(need, device.limits)) for need in needs)


#: The constant with the cost of one unit, by kind of feature; of other kinds a unit costs 1.
COST_OF = {
    "request": "cycles_per_request",
    "load": "load_cycles_per_wavefront",
    "shared": "shared_cycles_per_wavefront",
    "store": "store_cycles_per_sector",
    "rewritten": "cycles_per_rewritten_sector",
}


@dataclass(frozen=True)
class Features:
    """Counts and features as expressions. `symbolic`: constants stay names, to be fitted."""

    model: FittedModel
    device: DeviceProfile
    lines: Lines
    symbolic: bool

    def constant(self, name: str) -> Expression:
        """A constant of the model: its value, or its name where constants are being fitted."""
        if self.symbolic:
            return Reference(name)
        return expression(getattr(self.device.model, name))

    def per_thread(self, count: RationalFunction) -> Expression:
        """A total divided by the number of working threads."""
        if count.is_zero:
            return expression(0)
        return maximum(0, count.expression()) / Reference("working")

    def total(
        self, name: str, fixed: Expression, columns: Iterable[tuple[int, FeatureColumn]]
    ) -> Expression:
        """Sum of value * trips * cost and `fixed`; what all blocks share becomes `NAME_fixed`."""
        varying = expression(0)
        for index, column in columns:
            cost = COST_OF.get(column.kind)
            weight: Expression = Reference(f"trips_{column.group}")
            cell = self.cell(index, column)
            varies = not isinstance(cell, Constant)
            if cost is not None:
                weight = self.constant(cost) * weight
                weight = self.lines.define(f"weight_{index}", weight) if varies else weight
            if varies:
                varying = varying + weight * cell
            else:
                fixed = fixed + weight * cell
        return self.lines.define(f"{name}_fixed", fixed) + varying

    def filled(self, kinds: Collection[str]) -> list[tuple[int, FeatureColumn]]:
        """The columns of some kinds that are not all zero, with their indices."""
        columns = enumerate(self.model.columns)
        return [(i, column) for i, column in columns if column.kind in kinds and any(column.values)]

    def cell(self, index: int, column: FeatureColumn) -> Expression:
        """A column's value for the class and candidate: a table, or a constant if all are equal."""
        if len(set(column.values)) == 1:
            return expression(Fraction(column.values[0]))
        table, row = f"{column.kind}_{index}", Reference(ALIGNMENT_CLASS)
        by_class = column.values[:: len(self.model.blocks)]
        if column.values == tuple(v for v in by_class for _ in self.model.blocks):
            self.lines.tables[table] = by_class
            return Lookup(table, row)
        self.lines.tables[table] = column.values
        return Cell(table, row)

    def only(self, kind: str) -> Expression:
        """The single column of a kind; 1 if there is none."""
        columns = [(i, c) for i, c in enumerate(self.model.columns) if c.kind == kind]
        return self.cell(*columns[0]) if columns else expression(1)

    @cached_property
    def resident_warps(self) -> tuple[int, ...]:
        """Warps that an SM holds, by candidate."""
        blocks, most = self.model.blocks, self.device.limits.warps_per_sm
        pairs = zip(resident_on(self.model, self.device), blocks, strict=True)
        return tuple(min(resident * warps_of(block), most) for resident, block in pairs)

    @property
    def has_rereads(self) -> bool:
        """Do blocks read their part of an array in several passes?"""
        return bool(self.filled((REPEATED,)))

    @property
    def keeps_grid(self) -> bool:
        """Is the number of blocks kept, so that the threads of a block share its work?"""
        return self.model.kernel.keeps_grid

    @property
    def in_phases(self) -> bool:
        """Do the warps of a block wait for each other in every round of a loop?"""
        return self.model.looped and self.has_barriers

    @property
    def works_beside_chains(self) -> bool:
        """Does the work of a block go on while each of its warps is at its chain?

        Where the grid is kept, the chain is mostly that of a reduction behind the work.
        """
        return self.in_phases and not self.keeps_grid

    @property
    def has_few_singles(self) -> bool:
        """Has it operations of FP32 units of which there are fewer than can be issued to?"""
        return self.device.single_cycles > 0 and not self.model.single.is_zero

    @property
    def has_barriers(self) -> bool:
        """Do threads of a block ever wait for each other?"""
        return not self.model.barriers.is_zero


def launchable(model: FittedModel, device: DeviceProfile) -> FittedModel:
    """The model without the candidates that need more resources than the device has."""
    blocks = [b for b in model.blocks if can_launch(resources_of(model, b), device.limits)]
    return model.restricted(blocks)


def describe_candidates(features: Features) -> None:
    """Define the static properties and tables of the candidates."""
    model, device, lines = features.model, features.device, features.lines
    for axis, name in enumerate("xyz"):
        # Threads of a block, of a warp, and warps of a block if the grid is kept.
        threads = [block[axis] for block in model.blocks]
        footprints = [warp_footprint(block)[axis] for block in model.blocks]
        lines.properties[f"block_{name}"] = tuple(threads)
        lines.properties[f"footprint_{name}"] = tuple(footprints)
        if model.kernel.grid_kept[axis]:
            pairs = zip(threads, footprints, strict=True)
            lines.properties[f"footprints_{name}"] = tuple(-(-most // one) for most, one in pairs)
    resident = resident_on(model, device)
    lines.properties["threads"] = tuple(threads_of(block) for block in model.blocks)
    lines.properties["warps"] = tuple(map(warps_of, model.blocks))
    # Blocks that fill the GPU once. The two tables of reciprocals save a division per candidate.
    lines.properties["wave"] = tuple(device.sm_count * r for r in resident)
    lines.tables["turnover"] = in_single_precision([1 / r for r in resident])
    lines.tables["share"] = in_single_precision([1 / n for n in features.resident_warps])


def define_grid(features: Features) -> None:
    """Defines `blocks` and `active_warps`, products over the dimensions of the launch."""
    blocks, warps = expression(1), expression(1)
    kernel = features.model.kernel
    for axis, name in enumerate("xyz"):
        extent = Reference(f"extent_{name}")
        told = kernel.guards[axis] or kernel.covers[axis]
        varies = told is not None or kernel.variable_extents[axis]
        if kernel.grid_kept[axis]:
            blocks = blocks * extent
            warps = warps * (extent * Reference(f"footprints_{name}"))
        elif varies or any(threads[axis] != 1 for _, threads in kernel.recorded):
            blocks = blocks * ceiling(extent / Reference(f"block_{name}"))
            warps = warps * ceiling(extent / Reference(f"footprint_{name}"))
    if features.model.one_dimensional and not features.keeps_grid:
        working = Reference("working")
        blocks = minimum(blocks, ceiling(working / Reference("threads")))
        warps = maximum(1, working / WARP)
    features.lines.define("blocks", blocks)
    features.lines.define("active_warps", warps)


def define_warps_on_sm(features: Features, one_wave: Expression) -> tuple[Expression, Expression]:
    """Defines `warps_on_sm`: warps with work on the SM that has most of them; and gives held ones.

    In one dimension all warps work but those behind the end. In several, idle warps count less, by
    share / (offset + slope * share) that works. Held are places of warps: where most warps are idle
    these keep theirs as long as their block works. `one_wave`: do all blocks run at once?
    """
    lines, warps = features.lines, Reference("warps")
    share = lines.define("blocks_per_sm", Reference("blocks") / features.device.sm_count)
    held = choice(one_wave, ceiling(share), share + LAST_BLOCK) * warps
    if features.model.one_dimensional:
        held = maximum(1, minimum(held, Reference("active_warps")))
        on_sm = lines.define("warps_on_sm", held)
        return on_sm, on_sm
    held = lines.define("held", held)
    launched = lines.define("launched", Reference("blocks") * warps)
    working = lines.define("working_warps", minimum(Reference("active_warps"), launched))
    weighed = FILL_OFFSET * launched + FILL_SLOPE * working
    on_sm = lines.define("warps_on_sm", held * working / weighed)
    return on_sm, maximum(on_sm, FILL_OFFSET * held)

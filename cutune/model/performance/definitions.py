"""Building blocks of all performance models: the lines of a rational program, and their meanings.

`Lines` collects the definitions and tables of a rational program with one entry per candidate. The
meanings of its definitions are comments in the emitted C.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from cutune.model.fit.fitted_model import FittedModel
from cutune.model.rational.program import (
    Definition,
    Expression,
    Lookup,
    Number,
    RationalProgram,
    Reference,
    expression,
    size_name,
)
from cutune.toolchain.device.profile import BlockResources
from cutune.toolchain.device.thread_block import EXTENTS, Block, threads_of

#: By name without its number, which stands for `{}`.
MEANINGS = {
    # ---- counts
    "working": "threads that work",
    "trips": "executions of group {} per thread that works",
    "steps": "dependent load steps per thread",
    "slots": "issue slots per thread",
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
    "warp_issue_cycles": "cycles of issue and arithmetic units per warp",
    "cycles_per_warp": "cycles of its SM per warp: memory and issue side by side",
    # ---- the SM and the GPU
    "blocks": "blocks that have work",
    "active_warps": "warps that have work",
    "sms": "SMs that have a block",
    "blocks_per_sm": "blocks per SM",
    "launched_warps": "warps that are launched",
    "working_warps": "of them, those that have work",
    "warps_on_sm": "warps that an SM works off, idle ones for less",
    "turnover_loss": "loss where a block ends and the next one begins",
    "turnover_factor": "factor on waiting, with the blocks that an SM holds",
    "miss_latency": "cycles of a miss of L1",
    "latency_fixed": "cycles of a warp alone: start, instructions, barriers",
    "steps_latency": "cycles of a warp alone: load steps",
    "latency_cycles": "cycles of a warp alone, with its misses",
    "throughput_cycles": "cycles of an SM that is never idle",
    "waiting_cycles": "cycles of an SM that waits for its warps",
    "busy_us": "microseconds of the SMs",
    "dispatch_us": "microseconds of the dispatcher",
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

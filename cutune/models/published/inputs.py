"""The models of the literature, for comparison: MWP-CWP, and bounds by latency and throughput.

Takes a `FittedModel` and a `DeviceProfile`, gives a `RationalProgram`. Counts are totals over
threads divided by the working threads: those of a full working warp. Nothing is fitted per warp.
"""

from __future__ import annotations

from dataclasses import dataclass

from cutune.device.occupancy import resident_blocks
from cutune.device.profile import DeviceProfile
from cutune.device.thread_block import warps_of
from cutune.fit.fitted_model import SCATTERED, SECTORS, UNCOALESCED, FittedModel, PublishedCounts
from cutune.fit.rational.functions import RationalFunction
from cutune.fit.rational.nodes import (
    Cell,
    Expression,
    Reference,
    ceiling,
    expression,
    maximum,
    minimum,
)
from cutune.fit.rational.program import RationalProgram, size_name
from cutune.models.constants import NEARLY_NONE
from cutune.models.definitions import (
    ALIGNMENT_CLASS,
    CYCLES_PER_WARP,
    TIME,
    TIME_WITH_FLOOR,
    Lines,
    resources_of,
)


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
    if model.published is not None:
        return _published(lines, model.published)
    working = lines.define("working", maximum(1, _working(model)))
    memory = expression(0)
    for index, (group, requests) in enumerate(zip(model.groups, model.requests, strict=True)):
        trips = lines.define(f"trips_{index}", maximum(0, group.expression()) / working)
        memory = memory + requests * trips
    memory = lines.define("memory", memory)
    issued = maximum(0, model.instructions.expression()) / working
    compute = lines.define("compute", maximum(0, issued - memory))
    lines.define(ALIGNMENT_CLASS, lines.class_index(model))
    uncoalesced = lines.define("uncoalesced", _weighted(lines, model, UNCOALESCED))
    scattered = lines.define("scattered", _weighted(lines, model, SCATTERED))
    sectors = lines.define("sectors", _weighted(lines, model, SECTORS))
    coalesced = lines.define("coalesced", maximum(0, memory - uncoalesced))
    transactions = lines.define("transactions", scattered / maximum(NEARLY_NONE, uncoalesced))
    barriers = lines.define("barriers", maximum(0, model.barriers.expression()) / working)
    return WarpCounts(compute, coalesced, uncoalesced, transactions, sectors, barriers)


def _working(model: FittedModel) -> Expression:
    """Threads that share the work: where the grid is kept, all that a block has."""
    if not model.kernel.keeps_grid:
        return model.working.expression()
    threads = expression(1)
    for name, is_kept in zip("xyz", model.kernel.grid_kept, strict=True):
        threads = threads * Reference(f"extent_{name}")
        threads = threads * Reference(f"block_{name}") if is_kept else threads
    return threads


def _published(lines: Lines, counts: PublishedCounts) -> WarpCounts:
    """Counters as fitted by the published method: functions of size and block, no tables."""
    # The first variable is a size; the others are properties of the candidate.
    size, *axes = counts.issued.numerator.variables
    names = (size_name(size), *axes)

    def define(name: str, function: RationalFunction) -> Reference:
        return lines.define(name, maximum(0, function.expression(names)))

    memory = define("memory", counts.memory)
    compute = lines.define("compute", maximum(0, counts.issued.expression(names) - memory))
    uncoalesced = define("uncoalesced", counts.uncoalesced)
    scattered, sectors = define("scattered", counts.scattered), define("sectors", counts.sectors)
    coalesced = lines.define("coalesced", maximum(0, memory - uncoalesced))
    transactions = lines.define("transactions", scattered / maximum(NEARLY_NONE, uncoalesced))
    barriers = define("barriers", counts.barriers)
    return WarpCounts(compute, coalesced, uncoalesced, transactions, sectors, barriers)


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
    lines.properties["resident"] = tuple(
        max(1, resident_blocks(resources_of(model, block), device.limits)) for block in model.blocks
    )
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

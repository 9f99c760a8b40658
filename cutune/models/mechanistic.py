"""The mechanistic model: time of one launch from exact address features and device constants.

Takes a `FittedModel` and a `DeviceProfile`, gives a `RationalProgram` over the kernel's data
parameters and thread-space extents, one entry per candidate block. No timing of the kernel enters.

Per warp, the load/store unit, the traffic below L1 and the issue slots are worked in parallel;
per SM, throughput and latency; per GPU, the SMs and the dispatcher. Each pair of parallel
resources is joined by a smooth maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from fractions import Fraction
from itertools import cycle
from math import log2, sqrt

from cutune.device.occupancy import can_launch, resident_blocks
from cutune.device.profile import DeviceProfile, ModelConstants
from cutune.device.thread_block import WARP, threads_of, warp_footprint, warps_of
from cutune.fit.fitted_model import (
    ATOMIC,
    ATOMIC_REAL,
    ISSUE,
    FittedModel,
    in_single_precision,
)
from cutune.fit.rational.program import (
    CANDIDATE,
    TERM,
    Expression,
    Lookup,
    Parameter,
    RationalProgram,
    ceiling,
    choice,
    expression,
    less_equal,
    maximum,
    minimum,
    norm,
)
from cutune.models.definitions import (
    ALIGNMENT_CLASS,
    CYCLES_PER_WARP,
    TIME,
    TIME_WITH_FLOOR,
    Lines,
    resources_of,
)
from cutune.models.features import Features
from cutune.models.issue import issue_cycles
from cutune.models.memory_traffic import define_arrays, define_footprint, define_missed

#: Rational substitute for fill^0.79: warps of partly idle blocks are not free.
FILL_OFFSET, FILL_SLOPE = Fraction(73, 100), Fraction(27, 100)
#: Rows in z lie in other pages of memory, too: what doubling them costs, by what rows in y cost.
PLANES_DOUBLED = 5 / 3

#: Stores of up to so many warps at once meet where each goes to no more lines than that. Read off
#: stores of structures of 1 to 16 words, in blocks of 32 to 1024 threads, on an H200.
MERGED_LINES, FEW_WARPS = 5, 4

ATOMIC_COSTS = {ATOMIC: "atomic_us_integer", ATOMIC_REAL: "atomic_us_same_address"}
CONSTANTS = tuple(field.name for field in fields(ModelConstants))
#: Parts of the throughput of an SM, by the definition that holds their cycles per warp.
PER_WARP_TERMS = {
    "load_store_unit": "load_cycles",
    "below_l1": "store_cycles",
    "issue": "warp_issue_cycles",
}


def compose(model: FittedModel, device: DeviceProfile) -> RationalProgram:
    """Write the model of one kernel on one device as a rational program.

    Defines, per candidate: `time_us`, `time_with_floor_us` (what the host sees) and
    `cycles_per_warp` (throughput cost of one warp on its SM, cycles).
    """
    return _Composer(model, device, False).program()


def compose_symbolic(model: FittedModel, device: DeviceProfile) -> RationalProgram:
    """The same with the constants of the model as further sizes, by name: for fitting them."""
    return _Composer(model, device, True).program()


def _apart(lines: float, together: int, present: float) -> float:
    """Of stores to sectors that the warp has just written in part, the share that does not meet.

    Those to few lines, by few warps at a time, wait for each other on their way to L2. Where few
    warps are resident, half of the others do, too.
    """
    waiting = (MERGED_LINES / max(1.0, lines)) ** 2 * sqrt(FEW_WARPS / max(FEW_WARPS, together))
    return max(0.0, 1 - waiting) * (1 + present) / 2


def launchable(model: FittedModel, device: DeviceProfile) -> FittedModel:
    """The model without the candidates that ask for more than the device has."""
    limits = device.limits
    return model.restricted(
        [block for block in model.blocks if can_launch(resources_of(model, block), limits)]
    )


class _Composer:
    """Collects definitions and tables line by line."""

    def __init__(self, model: FittedModel, device: DeviceProfile, symbolic: bool) -> None:
        self.model, self.device = model, device
        self.keeps_grid = model.facts.keeps_grid
        self.lines = Lines()
        self.features = Features(model, device, self.lines, symbolic)
        self.constant = self.features.constant
        self.warps_at_once: Sequence[int] = ()
        self.apart: Expression | None = None
        self.shared_in_use = 0

    def program(self) -> RationalProgram:
        self._describe_candidates()
        self._define_sizes()
        define_footprint(self.features)
        self._define_grid()
        self._define_apart()
        load, store = self._define_demand()
        issue = issue_cycles(self.features, self.keeps_grid, self.warps_at_once)
        issue = self.lines.define("warp_issue_cycles", issue)
        memory = self._lying_apart(norm(3, load, store))
        cycles = norm(3, memory, issue)
        cycles = self.lines.define(CYCLES_PER_WARP, cycles)
        self._define_times(cycles)
        self._define_terms()
        return self.lines.program(self.model, CONSTANTS if self.features.symbolic else ())

    # ---- what is known of the candidates at emit time

    def _describe_candidates(self) -> None:
        blocks = self.model.blocks
        for axis, name in enumerate("xyz"):
            self.lines.properties[f"block_{name}"] = tuple(block[axis] for block in blocks)
            self.lines.properties[f"footprint_{name}"] = tuple(
                warp_footprint(block)[axis] for block in blocks
            )
            if self.model.facts.grid_kept[axis]:
                self.lines.properties[f"footprints_{name}"] = tuple(
                    -(-block[axis] // warp_footprint(block)[axis]) for block in blocks
                )
        warps = [warps_of(block) for block in blocks]
        limits = self.device.limits
        asked = [resources_of(self.model, block) for block in blocks]
        resident = [max(1, resident_blocks(one, limits)) for one in asked]
        in_use = (n * one.shared_bytes for n, one in zip(resident, asked, strict=True))
        self.shared_in_use = max(in_use, default=0)
        at_once = [min(r * w, limits.warps_per_sm) for r, w in zip(resident, warps, strict=True)]
        self.warps_at_once = at_once
        self.lines.properties["threads"] = tuple(threads_of(block) for block in blocks)
        self.lines.properties["warps"] = tuple(warps)
        # Blocks that fill the GPU once; the other two save a division per candidate.
        self.lines.properties["wave"] = tuple(self.device.sm_count * r for r in resident)
        self.lines.tables["turnover"] = in_single_precision([1 / r for r in resident])
        self.lines.tables["share"] = in_single_precision([1 / n for n in at_once])

    def _define_apart(self) -> None:
        """By how much memory costs more where the rows of a block lie apart in it."""
        doublings = [log2(y) + PLANES_DOUBLED * log2(z) for _, y, z in self.model.blocks]
        if not self.model.looped and any(doublings):
            self.lines.tables["doublings"] = in_single_precision(doublings)
            share = self.constant("rows_doubled") * Lookup("doublings", Parameter(CANDIDATE))
            self.apart = self.lines.define("lying_apart", 1 + share)

    def _lying_apart(self, cost: Expression) -> Expression:
        return cost if self.apart is None else cost * self.apart

    # ---- once per launch

    def _define_sizes(self) -> None:
        model = self.model
        self.lines.define("working", maximum(1, model.working.expression()))
        for index, group in enumerate(model.groups):
            self.lines.define(f"trips_{index}", self.features.per_thread(group))
        self.lines.define("steps", self.features.per_thread(model.steps))
        define_arrays(self.features)
        self.lines.define(ALIGNMENT_CLASS, self.lines.class_index(self.model))

    def _define_demand(self) -> tuple[Expression, Expression]:
        """Cycles of the load/store unit and of the traffic below L1, per warp."""
        load, store = expression(0), expression(0)
        fixed = [] if self.keeps_grid else self.model.requests
        for index, requests in enumerate(fixed):
            cycles = self.constant("cycles_per_request") * requests
            load = load + cycles * Parameter(f"trips_{index}")
        load = self.features.total("load", load, ("request", "load", "shared"))
        store = self.features.total("store", store, ("store",)) + self._rewritten()
        store = store + define_missed(self.features, self.shared_in_use)
        tiny = Fraction(1, 1000)
        load_cycles = self.lines.define("load_cycles", maximum(tiny, load))
        return load_cycles, self.lines.define("store_cycles", maximum(tiny, store))

    def _in_phases(self) -> bool:
        return self.model.looped and self.features.has_barriers

    def _rewritten(self) -> Expression:
        """Cycles of stores to sectors on their way to L2, as far as they do not meet there."""
        rewritten = self.features.filled(("rewritten",))
        if not rewritten:
            return expression(0)
        lines = {c.group: c.values for _, c in self.features.filled(("rewritten_lines",))}
        crowds = self._crowds()
        apart = []
        for index, column in rewritten:
            cells = zip(column.values, lines[column.group], cycle(crowds))
            values = [sectors * _apart(touched, *crowd) for sectors, touched, crowd in cells]
            apart.append((index, replace(column, values=in_single_precision(values))))
        return self.features.total_of("rewritten", expression(0), apart)

    def _crowds(self) -> list[tuple[int, float]]:
        """Warps that start together, and the part of the most that may be there, by block."""
        most = self.device.limits.warps_per_sm
        pairs = zip(self.model.blocks, self.warps_at_once, strict=True)
        return [(warps_of(block), resident / most) for block, resident in pairs]

    # ---- once per candidate

    def _define_times(self, cycles: Expression) -> None:
        device = self.device
        warps = Parameter("warps")
        blocks, active_warps = Parameter("blocks"), Parameter("active_warps")
        share = self.lines.define("blocks_per_sm", blocks / device.sm_count)
        one_wave = less_equal(blocks, Parameter("wave"))
        per_sm = choice(one_wave, ceiling(share), share + Fraction(1, 2))
        if self.model.one_dimensional:
            on_sm = maximum(1, minimum(per_sm * warps, active_warps))
        else:
            # Of the share of warps that have work: share / (offset + slope * share).
            launched = self.lines.define("launched_warps", blocks * warps)
            working = self.lines.define("working_warps", minimum(active_warps, launched))
            filled = FILL_OFFSET * launched + FILL_SLOPE * working
            on_sm = per_sm * warps * working / filled
        busy_warps = self.lines.define("warps_on_sm", on_sm)
        rounds = maximum(1, busy_warps * Lookup("share", Parameter(CANDIDATE)))
        if self.model.looped:
            # Blocks that all take as long end together: the last wave counts whole.
            rounds = maximum(rounds, ceiling(blocks / Parameter("wave")))
        # Between barriers the warps of a block wait for each other: its work adds up.
        alone = cycles * warps if self._in_phases() else cycles
        waiting = (self._latency(one_wave) + alone) * rounds
        throughput = cycles * busy_warps
        if not self.model.looped:
            loss = self.constant("block_granularity") + Parameter("dram_share") * self.constant(
                "block_granularity_dram"
            )
            loss = self.lines.define("turnover_loss", loss)
            loss = self.lines.define(
                "turnover_factor", 1 + loss * Lookup("turnover", Parameter(CANDIDATE))
            )
            waiting = waiting * loss
        throughput = self.lines.define("throughput_cycles", throughput)
        waiting = self.lines.define("waiting_cycles", waiting)
        busy = norm(2 if self._in_phases() else 3, throughput, waiting)
        busy = busy * (1 / (device.clock_ghz * 1000))
        busy = self.lines.define("busy_us", busy)
        dispatch = self.lines.define("dispatch_us", self.constant("dispatch_us_per_block") * blocks)
        busy = norm(3, busy, self._atomics())
        time = self.constant("launch_us") + norm(8, busy, dispatch)
        time = self.lines.define(TIME, time)
        self.lines.define(TIME_WITH_FLOOR, norm(8, time, self.constant("floor_us")))

    def _define_terms(self) -> None:
        """What each resource would take alone: for people, no part of the time."""
        per_us = self.device.clock_ghz * 1000
        for term, cycles in PER_WARP_TERMS.items():
            time = Parameter(cycles) * Parameter("warps_on_sm") / per_us
            self.lines.define(f"{TERM}{term}", time)
        self.lines.define(f"{TERM}waiting", Parameter("waiting_cycles") / per_us)
        self.lines.define(f"{TERM}dispatch", Parameter("dispatch_us"))
        self.lines.define(f"{TERM}dram", Parameter("dram_us"))
        self.lines.define(f"{TERM}launch", self.constant("launch_us"))

    def _latency(self, one_wave: Expression) -> Expression:
        """Cycles that a warp alone would take: instructions, load steps, misses, barriers."""
        own = "warp_" if self.keeps_grid else ""
        steps: Expression = Parameter(f"{own}steps")
        uneven = self.features.only(ISSUE)
        waiting = self.constant("latency_cycles_per_step") * steps
        fixed = self.constant("latency_cycles_per_slot") * Parameter(f"{own}slots")
        fixed = fixed + self.constant("latency_cycles_per_barrier") * Parameter(f"{own}barriers")
        if uneven != expression(1) and not self.keeps_grid:
            steps = self.lines.define("warp_steps", steps * uneven)
            waiting, fixed = waiting * uneven, fixed * uneven
        fixed = self.lines.define("latency_fixed", self.constant("latency_cycles_start") + fixed)
        miss = self.constant("latency_cycles_per_miss")
        miss = miss + self.constant("latency_cycles_dram") * Parameter("dram_misses")
        miss = self.lines.define("miss_latency", miss)
        missing = expression(0)
        for index, column in self.features.filled(("missing",)):
            cell = self.features.cell(index, column)
            missing = missing + Parameter(f"trips_{column.group}") * cell
        waiting = self.lines.define("steps_latency", waiting)
        missing = missing * Parameter("still_missing")
        waiting = waiting + self._lying_apart(miss) * minimum(steps, missing)
        if self.model.facts.on_data:
            # Where all blocks run at once, the last warp of all ends the launch.
            last = max(v for c in self.model.columns if c.kind == "busiest" for v in c.values)
            busiest = self.features.only("busiest")
            waiting = waiting * choice(one_wave, expression(Fraction(last)), busiest)
        elif self._in_phases():
            waiting = waiting * self.features.only("busiest")
        return self.lines.define("latency_cycles", fixed + waiting)

    def _atomics(self) -> Expression:
        """Time of DRAM, or of the busiest address where atomics meet: one after the other."""
        busiest: Expression = Parameter("dram_us")
        for index, column in enumerate(self.model.columns):
            if column.kind not in ATOMIC_COSTS:
                continue
            operations = maximum(0, self.model.groups[column.group].expression())
            changed = maximum(1, Parameter(f"array_bytes_{column.array}"))
            each = self.constant(ATOMIC_COSTS[column.kind]) * operations / changed
            each = self.lines.define(f"atomic_us_{index}", each)
            busiest = maximum(busiest, each * self.features.cell(index, column))
        return busiest

    def _define_grid(self) -> None:
        """Blocks that have work, and warps that have work."""
        blocks, active = expression(1), expression(1)
        kept = dict(zip("xyz", self.model.facts.grid_kept, strict=True))
        for name in self._used_dimensions():
            extent = Parameter(f"extent_{name}")
            if kept[name]:
                blocks = blocks * extent
                active = active * (extent * Parameter(f"footprints_{name}"))
                continue
            blocks = blocks * ceiling(extent / Parameter(f"block_{name}"))
            active = active * ceiling(extent / Parameter(f"footprint_{name}"))
        if self.model.one_dimensional and not self.keeps_grid:
            working = Parameter("working")
            blocks = minimum(blocks, ceiling(working / Parameter("threads")))
            active = maximum(1, working / WARP)
        self.lines.define("blocks", blocks)
        self.lines.define("active_warps", active)

    def _used_dimensions(self) -> str:
        """Dimensions in which the thread space may be larger than 1."""
        facts = self.model.facts
        single_thread = [
            facts.guards[axis] is None
            and not facts.variable_extents[axis]
            and not facts.grid_kept[axis]
            and all(threads[axis] == 1 for _, threads in facts.recorded)
            for axis in range(3)
        ]
        return "".join(n for n, one in zip("xyz", single_thread, strict=True) if not one)

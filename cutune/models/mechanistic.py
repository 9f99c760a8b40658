"""The mechanistic model: time of one launch from exact address features and device constants.

Takes a `FittedModel` and a `DeviceProfile`, gives a `RationalProgram` over the kernel's data
parameters and thread-space extents, one entry per candidate block. No timing of the kernel enters.

Per warp, the load/store unit, the traffic below L1 and the issue slots are worked in parallel;
per SM, throughput and latency; per GPU, the SMs and the dispatcher. Each pair of parallel
resources is joined by a smooth maximum, a p-norm, in a rational form (error below 0.12 %).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from cutune.candidates import WARP, Block
from cutune.device import DeviceProfile
from cutune.fitted import FittedModel
from cutune.models.occupancy import BlockResources, can_launch, resident_blocks
from cutune.rational_program import (
    CANDIDATE,
    Definition,
    Expression,
    Lookup,
    Number,
    Parameter,
    RationalProgram,
    ceiling,
    choice,
    expression,
    less,
    less_equal,
    maximum,
    minimum,
)

#: Coefficients (c, d) of a * (1 + c r^p / (1 + d r^p)), r = b/a: rational forms of the p-norm.
NORMS = {
    3: (Fraction(1, 3), Fraction(847, 3000)),
    4: (Fraction(1, 4), Fraction(3215, 10000)),
    8: (Fraction(1, 8), Fraction(381, 1000)),
}
#: Rational substitute for fill^0.79: warps of partly idle blocks are not free.
FILL_OFFSET, FILL_SLOPE = Fraction(73, 100), Fraction(27, 100)

EXTENTS = ("extent_x", "extent_y", "extent_z")
TIME, TIME_WITH_FLOOR, CYCLES_PER_WARP = "time_us", "time_with_floor_us", "cycles_per_warp"


def compose(model: FittedModel, device: DeviceProfile) -> RationalProgram:
    """Write the model of one kernel on one device as a rational program.

    Defines, per candidate: `time_us`, `time_with_floor_us` (what the host sees) and
    `cycles_per_warp` (throughput cost of one warp on its SM, cycles).
    """
    return _Composer(model, device).program()


def launchable(model: FittedModel, device: DeviceProfile) -> FittedModel:
    """The model without the candidates that ask for more than the device has."""
    limits = device.limits
    return model.restricted(
        [block for block in model.blocks if can_launch(_resources(model, block), limits)]
    )


def _resources(model: FittedModel, block: Block) -> BlockResources:
    static, threads = model.facts.static, block[0] * block[1] * block[2]
    shared = static.static_shared_bytes + model.facts.shared_bytes(block)
    return BlockResources(threads, static.registers, shared)


class _Composer:
    """Collects definitions and tables line by line."""

    def __init__(self, model: FittedModel, device: DeviceProfile) -> None:
        self.model, self.device = model, device
        self.definitions: list[Definition] = []
        self.tables: dict[str, tuple[Fraction, ...]] = {}
        self.properties: dict[str, tuple[int, ...]] = {}

    def program(self) -> RationalProgram:
        self._describe_candidates()
        self._define_sizes()
        load, store = self._define_demand()
        cycles = self._norm(3, self._norm(3, load, store), Parameter("issue_cycles"))
        cycles = self._define(CYCLES_PER_WARP, cycles)
        self._define_times(cycles)
        return RationalProgram(
            (*self.model.facts.parameters, *EXTENTS),
            self.properties,
            self.tables,
            tuple(self.definitions),
            len(self.model.blocks),
        )

    # ---- what is known of the candidates at emit time

    def _describe_candidates(self) -> None:
        blocks = self.model.blocks
        for axis, name in enumerate("xyz"):
            self.properties[f"block_{name}"] = tuple(block[axis] for block in blocks)
            self.properties[f"footprint_{name}"] = tuple(
                warp_footprint(block)[axis] for block in blocks
            )
        threads = [x * y * z for x, y, z in blocks]
        warps = [-(-t // WARP) for t in threads]
        limits = self.device.limits
        resident = [max(1, resident_blocks(_resources(self.model, b), limits)) for b in blocks]
        at_once = [min(r * w, limits.warps_per_sm) for r, w in zip(resident, warps, strict=True)]
        self.properties["threads"] = tuple(threads)
        self.properties["warps"] = tuple(warps)
        # Blocks that fill the GPU once; the other two save a division per candidate.
        self.properties["wave"] = tuple(self.device.sm_count * r for r in resident)
        granularity = self.device.model.block_granularity
        self.tables["granularity"] = single(1 + granularity / r for r in resident)
        self.tables["share"] = single(Fraction(1, n) for n in at_once)

    # ---- once per launch

    def _define_sizes(self) -> None:
        model, constants = self.model, self.device.model
        working = self._define("working", maximum(1, model.working.expression()))
        for index, group in enumerate(model.groups):
            self._define(f"trips_{index}", maximum(0, group.expression()) / working)
        steps = maximum(0, model.steps.expression()) / working
        latency = constants.latency_cycles_start + constants.latency_cycles_per_step * steps
        self._define("latency_cycles", latency)
        issue = maximum(0, model.instructions.expression()) / working
        self._define("issue_cycles", maximum(Fraction(1, 1000), issue / constants.issue_per_cycle))
        for index, array in enumerate(model.arrays):
            extent = array.extent_bytes.expression()
            self._define(f"far_{index}", less(constants.resident_vector_bytes, extent))
        self._define("row", self._class_index() * len(model.blocks))

    def _class_index(self) -> Expression:
        """Which alignment class: residues of the data parameters, mixed radix."""
        index = expression(0)
        for name, classes in zip(self.model.facts.parameters, self.model.classes, strict=True):
            if len(set(classes)) > 1:
                table = f"class_of_{name}"
                self.tables[table] = tuple(Fraction(c) for c in classes)
                residue = Lookup(table, Parameter(name) % len(classes))
                index = index * (max(classes) + 1) + residue
        return index

    def _define_demand(self) -> tuple[Expression, Expression]:
        """Cycles of the load/store unit and of the traffic below L1, per warp."""
        constants = self.device.model
        load, store = expression(0), expression(0)
        for index, requests in enumerate(self.model.requests):
            load = load + constants.cycles_per_request * requests * Parameter(f"trips_{index}")
        load = self._define("request_cycles", load)
        weights = {
            "load": constants.load_cycles_per_wavefront,
            "store": constants.store_cycles_per_sector,
            "missed": constants.cycles_per_missed_sector,
        }
        for index, column in enumerate(self.model.columns):
            weight = weights[column.kind] * Parameter(f"trips_{column.group}")
            if column.array is not None:
                weight = weight * Parameter(f"far_{column.array}")
            weight = self._define(f"weight_{index}", weight)
            self.tables[f"feature_{index}"] = column.values
            cell = Lookup(f"feature_{index}", Parameter("row") + Parameter(CANDIDATE))
            if column.kind == "load":
                load = load + weight * cell
            else:
                store = store + weight * cell
        tiny = Fraction(1, 1000)
        load_cycles = self._define("load_cycles", maximum(tiny, load))
        return load_cycles, self._define("store_cycles", maximum(tiny, store))

    # ---- once per candidate

    def _define_times(self, cycles: Expression) -> None:
        device, constants = self.device, self.device.model
        warps = Parameter("warps")
        blocks, active_warps = self._define_grid()
        fill = self._define("fill", minimum(1, active_warps / (blocks * warps)))
        share = self._define("blocks_per_sm", blocks / device.sm_count)
        one_wave = less_equal(blocks, Parameter("wave"))
        per_sm = choice(one_wave, ceiling(share), share + Fraction(1, 2))
        if self.model.one_dimensional:
            on_sm = maximum(1, minimum(per_sm * warps, active_warps))
        else:
            on_sm = per_sm * warps * fill / (FILL_OFFSET + FILL_SLOPE * fill)
        busy_warps = self._define("warps_on_sm", on_sm)
        throughput = cycles * busy_warps
        if not self.model.looped:
            throughput = throughput * Lookup("granularity", Parameter(CANDIDATE))
        throughput = self._define("throughput_cycles", throughput)
        rounds = maximum(1, busy_warps * Lookup("share", Parameter(CANDIDATE)))
        waiting = Parameter("latency_cycles") * rounds
        waiting = self._define("waiting_cycles", waiting)
        busy = self._norm(4, throughput, waiting) / (device.clock_ghz * 1000)
        busy = self._define("busy_us", busy)
        dispatch = self._define("dispatch_us", constants.dispatch_us_per_block * blocks)
        time = self._define(TIME, constants.launch_us + self._norm(4, busy, dispatch))
        self._define(TIME_WITH_FLOOR, self._norm(8, time, constants.floor_us))

    def _define_grid(self) -> tuple[Expression, Expression]:
        """Blocks that have work, and warps that have work."""
        blocks, active = expression(1), expression(1)
        for name in self._used_dimensions():
            extent = Parameter(f"extent_{name}")
            blocks = blocks * ceiling(extent / Parameter(f"block_{name}"))
            active = active * ceiling(extent / Parameter(f"footprint_{name}"))
        if self.model.one_dimensional:
            working = Parameter("working")
            blocks = minimum(blocks, ceiling(working / Parameter("threads")))
            active = maximum(1, working / WARP)
        return self._define("blocks", blocks), self._define("active_warps", active)

    def _used_dimensions(self) -> str:
        """Dimensions in which the thread space may be larger than 1."""
        facts = self.model.facts
        single_thread = [
            facts.guards[axis] is None
            and not facts.variable_extents[axis]
            and all(threads[axis] == 1 for _, threads in facts.recorded)
            for axis in range(3)
        ]
        return "".join(n for n, one in zip("xyz", single_thread, strict=True) if not one)

    # ---- building blocks

    def _define(self, name: str, value: Number) -> Parameter:
        self.definitions.append(Definition(name, expression(value)))
        return Parameter(name)

    def _norm(self, power: int, first: Number, second: Number) -> Expression:
        """Smooth maximum of two positive quantities."""
        index = len(self.definitions)
        first = self._define(f"first_{index}", first)
        second = self._define(f"second_{index}", second)
        larger = self._define(f"larger_{index}", maximum(first, second))
        ratio = self._define(f"ratio_{index}", minimum(first, second) / larger)
        square = self._define(f"square_{index}", ratio * ratio)
        if power == 3:
            raised = square * ratio
        elif power == 4:
            raised = square * square
        else:
            fourth = self._define(f"fourth_{index}", square * square)
            raised = fourth * fourth
        raised = self._define(f"raised_{index}", raised)
        top, bottom = NORMS[power]
        return larger * (1 + top * raised / (1 + bottom * raised))


def single(values: Iterable[Fraction]) -> tuple[Fraction, ...]:
    """Rounded to single precision, as the tables of the emitted C hold them."""
    return tuple(Fraction(float(np.float32(float(value)))) for value in values)


def warp_footprint(block: tuple[int, int, int]) -> tuple[int, int, int]:
    """How many ids one warp covers per dimension; for shapes that are no powers of two, nearly."""
    x = min(block[0], WARP)
    y = min(block[1], max(1, WARP // x))
    z = min(block[2], max(1, WARP // (x * y)))
    return (x, y, z)

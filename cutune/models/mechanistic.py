"""The mechanistic model: time of one launch from exact address features and device constants.

Takes a `FittedModel` and a `DeviceProfile`, gives a `RationalProgram` over the kernel's data
parameters and thread-space extents, one entry per candidate block. No timing of the kernel enters.

Per warp, the load/store unit, the traffic below L1 and the issue slots are worked in parallel;
per SM, throughput and latency; per GPU, the SMs, DRAM and the dispatcher. Each pair of parallel
resources is joined by a smooth maximum. `docs/model.md` has each term as a formula.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction

from cutune.device.profile import DeviceProfile, ModelConstants
from cutune.fit.fitted_model import FittedModel
from cutune.fit.rational.nodes import Expression, Reference, expression, less_equal, maximum, norm
from cutune.fit.rational.program import TERM, RationalProgram
from cutune.models.candidates import describe_candidates
from cutune.models.constants import NEARLY_ALL, NEARLY_MAXIMUM, SIDE_BY_SIDE
from cutune.models.definitions import ALIGNMENT_CLASS, CYCLES_PER_WARP, TIME, TIME_WITH_FLOOR, Lines
from cutune.models.execution import define_busy, define_rows_factor, with_rows
from cutune.models.features import Features
from cutune.models.issue import define_issue
from cutune.models.memory_traffic import beside_sms, define_arrays, define_demand, define_footprint
from cutune.models.thread_space import define_grid

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
    features = Features(model, device, Lines(), symbolic=False)
    _define_model(features)
    return features.lines.program(model)


def compose_symbolic(model: FittedModel, device: DeviceProfile) -> RationalProgram:
    """As `compose`, with the constants of the model as further sizes, by name: to fit them."""
    features = Features(model, device, Lines(), symbolic=True)
    _define_model(features)
    return features.lines.program(model, CONSTANTS)


def _define_model(features: Features) -> None:
    """All terms in the order of evaluation: sizes, blocks, a warp, an SM, the launch."""
    residency = describe_candidates(features)
    _define_counts(features)
    define_footprint(features)
    define_grid(features)
    rows = define_rows_factor(features)
    memory = norm(SIDE_BY_SIDE, *define_demand(features, residency))
    issue = define_issue(features, residency.warps)
    cycles = norm(SIDE_BY_SIDE, with_rows(memory, rows), issue)
    cycles = features.lines.define(CYCLES_PER_WARP, cycles)
    _define_time(features, define_busy(features, rows, cycles))
    _define_terms(features)


def _define_counts(features: Features) -> None:
    """Threads that work and, of each of them, executions and load steps; sizes of arrays."""
    model, lines = features.model, features.lines
    lines.define("working", maximum(1, model.working.expression()))
    for index, group in enumerate(model.groups):
        lines.define(f"trips_{index}", features.per_thread(group))
    lines.define("steps", features.per_thread(model.steps))
    define_arrays(features)
    lines.define(ALIGNMENT_CLASS, lines.class_index(model))


def _define_time(features: Features, busy: Expression) -> None:
    """The time of the launch: SMs, DRAM and the dispatcher side by side, behind the launch."""
    lines, constant = features.lines, features.constant
    dispatch = constant("dispatch_us_per_block") * Reference("blocks")
    dispatch = lines.define("dispatch_us", dispatch)
    busy = norm(SIDE_BY_SIDE, busy, beside_sms(features))
    launch = constant("launch_us")
    for is_enough in _bounds(features):
        launch = launch / is_enough
    time = launch + norm(NEARLY_MAXIMUM, busy, dispatch)
    time = lines.define(TIME, time)
    lines.define(TIME_WITH_FLOOR, norm(NEARLY_MAXIMUM, time, constant("floor_us")))


def _bounds(features: Features) -> Iterator[Expression]:
    """1 where counts are no less than what every thread executes that accesses memory, else 0.

    That needs no fit. Where counts are less, which only a fault can bring about, the time is
    infinite, and the program's own configuration stays.
    """
    model, least = features.model, features.model.kernel.compiled.least
    share = NEARLY_ALL - Fraction(model.held_out_error)
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

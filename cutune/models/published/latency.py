"""Latency and throughput bounds after Volkov and Little's law, cycles of one launch."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from cutune.device.profile import DeviceProfile
from cutune.fit.fitted_model import FittedModel
from cutune.fit.rational.nodes import Expression, ceiling, expression, maximum
from cutune.fit.rational.program import RationalProgram
from cutune.models.definitions import Lines
from cutune.models.published.inputs import (
    LaunchShape,
    WarpCounts,
    define_counts,
    define_launch,
    with_times,
)
from cutune.models.published.mwp_cwp import MEMORY_LATENCY

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

"""MWP-CWP: memory and computation warp parallelism, cycles of one launch."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from cutune.device.profile import DeviceProfile
from cutune.fit.fitted_model import FittedModel
from cutune.fit.rational.nodes import (
    Expression,
    Number,
    choice,
    equal,
    less,
    less_equal,
    maximum,
    minimum,
)
from cutune.fit.rational.program import RationalProgram
from cutune.models.constants import NEARLY_NONE
from cutune.models.definitions import Lines
from cutune.models.published.inputs import (
    LaunchShape,
    WarpCounts,
    define_counts,
    define_launch,
    with_times,
)

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

"""Device profiles: limits, rates, model constants of a GPU. Takes a name or path, gives one.

Occupancy follows from the limits by the allocation rule of compute capability 6.1 and later (CUDA
occupancy calculator): four sub-partitions share the register file, registers are allocated per warp
in units of 256, shared memory per block in units of the device.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, known_names
from cutune.core.typed import Label, Meta, Text, parsed, require, typed
from cutune.toolchain.device.thread_block import WARP

SCHEMA = "cutune-device-2"
#: The shipped profiles.
_PROFILES = Path(__file__).parent / "profiles"
#: Beginning of the provenance of constants that were fitted to times of this GPU.
FITTED = "fitted to micro-kernels"
#: Constants that a time is divided by.
RATES = frozenset(("issue_per_cycle", "dram_efficiency", "l2_share_lost"))
_Capability = Annotated[str, Meta(pattern=r"(?a)\A\d{1,2}\.\d{1,2}\Z")]
_Few = Annotated[int, Meta(ge=1, le=1 << 14)]
_Many = Annotated[int, Meta(ge=1, le=1 << 30)]
_Version = Annotated[int, Meta(ge=0, le=99)]


#: Compute capabilities whose SMs have 64 FP32 units for four schedulers (CUDA C++ Programming
#: Guide, throughput of arithmetic instructions). Others have one for each thread that is issued.
_FEW_SINGLE = frozenset({(7, 0), (7, 2), (7, 5), (8, 0)})
_FEW_SINGLE_LANES = 64


@dataclass(frozen=True)
class Limits:
    """Limits of the hardware (CUDA C++ Programming Guide, "Compute Capabilities")."""

    warps_per_sm: _Few
    blocks_per_sm: _Few
    registers_per_sm: _Many
    registers_per_thread: _Few
    shared_bytes_per_sm: _Many
    shared_bytes_opt_in: _Many
    shared_bytes_reserved: Annotated[int, Meta(ge=0, le=1 << 20)]
    shared_bytes_granularity: _Few
    threads_per_block: _Few


@dataclass(frozen=True)
class ModelConstants:
    """Constants of the mechanistic model; exact rationals, as a rational program needs them.

    Cycles are those of one SM. Unless said otherwise they are throughput, per warp.
    """

    load_cycles_per_wavefront: Fraction
    shared_cycles_per_wavefront: Fraction
    cycles_per_request: Fraction
    store_cycles_per_sector: Fraction
    cycles_per_missed_sector: Fraction
    cycles_per_rewritten_sector: Fraction
    #: Warp instructions per cycle of an SM.
    issue_per_cycle: Fraction
    #: Per warp instruction of the FP64 and the special-function units; per barrier.
    double_cycles: Fraction
    special_cycles: Fraction
    barrier_cycles: Fraction
    #: One block leaves the dispatcher in this time, whole GPU, microseconds.
    dispatch_us_per_block: Fraction
    #: h in the factor 1 + h/A on kernels without a loop, with A resident blocks per SM; added to h
    #: for misses that DRAM serves.
    block_granularity: Fraction
    block_granularity_dram: Fraction
    #: Loss of kernels without a loop for each doubling of the rows (y) of a thread block, which are
    #: not adjacent in memory; planes (z) cost more, by a factor of the model.
    rows_doubled: Fraction
    launch_us: Fraction
    #: Shorter kernels hide behind the host's launch rate, microseconds.
    floor_us: Fraction
    #: Latency of a single warp in cycles: start and end; per load step that hits L1; extra for a
    #: miss of L1; extra for a miss that DRAM serves; per issue slot; per barrier.
    latency_cycles_start: Fraction
    latency_cycles_per_step: Fraction
    latency_cycles_per_miss: Fraction
    latency_cycles_dram: Fraction
    latency_cycles_per_slot: Fraction
    latency_cycles_per_barrier: Fraction
    #: Arrays up to this size stay in L1 across blocks.
    resident_vector_bytes: Fraction
    #: A footprint up to the first share of the L2 cache stays in it. All of it comes from DRAM once
    #: the footprint is larger by the second share.
    l2_share_kept: Fraction
    l2_share_lost: Fraction
    #: Achievable share of the DRAM bandwidth.
    dram_efficiency: Fraction
    #: Time between atomic operations on one address, microseconds: floating-point additions, and
    #: all operations on integers.
    atomic_us_same_address: Fraction
    atomic_us_integer: Fraction
    #: A uniform read of constant memory while the warps of an SM are at different instructions.
    uniform_cycles: Fraction

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            is_rate = field.name in RATES
            least = "above 0" if is_rate else "at least 0"
            fits = 0 <= value <= 10**9 and (value or not is_rate)
            require(fits, f"`{field.name}` is {least}, and at most 10^9")


@dataclass(frozen=True)
class DeviceProfile:
    """One GPU as the models see it; `dram_gbs`: at best; `provenance`: sources of the numbers."""

    name: Label
    compute_capability: tuple[_Version, _Version]
    sm_count: _Few
    clock_ghz: Fraction
    dram_gbs: Fraction
    l2_bytes: Annotated[int, Meta(ge=1, le=1 << 40)]
    limits: Limits
    model: ModelConstants
    provenance: Mapping[Text, Text]

    def __post_init__(self) -> None:
        rates = (self.clock_ghz, self.dram_gbs)
        require(all(0 < rate <= 10**6 for rate in rates), "a rate is above 0")

    @property
    def architecture(self) -> str:
        """Its architecture by nvcc's name, for instance `sm_90`."""
        major, minor = self.compute_capability
        return f"sm_{major}{minor}"

    @property
    def single_cycles(self) -> Fraction:
        """Per warp instruction of the FP32 units; 0 where issue slots are no more than they."""
        is_few = self.compute_capability in _FEW_SINGLE
        return Fraction(WARP, _FEW_SINGLE_LANES) if is_few else Fraction(0)

    @property
    def is_calibrated(self) -> bool:
        return any(text.startswith(FITTED) for text in self.provenance.values())

    @property
    def file_name(self) -> str:
        """The name in small letters, fit for a file: `nvidia-h200`."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")

    def to_json(self) -> dict[str, Any]:
        major, minor = self.compute_capability
        return {
            "schema": SCHEMA,
            **asdict(self),
            "compute_capability": f"{major}.{minor}",
            "clock_ghz": float(self.clock_ghz),
            "dram_gbs": float(self.dram_gbs),
            "model": {name: _text(value) for name, value in vars(self.model).items()},
        }

    @staticmethod
    def named(name: str) -> DeviceProfile:
        """A shipped profile by name, or any by the path of its file. Raises CT001, CT004, CT005."""
        if name.endswith(".json"):
            try:
                text = Path(name).read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise CutuneError.at(Code.UNREADABLE_FILE, path=name, reason=reason) from error
            return _parse(name, text)
        shipped = _PROFILES / f"{name.lower()}.json"
        if not shipped.is_file():
            known = known_names(name, profile_names())
            raise CutuneError.at(Code.UNKNOWN_DEVICE, name=name, known=known)
        return _parse(name, shipped.read_text(encoding="utf-8"))


def profile_names() -> list[str]:
    """The names of the shipped profiles."""
    return sorted(path.stem for path in _PROFILES.glob("*.json"))


def shipped_profiles() -> list[DeviceProfile]:
    """The shipped profiles, in the order of their names."""
    return [DeviceProfile.named(name) for name in profile_names()]


def _text(value: Fraction) -> str:
    """A constant as a decimal number where that is exact, else as a fraction."""
    text = f"{float(value):.10g}"
    return text if Fraction(text) == value else f"{value.numerator}/{value.denominator}"


def _parse(path: str, text: str) -> DeviceProfile:
    try:
        data = typed(dict[str, Any], parsed(text))
        actual = data.get("schema")
        if actual == SCHEMA:
            major, minor = typed(_Capability, data["compute_capability"]).split(".")
            return typed(DeviceProfile, {**data, "compute_capability": (int(major), int(minor))})
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        actual = error
    raise CutuneError.at(Code.UNKNOWN_SCHEMA, path=path, wanted=SCHEMA, found=actual)


SUB_PARTITIONS = 4
REGISTER_UNIT = 256


@dataclass(frozen=True)
class BlockResources:
    """Resources that one thread block needs."""

    threads: int
    registers_per_thread: int
    shared_bytes: int


def can_launch(resources: BlockResources, limits: Limits) -> bool:
    """Can the hardware launch such a thread block?"""
    return resident_blocks(resources, limits) > 0


def resident_blocks(resources: BlockResources, limits: Limits) -> int:
    """The thread blocks resident on one SM; 0 where one block exceeds the limits."""
    if (
        not 0 < resources.threads <= limits.threads_per_block
        or resources.registers_per_thread > limits.registers_per_thread
        or resources.shared_bytes > limits.shared_bytes_opt_in
    ):
        return 0
    warps = -(-resources.threads // WARP)
    registers = -(-max(1, resources.registers_per_thread) * WARP // REGISTER_UNIT) * REGISTER_UNIT
    warps_per_partition = limits.registers_per_sm // SUB_PARTITIONS // registers
    by_registers = SUB_PARTITIONS * warps_per_partition // warps
    unit = limits.shared_bytes_granularity
    shared = -(-(resources.shared_bytes + limits.shared_bytes_reserved) // unit) * unit
    by_shared = limits.shared_bytes_per_sm // shared if shared else limits.blocks_per_sm
    by_warps = limits.warps_per_sm // warps
    return min(by_registers, by_shared, by_warps, limits.blocks_per_sm)

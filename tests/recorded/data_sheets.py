"""Profiles of GPUs that were not calibrated: published figures in, profile files out.

`python -m tests.recorded.data_sheets` writes the shipped profiles of all cards in the table. Rates
and limits are the maker's. Constants of the model are published where they are; otherwise they are
those of the calibrated H200, about the same in cycles on GPUs since Volta.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path

from cutune.measure.calibration.fit_constants import beliefs
from cutune.toolchain.device import profile
from cutune.toolchain.device.profile import DeviceProfile, Limits, ModelConstants

KIB = 1 << 10
PROFILES = Path(profile.__file__).with_name("profiles")
#: Constants that the guide gives for each compute capability.
BY_CAPABILITY = ("issue_per_cycle", "double_cycles", "special_cycles")
#: Constants in microseconds that the clock decides.
PER_CLOCK = ("dispatch_us_per_block", "atomic_us_same_address", "atomic_us_integer")
DATA_SHEET = "data sheet"
OCCUPANCY = "CUDA C++ Programming Guide, compute capability"
CARRIED = "not measured: as calibrated on an H200"


@dataclass(frozen=True)
class Card:
    """Numbers of the vendor's data sheets.

    Attributes:
        file: name of its profile.
        boost_mhz: boost clock.
        dram_gbs: peak bandwidth of device memory, GB/s.
        l2_kib: size of the L2 cache.
    """

    file: str
    name: str
    compute_capability: tuple[int, int]
    sm_count: int
    boost_mhz: int
    dram_gbs: int
    l2_kib: int


#: Sources: NVIDIA's data sheets of the cards, and its white papers of the architectures (Pascal,
#: Turing, Ampere GA100 and GA102, Ada, Hopper, RTX Blackwell, Jetson AGX Orin). Bandwidth is the
#: memory's rate times the width of its bus; L2 is what the product has enabled.
CARDS = (
    Card("gtx1080ti", "NVIDIA GeForce GTX 1080 Ti", (6, 1), 28, 1582, 484, 2816),
    Card("titanrtx", "NVIDIA TITAN RTX", (7, 5), 72, 1770, 672, 6144),
    Card("rtx2070super", "NVIDIA GeForce RTX 2070 SUPER", (7, 5), 40, 1770, 448, 4096),
    Card("rtx2080ti", "NVIDIA GeForce RTX 2080 Ti", (7, 5), 68, 1545, 616, 5632),
    Card("rtx3060", "NVIDIA GeForce RTX 3060", (8, 6), 28, 1777, 360, 3072),
    Card("rtx3070", "NVIDIA GeForce RTX 3070", (8, 6), 46, 1725, 448, 4096),
    Card("rtx3080", "NVIDIA GeForce RTX 3080", (8, 6), 68, 1710, 760, 5120),
    Card("rtx3090", "NVIDIA GeForce RTX 3090", (8, 6), 82, 1695, 936, 6144),
    Card("rtx4060", "NVIDIA GeForce RTX 4060", (8, 9), 24, 2460, 272, 24576),
    Card("rtx4060ti", "NVIDIA GeForce RTX 4060 Ti", (8, 9), 34, 2535, 288, 32768),
    Card("rtx4070", "NVIDIA GeForce RTX 4070", (8, 9), 46, 2475, 504, 36864),
    Card("rtx4070super", "NVIDIA GeForce RTX 4070 SUPER", (8, 9), 56, 2475, 504, 49152),
    Card("rtx4070ti", "NVIDIA GeForce RTX 4070 Ti", (8, 9), 60, 2610, 504, 49152),
    Card("rtx4070tisuper", "NVIDIA GeForce RTX 4070 Ti SUPER", (8, 9), 66, 2610, 672, 49152),
    Card("rtx4080", "NVIDIA GeForce RTX 4080", (8, 9), 76, 2505, 717, 65536),
    Card("rtx4080super", "NVIDIA GeForce RTX 4080 SUPER", (8, 9), 80, 2550, 736, 65536),
    Card("rtx4090", "NVIDIA GeForce RTX 4090", (8, 9), 128, 2520, 1008, 73728),
    Card("rtx5070", "NVIDIA GeForce RTX 5070", (12, 0), 48, 2512, 672, 49152),
    Card("rtx5070ti", "NVIDIA GeForce RTX 5070 Ti", (12, 0), 70, 2452, 896, 49152),
    Card("rtx5080", "NVIDIA GeForce RTX 5080", (12, 0), 84, 2617, 960, 65536),
    Card("rtx5090", "NVIDIA GeForce RTX 5090", (12, 0), 170, 2407, 1792, 98304),
    Card("rtxa4000", "NVIDIA RTX A4000", (8, 6), 48, 1560, 448, 4096),
    Card("rtxa5000", "NVIDIA RTX A5000", (8, 6), 64, 1695, 768, 6144),
    Card("rtxa6000", "NVIDIA RTX A6000", (8, 6), 84, 1800, 768, 6144),
    Card("t4", "Tesla T4", (7, 5), 40, 1590, 320, 4096),
    Card("l4", "NVIDIA L4", (8, 9), 58, 2040, 300, 49152),
    Card("l40s", "NVIDIA L40S", (8, 9), 142, 2520, 864, 98304),
    Card("a10", "NVIDIA A10", (8, 6), 72, 1695, 600, 6144),
    Card("a30", "NVIDIA A30", (8, 0), 56, 1440, 933, 24576),
    Card("a40", "NVIDIA A40", (8, 6), 84, 1740, 696, 6144),
    Card("v100", "Tesla V100-SXM2-16GB", (7, 0), 80, 1530, 900, 6144),
    Card("a100", "NVIDIA A100-SXM4-80GB", (8, 0), 108, 1410, 2039, 40960),
    Card("h100", "NVIDIA H100 80GB HBM3", (9, 0), 132, 1980, 3350, 51200),
    Card("gh200", "NVIDIA GH200 480GB", (9, 0), 132, 1980, 4000, 51200),
    Card("b200", "NVIDIA B200", (10, 0), 148, 1965, 8000, 129024),
    Card("orin", "Orin", (8, 7), 16, 1300, 205, 4096),
)

#: Warps, blocks, KiB of shared memory per SM, KiB per block, reserved bytes, unit of allocation
#: (CUDA C++ Programming Guide, technical specifications; cuda_occupancy.h of CUDA 13).
LIMITS = {
    (6, 1): (64, 32, 96, 48, 0, 256),
    (7, 0): (64, 32, 96, 96, 0, 256),
    (7, 5): (32, 16, 64, 64, 0, 256),
    (8, 0): (64, 32, 164, 163, 1024, 128),
    (8, 6): (48, 16, 100, 99, 1024, 128),
    (8, 7): (48, 16, 164, 163, 1024, 128),
    (8, 9): (48, 24, 100, 99, 1024, 128),
    (9, 0): (64, 32, 228, 227, 1024, 128),
    (10, 0): (64, 32, 228, 227, 1024, 128),
    (12, 0): (48, 24, 100, 99, 1024, 128),
}


def published_profiles(calibrated: DeviceProfile) -> Iterator[tuple[str, DeviceProfile]]:
    """File name and profile of every card in the table.

    Args:
        calibrated: the GPU whose constants are carried over.
    """
    for card in CARDS:
        yield card.file, _profile(card, calibrated)


def _profile(card: Card, calibrated: DeviceProfile) -> DeviceProfile:
    clock = Fraction(card.boost_mhz, 1000)
    prior = beliefs(card.compute_capability, clock)
    model: dict[str, Fraction] = asdict(calibrated.model)
    provenance = dict.fromkeys(model, CARRIED)
    for name in BY_CAPABILITY:
        model[name], provenance[name] = prior[name].value, prior[name].source
    for name in PER_CLOCK:
        cycles = model[name] * calibrated.clock_ghz
        model[name] = Fraction(f"{float(cycles / clock):.4g}")
        provenance[name] = f"{CARRIED}, in cycles"
    major, minor = card.compute_capability
    published = ("name", "sm_count", "clock_ghz", "dram_gbs", "l2_bytes")
    provenance.update(dict.fromkeys(published, DATA_SHEET))
    provenance["limits"] = f"{OCCUPANCY} {major}.{minor}"
    return replace(
        calibrated,
        name=card.name,
        compute_capability=card.compute_capability,
        sm_count=card.sm_count,
        clock_ghz=clock,
        dram_gbs=Fraction(card.dram_gbs),
        l2_bytes=card.l2_kib * KIB,
        limits=_limits(card.compute_capability),
        model=ModelConstants(**model),
        provenance=provenance,
    )


def _limits(compute_capability: tuple[int, int]) -> Limits:
    warps, blocks, shared, opt_in, reserved, unit = LIMITS[compute_capability]
    return Limits(
        warps_per_sm=warps,
        blocks_per_sm=blocks,
        registers_per_sm=65536,
        registers_per_thread=255,
        shared_bytes_per_sm=shared * KIB,
        shared_bytes_opt_in=opt_in * KIB,
        shared_bytes_reserved=reserved,
        shared_bytes_granularity=unit,
        threads_per_block=1024,
    )


def main() -> None:
    """Write the files."""
    for file, published in published_profiles(DeviceProfile.named("h200")):
        text = json.dumps(published.to_json(), indent=2) + "\n"
        (PROFILES / f"{file}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

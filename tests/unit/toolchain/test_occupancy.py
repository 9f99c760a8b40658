"""Resident blocks against figures of NVIDIA's occupancy tables for compute capability 9.0."""

from __future__ import annotations

import pytest

from cutune.toolchain.device.profile import BlockResources, DeviceProfile, resident_blocks

H200 = DeviceProfile.named("h200").limits


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "expected"),
    [
        (32, 16, 0, 32),  # limited by blocks
        (256, 32, 0, 8),  # by warps
        (1024, 32, 0, 2),
        (256, 64, 0, 4),  # by registers: 16 warps per partition of 16,384
        (256, 65, 0, 3),  # 65 registers are allocated as 72
        (96, 40, 0, 16),
        (128, 32, 48 * 1024, 4),  # by shared memory: 49 KB each with the reserved one
        (1024, 65, 0, 0),  # more registers than the SM has
        (1056, 16, 0, 0),
        (32, 256, 0, 0),
        (32, 16, 228 * 1024, 0),
    ],
)
def test_resident_blocks(threads: int, registers: int, shared: int, expected: int) -> None:
    assert resident_blocks(BlockResources(threads, registers, shared), H200) == expected

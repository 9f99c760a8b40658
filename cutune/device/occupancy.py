"""Resident thread blocks per SM: the allocation rule of compute capability 6.1 and later.

Source: CUDA occupancy calculator rules; four sub-partitions share the register file, registers are
allocated per warp in units of 256, shared memory per block in units of the device.
"""

from __future__ import annotations

from dataclasses import dataclass

from cutune.device.profile import Limits
from cutune.device.thread_block import WARP

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
    """Return the thread blocks resident on one SM; 0 when a block cannot be launched at all."""
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

"""The candidates, and the thread blocks and warps of a launch that have work.

Takes the features of a kernel. Defines the properties and static tables that no size changes
(shapes, warps, how many an SM holds), and the blocks and warps of three kinds of launches:

- One dimension: the working threads are those that access memory.
- Two or three dimensions: blocks at the edges are partly idle.
- The number of blocks is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from cutune.device.occupancy import can_launch, resident_blocks
from cutune.device.profile import DeviceProfile
from cutune.device.thread_block import threads_of, warp_footprint, warps_of
from cutune.fit.fitted_model import FittedModel, in_single_precision
from cutune.models.definitions import Lines, resources_of
from cutune.models.features import Features


@dataclass(frozen=True)
class Residency:
    """Resident on an SM: warps by candidate, and the most bytes of shared memory of any."""

    warps: tuple[int, ...]
    shared_bytes: int


def launchable(model: FittedModel, device: DeviceProfile) -> FittedModel:
    """The model without the candidates that need more resources than the device has."""
    blocks = [b for b in model.blocks if can_launch(resources_of(model, b), device.limits)]
    return model.restricted(blocks)


def describe_candidates(features: Features) -> Residency:
    """Define the static properties and tables of the candidates."""
    model, device, lines = features.model, features.device, features.lines
    _describe_shapes(model, lines)
    warps = [warps_of(block) for block in model.blocks]
    needs = [resources_of(model, block) for block in model.blocks]
    resident = [max(1, resident_blocks(need, device.limits)) for need in needs]
    most = device.limits.warps_per_sm
    held = tuple(min(r * w, most) for r, w in zip(resident, warps, strict=True))
    lines.properties["threads"] = tuple(threads_of(block) for block in model.blocks)
    lines.properties["warps"] = tuple(warps)
    # Blocks that fill the GPU once. The two tables of reciprocals save a division per candidate.
    lines.properties["wave"] = tuple(device.sm_count * r for r in resident)
    lines.tables["turnover"] = in_single_precision([1 / r for r in resident])
    lines.tables["share"] = in_single_precision([1 / n for n in held])
    in_use = (r * need.shared_bytes for r, need in zip(resident, needs, strict=True))
    return Residency(held, max(in_use, default=0))


def _describe_shapes(model: FittedModel, lines: Lines) -> None:
    """Per dimension: threads of a block, of a warp, and warps of a block if the grid is kept."""
    for axis, name in enumerate("xyz"):
        threads = [block[axis] for block in model.blocks]
        footprints = [warp_footprint(block)[axis] for block in model.blocks]
        lines.properties[f"block_{name}"] = tuple(threads)
        lines.properties[f"footprint_{name}"] = tuple(footprints)
        if model.kernel.grid_kept[axis]:
            lines.properties[f"footprints_{name}"] = tuple(
                -(-width // footprint) for width, footprint in zip(threads, footprints, strict=True)
            )

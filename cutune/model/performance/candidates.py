"""The candidates, and the thread blocks and warps of a launch that have work.

Takes the features of a kernel. Defines the properties and static tables that no size changes
(shapes, warps, how many an SM holds), and the blocks and warps of three kinds of launches:

- One dimension: the working threads are those that access memory.
- Two or three dimensions: blocks at the edges are partly idle.
- The number of blocks is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from cutune.model.fit.fitted_model import FittedModel, in_single_precision
from cutune.model.measurement.measurement import MeasuredKernel
from cutune.model.performance.constants import FILL_OFFSET, FILL_SLOPE, LAST_BLOCK
from cutune.model.performance.definitions import Lines, resources_of
from cutune.model.performance.features import Features
from cutune.model.rational.program import (
    Expression,
    Reference,
    ceiling,
    choice,
    expression,
    maximum,
    minimum,
)
from cutune.toolchain.device.profile import DeviceProfile, can_launch, resident_blocks
from cutune.toolchain.device.thread_block import WARP, threads_of, warp_footprint, warps_of


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


def define_grid(features: Features) -> None:
    """Defines `blocks` and `active_warps`, over the whole launch."""
    blocks, warps = _of_all_dimensions(features)
    if features.model.one_dimensional and not features.keeps_grid:
        working = Reference("working")
        blocks = minimum(blocks, ceiling(working / Reference("threads")))
        warps = maximum(1, working / WARP)
    features.lines.define("blocks", blocks)
    features.lines.define("active_warps", warps)


def _of_all_dimensions(features: Features) -> tuple[Expression, Expression]:
    """Blocks and warps of the launch: products over its dimensions."""
    blocks, warps = expression(1), expression(1)
    kernel = features.model.kernel
    for axis, name in enumerate("xyz"):
        extent = Reference(f"extent_{name}")
        if kernel.grid_kept[axis]:
            blocks = blocks * extent
            warps = warps * (extent * Reference(f"footprints_{name}"))
        elif _may_have_several_threads(kernel, axis):
            blocks = blocks * ceiling(extent / Reference(f"block_{name}"))
            warps = warps * ceiling(extent / Reference(f"footprint_{name}"))
    return blocks, warps


def _may_have_several_threads(kernel: MeasuredKernel, axis: int) -> bool:
    is_told = kernel.guards[axis] is not None or kernel.variable_extents[axis]
    return is_told or any(threads[axis] != 1 for _, threads in kernel.recorded)


def define_warps_on_sm(features: Features, one_wave: Expression) -> Reference:
    """Defines `warps_on_sm`: warps with work on the SM that has most of them.

    In one dimension all warps work but those behind the end. In several, idle warps count less, by
    share / (offset + slope * share) that works. `one_wave`: do all blocks run at once?
    """
    lines, warps = features.lines, Reference("warps")
    share = lines.define("blocks_per_sm", Reference("blocks") / features.device.sm_count)
    blocks = choice(one_wave, ceiling(share), share + LAST_BLOCK)
    if features.model.one_dimensional:
        on_sm = maximum(1, minimum(blocks * warps, Reference("active_warps")))
    else:
        launched = lines.define("launched_warps", Reference("blocks") * warps)
        working = lines.define("working_warps", minimum(Reference("active_warps"), launched))
        filled = FILL_OFFSET * launched + FILL_SLOPE * working
        on_sm = blocks * warps * working / filled
    return lines.define("warps_on_sm", on_sm)

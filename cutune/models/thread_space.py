"""Thread blocks and warps that have work. Takes the features of a kernel, defines how many.

Three kinds of launches:

- One dimension: the working threads are those that access memory.
- Two or three dimensions: blocks at the edges are partly idle.
- The number of blocks is kept.
"""

from __future__ import annotations

from cutune.device.thread_block import WARP
from cutune.fit.measurement.measurement import MeasuredKernel
from cutune.fit.rational.nodes import (
    Expression,
    Reference,
    ceiling,
    choice,
    expression,
    maximum,
    minimum,
)
from cutune.models.constants import FILL_OFFSET, FILL_SLOPE, LAST_BLOCK
from cutune.models.features import Features


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

"""Thread blocks and warps that have work. Takes the features of a kernel, defines how many.

Three kinds of launches:

- One dimension: the working threads are those that access memory.
- Two or three dimensions: blocks at the edges are partly idle.
- The number of blocks is kept.
"""

from __future__ import annotations

from cutune.device.thread_block import WARP
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
    kept = dict(zip("xyz", features.model.kernel.grid_kept, strict=True))
    for name in _used_dimensions(features):
        extent = Reference(f"extent_{name}")
        if kept[name]:
            blocks = blocks * extent
            warps = warps * (extent * Reference(f"footprints_{name}"))
        else:
            blocks = blocks * ceiling(extent / Reference(f"block_{name}"))
            warps = warps * ceiling(extent / Reference(f"footprint_{name}"))
    return blocks, warps


def _used_dimensions(features: Features) -> str:
    """Dimensions in which the thread space may be larger than 1."""
    kernel = features.model.kernel
    single_thread = [
        kernel.guards[axis] is None
        and not kernel.variable_extents[axis]
        and not kernel.grid_kept[axis]
        and all(threads[axis] == 1 for _, threads in kernel.recorded)
        for axis in range(3)
    ]
    return "".join(n for n, one in zip("xyz", single_thread, strict=True) if not one)


def define_warps_on_sm(features: Features, one_wave: Expression) -> Reference:
    """Defines `warps_on_sm`: warps with work on the SM that has most of them.

    Args:
        one_wave: do all blocks of the launch run at once?
    """
    lines = features.lines
    share = lines.define("blocks_per_sm", Reference("blocks") / features.device.sm_count)
    blocks = choice(one_wave, ceiling(share), share + LAST_BLOCK)
    in_line = features.model.one_dimensional
    warps = _in_line(blocks) if in_line else _in_dimensions(features, blocks)
    return lines.define("warps_on_sm", warps)


def _in_line(blocks: Expression) -> Expression:
    """One dimension: all warps work but those behind the end."""
    return maximum(1, minimum(blocks * Reference("warps"), Reference("active_warps")))


def _in_dimensions(features: Features, blocks: Expression) -> Expression:
    """Several dimensions: idle warps count less, by share / (offset + slope * share) that works."""
    lines, warps = features.lines, Reference("warps")
    launched = lines.define("launched_warps", Reference("blocks") * warps)
    working = lines.define("working_warps", minimum(Reference("active_warps"), launched))
    filled = FILL_OFFSET * launched + FILL_SLOPE * working
    return blocks * warps * working / filled

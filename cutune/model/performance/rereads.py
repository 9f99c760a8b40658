"""What blocks read in several passes: how much of it L1 and L2 have kept since the pass before.

Between two passes of a block over its part of an array, each of the blocks that run beside it reads
and writes about what one pass does. What that is, by the size of a cache, tells how much of the
next pass hits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cutune.model.fit.fitted_model import BETWEEN, LOADED, REPEATED, SECTOR, in_single_precision
from cutune.model.performance import constants
from cutune.model.performance.definitions import Features, resident_on, resources_of
from cutune.model.rational.program import (
    CANDIDATE,
    Expression,
    Lookup,
    Reference,
    choice,
    expression,
    less_equal,
    maximum,
    minimum,
)
from cutune.toolchain.device.thread_block import warps_of


@dataclass(frozen=True)
class Rereads:
    """Of an array that is read in passes, sectors per warp: those that hit L1, and go to DRAM.

    `loaded`: the share of the array's sectors that loads miss, with no hits.
    """

    kept: Expression
    from_dram: Expression
    loaded: Expression


def define_rereads(features: Features, missed: Mapping[int, Expression]) -> dict[int, Rereads]:
    """Defines, by array, what becomes of the sectors that are read again; none are: empty.

    `missed`: sectors per warp that are new to a loop of the block.
    """
    columns = {
        (c.kind, c.array): features.cell(i, c)
        for i, c in features.filled((BETWEEN, LOADED, REPEATED))
        if c.array in missed
    }
    arrays = [array for array in missed if (REPEATED, array) in columns]
    if not arrays:
        return {}
    lines = features.lines
    blocks = minimum(Reference("blocks") / features.device.sm_count, _resident(features))
    touched = lines.define("touched", sum(missed.values(), expression(0)) * maximum(1, blocks))
    found = {}
    for array in arrays:
        repeated = lines.define(f"repeated_{array}", columns[REPEATED, array] * missed[array])
        between = lines.define(f"between_{array}", touched * columns[BETWEEN, array])
        kept = lines.define(f"kept_{array}", repeated * _kept_by_l1(features, array, between))
        whole = Reference("extent_bytes") / features.device.l2_bytes
        of_l2 = minimum(whole, between * _of_l2(features))
        lost = (of_l2 - constants.L2_KEEPS) / (constants.L2_KEEPS_NOTHING - constants.L2_KEEPS)
        lost = minimum(1, maximum(0, lost))
        from_dram = lines.define(f"from_dram_{array}", (repeated - kept) * lost)
        found[array] = Rereads(kept, from_dram, columns[LOADED, array])
    return found


def _resident(features: Features) -> Expression:
    features.lines.tables["resident"] = tuple(
        float(held) for held in resident_on(features.model, features.device)
    )
    return Lookup("resident", Reference(CANDIDATE))


def _kept_by_l1(features: Features, array: int, between: Expression) -> Expression:
    """The share of repeated sectors that hits: 1 / (1 + crowd^3); of blocks in step, ^24.

    Blocks that come and go are in different passes. Those that start together go through them in
    step, and L1 keeps everything until it is full.
    """
    lines, name = features.lines, f"crowd_{array}"
    crowd = lines.define(name, between * _of_l1(features))
    cubed = lines.define(f"{name}_3", crowd * crowd * crowd)
    in_step = cubed * (constants.ROWS_KEPT / constants.ROWS_KEPT_IN_STEP) ** 3
    for power in (6, 12, 24):
        in_step = lines.define(f"{name}_{power}", in_step * in_step)
    is_one_wave = less_equal(Reference("blocks"), Reference("wave"))
    return 1 / (1 + choice(is_one_wave, in_step, cubed))


def _of_l1(features: Features) -> Expression:
    """A sector of each warp of a block, relative to what L1 keeps half of."""
    model, device = features.model, features.device
    all_bytes = device.limits.shared_bytes_per_sm + constants.L1_BESIDE_SHARED
    shares = []
    for held, block in zip(resident_on(model, device), model.blocks, strict=True):
        l1_bytes = all_bytes - held * resources_of(model, block).shared_bytes
        shares.append(SECTOR * warps_of(block) / (float(constants.ROWS_KEPT) * l1_bytes))
    features.lines.tables["of_l1"] = in_single_precision(shares)
    return Lookup("of_l1", Reference(CANDIDATE))


def _of_l2(features: Features) -> Expression:
    """A sector of each warp of a block on all multiprocessors that have one, relative to L2."""
    sectors = Reference("warps") * Reference("sms")
    return sectors * SECTOR / features.device.l2_bytes

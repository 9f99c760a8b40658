"""Fitted models: with fewer candidates, and as those of variants with launch bounds."""

from __future__ import annotations

from dataclasses import replace

from cutune.model.fit.fitted_model import SECTORS, FeatureColumn, FittedModel, with_variants
from cutune.model.measurement.measurement import BoundedCopy
from cutune.toolchain.device.thread_block import threads_of
from cutune.toolchain.ptxas import StaticCounters
from tests.support.replayed_kernels import fitted, measured

COPY = fitted(*measured("copy"))
#: A column of whose values each tells its row and its block.
ROWS = 2
TOLD = tuple(1000.0 * row + block[0] for row in range(ROWS) for block in COPY.blocks)
MODEL = replace(
    COPY,
    columns=(FeatureColumn("load", 0, None, TOLD),),
    transactions=(FeatureColumn(SECTORS, 0, None, TOLD),),
)


def values(model: FittedModel) -> set[tuple[float, ...]]:
    return {column.values for column in (*model.columns, *model.transactions)}


def test_each_column_keeps_the_values_of_its_blocks() -> None:
    kept = [(64, 1, 1), (256, 1, 1)]
    found = MODEL.restricted(kept)
    assert list(found.blocks) == kept
    assert values(found) == {tuple(1000.0 * row + x for row in range(ROWS) for x in (64, 256))}


def test_a_copy_with_launch_bounds_has_fewer_blocks_and_registers_of_its_own() -> None:
    static = StaticCounters(64)
    copies = (BoundedCopy("b128", "_Zb", 128, static), BoundedCopy("b8", "_Zc", 8, static))
    kernel = replace(MODEL.kernel, bounded=copies)
    (found,) = with_variants([replace(MODEL, kernel=kernel)])
    (variant,) = found.variants
    copied = variant.kernel
    assert (copied.variant, copied.entry, copied.max_threads) == ("b128", "_Zb", 128)
    assert copied.compiled == replace(MODEL.kernel.compiled, static=static)
    assert copied.bounded == () and copied.name == MODEL.kernel.name
    assert list(variant.blocks) == [b for b in MODEL.blocks if threads_of(b) <= 128]
    widths = [x for x, _, _ in variant.blocks]
    assert values(variant) == {tuple(1000.0 * row + x for row in range(ROWS) for x in widths)}

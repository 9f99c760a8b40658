"""What leaves the L1 of an SM: arrays that its blocks share, and stores that meet on their way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from cutune.model.fit.fitted_model import FeatureColumn, FittedModel, read_models
from cutune.model.performance.constants import L1_BESIDE_SHARED
from cutune.model.performance.definitions import TIME
from cutune.model.performance.mechanistic import compose
from cutune.model.rational.functions import constant_function
from cutune.model.rational.program import evaluate, point
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import threads_of

H200 = DeviceProfile.named("h200")
L1_BYTES = H200.limits.shared_bytes_per_sm + L1_BESIDE_SHARED
#: Adds a row, array 0, to each row of a matrix, array 1.
ADD = read_models(Path(__file__).parents[2] / "recorded" / "add_models.json")[0]
SIDE = 2048


def values(model: FittedModel) -> dict[str, np.ndarray]:
    """Everything that the model says of one launch."""
    at = point(dict.fromkeys(model.kernel.parameters, SIDE), (SIDE, SIDE, 1))
    return evaluate(compose(model, H200), at)


def with_row(size: int) -> FittedModel:
    """The same loads and stores, but of a row of another size."""
    row, *others = ADD.arrays
    extent = constant_function(ADD.kernel.variables, size)
    return replace(ADD, arrays=(replace(row, extent_bytes=extent), *others))


def test_what_is_read_once_is_missed() -> None:
    found = values(ADD)
    np.testing.assert_array_equal(found["still_1"], found["alone_1"])


def test_what_fits_l1_is_missed_once_per_sm() -> None:
    found = values(ADD)
    # A sector per warp is a byte per thread.
    once = SIDE * 4 * H200.sm_count / SIDE**2
    np.testing.assert_allclose(found["still_0"], np.minimum(found["alone_0"], once))
    assert np.any(found["still_0"] < found["alone_0"])
    np.testing.assert_array_equal(found["still_missing"] < 1, found["still_0"] < found["alone_0"])


def test_what_does_not_fit_is_missed_by_each_block() -> None:
    larger, fitting = values(with_row(L1_BYTES + 1)), values(with_row(L1_BYTES // 8))
    assert np.all(larger["still_missing"] == 1)
    assert np.any(fitting[TIME] < larger[TIME])


def test_misses_of_unknown_arrays_stay() -> None:
    unknown = replace(ADD, columns=tuple(c for c in ADD.columns if c.kind != "missed"))
    assert np.all(values(unknown)["still_missing"] == 1)


def stored(lines: float) -> np.ndarray:
    """Cycles below L1 beyond those of ADD, by block, of a store that rewrites 32 sectors."""
    cells = len(ADD.columns[0].values)
    group = next(c.group for c in ADD.columns if c.kind == "store")
    added = (
        FeatureColumn("rewritten", group, None, (32.0,) * cells),
        FeatureColumn("rewritten_lines", group, None, (lines,) * cells),
    )
    found = values(replace(ADD, columns=(*ADD.columns, *added)))["store_cycles"]
    beyond: np.ndarray = found - values(ADD)["store_cycles"]
    return beyond


def test_stores_to_few_lines_meet_before_they_leave_the_sm() -> None:
    threads = np.array([threads_of(block) for block in ADD.blocks])
    cost = 32 * float(H200.model.cycles_per_rewritten_sector)
    np.testing.assert_array_equal(stored(5)[threads <= 128], 0)
    few, some, many = stored(5) / cost, stored(8) / cost, stored(32) / cost
    # Where more warps start together, less of it meets.
    assert np.all(few[threads == 1024] > 0.5)
    assert np.all(some[threads <= 128] < 0.7)
    assert np.all(some[threads == 1024] > 0.8)
    # Of a line per lane next to nothing does; blocks of a warp leave half of an SM empty.
    assert np.all(many[threads >= 64] > 0.95)
    np.testing.assert_allclose(many[threads == 32], 0.75 * many.max(), rtol=0.05)

"""What blocks go through in several passes: found in counters, and kept by L1 and L2 or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cutune.model.fit.fitted_model import BETWEEN, LOADED, REPEATED, FittedModel
from cutune.model.measurement.measurement import Measurement
from cutune.model.performance import constants
from cutune.model.performance.definitions import TIME
from cutune.model.performance.mechanistic import compose
from cutune.model.rational.program import evaluate, point
from cutune.toolchain.device.profile import DeviceProfile
from tests.support.replayed_kernels import fitted, measured

H200 = DeviceProfile.named("h200")
L1_BYTES = H200.limits.shared_bytes_per_sm + constants.L1_BESIDE_SHARED
RECORD = Path(__file__).parents[2] / "recorded" / "rows_h200.txt"
KINDS = (LOADED, REPEATED, BETWEEN)


def of_array(model: FittedModel, kind: str) -> set[float]:
    """The values of a column of the first array."""
    return {v for c in model.columns if (c.kind, c.array) == (kind, 0) for v in c.values}


def values(model: FittedModel, n: int) -> dict[str, np.ndarray]:
    """Everything that the model says of a launch."""
    return evaluate(compose(model, H200), point({"n": n}, (n, 1, 1)))


def without_passes(model: FittedModel) -> FittedModel:
    return replace(model, columns=tuple(c for c in model.columns if c.kind not in KINDS))


def test_two_loops_over_the_same_data_are_two_passes() -> None:
    model = fitted(*measured("twice"))
    assert of_array(model, LOADED) == {1}
    assert of_array(model, REPEATED) == {0.5}
    # The array begins in the middle of a line, so that a warp touches two for each of its own.
    assert min(of_array(model, BETWEEN)) == pytest.approx(2 * 0.5, rel=0.02)


@pytest.mark.parametrize("name", ["copy", "columns"])
def test_what_is_read_once_has_no_passes(name: str) -> None:
    model = fitted(*measured(name))
    assert not any(column.kind in KINDS for column in model.columns)
    assert "repeated_us" not in values(model, 1000)


def second_pass(launch: Measurement, times: float) -> Measurement:
    """The launch, of which the second loop reads that many times as much."""
    sites = list(launch.sites)
    loads = [place for place, site in enumerate(sites) if site.array == 0]
    site = sites[loads[1]]
    sites[loads[1]] = site._replace(new_sectors=int(site.new_sectors * times))
    return replace(launch, sites=tuple(sites))


@pytest.mark.parametrize("times", [0.5, 1.5, 2])
def test_loops_that_touch_a_part_or_something_twice_are_no_passes(times: float) -> None:
    kernel, measurements = measured("twice")
    model = fitted(kernel, [second_pass(launch, times) for launch in measurements])
    assert not any(column.kind in KINDS for column in model.columns)


def test_l1_keeps_what_few_threads_read_again() -> None:
    model = fitted(*measured("twice"))
    found = values(
        model, 512
    )  # in a block of 32 threads, 64 KiB of the columns, in twice as many lines
    narrow, wide = model.blocks.index((32, 1, 1)), model.blocks.index((512, 1, 1))
    share = found["kept_0"] / found["repeated_0"]
    assert share[narrow] > 0.99
    assert share[wide] < 0.01
    assert found["still_missing"][narrow] == pytest.approx(0.5, rel=0.02)
    assert found["still_missing"][wide] == pytest.approx(1, rel=0.02)
    plain = values(without_passes(model), 512)
    assert found[TIME][narrow] < 0.9 * plain[TIME][narrow]
    assert found[TIME][wide] == pytest.approx(plain[TIME][wide], rel=0.01)


def test_what_l2_has_lost_comes_from_dram_again() -> None:
    model = fitted(*measured("twice"))
    fits, larger = values(model, 2048), values(model, 16384)
    assert np.all(fits["repeated_us"] == 0)
    assert np.all(larger["repeated_us"] > 0)
    once = values(without_passes(model), 16384)["dram_us"]
    np.testing.assert_allclose(larger["repeated_us"] + larger["dram_us"], 2 * once, rtol=0.05)


def recorded(in_step: bool) -> Iterator[tuple[float, float, float]]:
    """What lies between passes, by L1 and by L2; the share that hits L1, that comes from DRAM."""
    for line in RECORD.read_text().splitlines():
        passes, stores, _, together, blocks, floats, hits, lost = line.split()
        if bool(int(together)) != in_step:
            continue
        # A pass reads a row; in one of them another row is touched as well.
        rows = 1.5 if stores == "first" else 1 + (stores == "last") / int(passes)
        between = rows * int(blocks) * int(floats) * 4
        yield between, float(hits), np.nan if lost == "-" else float(lost)


@pytest.mark.parametrize(
    ("in_step", "kept", "power"),
    [(False, constants.ROWS_KEPT, 3), (True, constants.ROWS_KEPT_IN_STEP, 24)],
)
def test_the_share_that_hits_l1_is_that_of_the_record(
    in_step: bool, kept: float, power: int
) -> None:
    between, hits, _ = np.array(list(recorded(in_step))).T
    expected = 1 / (1 + (between / L1_BYTES / float(kept)) ** power)
    assert np.sqrt(np.mean((expected - hits) ** 2)) < 0.07


def test_the_share_that_l2_has_lost_is_that_of_the_record() -> None:
    between, _, lost = np.array([*recorded(False), *recorded(True)]).T
    keeps, nothing = float(constants.L2_KEEPS), float(constants.L2_KEEPS_NOTHING)
    of_l2 = between * H200.sm_count / H200.l2_bytes
    expected = np.clip((of_l2 - keeps) / (nothing - keeps), 0, 1)
    assert np.sqrt(np.nanmean((expected - lost) ** 2)) < 0.08

"""Totals of kernels that were counted at the sizes of the runs alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cutune.measure import FEATURES, Measurement, SiteCounters
from cutune.proportions import at_large_sizes, proportions
from tests.measured import KERNEL

PLANE = replace(
    KERNEL,
    parameters=("n", "width"),
    positions=(0, 1),
    guards=("width", "n", None),
    recorded=(((100, 64), (64, 100, 1)),),
)


def measurement(threads: int, new_sectors: int = 0, **sizes: int) -> Measurement:
    site = SiteCounters(64, 2048, 0, 64, 1280, 0, 0, new_sectors, 32, 0, 0, 4096, 256)
    block = (32, 1, 1)
    return Measurement(
        "k", "code", FEATURES, "", tuple(sizes.items()), block, block, 1, threads, (), (), (site,)
    )


RUNS = [measurement(6400, n=100, width=64), measurement(25600, n=400, width=64)]


def test_totals_grow_with_the_threads() -> None:
    # Rows of 15 and of 16 elements on average.
    found = proportions(PLANE, RUNS)([15 * 6400, 16 * 25600])
    assert found({"n": 10000, "width": 128}) == 16 * 10000 * 128
    assert found.held_out_error == pytest.approx(1 / 15)


def test_or_with_what_explains_them() -> None:
    # Each thread goes through all rows.
    found = proportions(PLANE, RUNS)([100 * 6400, 400 * 25600])
    assert found({"n": 1000, "width": 64}) == 1000 * 64000
    assert found.held_out_error == 0


def test_or_not_at_all() -> None:
    assert proportions(PLANE, RUNS)([256, 256])({"n": 10000, "width": 64}) == 256
    assert proportions(PLANE, RUNS)([0, 0])({"n": 10000, "width": 64}) == 0


def test_sectors_that_are_shared_by_chance_get_rarer() -> None:
    small, large = measurement(1000, 300, n=1000), measurement(4000, 450, n=4000)
    # 500 - 200000 / threads
    assert at_large_sizes(large, small).sites[0].new_sectors == 500
    assert at_large_sizes(small, large) == small
    fewer = measurement(4000, 200, n=4000)
    assert at_large_sizes(fewer, small) == fewer

"""Compiled values that hold for all sizes: which set is taken."""

from __future__ import annotations

import pytest

from cutune.model.measurement.measurement import Origin
from cutune.search.clones.value_sets import fit_fixed
from cutune.search.regions import HostMeasurement

ORIGIN = Origin("a.cu", "0")


def measured(times: dict[int, dict[int, float]]) -> list[HostMeasurement]:
    """Milliseconds by size and WPT."""
    return [
        HostMeasurement(ORIGIN, "a GPU", {"WPT": wpt}, {"WPT": {"n": n}}, milliseconds)
        for n, own in times.items()
        for wpt, milliseconds in own.items()
    ]


@pytest.mark.parametrize(
    ("times", "chosen"),
    [
        ({10: {1: 1.0, 2: 0.5}, 20: {1: 1.0, 2: 0.9}}, 2),
        # 0.5 % on the average is less than two sweeps differ.
        ({10: {1: 1.01, 2: 1.0}, 20: {1: 1.0, 2: 1.0}}, 1),
        ({10: {1: 1.03, 2: 1.0}, 20: {1: 1.0, 2: 1.0}}, 2),
        # What was measured at fewer sizes comes behind, however fast it was there.
        ({10: {1: 1.0, 2: 1.0}, 20: {2: 1.0}}, 2),
        ({10: {2: 1.0, 4: 1.0}, 20: {2: 1.0, 4: 1.5}}, 2),
    ],
)
def test_own_values_stay_unless_others_are_faster(
    times: dict[int, dict[int, float]], chosen: int
) -> None:
    found = fit_fixed(measured(times), ["WPT"], {"WPT": 1}, ())
    assert found is not None and found.values == {"WPT": chosen}
    assert found.lost is not None
    assert (found.own is None) == all(1 not in own for own in times.values())
    if chosen == 1:
        assert found.lost == found.own_lost and found.lost.mean == pytest.approx(0.005)

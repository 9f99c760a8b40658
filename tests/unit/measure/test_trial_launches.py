"""Which launches of a kernel are tried, of those that were counted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np
import pytest

from cutune.emulator.machine import SITE, LaunchCounters
from cutune.measure.replay.replay import ARRAY_BYTES, GHOST_BASE
from cutune.measure.trial_launches import (
    TriedLaunch,
    Work,
    arrays_behind,
    arrays_of,
    shape_at,
    without_most_large,
)
from cutune.source.kernel_variant import Tile

SMALL, LARGE, FEW = 1000, 500_000, 16


def kept(large: int, racing: Collection[int], asks_all: bool = False) -> tuple[list[int], int]:
    """The places of launches that are tried, and how many were asked how they end.

    There are so many large ones, and five small ones behind them.
    """
    sizes = [LARGE] * large + [SMALL] * 5
    launches = [TriedLaunch((("n", n),), (), b"", (), size) for n, size in enumerate(sizes)]
    asked = []

    def ended_well(launch: TriedLaunch) -> TriedLaunch | None:
        asked.append(launch)
        return None if launch.sizes[0][1] in racing else launch

    found = without_most_large(launches, ended_well, FEW, asks_all)
    assert len(asked) == len({*asked})
    return [launch.sizes[0][1] for launch in found], len(asked)


def test_few_launches_are_all_tried() -> None:
    assert kept(FEW, {3}) == ([n for n in range(FEW + 5) if n != 3], FEW + 5)


def test_of_many_large_launches_not_all_are_asked() -> None:
    found, asked = kept(200, ())
    assert found == [*range(0, 200, 5), *range(200, 205)]
    assert asked == len(found)


@pytest.mark.parametrize("ends_well", [7, FEW, 40])
def test_races_leave_no_fewer_launches_than_there_were(ends_well: int) -> None:
    """As many as if all were asked first, of which one in five would be tried."""
    well = range(1, 2 * ends_well, 2)
    found, _ = kept(100, {*range(100)} - {*well})
    tried = [n for n in found if n < 100]
    assert {*tried} <= {*well}
    assert len(tried) >= (ends_well if ends_well <= FEW else -(-ends_well // 5))


def test_all_are_asked_where_each_race_counts() -> None:
    found, asked = kept(100, {1, 2}, asks_all=True)
    assert asked == 105
    assert found == [*[n for n in range(100) if n not in (1, 2)][::5], *range(100, 105)]


def test_arrays_that_an_index_makes_huge_are_not_filled() -> None:
    """As where `i - 1` wraps around at a small size."""
    begin = GHOST_BASE + ARRAY_BYTES // 2

    def reaching(count: int) -> tuple[tuple[int, int, int], ...]:
        sites = np.zeros(1, SITE)
        sites["traced"], sites["lowest"], sites["highest"] = 1, begin - 4, begin + count
        empty = np.zeros(0, np.uint64)
        return arrays_of(LaunchCounters(1, 1, 1, 1, empty, empty, 0, sites), [16])

    assert reaching(100) == ((16, 4, 104),)
    assert reaching(1 << 34) == ()


def test_an_array_may_lie_far_behind_its_pointer() -> None:
    """As where an index below zero is no sign, but 2^32 elements more."""
    far = -(1 << 60)
    launch = TriedLaunch((("n", 8),), (), bytes(8), ((0, far, 64),))
    [drawn] = [np.arange(64, dtype=np.uint8)]
    parameters, [array] = arrays_behind(launch, iter([drawn]))
    assert array.tobytes() == drawn.tobytes()
    begins = (int.from_bytes(parameters, "little") - far) % (1 << 64)
    assert begins == array.ctypes.data


def test_trials_end_after_so_much_work() -> None:
    assert not Work(1_000_000).objection
    assert Work(1_000_000_000).objection == "trying it would take too long"


def test_copies_of_one_own_launch_share_its_shape() -> None:
    by_two = Tile((32, 4, 1), (32, 1, 1), ("n", "1", "1"), (64, 1, 1), (32, 1, 1), shared=64)
    by_four = replace(by_two, block=(32, 8, 1), covered=(128, 1, 1), whole=(4, 1, 1), shared=0)
    sizes = (("n", 100),)
    assert shape_at(by_two, sizes) == ((2, 1, 1), (32, 4, 1), 64)
    assert (
        shape_at(by_two.own(), sizes)
        == shape_at(by_four.own(), sizes)
        == ((4, 1, 1), (32, 1, 1), 0)
    )
    assert shape_at(by_two, (("n", 0),)) is None

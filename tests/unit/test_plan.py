"""Which launches are replayed, and where in the grid."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutune.classes import representatives
from cutune.counts import MAX_POINTS, count_points
from cutune.replay import interior_blocks, spread_blocks

EXTENT = st.integers(1, 5000)


@given(st.tuples(EXTENT, EXTENT, EXTENT), st.integers(1, 32))
def test_interior_blocks_lie_in_the_grid(grid: tuple[int, int, int], warps: int) -> None:
    blocks = interior_blocks(grid, warps)
    assert blocks == sorted(set(blocks))
    assert all(0 <= block < grid[0] * grid[1] * grid[2] for block in blocks)
    assert 1 <= len(blocks) <= 16


def test_small_blocks_are_looked_at_in_several_rows() -> None:
    rows = {block // 40 for block in interior_blocks((40, 40, 1), 1)}
    assert len(rows) == 16


@pytest.mark.parametrize("width", range(7))
def test_every_size_is_varied_on_its_own(width: int) -> None:
    names = tuple("abcdefg"[:width])
    points = count_points(names)
    assert 1 <= len(points) <= MAX_POINTS
    assert len({tuple(point.items()) for point in points}) == len(points)
    for name in names:
        assert len({point[name] for point in points}) >= 4
    assert all(size % 32 == 0 for point in points for size in point.values())


def test_classes_are_represented_by_their_best_aligned_residue() -> None:
    assert representatives([0, 2, 1, 2, 0, 2, 1, 2]) == [0, 2, 1]


def test_spread_blocks_lie_all_over_the_grid() -> None:
    grid = (100, 80, 1)
    blocks = spread_blocks(grid, 8)
    assert len(blocks) == 64
    rows, columns = {b // 100 * 4 // 80 for b in blocks}, {b % 100 * 4 // 100 for b in blocks}
    assert rows == columns == {0, 1, 2, 3}
    assert spread_blocks((3, 1, 1), 1) == [0, 1, 2]

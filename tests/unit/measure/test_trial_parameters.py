"""Which sizes a copy is tried at."""

from __future__ import annotations

import pytest

from cutune.measure.trial_parameters import SizesTried
from cutune.source.kernel_variant import Tile

ROW = Tile((64, 1, 1), (32, 1, 1), ("n", "1", "1"), (64, 1, 1), (32, 1, 1))
PLANE = Tile((16, 16, 1), (24, 24, 1), ("m", "n", "gridDim.z"), (16, 16, 1), (24, 24, 1))


@pytest.mark.parametrize(("tile", "most"), [(ROW, 64), (PLANE, 24)])
def test_a_last_block_has_each_number_of_elements(tile: Tile, most: int) -> None:
    tried = [*SizesTried(("m", "n", "k"), (tile,), ()).rests(tile)]
    for extent in tile.names:
        assert {sizes[extent] for sizes in tried} == {*range(1, most + 1)}
    assert {sizes["k"] for sizes in tried} == {8}
    assert len(tried) == most


def test_blocks_that_cover_much_are_tried_with_some_of_them() -> None:
    wide = Tile((1024, 1, 1), (32, 1, 1), ("n", "1", "1"), (1024, 1, 1), (32, 1, 1))
    assert len([*SizesTried(("n",), (wide,), ()).rests(wide)]) == 256


def test_a_grid_that_follows_no_size_leaves_no_rest() -> None:
    asked = Tile((64, 1, 1), (32, 1, 1), ("gridDim.x * 32", "1", "1"), (64, 1, 1), (32, 1, 1))
    assert [*SizesTried(("n",), (asked,), ()).rests(asked)] == []

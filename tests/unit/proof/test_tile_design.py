"""Which values of constants are compiled, and in which order their copies are tried."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from cutune.measure.tile_costs import UNKNOWN, in_order
from cutune.proof.variants.tile_design import Chosen, combinations, designed
from cutune.source.kernel_variant import Tile
from cutune.toolchain.device.thread_block import Block


def test_combinations_begin_with_the_nearest() -> None:
    assert combinations([16])[:3] == [(24,), (8,), (32,)]
    assert (16,) not in combinations([16])
    # 4 of 2 is a half, which is no whole number of 1.
    assert all(value > 0 for values in combinations([1, 3]) for value in values)
    assert {(24 * 2 // 3,), (32,)} <= {*combinations([24])}


def test_what_is_computed_from_a_constant_counts_as_it_does() -> None:
    """Of a tile of 30 with a halo of 2 the block is 32 wide."""
    assert {(14,), (6,), (15,)} <= {*combinations([30], [[2]])}
    assert {*combinations([30], [()])} == {*combinations([30])}


def test_many_constants_all_vary() -> None:
    found = combinations([8] * 8)
    assert len(found) <= 1100
    assert all({values[place] for values in found} == {4, 8, 16} for place in range(8))


def _launches(values: Sequence[Chosen]) -> dict[Chosen, tuple[Block, Block]]:
    return {(m, n, k): ((m * n // 16, 1, 1), (m, n, 1)) for m, n, k in values}


def test_a_design_has_the_nearest_and_the_corners() -> None:
    values = [*product((16, 32, 64, 128), (16, 32, 64, 128), (4, 8, 16))]
    launches = _launches(values)
    assert [*designed(launches, 100)] == values
    few = [*designed(launches, 20)]
    assert len(few) == 20
    assert few == [one for one in values if one in few]
    assert {*values[:12]} <= {*few}
    corners = {(m, n) for m in (16, 128) for n in (16, 128)}
    assert corners <= {(m, n) for m, n, _ in few}


def _tile(x: int, threads: int) -> Tile:
    return Tile((threads, 1, 1), (32, 1, 1), ("n", "1", "1"), (x, 1, 1), (32, 1, 1))


def test_the_best_of_each_extent_comes_first() -> None:
    tiles = [_tile(64, 64), _tile(64, 32), _tile(64, 128), _tile(256, 64), _tile(256, 128)]
    costs = [(3.0, 9.0), (2.0, 12.0), UNKNOWN, (1.0, 5.0), (1.5, 4.0)]
    order = in_order(costs, tiles)
    # The best of a full multiprocessor, then of one with a single block.
    assert order == [3, 1, 4, 0, 2]
    assert {prod(tiles[place].covered) for place in order[:2]} == {64, 256}

"""Which launches are replayed, and where in the grid."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutune.measure.replay.plan import (
    FAR_THREADS,
    MOST_THREADS,
    base_size,
    count_launches,
    factors,
    far_launches,
    unit_of,
)
from cutune.measure.replay.replay import interior_blocks, spread_blocks
from cutune.model.fit.count_functions import MAX_POINTS, CountFunctions, count_points
from cutune.model.measurement.alignment import representatives
from cutune.model.measurement.measurement import MeasuredKernel, MemoryInstruction
from cutune.model.measurement.size_relations import extents_at
from cutune.model.rational.functions import constant_function
from cutune.toolchain.device.thread_block import Block
from tests.support import measured_kernel

EXTENT = st.integers(1, 5000)


def kernel(loop: int) -> MeasuredKernel:
    """A kernel with one memory access, in that loop."""
    return replace(
        measured_kernel.KERNEL,
        compiled=measured_kernel.compiled([MemoryInstruction(0, "load", 4, 0, False)], [loop]),
    )


LOOPED, LOOP_FREE = kernel(0), kernel(-1)
WIDTH = st.sampled_from([1, 2, 8, 32])


@given(st.tuples(EXTENT, EXTENT, EXTENT), st.tuples(WIDTH, WIDTH), st.booleans())
def test_interior_blocks_lie_in_the_grid(
    grid: tuple[int, int, int], shape: tuple[int, int], is_looped: bool
) -> None:
    blocks = interior_blocks(LOOPED if is_looped else LOOP_FREE, grid, (*shape, 1))
    assert blocks == sorted(set(blocks))
    assert all(0 <= block < grid[0] * grid[1] * grid[2] for block in blocks)
    assert 1 <= len(blocks) <= (16 if is_looped else 32)


def test_small_blocks_are_looked_at_in_several_rows() -> None:
    rows = {block // 40 for block in interior_blocks(LOOPED, (40, 80, 1), (32, 1, 1))}
    assert len(rows) == 16


@pytest.mark.parametrize("shape", [(32, 8, 1), (256, 1, 1), (4, 16, 1)])
def test_all_alignments_of_rows_are_seen_where_that_is_cheap(shape: Block) -> None:
    rows = {block // 100 for block in interior_blocks(LOOP_FREE, (100, 200, 1), shape)}
    assert len(rows) * shape[1] >= 32


def test_interior_blocks_lie_off_the_diagonal() -> None:
    for shape in ((32, 8), (256, 4), (8, 128), (32, 32)):
        grid = (512 // shape[0], 512 // shape[1], 1)
        for block in interior_blocks(LOOPED, grid, (*shape, 1)):
            column, row = block % grid[0] * shape[0], block // grid[0] * shape[1]
            assert column + shape[0] <= row or row + shape[1] <= column


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
    assert representatives([0, 1, 1, 1, 1, 1, 1, 1]) == [0, 4]


def test_spread_blocks_lie_all_over_the_grid() -> None:
    grid = (100, 80, 1)
    blocks = spread_blocks(grid, 8)
    assert len(blocks) == 64
    rows, columns = {b // 100 * 4 // 80 for b in blocks}, {b % 100 * 4 // 100 for b in blocks}
    assert rows == columns == {0, 1, 2, 3}
    assert spread_blocks((3, 1, 1), 1) == [0, 1, 2]


def test_blocks_of_annotated_kernels_are_full_where_they_are_looked_at() -> None:
    nothing = constant_function(("n",), 0)
    counts = CountFunctions(*(nothing,) * 8, (), (), ())
    assert base_size(LOOPED, counts) < 1024
    asserted = replace(LOOPED, asserted=True)
    assert base_size(asserted, counts) >= 2048


def guarded(*guards: str) -> MeasuredKernel:
    """A kernel whose ids in x, y and z are below these formulas of a to f and n."""
    x, y, z = (*guards, None, None)[:3]
    names = tuple(name for name in "abcdefn" if any(name in guard for guard in guards))
    sizes = (tuple(range(2, 2 + len(names))), (64, 1, 1))
    about = {"parameters": names, "positions": tuple(range(len(names))), "recorded": (sizes,)}
    return replace(LOOP_FREE, guards=(x, y, z), **about)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("guards", "unit"),
    [
        (["n"], 32),
        (["a * b * c"], 32),
        (["n", "a", "b"], 32),
        (["a * b * c * d"], 16),
        (["(a * b * c * d) / 4"], 16),
        (["a * b", "c * d"], 16),
        (["n", "a * b * c"], 8),
        (["a * b * c * d * e"], 8),
        (["a * b * c * d * e * f"], 4),
        (["a * b * c * d - 1"], 32),  # no unit makes whole warps of it
    ],
)
def test_the_more_sizes_are_multiplied_the_smaller_they_are_counted(
    guards: list[str], unit: int
) -> None:
    kernel = guarded(*guards)
    assert unit_of(kernel) == unit
    launches = [one.sizes for one in count_launches(kernel)]
    for name in kernel.parameters:
        step = unit if name in factors(kernel) else 32
        assert min(sizes[name] for sizes in launches) == step
        assert len({sizes[name] for sizes in launches}) >= 4
        assert all(sizes[name] % step == 0 for sizes in launches)
    if unit < 32:
        assert all(prod(extents_at(kernel, sizes)) <= MOST_THREADS for sizes in launches)
        assert len(launches) > 100


@pytest.mark.parametrize("product", ["a * b * c * d", "a * b * c * d * e"])
def test_no_launch_has_more_threads_than_32_bits_count(product: str) -> None:
    kernel = guarded(product)
    some = constant_function(kernel.parameters, 1)
    counts = CountFunctions(*(some,) * 8, (), (), ())
    far = [extents_at(kernel, one.sizes)[0] for one in far_launches(kernel, counts)]
    assert len(far) > len(kernel.parameters) and max(far) <= FAR_THREADS
    base = base_size(kernel, counts)
    assert base % 32 == 0 and base ** len(kernel.parameters) <= 1 << 25

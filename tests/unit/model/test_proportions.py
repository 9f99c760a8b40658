"""Totals of kernels that were counted at the sizes of the runs alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp

import pytest

from cutune.model.fit.count_functions import CountFunctions, count_functions
from cutune.model.fit.fit import at_large_sizes, proportions, without_idle_warps
from cutune.model.measurement.measurement import (
    Measurement,
    MemoryInstruction,
    Purpose,
    SiteCounters,
)
from cutune.model.rational.functions import RationalFunction, constant_function
from tests.support.measured_kernel import KERNEL, compiled

PLANE = replace(
    KERNEL,
    parameters=("n", "width"),
    positions=(0, 1),
    guards=("width", "n", None),
    recorded=(((100, 64), (64, 100, 1)),),
)


def measurement(threads: int, new_sectors: int = 0, width: int = 32, **sizes: int) -> Measurement:
    site = SiteCounters(64, 2048, 0, 64, 1280, 0, 0, new_sectors, 32, 0, 0, 4096, 256, 64)
    block = (width, 1, 1)
    return Measurement(
        "k",
        "code",
        Purpose.FEATURES,
        "",
        tuple(sizes.items()),
        block,
        block,
        1,
        threads,
        (),
        (),
        (site,),
    )


def run(n: int) -> Measurement:
    """A launch with rows of 64 threads."""
    return replace(measurement(64 * n), sizes=(("n", n), ("width", 64)))


WITH_MEMORY = replace(PLANE, compiled=compiled([MemoryInstruction(0, "load", 4, 0, False)]))
RUNS = [run(100), run(400)]


def test_totals_do_not_grow_with_threads_that_have_no_work() -> None:
    """Any number of threads shares n elements."""
    shared = replace(KERNEL, guards=(None, None, None), variable_extents=(True, False, False))
    recorded = (((1000,), (4096, 1, 1)),)
    kernel = replace(shared, working=("n", None, None), recorded=recorded)
    launch = replace(measurement(1000), sizes=(("n", 1000), ("extent_x", 4096)))
    total = proportions(kernel, [launch])([50_000], False)
    few, many, more = ((1000, 1024), (1000, 4096), (2000, 4096))
    counted = [total({"n": n, "extent_x": threads}) for n, threads in (few, many, more)]
    assert counted == [50_000, 50_000, 100_000]


def test_totals_grow_with_the_threads() -> None:
    # Rows of 15 and of 16 elements on average.
    found = proportions(PLANE, RUNS)([15 * 6400, 16 * 25600], False)
    assert found({"n": 10000, "width": 128}) == 16 * 10000 * 128
    assert found.held_out_error == pytest.approx(1 / 15)


def test_or_with_what_explains_them() -> None:
    # Each thread goes through all rows.
    found = proportions(PLANE, RUNS)([100 * 6400, 400 * 25600], False)
    assert found({"n": 1000, "width": 64}) == 1000 * 64000
    assert found.held_out_error == 0


def test_what_no_thread_does_twice_grows_no_faster_than_the_threads() -> None:
    # One thread in ten, and four in ten: an index within a range that the launches are part of.
    values = [640, 4 * 2560]
    many, once = (proportions(PLANE, RUNS)(values, is_once) for is_once in (False, True))
    large = {"n": 10_000, "width": 64}
    assert many(large) > 64 * 10_000 >= once(large) == 0.4 * 64 * 10_000


def test_what_explains_them_exactly_comes_first() -> None:
    # Five blocks at n = 1200, eight at 2000: both grow by nearly the same.
    kept = replace(
        PLANE,
        parameters=("n",),
        guards=(None,) * 3,
        grid_kept=(True, False, False),
        variable_extents=(True, False, False),
    )
    runs = [measurement(1, n=1200, extent_x=5), measurement(1, n=2000, extent_x=8)]
    fitter = proportions(kept, runs)
    assert fitter([3 * 1200, 3 * 2000], False)({"n": 50_000, "extent_x": 64}) == 150_000
    assert fitter([32 * 5, 32 * 8], False)({"n": 50_000, "extent_x": 64}) == 32 * 64


def test_or_not_at_all() -> None:
    assert proportions(PLANE, RUNS)([256, 256], False)({"n": 10000, "width": 64}) == 256
    assert proportions(PLANE, RUNS)([0, 0], False)({"n": 10000, "width": 64}) == 0


def test_what_is_rare_may_be_missing_in_a_small_run() -> None:
    found = proportions(PLANE, RUNS)([0, 16], False)
    assert found({"n": 4000, "width": 64}) == 160
    assert found.held_out_error == 0


def test_what_is_rare_does_not_make_a_model_useless() -> None:
    exact = constant_function((), 1)
    often, rarely = (replace(exact, held_out_error=error) for error in (0.1, 3.0))
    counts = CountFunctions(*(exact,) * 8, (often, rarely), (0, 1), (), (0.9, 0.1))
    assert counts.worst_error == 3
    assert counts.typical_error == pytest.approx(0.39)
    assert replace(counts, instructions=rarely).typical_error == 3


def test_threads_need_be_no_polynomial_of_the_sizes() -> None:
    """A thread for seven places each."""
    kernel = replace(PLANE, guards=("(n + 6) / 7", "width", None))
    runs = [replace(measurement(0), sizes=(("n", n), ("width", 64))) for n in (700, 7000)]
    found = proportions(kernel, runs)([5 * 64 * 100, 5 * 64 * 1000], True)
    assert float(found({"n": 70_000, "width": 64})) == pytest.approx(5 * 64 * 10_000, rel=0.02)


def test_what_is_done_at_most_once_and_which_bytes_are_touched() -> None:
    """One load in a loop, one outside; the second run comes to neither."""
    loads = [MemoryInstruction(number, "load", 4, number, False) for number in range(2)]
    kernel = replace(PLANE, compiled=compiled(loads, loops=(0, -1)))
    launch = run(100)
    (one,) = launch.sites
    sites = (one, one._replace(lanes=1024, array=1, low=64, high=320))
    nothing = tuple(site._replace(executions=0, lanes=0, low=0, high=0) for site in sites)
    runs = [
        replace(launch, lanes=(6400, 6400), sites=sites),
        replace(run(400), lanes=(0, 0), sites=nothing),
    ]
    asked: list[tuple[tuple[int, ...], bool]] = []

    def fitter(values: Sequence[int], is_once: bool) -> RationalFunction:
        asked.append((tuple(values), is_once))
        return constant_function(kernel.variables, values[0])

    found = count_functions(kernel, runs, fitter)
    assert ((one.lanes, 0), False) in asked and ((1024, 0), True) in asked
    assert ((one.high - one.low, 0), False) in asked and ((256, 0), False) in asked
    assert [array.extent_bytes({"n": 1, "width": 1}) for array in found.arrays] == [4096, 256]


def by_chance(threads: int, sectors: int) -> int:
    """Sectors that so many threads meet, each at one of them by chance."""
    return round(sectors * (1 - exp(-threads / sectors)))


@pytest.mark.parametrize("crowd", [0.1, 0.5, 1.0, 2.0])
def test_sectors_that_are_shared_by_chance_get_rarer(crowd: float) -> None:
    # Of the 2048 threads, those of the same quad share by nature: 512 sectors are left.
    small = measurement(1000, by_chance(512, round(512 / crowd)), n=1000)
    large = measurement(4000, by_chance(512, round(4 * 512 / crowd)), n=4000)
    found = at_large_sizes(WITH_MEMORY, [large], [small])[0].sites[0].new_sectors
    assert found == pytest.approx(512, rel=0.05)


def test_what_is_shared_by_nature_stays_so() -> None:
    small, large = measurement(1000, 512, n=1000), measurement(4000, 512, n=4000)
    assert at_large_sizes(WITH_MEMORY, [large], [small]) == [large]
    assert at_large_sizes(WITH_MEMORY, [small], [large]) == [small]
    fewer = measurement(4000, 200, n=4000)
    assert at_large_sizes(WITH_MEMORY, [fewer], [small]) == [fewer]


def test_no_lane_touches_more_than_its_own_sector() -> None:
    # Four times as many where the arrays are four times as large: nothing tells how many at last.
    small, large = measurement(1000, 100, n=1000), measurement(4000, 400, n=4000)
    found = at_large_sizes(WITH_MEMORY, [large], [small])[0].sites[0].new_sectors
    assert 400 < found <= 2048


def test_of_large_blocks_small_ones_tell() -> None:
    # Each thread of a block goes to one of 1024 sectors by chance, of 4096 at the larger size.
    widths, per_block = (32, 64, 1024), 16

    def launch(threads: int, sectors: int, width: int) -> Measurement:
        blocks = 2048 / (per_block * width)  # so that all go to 2048 sectors where none is shared
        return measurement(threads, round(blocks * by_chance(per_block * width, sectors)), width)

    large = [launch(4000, 4096, width) for width in widths]
    small = [launch(1000, 1024, width) for width in widths]
    assert large[-1].sites[0].new_sectors < 600
    for found in at_large_sizes(WITH_MEMORY, large, small):
        assert found.sites[0].new_sectors == pytest.approx(2048, rel=0.05)


def test_rows_of_a_small_grid_that_lie_in_one_block_do_not_in_a_large_one() -> None:
    def launch(threads: int, width: int, new_sectors: int) -> Measurement:
        return measurement(threads, new_sectors, width)

    large = [launch(4000, 32, 1500), launch(4000, 256, 900)]
    small = [launch(1000, 32, 1500), launch(1000, 256, 600)]
    found = [m.sites[0].new_sectors for m in at_large_sizes(WITH_MEMORY, large, small)]
    assert found == [1500, 1500]


def test_threads_that_only_large_blocks_have_do_no_work() -> None:
    # Of 70 rows: three warps do, as of a block that fits; 29 more look at the guard.
    fits = replace(measurement(70, width=96), lanes=(96, 700), executions=(3, 30))
    wide = replace(measurement(70, width=1024), lanes=(1024, 700), executions=(32, 30))
    for found in without_idle_warps([fits, wide]):
        assert (found.lanes, found.executions) == (fits.lanes, fits.executions)


def test_threads_are_known_whatever_else_the_kernel_is_told() -> None:
    """Eight sizes: a product of three of them is none of the functions that would be tried."""
    names = ("n", "width", "pitch", "top", "left", "bottom", "right")
    kernel = replace(
        PLANE, parameters=names, positions=tuple(range(7)), variable_extents=(False, False, True)
    )

    def at(n: int) -> Measurement:
        sizes = (n, 2048, 2048 * n, n // 5, 102, n - n // 5, 1945, 3)
        named = tuple(zip((*names, "extent_z"), sizes, strict=True))
        return replace(measurement(6 * 2048 * n), sizes=named)

    found = proportions(kernel, [at(256), at(2048)])([1530 * 256, 1536 * 2048], True)
    assert found(dict(at(4096).sizes)) == 1536 * 4096
    assert found.held_out_error < 0.01

"""Work of a warp from the counters of a few blocks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cutune.fit.count_functions import CountFunctions
from cutune.fit.measurement.compiled_kernel import CodeBlock, MemoryInstruction
from cutune.fit.measurement.measurement import FEATURES, Measurement, SiteCounters
from cutune.fit.per_warp import Scale
from cutune.fit.rational.functions import constant_function
from tests.measured import KERNEL

NOTHING = constant_function(("n",), 0)
COUNTS = CountFunctions(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, (), (), ())


def plain(loop: int) -> CodeBlock:
    return CodeBlock(loop, 8, 2, 0, 0, 0, 0)


def load(number: int, block: int, phase: int) -> MemoryInstruction:
    return MemoryInstruction(number, "load", 4, block, False, False, phase)


def site(missing: int, new_sectors: int = 64) -> SiteCounters:
    """Executed by each of 16 warps, once."""
    return SiteCounters(16, 512, 0, 16, 320, 0, 0, new_sectors, missing, 0, 0, 4096, 64, 16)


def steps_that_miss(
    loads: list[MemoryInstruction],
    missing: list[int],
    loops: tuple[int, ...] = (0,),
    *,
    on_data: bool = False,
    new_sectors: int = 64,
) -> float:
    """Of blocks of one warp."""
    kernel = replace(
        KERNEL,
        compiled=replace(
            KERNEL.compiled, memory=tuple(loads), code_blocks=tuple(plain(loop) for loop in loops)
        ),
        on_data=on_data,
    )
    sites = tuple(site(count, new_sectors) for count in missing)
    one, grid = (32, 1, 1), (16, 1, 1)
    lanes = (512,) * len(loops)
    counted = Measurement(
        "k", "code", FEATURES, "", (("n", 512),), grid, one, 16, 512, lanes, lanes, sites
    )
    return Scale(kernel, COUNTS, counted).missing(range(len(loads)))


def test_of_loads_that_overlap_the_worst_counts() -> None:
    assert steps_that_miss([load(0, 0, 1), load(1, 0, 1)], [4, 8]) == pytest.approx(0.5)


def test_loads_after_a_store_wait_for_themselves() -> None:
    assert steps_that_miss([load(0, 0, 1), load(1, 0, 2)], [4, 8]) == pytest.approx(0.75)


def test_branches_of_a_loop_are_predicates_but_loops_follow_each_other() -> None:
    loads = [load(0, 0, 1), load(1, 1, 1)]
    assert steps_that_miss(loads, [4, 8], (0, 0)) == pytest.approx(0.5)
    assert steps_that_miss(loads, [4, 8], (0, 1)) == pytest.approx(0.75)


def test_outside_of_loops_one_step_counts() -> None:
    assert steps_that_miss([load(0, 0, 1), load(1, 0, 2)], [4, 8], (-1,)) == pytest.approx(0.5)


def test_warps_whose_work_depends_on_data_wait_for_their_own_misses() -> None:
    loads = [load(0, 0, 1)]
    assert steps_that_miss(loads, [16]) == pytest.approx(1)
    assert steps_that_miss(loads, [16], on_data=True, new_sectors=4) == pytest.approx(0.25)


def test_warps_without_work_do_not_make_others_busy() -> None:
    """One block of 1024 threads, 256 of which have work, all of them as much."""
    one = SiteCounters(8, 256, 1, 8, 160, 0, 0, 64, 1, 0, 0, 4096, 64, 8)
    counted = Measurement(
        "k", "code", FEATURES, "", (("n", 256),), (1, 1, 1), (1024, 1, 1), 1, 256, (), (), (one,)
    )
    code = replace(KERNEL.compiled, memory=(load(0, 0, 1),), code_blocks=(plain(0),))
    kernel = replace(KERNEL, compiled=code)
    assert Scale(kernel, COUNTS, counted).busiest() == pytest.approx(4)
    assert Scale(replace(kernel, on_data=True), COUNTS, counted).busiest() == 1

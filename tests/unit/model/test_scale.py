"""Work of a warp from the counters of a few blocks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import pytest

from cutune.model.fit.count_functions import CountFunctions
from cutune.model.fit.feature_columns import Scale, feature_columns, growth, transaction_columns
from cutune.model.fit.fitted_model import (
    ATOMIC,
    ATOMIC_REAL,
    SCATTERED,
    SECTORS,
    UNCOALESCED,
    Array,
    FeatureColumn,
    in_single_precision,
)
from cutune.model.measurement.measurement import (
    CodeBlock,
    MeasuredKernel,
    Measurement,
    MemoryInstruction,
    Purpose,
    SiteCounters,
)
from cutune.model.rational.functions import constant_function
from tests.support.measured_kernel import KERNEL

NOTHING = constant_function(("n",), 0)
COUNTS = CountFunctions(*(NOTHING,) * 8, (), (), ())


def plain(loop: int) -> CodeBlock:
    return CodeBlock(loop, 8, 2, 0, 0, 0, 0)


def load(number: int, block: int, phase: int) -> MemoryInstruction:
    return MemoryInstruction(number, "load", 4, block, False, False, phase)


def site(missing: int, new_sectors: int = 64, sectors: int = 64) -> SiteCounters:
    """Executed by each of 16 warps, once."""
    counters = SiteCounters(16, 512, 0, 16, 320, 0, 0, new_sectors, missing, 0, 0, 4096, 64, 16)
    return counters._replace(sectors=sectors)


def steps_that_miss(
    loads: list[MemoryInstruction],
    missing: list[int],
    loops: tuple[int, ...] = (0,),
    *,
    on_data: bool = False,
    new_sectors: int = 64,
    sectors: int = 64,
) -> float:
    """Of blocks of one warp."""
    kernel = replace(
        KERNEL,
        compiled=replace(
            KERNEL.compiled, memory=tuple(loads), code_blocks=tuple(plain(loop) for loop in loops)
        ),
        on_data=on_data,
    )
    sites = tuple(site(count, new_sectors, sectors) for count in missing)
    one, grid = (32, 1, 1), (16, 1, 1)
    lanes = (512,) * len(loops)
    counted = Measurement(
        "k", "code", Purpose.FEATURES, "", (("n", 512),), grid, one, 16, 512, lanes, lanes, sites
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


def test_outside_of_loops_each_step_waits_for_its_own_misses() -> None:
    assert steps_that_miss([load(0, 0, 1), load(1, 0, 2)], [4, 8], (-1,)) == pytest.approx(0.75)
    branches = [load(0, 0, 1), load(1, 1, 1)]
    assert steps_that_miss(branches, [4, 8], (-1, -1)) == pytest.approx(0.75)


def test_warps_whose_work_depends_on_data_wait_for_their_own_misses() -> None:
    loads = [load(0, 0, 1)]
    assert steps_that_miss(loads, [16]) == pytest.approx(1)
    assert steps_that_miss(loads, [32]) == pytest.approx(1)  # no warp misses more than once
    assert steps_that_miss(loads, [16], on_data=True, new_sectors=4) == pytest.approx(0.25)
    spread = steps_that_miss(loads, [16], (-1,), on_data=True, new_sectors=4)
    assert spread == pytest.approx(0.25)
    # At one address all wait for the first that has asked; in a loop they are not in step.
    one = partial(steps_that_miss, loads, [16], on_data=True, new_sectors=4, sectors=16)
    assert one((-1,)) == pytest.approx(1)
    assert one() == pytest.approx(0.25)


def test_warps_without_work_do_not_make_others_busy() -> None:
    """One block of 1024 threads, 256 of which have work, all of them as much."""
    one = SiteCounters(8, 256, 1, 8, 160, 0, 0, 64, 1, 0, 0, 4096, 64, 8)
    counted = Measurement(
        "k",
        "code",
        Purpose.FEATURES,
        "",
        (("n", 256),),
        (1, 1, 1),
        (1024, 1, 1),
        1,
        256,
        (),
        (),
        (one,),
    )
    code = replace(KERNEL.compiled, memory=(load(0, 0, 1),), code_blocks=(plain(0),))
    kernel = replace(KERNEL, compiled=code)
    assert Scale(kernel, COUNTS, counted).busiest() == pytest.approx(4)
    assert Scale(replace(kernel, on_data=True), COUNTS, counted).busiest() == 1


#: A plane of n times 4 threads. Each loads a float, and adds a double to what several share.
PLANE = replace(
    KERNEL,
    free=(True, True, False),
    guards=("n", "4", None),
    variable_extents=(False, False, False),
    recorded=(((20,), (20, 4, 1)),),
    compiled=replace(
        KERNEL.compiled,
        memory=(load(0, 0, 1), MemoryInstruction(1, "atomic", 8, 0, False, True, 1)),
        code_blocks=(CodeBlock(0, 10, 1, 3, 0, 0),),
    ),
)
#: Threads of a launch: 80 work. Of the two accesses, each does the first three times.
WORK = replace(
    COUNTS,
    working=constant_function(("n",), 80),
    instructions=constant_function(("n",), 800),
    groups=tuple(constant_function(("n",), total) for total in (240, 80)),
    group_of=(0, 1),
)


def launched(sites: tuple[SiteCounters, ...]) -> Measurement:
    """Six blocks of a warp, 80 threads of which have work; a warp runs the code three times."""
    return Measurement(
        "k",
        "code",
        Purpose.FEATURES,
        "",
        (("n", 20),),
        (3, 2, 1),
        (8, 4, 1),
        6,
        80,
        (240,),
        (18,),
        sites,
    )


def plane(kernel: MeasuredKernel = PLANE, sites: tuple[SiteCounters, ...] = ()) -> Scale:
    both = sites or (
        SiteCounters(18, 240, 3, 12, 480, 40, 6, 24, 6, 0, 0, 320, 48, 12),
        SiteCounters(6, 80, 1, 6, 0, 240, 0, 24, 6, 1, 0, 320, 6, 6),
    )
    return Scale(kernel, WORK, launched(both))


def test_costs_are_per_warp_and_trip() -> None:
    # Of 18 executions 12 were traced. 80 threads are 2.5 warps' worth, which do 18.
    work = plane()
    executions = 18 / 2.5 * 80 / 240
    assert work.requests([0]) == pytest.approx(executions)
    assert work.cost([0], "load_cost_x20") == pytest.approx(480 / 20 / 12 * executions)
    assert work.cost([0], "sectors") == pytest.approx(48 / 12 * executions)
    assert work.cost([0, 1], "lines") == work.cost([0], "lines") + work.cost([1], "lines")


def test_what_is_not_executed_costs_nothing() -> None:
    nothing = SiteCounters(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    work = plane(sites=(nothing, nothing))
    assert (work.requests([0, 1]), work.cost([0, 1], "sectors")) == (0, 0)
    assert (work.missing([0, 1]), work.lines([0, 1]), work.busiest()) == (0, 0, 1)


def test_lines_are_those_of_stores_that_rewrite() -> None:
    assert plane().lines([0, 1]) == 1
    assert plane().lines([1]) == 0


def test_atomic_operations_change_bytes() -> None:
    """Proven: each thread does each once. Else by what was counted, per thread and trip."""
    assert plane().atomic_bytes([1]) == 8
    allowed = replace(PLANE, asserted=True)
    assert plane(allowed).atomic_bytes([1]) == pytest.approx(80 * 8 / 80 / 1)
    assert plane(allowed).atomic_bytes([0]) == pytest.approx(240 * 4 / 80 / 3)
    # Of all blocks, where their number is kept.
    kept = replace(allowed, grid_kept=(True, False, False))
    assert plane(kept).atomic_bytes([0]) == pytest.approx(240 * 4 / 240)


@pytest.mark.parametrize(("is_real", "kind"), [(False, ATOMIC), (True, ATOMIC_REAL)])
def test_bytes_that_atomic_operations_change_belong_to_an_array(is_real: bool, kind: str) -> None:
    memory = (PLANE.memory[0], replace(PLANE.memory[1], real=is_real))
    kernel = replace(PLANE, compiled=replace(PLANE.compiled, memory=memory))
    sites = (site(0)._replace(array=0), site(0)._replace(array=1))
    arrays = tuple(Array(number, NOTHING, True, number == 1) for number in range(2))
    found = list(feature_columns(kernel, replace(WORK, arrays=arrays), [launched(sites)], []))
    changed = [column for column in found if column.kind in (ATOMIC, ATOMIC_REAL)]
    assert changed == [FeatureColumn(kind, 1, 1, in_single_precision([8.0]))]
    missed = [(column.group, column.array) for column in found if column.kind == "missed"]
    assert missed == [(0, 0), (1, 1)]


def test_transactions_of_what_is_coalesced_and_of_what_is_not() -> None:
    """32-byte sectors per execution: as few as bytes of a lane, or more."""
    sites = (site(0)._replace(sectors=16 * 4), site(0)._replace(sectors=16 * 32))
    found = [
        (one.kind, one.group, one.values)
        for one in transaction_columns(PLANE, WORK, [launched(sites)])
    ]
    assert found == [
        (kind, group, (value,))
        for group, values in enumerate([(4, 0, 0), (32, 1, 32)])
        for kind, value in zip((SECTORS, UNCOALESCED, SCATTERED), values, strict=True)
    ]


def test_work_is_divided_among_warps() -> None:
    # As many as have work; those of the whole launch, where it was counted; those of the grid.
    assert plane().per_warp("instructions") == pytest.approx(18 * 10 / 2.5)
    counted = replace(PLANE, on_data=True)
    assert plane(counted).per_warp("instructions") == pytest.approx(18 * 10 / (3 * 1))
    small = replace(counted, guards=("8", "4", None))
    assert plane(small).per_warp("instructions") == pytest.approx(18 * 10)
    line = replace(counted, free=(True, False, False))
    assert plane(line).per_warp("instructions") == pytest.approx(18 * 10 / 2.5)
    kept = replace(PLANE, grid_kept=(True, False, False))
    assert plane(kept).per_warp("instructions") == pytest.approx(18 * 10 / 6)


def test_work_relative_to_that_of_a_thread() -> None:
    proven, allowed = plane(), plane(replace(PLANE, asserted=True))
    assert proven.relative("instructions") == pytest.approx(18 * 10 / 2.5 / (240 * 10 / 80))
    assert allowed.per_thread("instructions") == 10
    assert allowed.relative("instructions") == pytest.approx(18 * 10 / 2.5 / 10)
    assert allowed.relative("double") == 1  # of which a thread has none by the counts
    assert allowed.requests([0]) == pytest.approx(18 / 2.5 / 3)
    assert proven.per_warp("steps") == pytest.approx(18 * 1 / 2.5)


def test_ratios_near_one_are_one() -> None:
    def of(executions: int) -> float:
        site = SiteCounters(executions, 8000, *[0] * 12)
        return plane(sites=(site, site)).requests([0])

    assert (of(254), of(246)) == (1, 1)
    assert [of(258), of(242)] == pytest.approx([1.032, 0.968])


@dataclass
class Work:
    """A launch, of which nothing else matters here."""

    of_thread: float
    of_warp: float

    def per_thread(self, what: str) -> float:
        assert what == "steps"
        return self.of_thread

    def per_warp(self, what: str) -> float:
        assert what == "steps"
        return self.of_warp


@pytest.mark.parametrize(
    ("larger", "smaller", "expected"),
    [
        (Work(10, 25), Work(5, 15), (2, 5)),
        (Work(10, 20), Work(5, 10), (2, 0)),
        (Work(10, 25), Work(5, 25), (0, 25)),
        # No thread does anything.
        (Work(0, 25), Work(0, 15), (0, 25)),
        # Nothing can be told: the threads do as much, or what is fixed would be negative.
        (Work(10, 25), Work(9.9, 15), (2.5, 0)),
        (Work(10, 20), Work(5, 5), (2, 0)),
        (Work(10, 20), Work(5, 30), (2, 0)),
    ],
)
def test_how_work_grows(larger: Work, smaller: Work, expected: tuple[float, float]) -> None:
    assert growth(cast(Scale, larger), cast(Scale, smaller), "steps") == pytest.approx(expected)

"""What recorded launches show of how the sizes of a kernel go together."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from cutune.measure.replay.plan import LARGEST_LAUNCH, feature_launches
from cutune.model.fit.count_functions import CountFunctions
from cutune.model.measurement.measurement import (
    NO_OTHERS,
    MeasuredKernel,
    MemoryInstruction,
    checked_kernel,
)
from cutune.model.measurement.size_relations import (
    Covered,
    complete,
    cover,
    extents_at,
    only_at,
    share_of_each,
    small_bounds,
    usually_held,
    with_bounds_fixed,
    with_constants_fixed,
    with_extents_covered,
    with_extents_held,
    with_few_bounds_fixed,
    with_grid_covering,
    with_sizes_tied,
    with_strides,
)
from cutune.model.rational.functions import RationalFunction, fit
from cutune.toolchain.device.thread_block import Block
from tests.support import measured_kernel
from tests.support.measured_kernel import LAUNCH


def launches(width: int, *of: tuple[tuple[int, ...], int]) -> list[Covered]:
    return [Covered(sizes, -(-threads // width), width) for sizes, threads in of]


def test_a_product_of_sizes_is_recognised() -> None:
    cells = launches(128, ((52, 68, 2), 52 * 68), ((100, 84, 2), 100 * 84))
    assert cover(("nx", "ny", "pad"), cells) == "nx * ny"
    nodes = launches(64, ((52, 68, 2), 53 * 69), ((100, 84, 2), 101 * 85))
    assert cover(("nx", "ny", "pad"), nodes) == "(nx + 1) * (ny + 1)"
    rim = launches(32, ((52, 68, 2), 2 * 68), ((100, 84, 2), 2 * 84))
    assert cover(("nx", "ny", "pad"), rim) == "ny * pad"


def test_one_launch_shows_no_product_and_one_size_needs_none() -> None:
    assert cover(("nx", "ny"), launches(128, ((52, 68), 52 * 68))) is None
    single = launches(128, ((520, 3), 520), ((680, 3), 680))
    assert cover(("nx", "k"), single) is None
    with_one = launches(128, ((520, 1), 520), ((680, 1), 680))
    assert cover(("nx", "k"), with_one) is None


HALO = replace(
    measured_kernel.KERNEL,
    parameters=("nx", "ny", "pad"),
    positions=(0, 1, 3),
    guards=(None, None, None),
    covers=("nx * ny", None, None),
    recorded=(((52, 68, 2), (3584, 1, 1)), ((100, 84, 2), (8448, 1, 1))),
)
IDLE = replace(LAUNCH, working_threads=0)


def test_a_small_constant_is_held_where_it_takes_the_work_away() -> None:
    held = with_constants_fixed(HALO, [LAUNCH, IDLE])
    assert held is not None
    assert (held.parameters, held.positions) == (("nx", "ny"), (0, 1))
    assert (held.fixed_arguments, held.required_arguments) == ((("pad", 2),), ((3, 2),))
    assert held.recorded[0] == ((52, 68), (3584, 1, 1))


@pytest.mark.parametrize(
    "kernel",
    [
        replace(HALO, recorded=HALO.recorded[:1]),
        replace(HALO, recorded=(*HALO.recorded, ((100, 84, 4), (8448, 1, 1)))),
        replace(HALO, recorded=(((52, 68, 32), (1, 1, 1)), ((100, 84, 32), (1, 1, 1)))),
        replace(HALO, asserted=True),
    ],
)
def test_sizes_that_may_vary_are_not_held(kernel: MeasuredKernel) -> None:
    assert with_constants_fixed(kernel, [LAUNCH, IDLE]) is None


def test_nothing_is_held_where_all_launches_have_work() -> None:
    assert with_constants_fixed(HALO, [LAUNCH]) is None


RADIUS = replace(
    HALO,
    parameters=("n", "r"),
    positions=(0, 2),
    guards=("n", None, None),
    covers=(None, None, None),
    recorded=(((64, 1), (64, 1, 1)), ((96, 6), (96, 1, 1)), ((96, 3), (96, 1, 1))),
    bounds=("n", "r"),
)


def test_what_bounds_a_small_loop_is_told_from_sizes() -> None:
    assert small_bounds(RADIUS) == {"r": 6}
    assert small_bounds(replace(RADIUS, bounds=())) == {}
    large = replace(RADIUS, recorded=(*RADIUS.recorded, ((64, 40), (64, 1, 1))))
    assert small_bounds(large) == {}


def test_a_table_of_sizes_holds_what_is_no_size() -> None:
    """A radius, and what no launch has varied; but not all of what a program ran with once."""
    assert usually_held(RADIUS) == {"r": 6}
    assert usually_held(HALO) == {"pad": 2}
    assert usually_held(replace(HALO, recorded=HALO.recorded[:1])) == {}
    # An image of a few rows: they are as many as there are threads.
    assert usually_held(replace(HALO, guards=("nx", "pad", None))) == {}
    assert usually_held(replace(HALO, covers=("nx", "pad", None))) == {}
    large = tuple(((nx, ny, 32), threads) for (nx, ny, _), threads in HALO.recorded)
    assert usually_held(replace(HALO, recorded=large)) == {}


def test_one_bound_is_held_before_all_are() -> None:
    two = replace(
        RADIUS,
        parameters=("n", "r", "order"),
        positions=(0, 2, 3),
        recorded=(((64, 1, 4), (64, 1, 1)), ((96, 6, 4), (96, 1, 1))),
        bounds=("n", "r", "order"),
    )
    ways = [only_at(held) for held in with_few_bounds_fixed(two)]
    assert ways == [(("r", 6),), (("order", 4),), (("r", 6), ("order", 4))]
    assert [only_at(held) for held in with_few_bounds_fixed(RADIUS)] == [(("r", 6),)]
    assert not [*with_few_bounds_fixed(replace(RADIUS, bounds=()))]


def test_a_radius_is_held_at_its_largest_value_and_the_model_holds_for_no_other() -> None:
    for held in (with_bounds_fixed(RADIUS), with_sizes_tied(RADIUS)):
        assert held is not None
        assert (held.parameters, held.required_arguments) == (("n",), ((2, 6),))
        assert only_at(held) == (("r", 6),)
        assert complete(held, {"n": 5}) == {"n": 5, "r": 6}
    assert with_bounds_fixed(RADIUS, ["n"]) is None
    selecting = with_sizes_tied(replace(RADIUS, bounds=()))
    assert selecting is not None and selecting.required_arguments == ()
    assert with_bounds_fixed(replace(RADIUS, bounds=())) is None


def test_replayed_launches_cover_the_product() -> None:
    assert extents_at(HALO, {"nx": 96, "ny": 32, "pad": 64}) == (96 * 32, 1, 1)


def test_launches_that_cover_products_stay_possible() -> None:
    """A kernel without a loop is looked at near 2^20, if its launch has one such dimension."""
    one = constant(1)
    counts = CountFunctions(*(one,) * 8, (), (), ())
    for cover_text, least in (("nx * ny", 1 << 20), ("nx * ny * pad", 1 << 20)):
        kernel = replace(
            HALO,
            covers=(cover_text, None, None),
            compiled=measured_kernel.compiled([MemoryInstruction(0, "load", 4, 0, False)], [-1]),
        )
        for plan in feature_launches(kernel, counts, [[0], [0], [0]], [(0, 0, 0)]):
            assert least <= extents_at(kernel, plan.sizes)[0] <= LARGEST_LAUNCH


def constant(value: int) -> RationalFunction:
    return fit(("nx",), [[32], [64]], (value, value))


POOLED = replace(
    HALO,
    parameters=("n", "side", "colour"),
    guards=("side", None, None),
    covers=(None, None, None),
    recorded=(((12, 6, 0), (32, 1, 1)), ((30, 15, 1), (32, 1, 1)), ((31, 16, 1), (32, 1, 1))),
)


def test_a_size_that_follows_from_another_is_tied_to_it() -> None:
    tied = with_sizes_tied(POOLED)
    assert tied is not None
    assert (tied.parameters, tied.positions) == (("n",), (0,))
    assert tied.tied == (("side", 1, "(n + 1) / 2"),)
    assert tied.recorded[1] == ((30,), (32, 1, 1))
    assert complete(tied, {"n": 65}) == {"colour": 0, "n": 65, "side": 33}
    assert extents_at(tied, {"n": 65})[0] == 33


def test_a_size_that_others_are_tied_to_stays_a_size() -> None:
    kernel = replace(
        POOLED,
        parameters=("half", "n", "padded"),
        guards=("n", None, None),
        recorded=(((32, 64, 34), (64, 1, 1)), ((33, 67, 35), (96, 1, 1))),
    )
    tied = with_sizes_tied(kernel)
    assert tied is not None
    assert tied.parameters == ("half", "n")
    assert tied.tied == (("padded", 3, "half + 2"),)
    assert complete(tied, {"half": 48, "n": 99}) == {"half": 48, "n": 99, "padded": 50}


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        (((64, 32), (96, 48)), "n / 2"),
        (((64, 66), (96, 98)), "n + 2"),
        (((64, 62), (96, 94)), "n - 2"),
        (((64, 192), (96, 288)), "n * 3"),
        (((64, 32), (96, 40)), None),
        (((64, 64), (64, 64)), None),
    ],
)
def test_relations_of_two_sizes(sizes: tuple[tuple[int, int], ...], text: str | None) -> None:
    recorded = tuple((pair, (32, 1, 1)) for pair in sizes)
    kernel = replace(POOLED, parameters=("n", "m"), positions=(0, 1), recorded=recorded)
    tied = with_sizes_tied(replace(kernel, guards=("m", None, None)))
    assert (tied.tied[0][2] if tied else None) == text


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (replace(HALO, guards=("n", None, None)), "'n' is no formula of the parameters"),
        (replace(HALO, covers=("nx * n", None, None)), "'nx * n' is no formula"),
        (replace(HALO, shared="4 * n"), "`shared`: '4 * n' is no formula"),
        (replace(HALO, shared="4 * X"), "`shared`: '4 * X' is no formula"),
        (replace(HALO, recorded=()), "`recorded` holds a launch"),
        (replace(HALO, recorded=(((52, 68), (1, 1, 1)),)), "`recorded` fits them, too"),
        (replace(HALO, strided_to="nx"), "'nx' is no parameter of a strided loop"),
        (replace(POOLED, strided_to="nx"), "'nx' is no parameter of a strided loop"),
    ],
)
def test_entries_that_do_not_fit_together(kernel: MeasuredKernel, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        checked_kernel(kernel)


@pytest.mark.parametrize(
    "kernel",
    [
        HALO,
        POOLED,
        # Every extent is told: no launch is needed for them.
        replace(HALO, guards=("nx", "ny", "pad"), covers=(None,) * 3, recorded=()),
        replace(
            HALO,
            guards=("nx", "ny", None),
            covers=(None,) * 3,
            variable_extents=(False, False, True),
            recorded=(),
        ),
        replace(HALO, variable_extents=(False, True, False), strided_to="nx"),
        replace(HALO, shared="4 * x"),
    ],
)
def test_entries_that_fit_together(kernel: MeasuredKernel) -> None:
    assert checked_kernel(kernel) is kernel


#: `if (i == nx - 1)` without a bound on the index: as many threads as there are places.
CLAMPED = replace(
    HALO,
    parameters=("layers", "ny", "nx"),
    positions=(0, 1, 2),
    covers=(None, None, None),
    variable_extents=(True, True, False),
    original=(64, 4, 1),
    recorded=(((8, 62, 60), (64, 64, 1)), ((8, 300, 128), (128, 300, 1))),
)


def test_extents_cover_the_sizes_that_they_always_cover() -> None:
    covered = with_extents_covered(CLAMPED)
    assert covered is not None
    assert covered.covers == ("nx", "ny", None)
    assert covered.variable_extents == (False, False, False)
    assert extents_at(covered, {"layers": 3, "ny": 7, "nx": 9}) == (9, 7, 1)
    assert covered.setting != CLAMPED.setting, "counted anew"


def test_two_extents_do_not_cover_the_same_size() -> None:
    square = replace(CLAMPED, recorded=(((8, 64, 64), (64, 64, 1)), ((8, 128, 128), (128, 128, 1))))
    covered = with_extents_covered(square)
    assert covered is not None and covered.covers == ("ny", "nx", None)


@pytest.mark.parametrize(
    "kernel",
    [
        replace(CLAMPED, asserted=True),
        replace(CLAMPED, variable_extents=(False, False, False)),
        replace(CLAMPED, recorded=(*CLAMPED.recorded, ((8, 62, 60), (128, 128, 1)))),
        replace(CLAMPED, recorded=CLAMPED.recorded[:1]),
    ],
)
def test_extents_that_may_vary_cover_nothing(kernel: MeasuredKernel) -> None:
    assert with_extents_covered(kernel) is None


#: A tile of 16 x 16, whose host does not write which sizes its grid is made of.
TILED = replace(
    HALO,
    parameters=("rows", "columns"),
    positions=(0, 1),
    covers=(None, None, None),
    variable_extents=(True, True, False),
    original=(16, 16, 1),
    asserted=True,
    recorded=(((64, 100), (112, 64, 1)), ((30, 200), (208, 32, 1))),
)
THREADS = ("gridDim.x * 16", "gridDim.y * 16", "1")


def test_a_grid_covers_the_sizes_that_all_launches_show() -> None:
    [covered] = with_grid_covering(TILED, THREADS, [(7, 4, 1), (13, 2, 1)])
    assert covered.covers == ("((columns + 15) / 16) * 16", "((rows + 15) / 16) * 16", None)
    assert covered.variable_extents == (False, False, False)
    assert extents_at(covered, {"rows": 33, "columns": 16}) == (16, 48, 1)
    assert covered.unit == 1 and covered.setting != TILED.setting


def test_a_square_may_be_covered_in_both_orders() -> None:
    square = replace(TILED, recorded=(((64, 64), (64, 64, 1)),))
    found = [one.covers[0] for one in with_grid_covering(square, THREADS, [(4, 4, 1)])]
    assert found == ["((rows + 15) / 16) * 16", "((columns + 15) / 16) * 16"]


def test_blocks_may_cover_more_than_a_thread_each() -> None:
    shared = replace(TILED, recorded=(((64, 1000), (336, 64, 1)),))
    [covered] = with_grid_covering(shared, THREADS, [(21, 4, 1)])
    assert covered.covers[0] == "((columns + 47) / 48) * 16"
    assert covered.unit == 3, "96 is a multiple of 32 and of 48"


@pytest.mark.parametrize("grids", [[(7, 4, 1), (20, 2, 1)], [(1000, 4, 1), (1000, 2, 1)]])
def test_a_grid_that_follows_nothing_covers_what_it_can(grids: list[Block]) -> None:
    [covered] = with_grid_covering(TILED, THREADS, grids)
    assert covered.covers == (None, "((rows + 15) / 16) * 16", None)
    assert covered.variable_extents == (True, False, False)


@pytest.mark.parametrize(
    ("launches", "width", "share"),
    [
        ([(64, 4)], 16, 16),
        ([(67, 4)], 16, 20),
        ([(67, 5)], 16, 16),
        ([(64, 2)], 16, 32),
        ([(10, 1)], 16, 16),
        ([(40, 1)], 16, None),
        ([(0, 1)], 16, None),
        ([(100, 4), (75, 3)], 0, 32),
    ],
)
def test_what_each_block_has(
    launches: list[tuple[int, int]], width: int, share: int | None
) -> None:
    assert share_of_each(launches, width) == share


def test_a_loop_may_stride_up_to_each_size() -> None:
    strided = replace(HALO, covers=(None, None, None), variable_extents=(True, False, False))
    assert [one.strided_to for one in with_strides(strided)] == ["nx", "ny", "pad"]
    for other in (
        replace(strided, variable_extents=(False, False, False)),
        replace(strided, asserted=True),
        replace(strided, grid_kept=(True, False, False)),
    ):
        assert list(with_strides(other)) == []


def test_extents_are_held_where_all_launches_have_them() -> None:
    still = replace(
        CLAMPED,
        recorded=(((8, 60, 60), (64, 64, 1)), ((8, 100, 90), (64, 64, 1))),
        working=("nx", "ny", None),
    )
    held = with_extents_held(still)
    assert held is not None and not any(held.variable_extents)
    # More threads than the program has do not do the same work.
    assert held.working == (NO_OTHERS, NO_OTHERS, None)
    assert extents_at(held, {"layers": 3, "ny": 7, "nx": 9}) == (64, 64, 1)
    for other in (
        CLAMPED,
        replace(still, variable_extents=(False, False, False)),
        replace(still, grid_kept=(True, False, False)),
    ):
        assert with_extents_held(other) is None

"""Counts at sizes that took no part: what is held out, what fails there, how far models reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import gcd, isqrt

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.measure.replay.plan import CHECKED, check_launches, far_launches, small_launches
from cutune.measure.replay.replayed_kernel import CountedKernel, counted_kernel
from cutune.model.fit.count_functions import (
    HELD_OUT_LIMIT,
    LEVELS,
    CountFunctions,
    bounded_elsewhere,
    deviation,
    held_out,
    off_text,
)
from cutune.model.fit.fit import fit_model
from cutune.model.fit.fitted_model import FittedModel, SizeRange
from cutune.model.measurement.measurement import Purpose
from cutune.model.performance.constants import (
    REACH_EXACT,
    REACH_NUMERICAL,
    REACH_ON_DATA,
)
from cutune.model.rational.functions import RationalFunction, fit
from cutune.model.selection.choose import band_of
from cutune.model.selection.chooser import LARGEST_SIZE, Chooser, supported
from cutune.toolchain.device.profile import DeviceProfile
from tests.support import measured_kernel as known
from tests.support.replayed_kernels import fitted, measured, subject

H200 = DeviceProfile.named("h200")
ONE_WARP = (32, 1, 1)
COLUMNS = fitted(*measured("columns"))


def silent(what: str, done: int, total: int) -> None:
    """Nobody looks."""


def counted(name: str) -> CountedKernel:
    return counted_kernel(subject(name), [], silent)


@pytest.mark.parametrize("name", ["copy", "columns"])
def test_exact_functions_meet_larger_launches_that_took_no_part(name: str) -> None:
    found = counted(name)
    assert found.problem == ""
    checked = held_out(found.subject.kernel, found.new)
    assert checked.holds and checked.is_exact
    held = [m for m in found.new if m.purpose in (Purpose.CHECK, Purpose.FAR)]
    assert {m.purpose for m in held} == {Purpose.CHECK, Purpose.FAR}
    (reached,) = checked.ranges(found.subject.kernel)
    largest = max(size for m in held for _, size in m.sizes)
    assert reached == SizeRange(LEVELS[0], largest, largest // LEVELS[-1])
    assert reached.largest > 8 * LEVELS[-1]


def test_a_function_that_fits_the_samples_alone_is_refused() -> None:
    """Between 160 and 256 its loop has 256 rounds: an exact function, and wrong everywhere else."""
    found = counted("padded")
    assert found.functions is not None and found.functions.worst_error == 0
    assert "n = " in found.problem and "% off" in found.problem
    launch = subject("padded").run(Purpose.CHECK, {"n": 992}, ONE_WARP)
    assert deviation(found.subject.kernel, found.functions, launch) > 0.5


@pytest.mark.parametrize(
    ("relative", "text"),
    [
        (0.061, "6.1 % off"),
        (0.5, "50 % off"),
        (2.0, "200 % off"),
        (2.6, "3 times off"),
        (21945.75, "21,946 times off"),
    ],
)
def test_what_is_far_off_is_told_as_a_multiple(relative: float, text: str) -> None:
    assert off_text(relative) == text


def test_functions_that_are_nearly_met_are_not_exact() -> None:
    found = counted("copy")
    kernel = found.subject.kernel
    off = [
        replace(m, lanes=tuple(count + (count > 0) for count in m.lanes))
        if m.purpose == Purpose.CHECK
        else m
        for m in found.new
    ]
    checked = held_out(kernel, off)
    assert checked.functions.worst_error == 0 and checked.holds and checked.deviation > 0
    assert not checked.is_exact


def test_the_program_s_own_small_values_tell_how_far_down_functions_hold() -> None:
    found = counted("copy")
    kernel = found.subject.kernel
    small = subject("copy").run(Purpose.OWN_SMALL, {"n": 6}, (6, 1, 1), trace_every=1)
    checked = held_out(kernel, [*found.new, small])
    assert checked.holds_below == {"n": True}
    assert checked.ranges(kernel)[0].least == 6
    other = replace(small, lanes=tuple(2 * count for count in small.lanes))
    assert held_out(kernel, [*found.new, other]).holds_below == {"n": False}


def test_a_pole_is_as_far_off_as_can_be() -> None:
    found = counted("copy")
    kernel, functions = found.subject.kernel, found.functions
    assert functions is not None and kernel.variables == ("n",)
    launch = next(m for m in found.new if m.purpose == Purpose.CHECK)
    at = dict(launch.sizes)["n"]
    pole = (((1,), Fraction(1)), ((0,), Fraction(-at)))
    working = replace(functions.working, denominator=pole)
    assert deviation(kernel, functions, launch) == 0
    assert deviation(kernel, replace(functions, working=working), launch) == float("inf")


def test_where_no_larger_launch_was_made_none_speaks_against_the_counts() -> None:
    found = counted("copy")
    assert found.functions is not None
    assert bounded_elsewhere(found.subject.kernel, found.functions, []) == ""


def test_where_a_fit_is_refused_the_message_says_where_and_what_to_do() -> None:
    found = counted("padded")
    kernel = found.subject.kernel
    features = subject("padded").run("features", {"n": 512}, ONE_WARP, trace_every=1)
    said = fit_model(kernel, [*found.new, features])
    assert isinstance(said, Diagnostic) and said.code is Code.POOR_FIT
    assert "n = " in said.message
    assert "such as 2000,4000,8000 where n was 1000 at most" in said.message


def test_corners_move_one_size_away_from_the_others() -> None:
    names = ("w", "h", "r")
    kernel = replace(
        known.KERNEL,
        parameters=names,
        positions=(0, 1, 2),
        guards=("w", "h", None),
        free=(True, True, False),
        recorded=(((64, 64, 1), (64, 64, 1)), ((96, 64, 6), (96, 64, 1))),
    )
    counts = functions(names, lambda w, h, r: 10 * w * h)
    for launches in (check_launches(kernel, counts), far_launches(kernel, counts)):
        points = [tuple(one.sizes[name] > LEVELS[-1] for name in names) for one in launches]
        assert len({*points}) == len(points) == 7  # all large, each alone, all but each
    again = {tuple(one.sizes.values()) for one in check_launches(kernel, counts, again=True)}
    assert again.isdisjoint(tuple(one.sizes.values()) for one in check_launches(kernel, counts))
    small = [(one.purpose, one.sizes) for one in small_launches(kernel)]
    assert small == [(Purpose.OWN_SMALL, {"w": 96, "h": 96, "r": r}) for r in (1, 6)]


def test_a_kernel_without_sizes_has_nothing_to_hold_out() -> None:
    kernel = replace(known.KERNEL, parameters=(), positions=(), recorded=(((), (64, 1, 1)),))
    counts = functions(("w", "h", "r"), lambda w, h, r: w * h)
    assert not [*check_launches(kernel, counts), *far_launches(kernel, counts)]
    assert not [*small_launches(kernel)]


def functions(names: tuple[str, ...], work: Callable[..., int]) -> CountFunctions:
    """Counts of a kernel whose instructions are a function of its sizes."""
    points = [(w, h, r) for w in (32, 64, 96) for h in (32, 64, 96) for r in (32, 64, 96)]
    all_work = fit(names, points, [work(*point) for point in points])
    a = all_work
    return CountFunctions(a, a, a, a, a, a, a, a, (), (), ())


def test_what_is_held_out_takes_no_part() -> None:
    assert not {*CHECKED} & {*LEVELS}
    assert len(Purpose) == len(Purpose.__members__)


# ---- how far a model may be asked


def test_exact_models_reach_further_than_others_and_those_on_data() -> None:
    model = replace(COLUMNS, reached=(SizeRange(32, 2000),))
    assert supported(model) == {"n": SizeRange(1, 2000 * REACH_EXACT)}
    numerical = replace(model, is_exact=False)
    assert supported(numerical) == {"n": SizeRange(32 // REACH_NUMERICAL, 2000 * REACH_NUMERICAL)}
    further = replace(numerical, reached=(SizeRange(32, 2000, factor=50),))
    assert supported(further)["n"].largest == 2000 * 50
    on_data = replace(model.kernel, on_data=True)
    ran = replace(model, kernel=on_data, looped=True, reached=(SizeRange(300, 2000),))
    assert supported(ran) == {"n": SizeRange(2, 2000 * REACH_ON_DATA)}
    straight = [replace(ran, looped=False)]
    straight.append(replace(ran, kernel=replace(on_data, coarsen=(4, 1, 1))))
    assert all(supported(one)["n"].largest == 2000 * REACH_EXACT for one in straight)
    # A number of threads tells of others, and no other integer does that never varied.
    once = replace(ran, reached=(SizeRange(300, 300),))
    assert supported(once) == {"n": SizeRange(2, 300 * REACH_ON_DATA)}
    other = replace(once, kernel=replace(on_data, guards=("m", None, None)))
    assert supported(other) == {"n": SizeRange(300, 300)}
    few = replace(once, reached=(SizeRange(31, 31),))
    assert supported(few) == {"n": SizeRange(31, 31)}
    far = replace(model, reached=(SizeRange(32, 1 << 24),))
    assert supported(far)["n"].largest == LARGEST_SIZE


def test_beyond_its_range_the_program_s_own_block_stays_and_says_so() -> None:
    model = replace(COLUMNS, is_exact=False, reached=(SizeRange(64, 2000),))
    chooser = Chooser(model, H200)
    for n, is_known in ((15, False), (16, True), (8000, True), (8001, False)):
        choice = chooser.choose({"n": n})
        assert (choice.extrapolated == {}) is is_known
        assert bool(choice.ranked) is is_known
        if not is_known:
            assert choice.block == model.kernel.original and choice.kept_original
            assert "n from 16 to 8000" in choice.reason


def test_gains_that_parts_of_launches_promise_have_to_be_larger() -> None:
    on_data = replace(COLUMNS.kernel, on_data=True)
    whole, parts = (
        band_of(replace(COLUMNS, kernel=replace(on_data, is_sampled=sampled)), H200)
        for sampled in (False, True)
    )
    assert parts.smaller > whole.smaller and parts.larger > whole.larger


def test_a_value_that_never_varied_is_the_only_one_that_is_known() -> None:
    kernel = replace(
        COLUMNS.kernel,
        fixed_arguments=(("r", 3),),
        required_arguments=((3, 3),),
        required_names=("r",),
    )
    chooser = Chooser(replace(COLUMNS, kernel=kernel), H200)
    assert chooser.choose({"n": 1000}) == chooser.choose({"n": 1000, "r": 3})
    other = chooser.choose({"n": 1000, "r": 4})
    assert other.block == kernel.original and other.extrapolated == {"r": SizeRange(3, 3)}
    assert "r = 3 only" in other.reason


#: Work that is no polynomial: what is fitted numerically, or holds for the samples alone.
WORK: dict[str, Callable[[int], int]] = {
    "log": lambda n: n * n.bit_length(),
    "padded": lambda n: n << (n - 1).bit_length(),
    "root": lambda n: n * isqrt(n),
    "power": lambda n: isqrt(n * n * n) * n.bit_length(),
    "divisors": lambda n: sum(n // i for i in range(1, n)),
    "steps": lambda n: n * (n // 48 + 1),
    "common": lambda n: sum(gcd(i, n) for i in range(1, n + 1)),
    "parts": lambda n: n * (n // 100 + 1),
    "halves": lambda n: sum(n >> i for i in range(20)),
    "bounded": lambda n: n * min(n, 100),
    "thirds": lambda n: n + n // 3 + n // 7,
    "groups": lambda n: n * (n + n // 48),
}


def test_numerical_functions_that_hold_are_not_far_off_where_they_may_be_asked() -> None:
    """What `REACH_NUMERICAL` rests on. Functions are made from samples and checks, held against
    others, then asked at so many times their sizes."""
    samples = (*LEVELS, *CHECKED[:6])
    tried, off = 0, {}
    for name, work in WORK.items():
        found = fit(("n",), [(n,) for n in samples], [work(n) for n in samples])
        if found.held_out_error > HELD_OUT_LIMIT or error(found, work, 2336) > HELD_OUT_LIMIT:
            continue
        tried += 1
        off[name] = max(error(found, work, 2336 * k) for k in range(2, REACH_NUMERICAL + 1))
    assert tried >= 4
    assert max(off.values()) < 0.25, off


def test_what_is_met_far_beyond_the_samples_is_not_far_off_as_far_again() -> None:
    met, factor = CHECKED[5], CHECKED[5] // LEVELS[-1]
    off = {}
    for name, work in WORK.items():
        found = fit(("n",), [(n,) for n in LEVELS], [work(n) for n in LEVELS])
        if max(found.held_out_error, error(found, work, met)) <= HELD_OUT_LIMIT:
            off[name] = error(found, work, met * factor)
    assert len(off) >= 3 and max(off.values()) < 0.25, off


def error(function: RationalFunction, work: Callable[[int], int], n: int) -> float:
    return abs(float(function({"n": n})) / work(n) - 1)


def test_models_say_how_far_they_were_held_out() -> None:
    assert isinstance(COLUMNS, FittedModel)
    assert COLUMNS.is_exact and COLUMNS.held_out_error == 0
    assert COLUMNS.reached[0].largest >= 2080

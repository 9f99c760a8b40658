"""What every thread executes at least: counts that are less than that choose nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cutune.model.fit.fitted_model import FittedModel
from cutune.model.measurement.measurement import LeastWork
from cutune.model.selection.chooser import Chooser
from cutune.toolchain.device.profile import DeviceProfile
from tests.support.replayed_kernels import described, fitted, measured

H200 = DeviceProfile.named("h200")


@pytest.mark.parametrize(
    ("name", "accesses"),
    [
        ("copy", 2),  # a load and a store; threads beyond n do neither
        ("columns", 1),  # a loop may have no rounds
        ("halving", 2),  # this one has at least one
    ],
)
def test_the_shortest_ways_through_the_code(name: str, accesses: int) -> None:
    least = described(name).compiled.least
    assert least.accesses == accesses
    assert 0 < least.instructions < least.of_working


def of_copy(sizes: int) -> float:
    model = fitted(*measured("copy"))
    return float(model.instructions({"n": sizes}) / model.working({"n": sizes}))


def test_a_straight_kernel_executes_no_more_than_the_least() -> None:
    assert described("copy").compiled.least.of_working == of_copy(4096) == of_copy(1 << 20)


def claiming(least: LeastWork, error: float = 0.0) -> FittedModel:
    """The model of a kernel of which every thread is said to execute so much."""
    model = fitted(*measured("copy"))
    compiled = replace(model.kernel.compiled, least=least)
    kernel = replace(model.kernel, compiled=compiled)
    return replace(model, kernel=kernel, held_out_error=error)


TRUE = described("copy").compiled.least


@pytest.mark.parametrize(
    "more",
    [replace(TRUE, of_working=TRUE.of_working + 1), replace(TRUE, accesses=TRUE.accesses + 1)],
)
def test_counts_below_the_least_choose_nothing(more: LeastWork) -> None:
    assert Chooser(claiming(TRUE), H200).choose({"n": 1 << 20}).ranked
    choice = Chooser(claiming(more), H200).choose({"n": 1 << 20})
    assert choice.is_impossible and not choice.ranked
    assert choice.block == claiming(more).kernel.original
    assert "counts do not hold at these sizes" in choice.reason


def test_counts_that_are_less_exact_may_fall_short_by_their_error() -> None:
    more = replace(TRUE, accesses=TRUE.accesses + 1)
    assert Chooser(claiming(more, error=0.5), H200).choose({"n": 1 << 20}).ranked

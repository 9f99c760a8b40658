"""What a choice is expected to lose: what unseen launches lost, and how often that holds."""

from __future__ import annotations

import pytest

from benchmarks.expected_regret import coverage, expected, read_regrets
from cutune.model.performance.constants import EXPECTED_REGRET
from cutune.model.selection.choose import KINDS, expected_regret, kind_of
from cutune.model.selection.chooser import Chooser
from cutune.toolchain.device.profile import DeviceProfile
from tests.support.replayed_kernels import fitted, measured

H200 = DeviceProfile.named("h200")


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_is_what_unseen_launches_lost(kind: str) -> None:
    assert EXPECTED_REGRET[kind] == pytest.approx(expected(read_regrets())[kind], abs=5e-4)


def test_nine_in_ten_launches_of_a_set_keep_the_bound_of_the_others() -> None:
    assert 0.85 <= coverage(read_regrets()) <= 0.95


def test_the_kind_of_a_launch() -> None:
    copy, columns = fitted(*measured("copy")), fitted(*measured("columns"))
    for model, n, kind in (
        (copy, 100, "launch-bound"),
        (copy, 1 << 26, "straight"),
        (columns, 4096, "loop"),
    ):
        choice = Chooser(model, H200).choose({"n": n})
        assert kind_of(model, choice) == kind
        assert expected_regret(model, choice) == EXPECTED_REGRET[kind]


def test_nothing_is_expected_where_nothing_is_predicted() -> None:
    columns = fitted(*measured("columns"))
    choice = Chooser(columns, H200).choose({"n": (1 << 31) - 1})
    assert not choice.ranked
    assert expected_regret(columns, choice) is None

"""A block of which nothing is known stays where there are few others: it has no prediction."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from cutune.model.performance.definitions import CYCLES_PER_WARP, TIME, TIME_WITH_FLOOR
from cutune.model.selection import choose, variants
from cutune.model.selection.choose import NO_OWN_BAND, expected_regret, select, selection_rule
from cutune.model.selection.variants import VariantChooser, Worthwhile
from cutune.toolchain.device.profile import DeviceProfile
from tests.support.replayed_kernels import fitted, measured

H200 = DeviceProfile.named("h200")
UNKNOWN = (7, 1, 1)


def test_no_regret_is_expected_of_it() -> None:
    model = fitted(*measured("copy"))
    kernel = replace(model.kernel, original=UNKNOWN)
    rule = selection_rule([(32, 1, 1), (64, 1, 1), (128, 1, 1)], True, Fraction(4), NO_OWN_BAND)
    times = np.array([80.0, 70.0, 20.0])
    values = dict.fromkeys((TIME, TIME_WITH_FLOOR, CYCLES_PER_WARP), times)
    choice = select(values, rule, (1 << 20, 1, 1), kernel)
    assert (choice.block, choice.chosen_ms, len(choice.ranked)) == (UNKNOWN, None, 3)
    assert "nothing is known of it" in choice.reason
    assert expected_regret(model, choice) is None


def test_a_variant_without_a_prediction_is_not_preferred(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(*measured("copy"))
    variant = replace(model, kernel=replace(model.kernel, original=UNKNOWN, variant="x2"))
    monkeypatch.setattr(choose, "_FEWEST", 1000)
    monkeypatch.setattr(variants, "worthwhile", lambda *_: [Worthwhile(variant, Fraction(0))])
    choice = VariantChooser(model, H200).choose({"n": 1 << 20})
    assert choice.of_variants["x2"].ranked
    assert choice.of_variants["x2"].chosen_ms is None
    assert choice.variant == ""

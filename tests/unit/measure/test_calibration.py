"""Constants from the recorded times of the micro-kernels, and how well they explain these."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from cutune.measure.calibration.fit_constants import TimedCase, beliefs, fit_constants
from cutune.measure.calibration.suite import cases
from cutune.model.performance.definitions import TIME
from cutune.model.performance.mechanistic import CONSTANTS, compose
from cutune.model.rational.program import evaluate, point
from cutune.toolchain.device.profile import DeviceProfile
from tests.recorded.calibrate_h200 import models_of_suite, recalibrate

H200 = DeviceProfile.named("h200")
KERNELS = ("empty", "copy", "plane_window", "product_loop", "chase", "fma_loop", "barrier_loop")


def test_cases_are_told_apart_by_their_names() -> None:
    names = [case.name for case in cases()]
    assert len(set(names)) == len(names)
    assert all(len(set(case.blocks)) == len(case.blocks) for case in cases())


def test_constants_by_name_give_the_same_times_as_constants_by_value() -> None:
    for case, model in models_of_suite(KERNELS):
        sizes = point({}, case.extents)
        constants = {name: float(getattr(H200.model, name)) for name in CONSTANTS}
        plain = evaluate(compose(model, H200), sizes)[TIME]
        named = evaluate(compose(model, H200, symbolic=True), {**sizes, **constants})[TIME]
        np.testing.assert_allclose(plain, named, rtol=1e-9)


def test_known_constants_are_found_again() -> None:
    true = {"dispatch_us_per_block": 0.0009, "load_cycles_per_wavefront": 1.4, "launch_us": 2.2}
    timed = []
    for case, model in models_of_suite(KERNELS):
        sizes = point({}, case.extents)
        constants = {name: float(getattr(H200.model, name)) for name in CONSTANTS}
        times = evaluate(compose(model, H200, symbolic=True), {**sizes, **constants, **true})[TIME]
        timed.append(TimedCase(case, model, tuple(map(float, times))))
    prior = beliefs(H200.compute_capability, H200.clock_ghz)
    found = fit_constants(timed, H200, prior)
    for name, value in true.items():
        assert found.constants[name] == pytest.approx(value, rel=0.1), name
    assert found.typical_error < 0.02


@pytest.mark.long
def test_the_shipped_profile_follows_from_the_recorded_times() -> None:
    profile, found = recalibrate()
    assert found.typical_error < 0.1
    for name in CONSTANTS:
        shipped: Fraction = getattr(H200.model, name)
        assert float(getattr(profile.model, name)) == pytest.approx(float(shipped), rel=0.02), name
    assert profile.limits == H200.limits
    assert profile.sm_count == H200.sm_count

"""Measurements of one workspace, read back."""

from __future__ import annotations

from dataclasses import replace

from cutune.model.measurement.measurement import by_entry
from tests.support.measured_kernel import KERNEL, LAUNCH


def test_a_launch_that_two_runs_have_counted_counts_once() -> None:
    other = replace(LAUNCH, sizes=(("n", 96),))
    stale = replace(LAUNCH, code="older")
    ((kernel, found),) = by_entry([KERNEL, KERNEL], [LAUNCH, stale, other, LAUNCH])
    assert kernel == KERNEL
    assert found == [LAUNCH, other]

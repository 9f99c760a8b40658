"""Measurements of one workspace, read back."""

from __future__ import annotations

from dataclasses import replace

from cutune.fit.measurement.measurement import COUNTS, Measurement, by_entry
from tests.support.measured_kernel import KERNEL

FIRST = Measurement(
    entry="_Z1k",
    code="code",
    purpose=COUNTS,
    source="emulation",
    sizes=(("n", 64),),
    grid=(1, 1, 1),
    block=(32, 1, 1),
    executed_blocks=2,
    working_threads=64,
    lanes=(),
    executions=(),
    sites=(),
)


def test_a_launch_that_two_runs_have_counted_counts_once() -> None:
    other = replace(FIRST, sizes=(("n", 96),))
    stale = replace(FIRST, code="older")
    ((kernel, found),) = by_entry([KERNEL, KERNEL], [FIRST, stale, other, FIRST])
    assert kernel == KERNEL
    assert found == [FIRST, other]

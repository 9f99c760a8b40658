"""Measurements of one workspace, read back."""

from __future__ import annotations

from dataclasses import replace

from cutune.measure import COUNTS, MeasuredKernel, Measurement, Origin, by_entry
from cutune.static_counters import StaticCounters

KERNEL = MeasuredKernel(
    kernel="k",
    entry="_Z1k",
    code="code",
    origin=Origin("/app.cu", "hash"),
    sites=(1,),
    parameters=("n",),
    positions=(0,),
    kept=(),
    free=(True, False, False),
    guards=("n", None, None),
    variable_extents=(False, False, False),
    original=(256, 1, 1),
    max_threads=1024,
    candidate_set="paper",
    allowed=None,
    asserted=False,
    dynamic_shared_bytes=0,
    rejected=(),
    uncertain=0,
    static=StaticCounters(32),
    recorded=(),
    code_blocks=(),
    memory=(),
)
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

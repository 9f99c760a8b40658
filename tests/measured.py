"""A kernel as `collect` describes it; tests replace what matters to them."""

from __future__ import annotations

from cutune.fit.measurement.measurement import MeasuredKernel, Origin
from cutune.toolchain.ptxas import StaticCounters

KERNEL = MeasuredKernel(
    name="k",
    entry="_Z1k",
    code="code",
    origin=Origin("/app.cu", "hash"),
    sites=(1,),
    parameters=("n",),
    positions=(0,),
    fixed_arguments=(),
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

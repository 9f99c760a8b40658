"""A kernel as `collect` describes it; tests replace what matters to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cutune.model.measurement.measurement import (
    CodeBlock,
    CompiledKernel,
    MeasuredKernel,
    Measurement,
    MemoryInstruction,
    Origin,
    Purpose,
)
from cutune.source.program import SiteKey
from cutune.toolchain.ptxas import StaticCounters

KERNEL = MeasuredKernel(
    name="k",
    entry="_Z1k",
    code="code",
    origin=Origin("/app.cu", "hash"),
    sites=(SiteKey("/app.cu", 1),),
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
    recorded=(),
    compiled=CompiledKernel(StaticCounters(32)),
)
#: A launch of it that was counted.
LAUNCH = Measurement(
    entry="_Z1k",
    code="code",
    purpose=Purpose.COUNTS,
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


def compiled(memory: Iterable[MemoryInstruction], loops: Iterable[int] = ()) -> CompiledKernel:
    """The code of a kernel with these memory instructions, and a basic block in each loop."""
    blocks = tuple(CodeBlock(loop, 1, 1, 0, 0, 0) for loop in loops)
    return replace(KERNEL.compiled, memory=tuple(memory), code_blocks=blocks)

"""Counters per warp of single launches, as the published way of fitting reads them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cutune.model.fit.published_counters import training_counters
from cutune.model.measurement.measurement import (
    CodeBlock,
    Measurement,
    MemoryInstruction,
    Purpose,
    SiteCounters,
)
from tests.support.measured_kernel import KERNEL


def site(lanes: int, traced: int, sectors: int) -> SiteCounters:
    return SiteCounters(lanes // 32, lanes, 0, traced, 0, 0, 0, 0, 0, 0, 0, 0, sectors, 0)


def test_counters_are_those_of_a_full_warp_of_working_threads() -> None:
    kernel = replace(
        KERNEL,
        compiled=replace(
            KERNEL.compiled,
            code_blocks=(CodeBlock(-1, 10, 0, 0, 0, 1), CodeBlock(0, 3, 1, 0, 0, 0)),
            memory=(
                MemoryInstruction(0, "load", 4, 0, shared=True),
                MemoryInstruction(1, "load", 4, 0, shared=False),
                MemoryInstruction(2, "store", 4, 1, shared=False),
                MemoryInstruction(3, "load", 8, 1, shared=False),
                MemoryInstruction(4, "load", 4, 1, shared=False),
            ),
        ),
    )
    # Of 64 threads 40 work. Two instructions are not coalesced; the last one was not traced.
    sites = (site(64, 2, 99), site(80, 5, 20), site(40, 2, 64), site(120, 4, 36), site(40, 0, 0))
    launch = Measurement(
        "k", "code", Purpose.TRAINING, "", (("n", 64),), (2, 1, 1), (32, 1, 1), 2, 40,
        (64, 200), (2, 7), sites,
    )  # fmt: skip
    (found,) = training_counters(kernel, [launch, replace(launch, purpose=Purpose.COUNTS)])
    assert (found.size, found.block) == (64, (32, 1, 1))
    assert found.values == pytest.approx(
        {
            "issued": (64 * 10 + 200 * 3) / 40,
            "barriers": 64 / 40,
            "memory": 2 + 1 + 3 + 1,
            "sectors": 2 * 4 + 1 * 32 + 3 * 9,
            "uncoalesced": 1 + 3,
            "scattered": 1 * 32 + 3 * 9,
        }
    )

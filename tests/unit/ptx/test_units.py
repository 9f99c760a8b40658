"""What an instruction asks of the units of a multiprocessor."""

from __future__ import annotations

import pytest

from cutune.emulator.assemble import assemble
from cutune.ptx.units import Demand

HEADER = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel()
{
    .reg .f32 %f<9>;
    .reg .f64 %d<9>;
    .reg .b32 %r<9>;
    .reg .b64 %l<9>;
"""


@pytest.mark.parametrize(
    ("instruction", "wanted"),
    [
        ("add.s32 %r1, %r2, %r3;", Demand(slots=1)),
        ("mov.u32 %r1, %r2;", Demand()),
        ("fma.rn.f64 %d1, %d2, %d3, %d4;", Demand(slots=1, double=1)),
        ("fma.rn.f32 %f1, %f2, %f3, %f4;", Demand(slots=1, single=1)),
        ("max.f32 %f1, %f2, %f3;", Demand(slots=1)),
        ("cvt.f64.f32 %d1, %f1;", Demand(slots=1, double=1)),
        ("rsqrt.approx.f32 %f1, %f2;", Demand(slots=1, special=1)),
        ("bar.sync 0;", Demand(slots=1, barriers=1)),
    ],
)
def test_plain_instructions(instruction: str, wanted: Demand) -> None:
    assert _demand(instruction) == wanted


@pytest.mark.parametrize(
    ("dear", "cheap"),
    [
        ("div.rn.f32 %f1, %f2, %f3;", "div.approx.f32 %f1, %f2, %f3;"),
        ("sqrt.rn.f32 %f1, %f2;", "sqrt.approx.f32 %f1, %f2;"),
        ("rem.s64 %l1, %l2, %l3;", "rem.s32 %r1, %r2, %r3;"),
        ("div.rn.f64 %d1, %d2, %d3;", "mul.rn.f64 %d1, %d2, %d3;"),
    ],
)
def test_routines_take_more_slots(dear: str, cheap: str) -> None:
    assert _demand(dear).slots > _demand(cheap).slots


def _demand(instruction: str) -> Demand:
    kernel = assemble(f"{HEADER}{instruction} ret;\n}}\n").kernels["kernel"]
    plain = assemble(f"{HEADER}ret;\n}}\n").kernels["kernel"].blocks[0].demand
    found = [block.demand for block in kernel.blocks]
    return Demand(
        sum(demand.slots for demand in found) - plain.slots,
        sum(demand.double for demand in found),
        sum(demand.special for demand in found),
        sum(demand.barriers for demand in found),
        single=sum(demand.single for demand in found),
    )

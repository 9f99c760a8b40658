"""Sizes that are divided by a constant, as compilers do that: by the upper half of a product."""

from __future__ import annotations

import pytest

from cutune.ptx.parse import parse
from cutune.ptx.tried_sizes import SizesOfFunctions, TriedSizes

CODE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1) {{
.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %d<9>;
ld.param.u64 %d1, [k_param_0]; cvta.to.global.u64 %d2, %d1; ld.param.u32 %r1, [k_param_1];
{}
setp.gt.s32 %p1, %r5, 3; @%p1 bra $out; st.global.u32 [%d2], 1;
$out: ret; }}
"""
BY_24 = (
    "mul.hi.s32 %r2, %r1, 715827883; shr.u32 %r3, %r2, 31; shr.s32 %r4, %r2, 2;"
    "add.s32 %r5, %r4, %r3;"
)
UNSIGNED_BY_24 = "mul.hi.u32 %r2, %r1, -1431655765; shr.u32 %r5, %r2, 4;"
#: As the product of a number above 2^31, which is below zero: the number is added again.
BY_7 = (
    "mul.hi.s32 %r2, %r1, -1840700269; add.s32 %r3, %r2, %r1; shr.u32 %r4, %r3, 31;"
    "shr.s32 %r6, %r3, 2; add.s32 %r5, %r6, %r4;"
)


@pytest.mark.parametrize("code", [BY_24, UNSIGNED_BY_24, BY_7])
def test_a_quotient_shows_where_sizes_are_large_enough(code: str) -> None:
    assert _reason(code, 400) == ""
    # A quotient of 4 has not been there.
    assert "number that is larger than any size tried" in _reason(code, 20)


@pytest.mark.parametrize(
    "code",
    [
        "mul.hi.s32 %r5, %r1, %r1;",
        "mad.hi.s32 %r5, %r1, 715827883, %r1;",
        # Of which the upper half is 0 at all sizes that were tried.
        "mul.hi.s32 %r5, %r1, 12345;",
        "mul.hi.u32 %r5, %r1, 12345;",
    ],
)
def test_other_products_are_not_known(code: str) -> None:
    assert _reason(code, 400) != ""


def _reason(code: str, most: int) -> str:
    kernel = parse(CODE.format(code)).functions["k"]
    tried = TriedSizes({1: most}, (1, 1, 1), (1, 1, 1), {})
    return SizesOfFunctions().untried([kernel], kernel, tried)

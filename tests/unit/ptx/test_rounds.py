"""How often loops go round: by steps of one length, or by others."""

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
mov.u32 %r2, 1; mov.u32 %r3, 0; mov.u32 %r4, 1;
$again: {} add.s32 %r3, %r3, 1;
setp.lt.s32 %p1, %r2, %r1; @%p1 bra $again;
setp.gt.s32 %p2, %r3, 3; @%p2 bra $out; st.global.u32 [%d2], 1;
$out: ret; }}
"""


@pytest.mark.parametrize(
    ("step", "is_uneven"),
    [
        ("add.s32 %r2, %r2, 32;", False),
        ("add.s32 %r5, %r2, 8; mov.u32 %r2, %r5;", False),
        ("mov.u32 %r5, %ntid.x; mad.lo.s32 %r2, %r5, 4, %r2;", False),
        ("shl.b32 %r2, %r2, 4;", True),
        ("mul.lo.s32 %r2, %r2, 12;", True),
        ("add.s32 %r2, %r2, %r2;", True),
        ("add.s32 %r2, %r2, %r4; mul.lo.s32 %r4, %r4, 12;", True),
        ("mad.lo.s32 %r4, %r2, 8, %r4; mad.lo.s32 %r2, %r4, 8, %r2;", True),
    ],
)
def test_few_rounds_of_a_loop_tell_nothing(step: str, is_uneven: bool) -> None:
    kernel = parse(CODE.format(step)).functions["k"]
    tried = TriedSizes({1: 400}, (1, 1, 1), (1, 1, 1), {})
    assert bool(SizesOfFunctions().untried([kernel], kernel, tried)) == is_uneven

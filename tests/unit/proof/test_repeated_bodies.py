"""What of a kernel's code is against copies whose blocks do several blocks."""

from __future__ import annotations

import pytest

from cutune.proof.variants import repeat
from cutune.ptx.parse import parse

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1) {
.shared .align 4 .b8 s[512]; .shared .align 4 .b8 u[512];
.reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %d<20>;
ld.param.u64 %d1, [k_param_0]; cvta.to.global.u64 %d2, %d1; ld.param.u32 %r1, [k_param_1];
mov.u32 %r2, %tid.x; shl.b32 %r3, %r2, 2; mov.u32 %r4, s; mov.u32 %r5, u; add.s32 %r6, %r4, %r3;
"""


@pytest.mark.parametrize(
    ("body", "is_told"),
    [
        ("st.shared.u32 [%r6], %r1; ld.shared.u32 %r7, [%r6+4];", False),
        ("mov.u64 %d3, s; cvta.shared.u64 %d4, %d3; ld.u32 %r7, [%d4];", False),
        ("setp.gt.s32 %p1, %r1, 5; selp.b32 %r8, %r4, %r5, %p1; ld.shared.u32 %r7, [%r8];", False),
        ("mad.lo.s32 %r8, %r2, 12, %r4; st.shared.u32 [%r8], %r1;", False),
        ("add.s32 %r8, %r4, 256; setp.ne.s32 %p1, %r6, %r8;", False),
        ("st.global.u32 [%d2], %r4;", True),
        ("st.shared.u32 [%r6], %r5;", True),
        ("and.b32 %r8, %r6, 127; st.global.u32 [%d2], %r8;", True),
        ("setp.lt.u32 %p1, %r4, %r5;", True),
        ("sub.s32 %r8, %r4, %r5;", True),
        ("sub.s32 %r8, %r1, %r4;", True),
        ("mad.lo.s32 %r8, %r4, %r1, %r1;", True),
        ("cvt.u16.u32 %r8, %r4;", True),
        ("setp.eq.u32 %p1, %r4, 0;", True),
    ],
)
def test_addresses_of_shared_memory_are_no_numbers(body: str, is_told: bool) -> None:
    module = parse(f"{HEAD}{body}\nret; }}\n")
    assert bool(repeat.tells_addresses(module, "k")) == is_told


def test_a_trap_tells_of_a_change() -> None:
    code = f"{HEAD}ret; }}\n"
    copy = code.replace("entry k(", "entry copy(").replace("k_param", "copy_param")
    copy = copy.partition(".visible")[2]
    for end, is_changed in (("", False), ("setp.ne.s32 %p1, %r1, 3; @%p1 trap; ", True)):
        module = parse(f"{code}.visible{copy.replace('ret;', f'{end}ret;')}")
        assert bool(repeat.changes_what_is_shared(module, "k", "copy")) == is_changed

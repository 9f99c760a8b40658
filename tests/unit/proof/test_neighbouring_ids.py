"""What code makes of the place and the thread that it is given: the id, or anything else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cutune.core.source import Source
from cutune.proof.variants.coarsen import with_indices
from cutune.proof.variants.vectors import guard_bound, reads_more_than_id
from cutune.ptx.parse import parse
from tests.support.analyzed import analyzed

_READ = """
    // begin inline asm
    mov.u32 %r1, %envreg0;
    // end inline asm
    // begin inline asm
    mov.u32 %r2, %envreg3;
    // end inline asm
    mov.u32 %r3, %ntid.x;
"""
_ID = "mad.lo.s32 %r4, %r1, %r3, %r2;"


def _entry(body: str, other: str = "") -> str:
    return f"""
.version 9.0
.target sm_90
.address_size 64
{other}
.visible .entry k(.param .u64 p)
{{
    .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>;
    ld.param.u64 %rd1, [p];
    {_READ}
    {body}
    ret;
}}
"""


def _said(body: str, other: str = "") -> str | None:
    return reads_more_than_id(parse(_entry(body, other)), "k")


@pytest.mark.parametrize(
    "body",
    [
        _ID,
        "mad.lo.s32 %r4, %r3, %r1, %r2;",
        "mul.lo.s32 %r5, %r3, %r1; add.s32 %r4, %r5, %r2;",
        "mul.wide.u32 %rd2, %r1, %r3; cvt.u64.u32 %rd3, %r2; add.s64 %rd4, %rd2, %rd3;",
        "mov.u32 %r6, %ntid.x; mad.lo.s32 %r4, %r1, %r6, %r2;",
        f"{_ID} mul.wide.s32 %rd5, %r4, 4; add.s64 %rd6, %rd1, %rd5; st.global.u32 [%rd6], %r4;",
        f"{_ID} mov.u32 %r7, %ctaid.y; mov.u32 %r8, %tid.y; add.s32 %r9, %r7, %r8;",
    ],
)
def test_the_id_is_all_that_it_makes(body: str) -> None:
    assert _said(body) is None


@pytest.mark.parametrize(
    "body",
    [
        f"{_ID} add.s32 %r5, %r2, 1;",  # the thread
        f"{_ID} st.global.u32 [%rd1], %r1;",  # the place
        f"{_ID} setp.lt.u32 %p1, %r2, %r3;",  # thread and width
        f"{_ID} mul.lo.s32 %r5, %r3, 3;",  # the width
        f"{_ID} st.global.v2.u32 [%rd1], {{%r4, %r2}};",  # the thread, in a vector
        "mul.lo.s32 %r5, %r1, %r3; st.global.u32 [%rd1], %r5;",  # where the block begins
        "mad.lo.s32 %r4, %r1, %r3, %r1;",  # another sum
        "mad.lo.s32 %r4, %r1, %r1, %r2;",  # another product
        "mul.lo.s32 %r5, %r1, %r3; sub.s32 %r4, %r5, %r2;",
        "mul.wide.s32 %rd2, %r1, %r3; cvt.u64.u32 %rd3, %r2; add.s64 %rd4, %rd2, %rd3;",  # signed
        "mul.wide.u32 %rd2, %r1, %r3; cvt.s64.s32 %rd3, %r2; add.s64 %rd4, %rd2, %rd3;",
        f"setp.ne.u64 %p1, %rd1, 0; @%p1 {_ID}",  # at times
        f"{_ID} mov.u32 %r1, 7;",  # the register has another value later
        f"mov.u32 %r4, 7; {_ID}",
        f"{_ID} mov.u32 %r5, %tid.x;",  # its own registers
        f"{_ID} mov.u32 %r5, %ctaid.x;",
        f"{_ID} mov.u32 %r5, %nctaid.x;",
        f"{_ID} add.s32 %r5, %ntid.x, 1;",
    ],
)
def test_anything_else_is_told(body: str) -> None:
    assert _said(body) is not None


@pytest.mark.parametrize("register", ["%tid.x", "%ntid.x", "%ctaid.x"])
def test_functions_that_it_calls_read_none_of_it(register: str) -> None:
    other = f".func f() {{ .reg .b32 %r<3>; mov.u32 %r1, {register}; ret; }}"
    assert _said(f"{_ID} call.uni f;", other) is not None
    assert _said(_ID, other) is None


def test_proofs_see_the_usual_registers() -> None:
    text = with_indices(_entry(_ID))
    assert "mov.u32 %r1, %ctaid.x;" in text and "mov.u32 %r2, %tid.x;" in text
    assert "%envreg" not in text


@pytest.mark.parametrize(
    ("bound", "is_plain"),
    [
        ("n", True),
        ("n * m", True),
        ("2 * n + 8", True),
        ("n - 1", True),
        ("n * m - 1000000", False),  # the product may be more than 31 bits have
        ("n - m", False),
        ("(n + 3) / 4", False),
        ("n * m * k", False),  # more than 64 bits
        ("shape.n", False),
        ("other", False),
    ],
)
def test_a_bound_is_tested_where_no_part_of_it_overflows(bound: str, is_plain: bool) -> None:
    text = "__global__ void k(int n, int m, int k, float *A) { A[n] = m; }\n"
    (kernel,) = analyzed(Source("app.cu", text)).kernels
    x, y, z = kernel.dimensions
    guarded = replace(kernel, dimensions=(replace(x, guard=bound), y, z))
    assert (guard_bound(guarded, 0) is not None) == is_plain

from __future__ import annotations

from dataclasses import replace

import pytest

from cutune.core.source import Source
from cutune.proof.compiled import ProvenCode
from cutune.proof.confirm import as_compiled
from cutune.proof.entry import prove
from cutune.ptx.parse import parse as parse_ptx
from cutune.source.program import Kernel, Program
from cutune.source.rewrite.edits import launch_edits
from cutune.source.rewrite.site_table import needed_headers, site_table
from tests.support.analyzed import analyzed

#: `to[i] = from[i]` of two pointers that FROM and TO load into %rd1 and %rd2.
PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(PARAMETERS)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<19>;
    .reg .f32 %f<3>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mul.wide.s32 %rd10, %r4, 4;
    FROM
    TO
    add.s64 %rd11, %rd1, %rd10;
    add.s64 %rd12, %rd2, %rd10;
    ld.global.f32 %f1, [%rd11];
    st.global.f32 [%rd12], %f1;
    ret;
}
"""
STRUCTURE = ".param .align 8 .b8 k_param_0[40]"
NUMBER, POINTER = ".param .u32 k_param_1", ".param .u64 k_param_1"
HEAD = "const int i = blockIdx.x * blockDim.x + threadIdx.x;"


def program_of(parameters: str, arguments: str = "f, 1") -> Program:
    text = (
        "struct Fields { float *in, *out; int n; };"
        f"__global__ void k({parameters}) {{ {HEAD} f.out[i] = f.in[i]; }}"
        f"void run(Fields f, float *p) {{ k<<<2, 32>>>({arguments}); }}"
    )
    return analyzed(Source("test.cu", text))


def proven(ptx_parameters: str, first: str, second: str, parameters: str) -> Kernel:
    text = PTX.replace("PARAMETERS", ptx_parameters).replace("FROM", first).replace("TO", second)
    (kernel,) = program_of(parameters).kernels
    proof = prove(parse_ptx(text), "k")
    assert proof.refused is None
    return as_compiled(kernel, ProvenCode({"k": (proof,)}, (80,)))


@pytest.mark.parametrize(
    ("first", "second", "inner"),
    [
        # The text says that they lie at 0 and 8.
        ("ld.param.u64 %rd1, [k_param_0];", "ld.param.u64 %rd2, [k_param_0+8];", (0, 8)),
        ("ld.param.u64 %rd1, [k_param_0+32];", "ld.param.u64 %rd2, [k_param_0+16];", (16, 32)),
        ("ld.param.v2.u64 {%rd1, %rd3}, [k_param_0+16];", "add.s64 %rd2, %rd3, 4;", (16, 24)),
        # Their addresses are in registers.
        (
            "mov.b64 %rd5, k_param_0; ld.param.u64 %rd1, [%rd5+8];",
            "add.s64 %rd6, %rd5, 16; ld.param.u64 %rd2, [%rd6+8];",
            (8, 24),
        ),
        # It does not lie in it.
        ("ld.param.u64 %rd1, [k_param_0+36];", "ld.param.u64 %rd2, [k_param_0];", None),
        (
            "mov.b64 %rd5, k_param_0; add.s64 %rd6, %rd5, -8; ld.param.u64 %rd1, [%rd6];",
            "ld.param.u64 %rd2, [k_param_0];",
            None,
        ),
        # Which of them is not known, or it is made of two.
        (
            "mov.b64 %rd5, k_param_0; add.s64 %rd6, %rd5, %rd10; ld.param.u64 %rd1, [%rd6];",
            "ld.param.u64 %rd2, [k_param_0];",
            None,
        ),
        (
            "ld.param.u64 %rd5, [k_param_0]; ld.param.u64 %rd6, [k_param_0+8];"
            "add.s64 %rd1, %rd5, %rd6;",
            "ld.param.u64 %rd2, [k_param_0];",
            None,
        ),
        (
            "ld.param.u32 %r5, [k_param_0]; cvt.u64.u32 %rd1, %r5;",
            "ld.param.u64 %rd2, [k_param_0+8];",
            None,
        ),
    ],
)
def test_what_the_code_reads(first: str, second: str, inner: tuple[int, int] | None) -> None:
    kernel = proven(f"{STRUCTURE}, {NUMBER}", first, second, "Fields f, int m")
    assert kernel.pure_dimensions == ("x",)
    assert kernel.needs_warps == (inner is None)
    assert kernel.inner_pointers == (tuple((0, place) for place in inner) if inner else ())
    assert [{*pair} for pair in kernel.may_meet] == ([{2, 3}] if inner else [])


def test_a_structure_and_a_pointer() -> None:
    second = "ld.param.u64 %rd2, [k_param_1];"
    parameters = f"{STRUCTURE}, {POINTER}"
    kernel = proven(parameters, "ld.param.u64 %rd1, [k_param_0];", second, "Fields f, float *p")
    assert kernel.inner_pointers == ((0, 0),)
    assert [{*pair} for pair in kernel.may_meet] == [{1, 2}]


@pytest.mark.parametrize("parameters", ["Fields f, int m", "Fields f, int m, int l"])
def test_parameters_that_the_text_does_not_list(parameters: str) -> None:
    first, second = "ld.param.u64 %rd1, [k_param_0];", "ld.param.u64 %rd2, [k_param_0+8];"
    kernel = proven(f"{STRUCTURE}, {NUMBER}", first, second, parameters)
    assert kernel.needs_warps == ("l" in parameters.split())


def test_more_than_a_launch_has_numbers_for() -> None:
    first, second = "ld.param.u64 %rd1, [k_param_0];", "ld.param.u64 %rd2, [k_param_0+8];"
    for count in (57, 58):
        others = "".join(f", .param .u32 k_param_{i}" for i in range(1, 1 + count))
        named = "".join(f", int m{i}" for i in range(count))
        kernel = proven(STRUCTURE + others, first, second, f"Fields f{named}")
        assert kernel.needs_warps == (count == 58)


def asked(program: Program) -> tuple[Program, str, str]:
    """A program of whose kernel two inner pointers are known: its launch, and its table."""
    kernels = tuple(
        replace(k, may_meet=((3, 2),), inner_pointers=((0, 8), (1, 16)), proven_for=(80,))
        for k in program.kernels
    )
    program = replace(program, kernels=kernels)
    (site,) = program.launches
    edits = launch_edits(site, program.kernels[0])
    return program, "".join(edit.text for edit in edits), site_table(program, [site])


def test_a_launch_asks_for_them() -> None:
    program, launch, table = asked(program_of("Fields f, int m"))
    assert "cutune_call(, cutune_members<cutune_inner<0, 8>, cutune_inner<1, 16>>())" in launch
    assert "return true && allocation_->are_apart(argument_[3], argument_[2]);" in table
    # Its decision depends on them: bits 2 and 3.
    assert "cutune_free_1, 12ull, true" in table
    assert "cutune_inner.h" in needed_headers(program, program.launches)


def test_a_repeated_launch_does_not() -> None:
    _, launch, table = asked(program_of("Fields f, int m, int l = one()"))
    assert "for (cutune_repeated cutune_1(1, cutune_members<>()," in launch
    assert "return false;" in table and "are_apart" not in table

"""Variants of kernels: their text, what keeps one from having any, and the proof of the copies."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from cutune.analysis.analyze import analyze
from cutune.analysis.session import Session
from cutune.cli.report.programs import print_programs, to_json
from cutune.core.codes import Code
from cutune.core.edits import apply_edits
from cutune.core.source import Source
from cutune.frontend.launches.copies import callee_of_variant
from cutune.frontend.launches.texts import KernelTexts
from cutune.frontend.program import DimensionProof, Impurity, Kernel, KernelVariant, Program
from cutune.frontend.syntax.parse import parse
from cutune.proof.entry import EntryDimension, EntryProof
from cutune.proof.memory.pointers import Origin, PointerAccess, PointerUses
from cutune.rewrite.pipeline import TranslationUnit
from cutune.variants.check import checked
from cutune.variants.registry import with_variants

BODY = "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) A[i] = B[i]; }"
#: How a proof names what the compiled code does: writes through A, reads through B.
ROLES = {"A": "store", "B": "load", "C": "load"}


def proof_of(kernel: Kernel) -> EntryProof:
    """A proof as of compiled code: A is written through, B and C are read."""
    accesses = {
        PointerAccess(ROLES[parameter.name], Origin(frozenset({index})))
        for index, parameter in enumerate(kernel.parameters)
        if parameter.is_pointer and parameter.name in ROLES
    }
    unknown = EntryDimension(False)
    return EntryProof(
        kernel.name,
        (8,) * len(kernel.parameters),
        (unknown, unknown, unknown),
        uses=PointerUses(None, frozenset(accesses)),
    )


def varied(text: str, name: str = "k", headers: Iterable[Source] = ()) -> Kernel:
    """The kernel with its variants, as if its compiled code did what `ROLES` say."""
    source, headers = Source("test.cu", text), tuple(headers)
    program = analyze(parse(source), headers=headers)
    known = [kernel for kernel in (*program.kernels, *program.unlaunched) if kernel.name == name]
    return with_variants(tunable(known[0]), [proof_of(known[0])], KernelTexts((source, *headers)))


def tunable(kernel: Kernel) -> Kernel:
    """The kernel as if its compiled code were proven, whatever its text says."""
    pure = DimensionProof(True, None, "n")
    return replace(
        kernel, impurity=None, dimensions=(pure, DimensionProof(False), DimensionProof(False))
    )


def variant_of(text: str, name: str = "k", headers: Iterable[Source] = ()) -> KernelVariant:
    kernel = varied(text, name, headers)
    assert len(kernel.variants) == 1, kernel.variant_reasons
    return kernel.variants[0]


def reason_of(text: str, name: str = "k") -> Impurity:
    kernel = varied(text, name)
    assert kernel.variants == ()
    ((variant, reason),) = kernel.variant_reasons
    assert variant == "restrict"
    return reason


def test_a_variant_stands_behind_its_kernel_and_keeps_the_lines() -> None:
    text = f"// one\n__global__ void k(float *A,\n    const float* B, int n)\n{BODY}\nint last;\n"
    variant = variant_of(text)
    assert variant == KernelVariant(
        "restrict", "k__restrict", variant.source, variant.edit, (0, 1), (0,)
    )
    assert apply_edits(Source("test.cu", text), [variant.edit]).text == (
        f"// one\n__global__ void k(float *A,\n    const float* B, int n)\n{BODY}"
        "\n#line 2\n"
        "__global__ void k__restrict(float *__restrict__ A__restrict,\n"
        "    const float* __restrict__ B__restrict, int n)\n"
        f"{{ float *A = A__restrict; const float* B = B__restrict;{BODY[1:]}"
        "\n#line 4\n\nint last;\n"
    )


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("k(float *A, float *B, int n)", "k__restrict(float *{} A, float *{} B, int n)"),
        ("k(float * A, float* B, int n)", "k__restrict(float * {} A, float* {} B, int n)"),
        (
            "k(float *const A, float *B, int n)",
            "k__restrict(float *const {} A, float *{} B, int n)",
        ),
        ("k(float*A, float const *B, int n)", "k__restrict(float*{} A, float const *{} B, int n)"),
        ("k(float *A, float *B, int n = 5)", "k__restrict(float *{} A, float *{} B, int n = 5)"),
        # What is restrict already stays as it is.
        (
            "k(float *A, float *__restrict__ B, int n)",
            "k__restrict(float *{} A, float *__restrict__ B, int n)",
        ),
        (
            "__launch_bounds__(256) k(float *A, float *B, int n)",
            "__launch_bounds__(256) k__restrict(float *{} A, float *{} B, int n)",
        ),
        (
            "k(unsigned long long *A, ns::vec<float, 4> *B, int n)",
            "k__restrict(unsigned long long *{} A, ns::vec<float, 4> *{} B, int n)",
        ),
        # A pointer that nothing uses says nothing.
        (
            "k(float *A, float *B, int n, float *D)",
            "k__restrict(float *{} A, float *{} B, int n, float *D)",
        ),
    ],
)
def test_heads(head: str, expected: str) -> None:
    text = f"__global__ void {head} {BODY}\n"
    shown = re.sub(r"\{\} (\w+)", r"__restrict__ \1__restrict", expected)
    assert f"__global__ void {shown} {{ " in variant_of(text).edit.text


def test_the_body_has_variables_of_the_types_that_it_had() -> None:
    head = "__global__ void k(float *const A, /* one */ const float\n*B = nullptr, int n = 1)"
    text = variant_of(f"{head} {BODY}\n").edit.text
    variables = "float *const A = A__restrict; const float *B = B__restrict;"
    assert f"int n = 1) {{ {variables}{BODY[1:]}\n" in text


@pytest.mark.parametrize(
    ("before", "behind", "head"),
    [
        ('extern "C" ', "", ""),
        ("static ", "", ""),
        ('extern "C" {\n', "}\n", ""),
        ("namespace a { namespace b {\n", "} }\n", ""),
        ("template <class T, int N> ", "", "template <class T, int N> "),
    ],
)
def test_places(before: str, behind: str, head: str) -> None:
    text = f"{before}__global__ void k(float *A, float *B, int n) {BODY}\n{behind}"
    edit = variant_of(text).edit
    assert edit.text.count("*__restrict__ ") == 2
    assert apply_edits(Source("test.cu", text), [edit]).text.endswith(f"\n{behind}")
    assert edit.text.splitlines()[2].startswith(before.splitlines()[-1] if head else "")


def test_a_pointer_that_only_the_text_uses_counts_as_written() -> None:
    body = BODY.replace("{ int", "{ D[0]; E[0]; int")
    text = f"__global__ void k(float *A, float *B, int n, float *D, const float *E) {body}\n"
    variant = variant_of(text)
    assert variant.pointers == (0, 1, 3, 4) and variant.written == (0, 3)


def test_a_pointer_that_a_macro_uses_counts() -> None:
    body = BODY.replace("B[i]", "LOAD(i) + B[i]")
    head = "#define LOAD(i) \\\n    D[i]\n__global__ void k(float *A, float *B, int n, float *D)"
    assert variant_of(f"{head} {body}\n").pointers == (0, 1, 3)


def test_a_kernel_of_a_header_has_its_variant_there() -> None:
    header = Source("kernel.h", f"__global__ void k(float *A, float *B, int n) {BODY}\n")
    text = '#include "kernel.h"\nvoid f(float *a, int n) { k<<<n / 32, 32>>>(a, a, n); }\n'
    assert variant_of(text, headers=[header]).source is header


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        ("struct S { friend __global__ void k(float *A, float *B, int n) {body} };", 271, "class"),
        ("__global__ void k(float A[], float *B, int n) {body}", 271, "'A' is not written as"),
        ("__global__ void k(float *A, float *B,\n#if 1\nint n\n#endif\n) {body}", 271, "#if"),
        ("int k__restrict;\n__global__ void k(float *A, float *B, int n) {body}", 271, "is taken"),
        (
            "template <class T> __global__ void k(T *A, T *B, int n);\n"
            "template <> __global__ void k(float *A, float *B, int n) {body}",
            271,
            "specialised",
        ),
        (
            "__global__ void k(float *__restrict__ A, float *__restrict B, int n) {body}",
            272,
            "are __restrict__",
        ),
        ("__global__ void k(float *A, float *B, int n) { __COUNTER__; {body} }", 271, "repeated"),
        ("__global__ void k(float *A, float *B, int n) { k; {body} }", 271, "repeated"),
        ("__global__ void k(float *A, float *B, int n) { __func__; {body} }", 271, "__func__"),
        (
            "#define WHO __func__\n#define NAME WHO\n"
            "__global__ void k(float *A, float *B, int n) { NAME; {body} }",
            271,
            "uses NAME",
        ),
        (
            "int f(const char *who = __builtin_FUNCTION());\n"
            "__global__ void k(float *A, float *B, int n) { f(); {body} }",
            271,
            "name of its caller",
        ),
        (
            "const int A__restrict = 1;\n__global__ void k(float *A, float *B, int n) {body}",
            271,
            "A__restrict is taken",
        ),
        ("__global__ void k(float *A, float *B, int n) { f(A - B); {body} }", 271, "subtracted"),
        (
            "__global__ void k(float *A, float *B, int n) { size_t x = (size_t)A; {body} }",
            271,
            "cast to a number",
        ),
        (
            "__global__ void k(float *A, float *B, int n)\n{\n#define X 1\n{body} }",
            271,
            "repeated",
        ),
    ],
)
def test_texts_without_a_variant(text: str, code: int, words: str) -> None:
    reason = reason_of(text.replace("{body}", BODY) + "\n")
    assert reason.code.number == f"CT{code}" and words in reason.message


def test_a_kernel_that_a_macro_makes() -> None:
    head = "__global__ void k(float *A, float *B, int n)"
    kernel = analyze(parse(Source("test.cu", f"{head} {BODY}\n"))).kernels[0]
    texts = KernelTexts((Source("test.cu", f"#define K(k) {head} {BODY}\nK(k)\n"),))
    ((_, reason),) = with_variants(kernel, [proof_of(kernel)], texts).variant_reasons
    assert reason.code is Code.VARIANT_TEXT and "made by a macro" in reason.message


def test_a_kernel_that_reads_one_pointer_needs_none() -> None:
    body = "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) B[i]; }"
    reason = reason_of(f"__global__ void k(const float *B, int n) {body}\n")
    assert reason.code is Code.VARIANT_USELESS


def test_instances_have_to_agree() -> None:
    text = f"template <class T> __global__ void k(T *A, T *B, int n) {BODY}\n"
    source = Source("test.cu", text)
    program = analyze(parse(source))
    kernel = (*program.kernels, *program.unlaunched)[0]
    good, texts = proof_of(kernel), KernelTexts((source,))
    bad = replace(good, uses=PointerUses("uses 'bar.sync'", is_order=True))
    assert with_variants(kernel, [good, good], texts).variants
    refused = with_variants(kernel, [good, bad], texts)
    assert not refused.variants
    assert refused.variant_reasons[0][1].code is Code.VARIANT_ORDER


def test_a_kernel_whose_warps_may_exchange_values_has_none() -> None:
    text = f"__global__ void k(float *A, float *B, int n) {BODY}\n"
    source = Source("test.cu", text)
    kernel = replace(analyze(parse(source)).kernels[0], needs_warps=True)
    proof = proof_of(kernel)
    reading = PointerAccess("load", Origin(frozenset({0})))
    uses = PointerUses(None, proof.uses.accesses | {reading})
    texts = KernelTexts((source,))
    assert with_variants(kernel, [proof], texts).variants
    refused = with_variants(kernel, [replace(proof, uses=uses)], texts)
    assert refused.variant_reasons[0][1].code is Code.VARIANT_ORDER


@pytest.mark.parametrize(
    ("callee", "expected"),
    [
        ("k", "k__restrict"),
        ("ns::k<4>", "ns::k__restrict<4>"),
        ("::k <float, k<2>>", "::k__restrict <float, k<2>>"),
        ("(k)", None),
        ("other", None),
        ("kk", None),
    ],
)
def test_callees(callee: str, expected: str | None) -> None:
    text = f"__global__ void k(float *A, float *B, int n) {BODY}\n"
    assert callee_of_variant(callee, "k", variant_of(text)) == expected


# With a compiler.

PROGRAM = """\
namespace ns {
template <class T, int N>
__global__ void __launch_bounds__(256) axpy(int n, T a, const T* x, T *const y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i] * N;
}
}
__global__ void gemm(int n, float *A, float *B, float *C)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n)
        for (int k = 0; k < n; k++) C[j * n + i] += A[j * n + k] * B[k * n + i];
}
struct Grid { int nx, ny; };
__global__ void columns(Grid grid, float *A, float *B)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < grid.nx)
        for (int j = 0; j < grid.ny; j++) A[j * grid.nx + i] = B[j * grid.nx + i];
}
__global__ void strided(int n, float *A, float *B)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        A[i] = B[i];
}
int main()
{
    float *a, *b;
    int n = 16;
    cudaMalloc(&a, 4096);
    cudaMalloc(&b, 4096);
    ns::axpy<float, 3><<<(n + 31) / 32, 32>>>(n, 2.f, a, b);
    ns::axpy<float, 4><<<(n + 31) / 32, 32>>>(n, 2.f, a, b);
    gemm<<<dim3((n + 31) / 32, (n + 7) / 8), dim3(32, 8)>>>(n, a, a, b);
    columns<<<(n + 31) / 32, 32>>>(Grid{n, n}, a, b);
    strided<<<8, 32>>>(n, a, b);
}
"""
#: The copy of the first is launched above its definition, that of the last means another name.
TROUBLED = """\
__global__ void early(int n, float *A, float *B);
void run(int n, float *a, float *b) { early<<<(n + 31) / 32, 32>>>(n, a, b); }
__global__ void early(int n, float *A, float *B)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) A[i] = B[i];
}
__global__ void good(int n, float *A, float *B)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) A[i] = 2 * B[i];
}
#define JOIN(one, other) one##other
enum { JOIN(A__, restrict) };
__global__ void told(int n, float *A, float *B)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) A[i + sizeof(JOIN(A__, restrict)) / 8 * threadIdx.x] = B[i];
}
int main()
{
    int n = 16;
    run(n, 0, 0);
    good<<<(n + 31) / 32, 32>>>(n, 0, 0);
    told<<<(n + 31) / 32, 32>>>(n, 0, 0);
}
"""


def loaded(folder: Path, text: str) -> tuple[Session, Program]:
    path = folder / "program.cu"
    path.write_text(text)
    session = Session()
    return session, session.load(str(path), require_nvcc=True)


@pytest.mark.nvcc
def test_all_variants_of_a_program_are_proven_at_once(tmp_path: Path) -> None:
    session, program = loaded(tmp_path, PROGRAM)
    runs = []

    def compile_unit(unit: TranslationUnit) -> list[str]:
        runs.append(unit)
        return session.compiled_unit(unit)

    after = checked(program, compile_unit)
    assert [kernel.variants for kernel in after.kernels] == [k.variants for k in program.kernels]
    assert all(len(kernel.variants) == 1 for kernel in after.kernels) and len(runs) == 1
    text = runs[0].rewritten().text
    assert "ns::axpy__restrict<float, 3><<<(n + 31) / 32, 32>>>(n, 2.f, a, b);" in text
    (kernel,) = (k for k in to_json([after])["kernels"] if k["kernel"] == "gemm")  # type: ignore[attr-defined]
    (variant,) = kernel["variants"]
    assert variant["pointers"] == ["A", "B", "C"] and variant["written"] == ["C"]


@pytest.mark.nvcc
def test_a_copy_that_is_not_proven_is_dropped_alone(tmp_path: Path) -> None:
    session, program = loaded(tmp_path, TROUBLED)
    assert [len(kernel.variants) for kernel in program.kernels] == [1, 1, 1]
    after = {k.name: k for k in checked(program, session.compiled_unit).kernels}
    assert len(after["good"].variants) == 1 and not after["good"].variant_reasons
    for name, words in (("early", "does not compile"), ("told", "is not proven in x")):
        assert not after[name].variants
        ((_, reason),) = after[name].variant_reasons
        assert reason.code is Code.VARIANT_UNPROVEN and words in reason.message


@pytest.mark.nvcc
def test_a_kernel_of_a_header_has_a_variant_where_it_is_launched_there(tmp_path: Path) -> None:
    kernel = PROGRAM[PROGRAM.index("__global__ void gemm") : PROGRAM.index("struct Grid")]
    (tmp_path / "gemm.cuh").write_text(kernel)
    launch = "int main() { gemm<<<dim3(1, 1), dim3(32, 8)>>>(16, 0, 0, 0); }\n"
    _, program = loaded(tmp_path, f'#include "gemm.cuh"\n{launch}')
    ((_, reason),) = program.kernels[0].variant_reasons
    assert (program.kernels[0].variants, reason.code) == ((), Code.VARIANT_HEADER)
    # A header with a launch is rewritten anyway.
    (tmp_path / "gemm.cuh").write_text(f"{kernel}{launch.replace('int main', 'void start')}")
    session, program = loaded(tmp_path, '#include "gemm.cuh"\nint main() { start(); }\n')
    after = checked(program, session.compiled_unit)
    assert [len(kernel.variants) for kernel in after.kernels] == [1]


MADE_BY_A_MACRO = """\
#define KERNEL(name) __global__ void name(int n, float *A, float *B) \\
    { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) A[i] = B[i]; }
KERNEL(made)
typedef float *pointer;
__global__ void hidden(int n, pointer A, float *B)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) A[i] = B[i];
}
__global__ void plain(int n, float *A, float *B)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) A[i] = B[i];
}
int main()
{
    made<<<1, 32>>>(16, 0, 0);
    hidden<<<1, 32>>>(16, 0, 0);
    plain<<<1, 32>>>(16, 0, 0);
}
"""


@pytest.mark.nvcc
def test_inspect_names_variants_and_reasons(tmp_path: Path) -> None:
    _, program = loaded(tmp_path, MADE_BY_A_MACRO)
    console = Console(file=io.StringIO(), width=80)
    print_programs([program], console)
    shown = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert "plain: variant restrict" in shown
    made, hidden = (
        next(line for line in shown if line.startswith(f"{name} has no variant 'restrict'"))
        for name in ("made", "hidden")
    )
    assert "made by a macro" in made and made.endswith("[CT271]")
    assert "no pointer parameter" in hidden and hidden.endswith("[CT270]")

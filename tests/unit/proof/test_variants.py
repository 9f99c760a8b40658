"""Variants of kernels: their text, what keeps one from having any, and the proof of the copies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from cutune.core.codes import Code
from cutune.core.source import Source, apply_edits
from cutune.proof.entry_proof import EntryDimension, EntryProof
from cutune.proof.memory.pointers import PointerAccess, PointerOrigin, PointerUses
from cutune.proof.variants import registry
from cutune.proof.variants.text import KernelText
from cutune.source.kernel_variant import KernelVariant
from cutune.source.launches.callees import callee_named
from cutune.source.program import (
    DimensionProof,
    Impurity,
    Kernel,
)
from cutune.source.unit.kernel_texts import KernelTexts
from tests.support.analyzed import analyzed

BODY = "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) A[i] = B[i]; }"
#: How a proof names what the compiled code does: writes through A, reads through B.
ROLES = {"A": "store", "B": "load", "C": "load"}


def proof_of(kernel: Kernel) -> EntryProof:
    """A proof as of compiled code: A is written through, B and C are read."""
    accesses = {
        PointerAccess(ROLES[parameter.name], PointerOrigin(frozenset({index})))
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
    program = analyzed(source, headers)
    known = [kernel for kernel in (*program.kernels, *program.unlaunched) if kernel.name == name]
    kernels, proofs = map(tunable, known), [proof_of(kernel) for kernel in known]
    return registry.varied(kernels, {name: proofs}, KernelTexts((source, *headers)))[0]


def varied_by(kernel: Kernel, proofs: Sequence[EntryProof], texts: KernelTexts) -> Kernel:
    """The kernel with its variants, of which these are the proofs."""
    return registry.varied([kernel], {kernel.name: proofs}, texts)[0]


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
    return dict(kernel.variant_reasons)["restrict"]


def test_a_variant_stands_behind_its_kernel_and_keeps_the_lines() -> None:
    text = f"// one\n__global__ void k(float *A,\n    const float* B, int n)\n{BODY}\nint last;\n"
    variant = variant_of(text)
    assert variant == KernelVariant(
        "restrict", "k__restrict", variant.source, variant.edit, "restrict", (0, 1), (0,)
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
        ("__global__ void k(float *A, float *B, int n) { static int s; {body} }", 271, "static"),
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
            "int f(int line = __builtin_LINE());\n"
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


@pytest.mark.parametrize(
    "head",
    [
        "namespace [[deprecated]] a",
        'namespace __attribute__((visibility("hidden"))) a',
        "namespace a __attribute__((unused))",
        "inline namespace a",
    ],
)
def test_a_namespace_with_attributes_is_no_class(head: str) -> None:
    kernel = varied(f"{head} {{ __global__ void k(float *A, float *B, int n) {BODY} }}\n")
    assert kernel.scope == ("a",) and [one.name for one in kernel.variants] == ["restrict"]


def test_a_namespace_that_a_macro_is_given_is_not_repeated() -> None:
    kernel = f"namespace a {{ __global__ void k(float *A, float *B, int n) {BODY} }}"
    reason = reason_of(f"#define TEXT(...) __VA_ARGS__\nTEXT({kernel})\n")
    assert reason.code is Code.VARIANT_TEXT and "repeated" in reason.message


def test_a_kernel_that_a_macro_makes() -> None:
    head = "__global__ void k(float *A, float *B, int n)"
    kernel = analyzed(Source("test.cu", f"{head} {BODY}\n")).kernels[0]
    texts = KernelTexts((Source("test.cu", f"#define K(k) {head} {BODY}\nK(k)\n"),))
    found = varied_by(kernel, [proof_of(kernel)], texts)
    reason = dict(found.variant_reasons)["restrict"]
    assert reason.code is Code.VARIANT_TEXT and "made by a macro" in reason.message


def test_a_kernel_that_reads_one_pointer_needs_none() -> None:
    body = "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) B[i]; }"
    reason = reason_of(f"__global__ void k(const float *B, int n) {body}\n")
    assert reason.code is Code.VARIANT_USELESS


def test_instances_have_to_agree() -> None:
    text = f"template <class T> __global__ void k(T *A, T *B, int n) {BODY}\n"
    source = Source("test.cu", f"{text}template __global__ void k(float *, float *, int);\n")
    program = analyzed(source)
    kernel = (*program.kernels, *program.unlaunched)[0]
    good, texts = proof_of(kernel), KernelTexts((source,))
    bad = replace(good, uses=PointerUses("uses 'bar.sync'", is_order=True))
    assert varied_by(kernel, [good, good], texts).variants
    refused = varied_by(kernel, [good, bad], texts)
    assert not refused.variants
    assert refused.variant_reasons[0][1].code is Code.VARIANT_ORDER


def test_a_kernel_whose_warps_may_exchange_values_has_none() -> None:
    text = f"__global__ void k(float *A, float *B, int n) {BODY}\n"
    source = Source("test.cu", text)
    kernel = replace(analyzed(source).kernels[0], needs_warps=True)
    proof = proof_of(kernel)
    reading = PointerAccess("load", PointerOrigin(frozenset({0})))
    uses = PointerUses(None, proof.uses.accesses | {reading})
    texts = KernelTexts((source,))
    assert varied_by(kernel, [proof], texts).variants
    refused = varied_by(kernel, [replace(proof, uses=uses)], texts)
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
    assert callee_named(callee, "k", variant_of(text).kernel) == expected


def test_a_selector_takes_what_its_kernel_takes() -> None:
    head = "template <class T, int K = 2>\n__global__ void k"
    kernel = varied(f"{head}(T *A, // written\n const float *B, int n = 4) {BODY}\n")
    assert kernel.selector is not None
    taken = "(T *A, const float *B, int n)"
    assert kernel.selector[1].text == (
        f" template <class T, int K = 2> auto cutune_which_k{taken} -> void (*){taken};"
    )
    assert kernel.selector[1].span == kernel.variants[0].edit.span


@pytest.mark.parametrize("parameter", ["int &n", "auto n", "T... n", "int n /* cutune_which_k */"])
def test_there_is_no_selector_where_it_does_not_say_what_is_called(parameter: str) -> None:
    kernel = varied(f"__global__ void k(float *A, const float *B, {parameter}) {BODY}\n")
    assert kernel.selector is None


def test_kernels_of_one_name_have_the_variants_that_all_have() -> None:
    first = f"__global__ void k(float *A, const float *B, int n) {BODY}\n"
    second = "__global__ void k(double *A, const double *B, int n)"
    both = varied(f"{first}namespace s {{ {second} {BODY} }}\n")
    assert [one.name for one in both.variants] == ["restrict"]
    assert both.variants[0].edit.span.start == len(first) - 1
    known = second.replace("*", "*__restrict__ ")
    lacking = varied(f"{first}namespace s {{ {known} {BODY} }}\n")
    assert lacking.variants == () and lacking.selector is None
    assert dict(lacking.variant_reasons)["restrict"].code is Code.VARIANT_USELESS


@pytest.mark.parametrize(
    ("body", "tells"),
    [
        ("auto f = [=](int a) { return a + blockIdx.x; }; A[f(0)] = f(1);", False),
        ("A[i] = [&] { return blockIdx.x; }();", False),
        ("[[maybe_unused]] int j = 0; { A[i] = blockIdx.x; }", False),
        ("auto f = [=] { return i; }; A[i] = sizeof(f) + blockIdx.x;", False),
        ("auto f = [=] { return blockIdx.x; }; A[i] = sizeof(f);", True),
        ("auto f = [=] { return blockIdx.x; }; A[i] = sizeof f + f();", True),
        (
            "auto f = [=] { return blockIdx.x; }; auto g = [=] { return f(); }; A[i] = sizeof(g);",
            True,
        ),
        ("auto f = [=] { return blockIdx.x; }; auto g = f; A[i] = g();", True),
        ("A[i] = call([=] { return blockIdx.x; });", True),
        ("auto f = [=] { return PLACE; }; A[i] = SIZE; f();", True),
    ],
)
def test_lambdas_that_hold_an_index_may_tell_a_copy(body: str, tells: bool) -> None:
    macros = "#define PLACE blockIdx.x\n#define SIZE sizeof(f)\n"
    head = f"{macros}__global__ void k(float *A, int i) {{ {body} }}\n"
    source = Source("test.cu", head)
    text = KernelText(analyzed(source).kernels[0], KernelTexts((source,)))
    assert text.lets_lambdas_tell(["blockIdx"]) == tells

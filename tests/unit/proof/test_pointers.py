"""Through which pointers compiled kernels access memory: those that are known, and others."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from cutune.proof.compiled import prove_entries
from cutune.proof.memory.pointers import NotReached, Reached, reached
from cutune.toolchain.nvcc import find_nvcc

pytestmark = pytest.mark.nvcc

HEAD = """
#define I int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n)
typedef float *typedefed;
struct Structure { float *p; long n; };
__device__ float table[64];
__device__ int counter;
__constant__ float constants[64];
__device__ __noinline__ void put(float *p, int i) { p[i] = i; }
__device__ float halved(const float *p, int i) { return p[i] / 2; }
"""
#: Parameters and body, then the pointers that are accessed, and those written through.
LEGAL = {
    "scale": ("float *a, const float *b, int n", "I a[i] = 2 * b[i];", "ab", "a"),
    "gemm": (
        "int n, float *a, float *b, float *c",
        "int j = blockIdx.y; I for (int k = 0; k < n; k++) c[j*n + i] += a[j*n + k] * b[k*n + i];",
        "abc",
        "c",
    ),
    "atax_column": (
        "int n, int m, float *a, float *x, float *y",
        "I for (int k = 0; k < m; k++) y[i] += a[k * n + i] * x[k];",
        "axy",
        "y",
    ),
    "stencil": (
        "float *a, const float *b, int n",
        "I if (i > 0 && i < n - 1) a[i] = b[i - 1] + b[i] + b[i + 1];",
        "ab",
        "a",
    ),
    "in_place": ("float *a, int n", "I a[i] *= 2;", "a", "a"),
    "histogram": ("int *h, const int *x, int n", "I atomicAdd(&h[x[i]], 1);", "hx", "h"),
    "largest": ("int *h, const int *x, int n", "I atomicMax(h, x[i]);", "hx", "h"),
    "constant": ("float *a, int n", "I a[i] = constants[i & 63];", "a", "a"),
    "library_table": ("float *a, const float *b, int n", "I a[i] = sinf(b[i]);", "ab", "a"),
    "local_memory": (
        "float *a, const float *b, int n",
        "I { float v[40]; for (int k = 0; k < n; k++) v[k % 40] = b[k]; a[i] = v[i % 40]; }",
        "ab",
        "a",
    ),
    "offset": ("char *a, const char *b, long n, long far", "I a[i + far] = b[i];", "ab", "a"),
    "inlined": ("float *a, const float *b, int n", "I a[i] = halved(b, i);", "ab", "a"),
    "read_only": ("float *a, const float *b, int n", "I a[i] = __ldg(b + i);", "ab", "a"),
    "rows": (
        "const int *r, float *b, int n",
        "I for (int k = r[i]; k < r[i + 1]; k++) b[i] += k;",
        "br",
        "b",
    ),
    "linked_list": (
        "const int *next, float *b, int n",
        "I for (int k = i; k >= 0; k = next[k]) b[i] += k;",
        "b next",
        "b",
    ),
    "two_lists": (
        "const int *next, const int *last, float *b, int n",
        "I for (int k = i, j = i; k >= 0 && j >= 0; k = next[j], j = last[k]) b[i] += k + j;",
        "b last next",
        "b",
    ),
    "end_of_array": (
        "float *a, const float *b, int n, int m",
        "I { float s = 0; for (const float *p = b + i; p < b + m; p++) s += *p; a[i] = s; }",
        "ab",
        "a",
    ),
    "vectors": ("float4 *a, const float4 *b, int n", "I a[i] = b[i];", "ab", "a"),
}
#: Parameters and body, then a part of the reason.
ILLEGAL = {
    "loaded_pointer": (
        "float **a, float *b, int n",
        "I a[i][0] = b[i];",
        "is no pointer parameter",
    ),
    "in_structure": ("Structure s, float *b, int n", "I s.p[i] = b[i];", "is no pointer parameter"),
    "by_typedef": ("typedefed a, float *b, int n", "I a[i] = b[i];", "is no pointer parameter"),
    "difference": ("float *a, float *b, int n", "I a[i] = (float)(b - a);", "compares or stores"),
    "swapped": (
        "float *a, float *b, int n, int m",
        "I for (int k = 0; k < m; k++) { a[i] = b[i] * 2; float *t = a; a = b; b = t; }",
        "made of 'a', 'b'",
    ),
    "selected": (
        "float *a, float *b, int n, int c",
        "float *p = c ? a : b; I p[i] = 1;",
        "made of 'a', 'b'",
    ),
    "device_array": ("float *a, int n", "I a[i] = table[i & 63];", "accesses the variable 'table'"),
    "device_counter": ("float *a, int n", "I { a[i] = 1; atomicAdd(&counter, 1); }", "'counter'"),
    "volatile": ("volatile float *a, float *b, int n", "I a[i] = b[i];", "volatile"),
    "called": ("float *a, int n", "I { put(a, i); a[i + n] = 1; }", "calls a function"),
    "printed": ("float *a, int n", 'I printf("%f", a[i]);', "calls a function"),
    "spinning": ("int *flag, float *b, int n", "I while (flag[0] == 0) b[i] += 1;", "may wait"),
    "spinning_of_own": (
        "int *flag, float *b, int n",
        "I while (flag[i] != b[0]) b[i] += 1;",
        "may wait",
    ),
    "spinning_for_long": (
        "int *flag, float *b, int n",
        "I { int t = 0, f = flag[0]; while (f == 0 & t < n) { b[i] += 1; t++; f = flag[0]; } }",
        "may wait",
    ),
    "spinning_or_leaving": (
        "int *flag, float *b, int n",
        "I for (;;) { b[i] += 1; if (flag[0]) return; }",
        "may wait",
    ),
    "stored": ("float **a, float *b, int n", "I a[i] = b + i;", "compares or stores"),
    "in_local_array": (
        "float *a, float *b, int n, int c",
        "float *both[2] = {a, b}; I both[c & 1][i] = 3;",
        "compares or stores",
    ),
    "asked_for_null": ("float *a, float *b, int n", "I a[i] = b ? b[i] : 0;", "compares or stores"),
    "alignment": (
        "float *a, float *b, int n",
        "I a[i] = (unsigned long)b & 15 ? b[i] : 0;",
        "compares or stores",
    ),
    "at_an_index": (
        "float *const __grid_constant__ a, float *b, int n",
        "I { float *const *p = &a + n; *(long *)b = (long)*p; }",
        "compares or stores",
    ),
    "as_number": ("long *a, float *b, int n", "I a[i] = (long)b * 3;", "compares or stores"),
    "atomic_and_read": (
        "int *a, const int *b, int n",
        "I if (a[b[i]] < 3) atomicAdd(&a[b[i]], 1);",
        "by atomic operations",
    ),
    "atomic_result": ("int *a, int *b, int n", "I b[atomicAdd(a, 1)] = i;", "uses the result"),
    "lock": (
        "int *a, int *b, int n",
        "I { while (atomicCAS(a, 0, 1)); b[0] += i; atomicExch(a, 0); }",
        "uses",
    ),
    "released": ("int *a, int *b, int n", "I { b[i] = 1; atomicExch(a, 1); }", "atom"),
    "fence": ("int *a, int *b, int n", "I { a[i] = 1; __threadfence(); b[i] = 2; }", "uses"),
    "barrier": (
        "float *a, float *b, int n",
        "int i = threadIdx.x; a[i] = 1; __syncthreads(); b[i] = a[i ^ 1];",
        "'bar.sync'",
    ),
    "shuffled": (
        "float *a, float *b, int n",
        "int i = threadIdx.x; a[i] = __shfl_xor_sync(~0u, b[i], 1);",
        "'shfl",
    ),
    "shared": (
        "float *a, float *b, int n",
        "__shared__ float s[32]; int i = threadIdx.x; s[i ^ 1] = b[i]; a[i] = s[i];",
        "shared memory",
    ),
    "texture": (
        "cudaTextureObject_t t, float *a, int n",
        "I a[i] = tex1Dfetch<float>(t, i);",
        "'tex",
    ),
    "assembly": (
        "float *a, float *b, int n",
        'I { asm volatile("st.global.cg.f32 [%0], %1;" :: "l"(a + i), "f"(b[i])); }',
        "inline assembly",
    ),
    "assembly_of_an_address": (
        "float *a, float *b, int n",
        'I { float *p; asm("mov.u64 %0, %1;" : "=l"(p) : "l"(b)); p[i] = a[i]; }',
        "made of 'b'",
    ),
    "spinning_for_turns": (
        "int *flag, float *b, int n",
        "I for (int k = 0; k < 9 - flag[0]; k = (k & 7) + 1) b[i] += k;",
        "may wait",
    ),
    "spinning_on_either": (
        "int *flag, float *b, int n",
        "I for (int k = 0; flag[k] == 0; k ^= 1) b[i] += 1;",
        "may wait",
    ),
    "clock": ("long long *a, int n", "I a[i] = clock64();", "reads '%clock64'"),
    "heap": ("float *a, int n", "I { float *p = new float[n]; a[i] = p[0]; delete[] p; }", "calls"),
}


def names_of(parameters: str) -> dict[int, str]:
    """The positions of the parameters that are written as pointers."""
    written = enumerate(parameters.split(","))
    return {index: re.findall(r"\w+", text)[-1] for index, text in written if "*" in text}


@pytest.fixture(scope="module", params=["80", "90"])
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Reached | NotReached]:
    """What is said of each kernel: all are compiled at once."""
    path = tmp_path_factory.mktemp("pointers") / "kernels.cu"
    heads = {name: case[:2] for name, case in {**LEGAL, **ILLEGAL}.items()}
    kernels = (f"__global__ void k_{n}({p}) {{ {body} }}\n" for n, (p, body) in heads.items())
    path.write_text("#include <cstdio>\n" + HEAD + "".join(kernels))
    compiled = prove_entries([find_nvcc().ptx(path, [], request.param)], lambda entry: True)
    result: dict[str, Reached | NotReached] = {}
    for name, (parameters, _) in heads.items():
        (proof,) = compiled.proofs[f"k_{name}"]
        try:
            result[name] = reached(proof.uses, names_of(parameters))
        except NotReached as error:
            result[name] = error
    return result


@pytest.mark.parametrize("name", LEGAL)
def test_each_access_goes_through_one_pointer(
    name: str, found: Mapping[str, Reached | NotReached]
) -> None:
    parameters, _, pointers, written = LEGAL[name]
    known, names = found[name], names_of(parameters)
    assert isinstance(known, Reached), known
    expected = pointers.split() if " " in pointers else [*pointers]
    assert sorted(names[index] for index in known.pointers) == sorted(expected)
    assert sorted(names[index] for index in known.written) == [*written]


@pytest.mark.parametrize("name", ILLEGAL)
def test_others_are_refused(name: str, found: Mapping[str, Reached | NotReached]) -> None:
    known = found[name]
    assert isinstance(known, NotReached) and ILLEGAL[name][2] in known.what, known


def test_what_is_read_and_written(found: Mapping[str, Reached | NotReached]) -> None:
    gemm, scale = found["gemm"], found["scale"]
    assert isinstance(gemm, Reached) and gemm.changed == {3}
    assert isinstance(scale, Reached) and not scale.changed


def test_what_instances_read_and_write_is_joined() -> None:
    first = Reached(frozenset({0, 1}), frozenset({0}), frozenset({0}))
    second = Reached(frozenset({1, 2}), frozenset({1, 2}), frozenset({2}))
    assert first.joined(second) == Reached(
        frozenset({0, 1, 2}), frozenset({0, 1, 2}), frozenset({0, 2})
    )


#: Each with the pointer in %rd1, which memory is written through.
PTX = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 kernel_param_0)
{{
.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<9>; ld.param.u64 %rd1, [kernel_param_0];
st.global.u32 [%rd1], 1; {} $end: ret;
}}
"""


@pytest.mark.parametrize(
    "body",
    [
        "st.global.u64 [%rd1], %rd1;",
        # Its halves.
        "mov.b64 {%r1, %r2}, %rd1; setp.lt.u32 %p1, %r1, %r2; @%p1 bra $end;",
        "mov.b64 {%r1, %r2}, %rd1; setp.eq.u32 %p1, %r1, %r2; @%p1 bra $end;",
        "mov.b64 %rd2, kernel_param_0; st.global.u64 [%rd1], %rd2;",
        "mov.b64 %rd2, kernel_param_0; ld.param.u64 %rd3, [%rd2]; st.global.u64 [%rd1], %rd3;",
        "mov.b64 %rd2, kernel_param_0; add.s64 %rd3, %rd2, 4; ld.param.u32 %r1, [%rd3];"
        " and.b32 %r2, %r1, 15; setp.eq.u32 %p1, %r2, 0; @%p1 bra $end;",
    ],
)
def test_where_pointers_leak(body: str) -> None:
    compiled = prove_entries([PTX.format(body)], lambda entry: True)
    with pytest.raises(NotReached, match=r"^compares or stores the pointer 'a'$"):
        reached(compiled.proofs["kernel"][0].uses, {0: "a"})

"""Verdicts on compiled code for what C++ does unseen: the text of a kernel does not show it.

Each case is what stands before a kernel, and the kernel's body.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.proof.entry import prove
from cutune.ptx.types import Module
from tests.support.proof_verdicts import described, module_of

pytestmark = pytest.mark.nvcc

NAMES = {"2:0:b32": "n", "3:0:b32": "m", "4:0:b32": "u", "5:0:b64": "s", "2:0:u8": "byte"}
PARAMETERS = "float *a, float *b, int n, int m, unsigned u, size_t s"
INCLUDES = """
#include <cassert>
#include <cooperative_groups.h>
#include <type_traits>
#include <utility>
"""
ID = "blockIdx.x * blockDim.x + threadIdx.x"
STORE = "if (i < n) a[i] = 1;"
#: Each body begins with `int i = ID;`.
CASES: Mapping[str, tuple[str, str]] = {
    # Constructors, destructors, initialisers of members.
    "constructor": ("struct S { int v; __device__ S(int x) : v(x) {} };", "S t(n); a[i] = t.v;"),
    "constructor_waits": (
        "struct S { int v; __device__ S(int x) { v = __syncthreads_count(x); } };",
        "S t(i); a[i] = t.v;",
    ),
    "initialiser_waits": (
        "struct S { int v; __device__ S(int x) : v(__syncthreads_count(x)) {} };",
        "S t(i); a[i] = t.v;",
    ),
    "constructor_counts": (
        "struct S { __device__ S(int *c) { atomicAdd(c, 1); } };",
        "S t((int *)b); a[i] = 1;",
    ),
    "constructor_takes_a_number": (
        "struct S { int v; __device__ S(int *c) { v = atomicAdd(c, 1); } };",
        "S t((int *)b); a[i] = t.v;",
    ),
    "constructor_locks": (
        "struct S { __device__ S(int *p) { while (atomicCAS(p, 0, 1)) {} } };",
        "S t((int *)b); a[i] = 1;",
    ),
    "constructor_writes": (
        "struct S { __device__ S(float *p, int k) { p[k] = 1; } };",
        f"S t(b, i); {STORE}",
    ),
    "constructor_reads_shared": (
        "__shared__ float one; struct S { float x; __device__ S(float y) : x(y + one) {} };",
        "if (u) one = b[i]; S t(3.0f); a[i] = t.x;",
    ),
    "constructor_asks_the_clock": (
        "struct S { long v; __device__ S() { v = clock64(); } };",
        "S t; a[i] = t.v;",
    ),
    "constructor_asks_the_group": (
        "struct S { int v; __device__ S()"
        " { v = cooperative_groups::this_thread_block().thread_rank(); } };",
        "S t; a[i] = t.v;",
    ),
    "member_is_the_clock": ("struct S { long v = clock64(); };", "S t; a[i] = t.v;"),
    "member_is_raw": ("struct S { int v = threadIdx.x; };", "S t; a[i] = t.v;"),
    "member_is_raw_by_a_call": (
        "__device__ int who() { return threadIdx.x; } struct S { int v{who()}; };",
        "S t; a[i] = t.v;",
    ),
    "member_is_the_mask": (
        "__device__ float mine(); __device__ float mine() { return __activemask(); }"
        "struct S { float x = mine(); };",
        "S t; a[i] = t.x;",
    ),
    "destructor_waits": ("struct S { __device__ ~S() { __syncthreads(); } };", "S t; a[i] = 1;"),
    "destructor_writes": (
        "struct S { float *p; __device__ ~S() { *p = 1; } };",
        f"S t; t.p = b + i; {STORE}",
    ),
    "objects_of_the_host": (
        "struct S { void *p; S() { p = malloc(4); } ~S() { free(p); } };",
        STORE,
    ),
    # Operators.
    "greater_is_raw": (
        "struct S {}; __device__ bool operator>(S, int) { return threadIdx.x > 3; }",
        "if (i < n && S() > n) a[i] = 1;",
    ),
    "shift_is_raw": (
        "struct S { int v; __device__ void operator>>=(int k) { v = threadIdx.x >> k; } };",
        "S t; t >>= 1; if (i < n) a[i] = t.v;",
    ),
    "template_greater_is_raw": (
        "struct S {}; template <class T> __device__ bool operator>=(S, T)"
        " { return threadIdx.x > 3; }",
        "if (i < n && S() >= n) a[i] = 1;",
    ),
    "call_is_raw": (
        "struct S { __device__ int operator()() const { return threadIdx.x; } };",
        "S t; a[i] = t();",
    ),
    "unused_operator_is_raw": (
        "struct S { float x; __device__ S operator+(S o) { x = threadIdx.x; return o; } };",
        STORE,
    ),
    "minus": (
        "struct S { float x; __device__ S operator-() const { S r; r.x = -x; return r; } };",
        "S t; t.x = 2; t = -t; if (i < n) a[i] = t.x;",
    ),
    "vectors": (
        "__device__ float2 operator+(const float2 &p, const float2 &q)"
        " { return make_float2(p.x + q.x, p.y + q.y); }",
        "float2 v = make_float2(n, m); v = v + v; if (i < n) a[i] = v.x;",
    ),
    "sum_by_shuffle": (
        "struct S { float v; __device__ S &operator+=(float x)"
        " { v += __shfl_xor_sync(~0u, x, 1); return *this; } };",
        "S t; t.v = b[i]; t += b[i]; a[i] = t.v;",
    ),
    "conversion_votes": (
        "struct S { unsigned v; __device__ operator unsigned() const"
        " { return __ballot_sync(~0u, v); } };",
        "S t; t.v = i < n; unsigned r = t; a[i] = r;",
    ),
    "conversion_reads": (
        "struct S { int *p; __device__ operator int() const { return p[0]; } };",
        "S t; t.p = (int *)b + i; int v = t; if (i < n) a[i] = v;",
    ),
    "assignment_writes": (
        "struct S { float *p; __device__ S &operator=(int v) { *p = v; return *this; } };",
        f"S t; t.p = b + i; t = 5; {STORE}",
    ),
    "step_writes": (
        "struct S { float *p; __device__ void operator++() { *p = 3; } };",
        f"S t; t.p = b + i; ++t; {STORE}",
    ),
    "shift_writes": (
        "struct S { float *p; __device__ void operator<<(int v) { p[v] = 3; } };",
        f"S t; t.p = b; t << i; {STORE}",
    ),
    "member_call": (
        "struct S { int x; __device__ int get() const { return x; } };",
        "int v = ((S *)b)[i].get(); if (i < n) a[i] = v;",
    ),
    "view": (
        "struct S { float *p; int n; __device__ float &operator()(int k) { return p[k]; }"
        " __device__ bool has(int k) const { return k < n; } };",
        "S t{a, n}; if (t.has(i)) t(i) = 1;",
    ),
    "virtual_call": (
        "struct S { __device__ virtual int get() const { return 1; } };"
        "struct R : S { int v; __device__ int get() const override { return threadIdx.x; } };",
        "R r; const S *t = u ? &r : new S; a[i] = t->get();",
    ),
    "pointer_to_a_function": (
        "__device__ int who() { return threadIdx.x; } __device__ int one() { return 1; }",
        "int (*f)() = u ? who : one; a[i] = f();",
    ),
    # Names.
    "default_argument_is_raw": (
        "__device__ int same(int k = threadIdx.x) { return k; }",
        "a[i] = same();",
    ),
    "overload_is_raw": (
        "__device__ int pick(int k) { return k; }__device__ int pick(long) { return threadIdx.x; }",
        "a[i] = pick(long(n));",
    ),
    "other_overload": (
        "__device__ int pick(int k) { return k; }__device__ int pick(long) { return threadIdx.x; }",
        "if (i < n) a[i] = pick(n);",
    ),
    "hides_the_library": (
        "__device__ float norm(int k) { return threadIdx.x + k; }",
        "a[i] = norm(n);",
    ),
    "template_is_raw": (
        "struct Raw { static __device__ int id() { return threadIdx.x; } };"
        "template <class T> __device__ int id() { return T::id(); }",
        "a[i] = id<Raw>();",
    ),
    "lambda": ("", "auto f = [=](int k) { return k < n; }; if (f(i)) a[i] = 1;"),
    "lambda_is_raw": ("", "auto f = [](int k) { return threadIdx.x + k; }; a[i] = f(n);"),
    "local_alias": (
        "typedef int whole;",
        "typedef unsigned char whole; whole w = n; if (i < w) a[i] = 1;",
    ),
    "static_variable": ("", "static int calls; calls++; a[i] = 1;"),
    "volatile_variable": ("__device__ volatile int flag;", "while (flag == 0) {} a[i] = 1;"),
    "volatile_alias": ("typedef volatile float watched;", "watched *p = b; a[i] = p[0];"),
    "volatile_by_template": ("", "a[i] = *(std::add_volatile_t<float> *)(b + i);"),
    "shared_by_attribute": ("", "__attribute__((shared)) float t[32]; t[i % 32] = 1; a[i] = t[n];"),
    "depends_on_the_pass": (
        "#ifdef __CUDA_ARCH__\n#define LANE threadIdx.x\n#else\n#define LANE 0\n#endif\n",
        "a[i] = LANE;",
    ),
    # A bound that changes unseen.
    "pointer_to_the_bound": ("", f"int *p = &n; *p = m; {STORE}"),
    "reference_to_the_bound": ("", f"int &r = n; r += 1; {STORE}"),
    "either_of_two": ("", f"(u ? n : m) = 3; {STORE}"),
    "passed_by_reference": ("__device__ void grow(int &k) { k *= 2; }", f"grow(n); {STORE}"),
    "passed_by_alias": (
        "typedef int &Whole; __device__ void grow(Whole k) { k *= 2; }",
        f"grow(n); {STORE}",
    ),
    "passed_by_trait": (
        "__device__ void grow(std::add_lvalue_reference_t<int> k) { k *= 2; }",
        f"grow(n); {STORE}",
    ),
    "passed_by_template": (
        "template <class T> __device__ void grow(T k) { k *= 2; }",
        f"grow<int &>(n); {STORE}",
    ),
    "passed_as_constant": (
        "__device__ void grow(const int &k) { const_cast<int &>(k) *= 2; }",
        f"grow(n); {STORE}",
    ),
    "member_refers": (
        "struct S { int &k; __device__ void grow() { k *= 2; } };",
        f"S t{{n}}; t.grow(); {STORE}",
    ),
    "constructor_refers": ("struct S { __device__ S(int &k) { k *= 2; } };", f"S t(n); {STORE}"),
    "converted_to_a_reference": (
        "struct S { int *p; __device__ operator int &() const { return *p; } };",
        f"S t{{&n}}; static_cast<int &>(t) = 3; {STORE}",
    ),
    "swapped": (
        "template <class T> __device__ void swap(T &p, T &q) { T r = p; p = q; q = r; }",
        f"swap(n, m); {STORE}",
    ),
    "array_moved": ("__device__ void move(float *&p, int k) { p += k; }", f"move(a, i); {STORE}"),
    # Numbers that wrap around.
    "product_wraps": ("", f"long j = ({ID}) * 4096; if (j < n) a[j] = 1;"),
    "product_is_negative": ("", f"int j = ({ID}) * 4096; if (j >= 0 && j < n) a[j] = 1;"),
    "wide_product": ("", f"long j = 4096L * ({ID}); if (j < n) a[j] = 1;"),
    "shift_wraps": ("", "if ((i << 20) < n) a[i] = 1;"),
    "sum_wraps": ("", f"size_t l = u + (unsigned)m; if (({ID}) < l - s) a[i] = 1;"),
    "difference_wraps": ("", "if (u - i > 0) a[i] = 1;"),
    "begins_below": ("", "if (i - 2u < u) a[i] = 1;"),
    "shifted_by_a_parameter": ("", "if (i + m < u) a[i] = 1;"),
    "unsigned_bound": ("", "if (i < u) a[i] = 1;"),
    "wide_bound": ("", "if (i < s) a[i] = 1;"),
    "unsigned_step": ("", "unsigned j = i; j += 0xffffffffu; if (j < (long)u) a[j] = 1;"),
    "unsigned_rest": ("", "unsigned l = n; l -= 5; if ((long)i < (long)l) a[i] = 1;"),
    "halves": ("", "if (i < (u - 3) / 2 + 5) a[i] = 1;"),
    "byte_bound": ("", "unsigned char c = n; if (i < c) a[i] = 1;"),
    "byte_id": ("", "unsigned char c; if ((c = i) < n) a[i] = 1;"),
    # Effects of library functions, and of a thread's own arrays.
    "two_results": ("", f"sincosf(1, &b[i], &b[i + n]); {STORE}"),
    "result_by_pointer": ("", "float x = modff(m, b + i); if (i < n) a[i] = x;"),
    "results_of_its_own": ("", "float x, y; sincosf(m, &x, &y); if (i < n) a[i] = x;"),
    "own_array": ("", "float t[4]; t[m] = 2; t[i] = 1; if (i < n) a[i] = t[u];"),
    "own_array_read": ("", "float t[4]; t[m] = 2; float x = t[i]; if (i < n) a[i] = x; b[i] = x;"),
    "read_only_cache": ("", "float y = __ldg(b + i); if (i < n) a[i] = y;"),
    "promise": ("", f"__builtin_assume(i < m); {STORE}"),
    "promised_bound": ("", f"__builtin_assume(i < n); {STORE}"),
    "assertion": ("", f"assert(i < m); {STORE}"),
}
EXPECTED = {
    "constructor": "x",
    "constructor_waits": "CT212",
    "initialiser_waits": "CT212",
    "constructor_counts": "x; meet 0 1",
    "constructor_takes_a_number": "CT216",
    "constructor_locks": "CT216",
    "constructor_writes": "x; meet 0 1",
    "constructor_reads_shared": "CT211",
    "constructor_asks_the_clock": "CT222",
    "constructor_asks_the_group": "x raw; y raw; z raw",
    "member_is_the_clock": "CT222",
    "member_is_raw": "x raw",
    "member_is_raw_by_a_call": "x raw",
    "member_is_the_mask": "x; warps",
    "destructor_waits": "x",
    "destructor_writes": "x; meet 0 1",
    "objects_of_the_host": "x < n",
    "greater_is_raw": "x raw",
    "shift_is_raw": "x raw",
    "template_greater_is_raw": "x raw",
    "call_is_raw": "x raw",
    "unused_operator_is_raw": "x < n",
    "minus": "x < n",
    "vectors": "x < n",
    "sum_by_shuffle": "x; warps; meet 0 1",
    "conversion_votes": "x; warps",
    "conversion_reads": "x < n; meet 0 1",
    "assignment_writes": "x; meet 0 1",
    "step_writes": "x; meet 0 1",
    "shift_writes": "x; meet 0 1",
    "member_call": "x < n; meet 0 1",
    "view": "x < n",
    "virtual_call": "CT218",
    "pointer_to_a_function": "CT290",
    "default_argument_is_raw": "x raw",
    "overload_is_raw": "x raw",
    "other_overload": "x < n",
    "hides_the_library": "x raw",
    "template_is_raw": "x raw",
    "lambda": "x < n",
    "lambda_is_raw": "x raw",
    "local_alias": "x < byte",
    "static_variable": "x; warps",
    "volatile_variable": "CT222",
    "volatile_alias": "CT222",
    "volatile_by_template": "CT222",
    "shared_by_attribute": "CT211",
    "depends_on_the_pass": "x raw",
    "pointer_to_the_bound": "x < m",
    "reference_to_the_bound": "x < n + 1",
    "either_of_two": "x",
    "passed_by_reference": "x < 2 * n",
    "passed_by_alias": "x < 2 * n",
    "passed_by_trait": "x < 2 * n",
    "passed_by_template": "x < 2 * n",
    "passed_as_constant": "x < 2 * n",
    "member_refers": "x < 2 * n",
    "constructor_refers": "x < 2 * n",
    "converted_to_a_reference": "x < 3",
    "swapped": "x < m",
    "array_moved": "x < n",
    "product_wraps": "x; apart 1073741824 >= 4096 * x",
    "product_is_negative": "x",
    "wide_product": "x",
    "shift_wraps": "x",
    "sum_wraps": "x",
    "difference_wraps": "x",
    "begins_below": "x < u + 2",
    "shifted_by_a_parameter": "x < u - m",
    "unsigned_bound": "x < u",
    "wide_bound": "x < s",
    "unsigned_step": "x < u + 1",
    "unsigned_rest": "x < n - 5",
    "halves": "2 * x < u + 6",
    "byte_bound": "x < byte",
    "byte_id": "x",
    "two_results": "x; meet 0 1; apart 4 * n >= 4 * x",
    "result_by_pointer": "x; meet 0 1",
    "results_of_its_own": "x < n",
    "own_array": "x",
    "own_array_read": "x; meet 0 1",
    "read_only_cache": "x; meet 0 1",
    "promise": "x < n",
    "promised_bound": "x",
    "assertion": "x",
}


@pytest.fixture(scope="module")
def module() -> Module:
    texts = [
        f"namespace in_{name} {{\n{before}\n"
        f'extern "C" __global__ void {name}({PARAMETERS}) {{ int i = {ID}; {body} }}\n}}\n'
        for name, (before, body) in CASES.items()
    ]
    return module_of(INCLUDES + "".join(texts))


@pytest.mark.parametrize("name", list(CASES))
def test_verdict(module: Module, name: str) -> None:
    assert described(prove(module, name), NAMES) == EXPECTED[name]

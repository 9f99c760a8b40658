"""Numbers made of pointers: what the text of device code may do with a pointer, and what not."""

from __future__ import annotations

import pytest

from cutune.core.source import Source
from cutune.frontend.syntax.parse import parse
from cutune.frontend.unit.pointer_numbers import PointerNumbers

HEAD = """
#define AT(p, i, j) p[(size_t)(i) * n + (j)]
#define NUMBER(p) ((size_t)(p))
#define AGAIN(p) NUMBER(p)
typedef unsigned long long word;
typedef float *alias;
struct Pair { float *first; int nx; };
"""
HARMLESS = [
    "a[i] = b[n - i] - b[i] * n - *b;",
    "size_t at = (size_t)blockIdx.x * n + (size_t)n * i; a[at] = 1;",
    "float x = b[i]; a[i] = (float)n - x; a[j * n] = (long)j * n - n;",
    "float4 v = *(const float4 *)(b + i); *reinterpret_cast<float4 *>(&a[i]) = v;",
    "const float *c = b + i, *d = c; a[i] = c[1] - d[2];",
    "const auto k = n - 1; a[i] = b[i - k] - (b[i] + k);",
    "float f = b[i]; a[i] = *(int *)&f & 3 & i;",
    "Pair p = {a, n}; p.first[i] = 3 - p.nx; a[i] = (long)p.nx;",
    "AT(a, i, n) = AT(b, n, i) - AT(a, 0, n);",
    "a[i] = (n) - sqrtf(b[i]) - halved(b, i);",
    'asm("fma.rn.f32 %0, %1, %1, %1;" : "=f"(a[i]) : "f"(b[i]));',
    "float x = 1, y = 2; both(a[i], &x, &y); a[i] = x - y;",
    "a[i - 1] = *b - *a - b[i - 1] - n; float *p = a + n; p[-1] = *p - 1;",
    "for (float *p = a; p != a + n; p++) *p = (n - i) * 2 - p[0];",
]
NUMBERS = [
    ("size_t x = (size_t)a; x += 4; *(float *)x = 1;", "cast to a number"),
    ("word x = (word)(a + i);", "cast to a number"),
    ("long x = long(a);", "cast to a number"),
    ("auto x = reinterpret_cast<word>(a);", "cast to a number"),
    ("reinterpret_cast<word &>(a) += 4;", "cast to a number"),
    ("float *c = a; word x = *(word *)&c;", "is cast"),
    ("float *c = a; g(&c);", "address of a pointer"),
    ("Pair p = {a, n}; word x = *(word *)&p;", "an address is cast"),
    ("Pair p = {a, n}; word x = (word)p.first;", "cast to a number"),
    ("float *t[2] = {a, b}; word *x = (word *)t;", "array of pointers"),
    ("union { float *p; word x; } v; v.p = a;", "'union'"),
    ("word x; memcpy(&x, s, 8);", "'memcpy'"),
    ("float *c = a, *d = b; float *q = c + (d - c);", "subtracted"),
    ("auto c = a + 1; long w = b - c;", "subtracted"),
    ("alias c = a; long w = b - c;", "subtracted"),
    ("Pair p = {a, n}; long w = b - p.first;", "subtracted"),
    ("long w = b - (i > 3 ? a : b);", "subtracted"),
    ("long w = b - moved(a, i);", "subtracted"),
    ('float *p = a; asm volatile("" : "+l"(p));', "inline assembly"),
    ("a[-1 - i] = b[i];", "'a' is moved back"),
    ("long w = thrust::distance(a, b);", "subtracted"),
    ("float *c = b - n; a[i] = c[i];", "'b' is moved back"),
    ("a[i] = *--b;", "'b' is moved back"),
    ("auto w = word(a);", "cast to a number"),
    ("auto w = (decltype(sizeof(0)))a;", "cast to a number"),
    ("struct { float *p; } s = {a}; word w = (word)s.p;", "cast to a number"),
    ("auto f = [](float *p) { return (word)p; };", "cast to a number"),
    ("auto f = [](auto p) { return (word)p; };", "cast to a number"),
    ("word w = (word)static_cast<float *>(a);", "cast to a number"),
    ("word w = (word)same(a);", "cast to a number"),
    ("word w = (word)__builtin_addressof(a[0]);", "addressof"),
    ("long w = NUMBER(a);", "cast to a number"),
    ("long w = AGAIN(a + i);", "cast to a number"),
]
FUNCTIONS = """
__device__ float halved(const float *p, int i) { return p[i] / 2; }
__device__ float *moved(float *p, int i) { return p + i; }
"""


def reason(body: str, functions: str = FUNCTIONS) -> str | None:
    kernel = f"__global__ void k(int n, float *a, float *b) {{ int i = threadIdx.x; {body} }}\n"
    syntax = parse(Source("test.cu", HEAD + functions + kernel))
    return PointerNumbers([syntax]).reason(syntax, syntax.kernels[-1])


@pytest.mark.parametrize("body", HARMLESS)
def test_pointers_that_stay_pointers(body: str) -> None:
    assert reason(body) is None


@pytest.mark.parametrize(("body", "words"), NUMBERS)
def test_numbers_of_pointers(body: str, words: str) -> None:
    found = reason(body)
    assert found is not None and found.startswith("in 'k' ") and words in found


@pytest.mark.parametrize(
    "function",
    [
        "__device__ long apart(const float *x, const float *y) { return x - y; }",
        "template <class T> __device__ long apart(T x, T y) { return x - y; }",
        "__device__ size_t number(alias p) { return (size_t)p; }",
        "struct S { float *p; __device__ size_t number() const { return (size_t)p; } };",
        "struct S { float *p; size_t x; __device__ S(float *q) : x((size_t)q) {} };",
        "constexpr size_t number(const float *p) { return (size_t)p; }",
    ],
)
def test_functions_that_a_kernel_may_call(function: str) -> None:
    assert reason("", function) is not None


@pytest.mark.parametrize(
    "function",
    [
        "long apart(const float *x, const float *y) { return x - y; }",
        "__global__ void other(float *x) { size_t y = (size_t)x; }",
        "template <class T> __device__ T twice(T x, T y) { return x * 2 + y; }",
        "template <class T> __device__ T before(T x) { return x - 1; }",
        "__device__ float less(float x, float y) { return x - y; }",
    ],
)
def test_other_functions_do_not_matter(function: str) -> None:
    assert reason("", function) is None

"""Guards: bounds of global ids under which every effect lies. Files are in tests/golden/inspect."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutune.analysis.polynomial import PARAMETER, Polynomial, to_c
from cutune.analyze import analyze
from cutune.program import Kernel
from cutune.source import Source
from cutune.syntax import parse

HEAD = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
PARAMETERS = "int n, int m, unsigned u, unsigned v, long l, size_t s, short h, float f, float *a"


def kernel_of(body: str, before: str = "") -> Kernel:
    text = f"{before}\n__global__ void k({PARAMETERS}) {{ {HEAD} {body} }}"
    (kernel,) = analyze(parse(Source("test.cu", text))).kernels
    assert kernel.pure_dimensions == ("x",), kernel.impurity
    return kernel


@pytest.mark.parametrize(
    ("condition", "guard"),
    [
        ("i < n", "n"),
        ("i <= n", "n + 1"),
        ("n > i", "n"),
        ("n >= i", "n + 1"),
        ("!(i >= n)", "n"),
        ("!(n <= i || f > 0)", "n"),
        ("f > 0 && (i < n && i > 3)", "n"),
        ("i + 1 < n", "n - 1"),
        ("i - 1 < n", "n + 1"),
        ("i < n - m", "n - m"),
        ("i + m < n", "n - m"),
        ("n - i > 0", "n"),
        ("i == m", "m + 1"),
        ("i < 2 * n + m * l", "l * m + 2 * n"),
        ("i < n / 2", "n / 2"),
        ("i < (n + 1) / 2 - 1", "((n + 1) / 2) - 1"),
        ("3 * i < n", "(n + 2) / 3"),
        ("3 * i <= n", "(n + 3) / 3"),
        ("i < u", "u"),
        ("i + 2 <= u", "u - 1"),
        ("i < s", "s"),
        ("i < h", None),
        ("(unsigned)i < u / 2", "u / 2"),
        ("(long)i < l", "l"),
        ("i < min(n, m)", None),
        ("-i < n", None),
        ("i > n", None),
        ("i != n", None),
        ("i < n || i < m", None),
        ("i < f", None),
        ("(float)i < n", None),
        ("(short)i < n", None),
        ("u - i > 0", None),
        ("i - 2u < u", None),
        ("i + m < u", None),
        ("i < (u - 3) / 2 + 5", None),
        ("(long)(u - 5) + 10 > i", None),
        ("i < u / m", None),
        ("i < n % 8", None),
        ("i < n >> 1", None),
        ("i < (int)a[0]", None),
        ("i * i < n", None),
        ("i < n, f > 0", None),
        ("i / 2 < n", "2 * n"),
        ("i / 2 <= u", "2 * u + 2"),
        ("i / m < n", "0 < m ? m * n : 0"),
        ("!(i / m >= n)", "0 < m ? m * n : 0"),
        ("i / (m + 1) < n - 2", "0 < m + 1 ? (m + 1) * (n - 2) : 0"),
        ("i / m <= n", "0 < m ? m * (n + 1) : 0"),
        ("i / m - n < 3 && i % m > 2", "0 < m ? m * (n + 3) : 0"),
        ("i / (n / 2) < u", "0 < n / 2 ? (n / 2) * u : 0"),
        ("i / u < s", "0 < u ? u * s : 0"),
        ("i / -2 < n", None),
        ("i / m > n", None),
        ("i / h < n", None),
        ("i / m + 1 < u", None),
        ("(i + 1) / m < n", None),
        ("2 * (i / m) < n", None),
        ("i / (m * u) < n", None),
        ("i % 8 < n", None),
        ("(i & 7) < n", None),
    ],
)
def test_condition(condition: str, guard: str | None) -> None:
    assert kernel_of(f"if ({condition}) a[i] = 1;").dimensions[0].guard == guard


@pytest.mark.parametrize(
    ("body", "guard"),
    [
        ("if (i >= n) return; a[i] = 1;", "n"),
        ("if (i >= n) { return; } else a[i] = 1;", "n"),
        ("if (i < n) a[i] = 1; else return; a[i] = 2;", "n"),
        ("if (i >= n || f > 0) return; a[i] = 1;", "n"),
        ("{ if (i >= n) return; } a[i] = 1;", "n"),
        ("for (int j = 0; j < m; j++) if (i < n) a[i] = 1;", None),
        ("if (i < n) for (int j = 0; j < m; j++) a[j] = 1;", "n"),
        ("if (i < n) while (a[i] > 0) a[i]--;", "n"),
        ("for (int j = i; j < n; j++) a[j] = 1;", "n"),
        ("for (int j = i + 1; j <= n; j += 2) a[j] = 1;", "n"),
        ("for (int j = n - 1; j > i; j--) a[j] = 1;", "n - 1"),
        ("int j = i; while (j < n) { a[j] = 1; j++; }", "n"),
        ("for (int j = i; j < n; j += m) a[j] = 1;", None),
        ("for (int j = i; j < n; j--) a[j] = 1;", None),
        ("for (int j = i; j < n; j++) if (a[j] > 0) j = 0;", None),
        ("for (int j = 0; i + j < n; j++) a[i + j] = 1;", "n"),
        ("int r = i / m; if (r >= n || i % m == 0) return; a[i] = 1;", "0 < m ? m * n : 0"),
        ("int r = i / m; r--; if (r < n) a[i] = 1;", None),
        ("short r = i / m; if (r < n) a[i] = 1;", None),
        ("bool in = i < n; if (in) a[i] = 1;", "n"),
        ("bool in = i < n; in = true; if (in) a[i] = 1;", None),
        ("i < n && (a[i] = 1);", "n"),
        ("i < n || (a[i] = 1);", None),
        ("i >= n || (a[i] = 1);", "n"),
        ("a[i] = i < n ? 1 : 0;", None),
        ("float x = i < n ? a[i] : 0; if (i < n) a[i] = x;", "n"),
        ("n++; if (i < n) a[i] = 1;", None),
        ("int *p = &n; *p = 7; if (i < n) a[i] = 1;", None),
        ("int c = n; c = m; if (i < c) a[i] = 1;", None),
        ("const int c = n - 1; if (i < c) a[i] = 1;", "n - 1"),
        ("unsigned char c = n; if (i < c) a[i] = 1;", None),
        ("if (i < n) { if (i < m) a[i] = 1; }", "n"),
        ("do { if (i >= n) break; a[i] = 1; } while (0);", None),
        ("if (i < n) do a[i] = 1; while (a[i] > 2);", "n"),
        ("while (true) { if (i >= n) return; a[i] = 1; }", None),
        ("float b[4]; b[i] = 1; if (i < n) a[i] = b[0];", None),
        ("float x = a[m]; if (i < n) a[i] = x;", "n"),
        ("float x = *(a + m) + a[0]; if (i < n) a[i] = x;", "n"),
        ("atomicAdd(a, 1.0f); if (i < n) a[i] = 1;", None),
        ("if (i < n) atomicAdd(a, 1.0f);", "n"),
        ("g(a, i); if (i < n) a[i] = 1;", None),
        ("if (i < n) g(a, i);", "n"),
        ("if (i < n) a[i] = sinf(f); float y = __ldg(a + i);", None),
        ("assert(i < m); if (i < n) a[i] = 1;", None),
        ("if (i < N) a[i] = 1;", "100"),
        ("if (i < M) a[i] = 1;", "50"),
        ("if (i < UNSURE) a[i] = 1;", None),
        # Promises to the compiler: beyond the guard they would be broken.
        ("__builtin_assume(i < n); if (i < n) a[i] = 1;", None),
        ("if (i < n) a[i] = 1; else __builtin_unreachable();", None),
        ("if (i < n) { __builtin_assume(n > 0); a[i] = 1; }", "n"),
    ],
)
def test_effects(body: str, guard: str | None) -> None:
    before = (
        "#define N 100\nconst int M = 50;\n#ifndef UNSURE\n#define UNSURE 9\n#endif\n"
        "__device__ void g(float *p, int i) { p[i] = 0; }"
    )
    kernel = kernel_of(body, before)
    # Of two bounds that hold, either will do.
    accepted = {guard, "m"} if guard and "i < m) a" in body else {guard}
    assert kernel.dimensions[0].guard in accepted


@pytest.mark.parametrize(
    ("before", "condition", "guard"),
    [
        ("const unsigned LEFT = 10;", "LEFT - i > 0", None),
        ("const unsigned LEFT = 10;", "i < LEFT", "10"),
        ("const int LEFT = 10;", "LEFT - i > 0", "10"),
        ("struct Traits { static const int SIZE = 5; }; __device__ int SIZE;", "i < SIZE", None),
        ("namespace a { const int SIZE = 5; } enum { SIZE = 6, OTHER };", "i < SIZE", None),
        ("const int SIZE = 5; void f(int SIZE);", "i < SIZE", "5"),
    ],
)
def test_constants(before: str, condition: str, guard: str | None) -> None:
    assert kernel_of(f"if ({condition}) a[i] = 1;", before).dimensions[0].guard == guard


def test_a_template_parameter_hides_a_constant() -> None:
    before = "struct Traits { static const int SIZE = 5; }; template <int SIZE>"
    assert kernel_of("if (i < SIZE) a[i] = 1;", before).dimensions[0].guard is None


def test_unsigned_steps_may_wrap_around() -> None:
    for type_, step, guard in (
        ("int", "1", "u"),
        ("long", "1", "u"),
        ("unsigned", "1u", None),
        ("unsigned", "0x7fffffff", None),
        ("unsigned", "0xffffffffu", None),
    ):
        body = f"{type_} j = i; j += {step}; if (j < (long)u) a[j] = 1;"
        assert kernel_of(body).dimensions[0].guard == guard
    body = "unsigned left = n; left -= 5; if ((long)i < (long)left) a[i] = 1;"
    assert kernel_of(body).dimensions[0].guard is None


ID = "(blockIdx.x * blockDim.x + threadIdx.x)"


@pytest.mark.parametrize(
    ("body", "guard"),
    [
        # Products of unsigned integers wrap around, and so does what is shifted.
        (f"long j = {ID} * 4096; if (j < n) a[j] = 1;", None),
        (f"int j = {ID} * 4096; if (j >= 0 && j < n) a[j] = 1;", None),
        (f"int j = (size_t)4096 * {ID}; if (j >= 0 && j < n) a[j] = 1;", None),
        (f"int j = 2 * {ID}; j -= 0; if (j < n) a[j] = 1;", None),
        ("if ((i << 20) < n) a[i] = 1;", None),
        (f"size_t last = u + (unsigned)m; if ({ID} < last - s) a[i] = 1;", None),
        ("long j = (size_t)i << 4; if (j < n) a[j] = 1;", "(n + 15) / 16"),
        (f"long j = 4096L * {ID}; if (j < n) a[j] = 1;", "(n + 4095) / 4096"),
        ("int j = i * 4096; if (j < n) a[j] = 1;", "(n + 4095) / 4096"),
        (f"int j = {ID} + m; if (j < n) a[j] = 1;", "n - m"),
        (f"size_t j = {ID} + 3; if (j < s) a[j] = 1;", "s - 3"),
        # The value of an assignment is what the variable then holds.
        ("unsigned char b; if ((b = i) < n) a[i] = 1;", None),
        ("unsigned char b; int j; j = b = i; if (j < n) a[i] = 1;", None),
        ("float b; int j; j = b = i; if (j <= n) a[i] = 1;", None),
        ("int b; if ((b = i) < n) a[i] = 1;", "n"),
        ("bool b; if ((b = i < n)) a[i] = 1;", "n"),
        # Library functions that write through a pointer.
        ("sincosf(1, &a[i], &a[m]); if (i < n) a[i] = 1;", None),
        ("float x = modff(f, a + i); if (i < n) a[i] = x;", None),
        ("float x = frexpf(f, (int *)a); if (i < n) a[i] = x;", None),
        ("float t[2]; sincosf(f, &t[i], t); if (i < n) a[i] = 1;", None),
        ("float x, y; sincosf(f, &x, &y); if (i < n) a[i] = x;", "n"),
        ("float t[2]; sincosf(f, &t[0], t); if (i < n) a[i] = 1;", "n"),
        # Reads that differ between threads.
        ("a += i; float x = a[0]; if (i < n) *a = x;", None),
        ("a++; float x = a[0]; if (i < n) *a = x;", None),
        ("float2 v[4]; v[i].x = 1; if (i < n) a[i] = v[0].x;", None),
        ("float2 v[4]; float x = v[i].y; if (i < n) a[i] = x;", None),
        ("float2 v[4]; v[1].x = 1; if (i < n) a[i] = v[1].x;", "n"),
        ("float x = first(a + i); if (i < n) a[i] = x;", None),
        ("float x = at(a, i); if (i < n) a[i] = x;", None),
        ("float x = first(&a[i]); if (i < n) a[i] = x;", None),
        ("float x = first(a) + at(a, m); if (i < n) a[i] = x;", "n"),
    ],
)
def test_what_a_guard_must_not_miss(body: str, guard: str | None) -> None:
    before = (
        "__device__ float first(const float *p) { return p[0]; }"
        "__device__ float at(const float *p, int k) { return *(p + k); }"
    )
    assert kernel_of(body, before).dimensions[0].guard == guard


@pytest.mark.parametrize(
    ("type_", "guard"),
    [
        ("int", "n"),
        ("__device__ static unsigned int", "n"),
        ("long long", "n"),
        ("auto", None),
        ("unsigned char", None),
        ("short", None),
        ("bool", None),
        ("float", None),
        ("byte", None),
        ("index", "n"),
        ("template <typename T> T", None),
        ("template <int B> int", "n"),
    ],
)
def test_a_result_is_converted(type_: str, guard: str | None) -> None:
    before = f"typedef unsigned char byte; typedef long index;\n__device__ {type_}"
    if type_.startswith("template"):
        head, _, result = type_.rpartition(" ")
        before = f"{head} __device__ {result}"
    kernel = kernel_of("if ((long)g() < n) a[i] = 1;", f"{before} g() {{ return {ID}; }}")
    assert kernel.dimensions[0].guard == guard


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("struct W { __device__ W(int *p, int i) { p[i] = 1; } };", "W w(c, i);"),
        ("struct W { int *p; __device__ ~W() { *p = 1; } };", "W w; w.p = c + i;"),
        (
            "struct R { int *p; __device__ R &operator=(int v) { *p = v; return *this; } };"
            "__device__ R at(int *p, int i) { R r; r.p = p + i; return r; }",
            "R r = at(c, i); r = 5;",
        ),
        (
            "struct R { int *p; __device__ void operator+=(int v) { *p += v; } };",
            "R r; r.p = c + i; r += 1;",
        ),
        (
            "struct R { int *p; __device__ void operator++() { *p = 3; } };",
            "R r; r.p = c + i; ++r;",
        ),
        ("struct R { int *p; __device__ void operator<<(int v) { p[v] = 3; } };", "R r; r << i;"),
        (
            "struct R { int *p; __device__ operator int() const { return p[0]; } };",
            "R r; int v = r;",
        ),
        (
            "struct R { int x; __device__ int get() const { return x; } };",
            "R *r = (R *)c; int v = r[i].get();",
        ),
    ],
)
def test_effects_of_hidden_code(before: str, body: str) -> None:
    body = f"int *c = (int *)a; {body} if (i < n) a[i] = 1;"
    assert kernel_of(body, before).dimensions[0].guard is None


@pytest.mark.parametrize(
    ("before", "body"),
    [
        (
            "struct V { float x; __device__ V(float y) : x(y) {}"
            " __device__ V &operator+=(const V &o) { x += o.x; return *this; } };",
            "V v(1.0f); v += v; f = v.x;",
        ),
        (
            "__device__ float2 &operator*=(float2 &v, float s) { v.x *= s; return v; }"
            "__device__ float2 operator+(const float2 &a, const float2 &b)"
            " { return make_float2(a.x + b.x, a.y + b.y); }",
            "float2 v = make_float2(f, f); v *= 2; v = v + v; f = v.x;",
        ),
        ("struct W { W(int *p, int i) { p[i] = 1; } };", "f = 1;"),
        (
            "struct R { float *p; __device__ float &operator[](int k) { return p[k]; } };",
            "f = a[0];",
        ),
        ("struct W { int *p; __device__ ~W() { *p = 1; } };", "f = a[0];"),
    ],
)
def test_hidden_code_without_effects(before: str, body: str) -> None:
    assert kernel_of(f"{body} if (i < n) a[i] = f;", before).dimensions[0].guard == "n"


def test_a_stride_has_no_guard() -> None:
    kernel = kernel_of("for (; i < n; i += gridDim.x * blockDim.x) a[i] = 1;")
    assert kernel.dimensions[0].grid_stride
    assert kernel.dimensions[0].guard is None
    assert kernel.sizes == ("n",)


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.lists(st.sampled_from("nm"), max_size=2)), max_size=4)
)
def test_text_has_the_value_of_the_polynomial(terms: list[tuple[int, list[str]]]) -> None:
    polynomial = Polynomial.of({})
    for coefficient, names in terms:
        product = Polynomial.constant(coefficient)
        for name in names:
            product = product * Polynomial.atom(PARAMETER, name)
        polynomial = polynomial + product
    values = {"n": 7, "m": -3}
    expected = 0
    for coefficient, names in terms:
        value = coefficient
        for name in names:
            value *= values[name]
        expected += value
    assert _value(to_c(polynomial), values) == expected


def _value(text: str, values: dict[str, int]) -> int:
    """Evaluate a sum of products."""
    total = 0
    for sign, product in re.findall(r"(^-?|[-+] )([^-+]+)", text.strip()):
        value = -1 if "-" in sign else 1
        for factor in product.split("*"):
            name = factor.strip()
            value *= values[name] if name in values else int(name)
        total += value
    return total

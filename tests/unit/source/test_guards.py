"""Guards: bounds of global ids under which every effect lies. Files are in tests/golden/inspect."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutune.core.source import Source
from cutune.proof.analysis.analyze import analyze
from cutune.source.program import Kernel
from cutune.source.syntax.parse import parse
from cutune.source.values.polynomial import PARAMETER, IntegerPolynomial, to_c

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
        ("u - i > 0", "u"),
        ("i - 2u < u", "u + 2"),
        ("i + m < u", "u - m"),
        ("i < (u - 3) / 2 + 5", "((u - 3) / 2) + 5"),
        ("(long)(u - 5) + 10 > i", "u + 5"),
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
        ("i / m + 1 < u", "0 < m ? m * (u - 1) : 0"),
        ("(i + 1) / m < n", None),
        ("2 * (i / m) < n", None),
        ("i / (m * u) < n", "0 < m * u ? m * u * n : 0"),
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
        ("int r = i / m; r--; if (r < n) a[i] = 1;", "0 < m ? m * (n + 1) : 0"),
        ("short r = i / m; if (r < n) a[i] = 1;", None),
        ("bool in = i < n; if (in) a[i] = 1;", "n"),
        ("bool in = i < n; in = true; if (in) a[i] = 1;", None),
        ("i < n && (a[i] = 1);", "n"),
        ("i < n || (a[i] = 1);", None),
        ("i >= n || (a[i] = 1);", "n"),
        ("a[i] = i < n ? 1 : 0;", None),
        ("float x = i < n ? a[i] : 0; if (i < n) a[i] = x;", "n"),
        ("n++; if (i < n) a[i] = 1;", None),
        ("int c = n; c = m; if (i < c) a[i] = 1;", "m"),
        ("int j = i; if (j >= n) return; j = j / m; a[j] = 1;", "n"),
        ("int j = i; if (f > 0) j = n; if (j < n) a[j] = 1;", None),
        ("int j = i; for (int c = 0; c < m; ++c) j = j + 1; if (j < n) a[j] = 1;", None),
        ("int j = i, *p = &j; j = j + 1; if (j < n) a[*p] = 1;", None),
        ("int j = i; { int j = n; j = m; } j += 1; if (j < n) a[j] = 1;", "n - 1"),
        ("const int c = n - 1; if (i < c) a[i] = 1;", "n - 1"),
        ("unsigned char c = n; if (i < c) a[i] = 1;", None),
        ("if (i < n) { if (i < m) a[i] = 1; }", "n"),
        ("do { if (i >= n) break; a[i] = 1; } while (0);", None),
        ("if (i < n) do a[i] = 1; while (a[i] > 2);", "n"),
        ("while (true) { if (i >= n) return; a[i] = 1; }", None),
        ("float x = a[m]; if (i < n) a[i] = x;", "n"),
        ("float x = *(a + m) + a[0]; if (i < n) a[i] = x;", "n"),
        ("atomicAdd(a, 1.0f); if (i < n) a[i] = 1;", None),
        ("if (i < n) atomicAdd(a, 1.0f);", "n"),
        ("g(a, i); if (i < n) a[i] = 1;", None),
        ("if (i < n) g(a, i);", "n"),
        ("if (i < n) a[i] = sinf(f); float y = a[i];", None),
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


ID = "(blockIdx.x * blockDim.x + threadIdx.x)"


@pytest.mark.parametrize(
    ("body", "guard"),
    [
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
        # Reads that differ between threads.
        ("a += i; float x = a[0]; if (i < n) *a = x;", None),
        ("a++; float x = a[0]; if (i < n) *a = x;", None),
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


def test_a_stride_has_no_guard() -> None:
    kernel = kernel_of("for (; i < n; i += gridDim.x * blockDim.x) a[i] = 1;")
    assert kernel.dimensions[0].grid_stride
    assert kernel.dimensions[0].guard is None
    assert kernel.sizes == ("n",)


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.lists(st.sampled_from("nm"), max_size=2)), max_size=4)
)
def test_text_has_the_value_of_the_polynomial(terms: list[tuple[int, list[str]]]) -> None:
    polynomial = IntegerPolynomial.of({})
    for coefficient, names in terms:
        product = IntegerPolynomial.constant(coefficient)
        for name in names:
            product = product * IntegerPolynomial.atom(PARAMETER, name)
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

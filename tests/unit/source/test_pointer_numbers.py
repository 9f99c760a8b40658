"""Numbers made of pointers: what the text of device code may do with a pointer, and what not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from cutune.core.source import Source
from cutune.source.syntax.parse import parse
from cutune.source.unit.kernel_texts import PointerNumbers

HEAD = """
#define AT(p, i, j) p[(size_t)(i) * n + (j)]
#define NUMBER(p) ((size_t)(p))
#define AGAIN(p) NUMBER(p)
typedef unsigned long long word;
typedef float *alias;
typedef float alias_of_float;
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
    "a[i] = (alias_of_float)((float)*b + (float)*a);",
    "for (float *p = a; p != a + n; p++) *p = (n - i) * 2 - p[0];",
    "int bits = (int)b[i]; a[i] = ((bits >> i) & 1LL) + ((bits) & 0x7FU) + ((bits >> i) & n);",
    "bool c = (n < i) & n, d = (n > i) & n; a[i] = c + d;",
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
    ("typedef word number; auto w = (number)&a[i];", "cast to a number"),
    ("auto w = (Kept<Kept<word>>)&a[i];", "cast to a number"),
    ("auto w = (word)&3_w;", "cast to a number"),
    ("long w = NUMBER(a);", "cast to a number"),
    ("long w = AGAIN(a + i);", "cast to a number"),
]
FUNCTIONS = """
__device__ float halved(const float *p, int i) { return p[i] / 2; }
__device__ float *moved(float *p, int i) { return p + i; }
"""


def reason(body: str, functions: str = FUNCTIONS, entries: Sequence[str] = ()) -> str | None:
    kernel = f"__global__ void k(int n, float *a, float *b) {{ int i = threadIdx.x; {body} }}\n"
    syntax = parse(Source("test.cu", HEAD + functions + kernel))
    return PointerNumbers([syntax]).reason(syntax, syntax.kernels[-1], entries)


@pytest.mark.parametrize("body", HARMLESS)
def test_pointers_that_stay_pointers(body: str) -> None:
    assert reason(body) is None


@pytest.mark.parametrize(("body", "words"), NUMBERS)
def test_numbers_of_pointers(body: str, words: str) -> None:
    found = reason(body)
    assert found is not None and found.startswith("in 'k' ") and words in found


APART = "__device__ long apart(const float *x, const float *y) { return x - y; } "
NUMBER = "size_t number(const float *p) { return (size_t)p; }"
S = "struct S { float *p; __device__ size_t number() const { return (size_t)p; } }; "
PLAIN = "struct S { float *p; __device__ S(float *q); }; "
PLUS = "__device__ size_t operator+(int i) { return (size_t)p + i; }"
PLUSES = f"struct S {{ float *p; {PLUS} }};"
NUMERIC = "__device__ operator size_t() { return (size_t)p; }"
CALLED = [
    ("a[i] = apart(a, b);", APART),
    ("a[i] = apart(a, b);", "template <class T> __device__ long apart(T x, T y) { return x - y; }"),
    ("a[i] = number(a);", f"__device__ {NUMBER}"),
    ("a[i] = number(a);", f"constexpr {NUMBER}"),
    ("a[i] = S{a}.number();", S),
    ("S s(a);", "struct S { size_t x; __device__ S(float *q) : x((size_t)q) {} };"),
    ("a[i] = S{a} + 1;", f"struct alignas(16) S {{ float *p; {PLUS} }};"),
    ("size_t x = S{a};", f"struct __align__(8) S {{ float *p; {NUMERIC} }};"),
    ("a[i] = made(a) + 1;", f"{PLUSES} __device__ struct S made(float *p) {{ return {{p}}; }}"),
    # By way of other names.
    ("Other s{a};", f"{S} using Other = S;"),
    ("Other s{a};", f"{S} typedef S Other;"),
    ("a[i] = +one;", f"{PLAIN} S one; __device__ size_t operator+(S s) {{ return (size_t)s.p; }}"),
    ("a[i] = between(a);", f"{APART} __device__ long between(float *x) {{ return apart(x, x); }}"),
    ("a[i] = DISTANCE(a, b);", f"{APART}\n#define DISTANCE(x, y) apart(x, y)\n"),
    ("a[i] = CALL(ap, art)(a, b);", f"{APART}\n#define CALL(x, y) x##y\n"),
    ("auto s = made(a);", f"{S} __device__ S made(float *p);"),
    ("auto s = made(a);", f"{S} struct T : S {{ }}; __device__ T made(float *p);"),
    ("S s(a);", f"{PLAIN} __device__ S::S(float *q) : p((float *)((size_t)q + 1)) {{}}"),
    ("S s(a);", f"{PLAIN} __device__ S::~S() {{ size_t x = (size_t)p; }}"),
]
UNNAMED = [
    ("for (float x : S{a}) a[i] = x;", "__device__ size_t begin(alias p) { return (size_t)p; }"),
    ("a[i] = 3_w;", '__device__ long operator"" _w(unsigned long long n) { return (long)&n; }'),
    (
        "a[i] = one + 1;",
        f"{PLAIN} S one; template <class T> __device__ long operator+(T s, int) "
        "{ return (long)s.p; }",
    ),
    # Which function it is shows only when the program runs.
    ("base->call();", f"{APART} struct Base {{ virtual __device__ void call(); }};"),
]


@pytest.mark.parametrize(("body", "function"), CALLED)
def test_functions_that_a_kernel_calls(body: str, function: str) -> None:
    found = reason(body, function)
    assert found is not None and not found.startswith("in 'k' ")
    assert reason("", function) is None


def test_macros_of_the_command_line_are_those_of_the_text_that_the_compiler_sees() -> None:
    written, expanded = (
        parse(Source("test.cu", f"{APART}__global__ void k(float *a) {{ a[0] = {call}(a, a); }}"))
        for call in ("CALL", "apart")
    )
    kernel = written.kernels[-1]
    assert PointerNumbers([written]).reason(written, kernel, ()) is None
    assert PointerNumbers([written], [expanded]).reason(written, kernel, ()) is not None


def test_functions_that_macros_define() -> None:
    kernel = "__global__ void k(float *a) { a[0] = number(a); }"
    macro = f"#define MAKE(name) __device__ {NUMBER.replace('number', 'name')}\n"
    written = parse(Source("test.cu", f"{macro}MAKE(number)\n{kernel}"))
    expanded = parse(Source("test.cu", f"__device__ {NUMBER}\n{kernel}"))
    assert PointerNumbers([written], [expanded]).reason(written, written.kernels[0], ()) is not None


def test_overloads_that_macros_define() -> None:
    kernel = "__global__ void k(float *a) { a[0] = number(a); }"
    plain = "__device__ int number(int i) { return i; }"
    macro = f"#define MAKE(name) __device__ {NUMBER.replace('number', 'name')}\n"
    written = parse(Source("test.cu", f"{plain}\n{macro}MAKE(number)\n{kernel}"))
    expanded = parse(Source("test.cu", f"{plain}\n__device__ {NUMBER}\n{kernel}"))
    assert PointerNumbers([written], [expanded]).reason(written, written.kernels[0], ()) is not None


def test_functions_in_pieces_may_call_anything() -> None:
    pieces = f'{APART}__device__ int f(int i) {{\n#include "f.h"\nreturn i; }}\n'
    assert reason("", pieces) is not None
    assert reason("", f'{APART}\n#include "f.h"\n') is None


@pytest.mark.parametrize(("body", "function"), UNNAMED)
def test_functions_that_a_kernel_may_call_without_a_name(body: str, function: str) -> None:
    found = reason(body, function)
    assert found is not None and not found.startswith("in 'k' ")


@pytest.mark.parametrize(
    "entry", ["_Z1kI1SEviPfS1_", "_Z1kIN2in1SEEviPfS1_", "_Z1kIZ4mainEUlfE_EvT_", "_Z1kILi16E1SEvv"]
)
def test_instances_call_what_their_types_have(entry: str) -> None:
    assert reason("", S, [entry]) is not None


@pytest.mark.parametrize("entry", ["_Z1kiPfS_", "_Z1kI3WowEviPf", "_Z1kP13__nv_bfloat16"])
def test_other_classes_do_not_matter(entry: str) -> None:
    assert (
        reason("float S_x = 1; a[i] = S_x;", f"{S} using Other = S; S *made(float *q);", [entry])
        is None
    )


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

"""How a launch may be rewritten: as a call, repeated, or not at all."""

from __future__ import annotations

import re
import subprocess

import pytest

from cutune.core.codes import Code
from cutune.core.source import Source, apply_edits
from cutune.source.program import LaunchSite
from cutune.source.rewrite.edits import launch_edits
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, host_compiler
from tests.support.analyzed import analyzed

INDEX = "const int i = blockIdx.x * blockDim.x + threadIdx.x;"
BODY = f"{{ {INDEX} if (i < n) x[i] = 0; }}"


def last_launch(text: str) -> tuple[Source, LaunchSite]:
    """The last launch of a source in which K stands for the body of a kernel."""
    source = Source("test.cu", text.replace("K;", BODY))
    return source, analyzed(source).launches[-1]


def rewritten(text: str) -> str:
    """The statement that takes the place of the last launch."""
    source, site = last_launch(text)
    assert site.code is None, site.reason
    result = apply_edits(source, launch_edits(site)).text
    return result[site.span.start :].rpartition("; }")[0]


PLAIN = "__global__ void k(int n, float *x) K;"
TEMPLATE = "template <class T> __global__ void k(int n, T *x) K;"


@pytest.mark.parametrize(
    ("text", "callee"),
    [
        (PLAIN + "void f(int n, float *x) { k<<<1, 2>>>(n, x); }", "k"),
        (PLAIN + "void f(int n, float *x) { ::k<<<1, 2>>>(n, x); }", "::k"),
        (
            "__global__ void k(int, float *);" + PLAIN + "void f(float *x) { k<<<1, 2>>>(1, x); }",
            "k",
        ),
        (TEMPLATE + "void f(int n, float *x) { k<float><<<1, 2>>>(n, x); }", "k<float>"),
        (
            TEMPLATE + "void f(int n, float *x) { k<<<1, 2>>>(n, x + 1); }",
            "k<cutune_pointee<decltype((x + 1))>>",
        ),
        (
            "template <int b, class T> __global__ void k(int n, T *x, const T *const y) K;"
            "void f(int n, float *x) { k<3><<<1, 2>>>(n, {}, x); }",
            "k<3, cutune_constant_pointee<decltype((x))>>",
        ),
        (
            "template <class T, class U = int> __global__ void k(int n, float *x, T value) K;"
            "void f(int n, float *x) { k<<<1, 2>>>(n, x, 1 << 3); }",
            "k<cutune_by_value<decltype((1 << 3))>>",
        ),
        ("using namespace std;" + PLAIN + "void f(float *x) { k<<<1, 2>>>(1, x); }", "::k"),
        (
            f"namespace a {{ {PLAIN} void f(float *x) {{ k<<<1, 2>>>(1, x); }} }} void g() {{; }}",
            "k",
        ),
        (f"namespace a {{ {PLAIN} }} void f(float *x) {{ a::k<<<1, 2>>>(1, x); }}", "a::k"),
        (
            f"namespace a {{ {PLAIN} }} using namespace a;"
            "void f(float *x) { k<<<1, 2>>>(1, x); }",
            "k",
        ),
        ("__global__ void k(int n, float *x = 0) K; void f(float *x) { k<<<1, 2>>>(1, x); }", "k"),
    ],
)
def test_the_address_says_which(text: str, callee: str) -> None:
    head, _, rest = rewritten(text).partition(" ? (void)0 : ")
    assert head == "cutune_launch(1, 1, 2)"
    assert rest.startswith(f"cutune_call({callee})(")


@pytest.mark.parametrize(
    ("parameters", "given", "filled"),
    [
        ("int n, float *x = 0", "n", "n, 0"),
        ("int n, float *x = nullptr, bool b = true", "n", "n, nullptr, true"),
        ("int n, float *x = __null", "n", "n, __null"),
        ("int n, float *x, float v = -1.5e3f, unsigned u = 0x1Fu", "n, x", "n, x, -1.5e3f, 0x1Fu"),
        ("int n, float *x, int u = 2, int v = 3", "n, x, 7", "n, x, 7, 3"),
        ("int n, float *x, float v = 1e-5f", "n, x", "n, x, 1e-5f"),
        ("int n = 4, float *x = 0", "", "4, 0"),
    ],
)
def test_numbers_that_are_left_out_are_written(parameters: str, given: str, filled: str) -> None:
    for declared in (f"__global__ void k({parameters}) K;", _declared_before(parameters)):
        launch = f"void f(int n, float *x) {{ k<<<1, 2>>>({given}); }}"
        text = rewritten(f"{declared} {launch}")
        assert text.startswith(f"cutune_launch(1, 1, 2) ? (void)0 : cutune_call(k)({filled})")


def _declared_before(parameters: str) -> str:
    without = re.sub(r" = [^,]*", "", parameters)
    return f"__global__ void k({parameters}); __global__ void k({without}) K;"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN
        + "__global__ void k(int n, int *x) K; void f(int n, float *x) { k<<<1, 2>>>(n, x); }",
        PLAIN + "void k(double); void f(int n, float *x) { k<<<1, 2>>>(n, x); }",
        *(
            f"static const int one = 1; __global__ void k(int n, float *x, float v = {default}) K;"
            "void f(int n, float *x) { k<<<1, 2>>>(n, x); }"
            for default in ("one", "1 + 1", "sizeof(int)", "float(1)", "- -1")
        ),
        # A declaration in a function has default arguments of its own.
        "__global__ void k(int n, float *x, int v = 1) K; void f(int n, float *x) {"
        " __global__ void k(int, float *, int v = 2); k<<<1, 2>>>(n, x); }",
        # One name of two arguments.
        "#define BOTH n, x\n__global__ void k(int n, float *x = 0, int v = 1) K;"
        "void f(int n, float *x) { k<<<1, 2>>>(BOTH); }",
        "__global__ void k(const int &n, float *x) K;"
        "void f(int n, float *x) { k<<<1, 2>>>(n, x); }",
        "template <class... T> __global__ void k(int n, float *x, T... more) K;"
        "void f(int n, float *x) { k<<<1, 2>>>(n, x, n, n); }",
        # Of a pointer to pointers T is no pointee of what is passed.
        "template <class T> __global__ void k(int n, float *x, T **) K;"
        "void f(int n, float *x, int **y) { k<<<1, 2>>>(n, x, y); }",
        f"namespace a {{ {PLAIN} }} using a::k; void f(int n, float *x) {{ k<<<1, 2>>>(n, x); }}",
    ],
)
def test_a_call_that_is_repeated(text: str) -> None:
    assert rewritten(text).startswith(
        "for (cutune_repeated cutune_1(1, cutune_members<>(), 1, 2, 0, 0"
    )


DECLARED = """
typedef unsigned Size;
struct Class { int n; int get(); operator int(); };
struct Grid { int nx; Class inner; };
struct Owner { Owner *operator->(); int n; };
enum Kind { one };
int global, *pointer; volatile int port; static const int constant = 4;
Class object;
int half(int n) { return n / 2; }
int behind;
int counted(int n) { return global++ + n; }
int called(Class c) { return c.n; }
int elsewhere(int n);
namespace a { int inside; }
__global__ void k(int n, float *x, int value = constant) K;
"""


@pytest.mark.parametrize(
    "argument",
    [
        *("n", "-n + 3", "n << 2 | 1", "(float)n", "int(size)", "static_cast<long>(n)", "y[n]"),
        *("*y", "&y[1]", "grid.x * block.y", "n > 3 ? n : 4", "sizeof(float)", "half(n)", "same"),
        *(
            "g.nx",
            "g.nx + 1",
            "object",
            "g.inner",
            "global",
            "behind + 1",
            "*pointer",
            "constant + 1",
            "min(n, 4)",
            "std::min(half(n), 4)",
        ),
        *("0x1.8p-3f + 1'000ull", ".5", "1.e+3L", "0b1'0", "0xF'Fu", "07"),
        *("p->nx", "'a'", "1e3f", "true", "nullptr", "NULL", "half(half(n))"),
        *("(n + block.x - 1) / block.x", "n >= 3", "n != 1 && n <= 4", "n >> 2"),
        *("std::true_type{}", "std::bool_constant<false>()", "std::integral_constant<Kind, one>{}"),
        "n + std::integral_constant<int, 4>{}",
    ],
)
def test_harmless_arguments(argument: str) -> None:
    assert doubt(argument) is None


@pytest.mark.parametrize(
    ("argument", "what"),
    [
        ("n++", "'++'"),
        ("n = 3", "'='"),
        ("n += 3", "'+='"),
        ("n >>= 3", "'>>='"),
        ("n <<= 3", "'<<='"),
        ("object + 1", "'object'"),
        ("object.get()", "'get'"),
        ("(int)object", "'object'"),
        ("-g.inner", "'inner'"),
        ("counted(n)", "'counted'"),
        ("called(n)", "'called'"),
        ("elsewhere(n)", "'elsewhere'"),
        ("unknown(n)", "'unknown'"),
        ("unknown", "'unknown'"),
        ("unknown + 1", "'unknown'"),
        ("a::inside + 1", "'a'"),
        ("owner->n", "'owner'"),
        ("port + 1", "'port'"),
        ("Class()", "'Class'"),
        ("{}", "'{'"),
        ("[=] { return n; }()", "a lambda"),
        ("3_rows", "'3_rows'"),
        ("3rows", "'3rows'"),
        ("0x1Fs + 1'000ull", "'0x1Fs'"),
        ("new int", "'new'"),
        ("MACRO", "'++'"),
        ("__COUNTER__", "'__COUNTER__'"),
        ("COUNTED", "'COUNTED'"),
        ("T(3)", "'T'"),
        ("std::vector<int>{}", "'vector'"),
        ("std::true_type{}(n++)", "'++'"),
        ("std::bool_constant<true>{n}", "'bool_constant'"),
        ("std::bool_constant<n > 3>{}", "'bool_constant'"),
        ("a::std::true_type{}", "'a'"),
        ("::std::true_type{}", "'std'"),
        ("a::std::min(n, 4)", "'a'"),
        ("std::min(n++, 4)", "'++'"),
        ("std::min(object, 4)", "'object'"),
        ("std::rand()", "'rand'"),
    ],
)
def test_doubtful_arguments(argument: str, what: str) -> None:
    assert doubt(argument) == f"{what} in the launch may have a side effect"


def doubt(argument: str) -> str | None:
    """What is said of a launch that has to be repeated, with such an argument."""
    source, site = last_launch(
        "#define MACRO n++\n#define COUNT __COUNTER__\n#define COUNTED (COUNT + 1)\n"
        + DECLARED
        + "template <class T> void f(int n, Size size, const float *y, float *x, Grid g, Grid *p) {"
        " dim3 grid(n), block = grid; auto same = n + 1; Owner owner;"
        f" k<<<1, 2>>>({argument}, x); }}"
    )
    assert source.text.count("<<<") == 1
    assert site.code in (None, Code.SIDE_EFFECT), site.reason
    return None if site.code is None else site.reason.partition(";")[0]


@pytest.mark.parametrize(
    ("declared", "is_known"),
    [
        ("auto [a, b] = Size{n > 3 ? n : 1, 2};", True),
        ("const auto &[b, a] = size;", True),
        ("auto [a, b] = sized(n);", True),
        ("auto [b, a](std::pair<Owner, unsigned>{{}, 3});", True),
        ("auto [p, a, b] = std::tuple<float *, int, Owner>(x, 1, {});", True),
        ("auto [a, b] = std::array<int, 2>{1, 2};", True),
        ("auto [a, b] = std::pair<Owner, int>{{}, 3};", False),
        ("auto [a, b] = std::array<Owner, 2>{};", False),
        ("auto [a, b] = Pair<int, int>{1, 2};", False),
        ("auto [a, b] = unknown(n);", False),
        ("auto all = [=](int a) { BODY };", True),
        ("auto all = [=](float *x, unsigned a = 3) mutable { BODY };", True),
        ("auto all = [=](auto a) { BODY };", False),
    ],
)
def test_types_that_are_not_written_at_the_name(declared: str, is_known: bool) -> None:
    launch = "k<<<(a + 31) / 32, 32>>>(n, x);"
    text = declared.replace("BODY", launch) if "BODY" in declared else f"{declared} {launch}"
    _, site = last_launch(
        "#include <array>\n#include <tuple>\n"
        "struct Size { int w, h; }; struct Owner { operator int() const; };"
        "template <class A, class B> struct Pair { B b; A a; };"
        "Size sized(int n) { return {n, n}; } auto unknown(int n) { return Size{n, n}; }"
        "__global__ void k(int n, float *x) K; __global__ void k(int n, int *x) K;"
        f"void f(int n, Size size, float *x) {{ {text} }}"
    )
    assert site.code is (None if is_known else Code.SIDE_EFFECT), site.reason
    if not is_known:
        assert site.reason.startswith("the variable 'a' in the launch may have a side effect;")


@pytest.mark.parametrize(
    ("before", "code"),
    [
        ("g((const void *)&k);", None),
        ("g(&k, 1); auto p = &k; return g(0, &k);", None),
        ("void (*k)(int, float *) = other;", Code.INDIRECT_LAUNCH),
        ("void (&k)(int, float *) = other;", Code.INDIRECT_LAUNCH),
        ("auto &k = other;", Code.INDIRECT_LAUNCH),
        ("auto k = other;", Code.INDIRECT_LAUNCH),
        ("decltype(other) &k = other;", Code.INDIRECT_LAUNCH),
    ],
)
def test_the_address_of_a_kernel_is_no_variable(before: str, code: Code | None) -> None:
    """It is what `cudaLaunchKernel` gets."""
    _, site = last_launch(
        f"{PLAIN} void other(int, float *); template <class... T> int g(T...);"
        f"int f(int n, float *x) {{ {before} k<<<1, 2>>>(n, x); }}"
    )
    assert site.code is code, site.reason


@pytest.mark.parametrize(
    ("argument", "deduced", "expected"),
    [
        ("r", "cutune_by_value", "float *"),
        ("c", "cutune_by_value", "const float *"),
        ("row", "cutune_by_value", "float *"),
        ("op", "cutune_by_value", "Op"),
        ("r", "cutune_pointee", "float"),
        ("c", "cutune_pointee", "const float"),
        ("r", "cutune_constant_pointee", "float"),
        ("c", "cutune_constant_pointee", "float"),
        ("row + 1", "cutune_constant_pointee", "float"),
    ],
)
def test_template_arguments_are_those_that_the_compiler_deduces(
    argument: str, deduced: str, expected: str
) -> None:
    """Another instance may be another kernel: that of a `float *__restrict__` is."""
    text = f"""
    #include "cutune_deduced.h"
    #include <type_traits>
    struct Op {{ int x; }};
    static const Op op{{1}};
    static float row[3], *__restrict__ r;
    static const float *const __restrict__ c = nullptr;
    static_assert(std::is_same<{deduced}<decltype(({argument}))>, {expected}>::value, "");
    """
    command = [host_compiler(), "-std=c++11", "-fsyntax-only", f"-I{INCLUDE_DIRECTORY}"]
    subprocess.run([*command, "-x", "c++", "-"], input=text, text=True, check=True)

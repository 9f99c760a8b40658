"""The lexer and the recogniser."""

from __future__ import annotations

import pytest

from cutune.core.codes import Code
from cutune.core.source import Source
from cutune.proof.analysis.analyze import analyze
from cutune.source.syntax.directives import renumbers
from cutune.source.syntax.parse import Syntax, parse
from cutune.source.syntax.tokens import lex, lex_significant
from cutune.source.unit.unit_texts import UnitTexts


def syntax_of(text: str) -> Syntax:
    return parse(Source("test.cu", text))


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a<<<b", ["IDENTIFIER", "LAUNCH_OPEN", "IDENTIFIER"]),
        ("a<< <b", ["IDENTIFIER", "LAUNCH_OPEN", "IDENTIFIER"]),
        ("a << b", ["IDENTIFIER", "OPERATOR", "IDENTIFIER"]),
        ("1'000.5e-3f", ["NUMBER"]),
        ("0x1p+3", ["NUMBER"]),
        ('u8"a\\"b" L\'c\'', ["STRING", "CHARACTER"]),
        ('R"x(")" )x"', ["RAW_STRING"]),
        ('"not closed', ["STRING"]),
        ("don't say /* this\n;", ["IDENTIFIER", "CHARACTER", "PUNCTUATION"]),
        ("1'000 f'x'", ["NUMBER", "IDENTIFIER", "CHARACTER"]),
        ("a /\\\n/ b\n/\\\r\n* c *\\\n/ d", ["IDENTIFIER", "IDENTIFIER"]),
        ("k<\\\n<\\\n<1", ["IDENTIFIER", "LAUNCH_OPEN", "NUMBER"]),
        ("#error isn't /* this\n;", ["PUNCTUATION"]),
        (
            "int a;\n %:define N { // (\\\n (\na % :",
            ["IDENTIFIER"] * 2 + ["PUNCTUATION", "IDENTIFIER"] + ["PUNCTUATION"] * 2,
        ),
        ("#define N 1'000 /* of\n them */ - 1\n;", ["PUNCTUATION"]),
        ("a::b->c", ["IDENTIFIER", "OPERATOR", "IDENTIFIER", "OPERATOR", "IDENTIFIER"]),
        ("\xef\xbb\xbfint", ["IDENTIFIER"]),
    ],
)
def test_kinds(text: str, kinds: list[str]) -> None:
    assert [token.kind for token in lex_significant(text)] == kinds


@pytest.mark.parametrize(
    "directive",
    [
        "#define A 1",
        "  # define A \\\n  2",
        '#error "/* no comment',
        "#if A /* two\nlines */ + 1",
        "/* before */ #define A",
        "#define Q '\"'",
        "#pragma omp // comment \\\n goes on",
    ],
)
def test_a_directive_is_one_token(directive: str) -> None:
    tokens = list(lex(f"int a;\n{directive}\nint b;"))
    assert [token.text for token in tokens if token.kind == "DIRECTIVE"] == [directive]


def test_a_hash_within_a_line_is_no_directive() -> None:
    assert all(token.kind != "DIRECTIVE" for token in lex("a # b \\\n# c"))


@pytest.mark.parametrize(
    ("text", "callee", "configuration", "arguments"),
    [
        ("k<<<1, 2>>>(a)", "k", ["1", "2"], ["a"]),
        ("k<<<1, 2>>>()", "k", ["1", "2"], []),
        (
            "n::k<int, f<2>><<<g, b, 0, s>>>(a, b)",
            "n::k<int, f<2>>",
            ["g", "b", "0", "s"],
            ["a", "b"],
        ),
        ("::k<<<dim3(1, 2), {3, 4}>>>(f(a, b))", "::k", ["dim3(1, 2)", "{3, 4}"], ["f(a, b)"]),
        ("k<<<(a > b), c >> 2>>>(d)", "k", ["(a > b)", "c >> 2"], ["d"]),
        ("k<<<1, 2>>>(f<a, b>(c), d)", "k", ["1", "2"], ["f<a, b>(c)", "d"]),
        ("k<<<1, 2>>>(a < b, c > d)", "k", ["1", "2"], ["a < b", "c > d"]),
        ("p->k<<<1, 2>>>(a)", "p->k", ["1", "2"], ["a"]),
        ("(*k[1])<<<1, 2>>>(a)", "(*k[1])", ["1", "2"], ["a"]),
        ("k\n  <<< 1 , 2 >> >(a)", "k", ["1", "2"], ["a"]),
    ],
)
def test_parts_of_a_launch(
    text: str, callee: str, configuration: list[str], arguments: list[str]
) -> None:
    syntax = syntax_of(f"void f() {{ {text}; }}")
    (launch,) = syntax.launches
    assert syntax.text(launch.callee) == callee
    assert [syntax.text(part) for part in launch.configuration] == configuration
    assert [syntax.text(part) for part in launch.arguments] == arguments
    assert launch.function is not None and launch.function.name == "f"


@pytest.mark.parametrize(
    "text",
    [
        "// k<<<1, 2>>>(a);",
        '"k<<<1, 2>>>(a);"',
        "operator<< <int>(a);",
        "T<U<V>> > (x);",
        "a <<< b;",
    ],
)
def test_no_launch(text: str) -> None:
    assert not syntax_of(f"void f() {{ {text}\n }}").launches


@pytest.mark.parametrize(
    ("before", "after", "is_statement"),
    [
        ("", ";", True),
        ("if (a) ", ";", True),
        ("if (a) ; else ", ";", True),
        ("for (;;) ", ";", True),
        ("do ", "; while (0);", True),
        ("case 1: ", ";", True),
        ("label: ", ";", True),
        ("auto f = [&] { ", "; };", True),
        ("a ? b : ", ";", False),
        ("a, ", ";", False),
        ("return ", ";", False),
        ("(void)", ";", False),
        ("CHECK(", ");", False),
        ("", ", a = 1;", False),
        ("MACRO(a) ", ";", False),
        ("(", ");", True),
        ("if (a) ((", "));", True),
        ("(a, ", ");", False),
        ("(void)(", ");", False),
        ("sizeof(", ");", False),
        ("while (", ") ;", False),
        ("for (; (", "); ) ;", False),
        ("return (", ");", False),
    ],
)
def test_statements(before: str, after: str, is_statement: bool) -> None:
    (launch,) = syntax_of(f"void f() {{ {before}k<<<1, 2>>>(a){after} }}").launches
    assert launch.is_statement is is_statement


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("__global__ void k(int a)", "k"),
        ("template <class T = int, int N = (3 > 2)> __global__ void k(T a)", "k"),
        ("template <> __global__ void k<int, 2>(int a)", "k"),
        ("__global__ void __launch_bounds__(256) k(int a)", "k"),
        ("__launch_bounds__(256, 2) __global__ void k(int a)", "k"),
        ("static __global__ __attribute__((noinline)) void k(int a)", "k"),
        ("MACRO(1) __global__ void k(int a)", "k"),
        ('extern "C" __global__ void k(int a)', "k"),
        ("__global__ static inline void\nk\n(int a)", "k"),
        ("__global__ void k(float (&a)[3], void (*f)(int))", "k"),
    ],
)
def test_kernels(head: str, name: str) -> None:
    syntax = syntax_of(f"int x = 1;\nnamespace n {{\n{head} {{ }}\n}}\nint y[] = {{1, 2}};")
    assert [kernel.name for kernel in syntax.kernels] == [name]


def test_qualifier_behind_a_macro() -> None:
    syntax = syntax_of("#define KERNEL extern __global__ void\nKERNEL k(int a) {}")
    assert [kernel.name for kernel in syntax.kernels] == ["k"]


def test_functions_of_classes() -> None:
    syntax = syntax_of(
        "struct S : B { S(int a) : x(a), y{2} {} ~S() {}\n"
        "  int operator()(int i) const { return i; }\n"
        "  float x, y; static int f() noexcept(true) { return 1; } };\n"
        "auto g() -> decltype(f(1)) { return 2; }\nenum E { A, B };\nint h(int a) { return a; }"
    )
    assert [function.name for function in syntax.functions] == [
        "S",
        "~S",
        "operator",
        "f",
        "g",
        "h",
    ]


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("S(int a) : y{2}", "S"),
        ("S(int a) : x(a), y{2}, B<int>{a}", "S"),
        ("template <class... T> S(T... a) noexcept(f(1)) : T{a}..., y{}", "S"),
        ("[[nodiscard]] static int f [[gnu::cold]] [[gnu::noinline]] (int a)", "f"),
        ("__global__ void k [[a::b(1)]] (int a[[c]])", "k"),
    ],
)
def test_bodies_behind_initialisers_and_attributes(head: str, name: str) -> None:
    syntax = syntax_of(f"struct S {{ {head} {{ k<<<1, 2>>>(a); }} int g() {{}} }};")
    assert [function.name for function in syntax.functions] == [name, "g"]
    (launch,) = syntax.launches
    assert launch.is_statement and launch.function is syntax.functions[0]
    assert syntax.text(launch.function.body or (0, 0)) == "{ k<<<1, 2>>>(a); }"
    assert syntax.functions[0].is_kernel == (name == "k")


@pytest.mark.parametrize(
    ("before", "is_statement"),
    [
        ("[[a]]", True),
        ("if (a) [[a]] [[b(1)]]", True),
        ("else [[a]]", True),
        ("return [[a]]", False),
        ("x[a[1]]", False),
        ("x = y", False),
    ],
)
def test_launches_behind_attributes(before: str, is_statement: bool) -> None:
    (launch,) = syntax_of(f"void f() {{ {before} k<<<1, 2>>>(a); }}").launches
    assert launch.is_statement == is_statement


@pytest.mark.parametrize(
    "text",
    [
        "#if A\nvoid f(int a) {\n#else\nvoid f(float a) {\n#endif\n}\n",
        "#if 0\n(((\n#endif\nvoid f() {}",
        "#if 0\n]]\n#else\nvoid f() {\n#endif\n}",
        "void f() {\n#ifdef A\n if (x) {\n#endif\n a();\n#ifdef A\n }\n#endif\n}",
        "#if A\n{\n#endif\n",
    ],
)
def test_brackets_over_conditions(text: str) -> None:
    assert syntax_of(text).brackets.unbalanced is None


_CODE = "__global__ void k() {}\nvoid f() { k<<<1, 2>>>(); }\n"


@pytest.mark.parametrize(
    "text",
    [
        "#if 0\nint b(\n struct { [\n#endif\n",
        "#if (0) // no\nisn't ) ] }\n#elif !1\n ) (\n#elif 1\n#elif A\n (\n#else\n )\n#endif\n",
        "#if 0\n#if A\n(\n#else\n)\n#endif\n[\n#pragma cutune ignore\n#endif\n",
        "#if 1'0u\n#else\n( }\n#endif\n%:if 0\n(\n%:endif\n",
        "#ifdef A\nint b(\n struct { [\n#endif\n",
        "#ifdef A\n}} ((\n#endif\n",
    ],
)
def test_what_is_left_out_is_no_text(text: str) -> None:
    syntax = syntax_of(text + _CODE)
    assert [one.name for one in syntax.functions] == ["k", "f"]
    (launch,) = syntax.launches
    assert launch.is_statement and launch.function is syntax.functions[1]
    assert [*syntax.around(syntax.functions[0].first)] == [] and not syntax.pragmas


@pytest.mark.parametrize(
    ("text", "compiled", "functions"),
    [
        ("#if A\nint b(\n#else\nint c;\n#endif\n" + _CODE, {4, 6, 7}, ["k", "f"]),
        ("#if A\nvoid f(int a) {\n#else\nvoid g(float a) {\n#endif\n }\n", {2, 6}, ["f"]),
        ("#if A\nvoid f(int a) {\n#else\nvoid g(float a) {\n#endif\n }\n", {4, 6}, ["g"]),
        ("#if A\nnamespace n {\n#endif\n" + _CODE + "#if A\n}\n#endif\n", {4, 5}, ["k", "f"]),
        ("void f() {\n#if A\n if (x) {\n#endif\n#if A\n } else {}\n#endif\n }", {1, 8}, ["f"]),
        ("#if A\n(\n#if B\n)\n#endif\n#endif\n" + _CODE, {7, 8}, ["k", "f"]),
    ],
)
def test_branches_that_are_compiled_decide(
    text: str, compiled: set[int], functions: list[str]
) -> None:
    syntax = parse(Source("test.cu", text), compiled)
    assert syntax.brackets.unbalanced is None and syntax.brackets.holes
    assert [one.name for one in syntax.functions] == functions
    assert all(launch.is_statement and launch.function for launch in syntax.launches)


@pytest.mark.parametrize(
    ("text", "offset"),
    [("f(a", 1), ("a)", 1), ("{ ( }", 2), ("a\n#if A\n{\n#endif\n)", 8), ("[(])", 1)],
)
def test_unbalanced_brackets(text: str, offset: int) -> None:
    (diagnostic,) = syntax_of(text).diagnostics
    assert diagnostic.code is Code.UNBALANCED
    assert diagnostic.span is not None and diagnostic.span.start == offset


def test_not_cuda() -> None:
    for text in ("", "\n // nothing\n", "Dear all,\nthis is (no) program.", "\x7fELF\0; }"):
        assert [d.code for d in syntax_of(text).diagnostics] == [Code.NOT_CUDA]


@pytest.mark.parametrize("text", ["int main() { return 0; }", '#include "all.h"', "int size;"])
def test_host_code_is_no_error(text: str) -> None:
    assert syntax_of(text).diagnostics == ()
    (diagnostic,) = analyze(UnitTexts.read(syntax_of(text))).diagnostics
    assert diagnostic.code is Code.HOST_ONLY and not diagnostic.is_error


def test_long_template_arguments() -> None:
    """However long: the launch, its callee and its arguments are all there."""
    callee = f"k<{', '.join(f'T<{i}, (a > b)>' for i in range(2000))}>"
    (launch,) = (
        syntax := syntax_of(f"void f() {{ {callee}<<<g<1, 2>(3), 4>>>({callee}(1), 2); }}")
    ).launches
    assert syntax.text(launch.callee) == callee
    assert [syntax.text(r) for r in launch.configuration] == ["g<1, 2>(3)", "4"]
    assert [syntax.text(r) for r in launch.arguments] == [f"{callee}(1)", "2"]
    assert launch.function is not None and launch.is_statement


def test_long_class_heads_and_default_arguments() -> None:
    bases = ", ".join(f"Base<{i}>" for i in range(100))
    syntax = syntax_of(
        f"template <class T = int, int N = 3> struct A : {bases} {{ __device__ int f() {{ }} }};"
        "namespace n { void g() { k<<<1, 1>>>(); } }"
    )
    assert [f.name for f in syntax.functions] == ["f", "g"]
    (launch,) = syntax.launches
    assert launch.function is not None and launch.function.name == "g"


@pytest.mark.parametrize(
    "text",
    [
        *("(" * 100_000, '"\\"' * 100_000, "/*" * 100_000, 'R"x(' * 20_000),
        *("{}" * 30_000, "FOO {} " * 20_000, "template <" + "{} " * 20_000, "f()" * 20_000 + "{}"),
        "#if 1\n" * 20_000 + "#if 0\n" + ")" * 20_000,
        "void f() {}\n" * 10_000 + "struct A { enum { " + "k<<<1, 1>>>(); " * 10_000 + "}; };",
        "k<<<1, 1>>>(" + "a<b, " * 30_000 + "1);",
        "a > " * 40_000 + "<<<1, 1>>>(2);",
        "k<<<" * 30_000,
    ],
    ids=lambda text: text[:12],
)
def test_nothing_takes_quadratic_time(text: str) -> None:
    assert "".join(token.text for token in lex(text)) == text
    parse(Source("long.cu", text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#line 3\n", True),
        ('int a;\n # 3 "b.cu"\n', True),
        ("%:line 3\n", True),
        ("/* */ #/* */\\\n line 3\n", True),
        ("??=line 3\n", True),
        ("// #line 3\n/*\n#line 3\n*/\n", False),
        ('const char *s = R"(\n#line 3\n)";\n', False),
        ("#define S(x) #x\n#define LINE line\ninline int f();\n", False),
    ],
)
def test_directives_that_renumber_lines(text: str, expected: bool) -> None:
    assert renumbers(text) == expected

"""Reaching definitions, resolved configurations and the forms of grids."""

from __future__ import annotations

import pytest

from cutune.core.source import Source
from cutune.source.configuration.resolve import Configurations
from cutune.source.host_formula import HostOperation, constant, names_of, text_of
from cutune.source.program import Configuration, GridForm
from cutune.source.syntax.parse import parse
from cutune.source.unit.macros import MacroTable
from cutune.source.unit.unit import Unit, UnitPart

HEAD = """
#define B 128
#define CEIL(a, b) (((a) + (b) - 1) / (b))
#define BUMP() ++hidden
#ifdef WIDE
#define W 64
#else
#define W 32
#endif
typedef float real;
const int GLOBAL = 96;
int up(int n, int b) { return (n + b - 1) / b; }
void by_value(int n);
void by_value(int n) {}
void by_reference(int &n) { n = 1; }
"""


def resolved(body: str, parameters: str = "int n, int p, dim3 given") -> Configuration:
    """The configuration of the first launch in a function's body."""
    syntax = parse(Source("a.cu", f"{HEAD}void f({parameters}) {{ {body} }}"))
    unit = Unit((UnitPart(syntax, syntax.source),), MacroTable.of(syntax.macros), is_expanded=False)
    found = Configurations(unit).resolve(syntax, syntax.launches[0])
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("body", "sizes"),
    [
        ("k<<<n, 256>>>();", [256, 1, 1]),
        ("k<<<n, dim3(8, 4)>>>();", [8, 4, 1]),
        ("k<<<n, dim3{8, 4, 2}>>>();", [8, 4, 2]),
        ("k<<<n, {8, 4}>>>();", [8, 4, 1]),
        ("dim3 b(B, 2); k<<<n, b>>>();", [128, 2, 1]),
        ("dim3 b; k<<<n, b>>>();", [1, 1, 1]),
        ("dim3 b = dim3(16, 2); k<<<n, b>>>();", [16, 2, 1]),
        ("dim3 a(16, 2), b = a; k<<<n, b>>>();", [16, 2, 1]),
        ("const dim3 a(16, 2), b(a); k<<<n, b>>>();", [16, 2, 1]),
        ("auto b = dim3(16, 2); k<<<n, b>>>();", [16, 2, 1]),
        ("auto b = 2 * B; k<<<n, b>>>();", [256, 1, 1]),
        ("dim3 b; b.x = 64; b.y = GLOBAL; k<<<n, b>>>();", [64, 96, 1]),
        ("int t = 64; t = 2 * t; k<<<n, t>>>();", [128, 1, 1]),
        ("int t; t = 64; k<<<n, t>>>();", [64, 1, 1]),
        ("int t = 64; { int t = 32; } k<<<n, t>>>();", [64, 1, 1]),
        ("int t = 64; if (n) { int t = 32; k<<<n, t>>>(); }", [32, 1, 1]),
        ("int t = 64; for (int i = 0; i < n; ++i) k<<<n, t>>>();", [64, 1, 1]),
        ("for (int i = 0; i < n; ++i) { int t = 64; k<<<n, t>>>(); t = 32; }", [64, 1, 1]),
        ("int t = 64; k<<<n, t>>>(); t = 32;", [64, 1, 1]),
        ("int t = 64; if (n) t = 8; t = 32; k<<<n, t>>>();", [32, 1, 1]),
        ('int t = 64; by_value(t); printf("%d", t); k<<<n, t>>>();', [64, 1, 1]),
        ("int t = 64, u = t; k<<<n, u>>>();", [64, 1, 1]),
        # A colon of a condition ends no label.
        ("int a = n ? 1 : 2, t = 64; k<<<n, t>>>();", [64, 1, 1]),
        ("int t = 8; { int a = n ? p ? 1 : 2 : 3, t = 64; k<<<n, t>>>(); }", [64, 1, 1]),
        ("switch (n) { case 1 ? 2 : 3: int t = 64; k<<<n, t>>>(); }", [64, 1, 1]),
        ("f(n ? p : 2); again: int t = 64; k<<<n, t>>>();", [64, 1, 1]),
        ("unsigned int t(64); k<<<n, t>>>();", [64, 1, 1]),
        ("size_t t{64}; k<<<n, t>>>();", [64, 1, 1]),
        ("int t = 100 / 3; k<<<n, t>>>();", [33, 1, 1]),
        ("int t = 1 << 6; k<<<n, t>>>();", [64, 1, 1]),
        ("int t = (int)(100 * 0.5); k<<<n, t>>>();", [50, 1, 1]),
        ("int t = 100 * 0.333; k<<<n, t>>>();", [33, 1, 1]),
        ("int t = sizeof(real) * 8 + sizeof(double2); k<<<n, t>>>();", [48, 1, 1]),
        ("int t = static_cast<int>(64); k<<<n, t>>>();", [64, 1, 1]),
        ("const int t = 64; unknown(t); auto g = [&]() { k<<<n, t>>>(); };", [64, 1, 1]),
        # Not known.
        ("k<<<n, p>>>();", [None, 1, 1]),
        ("k<<<n, given>>>();", [None, None, None]),
        ("k<<<n, W>>>();", [None, 1, 1]),
        ("k<<<n, other.block>>>();", [None, None, None]),
        ("k<<<n, make(n)>>>();", [None, None, None]),
        ("int t; k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64; if (n) t = 32; k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64; if (n) { t = 32; } k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64; if (n) t = 8; else t = 32; k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64; n && (t = 32); k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64; t += 1; k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64; ++t; k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64; while (n--) { k<<<n, t>>>(); t = 32; }", [None, 1, 1]),
        ("int t = 64; do k<<<n, t>>>(); while (--t);", [None, 1, 1]),
        ("for (int t = 64; t < 512; t *= 2) k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64; int *q = &t; *q = 32; k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 8; int *q = &t; t = 64; *q = 32; k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64; int &r = t; r = 32; k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64; auto &r = t; r = 32; k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64; int &r(t); r = 32; k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64; by_reference(t); k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64; unknown(n, t); k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64; object.set(t); k<<<n, t>>>();", [None, 1, 1]),
        ("dim3 b(64); unknown(b.x); k<<<n, b>>>();", [None, None, None]),
        ("dim3 b(64, 2); if (n) b.y = 1; k<<<n, b>>>();", [64, None, 1]),
        ("dim3 b(64, 2); b.x /= 2; k<<<n, b>>>();", [None, 2, 1]),
        ("int t = 64; std::cin >> t; k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64; auto g = [&]() { t = 32; }; g(); k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64; auto g = [&](int t) { k<<<n, t>>>(); };", [None, None, None]),
        ("const int t = 8; auto g = [](int n, int t) { k<<<n, t>>>(); };", [None, None, None]),
        ("const int t = 8; auto g = [t = 32]() { k<<<n, t>>>(); };", [None, 1, 1]),
        ("int t = 8; struct S { void g(int n, int t) { k<<<n, t>>>(); } };", [None, None, None]),
        ("int t = 8; { auto [s, t] = f(); k<<<n, t>>>(); }", [None, None, None]),
        ("int t = 8; try { } catch (int t) { k<<<n, t>>>(); }", [None, None, None]),
        ("int t = 64; again: k<<<n, t>>>(); t = 32; goto again;", [None, 1, 1]),
        ("int t = 8; switch (n) { case 1: t = 64; break; default: k<<<n, t>>>(); }", [None, 1, 1]),
        ("int hidden = 64; BUMP(); k<<<n, hidden>>>();", [None, 1, 1]),
        ("volatile int t = 64; k<<<n, t>>>();", [None, 1, 1]),
        ("static int t = 64; k<<<n, t>>>();", [None, 1, 1]),
        ("bool t = 64; k<<<n, t>>>();", [None, 1, 1]),
        ("int t = 64;\n#ifdef X\nt = 32;\n#endif\nk<<<n, t>>>();", [None, 1, 1]),
        ("\n#ifdef X\nint t = 64;\n#else\nint t = 32;\n#endif\nk<<<n, t>>>();", [None, 1, 1]),
        ("int t[2] = {64, 1}; k<<<n, t[0]>>>();", [None, None, None]),
        ("int t = 64; swap(t, n); k<<<n, t>>>();", [None, 1, 1]),
    ],
)
def test_blocks(body: str, sizes: list[int | None]) -> None:
    assert [constant(size) for size in resolved(body).block] == sizes


@pytest.mark.parametrize(
    ("body", "form"),
    [
        ("k<<<(n + 255) / 256, 256>>>();", GridForm.CEILING),
        ("k<<<(n + 254) / 256, 256>>>();", GridForm.TRUNCATING),
        ("k<<<(n - 1 + p) / p, p>>>();", GridForm.CEILING),
        ("k<<<(n - 1) / B + 1, B>>>();", GridForm.CEILING),
        ("k<<<n / B + (n % B != 0), B>>>();", GridForm.CEILING),
        ("k<<<n / B + (n % B ? 1 : 0), B>>>();", GridForm.CEILING),
        ("k<<<n % B ? n / B + 1 : n / B, B>>>();", GridForm.CEILING),
        ("k<<<n / B + 1, B>>>();", GridForm.ONE_MORE),
        ("k<<<n / B - n / B + 1, B>>>();", GridForm.OTHER),
        ("k<<<n / B, B>>>();", GridForm.TRUNCATING),
        ("k<<<n >> 7, B>>>();", GridForm.TRUNCATING),
        ("k<<<(n + 127) >> 7, B>>>();", GridForm.CEILING),
        ("dim3 b(B, 2); k<<<(n + b.x - 1) / b.x, b>>>();", GridForm.CEILING),
        ("int t = 64; int g = (n + t - 1) / t; k<<<g, t>>>();", GridForm.CEILING),
        ("int q = 1000; k<<<(q + 31) / 32, dim3(32, 8)>>>();", GridForm.CEILING),
        ("int q = 32; k<<<(q + 31) / 32 + 0 * n, 32>>>();", GridForm.OTHER),
        ("int q = 1000, t = 32; k<<<(q + t - 1) / t, t>>>();", GridForm.CEILING),
        ("const int q = 1024, r = q + 31; k<<<r / 32, 32>>>();", GridForm.CEILING),
        ("int q = 1024; k<<<q / 32, 32>>>();", GridForm.TRUNCATING),
        ("int q = 1000; k<<<(q + 30) / 32, 32>>>();", GridForm.TRUNCATING),
        ("k<<<(int)ceil((float)n / B), B>>>();", GridForm.FLOAT_CEILING),
        ("k<<<std::ceil(n / 128.0), B>>>();", GridForm.FLOAT_CEILING),
        ("k<<<(int)(ceil((float)n) / (float)B), B>>>();", GridForm.TRUNCATING),
        ("k<<<up(n, B), B>>>();", GridForm.HELPER),
        ("k<<<CEIL(n, p), p>>>();", GridForm.HELPER),
        ("k<<<min(65535, (n + B - 1) / B), B>>>();", GridForm.OTHER),
        ("k<<<1, B>>>();", GridForm.SINGLE),
        ("k<<<24, B>>>();", GridForm.CONSTANT),
        ("k<<<2 * n, B>>>();", GridForm.INDEPENDENT),
        ("k<<<n, B>>>();", GridForm.UNKNOWN),
        ("int g = n / B; if (p) g = 1; k<<<g, B>>>();", GridForm.UNKNOWN),
    ],
)
def test_grid_forms(body: str, form: GridForm) -> None:
    assert resolved(body).forms[0] is form


@pytest.mark.parametrize("size", ["1" + "+1" * 50_000, "(" * 50_000 + "1" + ")" * 50_000])
def test_large_expressions_are_not_known(size: str) -> None:
    assert constant(resolved(f"int t = {size}; k<<<n, t>>>();").block[0]) is None


@pytest.mark.long
def test_long_chains_of_assignments_are_followed() -> None:
    # Quadratic work, or cubic, would take minutes.
    body = "int b = 1;" + "b = b + 1; k<<<b, b>>>();" * 1000
    syntax = parse(Source("a.cu", f"void f() {{ {body} }}"))
    unit = Unit((UnitPart(syntax, syntax.source),), MacroTable.of(()), is_expanded=False)
    configurations = Configurations(unit)
    found = [configurations.resolve(syntax, launch) for launch in syntax.launches]
    sizes = [constant(shape.block[0]) for shape in found if shape is not None]
    # A dozen steps at most: what began further up is not known.
    assert sizes == [2, 3, 4, 5, 6, *[None] * 995]


def test_text() -> None:
    found = resolved("int t = 2 * p; dim3 b(t, 4), g(CEIL(n, b.x), (n + 3) / b.y); k<<<g, b>>>();")
    assert [text_of(size) for size in found.grid[:2]] == ["CEIL(n, 2 * p)", "(n + 3) / b.y"]
    assert [text_of(size) for size in found.block[:2]] == ["2 * p", "b.y"]


BATCH = """
template <typename T, int LANES, int SYSTEMS> struct Batch : Base {
    static constexpr int lanes = LANES, threads = lanes * SYSTEMS;
    T values[LANES];
    int member(int n) { return n; }
    static dim3 grid(int count) { return dim3((count + SYSTEMS - 1) / SYSTEMS); }
    static int changed(int n) { n = 2 * n; return n; }
};
template <int A> struct Other { static constexpr int lanes = A; };
using Config = Batch<float, 16, 8>;
typedef Batch<double, 4, 2 * 16> Small;
"""


def of_class(body: str, before: str = "", template: str = "") -> Configuration:
    """The configuration of a launch that names members of classes."""
    syntax = parse(Source("a.cu", f"{BATCH}{before}{template} void f(int n) {{ {body} }}"))
    unit = Unit((UnitPart(syntax, syntax.source),), MacroTable.of(()), is_expanded=False)
    found = Configurations(unit).resolve(syntax, syntax.launches[0])
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("body", "threads"),
    [
        ("k<Config><<<n, Config::lanes>>>();", 16),
        ("k<Config><<<n, Config::threads>>>();", 128),
        ("k<Small><<<n, Small::threads>>>();", 128),
        ("using Mine = Batch<int, 2, 64>; k<Mine><<<n, Mine::threads>>>();", 128),
        ("using One = Other<32>; k<One><<<n, One::lanes>>>();", 32),
    ],
)
def test_constants_of_class_templates_are_read(body: str, threads: int) -> None:
    assert constant(of_class(body).block[0]) == threads


def test_a_function_of_a_class_is_what_it_returns() -> None:
    found = of_class("k<Config><<<Config::grid(n), Config::lanes>>>();")
    grid, _, _ = found.grid
    assert isinstance(grid, HostOperation) and grid.operator == "/"
    assert constant(grid.operands[1]) == 8
    assert [name.text for name in names_of(grid.operands[0])] == ["n", "Config::SYSTEMS"]


@pytest.mark.parametrize(
    ("body", "before", "template"),
    [
        # The alias, or the class, means two things; it is a parameter of the function's template.
        ("k<<<n, Config::lanes>>>();", "namespace other { using Config = Other<8>; }", ""),
        ("k<<<n, Config::lanes>>>();", "template <int A> struct Batch {};", ""),
        ("k<<<n, Config::lanes>>>();", "", "template <class Config>"),
        ("k<<<n, Config::changed(n)>>>();", "", ""),
        ("k<<<n, Config::unknown>>>();", "", ""),
        ("k<<<n, Unknown::lanes>>>();", "", ""),
    ],
)
def test_members_that_are_not_certain_are_not_known(body: str, before: str, template: str) -> None:
    assert constant(of_class(body, before, template).block[0]) is None


@pytest.mark.parametrize(
    ("calls", "shape"),
    [
        ("f(dim3(2), dim3(8, 4), n, 0);", "8, 4, 1"),
        ("dim3 b(8, B); f(n, b, n, 0);", "8, B, 1"),
        ("dim3 b(8, 4); f(1, b, n, 0); f(n, b, n, 1);", None),
        ("dim3 b(8, 4); if (n) b.y = 2; f(1, b, n, 0);", "8, ?, 1"),
        ("f(1, dim3(8, m), n, m);", "8, p, 1"),
        ("int n2 = 2 * n; f(1, dim3(8, n2), n, n2);", "8, p, 1"),
        ("int q = m; f(1, dim3(8, q), n, m); ", "8, p, 1"),
        ("int n2 = n; n2 += 1; f(1, dim3(8, n2), n, 3);", "8, ?, 1"),
        ("f(1, dim3(8, m), m, 2);", "8, n, 1"),
        ("f(1, dim3(8, m), m, 2); f(1, dim3(8, n), n, 2);", "8, n, 1"),
        ("f(1, dim3(8, 4), n, 0); f(1, dim3(4, 8), n, 0);", None),
        ("auto g = f; g(1, dim3(4), n, 0); f(1, dim3(8), n, 0);", None),
        ("f<1>(1, dim3(8, 4), n, 0);", None),
        ("", None),
    ],
)
def test_blocks_that_calls_give_a_function(calls: str, shape: str | None) -> None:
    launch = "void f(dim3 grid, dim3 block, int n, int p) { k<<<grid, block>>>(n, p); }"
    found = _by_calls(f"{launch} void g(int n, int m) {{ {calls} }}")
    assert (found and ", ".join(map(text_of, found.block))) == shape


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("k<<<grid, block>>>(n);", "8, 4, 1"),
        ("block.x = 4; k<<<grid, block>>>(n);", "block.x, block.y, block.z"),
        ("dim3 &b = block; k<<<grid, block>>>(n);", "block.x, block.y, block.z"),
        ("if (n) block = dim3(2); k<<<grid, block>>>(n);", "block.x, block.y, block.z"),
    ],
)
def test_blocks_that_a_function_changes(body: str, shape: str) -> None:
    calls = "void g(int n) { dim3 b(8, 4); f(1, b, n); }"
    found = _by_calls(f"void f(dim3 grid, dim3 block, int n) {{ {body} }} {calls}")
    assert found is not None and ", ".join(map(text_of, found.block)) == shape


def test_blocks_of_a_function_that_calls_itself() -> None:
    again = "void f(dim3 block, int n) { if (n) f(dim3(2), n - 1); k<<<n, block>>>(n); }"
    assert _by_calls(f"{again} void g(int n) {{ f(dim3(8), n); }}") is None


def _by_calls(text: str) -> Configuration | None:
    syntax = parse(Source("a.cu", f"{HEAD}{text}"))
    unit = Unit((UnitPart(syntax, syntax.source),), MacroTable.of(syntax.macros), is_expanded=False)
    return Configurations(unit).by_calls(syntax, syntax.launches[0])

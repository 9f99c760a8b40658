"""Members of structures as sizes: what is found in the text of a program."""

from __future__ import annotations

import pytest

from cutune.core.source import Source
from cutune.source.program import Kernel, Program
from cutune.source.rewrite.edits import launch_edits
from cutune.source.rewrite.site_table import guard_parameters, site_table
from tests.support.analyzed import analyzed

HEAD = "const int i = blockIdx.x * blockDim.x + threadIdx.x;"


def program_of(before: str, parameter: str, body: str) -> Program:
    text = f"{before}\n__global__ void k(float *a, {parameter}) {{ {HEAD} {body} }}"
    return analyzed(Source("test.cu", text))


def kernel_of(before: str, parameter: str, body: str) -> Kernel:
    (kernel,) = program_of(before, parameter, body).kernels
    assert kernel.pure_dimensions == ("x",), kernel.impurity
    return kernel


@pytest.mark.parametrize(
    ("parameter", "guard"),
    [
        ("int3 g", "g.y"),
        ("const uint2 g", "g.y"),
        ("dim3 g", "g.y"),
        ("float2 g", None),
        ("short2 g", "g.y"),
        ("const int3 &g", None),
        ("int3 *g", None),
    ],
)
def test_vector_types(parameter: str, guard: str | None) -> None:
    access = "->y" if "*" in parameter else ".y"
    kernel = kernel_of("", parameter, f"if (i < g{access}) a[i] = 1;")
    assert kernel.dimensions[0].guard == guard
    assert kernel.sizes == (("g.y",) if guard is not None or "short" in parameter else ())


@pytest.mark.parametrize(
    ("body", "guard"),
    [
        ("if (i < g.n) a[i] = 1;", "g.n"),
        ("if (i >= g.n - 1) return; a[i] = 1;", "g.n - 1"),
        ("if (i < g.n * g.m) a[i] = 1;", "g.m * g.n"),
        ("const int n = g.n; if (i < n) a[i] = 1;", "g.n"),
        ("if (i < g.n) { int g = 3; a[i] = g; }", "g.n"),
        # Pointers in it may lead to what is changed.
        ("if (i < g.n) g.p[i] = 1;", "g.n"),
        ("if (i < g.n) *(g.p + i) = 1;", "g.n"),
        ("if (i < g.n) g.q->n = 1;", "g.n"),
        ("if (i < g.n) atomicAdd(&g.p[i], 1.0f);", "g.n"),
        # What the launch gives counts, whatever the kernel makes of its own.
        ("g.n = 3; if (i < g.n) a[i] = 1;", "3"),
        ("g.m++; if (i < g.n) a[i] = 1;", "g.n"),
        ("float **p = &g.p; if (i < g.n) a[i] = **p;", "g.n"),
        ("change(g); if (i < g.n) a[i] = 1;", "2"),
        ("Grid other = g; if (i < g.n) a[i] = other.m;", "g.n"),
        ("int *n = &g.n; if (i < g.n) a[i] = *n;", "g.n"),
        ("if (i < g.n) a[i] = g.size();", "g.n"),
        ("{ Grid g = {1, 2}; if (i < g.n) a[i] = 1; }", "1"),
    ],
)
def test_guards_of_members(body: str, guard: str | None) -> None:
    before = """
        struct Grid {
            int n, m; float h; float *p; Grid *q;
            __device__ int size() const { return n; }
        };
        __device__ void change(Grid &g) { g.n = 2; }
    """
    assert kernel_of(before, "Grid g", body).dimensions[0].guard == guard


@pytest.mark.parametrize(
    ("before", "type_", "structure"),
    [
        ("struct Grid { int n; };", "Grid", "::Grid"),
        ("struct Grid { int n; };", "struct Grid", "::Grid"),
        ("typedef struct { int n; } Grid;", "Grid", "::Grid"),
        ("typedef struct Grid_ { int n; } Grid;", "Grid", "::Grid"),
        ("typedef struct Grid { int n; } Grid, *Pointer;", "Grid", "::Grid"),
        ("struct Grid_ { int n; }; typedef struct Grid_ Grid;", "Grid", "::Grid_"),
        ("struct Grid_ { int n; }; using Grid = Grid_;", "const Grid", "::Grid_"),
        ("namespace a { namespace b { struct Grid { int n; }; } }", "a::b::Grid", "::a::b::Grid"),
        ("namespace { struct Grid { int n; }; }", "Grid", "::Grid"),
        ("namespace a::inline b { struct Grid { int n; }; }", "a::b::Grid", "::a::b::Grid"),
        ('extern "C" { struct Grid { int n; }; }', "Grid", "::Grid"),
        ("typedef unsigned Size; struct Grid { Size n = 3; Grid() {} };", "Grid", "::Grid"),
        ("struct Grid { virtual int f(); int n; };", "Grid", None),
        ("struct Grid { int n : 8; };", "Grid", None),
        ("struct Grid { union { int n; float f; }; };", "Grid", None),
        ("struct Grid { struct { int n; }; };", "Grid", None),
        ("struct Grid { static int n; };", "Grid", None),
        ("struct Grid { int &n; };", "Grid", None),
        ("struct Grid { volatile int n; };", "Grid", None),
        ("struct Base {}; struct Grid : Base { int n; };", "Grid", None),
        ("class Grid { public: int n; };", "Grid", None),
        ("struct Grid { private: int m; public: int n; };", "Grid", None),
        ("union Grid { int n; float f; };", "Grid", None),
        ("struct Outer { struct Grid { int n; }; };", "Outer::Grid", None),
        ("template <class T> struct Grid { T n; };", "Grid<int>", None),
        ("namespace a { struct Grid { int n; }; } struct Grid { int n; };", "Grid", None),
        ("namespace a { struct Grid { int n; }; }", "b::Grid", None),
        ("struct Grid { int n; };\n#define Grid Other", "Other", None),
        ("struct Grid { int n, m; };\n#define m M", "Grid", None),
        (
            "#define BEGIN namespace a {\n#define END }\nBEGIN struct Grid { int n; }; END",
            "Grid",
            None,
        ),
    ],
)
def test_plain_structures(before: str, type_: str, structure: str | None) -> None:
    (kernel,) = program_of(before, f"{type_} g", "if (i < g.n) a[i] = 1;").kernels
    assert [(m.name, m.argument, m.structure) for m in kernel.members] == (
        [("g.n", 1, structure)] if structure else []
    )


def test_members_of_members_and_called_functions() -> None:
    before = """
        struct Box { int lo, hi; };
        struct Grid { float h; Box x, y; };
        __device__ int at(const Grid &grid, int i) { return i * grid.y.hi; }
        __device__ int low(Grid grid) { return at(grid, grid.x.lo); }
    """
    kernel = kernel_of(before, "Grid g", "if (i < g.x.hi) a[at(g, low(g))] = 1;")
    assert kernel.argument_names == ("a", "g", "g.x.lo", "g.x.hi", "g.y.hi")
    assert kernel.sizes == ("g.x.hi",)
    assert kernel.members[1].steps == ("&::Grid::x", "&::Box::hi")
    assert kernel.dimensions[0].guard == "g.x.hi"


def test_copies_have_the_roles_of_members() -> None:
    before = "struct Grid { int n, rows, seed; };"
    body = """
        const int n = g.n, rows = 2 * g.rows, seed = g.seed;
        if (i >= n) return;
        for (int j = 0; j < rows; j++) a[j * n + i + seed] = 1;
    """
    kernel = kernel_of(before, "Grid g", body)
    assert [(p.name, p.role.value) for p in kernel.data_parameters] == [
        ("g.n", "guard"),
        ("g.rows", "bound"),
        ("g.seed", "offset"),
    ]


def test_names_of_extents_are_taken() -> None:
    assert kernel_of("", "int3 T", "if (i < T.x) a[i] = 1;").members == ()


def test_too_many_members() -> None:
    names = [f"n{i}" for i in range(64)]
    before = f"struct Grid {{ int {', '.join(names)}; }};"
    body = f"if (i < {' + '.join(f'g.{name}' for name in names)}) a[i] = 1;"
    assert kernel_of(before, "Grid g", body.replace(" + g.n40", "")).members == ()
    assert len(kernel_of(before, "Grid g", "if (i < g.n3) a[i] = 1;").members) == 1


def test_what_a_launch_tells() -> None:
    kernel = kernel_of("struct Grid { int n, m; };", "Grid g", "if (i < g.n * g.m) a[i] = 1;")
    assert guard_parameters(kernel, "g.m * g.n") == (2, 3)
    program = program_of(
        "struct Grid { int n, m; };",
        "Grid g",
        "if (i < g.n * g.m) a[i] = 1; }\nvoid f(Grid g) { k<<<1, 32>>>(0, {3,\n 4});",
    )
    (site,) = program.launches
    head, called = launch_edits(site, program.kernels[0])
    assert head.text == "cutune_launch(1, 1, 32) ? (void)0 : cutune_call("
    assert called.text == (
        ", cutune_members<cutune_member< ::Grid, 1, "
        "cutune_place<decltype(&::Grid::n), &::Grid::n>>, cutune_member< ::Grid, 1, "
        "cutune_place<decltype(&::Grid::m), &::Grid::m>>>())"
    )


def test_the_guard_reads_members_by_position() -> None:
    text = "struct Grid { int n; unsigned m; };"
    program = program_of(
        text, "Grid g", "if (i < g.n) a[i] = 1; }\nvoid f(Grid g) { k<<<1, 32>>>(0, g);"
    )
    table = site_table(program, program.launches)
    assert "const cutune_exact cutune_member_2 = argument_[2]; return" in table
    assert "? cutune_bound(cutune_member_2) : 0" in table and ", 4ull, 1024u" in table


@pytest.mark.parametrize(
    ("before", "parameter", "bytes_", "members"),
    [
        ("", "float4 g", 16, "x:0 y:4 z:8 w:12"),
        ("struct P { int w, h; const float *from; };", "P g", 16, "w:0 h:4 from:8"),
        ("struct P { char c; double d; char e; };", "P g", 24, "c:0 d:8 e:16"),
        ("struct P { bool b; float2 v; };", "P g", 16, "b:0 v.x:8 v.y:12"),
        ("#define N 2\nstruct P { int n[N]; float k; };", "P g", 12, "n_0:0 n_1:4 k:8"),
        (
            "struct Q { char c; int n; }; struct P { Q q[2]; };",
            "P g",
            16,
            "q_0.c:0 q_0.n:4 q_1.c:8",
        ),
        ("enum E { a, b }; struct P { E e; std::size_t n; };", "P g", 16, "e:0 n:8"),
        ("enum class E : short { a }; struct P { E e; short s; };", "P g", 4, "e:0 s:2"),
        ("struct P { int n; int size() const { return n; } };", "P g", 4, "n:0"),
    ],
)
def test_what_structures_hold(before: str, parameter: str, bytes_: int, members: str) -> None:
    (kernel,) = program_of(before, parameter, "").kernels
    (passed,) = kernel.passed
    found = " ".join(f"{one.path}:{one.offset}" for one in passed.members)
    assert (passed.argument, passed.bytes, passed.unknown) == (1, bytes_, "")
    assert found.startswith(members)


@pytest.mark.parametrize(
    ("before", "unknown"),
    [
        ("struct P { int n; unsigned open : 1; };", "open"),
        ("struct P { int n; Other other; };", "other"),
        ("struct P { int n[SIZE]; };", "n"),
        ("struct P { int n; void (*call)(int); };", "call"),
        ("struct P { char c; alignas(4) char d; };", "d"),
        ("struct P { char c; char d __attribute__((aligned(4))); };", "aligned"),
        ("struct __align__(16) P { int n; };", "(an aligned structure)"),
        ("struct P { int n; int &of; };", "of"),
    ],
)
def test_what_is_not_told_by_the_text(before: str, unknown: str) -> None:
    (kernel,) = program_of(before, "P g", "").kernels
    assert [one.unknown for one in kernel.passed] == [unknown]


def test_names_of_extents_are_not_those_of_members() -> None:
    (kernel,) = program_of("", "int3 T", "").kernels
    assert [one.unknown for one in kernel.passed] == ["x"]

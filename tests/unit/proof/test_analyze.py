"""From syntax to program: roles, headers, preprocessed text, verdicts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cutune.cli.report.programs import to_json
from cutune.core.codes import Code
from cutune.core.reading import read_source
from cutune.core.source import Source
from cutune.proof.analysis.analyze import analyze
from cutune.source.program import Kernel, Program
from cutune.source.syntax.headers import find_headers
from cutune.source.syntax.parse import parse
from cutune.source.unit.unit_texts import UnitTexts
from cutune.toolchain.nvcc import find_nvcc
from tests.support.analyzed import analyzed

SAMPLES = Path(__file__).parents[3] / "samples" / "polybench"
INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def program_of(text: str, expanded: str | None = None) -> Program:
    source = Source("test.cu", text)
    if expanded is None:
        return analyzed(source)
    return analyze(UnitTexts.read(parse(source), expanded))


@pytest.mark.parametrize(
    ("body", "roles"),
    [
        ("if (i < n) a[i] = k;", {"n": "guard"}),
        ("if (i < n - k) a[i] = 1;", {"n": "guard", "k": "counter"}),
        ("if (i < n / 2 + m) a[i] = 1;", {"n": "bound", "m": "bound"}),
        ("if (i < n) a[i * m + k] = 1;", {"n": "guard", "m": "stride", "k": "offset"}),
        ("if (i < n) a[(i + k) * m] = 1;", {"n": "guard", "m": "stride", "k": "offset"}),
        ("if (i > k && i < n) a[i] = 1;", {"n": "guard", "k": "counter"}),
        (
            "if (i < n && k < m - 1 && k > 0) a[i] = 1;",
            {"n": "guard", "m": "bound", "k": "counter"},
        ),
        (
            "if (i < n) for (int j = k; j < m; j++) a[j] = 1;",
            {"n": "guard", "m": "bound", "k": "bound"},
        ),
        ("if (i < n && k) a[i] = 1;", {"n": "guard", "k": "branch"}),
        ("if (i < n) { float *p = a + i * m; *p = k; }", {"n": "guard", "m": "stride"}),
        ("if (i < n) g(a, m, i);", {"n": "guard", "m": "bound"}),
        (
            "if (i < n) { int c = m * 2; for (int j = 0; j < c; j++) a[i] += j; }",
            {"n": "guard", "m": "bound"},
        ),
        # Ways out: what holds behind them is the negation.
        ("if (i / 32 >= n) return; a[i] = k;", {"n": "bound"}),
        ("if (i / 32 < k) return; a[i] = 1;", {"k": "counter"}),
        ("if (i % 32 >= n || i / 32 >= m) { return; } a[i] = 1;", {"n": "bound", "m": "bound"}),
        ("if (!(i / 32 < n)) return; a[i] = 1;", {"n": "bound"}),
        ("bool outside = i / 32 >= n; if (outside) return; a[i] = 1;", {"n": "bound"}),
        ("bool inside = i / 32 < n; if (!inside) return; a[i] = 1;", {"n": "bound"}),
        ("if (i / 32 >= n) ; else a[i] = 1;", {"n": "bound"}),
        ("if (i / 32 < n) { a[i] = 1; } else return;", {"n": "bound"}),
        ("if (i / 32 < n) { a[i] = 1; return; }", {"n": "bound"}),
        ("if (i / 32 >= n) { a[0] = 1; return; } a[i] = 1;", {"n": "bound"}),
        (
            "if (k * (int)(gridDim.x * blockDim.x) + i / 8 >= n) return; a[i] = 1;",
            {"n": "bound", "k": "counter"},
        ),
        ("if (k >= m) return; if (i < n) a[i] = 1;", {"n": "guard", "m": "bound", "k": "counter"}),
        # Loops that are left from within.
        (
            "if (i < n) for (int j = 0;;) { if (j >= m) break; a[j++] = 1; }",
            {"n": "guard", "m": "bound"},
        ),
        (
            "if (i < n) while (true) { if (--m == 0) break; a[i] += 1; }",
            {"n": "guard", "m": "bound"},
        ),
        (
            "if (i < n) for (int j = 0;; j++) { if (j < m) a[j] = 1; else break; }",
            {"n": "guard", "m": "bound"},
        ),
        (
            "if (i < n) for (int j = 0;; j++) { if (j == m) return; a[j] = 1; }",
            {"n": "guard", "m": "bound"},
        ),
        (
            "if (i < n) for (int j = 0; j < m; j++) { if (j < k) continue; a[j] = 1; }",
            {"n": "guard", "m": "bound", "k": "bound"},
        ),
        (
            "if (i < n) switch (m) { case 1: if (i == k) break; a[i] = 1; }",
            {"n": "guard", "m": "branch", "k": "counter"},
        ),
        # Other loops.
        ("if (i < n) { int j = 0; do a[j] = 1; while (++j < m); }", {"n": "guard", "m": "bound"}),
        (
            "if (i < n) { int j = m; while (j-- > k) a[j] = 1; }",
            {"n": "guard", "m": "bound", "k": "bound"},
        ),
        ("if (i < n) while (m--) a[i] += 1;", {"n": "guard", "m": "bound"}),
        (
            "if (i < n) for (int j = 0; j < m && a[j] > 0; j++) a[i] += 1;",
            {"n": "guard", "m": "bound"},
        ),
        (
            "if (i < n) for (float *p = a + k; p < a + m; p++) *p = 1;",
            {"n": "guard", "m": "bound", "k": "counter"},
        ),
        (
            "if (i < n) { float *end = a + m; for (float *p = a; p != end; ++p) *p = 1; }",
            {"n": "guard", "m": "bound"},
        ),
    ],
)
def test_roles(body: str, roles: dict[str, str]) -> None:
    text = f"""
        __device__ void g(float *p, int size, int x) {{ for (int j = 0; j < size; j++) p[x] = j; }}
        __global__ void k1(int k, int m, int n, float f, float *a) {{ {INDEX} {body} }}"""
    (kernel,) = program_of(text).kernels
    assert {p.name: p.role.value for p in kernel.data_parameters} == roles
    assert [p.name for p in kernel.data_parameters] == sorted(roles)


@pytest.mark.parametrize(
    ("before", "bounds", "limit"),
    [
        ("", "__launch_bounds__(128, 4)", 128),
        ("", "__launch_bounds__((8) * (16 + 16) - 64 / 2)", 224),
        ("const int THREADS = 192;", "__launch_bounds__(THREADS)", 192),
        ("#define THREADS (8 * 8)", "__launch_bounds__(THREADS)", 64),
        ("template <int Threads>", "__launch_bounds__(Threads)", 96),
        ("", "__attribute__((launch_bounds(96)))", 96),
        ("__global__ void __launch_bounds__(160) k(int n, float *a);", "", 160),
        ("__global__ void __launch_bounds__(160) other(int n, float *a);", "", 1024),
    ],
)
def test_launch_bounds(before: str, bounds: str, limit: int) -> None:
    text = (
        f"{before}\n__global__ {bounds} void k(int n, float *a) {{ {INDEX} if (i < n) a[i] = 1; }}"
    )
    if "template" in before:
        text += "template __global__ void k<96>(int, float *);"
    assert [kernel.max_threads for kernel in program_of(text).kernels] == [limit]


@pytest.mark.parametrize(("further", "is_tunable"), [(61, True), (62, False)])
def test_each_argument_has_a_bit(further: int, is_tunable: bool) -> None:
    # One that no bit tells is not part of what a remembered decision is for.
    others = "".join(f"int a{number}, " for number in range(further))
    kernel = f"__global__ void k(int *x, {others}int n) {{ {INDEX} if (i < n) x[i] = n; }}\n"
    values = "0, " * further
    program = program_of(f"{kernel}void f(int n, int *x) {{ k<<<n, 64>>>(x, {values}n); }}")
    (site,) = program.launches
    assert (site.code is None) == is_tunable
    assert is_tunable or (site.code is Code.NOT_PROVEN and "63 arguments" in site.reason)


@pytest.mark.parametrize(
    "n", ["[[maybe_unused]] int n", "int n [[maybe_unused]]", "int n __attribute__((unused))"]
)
def test_an_attribute_is_no_part_of_a_type(n: str) -> None:
    body = f"{INDEX} if (i < n) a[i] = 1;"
    (kernel,) = program_of(f"__global__ void k([[maybe_unused]] int *a, {n}) {{ {body} }}").kernels
    assert [(one.name, one.type) for one in kernel.parameters] == [("a", "int *"), ("n", "int")]
    assert kernel.dimensions[0].guard == "n"


def test_a_parameter_whose_name_is_not_read_gives_no_guard() -> None:
    (kernel,) = program_of(
        f"__global__ void k(int *a, int (n)) {{ {INDEX} if (i < n) a[i] = 1; }}"
    ).kernels
    assert kernel.pure_dimensions == ("x",)
    assert kernel.dimensions[0].guard is None


def test_facts_of_a_kernel() -> None:
    text = f"""
        template <typename T, int Width>
        __global__ void k(const T *__restrict__ a, unsigned int n, float b[],
                                                 std::size_t m = 3) {{
            {INDEX} if (i < m) b[i] = a[n]; }}"""
    (kernel,) = program_of(text).kernels
    assert [(p.name, p.type, p.is_pointer) for p in kernel.parameters] == [
        ("a", "const T * __restrict__", True),
        ("n", "unsigned int", False),
        ("b", "float[]", True),
        ("m", "std::size_t", False),
    ]
    assert kernel.template_parameters == ("T", "Width")
    assert (
        kernel.source[kernel.span].startswith("template") and kernel.source[kernel.span][-1] == "}"
    )


EXPANDED = """# 1 "test.cu"
# 1 "<built-in>" 1
# 1 "/usr/cuda/include/cuda_runtime.h" 1
__attribute__((device)) int hidden() { return threadIdx.x; }
# 1 "test.cu" 2
# 1 "/usr/include/stdio.h" 1 3 4
extern int printf (const char *, ...);
# 2 "test.cu" 2
# 1 "help.h" 1
# 3 "help.h"
static __attribute__((device)) float twice(float x) { return x + x; }
__attribute__((global)) void from_header(float *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 0; }
# 3 "test.cu" 2
__attribute__((global)) void k(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 1 + 2 && a !=
# 5 "test.cu" 3 4
                   __null
# 5 "test.cu"
                       ) a[i] = twice(1);
}
void run(float *a) { k<<<1, 32>>>(1, a); from_header<<<1, 32>>>(a); }
"""
WRITTEN = """#include <stdio.h>
#include "help.h"
KERNEL k(int n, float *a) {
    int i = ID(x);
    if (i < LIMIT && a != NULL) a[i] = twice(1);
}
void run(float *a) { k<<<1, 32>>>(1, a); from_header<<<1, 32>>>(a); }
"""


def test_preprocessed_text() -> None:
    program = program_of(WRITTEN, EXPANDED)
    assert [(k.name, k.source.path) for k in program.kernels] == [
        ("k", "test.cu"),
        ("from_header", "help.h"),
    ]
    kernel = program.kernels[0]
    assert kernel.source.location(kernel.span.start).line == 3
    assert kernel.source is program.source
    header = program.kernels[1]
    assert header.source.location(header.span.start).line == 4


def test_a_header_read_twice_gives_both_kernels() -> None:
    body = "(float *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = 0; }"
    expanded = '# 1 "test.cu"\n' + "".join(
        f'# 1 "one.h" 1\n__attribute__((global)) void k{number}{body}\n# {number + 1} "test.cu" 2\n'
        for number in (1, 2)
    )
    launches = "void run(float *a) { k1<<<1, 32>>>(a); k2<<<1, 32>>>(a); }\n"
    program = program_of(f'#include "one.h"\n#include "one.h"\n{launches}', expanded + launches)
    assert [site.code for site in program.launches] == [Code.NO_COMPILED_CODE] * 2
    assert {kernel.name for kernel in program.kernels} == {"k1", "k2"}


def test_headers_without_nvcc(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text('#pragma once\n#include "b.h"\n#include "a.h"\n#include "no.h"\n')
    (tmp_path / "b.h").write_text("#define ID (blockIdx.x * blockDim.x + threadIdx.x)\n")
    path = tmp_path / "test.cu"
    path.write_text('#include "a.h"\n__global__ void k(float *a) { a[ID] = 0; }\n')
    source = read_source(path)
    assert [Path(h.path).name for h in find_headers(source)] == ["a.h", "b.h"]


@pytest.mark.parametrize(
    ("second", "code"),
    [
        (
            f"__global__ void k(int n, float *b) {{ {INDEX} if (i < n) b[i] = 1; }}",
            Code.DIFFERING_KERNELS,
        ),
        (f"__global__ void k(int n, float *a) {{ {INDEX} if (i <= n) a[i] = 1; }}", None),
        (f"__global__ void k(int n, float *a) {{ {INDEX} if (i < n) a[i] = 2; }}", None),
    ],
)
def test_kernels_of_one_name(second: str, code: Code | None) -> None:
    first = f"__global__ void k(int n, float *a) {{ {INDEX} if (i < n) a[i] = 1; }}"
    text = f"#if A\n{first}\n#else\n{second}\n#endif\nvoid f(float *a) {{ k<<<1, 2>>>(1, a); }}"
    (site,) = program_of(text).launches
    assert site.code is code


def test_an_error_gives_an_empty_program() -> None:
    program = program_of("__global__ void k() {")
    assert not program.kernels and not program.launches
    assert [d.code for d in program.diagnostics] == [Code.UNBALANCED]


def test_spans_of_a_launch() -> None:
    text = "__global__ void k(int a) {}\nvoid f() {\n  n::k<int><<<1 + 1,  2>>>(3 , g( 4 ));\n}"
    program = program_of(text)
    (site,) = program.launches
    assert program.source[site.span] == "n::k<int><<<1 + 1,  2>>>(3 , g( 4 ))"
    assert [program.source[span] for span in site.configuration_spans] == list(site.configuration)
    assert site.arguments == ("3", "g( 4 )")
    assert (site.id, site.kernel, site.callee, site.function) == (1, "k", "n::k<int>", "f")


def sample(path: Path) -> Program:
    return analyzed(read_source(path))


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.cu")), ids=lambda path: path.stem)
def test_samples_are_tunable(path: Path) -> None:
    program = sample(path)
    assert program.launches and program.launches == program.tunable_launches
    assert not program.diagnostics
    for kernel in program.kernels:
        assert all(f.guard is not None for f in kernel.dimensions if f.indexed)
    document = json.loads(json.dumps(to_json([program])))
    assert {launch["verdict"] for launch in document["launches"]} == {"tunable"}
    assert all(launch["data_parameters"] for launch in document["launches"])


def test_launch_counters_are_no_sizes() -> None:
    fdtd = sample(SAMPLES / "fdtd2d.cu").kernel("fdtd_step1_kernel")
    gram = sample(SAMPLES / "gramschm.cu").kernel("gramschmidt_kernel3")
    assert fdtd is not None and fdtd.sizes == ("NX", "NY")
    assert gram is not None and gram.sizes == ("NI", "NJ")


@pytest.mark.nvcc
@pytest.mark.parametrize("name", ["gemm", "fdtd2d", "gramschm"])
def test_the_compiler_sees_the_same(name: str) -> None:
    path = SAMPLES / f"{name}.cu"
    syntax = parse(read_source(path))
    expanded = analyze(UnitTexts.read(syntax, find_nvcc().preprocess(path)))
    written = analyze(UnitTexts.read(syntax))
    assert list(map(_facts, expanded.kernels)) == list(map(_facts, written.kernels))
    assert expanded.launches == written.launches


def _facts(kernel: Kernel) -> object:
    return kernel.name, kernel.span, kernel.dimensions, kernel.data_parameters, kernel.parameters


@pytest.mark.parametrize("configuration", ["1", "1, 2, 3, 4, 5", ",", "1, ", ", 1", ",,,,,", ""])
def test_a_configuration_that_is_none(configuration: str) -> None:
    kernel = f"__global__ void k(float *a) {{ {INDEX} a[i] = 1; }}"
    (site,) = program_of(f"{kernel} void f() {{ k<<<{configuration}>>>(p); }}").launches
    assert site.code is Code.HIDDEN_CONFIGURATION
    assert site.reason.startswith("'<<<")


def test_a_launch_by_a_call_is_told_once_for_each_kernel() -> None:
    kernels = "".join(
        f"__global__ void {name}(float *a, int n) {{ {INDEX} if (i < n) a[i] = 1; }}\n"
        for name in ("plain", "one", "all")
    )
    program = program_of(
        kernels
        + """
void f(float *a, int n, void **args) {
    cudaLaunchConfig_t config = {};
    // cudaLaunchKernelEx(&config, plain, a, n);
    cudaLaunchKernelEx(&config, one, a, n);
    cudaLaunchKernelEx(&config, one, a, n + 1);
    CHECK(cudaLaunchCooperativeKernel((void *)all, dim3(n / 128), dim3(128), args, 0, 0));
    cudaLaunchKernel(unknown, dim3(1), dim3(1), args, 0, 0);
}
"""
    )
    told = [d for d in program.diagnostics if d.code is Code.LAUNCHED_BY_CALL]
    assert [d.about for d in told] == ["one", "all"]
    assert "'one<<<grid, block>>>(…)'" in told[0].message
    assert "no other grid would do" in told[1].message
    source = program.source
    assert [source.location(d.span.start).line for d in told if d.span is not None] == [8, 10]


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ("nvrtcCompileProgram(program, 0, 0);\n    cuModuleLoadData(&module, ptx);", 2),
        ("use(cuModuleLoad);\n    check(cuLaunchKernel(f, 4, 1, 1, 64, 1, 1, 0, 0, args, 0));", 3),
        ("// cuLaunchKernel(f);\n    cuMemAlloc(&x, 4);", None),
    ],
)
def test_kernels_that_are_loaded_are_told_of_once(call: str, line: int | None) -> None:
    program = program_of(f"void f(void **args) {{\n    {call}\n}}\n")
    told = [d for d in program.diagnostics if d.code is Code.LOADED_KERNEL]
    lines = [program.source.location(d.span.start).line for d in told if d.span is not None]
    assert lines == [line] * (line is not None)


@pytest.mark.parametrize("end", [" = ", " = 4", " = 4,"])
def test_a_constant_that_the_file_does_not_end(end: str) -> None:
    program = program_of(f"#pragma cutune tune(TILE: 4, 8)\nconstexpr int TILE{end}")
    assert "CT264" in [one.code.number for one in program.diagnostics]
    assert program.constants == ()

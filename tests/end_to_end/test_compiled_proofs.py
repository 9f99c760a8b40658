"""Launches as source and compiled code have them together: one program, a verdict per kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import Program

pytestmark = pytest.mark.nvcc

SOURCE = """
#include <cuda_runtime.h>
struct Reference { int &n; __device__ void grow() { n *= 2; } };
using Changed = int &;
namespace inner { struct Extent { double h; int rows; }; }
struct Size { long long tag; int rows; unsigned columns; };
namespace tools { __device__ int id() { return blockIdx.x * blockDim.x + threadIdx.x; } }
#define ID (blockIdx.x * blockDim.x + threadIdx.x)

__global__ void plain(float *a, int n) { int i = ID; if (i < n) a[i] = 1; }
__global__ void grown(float *a, int n) {
    Reference r{n};
    r.grow();
    int i = ID;
    if (i < n) a[i] = 1;
}
__global__ void renamed(float *a, int n) { Changed m = n; m *= 2; int i = ID; if (i < n) a[i] = 1; }
__global__ void with_using(float *a, int n) {
    using namespace tools;
    using Real = float;
    int i = id();
    if (i < n) a[i] = Real(1);
}
__global__ void with_lambda(float *a, int n) {
    auto put = [=](int i) { if (i < n) a[i] = 2; };
    put(ID);
}
__global__ void stepped(float *a, int n) { int i = ID; i += 2; if (i < n) a[i] = 1; }
__global__ void pointed(float *a, int n) { int *p = &n; *p += 1; int i = ID; if (i < n) a[i] = 1; }
__global__ void halved(float *a, int n, int m) { int i = ID; if (i < n / 2 && i < m) a[i] = 1; }
__global__ void of_members(float *a, Size size) {
    int i = ID;
    if (i < size.rows) a[i] = size.columns;
}
__global__ void of_inner(float *a, inner::Extent extent) {
    int i = ID;
    if (i < extent.rows) a[i] = extent.h;
}
__global__ void of_unsigned(float *a, unsigned n, size_t m) {
    size_t i = ID;
    if (i < n && i < m) a[i] = 1;
}
__global__ void in_assembly(float *a, int n) {
    int i = ID;
    asm("{ add.s32 %0, %0, %1; }" : "+r"(i) : "r"(0));
    if (i < n) a[i] = 1;
}
template <class T> __global__ void twice(T *a, T by, int n) { int i = ID; if (i < n) a[i] *= by; }
__global__ void of_thread(float *a, int n) { int i = ID; if (i < n) a[i] = threadIdx.x; }

int main() {
    float *a = nullptr;
    double *b = nullptr;
    int n = 100;
    plain<<<1, 128>>>(a, n);
    grown<<<1, 128>>>(a, n);
    renamed<<<1, 128>>>(a, n);
    with_using<<<1, 128>>>(a, n);
    with_lambda<<<1, 128>>>(a, n);
    stepped<<<1, 128>>>(a, n);
    pointed<<<1, 128>>>(a, n);
    halved<<<1, 128>>>(a, n, n);
    of_members<<<1, 128>>>(a, Size{1, n, 2});
    of_inner<<<1, 128>>>(a, inner::Extent{1, n});
    of_unsigned<<<1, 128>>>(a, n, n);
    in_assembly<<<1, 128>>>(a, n);
    twice<float><<<1, 128>>>(a, 2, n);
    twice<double><<<1, 128>>>(b, 2, n);
    of_thread<<<2, 128>>>(a, n);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    path = tmp_path_factory.mktemp("compiled") / "app.cu"
    path.write_text(SOURCE)
    return Analyzer().load(str(path))


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "guard", "sizes"),
    [
        ("plain", "n", ("n",)),
        ("grown", "2 * n", ("n",)),
        ("with_using", "n", ("n",)),
        ("with_lambda", "n", ("n",)),
        ("stepped", "n - 2", ("n",)),
        ("pointed", "n + 1", ("n",)),
        ("halved", "m", ("n", "m")),
        ("of_members", "size.rows", ("size.rows",)),
        ("of_inner", "extent.rows", ("extent.rows",)),
        ("in_assembly", "n", ("n",)),
        ("twice", "n", ("n",)),
    ],
)
def test_tunable(program: Program, name: str, guard: str | None, sizes: tuple[str, ...]) -> None:
    sites = [site for site in program.launches if site.kernel == name]
    kernel = program.kernel(name)
    assert kernel is not None
    assert [site.code for site in sites] == [None] * len(sites)
    assert (kernel.dimensions[0].guard, kernel.sizes) == (guard, sizes)
    assert 80 in kernel.proven_for


def test_one_of_two_guards_is_enough(program: Program) -> None:
    kernel = program.kernel("of_unsigned")
    assert kernel is not None
    assert kernel.dimensions[0].guard in ("n", "m")


def test_what_the_compiled_code_bounds_is_the_guard(program: Program) -> None:
    (site,) = (site for site in program.launches if site.kernel == "renamed")
    assert site.code is None


def test_the_thread_itself_is_refused(program: Program) -> None:
    (site,) = (site for site in program.launches if site.kernel == "of_thread")
    assert site.code is Code.BLOCK_DEPENDENT


def test_entries_are_those_that_the_compiler_calls(program: Program) -> None:
    entries = [site.entries for site in program.launches if site.kernel == "twice"]
    assert entries == [("_Z5twiceIfEvPT_S0_i",), ("_Z5twiceIdEvPT_S0_i",)]


def test_kernels_of_headers_are_compiled_too(tmp_path: Path) -> None:
    """The preprocessed text no longer says `__global__`."""
    (tmp_path / "kernels.h").write_text(
        "__global__ void k(int *a, int n) "
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = i; }\n"
    )
    source = tmp_path / "main.cu"
    source.write_text('#include "kernels.h"\nint main() { k<<<1, 32>>>(nullptr, 3); }\n')
    program = Analyzer().load(str(source))
    (site,), (kernel,) = program.tunable_launches, program.kernels
    assert site.entries == ("_Z1kPii",) and 80 in kernel.proven_for


#: Each with `i` the global id and n its bound; what it does, and what it is told.
PACKED = {
    "of_ids": ("if (i < n) a[i] = __vabsdiffu4(i, n) + __vabsdiffs2(a[i], i);", None, False),
    "places": ("if (i < n) a[__vabsdiffu4(i, 3)] += i;", None, True),
    "of_threads": ("if (i < n) a[i] = __vsadu4(threadIdx.x, 7);", Code.BLOCK_DEPENDENT, None),
    "of_blocks": ("if (i < n) a[i] = __vabsdiffu2(blockDim.x, i);", Code.BLOCK_DEPENDENT, None),
    "guards": ("if (__vsadu4(threadIdx.x, i) < n) a[i] = i;", Code.BLOCK_DEPENDENT, None),
}


def test_differences_of_packed_numbers_are_functions_like_others(tmp_path: Path) -> None:
    source = tmp_path / "packed.cu"
    head = "(unsigned *a, unsigned n) { unsigned i = blockIdx.x * blockDim.x + threadIdx.x; "
    kernels = [f"__global__ void {name}{head}{body} }}" for name, (body, *_) in PACKED.items()]
    launches = "".join(f"{name}<<<2, 128>>>(nullptr, 200);" for name in PACKED)
    source.write_text("\n".join([*kernels, f"int main() {{ {launches} }}\n"]))
    found = Analyzer().load(str(source))
    for site in found.launches:
        _, code, needs_warps = PACKED[site.kernel]
        kernel = found.kernel(site.kernel)
        assert kernel is not None and site.code is code, site.reason
        assert needs_warps is None or kernel.needs_warps is needs_warps

"""Kernels that share a name with functions: their copies are launched all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.proof.analysis.analyzer import Analyzer
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK, QUICK_FLAGS, cutune

pytestmark = pytest.mark.nvcc

ID = "int i = blockIdx.x * 128 + threadIdx.x;"
ROWS = """{
    int row = blockIdx.x * blockDim.y + threadIdx.y; if (row >= d) return; float s = 0;
    for (int j = threadIdx.x; j < n; j += 32) s += from[row * n + j];
    for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
    if (threadIdx.x == 0) to[row] = s;
}"""
KERNELS = f"""\
#include <cstdio>
#include <cstdlib>
__global__ void rows(float *to, const float *from, int n, int d) {ROWS}
void rows(float *to, const float *from, int n, int d, int size) {{
    const int y = size / 32;
    rows<<<(d + y - 1) / y, dim3(32, y)>>>(to, from, n, d++); // rows
}}
__host__ __device__ float code(float x, int n) {{ return x * n; }}
__global__ void code(float *to, const float *from, int n, int d);
void early(float *to, const float *from, int n, int d) {{
    code<<<n * d / 128, 128>>>(to, from, n, d); // code
}}
__global__ void code(float *to, const float *from, int n, int d) {{
    {ID} if (i < n * d) to[i] += code(from[i], n);
}}
namespace some {{
template <class T> __device__ T third(T x) {{ return x + 1; }}
template <class T> __global__ void third(T *to, const T *from, int n, int d) {{
    {ID} if (i < n * d) to[i] += third(from[i]) + third<T>(1);
}}
template <class T> void third(T *to, const T *from, int n) {{
    third<T><<<n * 2 / 128, 128>>>(to, from, n, 2); // third
    third<<<n * 2 / 128, 128>>>(to, from, n, 2); // third
}}
}}
template <class T> void plain(T *to, const float *from, int n, int d) {{ *to = *from + n + d; }}
__global__ void plain(float *to, const float *from, int n, int d) {{
    {ID} if (i < n * d) to[i] += from[i];
}}
// Which function an address means is not known where a name has several.
namespace two {{ void hidden(int) {{}} }}
__global__ void hidden(float *to, const float *from, int n) {{ {ID} if (i < n) to[i] += from[i]; }}
__device__ float itself(float x) {{ return x; }}
__global__ void itself(float *to, const float *from, int n) {{
    {ID} float (*function)(float) = itself; if (i < n) to[i] += function(from[i]);
}}
"""
MAIN = """\
int main(int, char **words) {
    int n = atoi(words[1]), d = atoi(words[2]);
    float *to, *from;
    cudaMallocManaged(&to, n * d * sizeof *to);
    cudaMallocManaged(&from, n * d * sizeof *from);
    for (int i = 0; i < n * d; ++i) to[i] = 1, from[i] = i * 37 % 101;
    rows(to, from, n, d, 128);
    early(to, from, n, d);
    some::third(to, from, n);
    plain<<<n * d / 128, 128>>>(to, from, n, d); // plain
    hidden<<<n / 128, 128>>>(to, from, n); // -
    itself<<<n / 128, 128>>>(to, from, n); // -
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    double sum = 0;
    for (int i = 0; i < n * d; ++i) sum += to[i] * (i % 7 + 1);
    printf("%.1f\\n", sum);
}
"""


@pytest.mark.long
def test_a_kernel_is_told_from_functions_by_the_type_of_its_copy(tmp_path: Path) -> None:
    path = tmp_path / "app.cu"
    path.write_text(KERNELS + MAIN)
    program = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True)
    lines = path.read_text().splitlines()
    told = [lines[site.source.location(site.span.start).line - 1] for site in program.launches]
    names = ["-" if one.code is not None else one.kernel for one in program.launches]
    assert names == [line.partition("// ")[2] for line in told]
    assert all(site.by_copy == (site.code is None) for site in program.launches)
    sizes = ("--vary", "n=128,1024", "--vary", "d=2,9")
    running = ("--run", "{program} {n} {d}", *sizes, "--seeds", 4)
    shaken = cutune("shake", path, *running, *QUICK, cwd=tmp_path)
    assert shaken.returncode == 0, shaken.stdout + shaken.stderr


DECLARED = f"""\
__global__ void fill(float *to, const float *from, int n, int d) {{
    {ID} if (i < n * d) to[i] += from[i];
}}
// Another source has this one.
__global__ void fill(float *to, const float *from, long n, long d);
void fill(int) {{}}
void go(float *to, long n) {{
    fill<<<n / 128, 128>>>(to, to, n, 1L);
    fill<<<n / 128, 128>>>(to, to, int(n), 1);
}}
"""


def test_a_kernel_that_is_declared_alone_is_not_taken_for_the_copied_one(tmp_path: Path) -> None:
    path = tmp_path / "app.cu"
    path.write_text(DECLARED)
    program = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True)
    assert [site.code for site in program.launches] == [Code.MISSING_KERNEL, None]

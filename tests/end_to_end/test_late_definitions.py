"""Kernels that are declared first and defined behind their launches have copies, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.proof.analysis.analyzer import Analyzer
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK, QUICK_FLAGS, cutune

pytestmark = pytest.mark.nvcc

PROGRAM = """
#include <cstdio>
#include <cstdlib>
const int T = 32;
__global__ void tile(const float *A, float *B, // the rows
                     const int N = 7);
__global__ void one(const float *A, float *B, int N);
__global__ void again(const float *A, float *B, int N);
__global__ void again(const float *A, float *B, int N);
namespace deep { __global__ void inner(const float *A, float *B, const int N); }
template <class V> __global__ void typed(const V *A, V *B, const int N);
__global__ void listed(const float *A, float *B, const int N), other(float *A);
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100;
    float *a, *b;
    cudaMallocManaged(&a, n * n * sizeof(float));
    cudaMallocManaged(&b, n * n * sizeof(float));
    for (int i = 0; i < n * n; ++i) a[i] = i, b[i] = 1;
    tile<<<dim3((n + 31) / 32, (n + 31) / 32), dim3(T, T)>>>(a, b, n);
    one<<<n, 1>>>(a, b, n);
    again<<<(n + 31) / 32, T>>>(a, b, n);
    deep::inner<<<(n + 31) / 32, T>>>(a, b, n);
    typed<<<(n + 31) / 32, T>>>(a, b, n);
    listed<<<(n + 31) / 32, T>>>(a, b, n);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    unsigned sum = 0;
    for (int i = 0; i < n * n; ++i) sum = 31 * sum + (unsigned)b[i];
    printf("%u\\n", sum);
}
__global__ void tile(const float *A, float *B, const int N) {
    const int x = blockIdx.x * T + threadIdx.x, y = blockIdx.y * T + threadIdx.y;
    if (x < N && y < N) B[y * N + x] += A[y * N + x];
}
__global__ void one(const float *A, float *B, int N) {
    int i = blockIdx.x;
    if (i < N) B[i] += A[i] * 3;
}
#define ADD(by) int i = blockIdx.x * T + threadIdx.x; if (i < N) B[i] += A[i] * by
__global__ void again(const float *A, float *B, int N) { ADD(4); }
namespace deep { __global__ void inner(const float *A, float *B, const int N) {
    int i = blockIdx.x * T + threadIdx.x; if (i < N) B[i] += A[i] * 2; } }
template <class V> __global__ void typed(const V *A, V *B, const int N) {
    int i = blockIdx.x * T + threadIdx.x; if (i < N) B[i] += A[i] * 5; }
__global__ void listed(const float *A, float *B, const int N) {
    int i = blockIdx.x * T + threadIdx.x; if (i < N) B[i] += A[i] * 6; }
"""
#: `typed` is a template, `listed` is declared beside another one, `again` has its index in a macro.
TUNABLE = {"tile", "one", "inner"}


@pytest.mark.long
def test_copies_are_declared_with_their_kernels(tmp_path: Path) -> None:
    path = tmp_path / "late.cu"
    path.write_text(PROGRAM)
    program = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True)
    found = {site.kernel for site in program.launches if site.verdict.value == "tunable"}
    assert found == TUNABLE
    shaken = cutune(
        "shake", path, "--run", "{program} {n}", "--vary", "n=1,33,100", "--seeds", 6, *QUICK
    )
    assert shaken.returncode == 0, shaken.stdout + shaken.stderr

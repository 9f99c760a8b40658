"""Kernels whose threads all pass `threadIdx.x < m`: other blocks only where m is large enough."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.proof.analysis.analyzer import Analyzer
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK, QUICK_FLAGS, cutune

pytestmark = pytest.mark.nvcc

TEXT = """#include <cstdio>
#include <cstdlib>
__global__ void by_ids(float *out, const float *in, int n, int m) {
    if (threadIdx.x >= m) return;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * 3;
}
__global__ void by_warps(float *out, const float *in, int n, int m) {
    if (threadIdx.x >= m) return;
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= n / 32) return;
    float s = in[row * 32 + lane];
    for (int o = 16; o; o /= 2) s += __shfl_down_sync(~0u, s, o);
    if (lane == 0) out[row] += s;
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]), m = atoi(argv[2]);
    float *out, *in;
    cudaMallocManaged(&out, 20000 * sizeof(float));
    cudaMallocManaged(&in, 20000 * sizeof(float));
    for (int i = 0; i < 20000; ++i) in[i] = i * 37 % 101 * 0.37f, out[i] = 0;
    by_ids<<<(n + 63) / 64, 64>>>(out, in, n, m);
    by_warps<<<(n + 127) / 128, 128>>>(out, in, n, m);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    unsigned sum = 0;
    for (int i = 0; i < 20000; ++i) sum = 31 * sum + *(unsigned *)(out + i);
    printf("%u\\n", sum);
}
"""


@pytest.mark.long
def test_blocks_are_no_wider_than_a_size(tmp_path: Path) -> None:
    path = tmp_path / "app.cu"
    path.write_text(TEXT)
    program = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True)
    assert [site.verdict.value for site in program.launches] == ["tunable"] * 2
    sizes = ("--vary", "n=64,4000", "--vary", "m=96,1000,1024,5000")
    running = ("--run", "{program} {n} {m}", *sizes, "--seeds", 6)
    shaken = cutune("shake", path, *running, *QUICK, cwd=tmp_path)
    assert shaken.returncode == 0, shaken.stdout + shaken.stderr

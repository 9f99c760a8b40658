"""Kernels whose sizes are macros: the smallest launch that can be replayed is a large one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cutune_runs import cutune, select

pytestmark = pytest.mark.nvcc

PROGRAM = """
#ifndef N
#define N 2000
#endif
__global__ void product(int n, const float *a, const float *b, float *c) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < N && j < N) {
        float sum = 0;
        for (int k = 0; k < N; ++k) sum += a[i * N + k] * b[k * N + j];
        c[i * N + j] = sum;
    }
}
int main() {
    float *a, *b, *c;
    cudaMalloc(&a, N * N * 4);
    cudaMalloc(&b, N * N * 4);
    cudaMalloc(&c, N * N * 4);
    dim3 block(32, 8), grid((N + 31) / 32, (N + 7) / 8);
    product<<<grid, block>>>(N, a, b, c);
    return cudaDeviceSynchronize() != cudaSuccess;
}
"""


def test_a_launch_that_takes_too_long_is_counted_by_some_of_its_blocks(tmp_path: Path) -> None:
    """2000^3 steps of the loop, twice what a replayed launch may execute."""
    source = tmp_path / "product.cu"
    source.write_text(PROGRAM)
    tuned = cutune("tune", source, "--launches-only", "--workspace", tmp_path / "workspace")
    assert (tuned.returncode, tuned.stderr.count("warning")) == (0, 0), tuned.stderr
    block = select("product", tmp_path / "workspace")["ranked"][0]["block"]
    assert block[0] * block[1] * block[2] >= 64

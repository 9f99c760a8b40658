"""Kernels whose sizes are macros: the smallest launch that can be replayed is a large one."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.core.workspace import Workspace
from cutune.model.fit.fitted_model import read_models
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


@pytest.mark.long
def test_a_launch_that_takes_too_long_is_counted_by_some_of_its_blocks(tmp_path: Path) -> None:
    """2000^3 steps of the loop, twice what a replayed launch may execute."""
    source = tmp_path / "product.cu"
    source.write_text(PROGRAM)
    tuned = cutune("tune", source, "--launches-only", "--workspace", tmp_path / "workspace")
    assert (tuned.returncode, tuned.stderr.count("warning")) == (0, 0), tuned.stderr
    block = select("product", tmp_path / "workspace")["ranked"][0]["block"]
    assert block[0] * block[1] * block[2] >= 64


STRIDED = """
#include <cstdio>
const int N = 100003;
__global__ void triple(const float *a, float *b) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x)
        b[i] = a[i] * 3;
}
int main(int count, char **) {
    float *a, *b, last;
    cudaMalloc(&a, N * 4);
    cudaMalloc(&b, N * 4);
    cudaMemset(a, 0, N * 4);
    triple<<<16 * count, 1024>>>(a, b);
    cudaMemcpy(&last, b + N - 1, 4, cudaMemcpyDeviceToHost);
    printf("%g\\n", last);
}
"""


@pytest.mark.long
def test_a_loop_to_a_constant_is_counted_for_the_threads_of_its_launches(tmp_path: Path) -> None:
    """With more threads than N most have no round, and no function tells of both."""
    source, workspace = tmp_path / "strided.cu", tmp_path / "workspace"
    source.write_text(STRIDED)
    tuned = cutune("tune", source, "--run", "./{program}", "--workspace", workspace)
    assert (tuned.returncode, tuned.stderr.count("[CT4")) == (0, 0), tuned.stderr
    models = read_models(Workspace(workspace).models)
    own = next(one.kernel for one in models if not one.kernel.variant)
    assert (own.parameters, own.variable_extents) == ((), (False, False, False))
    # Twice as many threads are no launch that was counted.
    as_run, more = (cutune("run", tmp_path / "strided.tuned.cu", *words) for words in ((), ("2",)))
    assert "block 1024x1x1" not in as_run.stderr
    assert "grid 32x1x1, block 1024x1x1" in more.stderr

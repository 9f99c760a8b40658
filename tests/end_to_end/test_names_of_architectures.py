"""Kernels whose names hold the architectures that a build is for, as types of Thrust do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cutune_runs import cutune

pytestmark = pytest.mark.nvcc

PROGRAM = """
#include <cstdio>
#include <cstdlib>
#define ONE(a) THRUST_1_SM_##a##_NS
#define TWO(a, b) THRUST_1_SM_##a##_##b##_NS
#define CHOSEN(a, b, name, ...) name
#define NAMED(...) CHOSEN(__VA_ARGS__, TWO, ONE, ONE)(__VA_ARGS__)
namespace NAMED(__CUDA_ARCH_LIST__) { struct number { float x, y; }; }
using namespace NAMED(__CUDA_ARCH_LIST__);
__global__ void turn(int n, number *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = {-a[i].y, a[i].x};
}
int main(int, char **words) {
    int n = atoi(words[1]);
    number *a, last;
    cudaMalloc(&a, n * sizeof *a);
    cudaMemset(a, 0, n * sizeof *a);
    turn<<<(n + 31) / 32, 32>>>(n, a);
    cudaMemcpy(&last, a + n - 1, sizeof last, cudaMemcpyDeviceToHost);
    printf("%g\\n", last.y);
}
"""


@pytest.mark.long
def test_the_emulated_device_runs_the_kernel_of_another_architecture(tmp_path: Path) -> None:
    source = tmp_path / "turn.cu"
    source.write_text(PROGRAM)
    runs = ("--run", "./{program} {n}", "--vary", "n=1000,3000", "--variants=none")
    tuned = cutune("tune", source, "-arch=sm_90", *runs, "--workspace", tmp_path / "workspace")
    assert tuned.returncode == 0, tuned.stderr
    assert "1 launch: 1 tuned" in tuned.stdout
    run = cutune("run", tmp_path / "turn.tuned.cu", "100000")
    assert run.stdout == "0\n" and "block 32x1x1" not in run.stderr

"""Kernels that walk two dimensions by one index, within a halo, as finite-difference codes do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.tuning import compiled, run, tune

pytestmark = pytest.mark.nvcc

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
__global__ void blur(int nx, int ny, int pad, const float *from, float *to) {
    const int id = threadIdx.x + blockIdx.x * blockDim.x;
    const int column = id % nx, row = id / nx;
    if (row < pad || column < pad || column >= nx - pad || row >= ny - pad) return;
    float sum = 0;
    for (int k = -pad; k <= pad; ++k) sum += from[id + k] + from[id + k * nx];
    to[id] = sum;
}
int main(int count, char **words) {
    const int nx = atoi(words[1]), ny = nx + 4, pad = count > 2 ? atoi(words[2]) : 2;
    float *from, *to, sum = 0, *host = new float[nx * ny];
    for (int i = 0; i < nx * ny; ++i) host[i] = i % 7;
    cudaMalloc(&from, nx * ny * 4);
    cudaMalloc(&to, nx * ny * 4);
    cudaMemcpy(from, host, nx * ny * 4, cudaMemcpyHostToDevice);
    cudaMemset(to, 0, nx * ny * 4);
    blur<<<(nx * ny + 95) / 96, 96>>>(nx, ny, pad, from, to);
    cudaMemcpy(host, to, nx * ny * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < nx * ny; ++i) sum += host[i];
    printf("%g\n", sum);
}
"""


def test_rows_bound_the_index_and_the_halo_is_no_size(tmp_path: Path) -> None:
    source = tmp_path / "blur.cu"
    source.write_text(PROGRAM)
    tuned = tune(source, tmp_path)
    original = compiled(source, source, tmp_path / "blur.original")
    binary = compiled(tuned, source, tmp_path / "blur")
    for halo in ("2", "3"):
        usual, chosen = run(original, "999", halo), run(binary, "999", halo, CUTUNE="verbose")
        assert usual.stdout == chosen.stdout != "0\n"
        # The model was made for a halo of two.
        assert ("block 96x1x1 -> " in chosen.stderr) == (halo == "2"), chosen.stderr

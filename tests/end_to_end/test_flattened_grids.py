"""Kernels that walk two dimensions by one index, within a halo, as finite-difference codes do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cutune_runs import compiled, run, select, tune

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


@pytest.mark.long
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


POOLING = r"""
#include <cmath>
#include <cstdio>
#include <cstdlib>
__global__ void pool(int n, int side, const float *from, float *to) {
    const int x = threadIdx.x + blockIdx.x * blockDim.x;
    if (x >= side) return;
    float most = 0;
    for (int row = 0; row < n; ++row)
        for (int k = 2 * x; k < 2 * x + 2 && k < n; ++k) most = fmaxf(most, from[row * n + k]);
    to[x] = most;
}
int main(int count, char **words) {
    const int n = atoi(words[1]), side = count > 2 ? atoi(words[2]) : (n + 1) / 2;
    float *from, *to, sum = 0, *host = new float[n * n];
    for (int i = 0; i < n * n; ++i) host[i] = i % 7;
    cudaMalloc(&from, n * n * 4);
    cudaMalloc(&to, side * 4);
    cudaMemcpy(from, host, n * n * 4, cudaMemcpyHostToDevice);
    pool<<<(side + 223) / 224, 224>>>(n, side, from, to);
    cudaMemcpy(host, to, side * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < side; ++i) sum += host[i];
    printf("%g\n", sum);
}
"""


@pytest.mark.long
def test_half_a_size_follows_from_it(tmp_path: Path) -> None:
    source = tmp_path / "pool.cu"
    source.write_text(POOLING)
    binary = compiled(tune(source, tmp_path), source, tmp_path / "pool")
    for sides, is_chosen in ((["901"], True), (["901", "300"], False)):
        chosen = run(binary, *sides, CUTUNE="verbose")
        assert ("block 224x1x1 -> " in chosen.stderr) == is_chosen, chosen.stderr


#: A thread per place, and no bound: what the last row and the last column read is another place.
CLAMPED = r"""
#include <cstdio>
#include <cstdlib>
__global__ void relax(int nx, int ny, int layers, const float *from, float *to) {
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    const int j = threadIdx.y + blockIdx.y * blockDim.y;
    int here = i + j * nx;
    const int right = i == nx - 1 ? 0 : 1, below = j == ny - 1 ? 0 : nx;
    for (int k = 0; k < layers; ++k) {
        float sum = from[here] + from[here + right];
        if (below != 0) sum += from[here + below];
        to[here] = sum;
        here += nx * ny;
    }
}
int main(int count, char **words) {
    const int n = atoi(words[1]), layers = 8;
    const size_t bytes = size_t(n) * n * layers * 4;
    float *from, *to, last;
    cudaMalloc(&from, bytes);
    cudaMalloc(&to, bytes);
    cudaMemset(from, 0, bytes);
    relax<<<dim3(n / 16, n / 4), dim3(16, 4)>>>(n, n, layers, from, to);
    cudaMemcpy(&last, to, 4, cudaMemcpyDeviceToHost);
    printf("%g\n", last);
}
"""


@pytest.mark.long
def test_a_kernel_that_asks_for_its_last_row_is_counted_as_large_as_its_sizes(
    tmp_path: Path,
) -> None:
    source = tmp_path / "relax.cu"
    source.write_text(CLAMPED)
    tune(source, tmp_path, "64,128")
    sizes = ("nx=2048", "ny=2048", "layers=8")
    answer = select("relax", tmp_path, *sizes)
    assert len(answer["ranked"]) > 5 and not answer["extrapolated"]

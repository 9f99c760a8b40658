"""What users assert is tried: wrong candidates are found, right ones are used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.tuning import compiled, cutune, run, select

pytestmark = pytest.mark.nvcc

#: Right for powers of two up to 256: others lose summands, larger ones leave `tile`.
SUMS = """
#include <cstdio>
#include <cstdlib>
#pragma cutune kernel sums data(n) block(x: 64..1024) grid(ceil(n / x))
__global__ void sums(int n, const float *a, float *b) {
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) tile[threadIdx.x] += tile[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(b, tile[0]);
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 20000;
    float *a, *b, *h = (float *)malloc(n * 4);
    for (int i = 0; i < n; ++i) h[i] = i % 7;
    cudaMalloc(&a, n * 4);
    cudaMalloc(&b, 4);
    cudaMemcpy(a, h, n * 4, cudaMemcpyHostToDevice);
    cudaMemset(b, 0, 4);
    sums<<<(n + 255) / 256, 256>>>(n, a, b);
    cudaMemcpy(h, b, 4, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) return 1;
    printf("%g\\n", h[0]);
}
"""


def test_wrong_candidates_are_left_out(tmp_path: Path) -> None:
    source, tuned = tmp_path / "sums.cu", tmp_path / "sums.tuned.cu"
    source.write_text(SUMS)
    done = cutune(
        *("tune", source, "--run", "./{program} {n}", "--vary", "n=20000,50000"),
        *("--workspace", tmp_path / "work", "-o", tuned),
    )
    assert done.returncode == 0, done.stderr
    assert "CT416" in done.stderr
    ranked = select("sums", tmp_path / "work", "n=100000")["ranked"]
    assert sorted(entry["block"][0] for entry in ranked) == [64, 128, 256]
    binary = compiled(tuned, source, tmp_path / "tuned")
    original = compiled(source, source, tmp_path / "original")
    assert run(binary, "70000").stdout == run(original, "70000").stdout != ""


def test_no_annotation_no_change(tmp_path: Path) -> None:
    source = tmp_path / "sums.cu"
    source.write_text(SUMS.replace("#pragma cutune kernel", "// "))
    done = cutune("instrument", source)
    assert done.stdout == source.read_text()
    suggested = cutune("inspect", "--suggest", source).stdout
    assert "#pragma cutune kernel sums data(n) block(x: 32..1024)" in suggested

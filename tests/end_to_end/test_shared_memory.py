"""Dynamic shared memory follows the chosen block, by what the user says or by inference."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.cutune_runs import QUICK, compiled, cutune, host_program, run, select

pytestmark = pytest.mark.nvcc

#: `sums` is right for powers of two, `staged` for every block that its memory suffices for.
PROGRAM = """
#include <cstdio>
#include <cstdlib>
#pragma cutune kernel sums data(n) block(x: 64, 96, 128, 256, 512, 1024) grid(ceil(n / x))
__global__ void sums(int n, const float *a, float *b) {
    extern __shared__ float tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) tile[threadIdx.x] += tile[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(b, tile[0]);
}
#pragma cutune kernel staged data(n) block(x: 8, 16, 32, y: 2, 8, 32) \\
    grid(ceil(n / x), ceil(n / y)) shared(64 * (x + 1) * y)
__global__ void staged(int n, const float *a, float *b) {
    extern __shared__ float rows[];
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
    int own = 16 * (threadIdx.y * (blockDim.x + 1) + threadIdx.x);
    int last = 16 * ((blockDim.y - 1) * (blockDim.x + 1) + blockDim.x) + 15;
    rows[own] = i < n && j < n ? a[j * n + i] : 0;
    rows[last] = 1;
    __syncthreads();
    if (i < n && j < n) b[i * n + j] = rows[own] + rows[last];
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100, count = n * n;
    float *a, *b, *c;
    float *h = new float[count];
    for (int i = 0; i < count; ++i) h[i] = i % 7;
    cudaMalloc(&a, count * 4);
    cudaMalloc(&b, 4);
    cudaMalloc(&c, count * 4);
    cudaMemcpy(a, h, count * 4, cudaMemcpyHostToDevice);
    cudaMemset(b, 0, 4);
    int threads = 256;
    size_t bytes = threads * sizeof(float);
    sums<<<(count + threads - 1) / threads, threads, bytes>>>(count, a, b);
    staged<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16), 64 * 17 * 16>>>(n, a, c);
    cudaMemcpy(h, b, 4, cudaMemcpyDeviceToHost);
    printf("%g\\n", h[0]);
    cudaMemcpy(h, c, count * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < count; i += 37) printf("%g ", h[i]);
    return cudaGetLastError() != cudaSuccess;
}
"""


def test_the_memory_follows_the_block(tmp_path: Path) -> None:
    source, tuned = tmp_path / "sums.cu", tmp_path / "sums.tuned.cu"
    source.write_text(PROGRAM)
    done = cutune(
        *("tune", source, "--run", "./{program} {n}", "--vary", "n=100,200"),
        *("--workspace", tmp_path / "work", "-o", tuned, *QUICK),
    )
    assert done.returncode == 0, done.stderr
    # Larger blocks than the program's own would leave the memory that it asks for.
    ranked = select("sums", tmp_path / "work", "n=90000")["ranked"]
    assert sorted(entry["block"][0] for entry in ranked) == [64, 128, 256, 512, 1024]
    # 32 x 32 needs more than 48 KB, the program's own block stays a candidate.
    ranked = select("staged", tmp_path / "work", "n=300")["ranked"]
    shapes = {tuple(entry["block"][:2]) for entry in ranked}
    assert {(32, 8), (8, 32), (16, 16)} < shapes and (32, 32) not in shapes
    binary = compiled(tuned, source, tmp_path / "tuned")
    original = compiled(source, source, tmp_path / "original")
    for size in ("100", "300"):
        asked = run(original, size)
        chosen = run(binary, size, CUTUNE="verbose")
        assert asked.returncode == chosen.returncode == 0
        assert chosen.stdout == asked.stdout != ""
        decisions = re.findall(r"(\w+), .*: block (\S+) -> (\S+)", chosen.stderr)
        assert [name for name, _, _ in decisions] == ["sums", "staged"]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("1024 256 512", "1 524288 2048"),
        ("1024 256 256", "1 1048576 1024"),
        # The program asks for something else than the formula says: only its own block.
        ("1020 256 512", "0 0 1"),
        ("1020 256 256", "1 1048576 1020"),
        ("0 256 512", "0 0 1"),
    ],
)
def test_the_rule(question: str, answer: str, fit_shared: Path) -> None:
    done = subprocess.run([fit_shared], input=question, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == answer


@pytest.fixture(scope="module")
def fit_shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return host_program("fit_shared", tmp_path_factory.mktemp("fit"))

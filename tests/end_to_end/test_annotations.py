"""What users assert is tried: wrong candidates are found, right ones are used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cutune_runs import QUICK, compiled, cutune, run, select

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
        if (threadIdx.x < s) atomicAdd(&tile[threadIdx.x], tile[threadIdx.x + s]);
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

#: Right for all blocks whose warps are 32 neighbours.
SHUFFLES = """
#include <cstdio>
#include <cstdlib>
#pragma cutune kernel sums data(n) block(x: 32, 48, 64, 128, 256, 512) grid(keep)
__global__ void sums(const int *in, int *out, int n) {
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[blockIdx.x * n + i];
    for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(0xffffffff, sum, half);
    if (threadIdx.x % 32 == 0) atomicAdd(&out[blockIdx.x], sum);
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100, rows = 40;
    int *h = new int[n * rows];
    for (int i = 0; i < n * rows; ++i) h[i] = i % 1013;
    int *a, *b;
    cudaMalloc(&a, n * rows * 4);
    cudaMalloc(&b, rows * 4);
    cudaMemset(b, 0, rows * 4);
    cudaMemcpy(a, h, n * rows * 4, cudaMemcpyHostToDevice);
    sums<<<rows, 128>>>(a, b, n);
    cudaMemcpy(h, b, rows * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < rows; ++i) printf("%d\\n", h[i]);
}
"""


@pytest.mark.long
def test_wrong_candidates_are_left_out(tmp_path: Path) -> None:
    source, tuned = tmp_path / "sums.cu", tmp_path / "sums.tuned.cu"
    source.write_text(SUMS)
    done = cutune(
        *("tune", source, "--run", "./{program} {n}", "--vary", "n=20000,50000"),
        *("--workspace", tmp_path / "work", "-o", tuned, *QUICK),
    )
    assert done.returncode == 0, done.stderr
    assert "CT416" in done.stderr
    assert "race" not in done.stderr
    ranked = select("sums", tmp_path / "work", "n=100000")["ranked"]
    assert sorted(entry["block"][0] for entry in ranked) == [64, 128, 256]
    binary = compiled(tuned, source, tmp_path / "tuned")
    original = compiled(source, source, tmp_path / "original")
    assert run(binary, "70000").stdout == run(original, "70000").stdout != ""


#: Right with its own block alone. In a launch of one block, as with 100 elements, none differs.
FIRST_OF_BLOCK = """
#include <cstdio>
#include <cstdlib>
#pragma cutune kernel twice data(n) block(x: 32, 64, 128, 256)
__global__ void twice(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = i * (1.0f + (threadIdx.x == 0));
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100;
    float *a;
    cudaMalloc(&a, n * 4);
    cudaMemset(a, 0, n * 4);
    twice<<<(n + 255) / 256, 256>>>(n, a);
    return cudaDeviceSynchronize() != cudaSuccess;
}
"""


def test_what_a_small_run_cannot_tell_apart_a_larger_one_does(tmp_path: Path) -> None:
    source, work = tmp_path / "twice.cu", tmp_path / "work"
    source.write_text(FIRST_OF_BLOCK)
    collect = ("collect", source, "--run", "./{program} {n}", "--workspace", work, *QUICK)
    small = cutune(*collect, "--vary", "n=100,101")
    assert "with thread blocks 32, 64, left out" in small.stderr, small.stderr
    done = cutune(*collect, "--vary", "n=100,3000")
    assert done.returncode == 0, done.stderr
    # Once, although the variant of the kernel goes wrong with the same blocks.
    (told,) = [line for line in done.stderr.splitlines() if "CT416" in line]
    assert "with thread blocks 32, 64, 128, left out" in told
    assert "Narrow block(...) in its annotation" in told and "twice.cu:" in told


def test_a_race_of_the_original_is_called_one(tmp_path: Path) -> None:
    source = tmp_path / "shift.cu"
    # Warps of one block read before others write; those of different blocks do not.
    kernel = """
__global__ void sums(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n) {
        float x = a[i - 1];
        #pragma unroll 1
        for (int k = 0; k < 5; ++k) x = x / 2 + k;
        a[i] = x;
    }
}
"""
    host = SUMS[SUMS.index("int main") :].replace("(n, a, b)", "(n, a)")
    source.write_text("#include <cstdio>\n#include <cstdlib>" + kernel + host)
    done = cutune(
        *("collect", source, "--run", "./{program} {n}", "--vary", "n=2000,3000"),
        *("--workspace", tmp_path / "work", *QUICK),
    )
    assert "shift.cu:6:" in done.stderr or "shift.cu:9:" in done.stderr, done.stderr
    assert "The original itself has a race" in done.stderr
    assert "CT427" in done.stderr
    assert "CT416" not in done.stderr


def test_no_annotation_no_change(tmp_path: Path) -> None:
    source = tmp_path / "sums.cu"
    source.write_text(SUMS.replace("#pragma cutune kernel", "// "))
    done = cutune("instrument", source, *QUICK)
    assert done.stdout == source.read_text()
    suggested = cutune("inspect", "--suggest", source, *QUICK).stdout
    assert "#pragma cutune kernel sums data(n) block(x: 32, 64, 128, 256)" in suggested


@pytest.mark.long
def test_warps_keep_their_threads(tmp_path: Path) -> None:
    source, tuned = tmp_path / "sums.cu", tmp_path / "sums.tuned.cu"
    source.write_text(SHUFFLES)
    done = cutune(
        *("tune", source, "--run", "./{program} {n}", "--vary", "n=300,1000"),
        *("--workspace", tmp_path / "work", "-o", tuned, *QUICK),
    )
    assert done.returncode == 0, done.stderr
    assert "CT416" not in done.stderr
    ranked = select("sums", tmp_path / "work", "n=5000", "G.x=40")["ranked"]
    assert sorted(entry["block"][0] for entry in ranked) == [32, 64, 128, 256, 512]
    binary = compiled(tuned, source, tmp_path / "tuned")
    original = compiled(source, source, tmp_path / "original")
    chosen = run(binary, "5000", CUTUNE="verbose")
    assert "block 128x1x1 -> 512x1x1" in chosen.stderr
    assert chosen.stdout == run(original, "5000").stdout != ""

"""Dynamic shared memory follows the chosen block, by what the user says or by inference."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from cutune.proof.analysis.analyzer import Analyzer
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import (
    QUICK,
    QUICK_FLAGS,
    compiled,
    cutune,
    host_program,
    run,
    select,
)

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


@pytest.mark.long
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
        ("1024 256 512 0", "1 524288 2048"),
        ("1024 256 256 0", "1 1048576 1024"),
        # The program asks for something else than the formula says: only its own block.
        ("1020 256 512 0", "0 0 1"),
        ("1020 256 256 0", "1 1048576 1020"),
        ("0 256 512 0", "0 0 1"),
        # All blocks get what the program asks for, if that is enough for each of them.
        ("128 256 512 128", "1 524288 128"),
        ("400 256 512 128", "1 524288 400"),
        ("124 256 512 128", "0 0 1"),
        ("124 256 256 128", "1 1048576 124"),
    ],
)
def test_the_rule(question: str, answer: str, fit_shared: Path) -> None:
    done = subprocess.run([fit_shared], input=question, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == answer


@pytest.fixture(scope="module")
def fit_shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return host_program("fit_shared", tmp_path_factory.mktemp("fit"))


#: `tree` needs four bytes for each thread, `slots` for each warp, `halves` two arrays of them.
NEEDED = """
#include <cstdio>
#include <cstdlib>
#define ROW int t = threadIdx.x, sum = 0; \\
    for (int j = t; j < n; j += blockDim.x) sum += in[blockIdx.x * n + j];
#define DOWN(v) for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(~0u, v, k);
__global__ void tree(int *out, const int *in, int n) {
    extern __shared__ int part[];
    ROW
    part[t] = sum;
    __syncthreads();
    for (int k = blockDim.x / 2; k > 0; k /= 2) {
        if (t < k) part[t] += part[t + k];
        __syncthreads();
    }
    for (int j = t; j < n; j += blockDim.x) out[blockIdx.x * n + j] += in[j] + part[0];
}
__global__ void slots(int *out, const int *in, int n) {
    extern __shared__ int part[];
    ROW
    DOWN(sum)
    if (t % 32 == 0) part[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = t < blockDim.x / 32 ? part[t] : 0;
        DOWN(sum)
        if (t == 0) out[blockIdx.x] += sum;
    }
}
__global__ void halves(int *out, const int *in, int n) {
    extern __shared__ int part[];
    int more = 0, *other = part + 32;
    ROW
    for (int j = t; j < n; j += blockDim.x) more += j * in[blockIdx.x * n + j];
    DOWN(sum)
    DOWN(more)
    if (t % 32 == 0) part[t / 32] = sum, other[t / 32] = more;
    __syncthreads();
    if (t < 32) {
        sum = t < blockDim.x / 32 ? part[t] : 0;
        more = t < blockDim.x / 32 ? other[t] : 0;
        DOWN(sum)
        DOWN(more)
        if (t == 0) out[blockIdx.x] += sum + more;
    }
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 300, block = argc > 2 ? atoi(argv[2]) : 128;
    size_t bytes = block * sizeof(int);
    bytes *= 1;
    const int warps = 4;
    int *out, *in;
    cudaMallocManaged(&out, 9 * 2000 * sizeof(int));
    cudaMallocManaged(&in, 9 * 2000 * sizeof(int));
    for (int i = 0; i < 9 * 2000; ++i) in[i] = i * 37 % 101, out[i] = 0;
LAUNCHES
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    unsigned sum = 0;
    for (int i = 0; i < 9 * 2000; ++i) sum = 31 * sum + out[i];
    printf("%u\\n", sum);
}
"""
#: Launches, and the memory that their blocks get; None where they stay.
GIVEN = {
    "tree<<<9, 256, 256 * sizeof(int)>>>": "x * 4",
    "tree<<<9, 128, 512>>>": "x * 4",
    "tree<<<9, dim3(64), 64 * 4>>>": "x * 4",
    # More than it needs: so is what other blocks get.
    "tree<<<9, 64, 300>>>": "x * 4 + 44",
    "tree<<<9, 64, 4096>>>": "4096",
    # Too little is a fault of the program, which stays.
    "tree<<<9, 128, 508>>>": None,
    # The launch is asked whether it is what its own block needs.
    "tree<<<9, block, bytes>>>": "x * 4",
    "tree<<<9, 128, n * sizeof(int)>>>": "x * 4",
    "tree<<<9, block, 512>>>": "x * 4",
    "slots<<<9, 128, warps * sizeof(int)>>>": "x / 32 * 4",
    "slots<<<9, 128, 16>>>": "x / 32 * 4",
    "slots<<<9, 128, 128 * sizeof(int)>>>": "512",
    "slots<<<9, block, 128>>>": "128",
    "slots<<<9, 128, 12>>>": None,
    "halves<<<9, 128, 144>>>": "x / 32 * 4 + 128",
    "halves<<<9, 128, 140>>>": None,
    "halves<<<9, 128, 64 * sizeof(int)>>>": "256",
}


@pytest.mark.long
def test_the_memory_that_a_kernel_is_proven_to_need(tmp_path: Path) -> None:
    launches = "".join(f"    {launch}(out, in, n);\n" for launch, given in GIVEN.items() if given)
    staying = "".join(
        f"    {launch}(out, in, n);\n" for launch, given in GIVEN.items() if not given
    )
    path = tmp_path / "needed.cu"
    path.write_text(NEEDED.replace("LAUNCHES", f"{launches}    if (n < 0) {{\n{staying}    }}"))
    program = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True)
    found = {
        f"{site.callee}<<<{', '.join(site.configuration)}>>>": site.shared
        if site.verdict.value == "tunable"
        else None
        for site in program.launches
    }
    assert found == GIVEN
    shaken = cutune(
        *("shake", path, "--run", "{program} {n} {block}", "--seeds", 4, *QUICK),
        *("--vary", "n=128,1900", "--vary", "block=64,128"),
    )
    assert shaken.returncode == 0, shaken.stdout + shaken.stderr

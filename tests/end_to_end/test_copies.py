"""Kernels with a constant for their block, through nvcc and the emulated device."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import Program
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK, QUICK_FLAGS, cutune

pytestmark = pytest.mark.nvcc

HEAD = """\
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
"""
KERNELS = """\
#define BLOCK 128
const unsigned ROW = 16;
namespace tools {
template <class T, int WIDTH>
__global__ void scale(T *out, const T *in, T by, int n)
{
    const int b = blockIdx.x;
    const int i = b * WIDTH + threadIdx.x;   // a line of its own
    if (i < n) out[i] = in[i] * by;
}
}
static __global__ void add(int *out, int n) {
    int i = BLOCK * blockIdx.x + threadIdx.x;
    if (i < n) out[i] += 128 * i + __LINE__;
}
__global__ void plane(int *out, int n) {
    int x = blockIdx.x * ROW + threadIdx.x, y = blockIdx.y * ROW + threadIdx.y;
    if (x < n && y < 40) out[y * n + x] += x - y;
}
__global__ void twice(int *out, int n) {
#pragma unroll
    for (int t = 0; t < 2; ++t) {
        int i = blockIdx.x * BLOCK * 2 + t * BLOCK + threadIdx.x;
        if (i < n) out[i] += 1;
    }
}
__global__ void valued(int *out, int n) {
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) out[i] += BLOCK;
}
__global__ void told(int *out, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) out[i] += BLOCK + 1;
}
__global__ void counted(int *out, int n) {
    static __device__ int calls;
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i == 0) ++calls;
    if (i < n) out[i] += 2 * calls;
}
__global__ void guessed(int *out, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) out[i] += 3;
}
__global__ void guessed_twice(int *out, int n) {
    int i = blockIdx.x * BLOCK * 2 + threadIdx.x;
    if (i < n) out[i] += 4;
}
struct Row { int b; };
__device__ int operator*(Row row, const int &width) { return row.b * width; }
__device__ int operator*(Row row, int &&width) { return row.b * width + 7; }
static __device__ const int WIDTH = 128;
__global__ void overloaded(int *out, int n) {
    Row row{(int)blockIdx.x};
    int i = row * WIDTH + threadIdx.x;
    if (i < n) out[i] += 1;
}
struct Wide { int v; __host__ __device__ constexpr Wide(int x) : v(x) {}
    __device__ operator int() const { return v; } };
static __device__ const Wide WIDE = 128;
__global__ void classy(int *out, int n) {
    int i = blockIdx.x * WIDE + threadIdx.x;
    if (i < n) out[i] += 1;
}
"""
MAIN = """\
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1000, block = argc > 2 ? atoi(argv[2]) : 128;
    int *out, *in;
    cudaMallocManaged(&out, 40 * n * sizeof(int));
    cudaMallocManaged(&in, n * sizeof(int));
    for (int i = 0; i < n; ++i) in[i] = 3 * i;
    cudaMemset(out, 0, 40 * n * sizeof(int));
    const int blocks = (n + BLOCK - 1) / BLOCK;
    tools::scale<int, BLOCK><<<blocks, BLOCK>>>(out, in, 5, n);
    add<<<blocks, BLOCK>>>(out, n);
    add<<<blocks, block>>>(out, n);
    add<<<blocks, 64>>>(out, n);
    guessed<<<blocks, block>>>(out, n);
    guessed_twice<<<blocks, block>>>(out, n);
    plane<<<dim3((n + 15) / 16, 3), dim3(ROW, ROW)>>>(out, n);
    twice<<<(n + 2 * BLOCK - 1) / (2 * BLOCK), BLOCK>>>(out, n);
    valued<<<blocks, BLOCK>>>(out, n);
    told<<<blocks, BLOCK>>>(out, n);
    counted<<<blocks, BLOCK>>>(out, n);
    overloaded<<<blocks, BLOCK>>>(out, n);
    classy<<<blocks, BLOCK>>>(out, n);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    unsigned sum = 0;
    for (int i = 0; i < 40 * n; ++i) sum = 31 * sum + out[i];
    printf("%u\\n", sum);
    return 0;
}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("copies") / "app.cu"
    path.write_text(HEAD + KERNELS + MAIN)
    return path


@pytest.fixture(scope="module")
def program(source: Path) -> Program:
    return Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(source), require_nvcc=True)


def test_what_is_proven_of_the_copy_is_tunable(program: Program) -> None:
    found = [(site.kernel, site.verdict.value) for site in program.launches]
    assert found == [
        ("scale", "tunable"),
        ("add", "tunable"),
        ("add", "tunable"),
        # Another block than the one that the constant stands for.
        ("add", "refused"),
        # No launch tells its block: where it is the constant that the index is multiplied by.
        ("guessed", "tunable"),
        ("guessed_twice", "refused"),
        ("plane", "tunable"),
        # Two elements of a thread are no global id.
        ("twice", "refused"),
        # The literal beside the index is the block; the value that is added is not.
        ("valued", "tunable"),
        # One name for both.
        ("told", "refused"),
        # The copy would count for itself.
        ("counted", "refused"),
        # Another overload takes what a function gives back.
        ("overloaded", "refused"),
        # Is no number.
        ("classy", "refused"),
    ]


def test_entries_are_those_of_the_copy(program: Program) -> None:
    for site in program.tunable_launches:
        kernel = program.kernel(site.kernel)
        assert kernel is not None and kernel.copy is not None
        assert len(site.entries) == 1 and kernel.copy.namespace in site.entries[0]


@pytest.mark.long
def test_any_block_gives_the_same(source: Path, tmp_path: Path) -> None:
    running = ("--run", "{program} {n} {block}", "--vary", "n=1,100,1000", "--vary")
    shaken = cutune(
        "shake", source, *running, "block=128,64,37", "--seeds", 8, *QUICK, cwd=tmp_path
    )
    assert shaken.returncode == 0, shaken.stdout + shaken.stderr
    assert shaken.stdout.startswith("same: 8 seeds, 6 tunable launches")


@pytest.mark.long
def test_kernels_of_headers(tmp_path: Path) -> None:
    (tmp_path / "kernels.cuh").write_text(KERNELS)
    source = tmp_path / "app.cu"
    source.write_text(HEAD + '#include "kernels.cuh"\n' + MAIN)
    running = ("--run", "{program} {n}", "--vary")
    tuned = cutune("tune", "app.cu", *running, "n=500,1000", *QUICK, cwd=tmp_path)
    assert tuned.returncode == 0, tuned.stdout + tuned.stderr
    words = ("app.cu", "app.tuned/app.cu", *running, "n=700,3000", *QUICK)
    verified = cutune("verify", *words, cwd=tmp_path)
    assert verified.returncode == 0, verified.stdout + verified.stderr


#: The guard of the copy is a member of a structure.
MEMBER = """\
struct Sizes { int count, step; };
__global__ void fill(Sizes s, int *out) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < s.count) out[i] = 3 * i;
}
int main(int argc, char **argv) {
    int n = atoi(argv[argc - 1]), last, *out;
    cudaMalloc(&out, n * sizeof(int));
    fill<<<(n + 63) / 64, 64>>>(Sizes{n, 2}, out);
    cudaMemcpy(&last, out + n - 1, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d\\n", last);
}
"""


@pytest.mark.long
def test_a_copy_whose_guard_is_a_member_is_tuned_by_it(tmp_path: Path) -> None:
    source = tmp_path / "member.cu"
    source.write_text(HEAD + MEMBER)
    program = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(source), require_nvcc=True)
    assert [parameter.name for parameter in program.kernels[0].data_parameters] == ["s.count"]
    done = cutune(
        *("tune", source, "--run", "./{program} {n}", "--vary", "n=96,200"),
        *("--device", "h200", "--workspace", tmp_path, "-o", tmp_path / "tuned.cu", *QUICK),
    )
    assert done.returncode == 0 and "1 launch: 1 tuned" in done.stdout, done.stderr

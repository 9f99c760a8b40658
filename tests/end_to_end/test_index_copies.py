"""Copies of kernels whose threads are numbered anew: blocks of one thread, warps, one block."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from cutune.proof.analysis.analyzer import Analyzer
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK, QUICK_FLAGS, cutune

pytestmark = pytest.mark.nvcc

#: Kernels of (float *out, const float *in, int n, int d), launched in d rows by blocks of 32 x 4
#: threads, and whether a launch may be tuned.
ROWS: Mapping[str, tuple[str, bool]] = {
    "gemv": (
        "int row = blockIdx.x * blockDim.y + threadIdx.y; if (row >= d) return; float s = 0;"
        " for (int j = threadIdx.x; j < n; j += 32) s += in[row * n + j] * in[j];"
        " for (int o = 16; o; o /= 2) s += __shfl_down_sync(~0u, s, o);"
        " if (threadIdx.x == 0) out[row] = s;",
        True,
    ),
    "norm": (
        "const int lane = threadIdx.x, warp = threadIdx.y, row = warp + blockDim.y * blockIdx.x;"
        " if (row < d) { float s = 0; for (int j = lane; j < n; j += 32) s += in[row * n + j];"
        " for (int o = 1; o < 32; o *= 2) s += __shfl_xor_sync(~0u, s, o);"
        " for (int j = lane; j < n; j += blockDim.x) out[row * n + j] = in[row * n + j] - s; }",
        True,
    ),
    "plain": (
        "int row = blockIdx.x * blockDim.y + threadIdx.y; if (row < d)"
        " for (int j = threadIdx.x; j < n; j += 32) out[row * n + j] = in[row * n + j] * 2;",
        True,
    ),
    "asserted": (
        "assert(blockDim.x == 32); int row = blockIdx.x * blockDim.y + threadIdx.y; if (row < d)"
        " for (int j = threadIdx.x; j < n; j += 32) out[row * n + j] = in[row * n + j] * 2;",
        True,
    ),
    # The assertion of a copy would speak of the copy.
    "asserts_its_rows": (
        "assert(threadIdx.y < 4); int row = blockIdx.x * blockDim.y + threadIdx.y; if (row < d)"
        " for (int j = threadIdx.x; j < n; j += 32) out[row * n + j] = in[row * n + j] * 2;",
        False,
    ),
    # What is read elsewhere is not known to be read at all.
    "by_macro": (
        "int row = blockIdx.x * blockDim.y + threadIdx.y; if (row < d)"
        " for (int j = LANE; j < n; j += 32) out[row * n + j] = in[row * n + j] * 2;",
        False,
    ),
    "by_function": (
        "int row = blockIdx.x * blockDim.y + threadIdx.y; if (row < d && threadIdx.x < 2)"
        " for (int j = lane(); j < n; j += 32) out[row * n + j] = in[row * n + j] * 2;",
        False,
    ),
    "rows_of_a_block": (
        "int row = blockIdx.x * blockDim.y + threadIdx.y;"
        " if (row < d && threadIdx.x == 0) out[row] = blockDim.y;",
        False,
    ),
    "last_row": (
        "int row = blockIdx.x * blockDim.y + threadIdx.y; if (row < d && threadIdx.x == 0)"
        " out[row] = threadIdx.y == 3 ? 1 : in[row];",
        False,
    ),
    "shared": (
        "__shared__ float s[4]; int row = blockIdx.x * blockDim.y + threadIdx.y;"
        " if (threadIdx.x == 0) s[threadIdx.y] = in[row]; __syncthreads();"
        " if (row < d && threadIdx.x == 0) out[row] = s[3 - threadIdx.y];",
        False,
    ),
}
#: The same, launched in n x d blocks of one thread.
ONES: Mapping[str, tuple[str, bool]] = {
    "row": ("int i = blockIdx.x; if (blockIdx.y == 0 && i < n) out[i] = in[i] + 1;", True),
    "image": (
        "int x = blockIdx.x, y = blockIdx.y, i = x + y * gridDim.x; out[i] = in[i] * x + y;",
        True,
    ),
    "sums": ("int i = blockIdx.x; float x = in[3]; out[i] = in[i] * x + i * 1.1f;", True),
    # Of two products the compiler fuses one in the kernel, and the other one in the copy.
    "rounds": (
        "int i = blockIdx.x, j = ((i ^ 5) * 3 ^ 7) * 5; float x = n * 0.37f;"
        " out[i] = j * 1.1f + x * x;",
        False,
    ),
    "by_first": (
        "if (threadIdx.x == 0) { int i = blockIdx.y * n + blockIdx.x; out[i] = in[i]; }",
        True,
    ),
    "one_shared": (
        "__shared__ float s; s = in[blockIdx.x]; __syncthreads(); out[blockIdx.x] = s;",
        False,
    ),
    # It is not seen that threads do not meet, and there is no warp that could stay together.
    "columns": (
        "for (int i = blockIdx.x; i < n; i += gridDim.x) out[blockIdx.y * n + i] = in[i];",
        False,
    ),
    "odd_ones": (
        "int i = blockIdx.x; if (blockIdx.y == 0 && i < n && i % 2) out[i] = out[i - 1];",
        False,
    ),
    "by_id": ("int i = block(); if (blockIdx.x < n) out[i] = in[i] + 1;", False),
}
#: The same, launched in n blocks of one warp, which have dynamic shared memory besides.
WARPS: Mapping[str, tuple[str, bool]] = {
    "sums_of_rows": (
        "int row = blockIdx.x; float s = 0; for (int j = threadIdx.x; j < d; j += 32)"
        " s += in[row * d + j]; for (int o = 16; o; o /= 2) s += __shfl_down_sync(~0u, s, o);"
        " if (threadIdx.x == 0) out[row] = s;",
        True,
    ),
    "row_of_a_block": (
        "int row = blockIdx.x; float s = 0; for (int j = threadIdx.x; j < d; j += blockDim.x)"
        " s += in[row * d + j]; for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);"
        " for (int j = threadIdx.x; j < d; j += blockDim.x) out[row * d + j] = in[j] * s;",
        True,
    ),
    "rows_of_a_grid": (
        "for (int row = blockIdx.x; row < d; row += gridDim.x)"
        " out[row * 32 + threadIdx.x] = in[row] + blockDim.x;",
        True,
    ),
    "parts_of_rows": (
        "long long row = blockIdx.x, t = threadIdx.x, part = t / 8, place = t % 8;"
        " float *y = out + row * 256 + 64 * part + 4 * place;"
        " const float *x = in + row * 148 + 32 * part + 4 * place;"
        " for (int l = 0; l < 4; ++l) y[l] = x[l], y[l + 32] = x[l] * d;",
        True,
    ),
    "last_lane": ("if (threadIdx.x == blockDim.x - 1) out[blockIdx.x] = in[blockIdx.x];", True),
    "by_own_shuffle": (
        "float s = in[blockIdx.x * blockDim.x + threadIdx.x]; s = __shfl_sync(~0u, s, d % 32);"
        " out[blockIdx.x * 32 + threadIdx.x] = s;",
        True,
    ),
    "shared_by_lanes": (
        "__shared__ float s[32]; s[threadIdx.x] = in[blockIdx.x * 32 + threadIdx.x];"
        " __syncwarp(); out[blockIdx.x * 32 + threadIdx.x] = s[31 - threadIdx.x];",
        False,
    ),
    "barrier_of_a_warp": (
        "out[blockIdx.x * 32 + threadIdx.x] = 1; __syncthreads();"
        " if (threadIdx.x == 0) out[blockIdx.x * 32] = 2;",
        False,
    ),
    "lane_by_function": ("out[blockIdx.x * 32 + lane()] = in[lane()];", False),
    "block_by_function": ("out[block() * 32 + threadIdx.x] = in[threadIdx.x];", False),
}
#: The same, launched in one block of n threads.
SINGLE: Mapping[str, tuple[str, bool]] = {
    "vector": ("int i = threadIdx.x; out[i] = in[i] + 1;", True),
    "inner": ("int i = threadIdx.x + 1; if (i < n - 1) out[i] = in[i - 1] + in[i + 1];", True),
    "shuffled": ("out[threadIdx.x] = __shfl_xor_sync(~0u, in[threadIdx.x], d % 32);", True),
    "votes": (
        "int all = __all_sync(~0u, in[threadIdx.x] > d);"
        " if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = all;",
        True,
    ),
    "with_block": ("out[blockIdx.x * n + threadIdx.x] = in[threadIdx.x] + 1;", True),
    # Warps keep their threads.
    "neighbour": (
        "float x = out[threadIdx.x + 1]; if (threadIdx.x % 32 < 31) out[threadIdx.x] = x + 1;",
        True,
    ),
    # The copy would not round as the kernel does.
    "rounded": ("out[threadIdx.x] = in[threadIdx.x] * gridDim.x;", False),
    "counted": ("atomicAdd((int *)out + threadIdx.x % 7, n);", True),
    "reversed_in_shared": (
        "__shared__ float s[128]; s[threadIdx.x] = in[threadIdx.x]; __syncthreads();"
        " out[threadIdx.x] = s[n - 1 - threadIdx.x];",
        False,
    ),
    "waiting": (
        "out[threadIdx.x] = 1; __syncthreads(); if (threadIdx.x == 0) out[n - 1] = 2;",
        False,
    ),
    "ticket": ("out[atomicAdd((int *)out + 5000, 1)] = threadIdx.x;", False),
    "place_by_function": ("out[threadIdx.x] = in[lane()];", False),
    "width_by_function": ("out[threadIdx.x] = width();", False),
    "odd_block": ("out[threadIdx.x] = threadIdx.x ^ blockDim.x;", True),
}
#: The same, launched in one block of 8 rows of n / 8 threads.
FLAT: Mapping[str, tuple[str, bool]] = {
    "image": ("int x = threadIdx.x, y = threadIdx.y; out[y * 16 + x] = in[x * 8 + y];", True),
    "shared": (
        "__shared__ int s; if (threadIdx.x + threadIdx.y == 0) s = n; __syncthreads();"
        " out[threadIdx.x] = s;",
        False,
    ),
    "bounded": (
        "int x = threadIdx.x, y = threadIdx.y; if (x < 16 && y < d) out[y * 16 + x] = in[x + y];",
        True,
    ),
    "summed": ("out[threadIdx.y * blockDim.x + threadIdx.x] = in[threadIdx.y];", True),
}
HEAD = """#include <cassert>
#include <cstdio>
#include <cstdlib>
#define LANE threadIdx.x
__device__ int lane() { return threadIdx.x; }
__device__ int block() { return blockIdx.x; }
__device__ int width() { return blockDim.x; }
"""
MAIN = """
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100, d = argc > 2 ? atoi(argv[2]) : 33;
    float *out, *in;
    cudaMallocManaged(&out, 100000 * sizeof(float));
    cudaMallocManaged(&in, 100000 * sizeof(float));
    for (int i = 0; i < 100000; ++i) in[i] = i * 37 % 101 * 0.37f, out[i] = 0;
    dim3 block(32, 4), all(n, d);
    unsigned sum = 0;
"""
LAUNCH = """    {name}<<<{shape}>>>(out, in, n, d);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (int i = 0; i < 100000; ++i) sum = 31 * sum + *(unsigned *)(out + i);
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("kernels", "shape", "counts"),
    [
        (ROWS, "(d + 3) / 4, block", "n=1,64,97"),
        (ONES, "all, 1", "n=1,64,97"),
        (WARPS, "n, 32, 128", "n=1,64,97"),
        (SINGLE, "1, n", "n=32,64,96"),
        (FLAT, "1, dim3(n / 8, 8)", "n=32,64,96"),
    ],
    ids=["rows", "ones", "warps", "single", "flat"],
)
def test_threads_are_numbered_anew(
    tmp_path: Path, kernels: Mapping[str, tuple[str, bool]], shape: str, counts: str
) -> None:
    texts = "".join(
        f"__global__ void {name}(float *out, const float *in, int n, int d) {{ {body} }}\n"
        for name, (body, _) in kernels.items()
    )
    launches = "".join(LAUNCH.format(name=name, shape=shape) for name in kernels)
    path = tmp_path / "app.cu"
    path.write_text(f'{HEAD}{texts}{MAIN}{launches}    printf("%u\\n", sum);\n}}\n')
    program = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True)
    found = {site.kernel: site.verdict.value == "tunable" for site in program.launches}
    assert found == {name: is_tunable for name, (_, is_tunable) in kernels.items()}
    sizes = ("--vary", counts, "--vary", "d=1,30,97")
    running = ("--run", "{program} {n} {d}", *sizes, "--seeds", 6)
    shaken = cutune("shake", path, *running, *QUICK, cwd=tmp_path)
    assert shaken.returncode == 0, shaken.stdout + shaken.stderr


#: A template launched in blocks of a warp for short rows, and of 256 threads for long ones.
BY_LENGTH = """
template <int BLOCK> __global__ void sums(float *out, const float *in, int n) {
    float s = 0;
    for (int j = threadIdx.x; j < n; j += BLOCK) s += in[blockIdx.x * n + j];
    for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
    if constexpr (BLOCK > 32) {
        __shared__ float parts[32];
        if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
        __syncthreads();
        s = threadIdx.x % 32 < BLOCK / 32 ? parts[threadIdx.x % 32] : 0;
        for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o);
    }
    if (threadIdx.x == 0) out[blockIdx.x] = s;
}
// Its other instance keeps its rows in blocks of a warp, which has no meaning in larger ones.
template <int BLOCK> __global__ void firsts(float *out, const float *in, int n) {
    if (BLOCK == 64 && threadIdx.x >= 32) return;
    out[blockIdx.x * 32 + threadIdx.x] = in[blockIdx.x * n] + blockDim.x;
}
__global__ void plain(float *out, const float *in, int n) {
    if (threadIdx.x < 32) out[blockIdx.x * 32 + threadIdx.x] = in[blockIdx.x * n] * n;
}
"""
LAUNCHES_BY_LENGTH = """
    if (n < 64) sums<32><<<d, 32>>>(out, in, n);
    else sums<256><<<d, 256>>>(out, in, n);
    firsts<32><<<d, 32>>>(out + 40000, in, n);
    firsts<64><<<d, 64>>>(out + 50000, in, n);
    plain<<<d, 32>>>(out + 60000, in, n);
    plain<<<d, 96>>>(out + 70000, in, n);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (int i = 0; i < 100000; ++i) sum = 31 * sum + *(unsigned *)(out + i);
    printf("%u\\n", sum);
}
"""


@pytest.mark.long
def test_launches_of_one_warp_are_numbered_anew_beside_others(tmp_path: Path) -> None:
    path = tmp_path / "app.cu"
    path.write_text(HEAD + BY_LENGTH + MAIN + LAUNCHES_BY_LENGTH)
    flags = ("-std=c++17", *QUICK_FLAGS)
    program = Analyzer(Toolchain(flags=flags)).load(str(path), require_nvcc=True)
    found = [(site.callee, site.verdict.value) for site in program.launches]
    assert found == [
        ("sums<32>", "tunable"),
        ("sums<256>", "refused"),
        ("firsts<32>", "tunable"),
        ("firsts<64>", "refused"),
        ("plain", "tunable"),
        ("plain", "refused"),
    ]
    sizes = ("--vary", "n=1,33,200", "--vary", "d=1,30,97", "--seeds", 6)
    shaken = cutune("shake", path, "--run", "{program} {n} {d}", *sizes, *QUICK, cwd=tmp_path)
    assert shaken.returncode == 0, shaken.stdout + shaken.stderr

"""Blocks whose warps share rows of columns, a column for each lane: any of their sizes does."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.proof.analysis.analyzer import Analyzer
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK, QUICK_FLAGS, cutune

pytestmark = pytest.mark.nvcc

#: Kernels of (int *out, const int *in, int n, int m), launched in `m / 32` blocks of 128 threads.
KERNELS = {
    "summed": "__shared__ int s[1024]; OWN SLOTS if (w == 0) { SUM out[r] += v; }",
    "of_the_launch": "extern __shared__ int s[]; OWN SLOTS if (w == 0) { SUM out[r] = v * r; }",
    "largest": (
        "__shared__ int s[1024]; int v = -5; ROWS v = MAX(v, in[j * m + r]); SLOTS"
        " if (w == 0) { for (int k = 1; k < W; ++k) v = MAX(v, s[l + 32 * k]); out[r] = v; }"
    ),
    "in_a_tree": (
        "__shared__ int s[1024]; OWN SLOTS"
        " for (int h = W / 2; h; h /= 2) { if (w < h) s[t] += s[t + 32 * h]; __syncthreads(); }"
        " if (w == 0) atomicAdd(out + r, s[l]);"
    ),
    "of_all_lanes": (
        "__shared__ int s[1024]; OWN SLOTS if (w == 0) { SUM"
        " for (int o = 16; o; o /= 2) v += __shfl_xor_sync(~0u, v, o); if (l == 0) out[r] = v; }"
    ),
}
HEAD = """#include <cstdio>
#include <cstdlib>
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define SLOTS s[t] = v; __syncthreads();
#define SUM v = 0; for (int k = 0; k < W; ++k) v += s[l + 32 * k];
"""
#: As they are written: a macro would hide the loops from a copy in which they are not unrolled.
WRITTEN = {
    "OWN": "int v = 0; ROWS v += in[j * m + r] * (l + 1);",
    "ROWS": "for (int j = w; j < n; j += W)",
}
MAIN = """
int main(int argc, char **argv) {
    int n = atoi(argv[1]), m = atoi(argv[2]), threads = 128, *out, *in;
    cudaMallocManaged(&out, 512 * sizeof(int));
    cudaMallocManaged(&in, 300 * 512 * sizeof(int));
    for (int i = 0; i < 300 * 512; ++i) in[i] = i * 37 % 101 - 40;
    for (int i = 0; i < 512; ++i) out[i] = i;
    unsigned sum = 0;
"""
LAUNCH = """    {name}<<<m / 32, threads{memory}>>>(out, in, n, m);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (int i = 0; i < 512; ++i) sum = 31 * sum + out[i];
"""


@pytest.mark.long
def test_warps_share_the_rows_of_columns(tmp_path: Path) -> None:
    before = "int t = threadIdx.x, l = t % 32, w = t / 32, W = blockDim.x / 32;"
    before += " int r = blockIdx.x * 32 + l;"
    texts = "".join(
        f"__global__ void {name}(int *out, const int *in, int n, int m) {{ {before} {body} }}\n"
        for name, body in KERNELS.items()
    )
    for word, text in WRITTEN.items():
        texts = texts.replace(word, text)
    launches = "".join(
        LAUNCH.format(name=name, memory=", threads * sizeof(int)" * (name == "of_the_launch"))
        for name in KERNELS
    )
    path = tmp_path / "app.cu"
    path.write_text(f'{HEAD}{texts}{MAIN}{launches}    printf("%u\\n", sum);\n}}\n')
    program = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True)
    assert {site.kernel: site.verdict.value for site in program.launches} == dict.fromkeys(
        KERNELS, "tunable"
    )
    sizes = ("--vary", "n=1,33,250", "--vary", "m=32,256")
    running = ("--run", "{program} {n} {m}", *sizes, "--seeds", 6)
    shaken = cutune("shake", path, *running, *QUICK, cwd=tmp_path)
    assert shaken.returncode == 0, shaken.stdout + shaken.stderr

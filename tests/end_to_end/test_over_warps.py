"""Kernels that count the warps of their blocks: blocks of any whole warps give the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.emulator.launch_log import read_launches
from cutune.emulator.program_builds import build
from cutune.model.emit.programs import random_program
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.rewrite.output import Target
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import run

#: Cooperative groups rely on mathematics.
pytestmark = [pytest.mark.nvcc, pytest.mark.usefixtures("all_headers")]

HEAD = """
#include <cooperative_groups.h>
#include <cstdio>
namespace cg = cooperative_groups;
#define SUM for (int o = 16; o; o /= 2) s += __shfl_xor_sync(~0u, s, o); if (l == 0) a[w] += s;
__global__ void plain(int *a, const int *b, int n) {
    int w = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, l = threadIdx.x % 32;
    if (w >= n) return;
    int s = b[w * 32 + l] * w;
    SUM
}
__global__ void ranked(int *a, const int *b, int n) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int w = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank(), l = tile.thread_rank();
    if (w >= n) return;
    int s = b[w * 32 + l] * w;
    SUM
}
__global__ void striding(int *a, const int *b, int n) {
    int all = gridDim.x * (blockDim.x / 32), l = threadIdx.x % 32;
    for (int w = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; w < n; w += all) {
        int s = b[w * 32 + l];
        SUM
    }
}
__global__ void adding(int *a, const int *b, int n) {
    int w = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, l = threadIdx.x % 32;
    if (w < n) atomicAdd(a + w, b[l] + 41);
}
enum { COUNT = 1 << 14 };
static int *a, *b, host[COUNT];
void show(const char *name) {
    unsigned sum = 0;
    cudaMemcpy(host, a, sizeof host, cudaMemcpyDeviceToHost);
    for (int value : host) sum = sum * 31 + value;
    cudaMemset(a, 0, sizeof host);
    printf("%s %u %s\\n", name, sum, cudaGetErrorName(cudaGetLastError()));
}
int main() {
    cudaMalloc(&a, sizeof host);
    cudaMalloc(&b, sizeof host);
    for (int i = 0; i < COUNT; ++i) host[i] = i * 53 % 97 - 40;
    cudaMemcpy(b, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemset(a, 0, sizeof host);
"""
CHANGING = (
    "plain<<<25, 128>>>(a, b, 99);",
    "ranked<<<25, 128>>>(a, b, 99);",
    "striding<<<3, 96>>>(a, b, 99);",
    "adding<<<25, 128>>>(a, b, 99);",
)
#: No whole warps in x, or several threads in y.
STAYING = (
    "adding<<<25, 144>>>(a, b, 99);",
    "adding<<<50, 33>>>(a, b, 99);",
    "adding<<<50, 16>>>(a, b, 99);",
    "adding<<<5, dim3(16, 4)>>>(a, b, 99);",
    "ranked<<<25, dim3(64, 2)>>>(a, b, 99);",
    "ranked<<<dim3(25, 1, 1), dim3(32, 2, 2)>>>(a, b, 99);",
)


@pytest.mark.long
def test_whole_warps_change_and_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "warps.cu"
    launches = (*CHANGING, *STAYING)
    calls = "".join(f'    {one} show("{index}");\n' for index, one in enumerate(launches))
    path.write_text(f"{HEAD}{calls}}}\n")
    analyzer = Analyzer(Toolchain(flags=("-std=c++17",)))
    program = analyzer.load(str(path), require_nvcc=True)
    assert len(program.tunable_launches) == len(launches)
    random = random_program(analyzer, program, 1, Target(tmp_path / "random.cu"))
    binary = build(
        analyzer.toolchain, random, analyzer.toolchain.compile_flags(str(path)), tmp_path / "random"
    )
    log, expected = tmp_path / "log", run(binary, CUTUNE="off").stdout
    assert expected.count("cudaSuccess") == len(launches)
    blocks: list[set[tuple[int, int, int]]] = [set() for _ in launches]
    for seed in range(8):
        log.unlink(missing_ok=True)
        assert run(binary, CUTUNE_SEED=str(seed), CUTUNE_LAUNCH_LOG=str(log)).stdout == expected
        for known, launch in zip(blocks, read_launches(log), strict=True):
            known.add(launch.block)
    assert [len(known) > 1 for known in blocks] == [one in CHANGING for one in launches]
    assert all(x % 32 == 0 for known in blocks[: len(CHANGING)] for x, _, _ in known)

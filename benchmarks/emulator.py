"""Warp instructions per second of the 32-lane machine, one thread, on compiled kernels."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from cutune.emulator.assemble import assemble
from cutune.emulator.machine import LoadedModule
from cutune.toolchain.nvcc import find_nvcc
from tests.support.launch_parameters import pack_parameters

SIZE = 256
ROUNDS = 5

SOURCE = """
extern "C" __global__ void gemm(int n, const float *a, const float *b, float *c) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n)
        for (int k = 0; k < n; ++k) c[i * n + j] += a[i * n + k] * b[k * n + j];
}
extern "C" __global__ void tiled(int n, const float *a, const float *b, float *c) {
    __shared__ float x[16][16], y[16][16];
    int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int t = 0; t < n; t += 16) {
        x[threadIdx.y][threadIdx.x] = a[i * n + t + threadIdx.x];
        y[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + j];
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += x[threadIdx.y][k] * y[k][threadIdx.x];
        __syncthreads();
    }
    c[i * n + j] = sum;
}
"""
SHAPES = {"gemm": (32, 8, 1), "tiled": (16, 16, 1)}


def main() -> None:
    """Time each kernel without and with traced addresses."""
    text = _ptx()
    module = LoadedModule(assemble(text))  # what follows has the library and the tables of opcodes
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        module = LoadedModule(assemble(text))
        seconds.append(time.perf_counter() - start)
    print(f"  preparation: {min(seconds) * 1e3 / len(SHAPES):.1f} ms per kernel")
    for kernel in SHAPES:
        plain, traced = (_best(module, kernel, trace) for trace in (False, True))
        print(f"  {kernel}, N = {SIZE}: {plain:.0f} M warp instructions/s, {traced:.0f} traced")


def _ptx() -> str:
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernels.cu"
        source.write_text(SOURCE)
        return find_nvcc().ptx(source)


def _best(module: LoadedModule, kernel: str, trace: bool) -> float:
    rng = np.random.default_rng(0)
    buffers = [rng.random((SIZE, SIZE), np.float32) for _ in range(3)]
    block = SHAPES[kernel]
    grid = (-(-SIZE // block[0]), -(-SIZE // block[1]), 1)
    parameters = pack_parameters(module.kernel(kernel), SIZE, *buffers)
    best = 0.0
    for _ in range(ROUNDS):
        start = time.perf_counter()
        counters = module.run(
            kernel, grid, block, parameters, buffers=buffers, trace=trace, threads=1
        )
        seconds = time.perf_counter() - start
        best = max(best, counters.warp_instructions / seconds / 1e6)
    return best

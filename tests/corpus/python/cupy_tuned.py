"""Kernels to tune, as CuPy users have them: raw, of a module, and made of expressions."""

from __future__ import annotations

import sys
from pathlib import Path

import cupy as cp
import numpy as np

#: CuPy's kernels have C names.
BOTH = f'extern "C" {{\n{(Path(__file__).parent / "tuned_kernels.cu").read_text()}\n}}\n'
RANKS = """
extern "C" __global__ void ranks(int *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = threadIdx.x;
}
"""
TEMPLATE = """
template <typename T> __global__ void twice(T *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = a[i] + a[i];
}
"""
BLOCK = (32,)
squares = cp.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squares")


def blocks(n: int, block: int = 32) -> int:
    return (n + block - 1) // block


def check_saxpy(n: int) -> None:
    saxpy = cp.RawKernel(BOTH, "saxpy")
    x, y = cp.asarray(np.arange(n, dtype=np.float32)), cp.asarray(np.ones(n, np.float32))
    saxpy((blocks(n),), BLOCK, (n, np.float32(3), x, y))
    assert (y.get() == 3 * np.arange(n, dtype=np.float32) + 1).all()


def check_blur(n: int) -> None:
    blur = cp.RawModule(code=BOTH).get_function("blur")
    width, height = n // 8 + 3, 40
    start = np.arange(width * height, dtype=np.float32).reshape(height, width) % 7
    source, target = cp.asarray(start), cp.asarray(np.zeros_like(start))
    with cp.cuda.Stream(non_blocking=True) as stream:
        grid, arguments = (blocks(width, 8), blocks(height, 8)), (np.int32(width), np.int32(height))
        blur(grid, (8, 8), (target, source, *arguments), shared_mem=0)
        stream.synchronize()
    right = 2 * start
    right[:, 1:] += start[:, :-1]
    right[:-1] += start[1:]
    assert (target.get() == right).all()


def check_others(n: int) -> None:
    a, host = cp.asarray(np.zeros(n, np.int32)), np.arange(n, dtype=np.float32)
    cp.RawKernel(RANKS, "ranks")((blocks(n),), BLOCK, (a, n))
    assert (a.get() == np.arange(n) % 32).all()
    module = cp.RawModule(code=TEMPLATE, name_expressions=("twice<float>", "twice<long long>"))
    b = cp.asarray(host)
    module.get_function("twice<float>")((blocks(n),), BLOCK, (b, n))
    assert (b.get() == 2 * host).all()
    assert (squares(cp.asarray(host), np.float32(2)).get() == (host - 2) ** 2).all()


size = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
check_saxpy(size)
check_blur(size)
check_others(size)
print("all is well")

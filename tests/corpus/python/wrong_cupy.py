"""A block that reads what other warps write, without a barrier: CuPy."""

from __future__ import annotations

import cupy as cp

TEXT = """
extern "C" __global__ void turned(int *a)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = a[threadIdx.x];
    a[threadIdx.x] = tile[63 - threadIdx.x];
}
"""
cp.RawKernel(TEXT, "turned")((1,), (64,), (cp.arange(64, dtype="i"),))
cp.cuda.runtime.deviceSynchronize()

"""Shared memory, constants, templates in C++, and a module compiled by options."""

from __future__ import annotations

import numpy as np
import pycuda.autoinit  # noqa: F401
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

SOURCE = """
#include <cuda_fp16.h>
__constant__ float weights[3];
__device__ int launches;

template <typename T> __device__ T weighted(T value, int k) { return value * T(weights[k]); }

extern "C" __global__ void transpose(float *to, const float *from, int rows, int columns)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x < columns && y < rows) tile[threadIdx.y][threadIdx.x] = from[y * columns + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
    if (x < rows && y < columns) to[y * rows + x] = weighted(tile[threadIdx.x][threadIdx.y], y % 3);
    if (blockIdx.x + blockIdx.y + threadIdx.x + threadIdx.y == 0) atomicAdd(&launches, 1);
}

extern "C" __global__ void reverse(int *a)
{
    extern __shared__ int held[];
    held[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = held[blockDim.x - 1 - threadIdx.x];
}
"""
module = SourceModule(SOURCE, options=["-DTILE=16", "-O2"], no_extern_c=True)
weights, size = module.get_global("weights")
assert size == 12
cuda.memcpy_htod(weights, np.array([1, 2, 4], np.float32))

matrix = np.random.default_rng(1).random((37, 50), np.float32)
got = np.zeros((50, 37), np.float32)
shape = {"block": (16, 16, 1), "grid": (4, 3)}
module.get_function("transpose")(
    cuda.Out(got), cuda.In(matrix), np.int32(37), np.int32(50), **shape
)
factors = np.array([1, 2, 4], np.float32)[np.arange(50) % 3]
assert (got == matrix.T * factors[:, None]).all()

launches = np.zeros(1, np.int32)
cuda.memcpy_dtoh(launches, module.get_global("launches")[0])
assert launches[0] == 1

numbers = np.arange(100, dtype=np.int32)
module.get_function("reverse")(cuda.InOut(numbers), block=(100, 1, 1), shared=400)
assert (numbers == np.arange(100)[::-1]).all()
print("all is well")

"""A block that reads what other warps write, without a barrier: PyCUDA."""

from __future__ import annotations

import numpy as np
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

TEXT = """
__global__ void turned(int *a)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = a[threadIdx.x];
    a[threadIdx.x] = tile[63 - threadIdx.x];
}
"""
cuda.init()
context = cuda.Device(0).make_context()
a = np.arange(64, dtype=np.int32)
SourceModule(TEXT).get_function("turned")(cuda.InOut(a), block=(64, 1, 1), grid=(1, 1))
context.pop()

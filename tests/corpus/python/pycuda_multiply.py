"""A kernel on arrays that PyCUDA copies in and out, called and as a prepared call."""

from __future__ import annotations

import numpy as np
import pycuda.autoinit  # noqa: F401
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

module = SourceModule("""
__global__ void multiply(float *result, const float *a, const float *b, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) result[i] = a[i] * b[i];
}

__global__ void grow(double *a, double by, short times) { a[threadIdx.x] += by * times; }
""")
multiply = module.get_function("multiply")
a, b = np.arange(1000, dtype=np.float32), np.full(1000, 0.5, np.float32)
result = np.zeros_like(a)
multiply(cuda.Out(result), cuda.In(a), cuda.In(b), np.int32(1000), block=(128, 1, 1), grid=(8, 1))
assert (result == a / 2).all()

grow = module.get_function("grow")
values = np.arange(32, dtype=np.float64)
grow(cuda.InOut(values), np.float64(0.25), np.int16(4), block=(32, 1, 1))
assert (values == np.arange(32) + 1).all()

memory = cuda.to_device(values)
grow.prepare("Pdh")
grow.prepared_call((1, 1), (32, 1, 1), memory, 2.0, 3)
assert (cuda.from_device_like(memory, values) == values + 6).all()
assert multiply.num_regs > 0 and multiply.max_threads_per_block == 1024
print("all is well")

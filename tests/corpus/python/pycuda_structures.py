"""Structures in device memory that hold addresses, and memory that is sliced by offsets."""

from __future__ import annotations

import numpy as np
import pycuda.autoinit  # noqa: F401
import pycuda.driver as cuda
from pycuda.compiler import SourceModule


class Row:
    """A structure { int length; double *values; } at an address, and its array."""

    bytes = 16

    def __init__(self, values: np.ndarray, address: int) -> None:
        self.memory = cuda.to_device(values)
        self.like = values
        cuda.memcpy_htod(int(address), np.array(values.size, np.int32))
        cuda.memcpy_htod(int(address) + 8, np.array(int(self.memory), np.uintp))

    def get(self) -> np.ndarray:
        return np.asarray(cuda.from_device_like(self.memory, self.like))


rows = cuda.mem_alloc(2 * Row.bytes)
first = Row(np.array([1.0, 2, 3]), int(rows))
second = Row(np.array([0.0, 4]), int(rows) + Row.bytes)
double_row = SourceModule("""
struct Row { int length; double *values; };

__global__ void double_row(Row *rows)
{
    Row &row = rows[blockIdx.x];
    for (int i = threadIdx.x; i < row.length; i += blockDim.x) row.values[i] *= 2;
}
""").get_function("double_row")
double_row(rows, block=(32, 1, 1), grid=(2, 1))
assert (first.get() == [2, 4, 6]).all() and (second.get() == [0, 8]).all()
double_row(np.uintp(int(rows) + Row.bytes), block=(32, 1, 1), grid=(1, 1))
assert (first.get() == [2, 4, 6]).all() and (second.get() == [0, 16]).all()
print("all is well")

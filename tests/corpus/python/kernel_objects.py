"""Kernels as objects, on arrays that show `__cuda_array_interface__` alone."""

from __future__ import annotations

import ctypes
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import cutune

driver = ctypes.CDLL("libcuda.so.1")
SOURCE = Path(__file__).with_name("kernel_objects.cu")


class Array:
    """Memory of the device, with what a numpy array held."""

    def __init__(self, own: np.ndarray[Any, Any]) -> None:
        self.own, found, self.size = own, ctypes.c_void_p(), ctypes.c_size_t(own.nbytes)
        assert driver.cuMemAlloc_v2(ctypes.byref(found), self.size) == 0
        self.address = found
        assert driver.cuMemcpyHtoD_v2(found, own.ctypes.data_as(ctypes.c_void_p), self.size) == 0
        data = found.value, False
        about = {"version": 3, "shape": own.shape, "typestr": own.dtype.str, "data": data}
        self.__cuda_array_interface__ = about

    def get(self) -> np.ndarray[Any, Any]:
        found = np.empty_like(self.own)
        to = found.ctypes.data_as(ctypes.c_void_p)
        assert driver.cuMemcpyDtoH_v2(to, self.address, self.size) == 0
        return found


context = ctypes.c_void_p()
driver.cuInit(0)
driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
driver.cuCtxSetCurrent(context)

n = 100003
numbers = np.arange(n, dtype=np.float32)
x, y = Array(numbers), Array(np.ones(n, np.float32))
saxpy = cutune.kernel(SOURCE, "space::saxpy")
print(saxpy)
saxpy(n, n, 3.0, x, y)
assert (y.get() == 3 * numbers + 1).all()
saxpy(0, 0, 3.0, x, y)
try:
    saxpy(n, n, 3.0, Array(numbers.astype("f8")), y)
except TypeError as error:
    print(error)
ranks = Array(np.zeros(100, np.int32))
try:
    cutune.kernel(SOURCE, "ranks")(100, ranks, 100)
except ValueError as error:
    print(error)
with warnings.catch_warnings(record=True) as said:
    kept = cutune.kernel(SOURCE, "ranks", block=32)
    kept(100, ranks, 100)
    kept(100, ranks, 100)
print(*(one.message for one in said))
assert (ranks.get() == np.arange(100) % 32).all()

grid = np.arange(64 * 40, dtype=np.int32).reshape(40, 64)
rows, sums = Array(grid), Array(np.zeros_like(grid))
try:
    cutune.kernel(SOURCE, "pairs")((64, 40), rows, sums, 64, 40)
except ValueError as error:
    print(error)
assert not sums.get().any()
cutune.kernel(SOURCE, "pairs", block=(16, 2))((64, 40), rows, sums, 64, 40)
swapped = grid.reshape(20, 2, 64)[:, ::-1].reshape(40, 64)
assert (sums.get() == grid + swapped).all()

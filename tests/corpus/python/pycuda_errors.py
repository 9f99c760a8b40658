"""What goes wrong is an exception, and the interpreter goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pycuda.driver as cuda
from pycuda.compiler import SourceModule


def fails(
    kind: type[Exception],
    words: str,
    body: Callable[..., object],
    *arguments: object,
    **more: object,
) -> None:
    try:
        body(*arguments, **more)
    except kind as error:
        assert words in str(error), error
        return
    raise AssertionError(f"nothing failed: {words}")


fails(cuda.LogicError, "initialization error", cuda.Device.count)
cuda.init()
device = cuda.Device(0)
fails(cuda.LogicError, "invalid device context", cuda.mem_alloc, 4)
context = device.make_context()

module = SourceModule("__global__ void put(int *a, int at) { a[at] = 7; }")
put = module.get_function("put")
fails(cuda.LogicError, "named symbol not found", module.get_function, "nothing")
fails(cuda.CompileError, "nvcc", SourceModule, "__global__ void bad() { nothing(); }")
memory = cuda.to_device(np.zeros(4, np.int32))
fails(cuda.LogicError, "invalid argument", put, memory, np.int32(0), block=(2000, 1, 1))
fails(cuda.MemoryError, "out of memory", cuda.mem_alloc, 1 << 60)


def in_another_thread() -> None:
    fails(cuda.LogicError, "invalid device context", cuda.mem_alloc, 4)
    context.push()
    put(memory, np.int32(2), block=(1, 1, 1))
    context.pop()


thread = threading.Thread(target=in_another_thread)
thread.start()
thread.join()
assert list(cuda.from_device(memory, 4, np.int32)) == [0, 0, 7, 0]

put(memory, np.int32(100), block=(1, 1, 1))
fails(cuda.LogicError, "illegal memory access", context.synchronize)
print("all is well", flush=True)
context.detach()

"""Kernels to tune: called with keywords, as prepared calls, in streams, threads and contexts.

`python3 pycuda_tuned.py N hostile` does besides what no table of units knows.
"""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Thread

import numpy as np
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

BOTH = (Path(__file__).parent / "tuned_kernels.cu").read_text()
RANKS = """
__global__ void ranks(int *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = threadIdx.x;
}
"""
SCALE = """
__constant__ float factor;
__global__ void scale(float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] *= factor;
}
"""
BLOCK = (32, 1, 1)


def blocks(n: int, block: int = 32) -> int:
    return (n + block - 1) // block


def check_saxpy(n: int, module: SourceModule) -> None:
    saxpy = module.get_function("saxpy")
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    three = np.float32(3)
    saxpy(np.int32(n), three, cuda.In(x), cuda.InOut(y), block=BLOCK, grid=(blocks(n), 1))
    assert (y == 3 * x + 1).all()


def check_blur(n: int, module: SourceModule) -> None:
    blur = module.get_function("blur").prepare("PPii")
    width, height = n // 8 + 3, 40
    start = np.arange(width * height, dtype=np.float32).reshape(height, width) % 7
    source, target = cuda.to_device(start), cuda.mem_alloc(start.nbytes)
    stream, grid = cuda.Stream(), (blocks(width, 8), blocks(height, 8))
    blur.prepared_async_call(grid, (8, 8, 1), stream, target, source, width, height)
    stream.synchronize()
    right = 2 * start
    right[:, 1:] += start[:, :-1]
    right[:-1] += start[1:]
    assert (cuda.from_device_like(target, start) == right).all()


def check_others(n: int) -> None:
    a, b = np.zeros(n, np.int32), np.ones(n, np.float32)
    ranks = SourceModule(RANKS).get_function("ranks")
    ranks(cuda.InOut(a), np.int32(n), block=BLOCK, grid=(blocks(n), 1))
    assert (a == np.arange(n) % 32).all()
    module = SourceModule(SCALE)
    cuda.memcpy_htod(module.get_global("factor")[0], np.float32(5))
    scale = module.get_function("scale")
    scale(cuda.InOut(b), np.int32(n), block=BLOCK, grid=(blocks(n), 1), shared=64)
    assert (b == 5).all()


def check_views(n: int, module: SourceModule) -> None:
    """Pointers into one allocation, the same twice, and of memory that was freed and is new."""
    saxpy, one = module.get_function("saxpy").prepare("ifPP"), np.ones(2 * n, np.float32)
    for _ in range(3):
        memory = cuda.to_device(one)
        start = int(memory)
        saxpy.prepared_call((blocks(n), 1), BLOCK, n, 2.0, start, start + 4 * n)
        saxpy.prepared_call((blocks(n), 1), BLOCK, n, 1.0, start, start)
        found = cuda.from_device_like(memory, one)
        assert (found[:n] == 2).all() and (found[n:] == 3).all()
        memory.free()


def check_errors(n: int, module: SourceModule) -> None:
    saxpy = module.get_function("saxpy").prepare("ifPP")
    for grid, block in ((4, 1), (2048, 1, 1)), ((0, 1), BLOCK):
        try:
            saxpy.prepared_call(grid, block, n, 1.0, 0, 0)
        except cuda.Error:
            continue
        raise AssertionError(f"grid {grid}, block {block} was launched")
    check_saxpy(n, module)


def in_a_context(n: int, others: SourceModule, failed: list[object]) -> None:
    context = cuda.Device(0).make_context()
    try:
        check_saxpy(n, SourceModule(BOTH))
    except BaseException as error:
        failed.append(error)
        raise
    finally:
        context.pop()


def check_hostile(n: int, module: SourceModule) -> None:
    check_views(n, module)
    check_errors(n, module)
    for text, right in ((BOTH.replace("+ y[i]", "- y[i]"), 2), (BOTH, 4)):
        again, y = SourceModule(text).get_function("saxpy"), np.ones(n, np.float32)
        arguments = np.int32(n), np.float32(3), cuda.In(np.ones(n, np.float32)), cuda.InOut(y)
        again(*arguments, block=BLOCK, grid=(blocks(n), 1))
        assert (y == right).all()
    failed: list[object] = []
    threads = [Thread(target=in_a_context, args=(n, module, failed)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed
    check_saxpy(n, module)


cuda.init()
context = cuda.Device(0).make_context()
size = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
both = SourceModule(BOTH)
check_saxpy(size, both)
check_blur(size, both)
check_others(size)
if sys.argv[2:] == ["hostile"]:
    check_hostile(size, both)
context.pop()
print("all is well")

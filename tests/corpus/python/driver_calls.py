"""The driver's interface by ctypes: each check ends the script where it fails."""

from __future__ import annotations

import ctypes as c
import sys
from pathlib import Path

cuda = c.CDLL("libcuda.so.1")
INVALID_VALUE, NOT_INITIALIZED, INVALID_CONTEXT, NO_BINARY = 1, 3, 201, 209
INVALID_HANDLE, NOT_FOUND, NOT_SUPPORTED = 400, 500, 801
END, POINTER, SIZE = (c.c_void_p(word) for word in (0, 1, 2))


def gives(wanted: int, function: str, *arguments: object) -> None:
    found = getattr(cuda, function)(*arguments)
    assert found == wanted, (function, found)


def ok(function: str, *arguments: object) -> None:
    gives(0, function, *arguments)


def size(number: int) -> c.c_size_t:
    return c.c_size_t(number)


def check_contexts() -> c.c_void_p:
    handle, other, number = c.c_void_p(), c.c_void_p(), c.c_int()
    gives(NOT_INITIALIZED, "cuDeviceGetCount", c.byref(number))
    ok("cuInit", 0)
    ok("cuDeviceGetCount", c.byref(number))
    assert number.value == 1
    gives(101, "cuDeviceGet", c.byref(number), 1)
    gives(INVALID_CONTEXT, "cuCtxSynchronize")
    ok("cuCtxCreate_v2", c.byref(handle), 0, 0)
    ok("cuCtxSynchronize")
    ok("cuDevicePrimaryCtxRetain", c.byref(other), 0)
    ok("cuCtxPushCurrent_v2", other)
    ok("cuCtxPopCurrent_v2", c.byref(other))
    ok("cuCtxGetCurrent", c.byref(other))
    assert other.value == handle.value
    ok("cuDevicePrimaryCtxRelease_v2", 0)
    ok("cuCtxDestroy_v2", handle)
    gives(INVALID_CONTEXT, "cuCtxSetCurrent", handle)
    gives(INVALID_CONTEXT, "cuMemAlloc_v2", c.byref(handle), size(8))
    ok("cuDevicePrimaryCtxRetain", c.byref(handle), 0)
    ok("cuCtxSetCurrent", handle)
    return handle


def check_device() -> None:
    number, text, total = c.c_int(), c.create_string_buffer(5), size(0)
    ok("cuDeviceGetAttribute", c.byref(number), 10, 0)
    assert number.value == 32
    ok("cuDeviceGetName", text, 5, 0)
    assert text.value == b"NVID"
    ok("cuDeviceTotalMem_v2", c.byref(total), 0)
    assert total.value > 1 << 30


def check_memory() -> None:
    memory, base, bytes_ = c.c_uint64(), c.c_uint64(), size(0)
    gives(INVALID_VALUE, "cuMemAlloc_v2", c.byref(memory), size(0))
    ok("cuMemAlloc_v2", c.byref(memory), size(40))
    ok("cuMemsetD32_v2", memory, 0x01020304, size(10))
    ok("cuMemsetD16_v2", memory, 0x0506, size(2))
    got = (c.c_ubyte * 40)()
    ok("cuMemcpyDtoH_v2", got, memory, size(40))
    assert bytes(got) == b"\6\5" * 2 + b"\4\3\2\1" * 9
    ok("cuMemGetAddressRange_v2", c.byref(base), c.byref(bytes_), c.c_uint64(memory.value + 8))
    assert (base.value, bytes_.value) == (memory.value, 40)
    kind = c.c_uint()
    ok("cuPointerGetAttribute", c.byref(kind), 2, memory)
    assert kind.value == 2
    gives(INVALID_VALUE, "cuPointerGetAttribute", c.byref(kind), 2, c.c_uint64(5))
    gives(INVALID_VALUE, "cuMemcpyHtoD_v2", memory, got, size(41))
    ok("cuMemFree_v2", memory)
    gives(INVALID_VALUE, "cuMemFree_v2", memory)


def check_modules(ptx: bytes, cubin: bytes) -> None:
    module, function, fake = c.c_void_p(), c.c_void_p(), c.c_void_p()
    ok("cuModuleLoadData", c.byref(module), ptx)
    gives(NO_BINARY, "cuModuleLoadData", c.byref(fake), cubin)
    gives(NOT_FOUND, "cuModuleGetFunction", c.byref(function), module, b"nothing")
    ok("cuModuleGetFunction", c.byref(function), module, b"add")
    check_launches(module, function)
    graph = captured(function)
    ok("cuGraphLaunch", graph, None)
    ok("cuModuleUnload", module)
    gives(INVALID_HANDLE, "cuGraphLaunch", graph, None)
    gives(INVALID_HANDLE, "cuModuleUnload", module)
    gives(INVALID_HANDLE, "cuLaunchKernel", function, *(1,) * 6, 0, None, None, None)


def captured(function: c.c_void_p) -> c.c_void_p:
    """A graph of one launch, which changes nothing."""
    stream, graph, executable = c.c_void_p(), c.c_void_p(), c.c_void_p()
    nothing, count = c.c_uint64(), c.c_int(0)
    pointers = (c.c_void_p * 2)(c.addressof(nothing), c.addressof(count))
    ok("cuStreamCreate", c.byref(stream), 1)
    ok("cuStreamBeginCapture_v2", stream, 0)
    ok("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, stream, pointers, None)
    ok("cuStreamEndCapture", stream, c.byref(graph))
    ok("cuGraphInstantiateWithFlags", c.byref(executable), graph, c.c_uint64(0))
    return executable


def check_launches(module: c.c_void_p, function: c.c_void_p) -> None:
    offset, bytes_, memory = c.c_uint64(), size(0), c.c_uint64()
    ok("cuModuleGetGlobal_v2", c.byref(offset), c.byref(bytes_), module, b"offset")
    assert bytes_.value == 4
    ok("cuMemcpyHtoD_v2", offset, c.byref(c.c_int(100)), size(4))
    ok("cuMemAlloc_v2", c.byref(memory), size(40))
    count = c.c_int(10)
    pointers = (c.c_void_p * 2)(c.addressof(memory), c.addressof(count))
    ok("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, pointers, None)
    buffer = memory.value.to_bytes(8, "little") + (7).to_bytes(4, "little")
    held, length = c.create_string_buffer(buffer, 12), size(12)
    where = (c.cast(held, c.c_void_p), c.cast(c.byref(length), c.c_void_p))
    extra = (c.c_void_p * 5)(POINTER, where[0], SIZE, where[1], END)
    ok("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, None, None, extra)
    got = (c.c_int * 10)()
    ok("cuMemcpyDtoH_v2", got, memory, size(40))
    assert list(got) == [200] * 7 + [100] * 3, list(got)
    length.value = 11
    gives(INVALID_VALUE, "cuLaunchKernel", function, *(1,) * 6, 0, None, None, extra)
    gives(INVALID_VALUE, "cuLaunchKernel", function, *(1,) * 6, 0, None, None, None)
    gives(INVALID_VALUE, "cuLaunchKernel", function, 1, 1, 1, 2048, 1, 1, 0, None, pointers, None)
    threads, grid, block = c.c_int(), c.c_int(), c.c_int()
    ok("cuFuncGetAttribute", c.byref(threads), 0, function)
    assert threads.value == 1024
    best = (c.byref(grid), c.byref(block))
    ok("cuOccupancyMaxPotentialBlockSize", *best, function, None, size(0), 0)
    assert block.value % 32 == 0 and 0 < block.value <= 1024 and grid.value > 0
    ok("cuMemFree_v2", memory)


def check_streams() -> None:
    stream, first, last, time = c.c_void_p(), c.c_void_p(), c.c_void_p(), c.c_float()
    ok("cuStreamCreate", c.byref(stream), 1)
    for event in (first, last):
        ok("cuEventCreate", c.byref(event), 0)
        ok("cuEventRecord", event, stream)
    ok("cuStreamWaitEvent", stream, first, 0)
    ok("cuEventElapsedTime", c.byref(time), first, last)
    ok("cuStreamSynchronize", stream)
    ok("cuStreamDestroy_v2", stream)
    gives(INVALID_HANDLE, "cuStreamSynchronize", stream)


def check_names() -> None:
    function, name, status = c.c_void_p(), c.c_char_p(), c.c_int()
    flags = c.c_uint64(0)
    for version, symbol in ((2000, "cuMemAlloc"), (3020, "cuMemAlloc_v2"), (9000, "cuMemAlloc_v2")):
        ok("cuGetProcAddress", b"cuMemAlloc", c.byref(function), version, flags)
        assert function.value == c.cast(getattr(cuda, symbol), c.c_void_p).value, version
    gives(NOT_FOUND, "cuGetProcAddress", b"cuNothing", c.byref(function), 12000, flags)
    ok("cuGetProcAddress_v2", b"cuNothing", c.byref(function), 12000, flags, c.byref(status))
    assert (function.value, status.value) == (None, 1)
    ok("cuGetErrorName", 700, c.byref(name))
    assert name.value == b"CUDA_ERROR_ILLEGAL_ADDRESS"
    ok("cuGetErrorString", 2, c.byref(name))
    assert name.value == b"out of memory"
    gives(INVALID_VALUE, "cuGetErrorString", 12345, c.byref(name))
    gives(NOT_SUPPORTED, "cuMipmappedArrayCreate", None, None, 1)


check_contexts()
check_device()
check_memory()
check_modules(*(Path(path).read_bytes() + b"\0" for path in sys.argv[1:]))
check_streams()
check_names()
print("all is well")

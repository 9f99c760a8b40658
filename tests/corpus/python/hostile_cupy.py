"""Launches that a library could make otherwise than CuPy.

The script prints the same lines when it is tuned.
"""

from __future__ import annotations

import gc
import os
import pickle
import zlib
from enum import IntEnum
from threading import Event, Thread
from typing import Any

import cupy as cp
import numpy as np

from tests.corpus.python.hostile_cases import case, named_errors, run_all
from tests.corpus.python.saxpy_by_cupy import BLOCK, GRID, TEXT, TWO, N, called, loaded, ones


@case
def plain() -> object:
    return called(loaded())


@case
def numbers_of_many_types() -> object:
    kinds = [N, np.int32(N), np.int64(N), np.uint64(N), np.array([N]), 2**32 + N, -5]
    return [called(loaded(), kind).sum() for kind in kinds]


@case
def numbers_that_do_not_fit() -> object:
    found = []
    for a in (2.0, np.float64(2), 2, 2 + 1j, None, np.array([2], np.float32), "2", 2**64):
        try:
            found.append(called(loaded(), a=a).sum())
        except (TypeError, OverflowError) as error:
            found.append(type(error).__name__)
    return found


@case
def extents_of_many_kinds() -> object:
    found: list[object] = []
    wide: list[Any] = [
        (3125, 1, 1),
        (np.int64(3125),),
        (0,),
        (-1, 1),
        [3125],
        (3125.0,),
        (100,),
        (),
    ]
    for grid in (*wide, (1, 1, 1, 3125), (2**31,)):
        with named_errors(found):
            found.append(called(loaded(), grid=grid).sum())
    return found


@case
def blocks_that_cuda_refuses() -> object:
    found: list[object] = []
    kernel = loaded()
    for block, shared in ((2048,), 0), (BLOCK, 1 << 20), (BLOCK, 4096):
        with named_errors(found):
            found.append(called(kernel, block=block, shared_mem=shared).sum())
    return found


@case
def too_few_arguments() -> object:
    kernel, y = loaded(), ones()
    try:
        kernel(GRID, BLOCK, (N, np.float32(2), y, object()))
    except TypeError:
        kernel(GRID, BLOCK, [N, np.float32(2), y, y])
    return y.get()


@case
def in_streams_with_events() -> object:
    kernel, streams = loaded(), [cp.cuda.Stream(non_blocking=True) for _ in range(3)]
    x, ys = ones(), [ones() for _ in range(3)]
    cp.cuda.Device().synchronize()
    for stream, y in zip(streams, ys, strict=True):
        with stream:
            kernel(GRID, BLOCK, (N, np.float32(2), x, y))
            event = stream.record()
        streams[0].wait_event(event)
        with cp.cuda.ExternalStream(streams[0].ptr):
            kernel(GRID, BLOCK, (N, np.float32(1), y, ys[0]))
    streams[0].synchronize()
    kernel.kernel(GRID, BLOCK, (N, np.float32(1), x, ys[0]), stream=streams[1])
    streams[1].synchronize()
    return ys[0].get()


@case
def neighbours_and_views() -> object:
    kernel, memory = loaded(), ones(3 * N)
    kernel(GRID, BLOCK, (N, np.float32(2), memory[:N], memory[N:]))
    kernel(GRID, BLOCK, (N - 1, np.float32(3), memory[N + 1 :], memory[2 * N + 1 :]))
    kernel(GRID, BLOCK, (N - 7, np.float32(5), memory[1:], memory[1:]))
    kernel(GRID, BLOCK, (N, np.float32(2), memory.data, memory[::3]))
    return memory.get()


@case
def memory_that_is_given_anew() -> object:
    kernel, found = loaded(), []
    for round_ in range(6):
        whole, apart = ones(2 * N), ones()
        x, y = (whole[:N], whole[N:]) if round_ % 2 else (apart, whole[:N])
        kernel(GRID, BLOCK, (N, np.float32(2), x, y))
        found.append(float(y.get().sum()))
        del whole, apart, x, y
        if round_ % 3 == 2:
            cp.get_default_memory_pool().free_all_blocks()
    return found


@case
def another_text_with_the_name() -> object:
    found = []
    for sign in ("- y[i]", "", "+ y[i]"):
        module = cp.RawModule(code=TEXT.replace("+ y[i]", sign))
        found.append(called(module.get_function("saxpy")).sum())
    again = loaded(TEXT.replace("+ y[i]", "- y[i]"))
    return [*found, called(again).sum(), called(loaded()).sum()]


@case
def options_that_were_not_tuned() -> object:
    found = []
    for options in ((), ("-Dthree=3",), ("--use_fast_math",), ("-G",), ("-std=c++14",)):
        found.append(called(loaded(options=options)).sum())
    return found


@case
def kernels_compiled_pickled_and_left() -> object:
    kernel = loaded()
    first = called(kernel).sum()
    kernel.compile()
    copy = pickle.loads(pickle.dumps(kernel))
    function = cp.RawModule(code=TEXT).get_function("saxpy")
    gc.collect()
    return first, called(kernel).sum(), called(copy).sum(), called(function).sum()


@case
def attributes_that_are_set() -> object:
    kernel = loaded()
    kernel.max_dynamic_shared_size_bytes = 70_000
    kernel.preferred_shared_memory_carveout = 50
    found = called(kernel, shared_mem=60_000)
    return kernel.max_dynamic_shared_size_bytes, kernel.num_regs > 0, found.sum()


@case
def in_threads() -> object:
    kernel, found = loaded(), []
    # NVRTC itself fails where threads begin it at once.
    kernel.compile()

    def work(number: int) -> None:
        with cp.cuda.Stream(non_blocking=True):
            y = ones()
            for _ in range(3):
                kernel(GRID, BLOCK, (N - number, np.float32(2), ones(), y))
            found.append(float(y.get().sum()))

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(found)


@case
def a_graph() -> object:
    kernel, x, y = loaded(), ones(), ones()
    kernel(GRID, BLOCK, (N, np.float32(2), x, y))
    with cp.cuda.Stream(non_blocking=True) as stream:
        stream.begin_capture()
        for factor in (1, 2):
            kernel(GRID, BLOCK, (N, np.float32(factor), x, y))
        graph = stream.end_capture()
        for _ in range(3):
            graph.launch(stream)
        stream.synchronize()
    return y.get()


@case
def cooperative_and_with_nvcc() -> object:
    kinds = {"enable_cooperative_groups": True}, {"backend": "nvcc"}
    return [called(loaded(**kind)).sum() for kind in kinds]


@case
def an_exception_in_between() -> object:
    kernel, y = loaded(), ones()
    for wrong in (object(), np.ones(3)):
        try:
            kernel(GRID, BLOCK, (N, wrong, y, y))
        except TypeError:
            kernel(GRID, BLOCK, (N, np.float32(1), y, y))
    return y.get()


@case
def arrays_of_other_types_and_strides() -> object:
    kernel, memory, doubles = loaded(), ones(3 * N), cp.asarray(np.arange(N, dtype=np.float64))
    kernel(GRID, BLOCK, (N, TWO, memory[2 * N : 0 : -1], memory))
    kernel(GRID, BLOCK, (N, TWO, doubles, memory[N:]))
    kernel(GRID, BLOCK, (1, TWO, cp.zeros((), np.float32), memory[5:6]))
    kernel(GRID, BLOCK, (N, TWO, memory.reshape(3, -1).T, memory[N : 2 * N].reshape(2, -1)))
    return memory.get()


@case
def nothing_to_do() -> object:
    kernel, y, nothing = loaded(), ones(), cp.empty(0, np.float32)
    for n in (0, -1, np.int32(0)):
        kernel(GRID, BLOCK, (n, TWO, nothing, nothing))
    kernel((1,), BLOCK, (0, TWO, None, None))
    kernel(GRID, BLOCK, (N, TWO, y, y))
    return y.get()


class Own(cp.ndarray):  # type: ignore[misc]
    """An array of another class."""


class Size(IntEnum):
    """An integer of another class."""

    ALL = N


class Arguments(list[Any]):
    """Arguments that launch while they are read."""

    def __iter__(self) -> Any:
        loaded()(GRID, BLOCK, (N, TWO, self[2], self[3]))
        return super().__iter__()


@case
def classes_of_ones_own() -> object:
    kernel = loaded()
    found: list[object] = []
    x, y = ones(), ones()
    given: list[Any] = [
        (Size.ALL, TWO, x, y),
        (N, TWO, x.view(Own), y),
        Arguments((N, TWO, x, y)),
        iter((N, TWO, x, y)),
        np.array([1, 2, 3, 4]),
        {0: N},
        "four",
    ]
    for args in given:
        with named_errors(found):
            kernel(GRID, BLOCK, args)
            found.append(float(y.get().sum()))
    return found


@case
def numbers_that_are_none() -> object:
    kernel = loaded()
    found: list[object] = []
    signalling = np.frombuffer(b"\1\0\x80\x7f", np.float32)[0]
    kinds = (
        np.float32("nan"),
        signalling,
        np.float32("-inf"),
        float("nan"),
        np.float16(2),
        np.bool_(1),
    )
    for a in kinds:
        with named_errors(found):
            found.append(zlib.crc32(called(kernel, a=a).tobytes()))
    return found


@case
def calls_by_name() -> object:
    kernel, x, y = loaded(), ones(), ones()
    given: list[Any] = [
        {"grid": GRID, "block": BLOCK, "args": (N, TWO, x, y)},
        {"grid": GRID, "block": BLOCK, "args": (N, TWO, x, y), "shared_mem": 64, "stream": None},
        {"grid": GRID, "block": BLOCK},
        {"grid": GRID, "block": BLOCK, "args": (N, TWO, x, y), "stream": 5},
        {"grid": GRID, "block": BLOCK, "args": (N, TWO, x, y), "unknown": 5},
        {"grid": GRID, "block": BLOCK, "args": (N, TWO, x, y), "shared_mem": "1"},
    ]
    found: list[object] = []
    for named in given:
        for function in (kernel, kernel.kernel):
            with named_errors(found):
                function(**named)
                found.append(float(y.get().sum()))
    return found


@case
def modules_that_go_meanwhile() -> object:
    x, y, kept = ones(), ones(), loaded()
    kept(GRID, BLOCK, (N, TWO, x, y))
    is_over = Event()

    def collect() -> None:
        while not is_over.is_set():
            gc.collect()

    thread = Thread(target=collect)
    thread.start()
    for _ in range(20):
        cp.RawModule(code=TEXT).get_function("saxpy")(GRID, BLOCK, (N, TWO, x, y))
        kept(GRID, BLOCK, (N, TWO, x, y))
    is_over.set()
    thread.join()
    return y.get()


@case
def memory_of_the_host_and_managed() -> object:
    kernel = loaded()
    found: list[object] = []
    managed = cp.ndarray(N, np.float32, cp.cuda.malloc_managed(4 * N))
    managed.fill(1)
    pinned = np.frombuffer(cp.cuda.alloc_pinned_memory(4 * N), np.float32, N)
    for x in (managed, managed.data, pinned, pinned.ctypes.data, int(managed.data.ptr)):
        y = ones()
        with named_errors(found):
            kernel(GRID, BLOCK, (N, TWO, x, y))
            found.append(float(y.get().sum()))
    return found


@case
def in_another_process() -> object:
    kernel, x, y = loaded(), ones(), ones()
    kernel(GRID, BLOCK, (N, TWO, x, y))
    child = os.fork()
    if child == 0:
        os._exit(7)
    status = os.waitpid(child, 0)[1]
    kernel(GRID, BLOCK, (N, TWO, x, y))
    return status, y.get().sum()


@case
def an_illegal_address() -> object:
    pointer = cp.cuda.MemoryPointer(cp.cuda.UnownedMemory(64, 8, None, 0), 0)
    loaded()(GRID, BLOCK, (N, np.float32(2), pointer, pointer))
    cp.cuda.Device().synchronize()
    return "nothing"


run_all(lambda: None)

"""Threads, interrupts, ends and memory that come between launches.

The script prints the same lines when it is tuned.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import itertools
import multiprocessing
import signal
import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import cupy as cp
import numpy as np

from tests.corpus.python.hostile_cases import case, named_errors, run_all
from tests.corpus.python.saxpy_by_cupy import BLOCK, GRID, TWO, N, called, loaded, ones


@case
def views_of_views() -> object:
    kernel, memory = loaded(), cp.asarray(np.arange(3 * N, dtype=np.float32) % 7)
    back = memory[::-1]
    given = [
        (N, back[::-1][N:], memory[: 2 * N][::-1][2 * N - 1 :]),
        (N // 2, back[N:][::-2], memory[7:]),
        (N - 1, memory[N : 2 * N][::-1][::-1], memory[N + 1 :]),
        (N, cp.broadcast_to(memory[3:4], (N,)).base, memory[2 * N :]),
        (N // 2, cp.lib.stride_tricks.as_strided(memory, (N,), (8,)), memory[1:]),
        (N - 9, memory.view(np.int32)[2:], memory.view(np.uint8)[4:].view(np.float32)),
        (N, memory.reshape(3, N)[1], memory.reshape(N, 3).T[2]),
        (1, back, back),
    ]
    for size, x, y in given:
        kernel(GRID, BLOCK, (size, TWO, x, y))
    return memory.get()


@case
def overlaps_that_depend_on_the_order() -> object:
    kernel, found = loaded(), []
    for shift in (0, 1, 31, 32, 128, -1, -32):
        memory = ones(N + 256)
        x, y = memory[128 + shift :], memory[128:]
        kernel((4,), BLOCK, (100, TWO, x, y))
        found.append(float(memory.get().sum()))
    return found


@case
def arrays_that_only_a_generator_holds() -> object:
    kernel, y = loaded(), ones()

    def given() -> Iterator[Any]:
        yield N
        yield TWO
        yield ones()
        yield y

    for _ in range(5):
        kernel(GRID, BLOCK, tuple(given()))
        gc.collect()
    for args in ((N, TWO, x, y) for x in (ones() for _ in range(5))):
        kernel(GRID, BLOCK, args)
        del args
    return y.get()


@case
def an_address_that_a_larger_array_gets() -> object:
    kernel, pool, found = loaded(), cp.get_default_memory_pool(), []
    for count in (N, 2 * N, 4 * N, N, 3 * N):
        x = ones(count)
        y = ones(count)
        kernel(GRID, BLOCK, (N, TWO, x, y))
        kernel(GRID, BLOCK, (count // 2, TWO, x[: count // 2], x[count // 2 :]))
        found.append((float(x.get().sum()), float(y.get().sum())))
        pointer = x.data.ptr
        del x, y
        pool.free_all_blocks()
        x = cp.ndarray(3 * N, np.float32)
        x.fill(1)
        kernel(GRID, BLOCK, (N, TWO, x[2 * N :], x))
        found.append((x.data.ptr == pointer, float(x.get().sum())))
        del x
    return [sums for _, sums in found]


class Foreign:
    """An array of another package, whose memory this one has."""

    def __init__(self, array: Any, **changed: Any) -> None:
        self.array, self.changed = array, changed

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {**self.array.__cuda_array_interface__, **self.changed}


@case
def arrays_of_another_package() -> object:
    found: list[object] = []
    kernel, y = loaded(), ones()
    whole = ones(2 * N)
    for x in (
        cp.asarray(Foreign(whole)),
        Foreign(whole),
        cp.from_dlpack(whole),
        cp.asarray(Foreign(whole, shape=(N,), strides=(8,))),
        memoryview(b"1234"),
        cp.asarray(Foreign(whole, data=(whole.data.ptr + 4, True), shape=(N,))),
    ):
        with named_errors(found):
            kernel(GRID, BLOCK, (N, TWO, x, y))
            found.append(float(y.get().sum()))
    return found


@case
def too_many_arguments() -> object:
    found: list[object] = []
    kernel, y = loaded(), ones()
    for more in ((y,), (None,), (1, 2, 3), (object(),)):
        with named_errors(found):
            kernel(GRID, BLOCK, (N, TWO, y, y, *more))
            found.append(float(y.get().sum()))
    return found


@case
def arguments_of_other_widths() -> object:
    found: list[object] = []
    for n, a in ((np.int8(100), TWO), (np.uint16(1000), TWO), (N, np.int32(2)), (True, False)):
        with named_errors(found):
            found.append(float(called(loaded(), n, a).sum()))
    return found


@case
def extents_of_zero_and_beyond() -> object:
    found: list[object] = []
    kernel = loaded()
    for grid, block in (
        ((0,), BLOCK),
        (GRID, (0,)),
        (GRID, (32, 0)),
        ((1, 65536), BLOCK),
        ((1, 1, 65536), BLOCK),
        ((1, 65535), BLOCK),
        ((3125, 1, 1), (32, 1, 64)),
        ((3125, 1, 1), (32, 1, 65)),
        (GRID, (1025,)),
        ((2**32 + 3125,), BLOCK),
        (GRID, (2**32 + 32,)),
        (GRID, (32, 32)),
        (GRID, (1,)),
    ):
        with named_errors(found):
            found.append(float(called(kernel, a=np.float32(0), grid=grid, block=block).sum()))
    return [*found, called(kernel).sum()]


@case
def a_pool_of_threads_with_a_stream_each() -> object:
    kernel, local = loaded(), threading.local()
    kernel.compile()

    def work(number: int) -> float:
        if not hasattr(local, "stream"):
            local.stream = cp.cuda.Stream(non_blocking=True)
        with local.stream:
            y = ones()
            kernel(GRID, BLOCK, (N - number, TWO, ones(), y))
            kernel(GRID, BLOCK, (N - number, np.float32(number), y, y))
            return float(y.get().sum())

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(work, range(16)))


@case
def threads_that_load_one_text_at_once() -> object:
    loaded().compile()
    barrier = threading.Barrier(4)

    def work(number: int) -> float:
        barrier.wait()
        return float(called(loaded(), N - number).sum())

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(work, range(4)))


@case
def events_across_streams() -> object:
    kernel, streams = loaded(), [cp.cuda.Stream(non_blocking=number > 0) for number in range(3)]
    y, events = ones(), [cp.cuda.Event(disable_timing=False) for _ in range(7)]
    events[6].synchronize()
    for event, stream in zip(events, itertools.cycle((*streams, cp.cuda.Stream.ptds))):
        with stream:
            kernel(GRID, BLOCK, (N, TWO, y, y))
            event.record()
        for other in streams:
            other.wait_event(event)
    events[-1].synchronize()
    times = [cp.cuda.get_elapsed_time(one, two) >= 0 for one, two in itertools.pairwise(events)]
    streams[0].use()
    kernel(GRID, BLOCK, (N, TWO, y, y))
    cp.cuda.Stream.null.use()
    return all(times), all(event.done for event in events), y.get()


@case
def a_graph_of_several_streams() -> object:
    kernel, x, y, z = loaded(), ones(), ones(), ones()
    kernel.compile()
    main, side = (cp.cuda.Stream(non_blocking=True) for _ in range(2))
    with main:
        main.begin_capture()
        kernel(GRID, BLOCK, (N, TWO, x, y))
        side.wait_event(main.record())
        with side:
            kernel(GRID, BLOCK, (N, TWO, x, z))
            joined = side.record()
        kernel(GRID, BLOCK, (N, TWO, x, y))
        main.wait_event(joined)
        kernel(GRID, BLOCK, (N, TWO, z, y))
        graph = main.end_capture()
        for _ in range(3):
            graph.launch()
        main.synchronize()
    return y.get(), z.get()


@case
def a_capture_that_fails() -> object:
    found: list[object] = []
    kernel, y = loaded(), ones()
    kernel.compile()
    stream = cp.cuda.Stream(non_blocking=True)
    for wrong in ((GRID, (2048,)), (GRID, BLOCK)):
        with stream:
            stream.begin_capture()
            with named_errors(found):
                kernel(*wrong, (N, TWO, y, y))
                found.append(stream.is_capturing())
                graph = stream.end_capture()
                graph.launch()
                with suppress(Exception):
                    stream.end_capture()
        with suppress(Exception):
            stream.synchronize()
    kernel(GRID, BLOCK, (N, TWO, y, y))
    return found, y.get()


@contextmanager
def launched(kernel: Any, y: Any) -> Iterator[None]:
    stream = cp.cuda.Stream(non_blocking=True)
    with stream:
        kernel(GRID, BLOCK, (N, TWO, y, y))
        try:
            yield
        finally:
            kernel(GRID, BLOCK, (N, TWO, y, y))
            stream.synchronize()


@case
def exceptions_between_launch_and_end() -> object:
    kernel, y, found = loaded(), ones(), []
    for wrong in (ZeroDivisionError, KeyboardInterrupt, SystemExit, MemoryError, GeneratorExit):
        try:
            with launched(kernel, y):
                raise wrong
        except BaseException as error:
            found.append(type(error).__name__)
    with named_errors(found), launched(kernel, y):
        cp.ndarray(1 << 60, np.uint8)
    return found, y.get()


class Size:
    """An integer that does something when it is asked."""

    def __init__(self, asked: Any) -> None:
        self.asked = asked

    def __index__(self) -> int:
        self.asked()
        return N


def raising(error: BaseException) -> Any:
    def asked() -> None:
        raise error

    return asked


@case
def extents_that_do_something() -> object:
    found: list[object] = []
    kernel, x, y = loaded(), ones(), ones()
    deeds = (
        lambda: kernel(GRID, BLOCK, (N, TWO, x, y)),
        gc.collect,
        raising(KeyboardInterrupt()),
        raising(ValueError("no")),
        raising(SystemExit(3)),
        lambda: signal.raise_signal(signal.SIGINT),
    )
    for deed in deeds:
        for grid, n in (((Size(deed),), N), (GRID, Size(deed))):
            try:
                kernel(grid, BLOCK, (n, TWO, x, y))
                found.append(float(y.get().sum()))
            except BaseException as error:
                found.append(type(error).__name__)
    return found


@case
def interrupts_at_any_time() -> object:
    kernel, y, found = loaded(), ones(), 0
    kernel.compile()
    stop = threading.Event()

    def handle(*_: object) -> None:
        kernel((1,), BLOCK, (1, np.float32(0), y[:1], y[1:2]))
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, handle)
    for _ in range(10):
        signal.setitimer(signal.ITIMER_REAL, 0.003)
        with suppress(KeyboardInterrupt):
            while not stop.is_set():
                kernel((4,), BLOCK, (100, np.float32(0), y, y))
        found += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    kernel(GRID, BLOCK, (N, TWO, y, y))
    return found, y.get()


@case
def a_collection_that_launches() -> object:
    kernel, y, x = loaded(), ones(), ones()
    kernel.compile()
    times: list[int] = []

    def collected(phase: str, _: object) -> None:
        if phase == "start" and len(times) < 5:
            times.append(1)
            kernel(GRID, BLOCK, (N, TWO, x, y))

    gc.callbacks.append(collected)
    gc.set_threshold(1)
    for _ in range(10):
        kernel(GRID, BLOCK, (N, TWO, x, y))
        weakref.finalize(Size(None), kernel, GRID, BLOCK, (N, TWO, x, y))
    gc.callbacks.remove(collected)
    return y.get()


@case
def launches_at_the_bottom_of_a_recursion() -> object:
    kernel, y, found = loaded(), ones(), []

    def deeper(depth: int) -> None:
        if depth % 100 == 0:
            kernel((1,), BLOCK, (1, TWO, y, y))
        deeper(depth + 1)

    for _ in range(2):
        try:
            deeper(0)
        except RecursionError:
            found.append("RecursionError")
    kernel(GRID, BLOCK, (N, np.float32(0), y, y))
    return found, y.get()[1:]


@case
def launches_that_are_traced() -> object:
    seen: list[str] = []
    kernel, y = loaded(), ones()

    def trace(frame: Any, event: str, argument: object) -> Any:
        if event == "c_call" and len(seen) < 3:
            seen.append(event)
            kernel(GRID, BLOCK, (N, TWO, y, y))
        return trace

    sys.setprofile(trace)
    kernel(GRID, BLOCK, (N, np.float32(1), y, y))
    sys.setprofile(None)
    return y.get() > 0


@case
def tasks_that_take_turns() -> object:
    kernel, y = loaded(), ones()
    kernel.compile()

    async def work(number: int) -> float:
        with cp.cuda.Stream(non_blocking=True) as stream:
            kernel(GRID, BLOCK, (N, np.float32(0), y, y))
        await asyncio.sleep(0)
        await asyncio.to_thread(kernel, GRID, BLOCK, (N, np.float32(number % 2), y, y))
        stream.synchronize()
        return number

    async def all_of_them() -> list[float]:
        return [await work(number) for number in range(6)]

    return asyncio.run(all_of_them()), y.get()


def in_child(number: int) -> float:
    return float(called(loaded(), N - number).sum())


@case
def processes_that_begin_before() -> object:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(in_child, range(4)), in_child(5)


@case
def a_process_that_begins_after() -> object:
    mine = in_child(0)
    read, write = multiprocessing.Pipe()

    def body() -> None:
        try:
            write.send(in_child(1))
        except Exception as error:
            write.send(type(error).__name__)

    child = multiprocessing.get_context("fork").Process(target=body)
    child.start()
    found = read.recv()
    child.join()
    return mine, found, child.exitcode, in_child(2)


@case
def launches_at_the_end() -> object:
    kernel, y = loaded(), ones()
    kernel.compile()

    def at_end() -> None:
        kernel(GRID, BLOCK, (N, TWO, y, y))
        print("at the end", y.get().sum(), flush=True)

    atexit.register(at_end)
    atexit.register(lambda: print("first", called(loaded()).sum(), flush=True))
    weakref.finalize(y, print, "gone", flush=True)
    threading.Thread(target=lambda: called(kernel)).start()
    sys.exit(0)


class Last:
    """Launches when it goes."""

    def __init__(self) -> None:
        self.kernel, self.y = loaded(), ones()
        self.kernel.compile()

    def __del__(self) -> None:
        with suppress(Exception):
            self.kernel(GRID, BLOCK, (N, TWO, self.y, self.y))


@case
def launches_of_what_goes_last() -> object:
    kept = Last()
    kept.again = kept  # type: ignore[attr-defined]
    globals()["last"] = Last()
    sys.modules["last"] = Last()  # type: ignore[assignment]
    sys.exit(0)


@case
def a_thread_that_goes_on() -> object:
    kernel, y = loaded(), ones()
    kernel.compile()

    def work() -> None:
        while True:
            kernel((1,), BLOCK, (1, TWO, y, y))

    threading.Thread(target=work, daemon=True).start()
    sys.exit(0)


@case
def a_second_begin() -> object:
    import cutune.tuned  # noqa: PLC0415

    return called(loaded()).sum(), cutune.tuned.__file__ is not None


run_all(lambda: None)

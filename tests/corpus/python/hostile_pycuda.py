"""Launches that a library could make otherwise than PyCUDA.

Each prints what it leaves, or its error.

The script prints the same lines when it is tuned.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import sys
from enum import IntEnum
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Thread
from typing import Any

import numpy as np
import pycuda.compiler
import pycuda.driver as cuda
from pycuda import gpuarray, tools
from pycuda.compiler import SourceModule

from tests.corpus.python.hostile_cases import case, named_errors, run_all

TEXT = Path(sys.argv[1]).read_text()
BLOCK, GRID, N = (32, 1, 1), (3125, 1), 100_000


def ones(count: int = N) -> np.ndarray[Any, Any]:
    return np.ones(count, np.float32)


def loaded(text: str = TEXT) -> Any:
    return SourceModule(text).get_function("saxpy")


def called(function: Any, *arguments: Any, **named: Any) -> np.ndarray[Any, Any]:
    y = ones()
    x = np.arange(N, dtype=np.float32)
    given = arguments or (np.int32(N), np.float32(2))
    function(*given, cuda.In(x), cuda.InOut(y), **{"block": BLOCK, "grid": GRID, **named})
    return y


class Size(IntEnum):
    """An integer of another class."""

    GRID = 3125


class Asked:
    """An integer by its index."""

    def __index__(self) -> int:
        return 3125


class Foreign:
    """What holds memory of another package."""

    def __init__(self, memory: Any = 0) -> None:
        self.gpudata, self.handle = memory, 0


@case
def plain() -> object:
    return called(loaded())


@case
def lists_and_numpy_integers() -> object:
    return called(loaded(), grid=[3125], block=tuple(np.int64(one) for one in BLOCK))


@case
def floats_as_extents() -> object:
    return called(loaded(), grid=(3125.0, 1))


@case
def a_wide_integer() -> object:
    return called(loaded(), np.int64(N), np.float32(2))


@case
def a_double_for_a_float() -> object:
    return called(loaded(), np.int32(N), np.float64(2))


@case
def a_python_integer() -> object:
    return called(loaded(), N, np.float32(2))


@case
def no_block() -> object:
    return loaded()(np.int32(N), np.float32(2), grid=GRID)


@case
def an_unknown_keyword() -> object:
    return called(loaded(), blocks=BLOCK)


@case
def too_large_a_block() -> object:
    return called(loaded(), block=(2048, 1, 1))


@case
def an_empty_grid() -> object:
    return called(loaded(), grid=(0, 1))


@case
def too_much_shared_memory() -> object:
    return called(loaded(), shared=1 << 20)


@case
def some_shared_memory() -> object:
    return called(loaded(), shared=4096)


@case
def fewer_threads_than_elements() -> object:
    return called(loaded(), grid=(100, 1))


@case
def a_negative_size() -> object:
    return called(loaded(), np.int32(-5), np.float32(2))


@case
def timed() -> object:
    y = ones()
    arguments = np.int32(N), np.float32(2), cuda.In(ones()), cuda.InOut(y)
    seconds = loaded()(*arguments, block=BLOCK, grid=GRID, time_kernel=True)
    return type(seconds), y.sum()


@case
def in_streams_with_events() -> object:
    function, streams = loaded().prepare("ifPP"), [cuda.Stream() for _ in range(3)]
    host = [cuda.pagelocked_empty(N, np.float32) for _ in streams]
    device = [cuda.mem_alloc(4 * N) for _ in streams]
    x = cuda.to_device(ones())
    for number, (stream, mine, there) in enumerate(zip(streams, host, device, strict=True)):
        mine[:] = number
        cuda.memcpy_htod_async(there, mine, stream)
        function.prepared_async_call(GRID, BLOCK, stream, N, 2.0, x, there)
        event = cuda.Event().record(stream)
        streams[0].wait_for_event(event)
        function.prepared_async_call(GRID, BLOCK, streams[0], N, 1.0, there, device[0])
    streams[0].synchronize()
    return cuda.from_device(device[0], N, np.float32).sum()


@case
def neighbours_in_one_allocation() -> object:
    function, memory = loaded().prepare("ifPP"), cuda.to_device(ones(3 * N))
    start = int(memory)
    function.prepared_call(GRID, BLOCK, N, 2.0, start, start + 4 * N)
    function.prepared_call(GRID, BLOCK, N - 1, 3.0, start + 4 * N + 4, start + 8 * N + 4)
    function.prepared_call(GRID, BLOCK, N - 7, 5.0, start + 4, start + 4)
    return cuda.from_device(memory, 3 * N, np.float32)


@case
def memory_that_is_given_anew() -> object:
    function, found = loaded().prepare("ifPP"), []
    for round_ in range(4):
        whole = cuda.to_device(ones(2 * N)) if round_ % 2 else None
        apart = None if round_ % 2 else (cuda.to_device(ones()), cuda.to_device(ones()))
        x, y = (int(whole), int(whole) + 4 * N) if whole else map(int, apart or ())
        function.prepared_call(GRID, BLOCK, N, 2.0, x, y)
        found.append(float(cuda.from_device(y, N, np.float32).sum()))
    return found


@case
def pooled_memory_and_slices() -> object:
    pool, function = tools.DeviceMemoryPool(), loaded()
    x = gpuarray.to_gpu(np.arange(2 * N, dtype=np.float32), allocator=pool.allocate)
    y = gpuarray.to_gpu(ones(2 * N), allocator=pool.allocate)
    function(np.int32(N), np.float32(2), x[3 : N + 3], y[N:], block=BLOCK, grid=GRID)
    function(np.int32(N), np.float32(2), x[:N], x[N:], block=BLOCK, grid=GRID)
    return y.get().sum(), x.get().sum()


@case
def managed_and_host_memory() -> object:
    managed = cuda.managed_empty(N, np.float32, mem_flags=cuda.mem_attach_flags.GLOBAL)
    managed[:] = 1
    host = cuda.pagelocked_zeros(N, np.float32, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
    function = loaded()
    pointer = np.uintp(host.base.get_device_pointer())
    function(np.int32(N), np.float32(2), managed, pointer, block=BLOCK, grid=GRID)
    cuda.Context.synchronize()
    return host.sum()


@case
def two_modules_of_one_text() -> object:
    first, second = loaded(), loaded()
    return [called(one).sum() for one in (first, second, first)]


@case
def another_text_with_the_name() -> object:
    functions = [loaded(TEXT.replace("+ y[i]", sign)) for sign in ("- y[i]", "", "+ y[i]")]
    return [called(one).sum() for one in functions]


@case
def options_that_were_not_tuned() -> object:
    found = []
    for options in ([], ["-Dthree=3"], ["--use_fast_math"], ["-G"], ["-maxrregcount=16"]):
        module = SourceModule(TEXT, options=options)
        found.append(called(module.get_function("saxpy")).sum())
    return found


@case
def a_kernel_that_outlives_its_module() -> object:
    function = loaded()
    gc.collect()
    return called(function)


@case
def attributes_that_are_set() -> object:
    function = loaded()
    function.set_cache_config(cuda.func_cache.PREFER_L1)
    return function.num_regs > 0, function.max_threads_per_block, called(function).sum()


@case
def a_module_from_a_file() -> object:
    from pycuda.compiler import compile  # noqa: PLC0415

    code = compile(TEXT)
    return [
        called(cuda.module_from_buffer(one).get_function("saxpy")).sum()
        for one in (code, bytearray(code))
    ]


@case
def in_threads_with_contexts() -> object:
    found: list[float] = []

    def work() -> None:
        context = cuda.Device(0).make_context()
        function = loaded()
        found.append(float(sum(called(function).sum() for _ in range(3))))
        context.pop()

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@case
def one_context_in_turn() -> object:
    function, context, found = loaded(), cuda.Context.get_current(), []

    def work() -> None:
        context.push()
        found.append(float(called(function).sum()))
        cuda.Context.pop()

    cuda.Context.pop()
    for _ in range(2):
        thread = Thread(target=work)
        thread.start()
        thread.join()
    context.push()
    return found


@case
def in_another_context() -> object:
    function = loaded()
    other = cuda.Device(0).make_context()
    try:
        return called(function)
    finally:
        other.pop()


@case
def without_a_context() -> object:
    function, context = loaded().prepare("ifPP"), cuda.Context.get_current()
    cuda.Context.pop()
    try:
        function.prepared_call(GRID, BLOCK, N, 2.0, 0, 0)
    finally:
        context.push()
    return "launched"


@case
def an_exception_in_between() -> object:
    function, y = loaded(), cuda.to_device(ones())
    try:
        function(np.int32(N), np.float32(2), y, y, object(), block=BLOCK, grid=GRID)
    except TypeError:
        function(np.int32(N), np.float32(2), y, y, block=BLOCK, grid=GRID)
    return cuda.from_device(y, N, np.float32).sum()


@case
def grids_of_other_integers() -> object:
    found: list[object] = []
    function, y = loaded(), cuda.to_device(ones())
    wide: list[Any] = [
        {"grid": (np.int64(3125), 1)},
        {"grid": (np.uint32(3125), np.uint8(1))},
        {"grid": (Size.GRID, True)},
        {"grid": (Asked(), 1)},
        {"grid": (3125, 1, 1, 1)},
        {"grid": ()},
        {"grid": (3125,)},
        {"grid": (2**32 + 3125, 1)},
        {"grid": (-1, 1)},
        {"grid": (1, 65536)},
        {"block": (0, 1, 1)},
        {"block": (32, 1)},
        {"block": (32, 1, 65)},
        {"block": (2**32 + 32, 1, 1)},
        {"shared": np.int64(64)},
        {"shared": Asked()},
        {"shared": -1},
        {"shared": 2**32},
        {"stream": "another"},
        {"stream": 0},
        {"stream": Foreign()},
        {"texrefs": [1]},
    ]
    for named in wide:
        given = {"grid": GRID, "block": BLOCK, **named}
        with named_errors(found):
            function(np.int32(N), np.float32(1), y, y, **given)
            found.append(float(cuda.from_device(y, N, np.float32).sum()))
    return found


@case
def prepared_calls_of_many_kinds() -> object:
    found: list[object] = []
    y, function = cuda.to_device(ones()), loaded().prepare("ifPP")
    for args in (
        (N, 1.0, y, y),
        (N, 1, int(y), y),
        (N, 1.0, y),
        (N, "1", y, y),
        (1 << 40, 1, y, y),
    ):
        for call in (function.prepared_call, function.prepared_timed_call):
            with named_errors(found):
                call(GRID, BLOCK, *args)
                found.append(float(cuda.from_device(y, N, np.float32).sum()))
    function.prepare([np.int32, np.float32, np.intp, np.intp])
    function.prepared_call(GRID, BLOCK, N, 0.5, int(y), int(y), shared_size=64)
    timed = function.prepared_timed_call(GRID, BLOCK, N, 0.5, int(y), int(y))
    return found, timed() >= 0, cuda.from_device(y, N, np.float32)


@case
def too_few_and_too_many_arguments() -> object:
    found: list[object] = []
    y, function = cuda.to_device(ones()), loaded()
    given = np.int32(N), np.float32(1), y, y
    for args in ((*given, np.int32(3)), (*given, y, y), given[::-1], (np.array([1, 2]), *given)):
        with named_errors(found):
            function(*args, block=BLOCK, grid=(0, 1) if len(args) < 5 else GRID)
            found.append(float(cuda.from_device(y, N, np.float32).sum()))
    return found


@case
def constants_that_are_set_between_launches() -> object:
    text = f"__constant__ float factor;\n{TEXT.replace('a * x', 'factor * x')}"
    module, kept, y = SourceModule(text), loaded(), cuda.to_device(ones())
    pointer, size = module.get_global("factor")
    for value in (1, 5, -3):
        cuda.memcpy_htod(pointer, np.float32(value))
        for function in (module.get_function("saxpy"), kept):
            function(np.int32(N), np.float32(2), y, y, block=BLOCK, grid=GRID)
    return size, cuda.from_device(y, N, np.float32)


@case
def textures_and_variables_that_are_none() -> object:
    found: list[object] = []
    module = SourceModule(TEXT)
    for look in (module.get_texref, module.get_surfref, module.get_global, module.get_function):
        with named_errors(found):
            found.append(look("nothing"))
    return found, called(module.get_function("saxpy")).sum()


@case
def functions_that_the_script_wraps() -> object:
    own, seen = cuda.Function.__call__, []

    def traced(function: Any, *args: Any, **named: Any) -> Any:
        seen.append(named["grid"])
        return own(function, *args, **named)

    cuda.Function.__call__ = traced
    launch = cuda.Function._launch_kernel

    def counted(function: Any, *args: Any) -> Any:
        seen.append(len(args))
        return launch(function, *args)

    cuda.Function._launch_kernel = counted
    found = called(loaded()).sum()
    cuda.Function._launch_kernel, cuda.Function.__call__ = launch, own
    return found, seen, called(loaded()).sum()


@case
def a_driver_that_is_loaded_anew() -> object:
    before = loaded()
    importlib.reload(pycuda.compiler)
    after = pycuda.compiler.SourceModule(TEXT).get_function("saxpy")
    return called(before).sum(), called(after).sum(), called(loaded()).sum()


@case
def modules_by_other_ways() -> object:
    from pycuda.compiler import DynamicSourceModule, compile  # noqa: PLC0415

    found: list[object] = []
    code = compile(TEXT, no_extern_c=False)
    with NamedTemporaryFile(suffix=".cubin") as file:
        file.write(code)
        file.flush()
        ways: list[Any] = [
            lambda: cuda.module_from_file(file.name),
            lambda: cuda.module_from_buffer(code, options=[]),
            lambda: cuda.module_from_buffer(memoryview(code)),
            lambda: SourceModule(TEXT, arch="sm_90"),
            lambda: SourceModule(TEXT, arch="sm_10"),
            lambda: SourceModule(f'extern "C" {{ {TEXT} }}', no_extern_c=True),
            lambda: SourceModule(TEXT, no_extern_c=True),
            lambda: SourceModule(TEXT, keep=True),
            lambda: SourceModule(TEXT, include_dirs=["/nowhere"]),
            lambda: DynamicSourceModule(TEXT, no_extern_c=False),
        ]
        for way in ways:
            with named_errors(found):
                found.append(called(way().get_function("saxpy")).sum())
    return found


@case
def arrays_that_go_between_launches() -> object:
    found: list[object] = []
    function = loaded()
    for count in (N, 3 * N, 2 * N, N):
        x, y = (gpuarray.to_gpu(ones(count)) for _ in range(2))
        address = int(y.gpudata)
        function(np.int32(N), np.float32(2), x, y, block=BLOCK, grid=GRID)
        del x, y
        gc.collect()
        z = gpuarray.to_gpu(ones(4 * N))
        function(np.int32(N), np.float32(2), z[3 * N :], z, block=BLOCK, grid=GRID)
        function(np.int32(N), np.float32(2), z[::-1][4 * N - 1 :], z[1:], block=BLOCK, grid=GRID)
        found.append(float(z.get().sum()))
        z.gpudata.free()
        with named_errors(found):
            z.get()
        found.append(address > 0)
    return found


@case
def an_array_of_another_package() -> object:
    function, y = loaded(), cuda.to_device(ones())
    function(np.int32(N), np.float32(2), Foreign(y), y, block=BLOCK, grid=GRID)
    return cuda.from_device(y, N, np.float32)


@case
def a_context_that_goes() -> object:
    found: list[object] = [called(loaded()).sum()]
    function = loaded()
    cuda.Context.pop()
    context = cuda.Device(0).retain_primary_context()
    context.push()
    for one in (function, loaded()):
        with named_errors(found):
            found.append(called(one).sum())
    context.pop()
    with named_errors(found):
        found.append(called(function).sum())
    return found


@case
def an_interrupt_in_between() -> object:
    function, y = loaded(), cuda.to_device(ones())
    found: list[object] = []
    for wrong in (KeyboardInterrupt, SystemExit, MemoryError):
        stream = cuda.Stream()
        try:
            function(np.int32(N), np.float32(1), y, y, block=BLOCK, grid=GRID, stream=stream)
            raise wrong
        except BaseException as error:
            found.append(type(error).__name__)
        finally:
            function(np.int32(N), np.float32(1), y, y, block=BLOCK, grid=GRID, stream=stream)
        del stream
    cuda.Context.synchronize()
    return found, cuda.from_device(y, N, np.float32)


@case
def launches_at_the_end() -> object:
    function, y = loaded(), cuda.to_device(ones())

    def at_end() -> None:
        function(np.int32(N), np.float32(1), y, y, block=BLOCK, grid=GRID)
        print("at the end", cuda.from_device(y, N, np.float32).sum(), flush=True)
        cuda.Context.pop()

    atexit.register(at_end)
    sys.exit(0)


@case
def an_illegal_address() -> object:
    function = loaded().prepare("ifPP")
    function.prepared_call(GRID, BLOCK, N, 2.0, 64, 64)
    cuda.Context.synchronize()
    return "nothing"


def begin() -> None:
    cuda.init()
    cuda.Device(0).make_context()


# Else the process of each case would ask.
pycuda.compiler.get_nvcc_version("nvcc")
run_all(begin)

"""Kernels that are compiled, loaded and wrapped in unusual ways.

The script prints the same lines when it is tuned.
"""

from __future__ import annotations

import copy
import functools
import gc
import importlib
import weakref
from itertools import permutations
from typing import Any

import cupy as cp
import numpy as np

from tests.corpus.python.hostile_cases import case, named_errors, run_all
from tests.corpus.python.saxpy_by_cupy import BLOCK, GRID, TEXT, TWO, N, called, loaded, ones

TEMPLATE = """
template <typename T> __global__ void twice(T *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = a[i] + a[i];
}
"""
CONSTANT = TEXT.replace("__global__", "__constant__ float factor;\n__global__", 1).replace(
    "a * x[i]", "factor * x[i]"
)
COUNTER = TEXT.replace("__global__", "__device__ int calls;\n__global__", 1).replace(
    "if (i < n)", "if (i == 0) atomicAdd(&calls, 1);\nif (i < n)"
)


@case
def hundreds_of_modules_in_a_loop() -> object:
    kept, found = loaded(), []
    y, x = ones(), ones()
    for factor in range(40):
        text = f"#define factor {factor}\n{TEXT.replace('a * x', 'factor * x')}"
        kernel = cp.RawKernel(text, "saxpy")
        kernel(GRID, BLOCK, (N, TWO, x, y))
        kept(GRID, BLOCK, (N, TWO, x, y))
        found.append(float(y[factor].get()))
    return found, y.get()


@case
def hundreds_of_functions_of_one_text() -> object:
    module, y = cp.RawModule(code=TEXT), ones()
    for _ in range(300):
        module.get_function("saxpy")(GRID, BLOCK, (N, TWO, y, y))
        module = cp.RawModule(code=TEXT)
    return y.get()


@case
def a_body_that_changes_under_its_name() -> object:
    found, kernel = [], loaded()
    for text in (TEXT, TEXT.replace("a * x[i] + y[i]", "x[i] * x[i]"), TEXT):
        found.append(called(kernel).sum())
        kernel.__init__(text, "saxpy")
        found.append(called(kernel).sum())
    return found


@case
def names_of_instances_in_any_order() -> object:
    found: list[object] = []
    names = ("twice<float>", "twice<long long>", "twice< float >", "&twice<double>")
    for several in (*permutations(names[:2]), names[:1], names[2:3], names[3:], names[:3]):
        with named_errors(found):
            module = cp.RawModule(code=TEMPLATE, name_expressions=several)
            for name in several:
                kind = {"f": np.float32, "d": np.float64, "l": np.int64}
                y = cp.asarray(np.arange(1000, dtype=kind[name.partition("<")[2].strip()[0]]))
                module.get_function(name)((32,), BLOCK, (y, 1000))
                found.append(y.get())
    return [getattr(one, "sum", lambda one=one: one)() for one in found]


@case
def an_instance_of_another_type() -> object:
    module = cp.RawModule(code=TEMPLATE, name_expressions=("twice<float>", "twice<long long>"))
    y = cp.asarray(np.arange(2000, dtype=np.float32))
    module.get_function("twice<long long>")((32,), BLOCK, (y, 1000))
    return y.get()


@case
def a_name_that_is_not_there() -> object:
    found: list[object] = []
    module = cp.RawModule(code=TEXT)
    for name in ("nothing", "", "saxpy ", "_Z5saxpy", "blur\0", "cutune_launch_saxpy"):
        with named_errors(found):
            module.get_function(name)
            found.append(name)
    return [*found, called(module.get_function("saxpy")).sum()]


@case
def constants_that_are_set_between_launches() -> object:
    module = cp.RawModule(code=CONSTANT)
    factor = cp.ndarray((1,), np.float32, module.get_global("factor"))
    kernel, y, x = module.get_function("saxpy"), ones(), ones()
    for value in (1, 5, -3):
        factor[0] = value
        kernel(GRID, BLOCK, (N, TWO, x, y))
        loaded()(GRID, BLOCK, (N, TWO, x, y))
    other = cp.RawModule(code=CONSTANT)
    return y.get(), float(cp.ndarray((1,), np.float32, other.get_global("factor"))[0])


@case
def variables_that_kernels_change() -> object:
    module = cp.RawModule(code=COUNTER)
    calls = cp.ndarray((1,), np.int32, module.get_global("calls"))
    for _ in range(3):
        called(module.get_function("saxpy"))
    return int(calls[0])


@case
def a_variable_that_is_none() -> object:
    found: list[object] = []
    module = cp.RawModule(code=TEXT)
    for name in ("factor", "saxpy", "cutune_table"):
        with named_errors(found):
            found.append(type(module.get_global(name)).__name__)
    return found


@case
def textures_that_are_not_there() -> object:
    module = cp.RawModule(code=TEXT)
    try:
        return module.get_texref("picture")
    except Exception as error:
        return type(error).__name__, called(module.get_function("saxpy")).sum()


@case
def a_text_that_does_not_compile_in_between() -> object:
    found: list[object] = []
    for text in (TEXT, TEXT.replace("int i =", "int i"), TEXT, "", TEXT.replace("saxpy", "axpy")):
        with named_errors(found):
            found.append(called(loaded(text)).sum())
    return found


@case
def launches_that_the_script_wraps() -> object:
    compiler, function = cp.cuda.compiler, cp.cuda.function
    own, launched = compiler._compile_module_with_cache, []

    @functools.wraps(own)
    def compile_module(source: str, *others: Any, **named: Any) -> Any:
        module = own(source, *others, **named)
        launched.append(type(module).__name__)
        return module

    compiler._compile_module_with_cache = compile_module
    kernel = loaded()
    found = called(kernel).sum()

    class Wrapped(function.Function):  # type: ignore[misc,name-defined]
        def __call__(self, grid: Any, *others: Any, **named: Any) -> None:
            launched.append(grid)
            super().__call__(grid, *others, **named)

    function.Function, before = Wrapped, function.Function
    again = called(cp.RawModule(code=TEXT).get_function("saxpy")).sum()
    function.Function = before
    compiler._compile_module_with_cache = own
    return found, again, len(launched) > 0


@case
def a_compiler_that_is_loaded_anew() -> object:
    before = loaded()
    first = called(before).sum()
    importlib.reload(cp.cuda.compiler)
    return first, called(before).sum(), called(loaded(TEXT + "\n")).sum(), called(loaded()).sum()


@case
def copies_and_weak_references() -> object:
    kernel = loaded()
    found = [called(kernel).sum()]
    for copied in (copy.copy, copy.deepcopy):
        with named_errors(found):
            found.append(called(copied(kernel)).sum())
    gone = weakref.ref(kernel.kernel) if hasattr(kernel.kernel, "__weakref__") else None
    del kernel
    gc.collect()
    return found, called(loaded()).sum(), gone is None or gone() is None or "kept"


@case
def functions_that_outlive_their_modules() -> object:
    functions = [cp.RawModule(code=TEXT).get_function("saxpy") for _ in range(5)]
    gc.collect()
    return [called(one).sum() for one in functions]


@case
def kernels_of_expressions() -> object:
    squares = cp.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squares")
    x = cp.asarray(np.arange(24, dtype=np.float32).reshape(4, 6))
    found = [
        squares(x, x[::-1, ::-1]),
        squares(x[:, ::2], x[1:2, ::2]),
        squares(x.T, cp.float32(3)),
        squares(x[:0], x[:0]),
        squares(x.astype(np.int64), x.astype(np.int64)[:, ::-1]),
        squares(x, cp.broadcast_to(x[0], x.shape)),
    ]
    squares(x, x[::-1], x)
    return [float(one.sum()) for one in found], x.get()


@case
def functions_that_are_fused() -> object:
    @cp.fuse()  # type: ignore[untyped-decorator]
    def fused(x: Any, y: Any) -> Any:
        return cp.sqrt(x * x + y) - y

    x = cp.asarray(np.arange(1000, dtype=np.float32))
    return fused(x, x[::-1]).get(), fused(x[::3], x[::3]).get().sum()


run_all(lambda: None)

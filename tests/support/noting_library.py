"""A library that notes launches in place of making them, by the header of tuned scripts."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, find_nvcc
from cutune.tuning.script_session import Launcher, UnitLibrary

_SOURCE = """
#include <cuda_runtime.h>
#include "cutune_script.h"
extern "C" {
bool (*cutune_note)(const cutune_script_launch *);
unsigned cutune_places[16], cutune_count;
int cutune_layout_k(unsigned *to) {
    memcpy(to, cutune_places, sizeof cutune_places);
    return static_cast<int>(cutune_count);
}
}
static bool launch(const cutune_script_launch &asked) { return cutune_note(&asked); }
static struct _object *call(struct _object *about, struct _object *const *given, ssize_t count) {
    return cutune_call_python(launch, about, given, count);
}
static struct _object *cupy(struct _object *about, struct _object *words, struct _object *named) {
    return cutune_call_cupy(launch, about, words, named);
}
extern "C" cutune_python_function cutune_functions_k[2];
cutune_python_function cutune_functions_k[2] = {
    {"k", (void (*)())call, cutune_fast_call, nullptr},
    {"k", (void (*)())cupy, cutune_named_call, nullptr}};
"""


class Noted(NamedTuple):
    """A launch as the library is asked for it."""

    context: int
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    stream: int
    data: bytes


class _Asked(ctypes.Structure):
    """`cutune_script_launch`."""

    _fields_ = (
        ("context", ctypes.c_size_t),
        ("stream", ctypes.c_size_t),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("bytes", ctypes.c_void_p),
        ("size", ctypes.c_ssize_t),
    )


_Note = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.POINTER(_Asked))
_kept: list[object] = []


@cache
def _library() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "noting.cpp", Path(folder) / "noting.so"
        source.write_text(_SOURCE)
        headers = INCLUDE_DIRECTORY, find_nvcc(None).root / "include"
        folders = [f"-I{header}" for header in headers]
        options = ("-std=c++11", "-Wall", "-shared", "-fPIC", *folders)
        subprocess.run(["g++", *options, str(source), "-o", str(made)], check=True)
        return ctypes.CDLL(str(made))


def noting_launcher(
    layout: Sequence[tuple[int, int]], note: Callable[[Noted], bool], context: int
) -> Launcher:
    """What launches a kernel with these parameters: asks `note`, whose answer it gives."""
    library = _library()

    def noted(asked: ctypes._Pointer[_Asked]) -> bool:
        one = asked.contents
        data = ctypes.string_at(one.bytes, one.size)
        extents = tuple(one.grid), tuple(one.block)
        return note(Noted(one.context, *extents, one.shared, one.stream, data))

    asked_here = _Note(noted)
    _kept.append(asked_here)
    address = ctypes.cast(asked_here, ctypes.c_void_p)
    ctypes.c_void_p.in_dll(library, "cutune_note").value = address.value
    places = (ctypes.c_uint * 16).in_dll(library, "cutune_places")
    for at, number in enumerate(number for place in layout for number in place):
        places[at] = number
    ctypes.c_uint.in_dll(library, "cutune_count").value = len(layout)
    found = UnitLibrary(library).launcher("k", context)
    assert found is not None
    return found

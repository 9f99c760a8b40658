"""Packages whose kernels choose their thread blocks: one adapter each, for PyCUDA and for CuPy.

Functions and classes of a package are replaced, not those of the driver: only there it is known
which text a kernel was compiled from, whatever its name is.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import FrameType, FunctionType, ModuleType
from typing import Any
from weakref import ref

from cutune.tuning.script_session import (
    FOLDER_OPTIONS,
    TUPLE,
    Launch,
    Launcher,
    LoadedUnit,
    OwnCompiler,
    Session,
    current_context,
    may_include,
)

_KEY = "_cutune"

# ---- PyCUDA


def watch_compiler(session: Session, compiler: ModuleType) -> None:
    """Note what `pycuda.compiler` compiles."""
    own = compiler.compile_plain

    def compile_plain(
        source: str,
        options: Sequence[str],
        keep: bool,
        nvcc: str,
        cache_dir: str,
        target: str = "cubin",
    ) -> bytes:
        code: bytes = own(source, options, keep, nvcc, cache_dir, target)
        unit = session.unit_of(source, options, nvcc) if target == "cubin" else None
        if unit is not None:
            session.compiled[hashlib.sha256(code).digest()] = unit
        return code

    compiler.compile_plain = compile_plain  # type: ignore[attr-defined]


def watch_driver(session: Session, driver: ModuleType) -> None:
    """Make launches of `pycuda.driver` ask first."""
    from_buffer, get_function = driver.module_from_buffer, driver.Module.get_function
    launch_kernel = driver.Function._launch_kernel

    def module_from_buffer(buffer: Any, *options: Any, **named: Any) -> Any:
        module = from_buffer(buffer, *options, **named)
        context = current_context()
        if isinstance(buffer, bytes) and context is not None and not options and not named:
            unit = session.compiled.get(hashlib.sha256(buffer).digest())
            setattr(module, _KEY, None if unit is None else LoadedUnit(unit, context))
        return module

    def get_function_of(module: Any, name: str) -> Any:
        function = get_function(module, name)
        loaded = vars(module).get(_KEY)
        launcher = session.launcher(loaded, name) if loaded is not None else None
        if launcher is not None:
            setattr(function, _KEY, launcher.launch)
        return function

    def launch(function: Any, grid: Any, block: Any, values: Any, shared: Any, stream: Any) -> None:
        launched: Launch | None = vars(function).get(_KEY)
        is_known = stream is None or isinstance(stream, driver.Stream)
        handle = stream.handle if is_known and stream is not None else 0
        if not (launched and is_known and launched(grid, block, shared, handle, values)):
            launch_kernel(function, grid, block, values, shared, stream)

    driver.module_from_buffer = module_from_buffer  # type: ignore[attr-defined]
    driver.Module.get_function = get_function_of
    driver.Function._launch_kernel = launch


# ---- CuPy

#: So begin the names of many kernels that CuPy has for itself.
_OWN = "cupy_"
#: Modules of CuPy that compile what others have written, or call them.
_OF_OTHERS = re.compile(r"cupy\.cuda\b|cupyx\.(jit|profiler|optimizing)\b")
#: A header of CuPy.
_OWN_HEADER = re.compile(r"^#include [<\"]cupy/[\w/]+\.\w+[>\"]$", re.MULTILINE)
#: What a module may be compiled with, and what it is known to mean then.
_PLAIN = {"arch": (None,), "jitify": (None, False), "to_ltoir": (False,)}
_UNKNOWN = "it is not known what CuPy compiles with these options (jitify, device-debug, …)"
#: Keeps the instance of a template in the code.
_INSTANCE = "\n__attribute__((used)) static auto *const cutune_instance_{number} = &{name};"


def watch_cupy(session: Session, compiler: ModuleType) -> None:
    """Make launches of kernels that `cupy.cuda.compiler` compiles ask first.

    The objects of a kernel know neither their text nor its arguments, so that modules and functions
    are of classes that do. CuPy calls what these put in place of its own.
    """
    compile_module, function = compiler._compile_module_with_cache, compiler.function
    tuned = tuned_function(function.Function)

    def get_function(module: Any, name: str) -> Any:
        launcher = vars(module)[_KEY].launcher(name)
        if launcher is None:
            return function.Function(module, name)
        return tuned(module, name, launcher)

    modules = type("Module", (function.Module,), {"get_function": get_function})

    def compile_module_with_cache(source: str, options: Any = (), **named: Any) -> Any:
        compiled, context = compile_module(source, options, **named), current_context()
        if type(compiled) is not function.Module or context is None:
            return compiled
        module = modules()
        # The other one unloads nothing.
        module.ptr, compiled.ptr = compiled.ptr, 0
        module._set_mapping(compiled.mapping)
        names = dict(sorted((compiled.mapping or {}).items()))
        setattr(module, _KEY, CuPyText(session, compiler, source, options, named, names, context))
        return module

    compiler._compile_module_with_cache = compile_module_with_cache  # type: ignore[attr-defined]


@dataclass(frozen=True)
class CuPyText:
    """What a module of CuPy was compiled from. `names`: of instances, and mangled."""

    session: Session
    compiler: Any
    source: str
    options: tuple[str, ...]
    named: dict[str, Any]
    names: dict[str, str]
    context: int

    def launcher(self, kernel: str) -> Launcher | None:
        """What launches a kernel; None: CuPy does."""
        if kernel.startswith(_OWN) or _is_called_by_cupy():
            return None
        if self.loaded is None:
            self.session.leave(f"kernel '{kernel}': {_UNKNOWN}")
            return None
        spelled = {mangled: name for name, mangled in self.names.items()}
        return self.session.launcher(self.loaded, kernel, spelled.get(kernel, kernel))

    @cached_property
    def loaded(self) -> LoadedUnit | None:
        """The unit that is compiled; None where CuPy gives options that are not known."""
        named, nvcc = self.named, (sys.modules["cupy.cuda"].get_nvcc_path() or "nvcc").split()
        if any(named.get(name, known[0]) not in known for name, known in _PLAIN.items()):
            return None
        if len(nvcc) > 1 or "CUPY_CUDA_COMPILE_WITH_DEBUG" in os.environ:
            return None
        options = (*self.options, *_ADDED, "-arch", f"sm_{self.compiler._get_arch()}")
        if _FROM_JIT in options:
            options = (*options, TUPLE)
        instances = (_INSTANCE.format(number=n, name=name) for n, name in enumerate(self.names))
        text = self.source + "".join(instances)
        unit = self.session.unit_of(text, options, nvcc[0], self._headers())
        if unit is None:
            return None
        is_nvcc = named.get("backend") == "nvcc"
        return LoadedUnit(unit, self.context, None if is_nvcc else self._nvrtc())

    def _headers(self) -> list[str] | None:
        """What stands for headers, if all that are included are CuPy's own."""
        if not may_include(self.source):
            return []
        package: Any = sys.modules["cupy"]
        own = f"-I{os.path.dirname(package.__file__)}/"
        # That of the toolkit is the last.
        folders = [each for each in self.options if each.startswith(FOLDER_OPTIONS)][:-1]
        if may_include(_OWN_HEADER.sub("", self.source)) or not all(
            folder.startswith(own) for folder in folders
        ):
            return None
        return [package.__version__, package._core.core.CUPY_CACHE_KEY]

    def _nvrtc(self) -> OwnCompiler:
        version = self.compiler._preprocess("", (), self.compiler._get_arch(), "nvrtc")
        is_written_by_cupy = _OWN_HEADER.search(self.source) is not None
        instead = "" if is_written_by_cupy else "backend='nvcc' in its RawKernel or RawModule"
        return OwnCompiler(version, self._ptx_by_nvrtc, instead)

    def _ptx_by_nvrtc(self, architecture: str) -> str:
        """Compile the unit to PTX with the options that CuPy would use."""
        compiler = self.compiler
        compile_program = compiler._NVRTCProgram.compile

        def compile_ptx(program: Any, options: tuple[str, ...] = (), log_stream: Any = None) -> Any:
            program.method = "ptx"
            kept = (option for option in options if not option.startswith("-arch"))
            return compile_program(program, (*kept, f"-arch=compute_{architecture}"), log_stream)

        program = type("Program", (compiler._NVRTCProgram,), {"compile": compile_ptx})
        name = "_compile_using_nvrtc_no_warning"
        own = getattr(compiler, name, compiler.compile_using_nvrtc)
        # Another thread may compile meanwhile: this one has names of its own.
        alike = FunctionType(own.__code__, {**vars(compiler), "_NVRTCProgram": program})
        alike.__defaults__ = own.__defaults__
        names = tuple(self.names) or None
        return str(alike(self.source, (*self.options, *_ADDED), name_expressions=names)[0], "utf-8")


def _is_called_by_cupy() -> bool:
    """Is it CuPy that looks a kernel up for itself?

    What it has compiled of its own leaves no frames.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module != __name__ and not _OF_OTHERS.match(module):
            return module.partition(".")[0] in ("cupy", "cupyx")
        frame = frame.f_back
    return False


#: Options that CuPy adds.
_ADDED = ("-ftz=true",)
#: What CuPy writes for `cupyx.jit` needs tuples of C++, which its headers have for NVRTC only.
_FROM_JIT = "-DCUPY_JIT_MODE"


def tuned_function(own: type) -> Callable[[Any, str, Launcher], Any]:
    """Makes functions of CuPy that ask before they launch."""
    call, current = own.__call__, sys.modules["cupy.cuda.stream"].get_current_stream

    def linear_launch(
        function: Any,
        size: int,
        args: Any,
        shared_mem: Any = 0,
        block_max_size: int = 128,
        *others: Any,
        **named: Any,
    ) -> None:
        grid = (min(0x7FFFFFFF, -(-size // block_max_size)),)
        block = (min(block_max_size, size),)
        function(grid, block, args, shared_mem, *others, **named)

    def made(module: Any, name: str, launcher: Launcher) -> Any:
        def launch(*words: Any, **named: Any) -> Any:
            return call(kept(), *words, **named)

        # A function of C, which is no method: each kernel has a class of its own.
        # The last one is for extents.
        readers = [ArgumentReaders(size) for _, size in (*launcher.layout, (0, 8))]
        called = launcher.instead(readers, current, launch)
        methods = {"__call__": called, "linear_launch": linear_launch}
        found = type("Function", (own,), methods)(module, name)
        kept = ref(found)
        return found

    return made


class ArgumentReaders(dict[type, Callable[[Any], bytes] | int]):
    """What gives the bytes of a parameter, and maybe more, by the type of the argument.

    What it does not know raises TypeError.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def __missing__(self, kind: type) -> Callable[[Any], bytes] | int:
        self[kind] = found = self._found(kind)
        return found

    def _found(self, kind: type) -> Callable[[Any], bytes] | int:
        name, size = f"{kind.__module__}.{kind.__qualname__}", self.size
        if name in _BY_NAME:
            return _BY_NAME[name](size)
        if kind.__module__ == "numpy" and kind().nbytes >= size and kind().dtype.kind in "biufc":
            if kind().dtype.kind in "iu":
                return _INTEGER
            # What `bytes` makes of an integer is something else.
            return _REALS.get(name) or (lambda one: b"".join((one,)))
        raise TypeError(name)


#: Arguments that a library reads itself (`cutune_reader`).
_ARRAY, _INTEGER, _DOUBLE, _FLOAT = 1, 2, 3, 4
_REALS = {"numpy.float64": _DOUBLE, "numpy.float32": _FLOAT}


def _number_at_most(
    size: int, most: int, reader: Callable[[Any], bytes] | int
) -> Callable[[Any], bytes] | int:
    if size > most:
        raise TypeError("the parameter is larger")
    return reader


def _array(size: int) -> Callable[[Any], bytes] | int:
    """Read an array as its pointer, or as CuPy's `CArray`: with shape and strides."""
    if size == 8:
        return _ARRAY
    pack = struct.Struct(f"=Qq{(size - 16) // 8}q").pack
    return lambda one: pack(one.data.ptr, one.size, *one.shape, *one.strides)


def _indexer(size: int) -> Callable[[Any], bytes]:
    """Read the shape of CuPy's `CIndexer`; kernels write the rest before they read it."""
    dimensions = (size - 8) // 16
    pack = struct.Struct(f"=q{dimensions}q{8 * dimensions}x").pack
    return lambda one: pack(one.size, *one.shape)


def _scalar(size: int) -> Callable[[Any], bytes]:
    def read(one: Any) -> bytes:
        return ctypes.string_at(one.ptr, _at_least(one.dtype.itemsize, size))

    return read


def _one_element(size: int) -> Callable[[Any], bytes]:
    def read(one: Any) -> bytes:
        _at_least(one.itemsize if one.size == 1 else 0, size)
        return bytes(one.tobytes())

    return read


def _at_least(found: int, size: int) -> int:
    if found < size:
        raise ValueError("the parameter is larger")
    return size


_COMPLEX = struct.Struct("=dd").pack
#: What reads an argument for a parameter of a size, as CuPy's `_pointer` does.
_BY_NAME: dict[str, Callable[[int], Callable[[Any], bytes] | int]] = {
    "cupy.ndarray": _array,
    "cupy._core._carray.Indexer": _indexer,
    "cupy._core._scalar.CScalar": _scalar,
    "cupy.cuda.memory.MemoryPointer": lambda size: _number_at_most(
        size, 8, lambda one: one.ptr.to_bytes(8, "little")
    ),
    "numpy.ndarray": _one_element,
    "builtins.int": lambda size: _number_at_most(size, 8, _INTEGER),
    "builtins.bool": lambda size: _number_at_most(size, 1, lambda one: bytes((one,))),
    "builtins.float": lambda size: _number_at_most(size, 8, _DOUBLE),
    "builtins.complex": lambda size: _number_at_most(
        size, 16, lambda one: _COMPLEX(one.real, one.imag)
    ),
    "builtins.NoneType": lambda size: _number_at_most(size, 8, lambda one: bytes(8)),
}


# ---- numba


def watch_numba(session: Session, dispatcher: ModuleType) -> None:
    """Tell of kernels that `numba.cuda.dispatcher` compiles: these are not tuned."""
    kernel = dispatcher._Kernel
    compile_kernel = kernel.__init__

    def compile_and_tell(self: Any, *words: Any, **named: Any) -> None:
        compile_kernel(self, *words, **named)
        session.leave(f"kernel '{self.py_func.__name__}' {_FROM_PYTHON}")

    kernel.__init__ = compile_and_tell


_FROM_PYTHON = (
    "is compiled by numba, from Python, so that it has no text that can be rewritten; written in"
    " CUDA C++, as a RawKernel of CuPy or in a SourceModule of PyCUDA, it is tuned"
)


#: What is done to a module of a package, once it is loaded.
_WATCHED: dict[str, Callable[[Session, ModuleType], None]] = {
    "pycuda.compiler": watch_compiler,
    "pycuda.driver": watch_driver,
    "cupy.cuda.compiler": watch_cupy,
    "numba.cuda.dispatcher": watch_numba,
}


@dataclass(frozen=True)
class _Loading(MetaPathFinder):
    """Replaces functions of packages when these are loaded."""

    session: Session

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        watch = _WATCHED.get(fullname)
        spec = PathFinder.find_spec(fullname, path) if watch is not None else None
        if watch is None or spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            watch(self.session, module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def begin(session: Session) -> None:
    """From now on launches of this process are those of a session."""
    sys.meta_path.insert(0, _Loading(session))
    for name, watch in _WATCHED.items():
        if name in sys.modules:
            watch(session, sys.modules[name])

"""Launches of PyCUDA and CuPy that a library of a unit makes, and those that stay as they are."""

from __future__ import annotations

import ctypes
import json
import struct
import sys
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cutune.tuning import script_packages
from cutune.tuning.script_session import CompiledUnit, Launcher, Session
from tests.support.noting_library import Noted, noting_launcher

SOURCE = 'extern "C" __global__ void k(int n) { }\n'
NVCC = "/no/nvcc"
CONTEXT = 7
SHAPE = ((4, 1), (64, 1, 1))
Asked = list[tuple[Any, ...]]


class Library:
    """One with a kernel `k` of two parameters, which notes what it is asked."""

    def __init__(self, asked: Asked, answer: bool) -> None:
        self.asked, self.answer = asked, answer

    def launcher(self, kernel: str, context: int) -> Launcher | None:
        def launch(*words: Any) -> bool:
            self.asked.append(words)
            return self.answer

        def instead(*about: Any) -> Callable[..., Any]:
            found = noting_launcher([(0, 8), (8, 4)], self.note, CONTEXT)
            return found.instead(*about)

        return Launcher(launch, [(0, 8), (8, 4)], instead) if kernel == "k" else None

    def note(self, noted: Noted) -> bool:
        assert noted.context == CONTEXT
        self.asked.append(noted[1:])
        return self.answer


def session_of(source: str, answer: bool, *options: str) -> tuple[Session, Asked]:
    unit, asked = CompiledUnit.of(source, options, NVCC), Asked()
    assert unit is not None
    library: Any = Library(asked, answer)
    return Session(Path(), built={unit.digest: library}), asked


# ---- PyCUDA


class PyCudaModule:
    """A module of the package: code in a context."""

    def get_function(self, name: str) -> PyCudaFunction:
        return PyCudaFunction()


class PyCudaFunction:
    """A kernel, with the launches that the package made of it."""

    def __init__(self) -> None:
        self.own: list[tuple[Any, ...]] = []

    def _launch_kernel(self, *launch: Any) -> None:
        self.own.append(launch)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Loads a text as the package does, with a session that has a library for `SOURCE`."""

    def load(source: str = SOURCE, code: bytes = b"code", answer: bool = True) -> Any:
        session, asked = session_of(SOURCE, answer)
        functions = type("Functions", (PyCudaFunction,), {})
        modules = type("Modules", (PyCudaModule,), {"get_function": lambda *about: functions()})
        compiler, driver = ModuleType("compiler"), ModuleType("driver")
        vars(compiler)["compile_plain"] = lambda *about: code
        vars(driver).update(Module=modules, Function=functions, Stream=SimpleNamespace)
        vars(driver)["module_from_buffer"] = lambda *about: modules()
        monkeypatch.setattr(script_packages, "current_context", lambda: CONTEXT)
        script_packages.watch_compiler(session, compiler)
        script_packages.watch_driver(session, driver)
        compiler.compile_plain(source, [], False, NVCC, "")
        return driver, asked

    return load


def test_a_launch_of_pycuda(watched: Callable[..., Any]) -> None:
    driver, asked = watched()
    function = driver.module_from_buffer(b"code").get_function("k")
    function._launch_kernel(*SHAPE, b"1234", 0, None)
    function._launch_kernel((2,), (8, 8), b"1234", 16, SimpleNamespace(handle=5))
    assert asked == [(*SHAPE, 0, 0, b"1234"), ((2,), (8, 8), 16, 5, b"1234")]
    assert function.own == []
    function._launch_kernel(*SHAPE, b"1234", 0, 5)
    assert (len(asked), function.own) == (2, [(*SHAPE, b"1234", 0, 5)])


@pytest.mark.parametrize(
    ("about", "buffer", "name"),
    [
        ({"answer": False}, b"code", "k"),
        ({"source": SOURCE + " "}, b"code", "k"),
        ({}, b"other", "k"),
        ({}, bytearray(b"code"), "k"),
        ({}, b"code", "other"),
    ],
)
def test_launches_as_pycuda_makes_them(
    watched: Callable[..., Any], about: dict[str, Any], buffer: bytes, name: str
) -> None:
    driver, asked = watched(**about)
    function = driver.module_from_buffer(buffer).get_function(name)
    launch = (*SHAPE, b"", 0, None)
    function._launch_kernel(*launch)
    assert function.own == [launch]
    assert len(asked) == ("answer" in about)


def test_options_of_a_module_are_the_packages_own(watched: Callable[..., Any]) -> None:
    driver, asked = watched()
    function = driver.module_from_buffer(b"code", [(1, 2)]).get_function("k")
    function._launch_kernel(*SHAPE, b"", 0, None)
    assert (len(function.own), asked) == (1, [])


# ---- CuPy

OPTIONS = ("-ftz=true", "-arch", "sm_90")


class CuPyModule:
    """A module of CuPy, which is unloaded by who has its pointer."""

    def __init__(self) -> None:
        self.ptr, self.mapping = 0, None

    def get_function(self, name: str) -> CuPyFunction:
        return CuPyFunction(self, name)

    def _set_mapping(self, mapping: Any) -> None:
        self.mapping = mapping


class CuPyFunction:
    """A kernel of CuPy, with the launches that it made itself."""

    own: list[tuple[Any, ...]]

    def __init__(self, module: CuPyModule, name: str) -> None:
        self.module, self.name, self.own = module, name, []

    def __call__(self, *launch: Any, **named: Any) -> None:
        self.own.append(launch)


class Array:
    """An array of CuPy."""

    def __init__(self, address: int, *shape: int) -> None:
        self.data = SimpleNamespace(ptr=address)
        self.shape, self.size = shape, int(np.prod(shape))
        self.strides = tuple(4 * int(np.prod(shape[d + 1 :])) for d in range(len(shape)))


class Scalar:
    """A scalar that CuPy has converted."""

    def __init__(self, value: Any) -> None:
        self.dtype, self.content = value.dtype, ctypes.create_string_buffer(value.tobytes())
        self.ptr = ctypes.addressof(self.content)


class Indexer:
    """The extents of an element-wise kernel."""

    def __init__(self, *shape: int) -> None:
        self.shape, self.size = list(shape), int(np.prod(shape))


Array.__module__, Array.__qualname__ = "cupy", "ndarray"
Scalar.__module__, Scalar.__qualname__ = "cupy._core._scalar", "CScalar"
Indexer.__module__, Indexer.__qualname__ = "cupy._core._carray", "Indexer"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[CuPyModule, Asked]]:
    """Compiles a text as CuPy does, with a session that has a library for `SOURCE`."""

    def own(source: str, options: Any = (), **named: Any) -> Any:
        module = CuPyModule()
        module.ptr, module.mapping = 5, named.get("names")
        return b"ltoir" if named.get("to_ltoir") else module

    def compile_text(
        source: str = SOURCE, answer: bool = True, text: str = SOURCE, **named: Any
    ) -> tuple[CuPyModule, Asked]:
        session, asked = session_of(text, answer, *OPTIONS)
        return compile_in(session, source, **named), asked

    def compile_in(session: Session, source: str, **named: Any) -> Any:
        compiler: Any = ModuleType("compiler")
        compiler.function = SimpleNamespace(Module=CuPyModule, Function=CuPyFunction)
        compiler._compile_module_with_cache = own
        compiler._get_arch = lambda: "90"
        compiler._preprocess = lambda *about: "version"
        script_packages.watch_cupy(session, compiler)
        return compiler._compile_module_with_cache(source, **named)

    stream = SimpleNamespace(get_current_stream=lambda: SimpleNamespace(ptr=3))
    monkeypatch.setitem(sys.modules, "cupy.cuda", SimpleNamespace(get_nvcc_path=lambda: NVCC))
    monkeypatch.setitem(sys.modules, "cupy.cuda.stream", stream)
    monkeypatch.setattr(script_packages, "current_context", lambda: CONTEXT)
    compile_text.inside = compile_in  # type: ignore[attr-defined]
    return compile_text


ARGUMENTS = (Array(0x1000, 4), np.int32(-2))
PACKED = struct.pack("=qi", 0x1000, -2)


@pytest.mark.nvcc
def test_a_launch_of_cupy(compiled: Callable[..., Any]) -> None:
    module, asked = compiled(backend="nvrtc", arch=None, jitify=False)
    assert module.ptr == 5
    function = module.get_function("k")
    assert (function.module, function.name) == (module, "k")
    function((4,), (64,), ARGUMENTS)
    function((4, 2), (8, 8), [*ARGUMENTS], shared_mem=16, stream=SimpleNamespace(ptr=9))
    function.linear_launch(1000, ARGUMENTS, block_max_size=256)
    function.linear_launch(10, ARGUMENTS, 0, 128, None, False)
    function(grid=(5,), block=(64,), args=ARGUMENTS, shared_mem=8, stream=None)
    assert asked == [
        ((4, 1, 1), (64, 1, 1), 0, 3, PACKED),
        ((4, 2, 1), (8, 8, 1), 16, 9, PACKED),
        ((4, 1, 1), (256, 1, 1), 0, 3, PACKED),
        ((1, 1, 1), (10, 1, 1), 0, 3, PACKED),
        ((5, 1, 1), (64, 1, 1), 8, 3, PACKED),
    ]
    assert function.own == []


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((), {}),
        (((4,), (64,)), {}),
        (((4,), (64,), ARGUMENTS, 0, None, False, 1), {}),
        (((4,), (64,), ARGUMENTS), {"unknown": 1}),
        (((4,), (64,), ARGUMENTS), {"grid": (1,)}),
        (([4], (64,), ARGUMENTS), {}),
        (((4, 1, 1, 1), (64,), ARGUMENTS), {}),
        (((), (64,), ARGUMENTS), {}),
        (((4,), (0,), ARGUMENTS), {}),
        (((2**31,), (64,), ARGUMENTS), {}),
        ((("4",), (64,), ARGUMENTS), {}),
        (((4,), (64,), ARGUMENTS, -1), {}),
        (((4,), (64,), ARGUMENTS, "8"), {}),
        (((4,), (64,), {}), {}),
        (((4,), (64,), "ab"), {}),
        (((4,), (64,), type("Arguments", (list,), {})(ARGUMENTS)), {}),
    ],
)
def test_wrong_calls_are_cupys(
    compiled: Callable[..., Any], words: tuple[Any, ...], named: dict[str, Any]
) -> None:
    module, asked = compiled()
    function = module.get_function("k")
    function(*words, **named)
    assert (function.own, asked) == ([words], [])


class Leaving:
    """An array of CuPy at which the program ends."""

    @property
    def data(self) -> object:
        raise KeyboardInterrupt


Leaving.__module__, Leaving.__qualname__ = "cupy", "ndarray"


@pytest.mark.nvcc
def test_who_ends_the_program_ends_it(compiled: Callable[..., Any]) -> None:
    module, asked = compiled()
    function = module.get_function("k")
    with pytest.raises(KeyboardInterrupt):
        function((4,), (64,), (Leaving(), 1))
    assert (function.own, asked) == ([], [])


@pytest.mark.nvcc
def test_what_cupy_raises_is_raised(
    compiled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*words: Any, **named: Any) -> None:
        raise RuntimeError("refused")

    monkeypatch.setattr(CuPyFunction, "__call__", refused)
    function = compiled(answer=False)[0].get_function("k")
    with pytest.raises(RuntimeError, match="refused"):
        function((4,), (64,), ARGUMENTS)


@pytest.mark.nvcc
def test_a_kernel_that_is_let_go_unloads_its_module(compiled: Callable[..., Any]) -> None:
    module, _ = compiled()
    function = module.get_function("k")
    function((4,), (64,), ARGUMENTS)
    left = weakref.ref(function)
    del function
    assert left() is None


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("about", "name", "args", "named"),
    [
        ({"answer": False}, "k", ARGUMENTS, {}),
        ({"source": SOURCE + " "}, "k", ARGUMENTS, {}),
        ({"options": ("-G",)}, "k", ARGUMENTS, {}),
        ({"options": ("-DCUPY_USE_JITIFY",)}, "k", ARGUMENTS, {}),
        ({"jitify": True}, "k", ARGUMENTS, {}),
        ({"arch": "80"}, "k", ARGUMENTS, {}),
        ({}, "other", ARGUMENTS, {}),
        ({}, "cupy_k", ARGUMENTS, {}),
        ({}, "k", ARGUMENTS, {"enable_cooperative_groups": True}),
        ({}, "k", ARGUMENTS, {"stream": 5}),
        ({}, "k", ARGUMENTS[:1], {}),
        ({}, "k", (*ARGUMENTS, 1), {}),
        ({}, "k", iter(ARGUMENTS), {}),
        ({}, "k", (Array(8, 4), object()), {}),
        ({}, "k", (Array(8, 4), 2**64), {}),
        ({}, "k", (Array(8, 4), np.int16(1)), {}),
    ],
)
def test_launches_as_cupy_makes_them(
    compiled: Callable[..., Any], about: dict[str, Any], name: str, args: Any, named: dict[str, Any]
) -> None:
    module, asked = compiled(**about)
    function = module.get_function(name)
    function((4,), (64,), args, **named)
    assert len(function.own) == 1 and function.own[0][:3] == ((4,), (64,), args)
    assert len(asked) == ("answer" in about)
    assert module.ptr == 5


def test_debugged_and_linked_code_is_cupys(
    compiled: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert compiled(to_ltoir=True)[0] == b"ltoir"
    monkeypatch.setenv("CUPY_CUDA_COMPILE_WITH_DEBUG", "1")
    module, asked = compiled()
    module.get_function("k")((4,), (64,), ARGUMENTS)
    assert asked == []


@pytest.mark.nvcc
def test_instances_of_templates(compiled: Callable[..., Any]) -> None:
    text = SOURCE + "".join(
        f"\n__attribute__((used)) static auto *const cutune_instance_{n} = &{name};"
        for n, name in enumerate(("t<float>", "t<int>"))
    )
    module, asked = compiled(text=text, names={"t<int>": "k", "t<float>": "_Z1t"})
    module.get_function("k")((4,), (64,), ARGUMENTS)
    assert len(asked) == 1


def test_tune_says_what_it_does_not_know(compiled: Any, tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    module = compiled.inside(Session.noting(str(noted)), SOURCE, options=("-G",))
    module.get_function("cupy_own")
    assert not noted.exists()
    module.get_function("k")
    assert "kernel 'k': it is not known" in json.loads(noted.read_text())["left"]


def test_tune_says_that_kernels_of_numba_stay(tmp_path: Path) -> None:
    class Kernel:
        def __init__(self, py_func: Any, argtypes: Any, debug: bool = False) -> None:
            self.py_func, self.made = py_func, (argtypes, debug)

    noted, dispatcher = tmp_path / "noted", ModuleType("dispatcher")
    vars(dispatcher)["_Kernel"] = Kernel
    script_packages.watch_numba(Session.noting(str(noted)), dispatcher)
    assert Kernel(session_of, (1,), debug=True).made == ((1,), True)
    assert "kernel 'session_of' is compiled by numba" in json.loads(noted.read_text())["left"]


@pytest.mark.parametrize(
    ("modules", "is_noted"),
    [
        (["cupy.random._generator"], False),
        (["cupyx.scipy.signal._filters", "cupy.cuda.compiler"], False),
        (["__main__", "cupyx.jit._interface"], True),
        (["cupy_tools"], True),
    ],
)
def test_what_cupy_looks_up_for_itself_is_its_own(
    modules: list[str], is_noted: bool, compiled: Any, tmp_path: Path
) -> None:
    noted = tmp_path / "noted"
    look_up = compiled.inside(Session.noting(str(noted)), SOURCE, options=("-G",)).get_function
    for module in reversed(modules):
        within = {"__name__": module, "called": look_up}
        exec("def look_up(name): return called(name)", within)
        look_up = within["look_up"]
    look_up("k")
    assert noted.exists() == is_noted


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("size", "argument", "read"),
    [
        (8, Array(2**63, 4), struct.pack("=Q", 2**63)),
        (48, Array(16, 4, 5), struct.pack("=Qq4q", 16, 20, 4, 5, 20, 4)),
        (16, Array(16), struct.pack("=Qq", 16, 1)),
        (48, Array(16, 4), None),
        (4, Array(16, 4), None),
        (20, Array(16, 4), None),
        (24, Indexer(6), struct.pack("=2q8x", 6, 6)),
        (40, Indexer(2, 3), struct.pack("=3q16x", 6, 2, 3)),
        (24, Indexer(2, 3), None),
        (4, Scalar(np.float32(0.5)), struct.pack("=f", 0.5)),
        (8, Scalar(np.float32(0.5)), None),
        (4, np.int32(-5), struct.pack("=i", -5)),
        (2, np.int32(-5), struct.pack("=h", -5)),
        (8, np.int32(-5), None),
        (8, np.float64(0.1), struct.pack("=d", 0.1)),
        (1, np.bool_(True), b"\1"),
        (8, np.complex64(1 + 2j), struct.pack("=2f", 1, 2)),
        (8, np.datetime64(1, "s"), None),
        (4, 7, struct.pack("=i", 7)),
        (4, -7, struct.pack("=i", -7)),
        (4, 2**40 + 7, struct.pack("=i", 7)),
        (8, 2**64 - 1, bytes([255] * 8)),
        (8, 2**64, None),
        (8, -(2**63) - 1, None),
        (16, 7, None),
        (1, True, b"\1"),
        (4, True, None),
        (8, 0.1, struct.pack("=d", 0.1)),
        (4, 0.1, struct.pack("=d", 0.1)[:4]),
        (8, float("nan"), struct.pack("=d", float("nan"))),
        (4, np.float32("nan"), None),
        (4, np.float64(0.1), struct.pack("=d", 0.1)[:4]),
        (2, np.float16(0.5), np.float16(0.5).tobytes()),
        (8, np.uint64(2**64 - 1), bytes([255] * 8)),
        (8, np.int64(-1), bytes([255] * 8)),
        (4, np.float32(-1e-45), np.float32(-1e-45).tobytes()),
        (16, 1 + 2j, struct.pack("=2d", 1, 2)),
        (8, None, bytes(8)),
        (16, None, None),
        (8, np.array([0.5]), struct.pack("=d", 0.5)),
        (8, np.array([0.5, 1]), None),
        (8, np.array([0.5], "f"), None),
        (8, "text", None),
    ],
)
def test_arguments_of_cupy(size: int, argument: Any, read: bytes | None) -> None:
    noted: list[Noted] = []

    def note(one: Noted) -> bool:
        noted.append(one)
        return True

    launcher = noting_launcher([(0, 1), (8, size)], note, CONTEXT)
    sizes = [size for _, size in launcher.layout]
    readers = [script_packages.ArgumentReaders(size) for size in (*sizes, 8)]
    own: list[object] = []
    call = launcher.instead(readers, lambda: SimpleNamespace(ptr=3), lambda *_: own.append(_))
    for _ in range(2):  # by readers that are made, and by those that are known
        call((1,), (1,), (np.int8(-1), argument))
    found = [one.data for one in noted]
    assert found == ([] if read is None else 2 * [b"\xff" + bytes(7) + read])
    assert len(own) == 2 - len(found)


def test_code_of_a_compiler_inside_of_the_process(compiled: Callable[..., Any]) -> None:
    """NVRTC is asked as CuPy asks it, but for PTX, and nobody else sees that."""
    seen: list[tuple[Any, ...]] = []

    class Program:
        method = "cubin"

        def compile(
            self, options: Sequence[str] = (), log_stream: Any = None
        ) -> tuple[bytes, None]:
            seen.append((self.method, options))
            return b"code", None

    compiler = ModuleType("compiler")
    text = """def compile_using_nvrtc(source, options=(), arch=None, name_expressions=None):
    return _NVRTCProgram().compile((*options, "-arch=sm_90", "--added"))"""
    exec(text, vars(compiler), vars(compiler))
    vars(compiler).update(_NVRTCProgram=Program, _get_arch=lambda: "90")
    vars(compiler)["_preprocess"] = lambda *about: "version 1"
    about: Any = SOURCE, ("-DN=1",), {}, {}, CONTEXT
    own = script_packages.CuPyText(session_of(SOURCE, True)[0], compiler, *about)._nvrtc()
    assert (own.version, own.ptx_of("80")) == ("version 1", "code")
    assert own.instead.startswith("backend='nvcc'")
    assert seen == [("ptx", ("-DN=1", "-ftz=true", "--added", "-arch=compute_80"))]
    assert Program.method == "cubin" and compiler._NVRTCProgram is Program


@pytest.mark.parametrize(
    ("source", "folder", "found"),
    [
        ('#include <cupy/complex.cuh>\n#include "cupy/a.cuh"\nint n;', "", ["14", "key"]),
        ("#include <cupy/complex.cuh>\n", "/own", None),
        ("int n;", "/own", []),
        ("#include <cupy/complex.cuh>\n#include <cuda_fp16.h>\n", "", None),
        ("#include <cupy/../../other.h>\n", "", None),
        ("#include <cupy/complex.cuh> // \\\n#include <other.h>\n", "", None),
    ],
)
def test_headers_of_cupy(
    source: str, folder: str, found: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = SimpleNamespace(core=SimpleNamespace(CUPY_CACHE_KEY="key"))
    package = SimpleNamespace(__version__="14", __file__="/cupy/__init__.py", _core=core)
    monkeypatch.setitem(sys.modules, "cupy", package)
    options = "-I/cupy/include/", *([f"-I{folder}"] if folder else []), "-I/cuda/include"
    session: Any = session_of(SOURCE, True)[0]
    about: Any = None, source, options, {}, {}, CONTEXT
    assert script_packages.CuPyText(session, *about)._headers() == found

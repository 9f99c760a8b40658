"""Scripts whose kernels choose their thread blocks: takes a table of units, launches by it.

What PyCUDA compiles at once is a unit: its text, its options, and the headers that it
includes. A unit that was tuned has a library, which is built where it is first compiled, by the
nvcc and for the GPU of the script. It takes a launch with its arguments as bytes, decides, and
launches. What it does not know, or does not take, PyCUDA launches as it is written.

The functions of PyCUDA are replaced, not those of the driver: only there it is known which text a
kernel was compiled from, whatever its name is. Nothing here needs a package but Python's own.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic

SCHEMA, TABLE = "cutune-units-1", "units.json"
#: Names the folder with the table.
FOLDER = "CUTUNE_TUNED"
#: Options before the script: a file that is told of kernels and their units, a row each; and a
#: library for one unit, as DIGEST=PATH, which is then the only one that launches.
NOTE, LIBRARY = "--note", "--library"
#: Options that leave open nothing but code, in one word or two.
_OPTION = re.compile(
    r"-[IDU].+|-O[0-3]|-w|-lineinfo|--?(?:use_fast_math|generate-line-info|extra-device-vectorization)"
    r"|--?(?:std|ftz|fmad|prec-div|prec-sqrt|maxrregcount|include-path|define-macro)=.+"
)
_OPTION_WITH_VALUE = re.compile(r"-[DU]|--?(?:std|maxrregcount|define-macro)")
#: An option that means another folder elsewhere.
_RELATIVE = re.compile(r"(?:-I|--?include-path=)[^/].*")
_FOLDER_OPTIONS = ("-I", "-include-path", "--include-path")
#: Without these a text reads no header.
_MAY_INCLUDE = re.compile(r"include|import|embed|\\\s*\n|\?\?/")
_TARGET = re.compile(r"-arch|--gpu-architecture")
_ARCHITECTURE = re.compile(r"(?:compute|sm)_\d+[a-z]?")
#: Variables with options that nvcc takes besides.
_ADDED_OPTIONS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
#: What makes a library of a unit.
SHARED = ("-shared", "-Xcompiler", "-fPIC", "-Xlinker", "-Bsymbolic")
#: Context, stream, grid, block, dynamic shared memory, as `cutune_script_launch` has them; and the
#: extents that are not named, by the number of others.
LAUNCH, _ONES = struct.Struct("PP7I"), {1: (1, 1), 2: (1,), 3: ()}
_KEY = "_cutune"


@dataclass(frozen=True)
class CompiledUnit:
    """A text that a script compiles. `options`: without the architecture."""

    source: str
    options: tuple[str, ...]
    architecture: str
    nvcc: str
    digest: str

    @staticmethod
    def of(source: str, options: Sequence[str], nvcc: str) -> CompiledUnit | None:
        """The unit; None where an option is not known, or a header cannot be read."""
        split = _split(options)
        if split is None:
            return None
        kept, architecture = split
        try:
            headers = list(_headers(source, kept, nvcc)) if _MAY_INCLUDE.search(source) else []
        except (OSError, subprocess.CalledProcessError):
            return None
        # Folders are those of a machine; what is found in them counts.
        meaning = [option for option in kept if not option.startswith(_FOLDER_OPTIONS)]
        added = [os.environ.get(name, "") for name in _ADDED_OPTIONS]
        text = json.dumps([source, meaning, headers, added])
        digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
        return CompiledUnit(source, tuple(kept), architecture, nvcc, digest[:32])


@dataclass(frozen=True)
class LoadedUnit:
    """A unit in a context of the driver."""

    unit: CompiledUnit
    context: int


def _split(options: Sequence[str]) -> tuple[list[str], str] | None:
    """The options besides that of the architecture, and it; None: one is not known."""
    kept: list[str] = []
    architecture, words = "", iter(options)
    for word in words:
        name, _, value = word.partition("=")
        if _TARGET.fullmatch(name):
            architecture = value or next(words, "")
            if not _ARCHITECTURE.fullmatch(architecture):
                return None
        elif _OPTION_WITH_VALUE.fullmatch(word):
            kept += [word, next(words, "")]
        elif _OPTION.fullmatch(word):
            kept.append(word)
        else:
            return None
    return None if any(map(_RELATIVE.fullmatch, kept)) else (kept, architecture)


def _headers(source: str, options: Sequence[str], nvcc: str) -> Iterator[str]:
    """Digests of the headers that are no part of the toolkit or the system."""
    for path in _read_for(source, options, nvcc):
        if not any(folder in path.parents for folder in _system_folders(nvcc)):
            yield hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _system_folders(nvcc: str) -> frozenset[Path]:
    """The folders of the headers that nvcc reads for an empty text."""
    return frozenset(path.parent for path in _read_for("", (), nvcc))


def _read_for(source: str, options: Sequence[str], nvcc: str) -> list[Path]:
    """The headers of a text. Raises OSError, CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        unit = Path(folder) / "kernel.cu"
        unit.write_text(source)
        command = [nvcc, "-M", *options, unit.name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        names = done.stdout.partition(":")[2].replace("\\\n", " ")
        found = (name.replace("\\ ", " ") for name in re.split(r"(?<!\\)\s+", names.strip()))
        paths = (Path(os.path.normpath(os.path.join(folder, name))) for name in found)
        return [path for path in paths if path != unit]


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _current_context() -> int | None:
    """The context of this thread; None: there is none."""
    found = ctypes.c_void_p()
    return None if _driver().cuCtxGetCurrent(ctypes.byref(found)) else found.value


@dataclass
class UnitLibrary:
    """The library of a unit: kernels that choose how they are launched."""

    library: ctypes.CDLL

    @staticmethod
    def at(path: str | Path) -> UnitLibrary:
        """Load it. Raises OSError."""
        library = ctypes.CDLL(str(path))
        library.cutune_ask_driver(_driver().cuCtxGetCurrent)
        return UnitLibrary(library)

    def launches(self, kernel: str) -> Callable[..., int] | None:
        """The function that launches a kernel, if it has one."""
        # Without `argtypes` a call takes a third of the time: bytes and an `int` need none.
        return getattr(self.library, f"cutune_launch_{kernel}", None)


@dataclass
class Session:
    """The units whose kernels choose their launches in this process.

    `units`: rows of the table by digests. `built`: libraries, None for those that failed.
    `compiled`: the units of modules, by digests of their code.
    """

    folder: Path
    units: dict[str, dict[str, Any]] = field(default_factory=dict)
    noted: Path | None = None
    built: dict[str, UnitLibrary | None] = field(default_factory=dict)
    compiled: dict[bytes, CompiledUnit] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    @staticmethod
    def of(folder: Path) -> Session:
        """That of the table in a folder."""
        return Session(folder, _table(folder))

    @staticmethod
    def noting(path: str) -> Session:
        """One in which kernels are noted, and launched as they are."""
        return Session(Path(), noted=Path(path))

    @staticmethod
    def with_library(given: str) -> Session:
        """One in which a library, `DIGEST=PATH`, launches all kernels of its unit."""
        digest, _, path = given.partition("=")
        return Session(Path(), built={digest: UnitLibrary.at(os.path.abspath(path))})

    def note(self, code: bytes, source: str, options: Sequence[str], nvcc: str) -> None:
        """Remember what a module was compiled from, if that matters."""
        if not (self.units or self.built or self.noted):
            return
        unit = CompiledUnit.of(source, options, nvcc)
        if unit is not None and (self.noted or unit.digest in {**self.units, **self.built}):
            self.compiled[hashlib.sha256(code).digest()] = unit

    def launcher(self, loaded: LoadedUnit, kernel: str) -> Launcher | None:
        """What launches a kernel of a unit instead of the package; None: nothing does."""
        unit = loaded.unit
        if self.noted:
            _append(self.noted, {"kernel": kernel, **vars(unit)})
            return None
        row = self.units.get(unit.digest)
        if row is not None and kernel not in row["kernels"]:
            return None
        library = self._library(unit)
        function = library.launches(kernel) if library is not None else None
        return launcher_of(function, loaded.context) if function is not None else None

    def _library(self, unit: CompiledUnit) -> UnitLibrary | None:
        with self.lock:
            if unit.digest not in self.built:
                try:
                    path = built_library(self.folder, self.units[unit.digest], unit)
                    self.built[unit.digest] = UnitLibrary.at(path)
                except (OSError, subprocess.CalledProcessError) as error:
                    self.built[unit.digest] = None
                    _keep_launches(getattr(error, "stderr", None) or str(error))
            return self.built[unit.digest]


def _table(folder: Path) -> dict[str, dict[str, Any]]:
    path = folder / TABLE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        _keep_launches(f"{error}; make '{path}' by 'cutune tune'")
        return {}
    if document.get("schema") != SCHEMA:
        _keep_launches(f"'{path}' is of another version; make it again by 'cutune tune'")
        return {}
    return dict(document["units"])


def built_library(folder: Path, row: dict[str, Any], unit: CompiledUnit) -> Path:
    """The library of a unit, for its architecture and nvcc. Raises OSError, CalledProcessError."""
    if unit.architecture.partition("_")[2] not in row["architectures"]:
        raise OSError(f"it is not proven for '{unit.architecture}'; add --device to 'cutune tune'")
    source, compiler = folder / row["source"], shutil.which(unit.nvcc) or unit.nvcc
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
    options = [*unit.options, "-arch", unit.architecture, *SHARED]
    if not any(option.startswith("-O") for option in options):
        options.append("-O2")
    key = json.dumps([compiler, options]).encode() + version + source.read_bytes()
    name = f"{source.stem}-{hashlib.sha256(key).hexdigest()[:16]}.so"
    library = folder / "built" / name
    if not library.exists():
        library.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as place:
            made = Path(place) / name
            command = [compiler, *options, str(source), "-o", str(made)]
            subprocess.run(command, capture_output=True, text=True, check=True)
            os.replace(made, library)
    return library


def _append(path: Path, row: dict[str, Any]) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def _keep_launches(reason: str) -> None:
    print(Diagnostic.at(Code.SCRIPT_UNTUNED, reason=reason.strip()).render(), file=sys.stderr)


#: Launches a kernel with a grid, a block, bytes of shared memory, a stream, and its arguments.
#: False where that was not done, so that it has to be launched as it is written.
Launcher = Callable[[Sequence[int], Sequence[int], int, int, bytes], bool]


def launcher_of(function: Callable[..., int], context: int) -> Launcher:
    """What launches a kernel by its library, in the context that it was loaded in."""
    pack, ones = LAUNCH.pack, _ONES  # Names of a function are found sooner.

    def launched(
        grid: Sequence[int], block: Sequence[int], shared: int, stream: int, values: bytes
    ) -> bool:
        try:
            blocks, threads = (*grid, *ones[len(grid)]), (*block, *ones[len(block)])
            asked = pack(context, stream, *blocks, *threads, shared)
        except (TypeError, LookupError, struct.error):
            return False
        return function(asked, values, len(values)) == 0

    return launched


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
        if target == "cubin":
            session.note(code, source, options, nvcc)
        return code

    compiler.compile_plain = compile_plain  # type: ignore[attr-defined]


def watch_driver(session: Session, driver: ModuleType) -> None:
    """Make launches of `pycuda.driver` ask first."""
    from_buffer, get_function = driver.module_from_buffer, driver.Module.get_function
    launch_kernel = driver.Function._launch_kernel

    def module_from_buffer(buffer: Any, *options: Any, **named: Any) -> Any:
        module = from_buffer(buffer, *options, **named)
        context = _current_context()
        if isinstance(buffer, bytes) and context is not None and not options and not named:
            unit = session.compiled.get(hashlib.sha256(buffer).digest())
            setattr(module, _KEY, None if unit is None else LoadedUnit(unit, context))
        return module

    def get_function_of(module: Any, name: str) -> Any:
        function = get_function(module, name)
        loaded = vars(module).get(_KEY)
        if loaded is not None:
            setattr(function, _KEY, session.launcher(loaded, name))
        return function

    def launch(function: Any, grid: Any, block: Any, values: Any, shared: Any, stream: Any) -> None:
        launcher: Launcher | None = vars(function).get(_KEY)
        if launcher is not None and type(values) is bytes:
            handle = 0 if stream is None else stream.handle
            if launcher(grid, block, shared, handle, values):
                return
        launch_kernel(function, grid, block, values, shared, stream)

    driver.module_from_buffer = module_from_buffer  # type: ignore[attr-defined]
    driver.Module.get_function = get_function_of
    driver.Function._launch_kernel = launch


#: What is done to a module of a package, once it is loaded.
_WATCHED: dict[str, Callable[[Session, ModuleType], None]] = {
    "pycuda.compiler": watch_compiler,
    "pycuda.driver": watch_driver,
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


def folder_of(script: str) -> Path:
    """Where `cutune tune` writes for a script, unless it is told otherwise."""
    named = os.environ.get(FOLDER)
    return Path(named) if named else Path(script).absolute().with_suffix(".tuned")


def run_script(path: str, words: Sequence[str]) -> None:
    """Run a script as `python3 PATH WORDS` does."""
    sys.argv = [path, *words]
    sys.path[0] = str(Path(path).resolve().parent)
    main = ModuleType("__main__")
    main.__file__, main.__loader__ = path, SourceFileLoader("__main__", path)
    # Its own `import cutune.tuned` begins nothing a second time.
    sys.modules.setdefault("cutune.tuned", sys.modules["__main__"])
    sys.modules["__main__"] = main
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, vars(main))

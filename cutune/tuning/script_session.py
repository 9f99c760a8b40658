"""Scripts whose kernels choose their thread blocks: takes a table of units, launches by it.

What a package compiles at once is a unit: its text, its options, and the headers that it
includes. A unit that was tuned has a library, which is built where it is first compiled, by the
nvcc and for the GPU of the script. It takes a launch with its arguments as bytes, decides, and
launches. What it does not know, or does not take, the package launches as it is written.

Nothing here needs a package but Python's own.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic, tell
from cutune.toolchain.locate import wheel_libraries

SCHEMA, TABLE = "cutune-units-2", "units.json"
#: Names the folder with the table.
FOLDER = "CUTUNE_TUNED"
#: Options before the script: a file that is told of kernels and their units, a row each; and a
#: library for one unit, as DIGEST=PATH, which is then the only one that launches.
NOTE, LIBRARY = "--note", "--library"
#: Includes a header before a text.
TUPLE = "--pre-include=tuple"
#: Options that leave open nothing but code, in one word or two.
_OPTION = re.compile(
    rf"{TUPLE}|-[IDU].+|-O[0-3]|-w|-lineinfo|--?(?:use_fast_math|generate-line-info|extra-device-vectorization)"
    r"|--?(?:std|ftz|fmad|prec-div|prec-sqrt|maxrregcount|include-path|define-macro)=.+"
)
_OPTION_WITH_VALUE = re.compile(r"-[DU]|--?(?:std|maxrregcount|define-macro)")
#: An option that means another folder elsewhere.
_RELATIVE = re.compile(r"(?:-I|--?include-path=)[^/].*")
FOLDER_OPTIONS = ("-I", "-include-path", "--include-path")
#: Without these a text reads no header.
_MAY_INCLUDE = re.compile(r"include|import|embed|\\\s*\n|\?\?/")
_TARGET = re.compile(r"-arch|--gpu-architecture")
_ARCHITECTURE = re.compile(r"(?:compute|sm)_\d+[a-z]?")
#: Variables with options that nvcc takes besides.
_ADDED_OPTIONS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
#: What makes a library of a unit.
SHARED = ("-shared", "-Xcompiler", "-fPIC", "-Xlinker", "-Bsymbolic")
#: A function of PTX, and statements that say nothing of what it does.
_PTX_FUNCTION = re.compile(r"\.(entry|func)\b.*?^\}", re.MULTILINE | re.DOTALL)
_PTX_ASIDE = re.compile(
    r"//.*|^\s*\.(?:version|target|address_size|loc|file)\b.*|^\s*\.section\b[^}]*}"
    r"|\.(?:visible|weak)\b",
    re.MULTILINE,
)
_PTX_TARGET = re.compile(r"^\.target\s+sm_(\w+)", re.MULTILINE)
#: Most parameters that a kernel may have.
_MOST_PARAMETERS = 4096


@dataclass(frozen=True)
class CompiledUnit:
    """A text that a script compiles. `options`: without the architecture."""

    source: str
    options: tuple[str, ...]
    architecture: str
    nvcc: str
    digest: str

    @staticmethod
    def of(
        source: str, options: Sequence[str], nvcc: str, headers: Sequence[str] | None = None
    ) -> CompiledUnit | None:
        """The unit; None where an option is not known, or a header cannot be read.

        `headers`: what stands for their contents, where that is known without looking for them.
        """
        split = _split(options)
        if split is None:
            return None
        kept, architecture = split
        try:
            if headers is None:
                headers = list(_headers(source, kept, nvcc)) if may_include(source) else []
        except (OSError, subprocess.CalledProcessError):
            return None
        # Folders are those of a machine; what is found in them counts.
        meaning = [option for option in kept if not option.startswith(FOLDER_OPTIONS)]
        added = [os.environ.get(name, "") for name in _ADDED_OPTIONS]
        text = json.dumps([source, meaning, headers, added])
        digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
        return CompiledUnit(source, tuple(kept), architecture, nvcc, digest[:32])


@dataclass(frozen=True)
class OwnCompiler:
    """What a package compiles with, other than nvcc.

    `version`: all of it; `ptx_of`: the PTX of a unit for an architecture, as `90`; `instead`: what
    makes the package compile a text by nvcc, if something does.
    """

    version: str
    ptx_of: Callable[[str], str]
    instead: str = ""


@dataclass(frozen=True)
class LoadedUnit:
    """A unit in a context of the driver. `compiler`: None where it is nvcc."""

    unit: CompiledUnit
    context: int
    compiler: OwnCompiler | None = None

    def alike(self, kernels: Collection[str], nvcc: str) -> list[str]:
        """The kernels that nvcc compiles to the code that they have.

        Raises OSError, CalledProcessError.
        """
        if self.compiler is None:
            return [*kernels]
        other = _ptx(self.unit, nvcc)
        target = _PTX_TARGET.search(other)
        same = alike_kernels(self.compiler.ptx_of(target[1]), other) if target else set()
        return [kernel for kernel in kernels if kernel in same]


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


def may_include(source: str) -> bool:
    return _MAY_INCLUDE.search(source) is not None


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


def _ptx(unit: CompiledUnit, nvcc: str) -> str:
    """What nvcc makes of a unit. Raises OSError, CalledProcessError."""
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "kernel.cu", Path(folder) / "kernel.ptx"
        source.write_text(unit.source)
        target = "-arch", unit.architecture.replace("sm_", "compute_")
        command = [nvcc, "-ptx", *unit.options, *target, source.name, "-o", made.name]
        subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        return made.read_text()


def alike_kernels(own: str, other: str) -> set[str]:
    """The kernels of `own` that `other` has word by word, if all else of `other` is there, too."""
    (kernels, rest), (others, other_rest) = _ptx_parts(own), _ptx_parts(other)
    if not other_rest <= rest:
        return set()
    return {name for name, text in others.items() if kernels.get(name) == text}


def _ptx_parts(ptx: str) -> tuple[dict[str, str], set[str]]:
    """The texts of kernels by their names, and those of everything else."""
    kernels, rest, text = {}, set(), _PTX_ASIDE.sub("", ptx)
    for function in _PTX_FUNCTION.finditer(text):
        words = " ".join(function[0].split())
        if function[1] == "entry":
            kernels[words[len(".entry ") :].partition("(")[0].strip()] = words
        else:
            rest.add(words)
    statements = _PTX_FUNCTION.sub(";", text).split(";")
    return kernels, rest | {" ".join(each.split()) for each in statements} - {""}


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def current_context() -> int | None:
    """The context of this thread; None: there is none."""
    found = ctypes.c_void_p()
    return None if _driver().cuCtxGetCurrent(ctypes.byref(found)) else found.value


#: Launches a kernel with a grid, a block, bytes of shared memory, a stream, and its arguments.
#: False where that was not done, so that it has to be launched as it is written.
Launch = Callable[[Any, Any, int, int, bytes], bool]


#: What gives the bytes of an argument, by its type: a function, or a number of `cutune_reader`.
Readers = Mapping[type, Callable[[Any], bytes] | int]


@dataclass(frozen=True)
class Launcher:
    """A kernel of a library. `layout`: the offset and the size of each parameter.

    `instead`: makes a function that is called as those of CuPy, out of readers for each parameter,
    what gives the current stream, and what makes the launches that the library does not.
    """

    launch: Launch
    layout: Sequence[tuple[int, int]]
    instead: Callable[
        [Sequence[Readers], Callable[[], Any], Callable[..., Any]], Callable[..., Any]
    ]


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

    def launcher(self, kernel: str, context: int) -> Launcher | None:
        """What launches a kernel in the context that it was loaded in, if the library has it."""
        try:
            functions = _Functions.in_dll(self.library, f"cutune_functions_{kernel}")
        except ValueError:
            return None
        numbers = (ctypes.c_uint * (2 * _MOST_PARAMETERS))()
        count = 2 * self.library[f"cutune_layout_{kernel}"](numbers)
        places = bytes(numbers)[: count * ctypes.sizeof(ctypes.c_uint)]

        def instead(readers: Sequence[Readers], *others: Callable[..., Any]) -> Callable[..., Any]:
            return _new_function(functions[1], (context, places, tuple(readers), *others))

        layout = [*zip(numbers[:count:2], numbers[1:count:2], strict=True)]
        return Launcher(_new_function(functions[0], context), layout, instead)


class _Function(ctypes.Structure):
    """`cutune_python_function` of cutune_script.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("call", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


_Functions = _Function * 2


def _new_function(function: _Function, about: object) -> Callable[..., Any]:
    """A function of Python's own, which takes a tenth of what ctypes needs for a call."""
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.argtypes, new.restype = (
        (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p),
        ctypes.py_object,
    )
    made: Callable[..., Any] = new(ctypes.addressof(function), about, None)
    return made


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
        """Return a session that reads the table of a folder."""
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

    def unit_of(
        self, source: str, options: Sequence[str], nvcc: str, headers: Sequence[str] | None = None
    ) -> CompiledUnit | None:
        """What a package compiles, if that matters."""
        if not (self.units or self.built or self.noted):
            return None
        unit = CompiledUnit.of(source, options, nvcc, headers)
        known = unit is not None and (self.noted or unit.digest in {**self.units, **self.built})
        return unit if known else None

    def launcher(self, loaded: LoadedUnit, kernel: str, spelled: str = "") -> Launcher | None:
        """What launches a kernel of a unit instead of the package; None: nothing does.

        `spelled`: its name in C++, where that is another.
        """
        unit = loaded.unit
        if self.noted:
            self._note(loaded, kernel, spelled or kernel)
            return None
        row = self.units.get(unit.digest)
        if row is not None and kernel not in row["kernels"]:
            return None
        library = self._library(loaded)
        return library.launcher(kernel, loaded.context) if library is not None else None

    def _note(self, loaded: LoadedUnit, kernel: str, spelled: str) -> None:
        """Tell `tune` of a kernel, unless it was told: also by another run, or process."""
        assert self.noted is not None
        unit, compiler = loaded.unit, loaded.compiler and loaded.compiler.version
        about = {"kernel": kernel, "spelled": spelled, "compiler": compiler, **vars(unit)}
        row = json.loads(json.dumps(about))
        if any(row.items() <= known.items() for known in noted_rows(self.noted)):
            return
        try:
            if not loaded.alike([kernel], unit.nvcc):
                row["left"] = _other_code(kernel, loaded)
        except (OSError, subprocess.CalledProcessError) as error:
            said = re.search(".*error.*|$", _said(error))
            row["left"] = f"nvcc does not compile kernel '{kernel}': {said[0] if said else error}"
        _append(self.noted, row)

    def leave(self, reason: str) -> None:
        """Tell `tune`, if that runs the script, of launches that stay as they are."""
        if self.noted:
            _append(self.noted, {"left": reason})

    def _library(self, loaded: LoadedUnit) -> UnitLibrary | None:
        unit = loaded.unit
        with self.lock:
            if unit.digest not in self.built:
                try:
                    path = built_library(self.folder, self.units[unit.digest], loaded)
                    self.built[unit.digest] = UnitLibrary.at(path)
                except (OSError, subprocess.CalledProcessError) as error:
                    self.built[unit.digest] = None
                    _keep_launches(_said(error))
            return self.built[unit.digest]


def _said(error: OSError | subprocess.CalledProcessError) -> str:
    return getattr(error, "stderr", None) or str(error)


def _other_code(kernel: str, loaded: LoadedUnit) -> str:
    said = f"nvcc compiles kernel '{kernel}' to other code than the script does"
    instead = loaded.compiler.instead if loaded.compiler is not None else ""
    return f"{said}; write {instead}" if instead else said


def _table(folder: Path) -> dict[str, dict[str, Any]]:
    path = folder / TABLE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        how = "cutune tune SCRIPT.py --run 'python3 {script} <arguments>'"
        _keep_launches(f"'{folder}' has no table of tuned kernels; what makes it: {how}")
        return {}
    except (OSError, ValueError, RecursionError) as error:
        _keep_launches(f"{error}; make '{path}' by 'cutune tune'")
        return {}
    entries = document if isinstance(document, dict) else {}
    units: Any = entries.get("units")
    is_whole = isinstance(units, dict) and all(map(_is_row, units.values()))
    if entries.get("schema") != SCHEMA or not is_whole:
        reason = "damaged, or of another version"
        _keep_launches(f"'{path}' is {reason}; make it again by 'cutune tune'")
        return {}
    return dict(units)


def _is_row(row: object) -> bool:
    """Is it what `cutune tune` writes of a unit?"""
    return (
        isinstance(row, dict)
        and isinstance(row.get("source"), str)
        and all(isinstance(row.get(name), list) for name in ("kernels", "architectures"))
    )


def built_library(folder: Path, row: dict[str, Any], loaded: LoadedUnit) -> Path:
    """The library of a unit, for its architecture and nvcc. Raises OSError, CalledProcessError."""
    unit = loaded.unit
    if unit.architecture.partition("_")[2] not in row["architectures"]:
        raise OSError(f"it is not proven for '{unit.architecture}'; add --device to 'cutune tune'")
    source, compiler = folder / row["source"], shutil.which(unit.nvcc) or unit.nvcc
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout
    options = [*unit.options, "-arch", unit.architecture, *SHARED]
    if not any(option.startswith("-O") for option in options):
        options.append("-O2")
    own = loaded.compiler.version if loaded.compiler is not None else ""
    key = json.dumps([compiler, options, own]).encode() + version + source.read_bytes()
    name = f"{source.stem}-{hashlib.sha256(key).hexdigest()[:16]}.so"
    library = folder / "built" / name
    if not library.exists():
        for kernel in sorted({*row["kernels"]} - {*loaded.alike(row["kernels"], compiler)}):
            raise OSError(_other_code(kernel, loaded))
        library.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=library.parent) as place:
            made = Path(place) / name
            libraries = wheel_libraries(compiler)
            linked = [f"-L{libraries}"] if libraries is not None else []
            command = [compiler, *options, *linked, str(source), "-o", str(made)]
            subprocess.run(command, capture_output=True, text=True, check=True)
            os.replace(made, library)
    return library


def noted_rows(path: Path) -> list[dict[str, Any]]:
    """What scripts have told `tune`: of kernels that they look up, with why some are left."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    # Another process may be writing the last one.
    return [json.loads(line) for line in text.split("\n")[:-1]]


def _append(path: Path, row: dict[str, Any]) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def _keep_launches(reason: str) -> None:
    tell(Diagnostic.at(Code.SCRIPT_UNTUNED, reason=reason.strip()))


def folder_of(script: str) -> Path:
    """Where `cutune tune` writes for a script, unless it is told otherwise."""
    named = os.environ.get(FOLDER)
    return Path(named) if named else Path(script).absolute().with_suffix(".tuned")


def run_script(path: str, words: Sequence[str]) -> None:
    """Run a script as `python3 PATH WORDS` does."""
    sys.argv = [path, *words]
    sys.path[0] = str(Path(path).resolve().parent)
    main, path = ModuleType("__main__"), os.path.abspath(path)
    main.__file__, main.__loader__ = path, SourceFileLoader("__main__", path)
    # Its own `import cutune.tuned` begins nothing a second time.
    begun = sys.modules.setdefault("cutune.tuned", sys.modules["__main__"])
    vars(sys.modules["cutune"])["tuned"] = begun
    sys.modules["__main__"] = main
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, vars(main))

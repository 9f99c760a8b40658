"""Builds the programs that a search runs: one per set of values that is fixed by compiling.

Takes an instrumented source and configurations, gives programs, or why they do not compile. A
project is built by its own command, each time in a copy of its folder. The sources of a copy are
newer than all else in it: else a build would take what was made of the originals for up to date.
"""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import InitVar, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from signal import SIGKILL
from subprocess import CompletedProcess
from threading import Event, Lock
from typing import Any

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.processes import (
    CompilerKilled,
    ProgramResult,
    awaited,
    ended_by,
    ending_in_order,
    run_to_end,
)
from cutune.core.reading import read_source
from cutune.core.source import Source
from cutune.core.workspace import make_folder, write_text, writing
from cutune.emulator.elf import code_hash, is_loadable
from cutune.emulator.program_builds import build_options
from cutune.measure.program_runs import Run
from cutune.passes import InstrumentTunables
from cutune.search.program_space import COMPILED, ProgramSpace, Setting
from cutune.search.regions import Settings
from cutune.source.program import HostTunable, Program, Region
from cutune.source.rewrite.c_text import c_path
from cutune.source.rewrite.output import Target, write_unit
from cutune.source.rewrite.pipeline import TranslationUnit, run_passes
from cutune.source.syntax.tokens import word_set
from cutune.space.annotation import Value
from cutune.space.parameter import ParameterOptions, holes, shown
from cutune.space.space import Configuration
from cutune.toolchain.locate import first_on_path, stand_in
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, Nvcc
from cutune.toolchain.ptxas import StaticCounters, parse_ptxas
from cutune.toolchain.toolchain import Toolchain

#: The folder of a workspace for programs, and what they are made of.
BUILDS = "builds"
#: Of a compiler that is killed: the second time it is for want of memory.
ATTEMPTS = 2
ValueSet = tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class Built:
    """A program, or the compiler's reason that there is none.

    `code`: a hash; empty where that is not known. `counters`: of ptxas, by the mangled names of
    kernels; none for the emulated device. `folder`: where it is run; None: the current one.
    """

    path: Path
    failure: str = ""
    code: str = ""
    counters: Mapping[str, StaticCounters] = field(default_factory=dict)
    folder: Path | None = None


@dataclass
class Builds:
    """Programs by their values, each compiled once; without a `target` for the emulated device."""

    toolchain: Toolchain
    parameters: ParameterOptions
    program: Program
    space: ProgramSpace
    folder: Path
    target: Sequence[str] | None
    pool: ThreadPoolExecutor
    #: Words for what else decides the code of a build.
    circumstances: Sequence[str] = ()
    _known: dict[ValueSet, Future[Built]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def of(self, configuration: Configuration) -> Built:
        return awaited(self._future(configuration))

    def require_own(self, built: Built, run: Run) -> None:
        """Refuse a build of the unchanged program with which nothing could be measured."""

    def prepare(self, configurations: Iterable[Configuration]) -> None:
        for configuration in configurations:
            self._future(configuration)

    def close(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)

    def effects(self) -> Effects:
        codes = {
            values: built.result().code
            for values, built in self._known.items()
            if built.done() and not built.cancelled() and built.result().code
        }
        return Effects(len(codes), len(set(codes.values())), tuple(_without_effect(codes)))

    def _future(self, configuration: Configuration) -> Future[Built]:
        values = tuple(self.space.values(configuration, *COMPILED).items())
        with self._lock:
            if values not in self._known:
                self._known[values] = self.pool.submit(self._built, dict(values))
            return self._known[values]

    def _built(self, values: Mapping[str, Value]) -> Built:
        toolchain = self._toolchain_at(values)
        # Each build has its own folder: with headers, a source is written as a tree of files.
        folder = self.folder / BUILDS / folder_name(values)
        step = InstrumentTunables(with_regions=True)
        unit = run_passes((step,), TranslationUnit(self.program))
        own_flags = toolchain.compile_flags(self.program.source.path)
        text, flags = write_unit(unit, own_flags, folder, "tunables")
        binary = text.with_suffix("")
        try:
            # For the emulated device ptxas has no code to count.
            verbose = [] if self.target is None else ["-Xptxas", "-v"]
            options = build_options(toolchain, flags, self.target)
            source = toolchain.nvcc.source_words(text, flags)
            said = _compile_to(binary, toolchain.nvcc, [*flags, *options, *verbose, *source])
        except CompilerKilled as error:
            if error.signal != SIGKILL:
                raise
            return Built(binary, error.diagnostic.message)
        except CutuneError as error:
            return Built(binary, _error_line(error.diagnostic.message))
        return Built(binary, "", code_hash(binary), parse_ptxas(said))

    def _toolchain_at(self, values: Mapping[str, Value]) -> Toolchain:
        """Return the compiler with the options that values stand in."""
        toolchain = self.toolchain
        if holes(self.parameters.flags):
            filled = self.parameters.flags_at(self.space.values(values, Setting.FLAG))
            toolchain = replace(toolchain, flags=filled)
        return toolchain.with_flags(self.space.definitions(values))


@dataclass(frozen=True)
class Effects:
    """Numbers of compiled and different programs, and parameters that never made a difference."""

    programs: int
    different: int
    idle: tuple[str, ...]


def _without_effect(codes: Mapping[ValueSet, str]) -> Iterator[str]:
    """Yield parameters that were compared at least once, and never changed the code."""
    for name in dict.fromkeys(name for values in codes for name, _ in values):
        by_rest: dict[ValueSet, list[str]] = {}
        for values, code in codes.items():
            rest = tuple(one for one in values if one[0] != name)
            by_rest.setdefault(rest, []).append(code)
        compared = [group for group in by_rest.values() if len(group) > 1]
        if compared and all(len(set(group)) == 1 for group in compared):
            yield name


def _error_line(message: str) -> str:
    """Return the first line with an error of a compiler's message."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[0] if lines else "no reason")


def _compile_to(binary: Path, nvcc: Nvcc, words: Sequence[str]) -> str:
    """Compile beside a program, whose place is taken then; return what the compiler said."""
    # Where cutune is killed, its compiler goes on, and ends while the program is built again.
    for left in binary.parent.glob(f"{binary.name}.of-*"):
        left.unlink()
    own = binary.with_name(f"{binary.name}.of-{os.getpid()}")
    done = _compiled(nvcc, [*words, "-o", str(own)])
    with writing(binary):
        os.replace(own, binary)
    return done.stdout + done.stderr


def _compiled(nvcc: Nvcc, words: Sequence[str]) -> CompletedProcess[str]:
    for _ in range(ATTEMPTS - 1):
        try:
            return nvcc.check(words)
        except CompilerKilled as error:
            if error.signal != SIGKILL:
                raise
    return nvcc.check(words)


def folder_name(values: Mapping[str, Value], sign: str = "=") -> str:
    """Return a folder's name: the values, with `sign` behind each name, or a hash of many."""
    # nvcc takes a comma in `-I` for the end of a folder's name.
    text = "+".join(f"{name}{sign}{shown(value)}" for name, value in values.items())
    is_short = len(text) < 100 and all(c.isalnum() or c in "=+._-" for c in text)
    return (text if is_short else sha256(text.encode()).hexdigest()[:16]) or "own"


#: Begins the word of a trial that says which sources a project had.
STATE = "project="
#: A project of more is probably none: cutune was called in a folder above it.
MOST_BYTES, MOST_FILES = 1 << 30, 50_000
#: Folders that no build reads.
_ASIDE = frozenset({".git", ".hg", ".svn", ".cutune"})
#: CMake writes it into a folder that it builds in, which must not be moved.
_CMAKE_CACHE = "CMakeCache.txt"
#: What a build makes something of.
_SOURCES = word_set("""
    .c .cc .cpp .cxx .cu .cuh .h .hh .hpp .hxx .inl .inc .ipp .tpp .ptx .f .f90 .s .S .in .mk .cmake
""")
_BUILD_FILES = frozenset({"makefile", "gnumakefile", "cmakelists.txt", "build.ninja"})


@dataclass(frozen=True)
class ProjectFolder:
    """The folder that is copied, as a real path, and the folder within that is left out."""

    root: Path
    aside: Path

    @staticmethod
    def here(workspace: Path) -> ProjectFolder:
        """Return the current folder without a workspace. Raises CT847 where it holds too much."""
        root, aside = Path.cwd().resolve(), workspace.resolve()
        # A workspace may hold the project: then only its builds are left out.
        is_within = aside != root and aside.is_relative_to(root)
        project = ProjectFolder(root, aside if is_within else aside / BUILDS)
        size = 0
        for count, path in enumerate(project._paths()):
            size += path.lstat().st_size
            if count >= MOST_FILES or size > MOST_BYTES:
                most = f"{MOST_FILES:,} files" if size <= MOST_BYTES else "1 GiB"
                raise CutuneError.at(Code.LARGE_PROJECT, folder=root, what=f"more than {most}")
        return project

    @property
    def state(self) -> str:
        content = sha256()
        for path in self._paths():
            if _is_source(path) and path.is_file():
                content.update(f"{path.relative_to(self.root)}\0".encode(errors="surrogateescape"))
                content.update(sha256(path.read_bytes()).digest())
        return content.hexdigest()[:16]

    def place(self, path: str) -> Path | None:
        """Return the place of a file in a copy; None for one that is not copied."""
        real = Path(os.path.realpath(path))
        is_copied = real.is_relative_to(self.root) and not real.is_relative_to(self.aside)
        return real.relative_to(self.root) if is_copied else None

    def copy(self, folder: Path, rewritten: Mapping[Path, Source]) -> None:
        """Copy the project, with other sources at some places. Raises CT002."""
        with writing(folder):
            if folder.exists():
                shutil.rmtree(folder)
        make_folder(folder)
        now = time.time()
        for path in self._paths():
            target = folder / path.relative_to(self.root)
            make_folder(target.parent)
            if path.is_symlink():
                # A link leads into the copy, or to what lies elsewhere.
                place = self.place(str(path))
                with writing(target):
                    target.symlink_to(os.path.realpath(path) if place is None else folder / place)
                continue
            _copy(path, target)
            if _is_source(path):
                os.utime(target, (now, now))
        for place, source in rewritten.items():
            target = folder / place
            mode = target.stat().st_mode
            write_text(target, source.text)
            target.chmod(mode)

    def _paths(self) -> Iterator[Path]:
        """Yield files and links, in order; not what cutune wrote: it would be a second `main`."""
        for name, folders, files in os.walk(self.root):
            parent = Path(name)
            links = [one for one in folders if (parent / one).is_symlink()]
            folders[:] = sorted(one for one in folders if self._is_copied(parent / one))
            for one in sorted([*files, *links]):
                path = parent / one
                if ".tuned." not in one and (path.is_symlink() or path.is_file()):
                    yield path

    def _is_copied(self, folder: Path) -> bool:
        is_aside = folder.name in _ASIDE or folder == self.aside or folder.suffix == ".tuned"
        return not (is_aside or folder.is_symlink() or (folder / _CMAKE_CACHE).exists())


def _copy(path: Path, target: Path) -> None:
    """Copy a file with its age. Raises CT001, CT002."""
    try:
        with writing(target):
            shutil.copy2(path, target)
    except CutuneError as error:
        cause = error.__cause__
        if not isinstance(cause, OSError) or cause.filename != str(path):
            raise
        raise CutuneError.at(Code.UNREADABLE_FILE, path=path, reason=cause.strerror) from cause


def _is_source(path: Path) -> bool:
    return path.suffix in _SOURCES or path.name.lower() in _BUILD_FILES


BUILD_SECONDS = 3600.0
_HEADER = INCLUDE_DIRECTORY / "cutune_tunables.h"
#: Text of that header, which every program has that was compiled from a source with regions.
_MARK = b"cutune-region-1"
#: Device code that a program loads.
_LOADED = frozenset({".ptx", ".cubin", ".fatbin"})
#: A project's own nvcc may be `cutune nvcc`.
_PLAIN = {"CUTUNE_MODE": "off"}
#: Beside the copy: the output of its build.
LOG = "build.log"


@dataclass
class MakeBuilds(Builds):
    """Programs that a command builds, each in a folder where nothing else is built.

    `run` is the template of their command line. `is_over` is set when nobody waits for a build.
    """

    run: InitVar[str] = field(kw_only=True)
    project: ProjectFolder = field(init=False)
    nvcc: Path = field(init=False)
    is_over: Event = field(default_factory=Event)

    def __post_init__(self, run: str) -> None:
        """Raise CT847 for a large project, CT848 for a source outside it, CT410, CT002."""
        self.project = ProjectFolder.here(self.folder)
        _check_run(self.project, run)
        for source in (self.program.source, *self.program.tunable_headers):
            _placed(self.project, source)
        self.folder = self.folder.absolute()
        self.nvcc = stand_in(self.folder, self.toolchain.nvcc.path)
        self.circumstances = (f"{STATE}{self.project.state}", self.parameters.make)

    def close(self) -> None:
        """Cancel the builds that have not begun, and end the others."""
        self.is_over.set()
        super().close()

    def require_own(self, built: Built, run: Run) -> None:
        """Refuse a project that a copy does not build (CT849), or another program (CT850)."""
        make, source = self.parameters.make, self.program.source
        copy, started = built.folder or self.folder, run.command[0]
        if built.failure:
            values: Any = {"folder": self.project.root, "log": copy.parent / LOG}
            values |= {"command": make, "reason": built.failure, "advice": _advice(make)}
            raise CutuneError.at(Code.COPY_NOT_BUILT, **values)
        what = ""
        if not any(_MARK in path.read_bytes() for path in _programs(copy)):
            what = f"program of '{source.path}'"
        elif not (copy / started).exists() and shutil.which(started) is None:
            what = f"'{started}', which --run starts,"
        if what:
            raise CutuneError.at(Code.NOT_IN_BUILD, command=make, what=what, copy=copy)

    def _built(self, values: Mapping[str, Value]) -> Built:
        name = folder_name(values, "-")
        copy = self.folder / BUILDS / name / self.project.root.name
        self.project.copy(copy, self._rewritten(values))
        command = self.parameters.make_at(self.space.values(values, Setting.MAKE))
        is_emulated, clean = self.target is None, self.parameters.clean
        failure = _build(clean, self.nvcc, command, copy, is_emulated, self.is_over)
        return Built(copy, failure, "" if failure else _code_of(copy), folder=copy)

    def _rewritten(self, values: Mapping[str, Value]) -> dict[Path, Source]:
        constants = self.space.values(values, Setting.CONSTANT)
        texts = {name: shown(value) for name, value in constants.items()}
        step = InstrumentTunables(True, texts, str(_HEADER))
        unit = run_passes((step,), TranslationUnit(self.program))
        files = {_placed(self.project, unit.program.source): unit.rewritten()}
        for source, header in zip(unit.program.headers, unit.rewritten_headers(), strict=True):
            if any(owned.path == source.path for owned in unit.edits):
                files[_placed(self.project, source)] = _standing_alone(unit, header)
        return files


def _check_run(project: ProjectFolder, run: str) -> None:
    """Raise CT410 for a command line that runs the project itself, not a copy."""
    try:
        words = shlex.split(run)
    except ValueError:  # `plan_runs` says it
        words = []
    for path in words:
        if os.path.isabs(path) and (place := project.place(path)) is not None:
            reason = f"it runs the project itself, not a copy; write './{place}'"
            raise CutuneError.at(Code.BAD_RUN, template=run, reason=reason)


def _placed(project: ProjectFolder, source: Source) -> Path:
    """Return the place of a file in a copy. Raises CT848 for one that is not copied."""
    place = project.place(source.path)
    if place is None:
        code, path = Code.OUTSIDE_PROJECT, source.path
        raise CutuneError.at(code, path=path, folder=project.root)
    return place


def tuned_copy(
    nvcc: Nvcc,
    parameters: ParameterOptions,
    program: Program,
    target: Target,
    workspace: Path,
    values: Settings,
) -> Built:
    """Build a copy with the emitted files and the chosen values. Raises CT001, CT002, CT847."""
    project = ProjectFolder.here(workspace)
    copy = workspace.absolute() / BUILDS / "tuned" / project.root.name
    places = [project.place(file.path) for file in (program.source, *program.headers)]
    written = dict(zip(places, target.files_of(program), strict=False))
    texts = {place: read_source(str(path)) for place, path in written.items() if place is not None}
    project.copy(copy, texts)
    found_first = stand_in(workspace.absolute(), nvcc.path)
    command = parameters.make_at(dict(values))
    with ending_in_order():
        failure = _build(parameters.clean, found_first, command, copy, False)
    return Built(copy, failure, folder=copy)


def _build(
    clean: str,
    nvcc: Path,
    command: str,
    copy: Path,
    is_emulated: bool,
    is_over: Event | None = None,
) -> str:
    """Build a copy; return why that fails, or "". Raises CompilerKilled where told to end."""
    # Whether there is something to clean does not matter: the last status counts.
    whole = f"{clean}\n{command}" if clean else command
    mode = {"CUTUNE_MODE": "emulated", "CCACHE_DISABLE": "1"} if is_emulated else _PLAIN
    environment = {**os.environ, **first_on_path(nvcc), **mode, "PWD": str(copy)}
    for _ in range(ATTEMPTS):
        ended = run_to_end(["/bin/sh", "-c", whole], environment, BUILD_SECONDS, copy, is_over)
        signal = ended_by(ended.status or 0, ended.errors_text)
        if signal is None:
            break
        if signal != SIGKILL:
            code, name = Code.COMPILER_KILLED, signal.name
            raise CompilerKilled(Diagnostic.at(code, program=command, signal=name), signal)
    write_text(copy.parent / LOG, ended.output_text + ended.errors_text)
    return "" if ended.status == 0 else _reason(ended)


def _reason(ended: ProgramResult) -> str:
    if ended.timed_out:
        return f"no end within {BUILD_SECONDS:g} s"
    said = f"{ended.errors_text}\n{ended.output_text}".strip()
    return ended.not_started or (_error_line(said) if said else f"status {ended.status}")


def _advice(command: str) -> str:
    if "cmake" in command or "ninja" in command:
        return (
            "What CMake has configured is not copied: configure in --make, too, as in "
            "'cmake -S . -B build && cmake --build build'"
        )
    return (
        "What the build needs has to lie below that folder: if it does not, call cutune in one "
        "above, with --make 'make -C DIR'"
    )


def _standing_alone(unit: TranslationUnit, header: Source) -> Source:
    """Return a header that other sources may include as well: it includes cutune's own."""
    program = unit.program
    timed: list[HostTunable | Region] = [*program.tunables, *program.regions]
    if all(one.source.path != header.path for one in timed):
        return header
    return Source(header.path, f"#include {c_path(str(_HEADER))}\n{header.text}")


def _programs(copy: Path) -> Iterator[Path]:
    for folder, _, files in os.walk(copy):
        for name in sorted(files):
            path = Path(folder) / name
            if path.is_file() and is_loadable(path):
                yield path


def _code_of(copy: Path) -> str:
    """Return a hash of the code of a copy's programs; empty where that is not known."""
    content, codes = sha256(), {path: code_hash(path) for path in _programs(copy)}
    if not all(codes.values()):
        return ""
    for path, code in codes.items():
        content.update(f"{path.relative_to(copy)} {code}\0".encode(errors="surrogateescape"))
    for path in sorted(copy.rglob("*")):
        if path.suffix in _LOADED and path.is_file():
            content.update(sha256(path.read_bytes()).digest())
    return content.hexdigest()[:16] if codes else ""

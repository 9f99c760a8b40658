"""Builds the programs that a search runs: one per set of values that is fixed by compiling.

Takes an instrumented source and configurations, gives programs, or why they do not compile.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from signal import SIGKILL
from subprocess import CompletedProcess
from threading import Lock

from cutune.core.diagnostics import CutuneError
from cutune.core.processes import CompilerKilled
from cutune.core.workspace import writing
from cutune.emulator.elf import code_hash
from cutune.emulator.program_builds import build_options
from cutune.measure.program_runs import Run
from cutune.passes import InstrumentTunables
from cutune.search.program_space import COMPILED, ProgramSpace, Setting
from cutune.source.program import Program
from cutune.source.rewrite.output import write_unit
from cutune.source.rewrite.pipeline import TranslationUnit, run_passes
from cutune.space.condition import Value
from cutune.space.parameter import ParameterOptions, holes, shown
from cutune.space.space import Configuration
from cutune.toolchain.nvcc import Nvcc
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

    Attributes:
        code: a hash of its code; empty where that is not known.
        counters: ptxas counters of its kernels, by mangled name; none for the emulated device.
        folder: where it is run; None: the current folder.
    """

    path: Path
    failure: str = ""
    code: str = ""
    counters: Mapping[str, StaticCounters] = field(default_factory=dict)
    folder: Path | None = None


@dataclass
class Builds:
    """Programs by their values; each is compiled once.

    Attributes:
        parameters: what the command line says of them.
        target: options of nvcc for the target; None: the emulated device.
    """

    toolchain: Toolchain
    parameters: ParameterOptions
    program: Program
    space: ProgramSpace
    folder: Path
    target: Sequence[str] | None
    pool: ThreadPoolExecutor
    _known: dict[ValueSet, Future[Built]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def of(self, configuration: Configuration) -> Built:
        """Return the program of a configuration, compiled once."""
        return self._future(configuration).result()

    def require_own(self, built: Built, run: Run) -> None:
        """Refuse a build of the unchanged program with which nothing could be measured."""

    @property
    def circumstances(self) -> Sequence[str]:
        """Words for what else decides the code of a build."""
        return ()

    def prepare(self, configurations: Iterable[Configuration]) -> None:
        """Compile programs while others run."""
        for configuration in configurations:
            self._future(configuration)

    def close(self) -> None:
        """Cancel the builds that have not begun."""
        self.pool.shutdown(wait=False, cancel_futures=True)

    def effects(self) -> Effects:
        """Compare the code of the programs that were compiled."""
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
        toolchain = self.toolchain
        if holes(self.parameters.flags):
            filled = self.parameters.flags_at(self.space.values(values, Setting.FLAG))
            toolchain = replace(toolchain, flags=filled)
        toolchain = toolchain.with_flags(self.space.definitions(values))
        # Each build has its own folder: with headers, a source is written as a tree of files.
        folder = self.folder / BUILDS / folder_name(values)
        step = InstrumentTunables(with_regions=True)
        unit = run_passes((step,), TranslationUnit(self.program))
        own_flags = toolchain.compile_flags(self.program.source.path)
        text, flags = write_unit(unit, own_flags, folder, "tunables")
        binary = text.with_suffix("")
        # Where cutune is killed, its compiler goes on, and ends while the program is built again.
        for left in text.parent.glob(f"{binary.name}.of-*"):
            left.unlink()
        own = binary.with_name(f"{binary.name}.of-{os.getpid()}")
        try:
            # For the emulated device ptxas has no code to count.
            verbose = [] if self.target is None else ["-Xptxas", "-v"]
            options = build_options(toolchain, flags, self.target)
            source = toolchain.nvcc.source_words(text, flags)
            words = [*flags, *options, *verbose, *source, "-o", str(own)]
            done = _compiled(toolchain.nvcc, words)
            with writing(binary):
                os.replace(own, binary)
        except CompilerKilled as error:
            if error.signal != SIGKILL:
                raise
            return Built(binary, error.diagnostic.message)
        except CutuneError as error:
            return Built(binary, first_line(error.diagnostic.message))
        return Built(binary, "", code_hash(binary), parse_ptxas(done.stdout + done.stderr))


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


def first_line(message: str) -> str:
    """Return the first line with an error of a compiler's message."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line), lines[0] if lines else "no reason")


def _compiled(nvcc: Nvcc, words: Sequence[str]) -> CompletedProcess[str]:
    """Compile, once more where the compiler was killed.

    Raises:
        CutuneError: CT701.
        CompilerKilled: killed twice, or told to end.
    """
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

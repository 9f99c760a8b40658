"""What every verb shares: where nvcc is, its flags, where messages go. Path in, `Program` out.

Imports only the front end and the passes, so that `inspect` and `instrument` start quickly.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn
from cutune.core.progress import ANALYZING, Progress, during, silent
from cutune.core.reading import read_source
from cutune.core.source import Source
from cutune.core.temporary import temporary_folder
from cutune.core.workspace import make_folder
from cutune.emulator.link import own_build_flags
from cutune.frontend.program import Program
from cutune.frontend.syntax.headers import (
    find_headers,
    forced_headers,
    include_directories,
    read_headers,
    redirected,
)
from cutune.frontend.syntax.parse import Syntax, parse
from cutune.frontend.unit.preprocess import user_headers
from cutune.passes import InstrumentLaunches
from cutune.proof.compiled import Compilation, compilation
from cutune.proof.known_code import KnownCode
from cutune.rewrite.launch_edit import is_rewritten
from cutune.rewrite.output import ShadowTree, Target
from cutune.rewrite.pipeline import Pass, TranslationUnit, run_passes
from cutune.space.asked import ParameterOptions, holes
from cutune.space.condition import Value
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, Nvcc, find_nvcc, unless_asked
from cutune.toolchain.ptxas import StaticCounters
from cutune.toolchain.shell_words import quote_folder
from cutune.toolchain.steps.architectures import EMULATED, Begun, targets
from cutune.toolchain.steps.built_code import BuiltCode
from cutune.toolchain.steps.dry_run import first_error
from cutune.toolchain.steps.host_build import built
from cutune.toolchain.steps.preprocessed import host_pass

if TYPE_CHECKING:
    from cutune.analysis.host_calls import HostLaunch
    from cutune.analysis.linked import ReadSource

T = TypeVar("T")
#: Words of device code; the preprocessor has expanded `__global__`.
_DEVICE_CODE = re.compile(r"<<<|\bglobal\b|__global__")


@dataclass(frozen=True)
class Session:
    """What every verb needs besides its own input."""

    nvcc_option: str | None = None
    flags: tuple[str, ...] = ()
    warn: Warn = field(default=lambda diagnostic: None)
    progress: Progress = field(default=silent)
    #: Architectures besides those of the flags: kernels are proven for these, too.
    architectures: tuple[str, ...] = (EMULATED,)
    #: May launches choose among variants of their kernels?
    with_variants: bool = True
    #: May a header be rewritten for the variants of its kernels alone?
    rewrites_headers: bool = False
    #: What the command line says of parameters; `flags` have their own values.
    asked: ParameterOptions = field(default_factory=ParameterOptions)
    #: A source that nvcc has begun to compile.
    begun: Begun | None = None
    #: Programs whose variants were checked, and what came of it, by the identity of the former.
    _checked: dict[int, tuple[Program, Program]] = field(default_factory=dict, compare=False)
    #: What its sources are compiled to.
    known_code: KnownCode = field(default_factory=KnownCode, compare=False)

    @cached_property
    def nvcc(self) -> Nvcc:
        """The compiler; without one CT003 is raised."""
        return find_nvcc(self.nvcc_option)

    def report(self, diagnostics: Sequence[Diagnostic]) -> None:
        """Show messages; the first error ends the verb.

        Raises:
            CutuneError: the first error among them, after the others were shown.
        """
        errors = [diagnostic for diagnostic in diagnostics if diagnostic.is_error]
        others = (diagnostic for diagnostic in diagnostics if diagnostic not in errors[:1])
        for diagnostic in Diagnostic.with_notes_once(others):
            self.warn(diagnostic)
        if errors:
            raise CutuneError(errors[0])

    def load(self, path: str, require_nvcc: bool = False) -> Program:
        """Read and analyze one file; where nvcc cannot, macros are expanded by their text alone."""
        return self.load_all((path,), require_nvcc)[0]

    def load_all(self, paths: Iterable[str], require_nvcc: bool = False) -> list[Program]:
        """The same for all sources of one program: a kernel may be defined in any of them."""
        with during(self.progress, ANALYZING):
            read = [self.read(path, require_nvcc) for path in paths]
            from cutune.analysis.linked import linked

            programs = linked(read)
        return self.reported(programs)

    def reported(self, programs: Sequence[Program]) -> list[Program]:
        """The same programs, after their messages were shown."""
        for program in programs:
            self.report(program.diagnostics)
        return list(programs)

    def read(self, path: str, require_nvcc: bool = False) -> ReadSource:
        """Read and analyze one file by itself; its messages are not yet reported."""
        source = read_source(path)
        if is_rewritten(source):
            raise CutuneError(Diagnostic.at(Code.ALREADY_TUNED, None, path=path))
        syntax = parse(source)
        self.report([d for d in syntax.diagnostics if d.is_error])
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return self._analyzed(syntax, require_nvcc, pool)

    def _analyzed(self, syntax: Syntax, require_nvcc: bool, pool: ThreadPoolExecutor) -> ReadSource:
        source, path = syntax.source, syntax.source.path
        expanded, compiling = None, None
        try:
            # The slowest comes first, and goes on while the text is read, and what reads it loaded.
            compiling = self._compilation(source, pool)
            expanded = self._expanded(path)
            if compiling is None and _DEVICE_CODE.search(expanded):
                compiling = self._compile(path, pool)
        except CutuneError as error:
            if require_nvcc or self.nvcc_option is not None:
                raise
            if error.diagnostic.code is not Code.MISSING_NVCC:
                reason = first_error(error.diagnostic.message)
                self.warn(Diagnostic.at(Code.NOT_PREPROCESSED, source, reason=reason))
            expanded, compiling = None, None
        headers, early = self._headers(source, expanded)
        for header in headers:
            if is_rewritten(header):
                raise CutuneError(Diagnostic.at(Code.ALREADY_TUNED, None, path=header.path))
        from cutune.analysis.linked import ReadSource

        nvcc = self.nvcc if compiling is not None else None
        flags = tuple(self.compile_flags(path))
        if compiling is not None:
            self.known_code.note(path, flags, compiling)
        folder, compile_unit = os.getcwd(), self.compiled_unit
        texts = syntax, expanded, headers, early
        read = ReadSource(
            nvcc, folder, flags, *texts, compiling, compile_unit, self.rewrites_headers
        )
        try:
            return read.with_program()
        except CutuneError as error:
            if require_nvcc or error.diagnostic.code is not Code.NVCC_FAILED:
                raise
            reason = first_error(error.diagnostic.message)
            self.warn(Diagnostic.at(Code.NOT_CONFIRMED, source, reason=reason))
            self.known_code.forget(path, flags)
            return replace(read, nvcc=None, compilation=None).with_program()

    def _expanded(self, path: str) -> str:
        flags = self.compile_flags(path)
        if self.begun is not None and self.begun.is_of(path, flags):
            return self.begun.expanded.result()
        return host_pass(self.nvcc, path, flags)

    def with_written(self, unit: TranslationUnit, use: Callable[[str, list[str]], T]) -> T:
        """What comes of a program with edits: its path and flags are there for `use` alone."""
        with temporary_folder() as name:
            path, flags = self._write_unit(unit, Path(name), "copies")
            return use(str(path), flags)

    def compiled_unit(self, unit: TranslationUnit) -> list[str]:
        """The PTX of a program with edits, for all architectures that will run."""
        return self._compiled_unit(unit).results()

    def _compiled_unit(self, unit: TranslationUnit) -> Compilation:
        def ended(path: str, flags: Sequence[str]) -> Compilation:
            found = self._compile(path, pool, flags)
            found.results()
            return found

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return self.with_written(unit, ended)

    def with_checked_variants(self, program: Program) -> Program:
        """The program without variants whose compiled code is not proven."""
        is_without = not (self.with_variants and any(k.variants for k in program.kernels))
        if program.has_checked_variants or is_without:
            return program
        known = self._checked.get(id(program))
        if known is None:
            from cutune.analysis.by_arguments import with_kernels_by_arguments, without_choice
            from cutune.analysis.host_calls import host_launches
            from cutune.variants.check import checked
            from cutune.variants.registry import with_only

            def launches(unit: TranslationUnit) -> tuple[HostLaunch, ...]:
                return self.with_written(unit, lambda p, flags: host_launches(self.nvcc, p, flags))

            units: list[TranslationUnit] = []

            def compiled(unit: TranslationUnit) -> list[str]:
                units.append(unit)
                found = self._compiled_unit(unit)
                if len(units) == 1:  # Of all variants: others are compiled where it fails.
                    flags = self.compile_flags(program.source.path)
                    self.known_code.note_varied(named, flags, found)
                return found.results()

            named = with_kernels_by_arguments(program, launches)
            self.report(without_choice(named))
            found = checked(named, compiled)
            names = {k.name: [v.name for v in k.variants] for k in found.kernels}
            known = (program, with_only(found, names))
            self._checked[id(program)] = known
        return known[1]

    def _compilation(self, source: Source, pool: ThreadPoolExecutor) -> Compilation | None:
        """Kernels of headers are seen only in the preprocessed text."""
        return self._compile(source.path, pool) if "__global__" in source.text else None

    def _compile(
        self, path: str, pool: ThreadPoolExecutor, flags: Sequence[str] | None = None
    ) -> Compilation:
        flags = self.compile_flags(path) if flags is None else flags
        known = targets(flags, self.architectures, self.nvcc)
        begun = self.begun
        if begun is not None and begun.is_of(path, flags) and {*known} == {*begun.codes}:
            return Compilation(begun.codes)
        return compilation(self.nvcc, path, flags, known, pool)

    def _headers(
        self, source: Source, expanded: str | None
    ) -> tuple[tuple[Source, ...], frozenset[str]]:
        """The user's headers, and the paths of those that are read before the source."""
        if expanded is not None:
            own = str(INCLUDE_DIRECTORY)
            found = {
                path: is_early
                for path, is_early in user_headers(expanded, source.path).items()
                if not path.startswith(own)
            }
            return read_headers(found), frozenset(
                path for path, is_early in found.items() if is_early
            )
        folders = include_directories(self.flags)
        early: list[Source] = []
        for forced in read_headers(forced_headers(self.flags)):
            early += [forced, *find_headers(forced, folders, early)]
        late = find_headers(source, folders, early)
        return (*early, *late), frozenset(header.path for header in early)

    def static_counters(self, path: str, architecture: str) -> dict[str, StaticCounters]:
        """Registers and shared memory by mangled kernel name; CT701 where nvcc fails."""
        flags = self.compile_flags(path)
        compiled = self.known_code.original(path, flags)
        known = self.nvcc.architecture(architecture)
        ptx = compiled.ptx(known) if compiled is not None else None
        return self.nvcc.static_counters(path, flags, architecture, ptx)

    def with_flags(self, flags: Sequence[str]) -> Session:
        """The same with further flags."""
        return replace(self, flags=(*self.flags, *flags))

    def at(self, flags: Mapping[str, Value]) -> Session:
        """The same with values for the names that stand in braces in its flags."""
        return replace(self, flags=self.asked.flags_at(flags)) if holes(self.asked.flags) else self

    def compile_flags(self, path: str) -> list[str]:
        """The user's flags; quoted includes are found beside the original file."""
        return [*self.flags, "-Xcompiler", quote_folder(str(Path(path).resolve().parent))]

    def instrument(
        self,
        program: Program,
        passes: Sequence[Pass] = (InstrumentLaunches(),),
        print_after: str | None = None,
    ) -> TranslationUnit:
        """The program with hooks at its tunable launches, or rewritten by other passes."""

        def after(step: Pass, unit: TranslationUnit) -> None:
            if step.name == print_after:
                print(unit.rewritten().text, file=sys.stderr)

        unit = run_passes(passes, TranslationUnit(program), after)
        self.report(unit.diagnostics)
        return unit

    def build_instrumented(
        self, programs: Sequence[Program], folder: Path, target: Sequence[str] | None = None
    ) -> Path:
        """Write sources with hooks into a folder; compile and link them.

        `target`: nvcc's options for the target; by default the emulated device.
        """
        places = self._instrumented_folders(programs, folder)
        units = [self.write_instrumented(program, place) for program, place in places]
        binary = self._instrumented_binary(programs, units, folder)
        flags = [self.compile_flags(one.source.path) for one in programs]
        codes = list(map(self.known_code.built, programs, flags))
        return self.build_units(units, binary, folder, target, codes)

    def instrumented(
        self, programs: Sequence[Program], folder: Path
    ) -> tuple[list[tuple[Path, list[str]]], Path]:
        """What `build_instrumented` has written: sources with the flags of each, the program."""
        units = []
        for program, place in self._instrumented_folders(programs, folder):
            checked = self.with_checked_variants(program)
            target, flags = self._placed(checked, place, "instrumented")
            units.append((target.files_of(checked)[0], flags))
        return units, self._instrumented_binary(programs, units, folder)

    @staticmethod
    def _instrumented_binary(
        programs: Sequence[Program], units: Sequence[tuple[Path, Sequence[str]]], folder: Path
    ) -> Path:
        if len(units) == 1:
            return units[0][0].with_suffix("")
        return folder / f"{Path(programs[0].source.path).stem}.instrumented"

    @staticmethod
    def _instrumented_folders(
        programs: Sequence[Program], folder: Path
    ) -> list[tuple[Program, Path]]:
        if len(programs) == 1:
            return [(programs[0], folder)]
        return [(one, folder / f"source-{number}") for number, one in enumerate(programs, 1)]

    def build_units(
        self,
        units: Sequence[tuple[Path, Sequence[str]]],
        binary: Path,
        folder: Path,
        target: Sequence[str] | None = None,
        codes: Sequence[BuiltCode | None] = (),
    ) -> Path:
        """Compile sources, each with its flags, and link them; object files go into a folder.

        `codes`: what is known of the device code of each, for the emulated device.
        """
        known = codes if target is None and codes else [None] * len(units)
        if len(units) == 1:
            return self.build(*units[0], binary, target, known[0])

        def compiled(number: int) -> Path:
            text, flags = units[number]
            place = folder / f"source-{number + 1}" / f"{text.stem}.o"
            make_folder(place.parent)
            return self.build(text, [*flags, "-c"], place, target, known[number])

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(compiled, range(len(units))))
        words = [*self.flags, *self._target(target), *map(str, objects), "-o", str(binary)]
        linked = self.nvcc.run(words)
        if linked.returncode != 0 and any(known):
            # It is the linker that misses a kernel which is not in the code that was known.
            return self.build_units(units, binary, folder, target)
        self.nvcc.checked(words, linked)
        return binary

    def write_instrumented(self, program: Program, folder: Path) -> tuple[Path, list[str]]:
        """Write a program with hooks into a folder; returns the flags to compile it with."""
        return self.write_rewritten(program, folder, "instrumented", (InstrumentLaunches(),))

    def write_rewritten(
        self, program: Program, folder: Path, word: str, passes: Sequence[Pass]
    ) -> tuple[Path, list[str]]:
        """Write a program as passes left it into a folder; returns the flags to compile it with."""
        return self._write_unit(self.instrument(program, passes), folder, word)

    def _write_unit(self, unit: TranslationUnit, folder: Path, word: str) -> tuple[Path, list[str]]:
        make_folder(folder)
        target, flags = self._placed(unit.program, folder, word)
        return target.write(unit), flags

    def _placed(self, program: Program, folder: Path, word: str) -> tuple[Target, list[str]]:
        """Where a rewritten program is written to, and the flags to compile it with."""
        target = Target.within(program, folder, word)
        return target, self.flags_at(program, target)

    def flags_at(self, program: Program, target: Target) -> list[str]:
        """The flags to compile a rewritten program with where it was written to."""
        flags = self.compile_flags(program.source.path)
        if target.is_folder:
            return redirected(flags, ShadowTree.of(program, target.path).copy_of)
        return flags

    def build(
        self,
        source: Path,
        flags: Sequence[str],
        binary: Path,
        target: Sequence[str] | None = None,
        code: BuiltCode | None = None,
    ) -> Path:
        """Compile a program for the emulated device, or for what the options `target` say.

        `code`: what is known of its device code, for the emulated device.
        """
        options = [*flags, *self.build_options(flags, target)]
        note = self.known_code.note_read
        if code is None or not built(self.nvcc, options, source, flags, binary, code, note):
            self.nvcc.check([*options, *self.nvcc.source_words(source, flags), "-o", str(binary)])
        return binary

    def build_options(self, flags: Sequence[str], target: Sequence[str] | None = None) -> list[str]:
        """The options of `build` besides those of the program, `flags`."""
        # On the emulated device nothing of the host is timed, and compiling it takes longest.
        level = "-O1" if target is None else "-O2"
        return [f"-I{INCLUDE_DIRECTORY}", *unless_asked(level, flags), *self._target(target)]

    def _target(self, target: Sequence[str] | None) -> Sequence[str]:
        return own_build_flags(self.nvcc, self.progress) if target is None else target

    def build_emulated(self, path: str, folder: Path) -> Path:
        """Compile a program as it is, for the emulated device.

        Raises:
            CutuneError: CT001 when it does not exist, CT701.
        """
        read_source(path)
        return self.build(Path(path), self.compile_flags(path), folder / Path(path).stem)

    def build_plain(self, path: str, folder: Path) -> Path:
        """Compile a program as it is, for a GPU.

        Raises:
            CutuneError: CT001 when it does not exist, CT701.
        """
        read_source(path)
        binary = folder / Path(path).stem
        flags = self.compile_flags(path)
        words = [*flags, *unless_asked("-O2", flags), *self.nvcc.source_words(path, flags)]
        self.nvcc.check([*words, "-o", str(binary)])
        return binary

"""Sources in, proven `Program`s out, one for each source.

Each source becomes a `ReadSource`. Analyses are imported where nvcc is at work already, so that a
verb which does not need them starts quickly.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.progress import ANALYZING, Reporter, during
from cutune.core.reading import read_source
from cutune.core.source import Source
from cutune.proof.compiled import Compilation, KnownCode, UnitCompiler
from cutune.source.program import Program
from cutune.source.rewrite.edits import is_rewritten
from cutune.source.rewrite.pipeline import TranslationUnit
from cutune.source.syntax.headers import (
    find_headers,
    forced_headers,
    include_directories,
    read_headers,
)
from cutune.source.syntax.parse import Syntax, parse
from cutune.source.unit.preprocess import user_headers, with_compiled_branches
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY
from cutune.toolchain.toolchain import Toolchain

if TYPE_CHECKING:
    from cutune.proof.analysis.host_calls import HostLaunch
    from cutune.proof.analysis.read_source import ReadSource
    from cutune.proof.analysis.tried_tiles import Try

#: Words of device code; the preprocessor has expanded `__global__`.
_DEVICE_CODE = re.compile(r"<<<|\bglobal\b|__global__")


@dataclass(frozen=True)
class Analyzer:
    """Reads sources and proves what may change about their launches.

    `with_variants`: may launches choose among variants of their kernels? `rewrites_headers`: may a
    header be rewritten for these alone? `is_associative`: may rounded numbers be added up in any
    order? `try_copies`: tells whether copies with other constants do the same; None: none is made.
    `code`: what the sources were compiled to.
    """

    toolchain: Toolchain = field(default_factory=Toolchain)
    reporter: Reporter = field(default_factory=Reporter)
    with_variants: bool = True
    rewrites_headers: bool = False
    is_associative: bool = False
    try_copies: Try | None = None
    code: KnownCode = field(default_factory=KnownCode, compare=False)
    #: Programs with and without their unproven variants, by the identity of the former.
    _checked: dict[int, tuple[Program, Program]] = field(default_factory=dict, compare=False)

    @property
    def compiler(self) -> UnitCompiler:
        """The compiler of its programs with edits."""
        return UnitCompiler(self.toolchain)

    def with_flags(self, flags: Sequence[str]) -> Analyzer:
        return replace(self, toolchain=self.toolchain.with_flags(flags))

    def load(self, path: str, require_nvcc: bool = False) -> Program:
        """Read and analyze one file; where there is no nvcc, nothing is proven of its kernels."""
        return self.load_all((path,), require_nvcc)[0]

    def load_all(self, paths: Iterable[str], require_nvcc: bool = False) -> list[Program]:
        """Read and analyze sources that are linked together; gives a `Program` for each.

        Any of them may define a kernel that another one launches.
        """
        with during(self.reporter.progress, ANALYZING):
            read = [self.read(path, require_nvcc) for path in paths]
            from cutune.proof.analysis.kernels_of_other_sources import linked

            programs = linked(read)
        return self.reported(programs)

    def reported(self, programs: Sequence[Program]) -> list[Program]:
        """The programs, after their messages were shown; raises the first error among these."""
        for program in programs:
            self.reporter.report(program.diagnostics)
        return list(programs)

    def read(self, path: str, require_nvcc: bool = False) -> ReadSource:
        """Read and analyze one file by itself; its messages are not yet reported."""
        syntax = self.parsed(path)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return self._analyzed(syntax, require_nvcc, pool)

    def parsed(self, path: str) -> Syntax:
        """The text of a file. Raises CT001, CT011, CT1xx, CT309."""
        if path.endswith(".py"):
            raise CutuneError.at(Code.SCRIPT_UNSEEN, path=path)
        source = read_source(path)
        if is_rewritten(source):
            raise CutuneError(Diagnostic.at(Code.ALREADY_TUNED, None, path=path))
        syntax = parse(source)
        # The compiler knows which branches of an #if count.
        if not syntax.brackets.is_uneven:
            self._report_errors(syntax)
        return syntax

    def _report_errors(self, syntax: Syntax) -> None:
        self.reporter.report([d for d in syntax.diagnostics if d.is_error])

    def _analyzed(self, syntax: Syntax, require_nvcc: bool, pool: ThreadPoolExecutor) -> ReadSource:
        source, path = syntax.source, syntax.source.path
        expanded, compiling = None, None
        try:
            # The slowest comes first, and goes on while the text is read, and what reads it loaded.
            # Kernels of headers are seen only in the preprocessed text.
            if "__global__" in source.text:
                compiling = Compilation(self.toolchain.device_codes(path, pool))
            expanded = self.toolchain.preprocessed(path)
            if compiling is None and _DEVICE_CODE.search(expanded):
                compiling = Compilation(self.toolchain.device_codes(path, pool))
        except CutuneError as error:
            is_told = require_nvcc or self.toolchain.nvcc_option is not None
            if is_told or error.diagnostic.code is not Code.MISSING_NVCC:
                raise
        syntax = with_compiled_branches(syntax, expanded)
        self._report_errors(syntax)
        headers, early = self._headers(source, expanded)
        for header in headers:
            if is_rewritten(header):
                raise CutuneError(Diagnostic.at(Code.ALREADY_TUNED, None, path=header.path))
        from cutune.proof.analysis.read_source import ReadSource

        flags = tuple(self.toolchain.compile_flags(path))
        if compiling is not None:
            self.code.note(path, flags, compiling)
        read = ReadSource(
            nvcc=self.toolchain.nvcc if compiling is not None else None,
            folder=os.getcwd(),
            flags=flags,
            syntax=syntax,
            expanded=expanded,
            headers=headers,
            early=early,
            compilation=compiling,
            compile_unit=self.compiler.ptx,
            compile_draft=self.compiler.draft,
            rewrites_headers=self.rewrites_headers,
            is_associative=self.is_associative,
            try_copies=self.try_copies if self.with_variants else None,
        )
        read.analyze_now()
        return read

    def _headers(
        self, source: Source, expanded: str | None
    ) -> tuple[tuple[Source, ...], frozenset[str]]:
        if expanded is not None:
            is_early = {
                path: early
                for path, early in user_headers(expanded, source.path).items()
                if not path.startswith(str(INCLUDE_DIRECTORY))
            }
            return read_headers(is_early), frozenset(path for path in is_early if is_early[path])
        folders = include_directories(self.toolchain.flags)
        early: list[Source] = []
        for forced in read_headers(forced_headers(self.toolchain.flags)):
            early += [forced, *find_headers(forced, folders, early)]
        late = find_headers(source, folders, early)
        return (*early, *late), frozenset(header.path for header in early)

    def with_checked_variants(self, program: Program) -> Program:
        """The program without variants whose compiled code is not proven."""
        is_without = not (self.with_variants and any(k.variants for k in program.kernels))
        if program.has_checked_variants or is_without:
            return program
        if id(program) not in self._checked:
            self._checked[id(program)] = program, self._checked_program(program)
        return self._checked[id(program)][1]

    def _checked_program(self, program: Program) -> Program:
        from cutune.proof.analysis.host_calls import host_launches
        from cutune.proof.analysis.launched_entries import with_kernels_by_arguments, without_choice
        from cutune.proof.variants.check import checked
        from cutune.proof.variants.registry import with_only

        def launches(unit: TranslationUnit) -> tuple[HostLaunch, ...]:
            nvcc = self.toolchain.nvcc
            return compiler.written(unit, lambda path, flags: host_launches(nvcc, path, flags))

        compiler, units = self.compiler, list[TranslationUnit]()

        def compiled(unit: TranslationUnit) -> list[str]:
            units.append(unit)
            compilation = compiler.compilation(unit)
            if len(units) == 1:  # Of all variants: others are compiled where it fails.
                flags = self.toolchain.compile_flags(program.source.path)
                self.code.note_varied(named, flags, compilation)
            return compilation.results()

        named = with_kernels_by_arguments(program, launches)
        self.reporter.report(without_choice(named))
        proven = checked(named, compiled)
        return with_only(proven, {k.name: [v.name for v in k.variants] for k in proven.kernels})

"""One source, read and analyzed: the step that all analyses go through.

Takes what `Analyzer.read` found of a file, gives its proven `Program`: by itself, with its copies
proven, its launches told by the compiler, and again with kernels that other sources lend it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, replace
from functools import cached_property

from cutune.core.diagnostics import CutuneError
from cutune.core.source import Source
from cutune.proof.analysis.analyze import analyze
from cutune.proof.analysis.host_calls import HostLaunch, exported_kernels, host_launches
from cutune.proof.analysis.launched_entries import (
    may_be_unproven,
    with_launched_entries,
    without_launched_entries,
    without_unproven,
)
from cutune.proof.analysis.proven_copies import ProvenCopy, proven_copies, with_entries_of_copies
from cutune.proof.analysis.tried_tiles import Tiles, Try, tried_tiles
from cutune.proof.compiled import Compilation, Compile
from cutune.proof.variants.registry import with_written_variants
from cutune.proof.variants.tiles import may_have_tiles
from cutune.source.program import Kernel, Program
from cutune.source.syntax.parse import Syntax
from cutune.source.unit.macros import Seen
from cutune.source.unit.preprocess import early_macros, expanded_parts, other_paths
from cutune.source.unit.unit_texts import UnitTexts, seen_files
from cutune.toolchain.dry_run import FrontEndFailed
from cutune.toolchain.nvcc import Nvcc
from cutune.toolchain.preprocessed import definitions_before, marked_host_pass


@dataclass(frozen=True)
class ReadSource:
    """One source, with all that is needed to analyze it again, and what was found in it.

    `expanded`, `headers`, `early`: see `UnitTexts`. `nvcc`: None, as `compilation` is, where the
    text alone has to do. `folder`: relative paths are seen from there. `compile_unit`: compiles the
    source with edits; `compile_draft`: for one architecture alone. Others: see `Analyzer`.
    """

    nvcc: Nvcc | None
    folder: str
    flags: tuple[str, ...]
    syntax: Syntax
    expanded: str | None
    headers: tuple[Source, ...]
    early: frozenset[str]
    compilation: Compilation | None = None
    compile_unit: Compile | None = None
    compile_draft: Compile | None = None
    rewrites_headers: bool = False
    is_associative: bool = False
    try_copies: Try | None = None

    def analyze_now(self) -> Program:
        """Analyze the source, which else is done when `alone` is read; raises as that does."""
        return self.alone

    @cached_property
    def alone(self) -> Program:
        """The program with no other source; raises CT701 where it does not compile."""
        return self.program()

    def program(self, elsewhere: Sequence[Kernel] = ()) -> Program:
        """Return the proven program, with kernels that other sources define."""
        # Places are told apart by where their files lie, which follows from the folder.
        with chdir(self.folder):
            return self._program(elsewhere)

    def _program(self, elsewhere: Sequence[Kernel]) -> Program:
        program = self._without_copies
        if self._copies or self._tiles or elsewhere:
            program = self._analyzed(self._copies, elsewhere, self._tiles)
        if self.compilation is None:
            return program
        program = without_unproven(with_entries_of_copies(self._with_called_entries(program)))
        return program if self.rewrites_headers else with_written_variants(program)

    def _with_called_entries(self, program: Program) -> Program:
        kernels = ((site, program.kernel(site.kernel)) for site in program.launches)
        open_ = [site for site, k in kernels if k is not None and may_be_unproven(site, k)]
        if all(site.entries for site in (*program.tunable_launches, *open_)):
            return program
        try:
            return with_launched_entries(program, self.launches)
        except CutuneError as error:
            return without_launched_entries(program, error.diagnostic.message)

    @cached_property
    def _texts(self) -> UnitTexts:
        read = self.syntax, self.expanded, self.headers, self.early
        return UnitTexts.read(*read, lambda: self._marked)

    @cached_property
    def _without_copies(self) -> Program:
        return self._analyzed({}, ())

    @cached_property
    def _copies(self) -> Mapping[str, ProvenCopy]:
        if self.compilation is None or self.compile_unit is None:
            return {}
        with chdir(self.folder):
            originals = self.compilation.results()
            known = self.compile_unit, self._texts.unsteady, self.is_associative
            return proven_copies(self._without_copies, originals, *known)

    @cached_property
    def _tiles(self) -> Mapping[str, Tiles]:
        if self.compilation is None or self.compile_unit is None or self.try_copies is None:
            return {}
        program = self._analyzed(self._copies, ()) if self._copies else self._without_copies
        if not may_have_tiles(program):
            return {}
        with chdir(self.folder):
            texts = self._texts.kernel_texts
            compiling = self.compile_draft or self.compile_unit, self.compile_unit
            originals = self.compilation.results()
            return tried_tiles(program, originals, *compiling, texts, self.try_copies)

    def _analyzed(
        self,
        copies: Mapping[str, ProvenCopy],
        elsewhere: Sequence[Kernel],
        tiles: Mapping[str, Tiles] | None = None,
    ) -> Program:
        program = analyze(
            self._texts,
            self.compilation,
            copies,
            elsewhere,
            is_associative=self.is_associative,
            ask_launches=lambda: self.launches,
            tiles=tiles or {},
        )
        return replace(program, defined=self._early_macros, other_paths=self._other_paths)

    @cached_property
    def _other_paths(self) -> tuple[tuple[str, str], ...]:
        if self.expanded is None:
            return ()
        with chdir(self.folder):
            return other_paths(self.expanded, self.syntax.source.path)

    @cached_property
    def _early_macros(self) -> Mapping[str, str]:
        if self.nvcc is None:
            return {}
        with chdir(self.folder):
            return early_macros(definitions_before(self.nvcc, self.flags))

    @cached_property
    def _marked(self) -> Seen | None:
        if self.nvcc is None:
            return None
        with chdir(self.folder):
            text = marked_host_pass(self.nvcc, self.syntax.source.path, self.flags)
        return None if text is None else seen_files(expanded_parts(text, self.syntax, self.headers))

    @cached_property
    def launches(self) -> tuple[HostLaunch, ...]:
        with chdir(self.folder):
            return host_launches(self._front_end, self.syntax.source.path, self.flags)

    @cached_property
    def exported(self) -> frozenset[str]:
        """The kernels that other sources can link with, by their mangled names."""
        with chdir(self.folder):
            return exported_kernels(self._front_end, self.syntax.source.path, self.flags)

    @property
    def _front_end(self) -> Nvcc:
        if self.nvcc is None:
            raise FrontEndFailed("its text alone is read")
        return self.nvcc

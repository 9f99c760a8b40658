"""Compiles programs with edits. Takes translation units, gives their text and their code."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from cutune.core.temporary import temporary_folder
from cutune.proof.compiled import Compilation
from cutune.source.rewrite.output import write_unit
from cutune.source.rewrite.pipeline import TranslationUnit
from cutune.toolchain.cudafe import host_assembly
from cutune.toolchain.toolchain import Toolchain

T = TypeVar("T")


@dataclass(frozen=True)
class UnitCompiler:
    """Compiles rewritten programs in temporary folders. Raises CT701 where one does not compile."""

    toolchain: Toolchain

    def preprocessed(self, unit: TranslationUnit) -> str:
        """The text that the host compiler gets, with line markers."""
        return self.written(unit, self.toolchain.nvcc.preprocess)

    def compilation(self, unit: TranslationUnit) -> Compilation:
        """The device code for all architectures that will run, when it has ended."""

        def ended(path: str, flags: Sequence[str]) -> Compilation:
            compilation = Compilation(self.toolchain.device_codes(path, pool, flags))
            compilation.results()
            return compilation

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return self.written(unit, ended)

    def ptx(self, unit: TranslationUnit) -> list[str]:
        """The PTX for each of these architectures."""
        return self.compilation(unit).results()

    def assembly(self, unit: TranslationUnit) -> str:
        """The unoptimized assembly of the host code."""
        nvcc = self.toolchain.nvcc
        return self.written(
            unit, lambda path, flags: host_assembly(nvcc, path, flags, lambda text: text)
        )

    def written(self, unit: TranslationUnit, use: Callable[[str, list[str]], T]) -> T:
        """Write the program, and return the result of `use` for its path and flags."""
        flags = self.toolchain.compile_flags(unit.program.source.path)
        with temporary_folder() as name:
            path, flags = write_unit(unit, flags, Path(name), "copies")
            return use(str(path), flags)

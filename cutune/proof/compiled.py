"""Compiles for every architecture that will run. Takes sources, gives their code and proofs."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from cutune.core.diagnostics import CutuneError
from cutune.core.temporary import temporary_folder
from cutune.proof.entry import prove
from cutune.proof.entry_proof import EntryProof
from cutune.proof.memory.pointers import assembly_lines
from cutune.proof.source_lines import Locate, located
from cutune.ptx.parse import parse
from cutune.ptx.types import PtxError
from cutune.source.rewrite.output import write_unit
from cutune.source.rewrite.pipeline import TranslationUnit
from cutune.toolchain.built_code import BuiltCode
from cutune.toolchain.cudafe import host_assembly
from cutune.toolchain.device_code import EMULATED, DeviceCode
from cutune.toolchain.kernel_names import base_name
from cutune.toolchain.toolchain import Toolchain

T = TypeVar("T")
Item = TypeVar("Item")
Change = TypeVar("Change")
Compile = Callable[[TranslationUnit], Sequence[str]]
"""Gives the PTX of a rewritten program, for all architectures that will run.

Raises CutuneError where it does not compile.
"""

_PTX_TARGET = re.compile(r"^\.target\s+sm_(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Compiled:
    """Proofs about the entries of a source by the name of their kernel, of all architectures.

    `versions`: those of the PTX that was proven, as `cudaFuncGetAttributes` reports them.
    `content`: a hash of all of it.
    """

    proofs: dict[str, tuple[EntryProof, ...]]
    versions: tuple[int, ...]
    content: str = ""

    def entries(self, kernel: str) -> tuple[str, ...]:
        """The mangled names of a kernel's instances."""
        return tuple(dict.fromkeys(proof.name for proof in self.proofs.get(kernel, ())))


@dataclass(frozen=True)
class Compilation:
    """nvcc at work, one run for each architecture. Its results raise CT701 with what nvcc said."""

    codes: Mapping[str, Future[DeviceCode]]
    #: Earlier proofs: a source may be analyzed again, with copies or other sources.
    _known: dict[frozenset[str], Compiled] = field(default_factory=dict, compare=False)

    def finished(self, names: Iterable[str]) -> Compiled:
        """Wait for nvcc, and prove the entries of kernels of these names."""
        wanted = frozenset(names)
        if wanted not in self._known:
            codes = [future.result() for future in self.codes.values()]
            texts = [(code.ptx, located(code.lined)) for code in codes]
            self._known[wanted] = _proven(texts, lambda entry: base_name(entry) in wanted)
        return self._known[wanted]

    def results(self) -> list[str]:
        """Wait for nvcc; the PTX of each architecture."""
        return [future.result().ptx for future in self.codes.values()]

    def ptx(self, architecture: str) -> str | None:
        """The PTX for `sm_90`, for instance, if it is compiled for that."""
        code = self._code(architecture)
        return code.ptx if code is not None else None

    def built(self) -> BuiltCode | None:
        """Return the parts of a program on the emulated device; None where they are not known."""
        code = self._code(EMULATED)
        return code.built if code is not None else None

    def _code(self, architecture: str) -> DeviceCode | None:
        found = self.codes.get(architecture.removeprefix("sm_"))
        return found.result() if found is not None else None


def compiled_changes(
    changes: Mapping[str, Change],
    changed: Callable[[Mapping[str, Change]], TranslationUnit],
    compile_unit: Compile,
) -> dict[str, Sequence[str]]:
    """The PTX for each change that compiles. `changed`: the program with some of them."""

    def together(some: Sequence[tuple[str, Change]]) -> dict[str, Sequence[str]]:
        return dict.fromkeys(dict(some), compile_unit(changed(dict(some))))

    parts = in_halves(list(changes.items()), together)
    return {name: texts for part in parts for name, texts in part.items()}


def in_halves(items: Sequence[Item], compiled: Callable[[Sequence[Item]], T]) -> Iterator[T]:
    """Yield what comes of all items together, or of each half where they do not compile."""
    try:
        found = [compiled(items)] if items else []
    except CutuneError:
        middle = len(items) // 2
        for half in (items[:middle], items[middle:]) if middle else ():
            yield from in_halves(half, compiled)
    else:
        yield from found


def proven(texts: Sequence[str], is_wanted: Callable[[str], bool]) -> Compiled:
    """Proofs about the wanted entries of PTX texts, which are named by their mangled names."""
    return _proven([(text, lambda line: None) for text in texts], is_wanted)


def _proven(texts: Sequence[tuple[str, Locate]], is_wanted: Callable[[str], bool]) -> Compiled:
    found: defaultdict[str, list[EntryProof]] = defaultdict(list)
    versions = set()
    for text, locate in texts:
        if (version := _PTX_TARGET.search(text)) is not None:
            versions.add(int(version[1]))
        try:
            module = parse(text)
        except PtxError:
            return Compiled({}, ())
        assembly = assembly_lines(text)
        for name, function in module.functions.items():
            if function.is_kernel and function.body and is_wanted(name):
                proof = replace(prove(module, name, assembly), locate=locate)
                found[base_name(name)].append(proof)
    content = sha256("\0".join(text for text, _ in texts).encode("latin-1", "replace")).hexdigest()
    proofs = {name: tuple(each) for name, each in found.items()}
    return Compiled(proofs, tuple(sorted(versions)), content)


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

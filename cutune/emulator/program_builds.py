"""Programs from sources: as they are, or with hooks. Takes a toolchain, gives binaries."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from cutune.core.progress import Progress, silent
from cutune.core.reading import read_source
from cutune.core.workspace import make_folder
from cutune.emulator.link import first_build_flags, own_build_flags, runtime_library
from cutune.passes import InstrumentLaunches
from cutune.source.program import Program, SiteNumbers, numbers_of
from cutune.source.rewrite.output import write_unit
from cutune.source.rewrite.pipeline import TranslationUnit, run_passes
from cutune.toolchain.built_code import BuiltCode, built
from cutune.toolchain.compiler_commands import Words
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, unless_asked
from cutune.toolchain.preprocessed import files_of
from cutune.toolchain.toolchain import Toolchain

if TYPE_CHECKING:
    from cutune.proof.analysis.analyzer import Analyzer

#: A source, and the flags to compile it with.
Unit = tuple[Path, Words]
#: Is told a source, and the text that the preprocessor has written of it for the host.
NoteText = Callable[[Path, str], None]


@dataclass(frozen=True)
class InstrumentedProgram:
    """A program with hooks at its tunable launches.

    `read`: what the preprocessor read for sources that were built with known device code.
    """

    binary: Path
    units: Sequence[Unit]
    read: dict[Path, Words]


def build_instrumented(
    toolchain: Toolchain,
    programs: Sequence[Program],
    folder: Path,
    target: Words | None = None,
    codes: Sequence[BuiltCode | None] = (),
) -> InstrumentedProgram:
    """Write sources with hooks into a folder; compile and link them.

    `target`: nvcc's options for it; None: the emulated device. `codes`: known device code.
    """
    is_one = len(programs) == 1
    places = [folder if is_one else folder / f"source-{n + 1}" for n in range(len(programs))]
    pairs = zip(programs, places, strict=True)
    units = [write_instrumented(toolchain, program, place) for program, place in pairs]
    joined = folder / f"{Path(programs[0].source.path).stem}.instrumented"
    binary = units[0][0].with_suffix("") if is_one else joined
    read: dict[Path, Words] = {}

    def note(source: Path, text: str) -> None:
        read[source] = files_of(text)

    build_units(toolchain, units, binary, folder, target, codes, note)
    return InstrumentedProgram(binary, units, read)


def build_numbered(
    analyzer: Analyzer, programs: Sequence[Program], folder: Path
) -> tuple[InstrumentedProgram, list[SiteNumbers]]:
    """Build sources for the emulated device and link them; with the numbers of their sites.

    `programs`: one for each source. The device code is that which the analysis knows. Raises as
    `build_instrumented` does.
    """
    toolchain = analyzer.toolchain
    numbers = list(numbers_of(programs))
    numbered = [its.written(one) for one, its in zip(programs, numbers, strict=True)]
    flags = [toolchain.compile_flags(program.source.path) for program in programs]
    codes = list(map(analyzer.code.built, numbered, flags))
    runtime_library(toolchain.nvcc, analyzer.reporter.progress)
    return build_instrumented(toolchain, numbered, folder, None, codes), numbers


def write_instrumented(toolchain: Toolchain, program: Program, folder: Path) -> Unit:
    """Write a program with hooks into a folder; its source, and the flags to compile that with."""
    flags = toolchain.compile_flags(program.source.path)
    return write_unit(instrument(program), flags, folder, "instrumented")


def instrument(program: Program) -> TranslationUnit:
    """The program with hooks at its tunable launches."""
    return run_passes((InstrumentLaunches(),), TranslationUnit(program))


def build_units(
    toolchain: Toolchain,
    units: Sequence[Unit],
    binary: Path,
    folder: Path,
    target: Words | None = None,
    codes: Sequence[BuiltCode | None] = (),
    note: NoteText = lambda source, text: None,
) -> Path:
    """Compile sources and link them; object files go into a folder. See `build_instrumented`."""
    nothing, nvcc = [None] * len(units), toolchain.nvcc
    if len(units) == 1:
        return build(toolchain, *units[0], binary, target, (codes or nothing)[0], note)

    def compiled(number: int, unit: Unit, code: BuiltCode | None) -> str:
        place = folder / f"source-{number}" / f"{unit[0].stem}.o"
        make_folder(place.parent)
        return str(build(toolchain, unit[0], [*unit[1], "-c"], place, target, code, note))

    for known in (codes or nothing, nothing):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(compiled, count(1), units, known))
        options = [*first_options(toolchain, target), *toolchain.flags]
        words = [*options, *target_options(toolchain, target), *objects, "-o", str(binary)]
        linked = nvcc.run(words)
        # Else the linker may miss a kernel which is not in the code that was known.
        if linked.returncode == 0 or not any(known):
            break
    nvcc.checked(words, linked)
    return binary


def build(
    toolchain: Toolchain,
    source: Path,
    flags: Words,
    binary: Path,
    target: Words | None = None,
    code: BuiltCode | None = None,
    note: NoteText = lambda source, text: None,
) -> Path:
    """Compile a program for the emulated device, or `target`. `code`: its device code, if known."""
    first = first_options(toolchain, target)
    options = [*first, *flags, *build_options(toolchain, flags, target)]
    nvcc = toolchain.nvcc
    if code is None or not built(nvcc, options, source, flags, binary, code, note):
        nvcc.check([*options, *nvcc.source_words(source, flags), "-o", str(binary)])
    return binary


def build_options(toolchain: Toolchain, flags: Words, target: Words | None = None) -> list[str]:
    """The options of `build` besides those of the program, `flags`."""
    # On the emulated device nothing of the host is timed, and compiling it takes longest.
    level = "-O1" if target is None else "-O2"
    options = target_options(toolchain, target)
    return [f"-I{INCLUDE_DIRECTORY}", *unless_asked(level, flags), *options]


def first_options(toolchain: Toolchain, target: Words | None) -> Words:
    """The options that stand before those of the program; see `target_options`."""
    return first_build_flags(toolchain.nvcc) if target is None else ()


def target_options(toolchain: Toolchain, target: Words | None) -> Words:
    """The options `target`; None stands for those of the emulated device, which are built first."""
    return own_build_flags(toolchain.nvcc) if target is None else target


def build_emulated(
    toolchain: Toolchain, path: str, folder: Path, progress: Progress = silent
) -> Path:
    """Compile a program as it is, for the emulated device. Raises CT001 (missing file), CT701."""
    read_source(path)
    runtime_library(toolchain.nvcc, progress)
    return build(toolchain, Path(path), toolchain.compile_flags(path), folder / Path(path).stem)


def build_plain(toolchain: Toolchain, path: str, folder: Path) -> Path:
    """Compile a program as it is, for a GPU. Raises CT001 (missing file), CT701."""
    read_source(path)
    binary = folder / Path(path).stem
    flags, nvcc = toolchain.compile_flags(path), toolchain.nvcc
    words = [*flags, *unless_asked("-O2", flags), *nvcc.source_words(path, flags)]
    nvcc.check([*words, "-o", str(binary)])
    return binary

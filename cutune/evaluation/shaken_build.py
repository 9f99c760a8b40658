"""The two programs that `shake` compares. Takes sources, gives them built as they are and shaken.

Both are compiled with the same options; only the text of their launches differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cutune.analysis.analyzer import Analyzer
from cutune.analysis.program_builds import build_units
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.workspace import make_folder
from cutune.emit.random_program import random_program
from cutune.emulator.link import runtime_library
from cutune.frontend.launch_sites import numbers_of
from cutune.frontend.program import Program
from cutune.frontend.syntax.headers import redirected
from cutune.proof.known_code import KnownCode
from cutune.rewrite.output import ShadowTree, Target
from cutune.toolchain.steps.built_code import BuiltCode
from cutune.toolchain.steps.dry_run import first_error
from cutune.toolchain.steps.toolchain import Toolchain

#: The seed if the environment has none.
FIRST_SEED = 1

#: Writes a program with other launches; as `random_program`.
Writer = Callable[[Analyzer, Program, int, Target], Path]
SourceFlags = tuple[Path, Sequence[str]]


def build_both(
    analyzer: Analyzer,
    programs: Sequence[Program],
    folder: Path,
    target: Sequence[str] | None,
    write: Writer = random_program,
) -> tuple[Path, Path]:
    """Build the original and the shaken program below a folder.

    Args:
        target: nvcc's options for the target; None is the emulated device.

    Raises:
        CutuneError: CT701 when the original does not compile, CT439 when only the shaken one does
            not.
    """
    name = Path(programs[0].source.path).stem
    places = {word: folder / word for word in ("original", "shaken")}
    for place in places.values():
        make_folder(place)
    numbers = numbers_of(programs)
    numbered = [its.written(one) for one, its in zip(programs, numbers, strict=True)]
    changed = [
        _shaken_unit(analyzer, program, places["shaken"] / f"source-{number}", write)
        for number, program in enumerate(numbered, 1)
    ]
    unchanged = [_unit(analyzer.toolchain, program) for program in programs]
    known = [_code(analyzer.code, *unit) for unit in unchanged] if target is None else []
    toolchain = analyzer.toolchain
    if target is None:
        runtime_library(toolchain.nvcc, analyzer.reporter.progress)
    with ThreadPoolExecutor(2) as pool:
        first, second = (
            pool.submit(build_units, toolchain, units, place / name, place, target, codes)
            for units, place, codes in zip(
                (unchanged, changed), places.values(), (known, ()), strict=True
            )
        )
        original = first.result()
        try:
            return original, second.result()
        except CutuneError as error:
            raise _not_compiled(error) from error


def _unit(toolchain: Toolchain, program: Program) -> SourceFlags:
    path = program.source.path
    return Path(path), toolchain.compile_flags(path)


def _code(code: KnownCode, path: Path, flags: Sequence[str]) -> BuiltCode | None:
    """The device code that the analysis of the source has compiled, if there is any."""
    known = code.original(str(path), flags)
    return known.built() if known is not None else None


def _shaken_unit(analyzer: Analyzer, program: Program, folder: Path, write: Writer) -> SourceFlags:
    path, flags = _unit(analyzer.toolchain, program)
    if not program.tunable_launches and not program.is_lent:
        return path, flags
    make_folder(folder)
    target = Target.within(program, folder, "shaken")
    if target.is_folder:
        flags = redirected(flags, ShadowTree.of(program, target.path).copy_of)
    return write(analyzer, program, FIRST_SEED, target), flags


def _not_compiled(error: CutuneError) -> CutuneError:
    if error.diagnostic.code is not Code.NVCC_FAILED:
        return error
    reason = first_error(error.diagnostic.message)
    message = Diagnostic.at(Code.SHAKEN_NOT_COMPILED, reason=reason).message
    said = "\n".join([message, *error.diagnostic.message.splitlines()[1:]])
    return CutuneError(Diagnostic(Code.SHAKEN_NOT_COMPILED, said))

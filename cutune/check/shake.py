"""The two programs of `shake`: built from sources, run, compared. Gives the first difference.

The shaken program takes random configurations, by the seed in its environment. It runs once with
each seed, once with each variant wherever that may run, and once with `CUTUNE=off`: then the
launches keep their own configurations, and a difference comes from the rewritten text. Both are
compiled with the same options.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from cutune.check.verify import Baseline, Conditions, RunOutcome, baseline, outcome_of
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.progress import Progress, silent
from cutune.core.workspace import make_folder
from cutune.emulator.link import runtime_library
from cutune.emulator.program_builds import build_units
from cutune.measure.program_runs import Run
from cutune.model.emit.programs import FIRST_SEED, random_program
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import Program, numbers_of
from cutune.source.rewrite.output import ShadowTree, Target
from cutune.source.syntax.headers import redirected
from cutune.toolchain.built_code import BuiltCode
from cutune.toolchain.dry_run import first_error
from cutune.toolchain.toolchain import Toolchain

SEED, VARIANT = "CUTUNE_SEED", "CUTUNE_VARIANT"
#: Allowed slow-down: a warp may have a single thread, and programs run side by side.
_SECONDS, _TIMES_SLOWER = 60.0, 100.0


@dataclass(frozen=True)
class SeededRun:
    """One run of the shaken program; without a seed its launches keep their configurations.

    `variant`: the one that every launch takes if it can; None leaves that to the seed.
    """

    seed: int | None = None
    variant: str | None = None

    @property
    def variables(self) -> Mapping[str, str]:
        if self.seed is None:
            return {"CUTUNE": "off"}
        named = {VARIANT: self.variant} if self.variant is not None else {}
        return {SEED: str(self.seed), **named}

    def __str__(self) -> str:
        if self.seed is None:
            return "CUTUNE=off"
        return f"seed {self.seed}" + (f", variant {self.variant}" if self.variant else "")


@dataclass(frozen=True)
class Shaken:
    """A run of the original, and the first run of the shaken program that differs from it."""

    run: Run
    known: Baseline
    trial: SeededRun | None = None
    reason: str = ""
    has_changed: bool = True

    def remarks(self) -> Iterator[Diagnostic]:
        yield from self.known.remarks()
        if not self.has_changed and self.trial is None:
            yield Diagnostic.at(Code.NOT_SHAKEN, command=self.run.shown)


def trials_of(seeds: Iterable[int], variants: Iterable[str] = ()) -> list[SeededRun]:
    """A run with the program's own configurations, one per seed, then one per variant."""
    seeded = [SeededRun(seed) for seed in seeds]
    forced = [SeededRun(seeded[0].seed, variant) for variant in variants] if seeded else []
    return [SeededRun(), *seeded, *forced]


def shake(
    original: Sequence[Run],
    shaken: Sequence[Run],
    trials: Sequence[SeededRun],
    conditions: Conditions,
    jobs: int,
    progress: Progress = silent,
) -> Iterator[Shaken]:
    """Run the shaken program with all seeds, `jobs` at a time; compare. Raises as `verify`."""
    per_run = 1 + len(trials)
    total = len(original) * per_run
    progress("shaking", 0, total)
    for index, (first, second) in enumerate(zip(original, shaken, strict=True)):
        known = baseline(first, conditions)
        progress("shaking", index * per_run + 1, total)
        with closing(_outcomes(second, trials, known, jobs)) as outcomes:
            told = _told(outcomes, index * per_run + 2, total, progress)
            shaken_run = _compared(Shaken(second, known), trials, told)
        progress("shaking", total if shaken_run.trial else (index + 1) * per_run, total)
        yield shaken_run


def _told(
    outcomes: Iterable[RunOutcome], first: int, total: int, progress: Progress
) -> Iterator[RunOutcome]:
    for done, outcome in enumerate(outcomes, first):
        # The end of a run is told by who has compared it.
        progress("shaking", min(done, total - 1), total)
        yield outcome


def _outcomes(
    run: Run, trials: Sequence[SeededRun], known: Baseline, jobs: int
) -> Generator[RunOutcome, None, None]:
    if jobs == 1:
        # Run in this thread: a second run would write the same files.
        yield from (_tried(run, trial, known) for trial in trials)
        return
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(_tried, run, trial, known) for trial in trials]
        try:
            for future in futures:
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _tried(run: Run, trial: SeededRun, known: Baseline) -> RunOutcome:
    limit_seconds = _SECONDS + _TIMES_SLOWER * known.outcome.seconds
    return outcome_of(run, known.conditions, trial.variables, limit_seconds)


def _compared(begun: Shaken, trials: Sequence[SeededRun], outcomes: Iterable[RunOutcome]) -> Shaken:
    """Compare in the order of the trials, so that the first difference is always the same."""
    own, is_seeded = begun.known.outcome.launches, any(trial.seed is not None for trial in trials)
    known, has_changed = begun.known, begun.known.conditions.device is None or not is_seeded
    for trial, outcome in zip(trials, outcomes, strict=False):
        has_changed = has_changed or outcome.launches != own
        known, reason = known.confirmed(outcome)
        if reason is not None:
            return replace(begun, known=known, trial=trial, reason=reason)
    return replace(begun, known=known, has_changed=has_changed)


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
    """Build the original and the shaken program below a folder. `target`: see `build_units`.

    Raises CT701 when the original does not compile, CT439 when only the shaken one does not.
    """
    toolchain, name = analyzer.toolchain, Path(programs[0].source.path).stem
    first, second = folder / "original", folder / "shaken"
    make_folder(first)
    make_folder(second)
    changed = _shaken_units(analyzer, programs, second, write)
    unchanged = [_unit(toolchain, program) for program in programs]
    known = _known_code(analyzer, unchanged) if target is None else []
    with ThreadPoolExecutor(2) as pool:
        original = pool.submit(
            build_units, toolchain, unchanged, first / name, first, target, known
        )
        shaken = pool.submit(build_units, toolchain, changed, second / name, second, target)
        built = original.result()
        try:
            return built, shaken.result()
        except CutuneError as error:
            if error.diagnostic.code is not Code.NVCC_FAILED:
                raise
            raise _shaken_fails(error.diagnostic) from error


def _known_code(analyzer: Analyzer, units: Sequence[SourceFlags]) -> list[BuiltCode | None]:
    """The device code that the analysis has compiled; what it is linked with is made, too."""
    codes = [analyzer.code.original(str(path), flags) for path, flags in units]
    runtime_library(analyzer.toolchain.nvcc, analyzer.reporter.progress)
    return [code.built() if code is not None else None for code in codes]


def _shaken_fails(failure: Diagnostic) -> CutuneError:
    """The error of a shaken program that does not compile: CT439, with what nvcc has said."""
    said = failure.message
    first = Diagnostic.at(Code.SHAKEN_NOT_COMPILED, reason=first_error(said)).message
    message = "\n".join([first, *said.splitlines()[1:]])
    return CutuneError(Diagnostic(Code.SHAKEN_NOT_COMPILED, message))


def _shaken_units(
    analyzer: Analyzer, programs: Sequence[Program], folder: Path, write: Writer
) -> list[SourceFlags]:
    numbers = numbers_of(programs)
    numbered = [its.written(one) for one, its in zip(programs, numbers, strict=True)]
    return [
        _shaken_unit(analyzer, program, folder / f"source-{number}", write)
        for number, program in enumerate(numbered, 1)
    ]


def _unit(toolchain: Toolchain, program: Program) -> SourceFlags:
    path = program.source.path
    return Path(path), toolchain.compile_flags(path)


def _shaken_unit(analyzer: Analyzer, program: Program, folder: Path, write: Writer) -> SourceFlags:
    path, flags = _unit(analyzer.toolchain, program)
    if not program.tunable_launches and not program.is_lent:
        return path, flags
    make_folder(folder)
    target = Target.within(program, folder, "shaken")
    if target.is_folder:
        flags = redirected(flags, ShadowTree.of(program, target.path).copy_of)
    return write(analyzer, program, FIRST_SEED, target), flags

"""The two programs of `shake`: built from sources, run, compared. Gives the first difference.

The shaken program takes random configurations, by the seed in its environment. It runs once with
each seed, once with each variant wherever that may run, and once with `CUTUNE=off`: then the
launches keep their own configurations, and a difference comes from the rewritten text. Both are
compiled with the same options.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace

from cutune.collect.run import Run
from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.progress import Progress, silent
from cutune.evaluation.baseline import Baseline, Conditions, baseline
from cutune.evaluation.outcome import RunOutcome, outcome_of

SEED, VARIANT = "CUTUNE_SEED", "CUTUNE_VARIANT"
#: Allowed slow-down: a warp may have a single thread, and programs run side by side.
_SECONDS, _TIMES_SLOWER = 60.0, 100.0


@dataclass(frozen=True)
class SeededRun:
    """One run of the shaken program; without a seed its launches keep their configurations.

    `variant`: the one that every launch takes that may; None leaves that to the seed.
    """

    seed: int | None = None
    variant: str | None = None

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that are set for it."""
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
        """Remarks on parts that were not compared; one if no launch was changed."""
        yield from self.known.remarks()
        if not self.has_changed and self.trial is None:
            command = self.run.shown
            yield Diagnostic.at(Code.NOT_SHAKEN, command=command)


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
    """Run the shaken program with all seeds, `jobs` at a time, and compare it with the original.

    Raises:
        CutuneError: CT441 when a program cannot be started, and as `baseline`.
    """
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
    """Pass the outcomes on, and tell the progress with each."""
    for done, outcome in enumerate(outcomes, first):
        # The end of a run is told by who has compared it.
        progress("shaking", min(done, total - 1), total)
        yield outcome


def _outcomes(
    run: Run, trials: Sequence[SeededRun], known: Baseline, jobs: int
) -> Generator[RunOutcome, None, None]:
    """The outcome of each trial; trials that are no longer needed are not started."""
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
    return outcome_of(run, known.conditions.place, trial.variables, limit_seconds)


def _compared(begun: Shaken, trials: Sequence[SeededRun], outcomes: Iterable[RunOutcome]) -> Shaken:
    """Compare in the order of the trials, so that the first difference is always the same."""
    own, is_seeded = begun.known.outcome.launches, any(trial.seed is not None for trial in trials)
    known, has_changed = begun.known, begun.known.conditions.place.device is None or not is_seeded
    for trial, outcome in zip(trials, outcomes, strict=False):
        has_changed = has_changed or outcome.launches != own
        known, reason = known.confirmed(outcome)
        if reason is not None:
            return replace(begun, known=known, trial=trial, reason=reason)
    return replace(begun, known=known, has_changed=has_changed)

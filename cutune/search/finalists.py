"""Times the fastest again, in turn: one time may have been luck. Takes trials, gives `Finalists`.

A trial that was measured in a process with others runs alone here for the first time, and is
compared; where it is wrong, or fails, the next fastest takes its place. Configurations that may
share a process are timed in one: nothing but their values differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, zip_longest
from statistics import median

from cutune.measure.program_runs import Run
from cutune.search.regions import merged
from cutune.search.shared_processes import Batches
from cutune.search.trial_runs import GPU, TrialRuns, Tried, named
from cutune.search.trials import EndedTrial, Status
from cutune.space.space import Configuration

#: So many of the fastest are timed again.
FINALISTS = 5


@dataclass(frozen=True)
class Finalists:
    """The fastest at each size.

    Attributes:
        configurations: each one once, the best of each size first, then the second ones.
        ties: which of them cannot be told apart, a line per size.
    """

    configurations: Sequence[Configuration] = ()
    ties: Sequence[str] = ()


def finals(batches: Batches, runs: Sequence[Run]) -> Finalists:
    """Time the fastest at each size again."""
    trials = batches.trials
    if trials.how.on != GPU:
        return Finalists()
    left = at_sizes = [_Finals(trials, run) for run in runs]
    while left:
        nexts = [(one, one.next()) for one in left]
        jobs = [
            trials.crew.submit(partial(_in_turn, batches, one.run, fastest), dict[str, _Again])
            for one, fastest in nexts
        ]
        left = [
            one
            for (one, fastest), again in zip(nexts, jobs, strict=True)
            if one.settle(fastest, again.result())
        ]
    ties = [tie for one in at_sizes if (tie := one.tie()) is not None]
    ranked = chain.from_iterable(zip_longest(*(one.configurations for one in at_sizes)))
    different = {tuple(c.items()): c for c in ranked if c is not None}
    return Finalists(list(different.values()), ties)


#: The repetitions of a finalist.
_Again = list[EndedTrial]


def _in_turn(batches: Batches, run: Run, fastest: Sequence[Tried]) -> dict[str, _Again]:
    """Measure finalists in turn, on one worker, unless that was done before."""
    trials, open_ones = batches.trials, [one for one in fastest if not one.ended.is_final]
    again: dict[str, _Again] = {one.trial.id: [] for one in open_ones}
    for turn in range(trials.how.repetitions):
        for one in open_ones:
            repetitions = again[one.trial.id]
            if one.ended.is_compared or _all_well(repetitions):
                repetitions.append(trials.measured(run, one.configuration, 1))
        if turn == 0:
            right = [one for one in open_ones if _all_well(again[one.trial.id])]
            shared = batches.again(run, [one.configuration for one in right])
            if shared and len(shared) == len(right):
                return again | {trial: [ended] for trial, ended in shared.items()}
    return again


def _all_well(repetitions: _Again) -> bool:
    return all(ended.status is Status.OK for ended in repetitions)


@dataclass
class _Finals:
    """The finalists of one size; `passed` are those that were timed, and how they ended."""

    trials: TrialRuns
    run: Run
    passed: list[tuple[Tried, EndedTrial]] = field(default_factory=list)

    def next(self) -> Sequence[Tried]:
        """Return the fastest for the places left; none where there is nothing to compare."""
        trials = self.trials
        known: dict[tuple[object, ...], Tried] = {}
        for one in trials.tried:
            is_allowed = all(map(trials.is_allowed, one.ended.measured))
            if one.run is self.run and one.ended.times and is_allowed:
                known.setdefault(self._what_ran(one), one)
        for one, _ in self.passed:
            known.pop(self._what_ran(one), None)
        ranked = sorted(known.values(), key=lambda one: median(one.ended.times))
        fastest = ranked[: FINALISTS - len(self.passed)]
        is_settled = len(fastest) == 1 and not self.passed and fastest[0].ended.is_compared
        return [] if is_settled else fastest

    def _what_ran(self, one: Tried) -> tuple[object, ...]:
        code = one.ended.code or one.trial.id
        return self.trials.what_ran(self.run, one.configuration, code)

    def settle(self, fastest: Sequence[Tried], again: Mapping[str, _Again]) -> bool:
        """Keep the times of finalists; return whether places are left for others."""
        is_open = False
        for one in fastest:
            repetitions, final = again.get(one.trial.id, []), one.ended
            failed = next((ended for ended in repetitions if _counts_against(one, ended)), None)
            if failed is not None:
                self.trials.correct(one, failed)
                is_open = is_open or not one.ended.is_compared
                continue
            if repetitions and _all_well(repetitions):
                times = tuple(time for ended in repetitions for time in ended.times)
                measured = tuple(merged([ended.measured for ended in repetitions]))
                final = replace(final, times=times, measured=measured, is_final=True)
                final = replace(final, is_compared=True)
                self.trials.correct(one, final)
            self.passed.append((one, final))
        return is_open

    @property
    def configurations(self) -> list[Configuration]:
        """The configurations that passed, the fastest first."""
        ranked = sorted(self.passed, key=lambda pair: median(pair[1].times))
        return [one.configuration for one, _ in ranked]

    def tie(self) -> str | None:
        """Return the text of several that cannot be told apart from the fastest, if there are."""
        finals = [final for _, final in self.passed]
        best = min(finals, key=lambda final: median(final.times), default=None)
        if best is None:
            return None
        slowest = max(best.times)
        alike = [one.configuration for one, final in self.passed if min(final.times) <= slowest]
        if len(alike) < 2:
            return None
        sizes = ", ".join(f"{name} = {self.run.values[name]}" for name in self.trials.vary)
        text = "; ".join(map(named, alike))
        return f"{sizes}: {text}" if sizes else text


def _counts_against(one: Tried, ended: EndedTrial) -> bool:
    """Is its result wrong; or does it fail alone, after it has only run with others?"""
    is_wrong = ended.status is Status.WRONG
    return is_wrong or (not one.ended.is_compared and ended.status is not Status.OK)

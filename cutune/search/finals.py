"""The fastest configurations are timed once more. Takes trials, gives the fastest of each size.

They are timed in turn: one time may have been luck. A trial that was measured in a process with
others runs alone then for the first time, and is compared; where it is wrong, or fails, the next
fastest takes its place. Finalists that may share a process are timed in one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, zip_longest
from statistics import median

from cutune.core.processes import awaited
from cutune.measure.program_runs import Run
from cutune.search.regions import merged
from cutune.search.shared_processes import Batches
from cutune.search.trial_runs import GPU, TrialRuns, Tried, named
from cutune.search.trials import EndedTrial, Status
from cutune.space.space import Configuration

#: So many of the fastest are timed again.
FINALISTS = 5
#: The repetitions of a finalist.
_Again = list[EndedTrial]


def finals(batches: Batches, runs: Sequence[Run]) -> tuple[list[Configuration], list[str]]:
    """Time the fastest at each size again.

    Returns these, the best of each size first, and per size those that cannot be told apart.
    """
    trials = batches.trials
    if trials.how.on != GPU:
        return [], []
    left = at_sizes = [_Finals(trials, run) for run in runs]
    while left:
        nexts = [(one, one.next()) for one in left]
        jobs = [
            trials.crew.submit(partial(_in_turn, batches, one.run, fastest), dict[str, _Again])
            for one, fastest in nexts
        ]
        left = [
            one
            for (one, fastest), again in zip(nexts, map(awaited, jobs), strict=True)
            if one.settle(fastest, again)
        ]
    ties = [tie for one in at_sizes if (tie := one.tie()) is not None]
    ranked = chain.from_iterable(zip_longest(*(one.configurations for one in at_sizes)))
    different = {tuple(c.items()): c for c in ranked if c is not None}
    return list(different.values()), ties


def _in_turn(batches: Batches, run: Run, fastest: Sequence[Tried]) -> dict[str, _Again]:
    trials, open_ones = batches.trials, [one for one in fastest if not one.ended.is_final]
    again: dict[str, _Again] = {one.trial.id: [] for one in open_ones}
    for turn in range(trials.how.repetitions):
        for one in open_ones:
            repetitions = again[one.trial.id]
            if one.ended.is_compared or _all_well(repetitions):
                repetitions.append(trials.measured(one.trial, 1))
        if turn == 0:
            right = [one for one in open_ones if _all_well(again[one.trial.id])]
            shared = batches.again(run, [one.trial for one in right])
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
            if one.trial.run is self.run and one.ended.times and is_allowed:
                known.setdefault(self._what_ran(one), one)
        for one, _ in self.passed:
            known.pop(self._what_ran(one), None)
        ranked = sorted(known.values(), key=lambda one: median(one.ended.times))
        fastest = ranked[: FINALISTS - len(self.passed)]
        is_settled = len(fastest) == 1 and not self.passed and fastest[0].ended.is_compared
        return [] if is_settled else fastest

    def _what_ran(self, one: Tried) -> tuple[object, ...]:
        return self.trials.what_ran(one.trial, one.ended.code or one.trial.id)

    def settle(self, fastest: Sequence[Tried], again: Mapping[str, _Again]) -> bool:
        """Keep the times of finalists; return whether places are left for others."""
        is_open = False
        for one in fastest:
            repetitions, final = again.get(one.trial.id, []), one.ended
            # What was compared before may fail now; what has only run with others may not.
            against = (Status.WRONG,) if one.ended.is_compared else {*Status} - {Status.OK}
            failed = next((ended for ended in repetitions if ended.status in against), None)
            if failed is not None:
                self.trials.correct(one.trial, failed)
                is_open = is_open or not one.ended.is_compared
                continue
            if repetitions and _all_well(repetitions):
                times = tuple(time for ended in repetitions for time in ended.times)
                measured = tuple(merged([ended.measured for ended in repetitions]))
                final = replace(final, times=times, measured=measured)
                final = replace(final, is_final=True, is_compared=True)
                self.trials.correct(one.trial, final)
            self.passed.append((one, final))
        return is_open

    @property
    def configurations(self) -> list[Configuration]:
        ranked = sorted(self.passed, key=lambda pair: median(pair[1].times))
        return [one.trial.configuration for one, _ in ranked]

    def tie(self) -> str | None:
        """Return those that cannot be told apart from the best; None where there is no other."""
        if len(self.passed) < 2:
            return None
        best = min((final for _, final in self.passed), key=lambda final: median(final.times))
        alike = [one for one, final in self.passed if min(final.times) <= max(best.times)]
        if len(alike) < 2:
            return None
        sizes = named(alike[0].trial.sizes)
        text = "; ".join(named(one.trial.configuration) for one in alike)
        return f"{sizes}: {text}" if sizes else text

"""The fastest once more, in turn: one time may have been luck. Takes trials, gives `Finalists`.

What was measured in a process with others runs alone here for the first time, and is compared;
where it turns out to be wrong, or to fail, the next fastest takes its place. Those that may share a
process are timed in one: nothing but their values differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, zip_longest
from statistics import median

from cutune.collect.run import Run
from cutune.search.batches import Batches
from cutune.search.regions import merged
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
    found = [_Finals(trials, run) for run in runs]
    left = found
    while left:
        asked = [(one, one.next()) for one in left]
        again = [
            trials.crew.submit(
                partial(_in_turn, batches, one.run, own), dict[str, list[EndedTrial]]
            )
            for one, own in asked
        ]
        left = [
            one
            for (one, own), measured in zip(asked, again, strict=True)
            if one.settle(own, measured.result())
        ]
    ties = [tie for one in found if (tie := one.tie()) is not None]
    ranked = chain.from_iterable(zip_longest(*(one.configurations for one in found)))
    different = {tuple(c.items()): c for c in ranked if c is not None}
    return Finalists(list(different.values()), ties)


def _in_turn(batches: Batches, run: Run, fastest: Sequence[Tried]) -> dict[str, list[EndedTrial]]:
    """Measure finalists in turn, on one worker, unless that was done before."""
    trials, open_ones = batches.trials, [one for one in fastest if not one.ended.is_final]
    again: dict[str, list[EndedTrial]] = {one.trial.id: [] for one in open_ones}
    for turn in range(trials.how.repetitions):
        for one in open_ones:
            own = again[one.trial.id]
            if one.ended.is_compared or all(ended.status is Status.OK for ended in own):
                own.append(trials.measured(run, one.configuration, 1))
        if turn == 0 and (together := _together(batches, run, open_ones, again)):
            return {**again, **together}
    return again


def _together(
    batches: Batches, run: Run, tried: Sequence[Tried], alone: Mapping[str, Sequence[EndedTrial]]
) -> dict[str, list[EndedTrial]]:
    """Times in one process of all that ended well alone; none unless all of them have one."""
    right = [
        one for one in tried if all(ended.status is Status.OK for ended in alone[one.trial.id])
    ]
    found = batches.again(run, [one.configuration for one in right])
    return {trial: [one] for trial, one in found.items()} if len(found) == len(right) else {}


@dataclass
class _Finals:
    """Those of one size.

    Attributes:
        passed: finalists, and how they ended.
    """

    trials: TrialRuns
    run: Run
    passed: list[tuple[Tried, EndedTrial]] = field(default_factory=list)

    def next(self) -> Sequence[Tried]:
        """The fastest for the places that are left; none where there is nothing to compare."""
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

    def settle(self, fastest: Sequence[Tried], again: Mapping[str, Sequence[EndedTrial]]) -> bool:
        """Keep what finalists took in turn; are there places to be taken by others?"""
        is_open = False
        for one in fastest:
            own, final = again.get(one.trial.id, []), one.ended
            failed = next((ended for ended in own if _counts_against(one, ended)), None)
            if failed is not None:
                self.trials.correct(one, failed)
                is_open = is_open or not one.ended.is_compared
                continue
            if own and all(ended.status is Status.OK for ended in own):
                times = tuple(time for ended in own for time in ended.times)
                measured = tuple(merged([ended.measured for ended in own]))
                final = replace(
                    final, times=times, measured=measured, is_final=True, is_compared=True
                )
                self.trials.correct(one, final)
            self.passed.append((one, final))
        return is_open

    @property
    def configurations(self) -> list[Configuration]:
        """Those that passed, the fastest first."""
        ranked = sorted(self.passed, key=lambda own: median(own[1].times))
        return [one.configuration for one, _ in ranked]

    def tie(self) -> str | None:
        """Those that cannot be told apart from the fastest."""
        found = [(one.configuration, final) for one, final in self.passed]
        best = min((f for _, f in found), key=lambda final: median(final.times), default=None)
        if best is None:
            return None
        alike = [c for c, final in found if min(final.times) <= max(best.times)]
        if len(alike) < 2:
            return None
        run, vary = self.run, self.trials.vary
        sizes = ", ".join(f"{name} = {run.values[name]}" for name in vary)
        text = "; ".join(map(named, alike))
        return f"{sizes}: {text}" if sizes else text


def _counts_against(one: Tried, ended: EndedTrial) -> bool:
    """Is its result wrong; or does it fail alone, which has only run with others?"""
    is_wrong = ended.status is Status.WRONG
    return is_wrong or (not one.ended.is_compared and ended.status is not Status.OK)

"""The fastest once more, in turn: one time may have been luck. Takes trials, gives ties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

from cutune.collect.run import Run
from cutune.search.regions import merged
from cutune.search.trial_runs import GPU, TrialRuns, Tried, named
from cutune.search.trials import Ended, Status

#: So many of the fastest are timed again.
FINALISTS = 5


def finals(trials: TrialRuns, runs: Sequence[Run]) -> list[str]:
    """Time the fastest at each size again; says which of them cannot be told apart."""
    if trials.how.on != GPU:
        return []
    fastest = [_fastest(trials, run) for run in runs]
    again = [
        trials.crew.submit(partial(_in_turn, trials, run, own), dict[str, list[Ended]])
        for run, own in zip(runs, fastest, strict=True)
    ]
    found = [
        _settled(trials, run, own, measured.result())
        for run, own, measured in zip(runs, fastest, again, strict=True)
    ]
    return [tie for tie in found if tie is not None]


def _fastest(trials: TrialRuns, run: Run) -> Sequence[Tried]:
    """Those that are timed again; none where there is nothing to compare."""
    known: dict[tuple[object, ...], Tried] = {}
    for one in trials.tried:
        if one.run is run and one.ended.times and all(map(trials.is_allowed, one.ended.measured)):
            ran = trials.what_ran(run, one.configuration, one.ended.code or one.trial.id)
            known.setdefault(ran, one)
    fastest = sorted(known.values(), key=lambda one: median(one.ended.times))[:FINALISTS]
    return fastest if len(fastest) > 1 else []


def _in_turn(trials: TrialRuns, run: Run, fastest: Sequence[Tried]) -> dict[str, list[Ended]]:
    """Measure finalists in turn, on one worker, unless that was done before."""
    open_ones = [one for one in fastest if not one.ended.is_final]
    again: dict[str, list[Ended]] = {one.trial.id: [] for one in open_ones}
    for _ in range(trials.how.repetitions):
        for one in open_ones:
            again[one.trial.id].append(trials.measured(run, one.configuration, 1))
    return again


def _settled(
    trials: TrialRuns, run: Run, fastest: Sequence[Tried], again: Mapping[str, Sequence[Ended]]
) -> str | None:
    """Keep what finalists took in turn; tell those that are alike."""
    found = []
    for one in fastest:
        own, final = again.get(one.trial.id, []), one.ended
        wrong = next((ended for ended in own if ended.status is Status.WRONG), None)
        if wrong is not None:
            trials.trials.end(one.trial, wrong)
            trials.tried.append(replace(one, ended=wrong))
            continue
        if own and all(ended.status is Status.OK for ended in own):
            times = tuple(time for ended in own for time in ended.times)
            measured = tuple(merged([ended.measured for ended in own]))
            final = replace(final, times=times, measured=measured, is_final=True)
            trials.trials.end(one.trial, final)
        found.append((one.configuration, final))
    best = min((final for _, final in found), key=lambda final: median(final.times), default=None)
    if best is None:
        return None
    alike = [c for c, final in found if min(final.times) <= max(best.times)]
    if len(alike) < 2:
        return None
    sizes = ", ".join(f"{name} = {run.values[name]}" for name in trials.vary)
    text = "; ".join(map(named, alike))
    return f"{sizes}: {text}" if sizes else text

"""Searches that build and run what they ask for. Takes a benchmark, techniques, a budget.

All of them search one space, begin at the same configurations, and are measured by the same trials:
what one has tried is known, costs the next one no run, and counts as if it had run again. Where
there is no GPU, warp instructions of all kernels of a run stand in place of times: they only let
searches be seen at work.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import inf
from pathlib import Path
from typing import Any

from cutune.core.progress import Progress
from cutune.core.temporary import temporary_folder
from cutune.emulator.launch_log import read_launches
from cutune.measure.program_runs import Run
from cutune.model.measurement.measurement import Origin
from cutune.search.measure_parameters import Place, Prepared
from cutune.search.regions import FailedRun, MeasuredRun, Settings, measure_run
from cutune.search.techniques.registry import Technique, search
from cutune.search.techniques.tries import Budget, Rows, Timed, Tries
from cutune.search.trial_runs import TrialRuns, named
from cutune.space.annotation import Value
from cutune.space.space import Configuration


@dataclass(frozen=True)
class SearchResult:
    """The best configuration of one search, and the way to it.

    Attributes:
        best: None where nothing ended well. cost: its time.
        found_after: configurations until it was found. evaluations: all that counted.
        seconds: that their trials took, whoever asked for them first.
        curve: the best so far after each of them; None before the first that ended well.
    """

    best: dict[str, Value] | None
    cost: float | None
    found_after: int
    evaluations: int
    seconds: float
    curve: tuple[float | None, ...]


@dataclass(frozen=True)
class Contender:
    """A technique, and its searches from several starts."""

    search: str
    found: tuple[SearchResult, ...]


@dataclass(frozen=True)
class LiveContest:
    """Contenders at the sizes `where`. `configurations`: of the space; `unit`: of costs."""

    where: str
    configurations: int
    unit: str
    contenders: tuple[Contender, ...]

    @property
    def best(self) -> SearchResult | None:
        every = [one for own in self.contenders for one in own.found if one.cost is not None]
        return min(every, key=lambda one: one.cost or 0.0, default=None)


def contest(
    ready: Prepared,
    techniques: Sequence[Technique],
    budget: Budget,
    searches: int,
    unit: str,
    progress: Progress,
) -> Iterator[LiveContest]:
    """Run all techniques at each size; the first search of each has the program's own start."""
    total, done = len(ready.places) * len(techniques) * searches, 0
    for place in ready.places:
        contenders = []
        for technique in techniques:
            results = []
            for state in range(searches):
                progress("searching", done, total)
                results.append(_searched(ready, place, technique, budget, state))
                done += 1
            contenders.append(Contender(technique.name, tuple(results)))
        run, space = place
        sizes = named({name: run.values[name] for name in ready.trials.vary})
        yield LiveContest(sizes, space.size, unit, tuple(contenders))
    progress("searching", 1, 1)


@dataclass
class _Account:
    """What one search at a size has found, and what it has spent.

    `best`: its cost, after how many configurations it was found, and its values.
    """

    trials: TrialRuns
    run: Run
    seconds: float = 0.0
    costs: list[float | None] = field(default_factory=list)
    best: tuple[float, int, dict[str, Value]] | None = None

    def timed(self, configuration: Configuration) -> Timed:
        ended = self.trials.timed(self.run, configuration)
        cost = ended.milliseconds(self.trials.program.tunables)
        # Who asked first for one of two programs of the same code has run it for both.
        is_counted = ended.has_run or ended.is_copied
        if is_counted:
            self.seconds += ended.seconds
            self.costs.append(cost)
        if cost is not None and (self.best is None or cost < self.best[0]):
            self.best = cost, len(self.costs), {**configuration}
        return Timed(cost, is_counted)

    @property
    def result(self) -> SearchResult:
        cost, found_after, values = self.best or (None, 0, None)
        curve = tuple(_so_far(self.costs))
        return SearchResult(values, cost, found_after, len(self.costs), self.seconds, curve)


def _searched(
    ready: Prepared, place: Place, technique: Technique, budget: Budget, state: int
) -> SearchResult:
    (run, space), trials = place, ready.trials
    account = _Account(trials, run)
    tries = Tries(
        space,
        account.timed,
        budget.at(space.size, 0.0, 1),
        expected=lambda some: trials.expect(run, some),
        # What is known takes no time now; it counts with what it took.
        clock=lambda: account.seconds,
    )
    search(technique, tries, _start(ready, place, state), state)
    trials.forget()
    return account.result


def _start(ready: Prepared, place: Place, state: int) -> Rows:
    """Return the start of all techniques: the program's own values, then places drawn at random."""
    run, space = place
    if state == 0:
        own = ready.trials.own_values(run)
        return tuple(table.closest(own) for table in space.tables)
    return space.rows(random.Random(state).randrange(space.size))


def _so_far(costs: Sequence[float | None]) -> list[float | None]:
    least = accumulate((inf if cost is None else cost for cost in costs), min)
    return [None if cost == inf else cost for cost in least]


#: In the name of the device, wherever such numbers stand in the place of milliseconds.
UNIT = "warp instructions"
DEVICE = f"the emulated device, {UNIT}"
#: Where trials of this kind are kept in a workspace: not among those with times.
COUNTED = "counted.jsonl"
#: Variable that names the file of its launches.
_LOG = "CUTUNE_LAUNCH_LOG"


def counted(
    run: Run, values: Settings, origin: Origin, environment: Mapping[str, str], **how: Any
) -> MeasuredRun | FailedRun:
    """Run a program as `measure_run` does, on the emulated device of this machine.

    `how`: its further arguments. The count of the whole run stands at its first size.
    """
    with temporary_folder() as folder:
        log = Path(folder) / "launches.jsonl"
        ran = measure_run(run, values, origin, {**environment, _LOG: str(log)}, **how)
        if isinstance(ran, FailedRun):
            return ran
        total = float(sum(launch.warp_instructions for launch in read_launches(log)))
    counts = (
        replace(one, device=DEVICE, milliseconds=0.0 if index else total)
        for index, one in enumerate(ran.measured)
    )
    return replace(ran, measured=tuple(counts))

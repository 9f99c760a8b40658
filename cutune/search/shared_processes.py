"""Runs trials of several configurations in one process, where all regions of a program may repeat.

Takes configurations that will be asked for, gives trials. A configuration without a result from a
process that ends well, with the right values, is tried alone. The outputs of configurations in one
process cannot be told apart, so that they are not compared.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, pairwise
from math import ceil
from typing import TypeVar

from cutune.core.diagnostics import CutuneError
from cutune.measure.program_runs import Run
from cutune.search.program_space import COMPILED, Setting
from cutune.search.regions import (
    FailedSettings,
    HostMeasurement,
    MeasuredSettings,
    Settings,
    measure_several,
    merged,
    setting_text,
)
from cutune.search.techniques.tries import SharedProcess
from cutune.search.trial_runs import GPU, RunTrial, TrialRuns
from cutune.search.trials import EndedTrial, Status, plain
from cutune.search.workers.crew import StoppedError, WorkerLostError
from cutune.space.space import Configuration

#: Of one process: settings, and bytes of the variable that holds them with all repetitions. Linux
#: allows twice as many.
MOST_SETTINGS, MOST_BYTES = 256, 1 << 16
#: Several workers do not share fewer: the start of a process takes longest.
LEAST_SHARE = 4
#: Seconds of one process that the program's own configuration would spend in its regions. Where
#: few settings fit, the start of a process does not matter.
MOST_SECONDS = 10.0
#: Seconds until a process measures anything: 0.4 on an H100, where CUDA starts.
START_SECONDS = 0.4
#: So many times longer may it take.
TIMES_SLOWER = 3.0
#: So many processes with other results, and there are no further at that size.
MOST_IN_VAIN = 4
#: Processes that fail: so many, and one more for each so many settings, and there are no further.
FAILURES, SETTINGS_PER_FAILURE = 2, 4


Piece = TypeVar("Piece")


@dataclass(frozen=True)
class _Member:
    trial: RunTrial
    ended: Future[EndedTrial]


@dataclass
class _Batch:
    """Configurations of one program at one size; it `is_lost` where it begins a second time."""

    members: Sequence[_Member]
    is_search: bool
    forgotten: int
    is_begun: bool = False
    is_lost: bool = False


@dataclass
class Batches:
    """Trials that share processes; `in_vain` are those in turn without results, by size."""

    trials: TrialRuns
    in_vain: dict[int, int] = field(default_factory=dict)

    def expect(
        self, run: Run, configurations: Iterable[Configuration], is_search: bool = False
    ) -> None:
        """Queue trials that will be asked for; idle workers compile and run them."""
        some, trials = list(configurations), self.trials
        if self._may_share(run):
            new = [trial for one in some if trials.is_new(trial := trials.trial(run, one))]
            trials.builds.prepare(trial.configuration for trial in new)
            for piece in self._divided(new):
                members = [_Member(trial, trials.register(trial)) for trial in piece]
                self._submit(_Batch(members, is_search, trials.forgotten))
        trials.expect(run, some, is_search)

    def again(self, run: Run, some: Sequence[RunTrial]) -> Mapping[str, EndedTrial]:
        """Time configurations that have run alone, in one process of this worker, if they can."""
        is_shared = len(some) > 1 and len({self._process(one.configuration) for one in some}) == 1
        if not is_shared or not self._may_share(run) or self.trials.reference(run).fails:
            return {}
        return {one.id: ended for one, ended in self._run_together(some)}

    def shared_process(self, run: Run) -> SharedProcess | None:
        """Return how configurations share a process; None where they do not."""
        if not self._may_share(run):
            return None
        once = self._rounds * self.trials.reference(run).region_seconds
        most = max(1, min(MOST_SETTINGS, int(START_SECONDS / max(once, 1e-9))))
        return SharedProcess(most, self.trials.crew.workers.size, self._process)

    def _process(self, configuration: Configuration) -> Hashable:
        """Return the values that a process cannot change once it has started."""
        values = self.trials.builds.space.values(configuration, *COMPILED, Setting.RUN)
        return tuple(values.items())

    def _may_share(self, run: Run) -> bool:
        how, regions = self.trials.how, self.trials.program.regions
        is_timed = how.on == GPU and how.once is None
        return is_timed and not self._is_given_up(run) and all(r.may_repeat for r in regions)

    def _is_given_up(self, run: Run) -> bool:
        """Have shared processes failed: a region writes output, or a value is fixed before it?"""
        return self.in_vain.get(id(run), 0) >= MOST_IN_VAIN

    @property
    def _rounds(self) -> int:
        """Rounds of all settings; in the first, clocks rise and kernels run for the first time."""
        return self.trials.how.repetitions + 1

    def _divided(self, some: Sequence[RunTrial]) -> Iterator[Sequence[RunTrial]]:
        groups = dict[tuple[Hashable, int], list[RunTrial]]()
        for one in some:
            allowed = self.trials.records.most_sharing(one) or MOST_SETTINGS
            groups.setdefault((self._process(one.configuration), allowed), []).append(one)
        for (_, allowed), group in groups.items():
            share = max(LEAST_SHARE, ceil(len(group) / self.trials.crew.workers.size))
            longest = max(len(setting_text(self._host(one))) for one in group) + 1
            most = min(share, allowed, MOST_BYTES // (longest * self._rounds))
            yield from (piece for piece in _pieces(group, max(1, most)) if len(piece) > 1)

    def _host(self, trial: RunTrial) -> Settings:
        values = self.trials.builds.space.values(trial.configuration, Setting.HOST)
        return {name: plain(value) for name, value in values.items()}

    # ---- jobs

    def _submit(self, batch: _Batch) -> None:
        results = self.trials.crew.submit(partial(self._run_batch, batch), dict[str, EndedTrial])
        results.add_done_callback(partial(self._settle, batch))

    def _settle(self, batch: _Batch, results: Future[Mapping[str, EndedTrial]]) -> None:
        """Hand on the results; trials without one run alone, unless the queue was emptied."""
        error, left = results.exception(), list[_Member]()
        for one in batch.members:
            if error is not None:
                one.ended.set_exception(error)
            elif (ended := results.result().get(one.trial.id)) is not None:
                one.ended.set_result(ended)
            elif self.trials.forgotten != batch.forgotten:
                one.ended.set_exception(StoppedError())
            else:
                left.append(one)
        # After a whole batch was lost fewer share a process; otherwise each trial runs alone.
        allowed = [self.trials.records.most_sharing(one.trial) for one in left if batch.is_lost]
        for some in _pieces(left, min((most for most in allowed if most), default=1)):
            if len(some) > 1:
                self._submit(replace(batch, members=some, is_begun=False, is_lost=False))
            else:
                alone = self.trials.try_alone(some[0].trial, batch.is_search)
                alone.add_done_callback(partial(_hand_on, some[0].ended))

    def _run_batch(self, batch: _Batch) -> dict[str, EndedTrial]:
        trials, some = self.trials, [one.trial for one in batch.members]
        batch.is_lost, batch.is_begun = batch.is_begun, True
        run, configuration = some[0].run, some[0].configuration
        if batch.is_lost or self._is_given_up(run):
            return {}
        if trials.reference(run).fails or trials.builds.of(configuration).failure:
            return {}
        with ExitStack() as held:
            free = [one for one in some if self._is_free(one, len(some), held)]
            if len(free) < 2:
                return {}
            shared = trials.records.share(free)
            results: dict[str, EndedTrial] = {}
            try:
                for one, ended in self._run_together(free):
                    trials.records.begin(one)
                    trials.records.end(one, ended)
                    trials.note(one, ended)
                    results[one.id] = ended
            except WorkerLostError:
                raise  # The process may have crashed its machine: it gets no end.
            except BaseException:
                trials.records.part(shared)
                raise
            trials.records.part(shared)
        return results

    def _is_free(self, one: RunTrial, most: int, held: ExitStack) -> bool:
        """Is it new, may it run with others, and is no program of the same code being measured?"""
        trials, configuration = self.trials, one.configuration
        if (
            trials.known(one) is not None
            or (trials.records.most_sharing(one) or most) < most
            or trials.not_run(configuration, trials.builds.of(configuration)) is not None
        ):
            return False
        lock = trials.lock_of(trials.what_runs(one))
        if not lock.acquire(blocking=False):
            return False
        held.callback(lock.release)
        return trials.by_code(one) is None

    # ---- processes

    def _run_together(self, free: Sequence[RunTrial]) -> Iterator[tuple[RunTrial, EndedTrial]]:
        """Yield how trials ended that share processes, each without those that make it fail."""
        run, left, failures = free[0].run, list(free), FAILURES + len(free) // SETTINGS_PER_FAILURE
        reference = self.trials.reference(run)
        most = int(MOST_SECONDS / (self._rounds * max(reference.region_seconds, 1e-9)))
        while min(len(left), most) > 1 and failures > 0 and not self._is_given_up(run):
            some, began = left[:most], time.monotonic()
            process = self._run_process(some)
            if isinstance(process, FailedSettings):
                failures -= 1
                del left[process.turn % len(some)]
                continue
            # The program has gone on with the first of them.
            values = {**self.trials.builds.space.own, **some[0].configuration}
            if reference.difference(process.output, values):
                self.in_vain[id(run)] = self.in_vain.get(id(run), 0) + 1
                failures -= 1
                del left[0]
                continue
            results = [
                (one, ended)
                for place, one in enumerate(some)
                if (ended := self._end_of(one, process.measured[place :: len(some)])) is not None
            ]
            took = round((time.monotonic() - began) / len(some), 3)
            yield from ((one, replace(ended, seconds=took)) for one, ended in results)
            left = left[len(some) :]
            # Where no setting took effect, none ever will.
            self.in_vain[id(run)] = 0 if results else MOST_IN_VAIN

    def _run_process(self, some: Sequence[RunTrial]) -> MeasuredSettings | FailedSettings:
        """Run all settings in each round, then the first again: its results are the last ones."""
        trials, run, configuration = self.trials, some[0].run, some[0].configuration
        settings = [self._host(one) for one in some]
        turns = [*chain.from_iterable([settings] * self._rounds), settings[0]]
        region_seconds = trials.reference(run).region_seconds
        seconds = trials.seconds(run) + TIMES_SLOWER * len(turns) * region_seconds
        built = trials.builds.of(configuration)
        started = trials.started(run, configuration, built)
        try:
            return measure_several(
                started,
                turns,
                trials.records.origin,
                trials.environment,
                seconds,
                trials.crew.perform,
                built.folder,
            )
        except CutuneError:  # A trial that runs alone tells that its region cannot be timed.
            return FailedSettings(0)

    def _end_of(
        self, trial: RunTrial, rounds: Sequence[Sequence[HostMeasurement] | None]
    ) -> EndedTrial | None:
        """Return how a trial ended; None unless each of its repetitions counts."""
        repeated = rounds[1 : self._rounds]
        measured = [
            [self.trials.completed(own, trial) for own in regions]
            for regions in repeated
            if regions is not None
        ]
        if len(measured) < len(repeated) or len(set(map(len, measured))) > 1:
            return None
        times = tuple(sum(own.milliseconds or 0.0 for own in regions) for regions in measured)
        median = tuple(merged(measured))
        code = self.trials.builds.of(trial.configuration).code
        return EndedTrial(Status.OK, "", median, times, code, is_compared=False)


def _hand_on(waiting: Future[EndedTrial], ended: Future[EndedTrial]) -> None:
    error = ended.exception()
    if error is not None:
        waiting.set_exception(error)
    else:
        waiting.set_result(ended.result())


def _pieces(some: Sequence[Piece], most: int) -> Iterator[Sequence[Piece]]:
    """Yield pieces of nearly the same size, so that none is left alone."""
    count = ceil(len(some) / most)
    ends = [len(some) * number // count for number in range(1, count + 1)]
    return (some[begin:end] for begin, end in pairwise([0, *ends]))

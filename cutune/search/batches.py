"""Several configurations in one process, where all regions of a program may repeat.

Takes configurations that will be asked for, gives trials. This is only ever a faster way to the
same times: what does not come out of a process that ends well, with the values that were asked for,
is tried alone. What each of them computes cannot be told apart, so that it is not compared.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, pairwise
from typing import TypeVar

from cutune.cluster.workers import StoppedError, WorkerLostError
from cutune.collect.run import Run
from cutune.core.diagnostics import CutuneError
from cutune.search.builds import Built
from cutune.search.own_results import ReferenceOutput
from cutune.search.program_space import COMPILED, Setting
from cutune.search.regions import (
    FailedRun,
    FailedSettings,
    MeasuredSettings,
    Settings,
    measure_several,
    merged,
    setting_text,
)
from cutune.search.techniques.tries import SharedProcess
from cutune.search.trial_runs import GPU, TrialRuns
from cutune.search.trials import EndedTrial, Status, Trial, plain
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
    """A configuration that shares a process, and what waits for it."""

    configuration: Configuration
    trial: Trial
    ended: Future[EndedTrial]


@dataclass
class _Batch:
    """Configurations of one program at one size.

    Attributes:
        forgotten: how often all that is ahead had been forgotten.
        is_begun, is_lost: its worker is lost if it is begun again.
    """

    run: Run
    members: Sequence[_Member]
    is_search: bool
    forgotten: int
    is_begun: bool = False
    is_lost: bool = False


@dataclass
class Batches:
    """Trials that share processes where that is of use.

    Attributes:
        in_vain: by size, processes in turn that ended well, and from which nothing came.
    """

    trials: TrialRuns
    in_vain: dict[int, int] = field(default_factory=dict)

    def expect(
        self, run: Run, configurations: Iterable[Configuration], is_search: bool = False
    ) -> None:
        """Compile and run what will be asked for, as far as workers are idle."""
        some, trials = list(configurations), self.trials
        if self._is_of_use(run):
            new = [one for one in some if trials.is_new(run, one)]
            trials.builds.prepare(new)
            for some_new in self._divided(run, new):
                named = ((one, trials.trial(run, one)) for one in some_new)
                members = [_Member(one, trial, trials.foresee(trial)) for one, trial in named]
                self._submit(_Batch(run, members, is_search, trials.forgotten))
        trials.expect(run, some, is_search)

    def again(self, run: Run, some: Sequence[Configuration]) -> Mapping[str, EndedTrial]:
        """Times of configurations in one process, by trial; none where they cannot share it.

        Called on a worker, of configurations that have run alone.
        """
        is_shared = len(some) > 1 and len({self._process(one) for one in some}) == 1
        if not is_shared or not self._is_of_use(run):
            return {}
        own, built = self.trials.own_result(run), self.trials.builds.of(some[0])
        if isinstance(own.ran, FailedRun) or own.ran.error:
            return {}
        members = [_Member(one, self.trials.trial(run, one), Future()) for one in some]
        return {one.trial.id: ended for one, ended in self._measured(run, members, built, own)}

    def company(self, run: Run) -> SharedProcess | None:
        """Which configurations share a process, and how many as cheaply as one; None: none do."""
        if not self._is_of_use(run):
            return None
        once = self._rounds * _seconds_in_regions(self.trials.own_result(run))
        most = max(1, min(MOST_SETTINGS, int(START_SECONDS / max(once, 1e-9))))
        return SharedProcess(most, self.trials.crew.workers.size, self._process)

    def _process(self, configuration: Configuration) -> Hashable:
        """What a process cannot change once it has started."""
        values = self.trials.builds.space.values(configuration, *COMPILED, Setting.RUN)
        return tuple(values.items())

    def _is_of_use(self, run: Run) -> bool:
        how, regions = self.trials.how, self.trials.program.regions
        is_timed = how.on == GPU and how.once is None
        return is_timed and not self._is_useless(run) and all(r.may_repeat for r in regions)

    def _is_useless(self, run: Run) -> bool:
        """Does the region write something, or has a value been fixed before it, elsewhere?"""
        return self.in_vain.get(id(run), 0) >= MOST_IN_VAIN

    @property
    def _rounds(self) -> int:
        """Of all settings; in the first one, clocks rise and kernels run for the first time."""
        return self.trials.how.repetitions + 1

    def _divided(
        self, run: Run, some: Sequence[Configuration]
    ) -> Iterator[Sequence[Configuration]]:
        """Those that can share a process, shared among workers."""
        groups = dict[tuple[Hashable, int], list[Configuration]]()
        for one in some:
            company = self.trials.trials.company(self.trials.trial(run, one)) or MOST_SETTINGS
            groups.setdefault((self._process(one), company), []).append(one)
        for (_, company), group in groups.items():
            share = max(LEAST_SHARE, _upwards(len(group), self.trials.crew.workers.size))
            longest = max(len(setting_text(self._host(one))) for one in group) + 1
            most = min(share, company, MOST_BYTES // (longest * self._rounds))
            yield from (piece for piece in _pieces(group, max(1, most)) if len(piece) > 1)

    def _host(self, configuration: Configuration) -> Settings:
        values = self.trials.builds.space.values(configuration, Setting.HOST)
        return {name: plain(value) for name, value in values.items()}

    # ---- jobs

    def _submit(self, batch: _Batch) -> None:
        found = self.trials.crew.submit(partial(self._tried, batch), dict[str, EndedTrial])
        found.add_done_callback(partial(self._settle, batch))

    def _settle(self, batch: _Batch, found: Future[Mapping[str, EndedTrial]]) -> None:
        """Tell who waits; what is not known is tried alone, unless nobody asks for it any more."""
        error, left = found.exception(), list[_Member]()
        for one in batch.members:
            if error is not None:
                one.ended.set_exception(error)
            elif (ended := found.result().get(one.trial.id)) is not None:
                one.ended.set_result(ended)
            elif self.trials.forgotten != batch.forgotten:
                one.ended.set_exception(StoppedError())
            else:
                left.append(one)
        for some in _pieces(left, self._most_again(left) if batch.is_lost else 1):
            if len(some) > 1:
                self._submit(replace(batch, members=some, is_begun=False, is_lost=False))
            else:
                own = batch.run, some[0].configuration, some[0].trial, batch.is_search
                self.trials.try_alone(*own).add_done_callback(partial(_hand_on, some[0].ended))

    def _most_again(self, left: Sequence[_Member]) -> int:
        """How many may share a process after the one of all was lost with its worker."""
        known = (self.trials.trials.company(one.trial) for one in left)
        return min((most for most in known if most), default=1)

    def _tried(self, batch: _Batch) -> dict[str, EndedTrial]:
        """What is known of the members of a batch, on the worker of this thread."""
        trials, run = self.trials, batch.run
        batch.is_lost, batch.is_begun = batch.is_begun, True
        if batch.is_lost or self._is_useless(run):
            return {}
        own, built = trials.own_result(run), trials.builds.of(batch.members[0].configuration)
        if built.failure or isinstance(own.ran, FailedRun) or own.ran.error:
            return {}
        with ExitStack() as held:
            most = len(batch.members)
            free = [one for one in batch.members if self._is_free(run, one, most, built, held)]
            if len(free) < 2:
                return {}
            shared = trials.trials.share([one.trial for one in free])
            found: dict[str, EndedTrial] = {}
            try:
                for one, ended in self._measured(run, free, built, own):
                    trials.trials.begin(one.trial)
                    trials.trials.end(one.trial, ended)
                    trials.note(run, one.configuration, ended)
                    found[one.trial.id] = ended
            except WorkerLostError:
                raise
            except BaseException:
                trials.trials.part(shared)
                raise
            trials.trials.part(shared)
        return found

    def _is_free(self, run: Run, one: _Member, most: int, built: Built, held: ExitStack) -> bool:
        """Is it new, may it run with others, and is nothing of the same code being measured?"""
        trials = self.trials
        if (
            trials.known(one.trial) is not None
            or (trials.trials.company(one.trial) or most) < most
            or trials.not_run(one.configuration, built) is not None
        ):
            return False
        code = built.code or str(built.path)
        lock = trials.lock_of(trials.what_ran(run, one.configuration, code))
        if not lock.acquire(blocking=False):
            return False
        held.callback(lock.release)
        return trials.by_code(run, one.configuration) is None

    # ---- processes

    def _measured(
        self, run: Run, free: Sequence[_Member], built: Built, own: ReferenceOutput
    ) -> Iterator[tuple[_Member, EndedTrial]]:
        """How trials ended that share processes. One that makes its process fail is left out, and
        the others begin anew."""
        left, failures = list(free), FAILURES + len(free) // SETTINGS_PER_FAILURE
        most = int(MOST_SECONDS / (self._rounds * max(_seconds_in_regions(own), 1e-9)))
        while min(len(left), most) > 1 and failures > 0 and not self._is_useless(run):
            some, began = left[:most], time.monotonic()
            found = self._in_turn(run, some, built, own)
            if isinstance(found, FailedSettings):
                failures -= 1
                del left[found.turn % len(some)]
                continue
            # The program has gone on with the first of them.
            values = {**self.trials.builds.space.own, **some[0].configuration}
            if own.difference(found.output, values):
                self.in_vain[id(run)] = self.in_vain.get(id(run), 0) + 1
                failures -= 1
                del left[0]
                continue
            known = [
                (one, ended)
                for place, one in enumerate(some)
                if (ended := self._ended(run, one, found, place, len(some), built)) is not None
            ]
            took = round((time.monotonic() - began) / len(some), 3)
            yield from ((one, replace(ended, seconds=took)) for one, ended in known)
            left = left[len(some) :]
            # Values that are not what they should be are never.
            self.in_vain[id(run)] = 0 if known else MOST_IN_VAIN

    def _in_turn(
        self, run: Run, some: Sequence[_Member], built: Built, own: ReferenceOutput
    ) -> MeasuredSettings | FailedSettings:
        """All settings in each round, and the first once more: its results are the last ones."""
        trials = self.trials
        settings = [self._host(one.configuration) for one in some]
        turns = [*chain.from_iterable([settings] * self._rounds), settings[0]]
        seconds = trials.seconds(run) + TIMES_SLOWER * len(turns) * _seconds_in_regions(own)
        started = trials.started(run, some[0].configuration, built)
        how = trials.environment, seconds, trials.crew.perform, built.folder
        try:
            return measure_several(started, turns, trials.trials.origin, *how)
        except CutuneError:  # Where a region cannot be timed, it is said of a trial.
            return FailedSettings(0)

    def _ended(
        self, run: Run, one: _Member, found: MeasuredSettings, place: int, count: int, built: Built
    ) -> EndedTrial | None:
        """How a trial ended; None unless each of its repetitions counts."""
        repeated = found.measured[place + count : count * self._rounds : count]
        measured = [
            [self.trials.completed(own, run, one.configuration) for own in same]
            for same in repeated
            if same is not None
        ]
        if len(measured) < len(repeated) or len({len(same) for same in measured}) > 1:
            return None
        times = tuple(sum(own.milliseconds or 0.0 for own in same) for same in measured)
        median = tuple(merged(measured))
        return EndedTrial(Status.OK, "", median, times, built.code, is_compared=False)


def _hand_on(waiting: Future[EndedTrial], found: Future[EndedTrial]) -> None:
    error = found.exception()
    if error is not None:
        waiting.set_exception(error)
    else:
        waiting.set_result(found.result())


def _pieces(some: Sequence[Piece], most: int) -> Iterator[Sequence[Piece]]:
    """Pieces of nearly the same size: none is left alone."""
    count = _upwards(len(some), most)
    ends = [len(some) * number // count for number in range(1, count + 1)]
    return (some[begin:end] for begin, end in pairwise([0, *ends]))


def _upwards(count: int, size: int) -> int:
    return -(-count // size)


def _seconds_in_regions(own: ReferenceOutput) -> float:
    """How long the regions of the program take in its own configuration."""
    measured = () if isinstance(own.ran, FailedRun) else own.ran.measured
    return sum(one.milliseconds or 0.0 for one in measured) / 1000

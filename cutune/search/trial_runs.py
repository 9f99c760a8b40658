"""Runs trials on workers. Takes a run and a configuration, gives and keeps how its trial ended.

A trial is not run again where it was tried before, or where a program of the same code has run with
the same values.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from threading import Lock

from cutune.core.processes import awaited
from cutune.measure.agreement import Agreement
from cutune.measure.program_runs import RUN_SECONDS, Run
from cutune.search.builds import Builds, Built
from cutune.search.program_space import COMPILED, Counters, Setting, refusal, says_limits
from cutune.search.regions import (
    FailedRun,
    HostMeasurement,
    MeasuredRun,
    ReferenceOutput,
    is_allowed_by_all,
    measure_run,
    merged,
    rules_of,
)
from cutune.search.trials import EndedTrial, Status, Trial, Trials, plain
from cutune.search.workers.crew import Crew, StoppedError, WorkerLostError
from cutune.source.program import Program
from cutune.space.annotation import Value
from cutune.space.parameter import shown
from cutune.space.space import Configuration
from cutune.toolchain.device.profile import Limits

EMULATED, GPU = "emulated", "gpu"
#: What is so many times slower than the best is not run again.
HOPELESS = 3.0
#: A run may take so many seconds, and so many times as long as the program's own configuration.
MORE_SECONDS, TIMES_SLOWER = 10.0, 20.0


def named(configuration: Configuration) -> str:
    """`WPT = 2, m = 16`."""
    return ", ".join(f"{name} = {shown(value)}" for name, value in configuration.items())


@dataclass(frozen=True)
class Measuring:
    """Settings of trials.

    `on` a GPU each configuration runs `repetitions` times; `EMULATED`, nothing is timed or saved.
    `seconds`: the limit of one run; None: it follows from the program's own configuration.
    `rules`: by which outputs are the same. `once` runs a program, in place of `measure_run`.
    """

    on: str
    repetitions: int
    seconds: float | None = None
    rules: Agreement = field(default_factory=rules_of)
    once: Callable[..., MeasuredRun | FailedRun] | None = None


@dataclass(frozen=True)
class RunTrial(Trial):
    """A trial, and the run of the program at its size."""

    run: Run


@dataclass(frozen=True)
class Tried:
    """A trial that has ended, and how."""

    trial: RunTrial
    ended: EndedTrial


@dataclass
class TrialRuns:
    """Trials of one program, several at once where there are several workers.

    One thread calls the public methods; a trial is run in the thread of its worker.

    Attributes:
        vary: the names of sizes. gpus: the names of all that there are.
        tried: the trials that `timed` has returned, in order.
        same: how trials ended, by what ran in them.
        references: the program's own output, by the identity of a run.
        progress: is called before each trial.
    """

    builds: Builds
    records: Trials
    how: Measuring
    limits: Limits
    environment: Mapping[str, str]
    vary: tuple[str, ...]
    crew: Crew
    gpus: tuple[str, ...] = ()
    progress: Callable[[], None] = lambda: None
    tried: list[Tried] = field(default_factory=list)
    same: dict[tuple[object, ...], EndedTrial] = field(default_factory=dict)
    references: dict[int, ReferenceOutput] = field(default_factory=dict)
    _least: dict[int, float] = field(default_factory=dict)
    #: Results of queued trials, by trial.
    _ahead: dict[str, Future[EndedTrial]] = field(default_factory=dict)
    #: How often the queue was emptied.
    forgotten: int = 0
    #: Locks of what one thread does while others wait for it.
    _locks: dict[object, Lock] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    @property
    def program(self) -> Program:
        return self.builds.program

    def timed(self, run: Run, configuration: Configuration, is_search: bool = False) -> EndedTrial:
        """Return how a configuration ended, run unless known; in a search not again if slow."""
        self.progress()
        trial = self.trial(run, configuration)
        try:
            ended = awaited(self._queued(trial, is_search))
        except StoppedError:
            if self.crew.is_ending:
                raise
            # Its shared process gave no result for it, and it was no longer queued then.
            ended = awaited(self._queued(trial, is_search))
        self._ahead.pop(trial.id, None)
        self.tried.append(Tried(trial, ended))
        return ended

    def expect(
        self, run: Run, configurations: Iterable[Configuration], is_search: bool = False
    ) -> None:
        """Queue trials that will be asked for; idle workers compile and run them."""
        some = [self.trial(run, one) for one in configurations]
        self.builds.prepare(one.configuration for one in some if self._is_open(one))
        for one in some:
            self._queued(one, is_search)

    def is_new(self, trial: Trial) -> bool:
        """Is it neither known nor queued, and may it be compiled?"""
        return not self._is_queued(trial) and self._is_open(trial)

    def _is_open(self, trial: Trial) -> bool:
        return self._refused(trial.configuration) is None and self.known(trial) is None

    def _is_queued(self, trial: Trial) -> bool:
        """Is its result queued, and was it not dropped before it was tried?"""
        ahead = self._ahead.get(trial.id)
        is_done = ahead is not None and ahead.done()
        return ahead is not None and not (is_done and isinstance(ahead.exception(), StoppedError))

    def register(self, trial: Trial) -> Future[EndedTrial]:
        """Queue a trial whose result the caller supplies, through the future that is returned."""
        self._ahead[trial.id] = Future()
        return self._ahead[trial.id]

    def try_alone(self, trial: RunTrial, is_search: bool) -> Future[EndedTrial]:
        lost = EndedTrial(Status.QUARANTINE, "its worker was lost, twice")
        tried = partial(self._run_trial, trial, is_search)
        return self.crew.submit(tried, lambda: self.records.known(trial) or lost)

    def correct(self, trial: RunTrial, ended: EndedTrial) -> None:
        self.records.end(trial, ended)
        for place, one in enumerate(self.tried):
            if one.trial.id == trial.id and one.trial.run is trial.run:
                self.tried[place] = replace(one, ended=ended)

    def forget(self) -> None:
        self.forgotten += 1
        self.crew.forget()
        self._ahead = {trial: one for trial, one in self._ahead.items() if not one.done()}

    def own_values(self, run: Run) -> Mapping[str, Value]:
        return awaited(self.crew.submit(lambda: self.reference(run).values, dict[str, Value]))

    def _queued(self, trial: RunTrial, is_search: bool) -> Future[EndedTrial]:
        if not self._is_queued(trial):
            known = self.known(trial)
            if known is not None:
                self.note(trial, known)
                self.register(trial).set_result(known)
            else:
                self._ahead[trial.id] = self.try_alone(trial, is_search)
        return self._ahead[trial.id]

    def _run_trial(self, trial: RunTrial, is_search: bool) -> EndedTrial:
        """Run a trial on the worker of this thread. A lost worker leaves it without an end."""
        known = self.known(trial)
        if known is not None:
            return known
        refused = self._refused(trial.configuration)
        if refused is None:
            self.reference(trial.run)
        self.records.begin(trial)
        began = time.monotonic()
        try:
            ended = refused or self._run_program(trial, is_search)
            if self.crew.is_ending:  # The compiler that it waited for may have been ended, too.
                raise StoppedError
        except WorkerLostError:
            raise
        except BaseException:  # Ctrl-C, or a region that cannot be timed
            self.records.stop(trial)
            raise
        ended = replace(ended, seconds=round(time.monotonic() - began, 3))
        self.records.end(trial, ended)
        return ended

    def _run_program(self, trial: RunTrial, is_search: bool) -> EndedTrial:
        with self.lock_of(self.what_runs(trial)):
            ended = self.by_code(trial)
            ended = ended or self.measured(trial, self.how.repetitions, is_search)
            self.note(trial, ended)
            return ended

    def what_runs(self, trial: RunTrial) -> tuple[object, ...]:
        """`what_ran`, before it runs."""
        built = self.builds.of(trial.configuration)
        return self.what_ran(trial, built.code or str(built.path))

    def lock_of(self, what: object) -> Lock:
        with self._lock:
            return self._locks.setdefault(what, Lock())

    def note(self, trial: RunTrial, ended: EndedTrial) -> None:
        self.same.setdefault(self.what_ran(trial, ended.code), ended)
        time, size = ended.milliseconds(self.program.tunables), id(trial.run)
        if time is not None:
            with self._lock:
                self._least[size] = min(self._least.get(size, time), time)

    def measured(self, trial: RunTrial, repetitions: int, is_search: bool = False) -> EndedTrial:
        """Build and run a configuration, on the worker of this thread."""
        run, configuration = trial.run, trial.configuration
        space, built = self.builds.space, self.builds.of(configuration)
        failure = self.not_run(configuration, built)
        if failure is not None:
            return failure
        host = space.values(configuration, Setting.HOST)
        reference, seconds = self.reference(run), self.seconds(run)
        measured: list[list[HostMeasurement]] = []
        times: list[float] = []
        for _ in range(repetitions if self.how.on == GPU else 1):
            ran = self._run_once(self.started(run, configuration, built), built, host, seconds)
            if isinstance(ran, FailedRun):
                return _failed(ran, built.code)
            if reference.is_failure(ran.error):
                return _failed(FailedRun(f"a launch fails: {ran.error}"), built.code)
            completed = [self.completed(one, trial) for one in ran.measured]
            if all(map(self.is_allowed, completed)):
                reason = reference.difference(ran.output, {**space.own, **configuration})
                if reason:
                    rules = str(self.how.rules)
                    return EndedTrial(Status.WRONG, reason, code=built.code, rules=rules)
            measured.append(completed)
            times.append(sum(one.milliseconds or 0.0 for one in completed))
            if is_search and times[-1] > HOPELESS * self._least.get(id(run), inf):
                break
        return EndedTrial(Status.OK, "", tuple(merged(measured)), tuple(times), built.code)

    def reference(self, run: Run) -> ReferenceOutput:
        """Return the output of the program's own configuration at a size, run when first used."""
        with self.lock_of(id(run)):
            if id(run) not in self.references:
                space = self.builds.space
                own = {name: space.own[name] for name in space.settings if name in space.own}
                compiled = space.values(own, *COMPILED)

                def again() -> MeasuredRun | FailedRun:
                    built = self.builds.of(compiled)
                    self.builds.require_own(built, run)
                    if built.failure:
                        return FailedRun(built.failure)
                    started = self.started(run, own, built)
                    return self._run_once(started, built, {}, self.how.seconds or RUN_SECONDS)

                self.references[id(run)] = ReferenceOutput(again(), again, own, self.how.rules)
            return self.references[id(run)]

    def what_ran(self, trial: RunTrial, code: str) -> tuple[object, ...]:
        """Return the key of a trial's work: its code, sizes and values at run time."""
        values = self.builds.space.values(trial.configuration, Setting.HOST, Setting.RUN)
        return code, tuple(trial.run.values.items()), tuple(values.items())

    def is_allowed(self, one: HostMeasurement) -> bool:
        """Do the conditions on sizes of the host hold, which the program has told?"""
        return is_allowed_by_all(one, self.program.tunables)

    def _run_once(
        self, started: Run, built: Built, host: Mapping[str, Value], seconds: float
    ) -> MeasuredRun | FailedRun:
        values = {name: plain(value) for name, value in host.items()}
        once = partial(
            self.how.once or measure_run,
            started,
            values,
            self.records.origin,
            self.environment,
            seconds=seconds,
            performed=self.crew.perform,
            folder=built.folder,
        )
        ran = once()
        # Someone has ended it, or the system was short of memory: that may have been an accident.
        was_killed = isinstance(ran, FailedRun) and ran.was_killed
        return once() if was_killed else ran

    def started(self, run: Run, configuration: Configuration, built: Built) -> Run:
        values = self.builds.space.values(configuration, Setting.RUN)
        holes = {name: shown(value) for name, value in values.items()}
        return replace(run, values={**run.values, **holes}, program=os.path.relpath(built.path))

    def seconds(self, run: Run) -> float:
        own = self.reference(run).ran
        if self.how.seconds is not None or isinstance(own, FailedRun):
            return self.how.seconds or RUN_SECONDS
        return min(RUN_SECONDS, MORE_SECONDS + TIMES_SLOWER * own.seconds)

    def _refused(
        self, configuration: Configuration, counters: Counters | None = None, code: str = ""
    ) -> EndedTrial | None:
        """Return the end of a trial that the device refuses, as far as that is known."""
        written = self.builds.space.values(configuration, Setting.HOST, Setting.CONSTANT)
        reason = refusal(self.program, self.limits, written, counters or {})
        return EndedTrial(Status.LIMITS, reason, code=code) if reason else None

    def not_run(self, configuration: Configuration, built: Built) -> EndedTrial | None:
        if built.failure:
            status = Status.LIMITS if says_limits(built.failure) else Status.COMPILE
            return EndedTrial(status, built.failure)
        return self._refused(configuration, built.counters, built.code)

    def known(self, trial: Trial) -> EndedTrial | None:
        """Return how it ended before; None where that was judged wrong by other rules."""
        known = self.records.known(trial)
        is_wrong = known is not None and known.status is Status.WRONG
        return None if known and is_wrong and known.rules != str(self.how.rules) else known

    def trial(self, run: Run, configuration: Configuration) -> RunTrial:
        """Return the trial of a configuration at a size: with its GPUs, options and command."""
        sizes = {name: run.values[name] for name in self.vary}
        # With the names of parameters in braces.
        flags = self.builds.parameters.flags or self.builds.toolchain.flags
        words = [*sorted({*self.gpus}), *(self.builds.target or [EMULATED]), *flags]
        how = shlex.join([*self.builds.circumstances, *words, "--", *run.words])
        return RunTrial(self.records.origin, how, sizes, configuration, run)

    def by_code(self, trial: RunTrial) -> EndedTrial | None:
        """Return how a program of the same code ended with the same values; None: none ran."""
        code = self.builds.of(trial.configuration).code
        same = self.same.get(self.what_ran(trial, code))
        if not code or same is None or same.status is Status.LIMITS:
            return None
        repeated = tuple(self.completed(one, trial) for one in same.measured)
        return replace(same, measured=repeated, is_copied=True)

    def completed(self, one: HostMeasurement, trial: Trial) -> HostMeasurement:
        """Add the parameters that the program itself does not report."""
        space = self.builds.space
        known = {n: v for n, v in space.own.items() if n in space.settings}
        own = space.values({**known, **trial.configuration}, *COMPILED, Setting.RUN)
        sizes = integers(trial.sizes)
        values = {**one.values, **{name: plain(value) for name, value in own.items()}}
        return replace(one, values=values, data={**one.data, **dict.fromkeys(own, sizes)})


def integers(sizes: Mapping[str, str]) -> dict[str, int]:
    """Return the sizes of a run that are integers."""
    return {n: int(v) for n, v in sizes.items() if v.isascii() and v.removeprefix("-").isdigit()}


def _failed(run: FailedRun, code: str) -> EndedTrial:
    status = Status.TIMEOUT if run.timed_out else Status.RUNTIME
    status = Status.LIMITS if says_limits(run.reason) else status
    return EndedTrial(status, run.reason, code=code)

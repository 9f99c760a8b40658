"""Trials as they are run. Takes a run and a configuration, gives how it ended, and keeps all of it.

What was tried before, or is the same code with the same values as something that was, is not run.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from threading import Lock

from cutune.cluster.crew import Crew
from cutune.cluster.workers import StoppedError, WorkerLostError
from cutune.collect.agreement import Agreement
from cutune.collect.run import RUN_SECONDS, Run
from cutune.frontend.program import Program
from cutune.search.builds import Builds, Built
from cutune.search.limits import LaunchLimits, says_limits
from cutune.search.own_results import OwnResult, rules_of
from cutune.search.program_space import COMPILED, Setting
from cutune.search.regions import Failure, HostMeasurement, Ran, is_allowed_by_all, measure, merged
from cutune.search.trials import Ended, Status, Trial, Trials, plain
from cutune.space.condition import Value
from cutune.space.parameter import shown
from cutune.space.space import Configuration

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
    """How trials are run.

    Attributes:
        on: `GPU`, or `EMULATED`, where nothing is timed or saved.
        repetitions: of each configuration, on a GPU.
        seconds: how long one run may take; None: as the program's own configuration says.
        rules: by which outputs are the same.
        once: runs a program, in place of `measure`; None: that.
    """

    on: str
    repetitions: int
    seconds: float | None = None
    rules: Agreement = field(default_factory=rules_of)
    once: Callable[..., Ran | Failure] | None = None


@dataclass(frozen=True)
class Tried:
    """A configuration at a size, and how it ended."""

    run: Run
    configuration: Configuration
    trial: Trial
    ended: Ended


@dataclass
class TrialRuns:
    """Trials of one program, several at once where there are several workers.

    What is public is called by one thread; a trial is run in that of its worker.

    Attributes:
        flags: options of nvcc, with the names of parameters in braces.
        vary: the names of sizes.
        gpus: names of all that there are.
        tried: everything that was asked for, in order.
        same: how trials ended, by what ran in them.
        progress: is told of each trial.
    """

    flags: Sequence[str]
    program: Program
    builds: Builds
    trials: Trials
    how: Measuring
    limits: LaunchLimits
    environment: Mapping[str, str]
    vary: tuple[str, ...]
    crew: Crew
    gpus: tuple[str, ...] = ()
    progress: Callable[[], None] = lambda: None
    tried: list[Tried] = field(default_factory=list)
    same: dict[tuple[object, ...], Ended] = field(default_factory=dict)
    _own: dict[int, OwnResult] = field(default_factory=dict)
    #: The least time at each size.
    _least: dict[int, float] = field(default_factory=dict)
    #: What was asked for ahead of its turn, by trial.
    _ahead: dict[str, Future[Ended]] = field(default_factory=dict)
    #: How often everything ahead was forgotten.
    forgotten: int = 0
    #: What is done once, by what it is: others wait for it.
    _locks: dict[object, Lock] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def timed(self, run: Run, configuration: Configuration, is_search: bool = False) -> Ended:
        """How a configuration ended at a size; it is run unless that is known.

        Args:
            is_search: is only the best wanted? Then what is far from it is run once.
        """
        self.progress()
        trial = self.trial(run, configuration)
        try:
            ended = self._ended(run, configuration, is_search).result()
        except StoppedError:
            if self.crew.is_ending:
                raise
            # It was in a process that did not tell, and nobody had asked for it then.
            ended = self._ended(run, configuration, is_search).result()
        self._ahead.pop(trial.id, None)
        self.tried.append(Tried(run, configuration, trial, ended))
        return ended

    def expect(
        self, run: Run, configurations: Iterable[Configuration], is_search: bool = False
    ) -> None:
        """Compile and run what will be asked for, as far as workers are idle."""
        some = list(configurations)
        self.builds.prepare(
            one
            for one in some
            if self._refused(one) is None and self.known(self.trial(run, one)) is None
        )
        for one in some:
            self._ended(run, one, is_search)

    def tried_at(self, run: Run) -> set[str]:
        """The trials that were asked for at a size."""
        return {one.trial.id for one in self.tried if one.run is run}

    def is_new(self, run: Run, configuration: Configuration) -> bool:
        """Has it neither been tried nor asked for, and may it be compiled?"""
        trial = self.trial(run, configuration)
        is_open = trial.id not in self._ahead or _is_dropped(self._ahead[trial.id])
        return is_open and self.known(trial) is None and self._refused(configuration) is None

    def foresee(self, trial: Trial) -> Future[Ended]:
        """Take how a trial ends from elsewhere: whoever calls this gives it."""
        self._ahead[trial.id] = Future()
        return self._ahead[trial.id]

    def try_alone(
        self, run: Run, configuration: Configuration, trial: Trial, is_search: bool
    ) -> Future[Ended]:
        """Have a worker try it, in processes of its own."""
        tried = partial(self._tried, run, configuration, trial, is_search)
        return self.crew.submit(tried, partial(self._lost, trial))

    def correct(self, one: Tried, ended: Ended) -> None:
        """Keep how a trial ended when it was measured again."""
        self.trials.end(one.trial, ended)
        same = one.trial.id, id(one.run)
        self.tried = [
            replace(tried, ended=ended) if (tried.trial.id, id(tried.run)) == same else tried
            for tried in self.tried
        ]

    def forget(self) -> None:
        """What was expected and has not begun will not be asked for."""
        self.forgotten += 1
        self.crew.forget()
        self._ahead = {trial: one for trial, one in self._ahead.items() if not one.done()}

    def own_values(self, run: Run) -> Mapping[str, Value]:
        """The program's own values at a size, as far as they are known."""
        return self.crew.submit(lambda: self.own_result(run), self._lost_own).result().values

    def _ended(self, run: Run, configuration: Configuration, is_search: bool) -> Future[Ended]:
        trial = self.trial(run, configuration)
        if trial.id not in self._ahead or _is_dropped(self._ahead[trial.id]):
            known = self.known(trial)
            if known is not None:
                self.note(run, configuration, known)
                self.foresee(trial).set_result(known)
            else:
                tried = self.try_alone(run, configuration, trial, is_search)
                self._ahead[trial.id] = tried
        return self._ahead[trial.id]

    def _tried(
        self, run: Run, configuration: Configuration, trial: Trial, is_search: bool
    ) -> Ended:
        """Try it, on a worker. Where that is lost, the trial has a beginning and no end."""
        known = self.known(trial)
        if known is not None:
            return known
        refused = self._refused(configuration)
        if refused is None:
            self.own_result(run)
        self.trials.begin(trial)
        began = time.monotonic()
        try:
            ended = refused or self._alone(run, configuration, is_search)
            if self.crew.is_ending:  # What it waited for may have been ended, too: the compiler.
                raise StoppedError
        except WorkerLostError:
            raise
        except BaseException:  # Ctrl-C, or a region that cannot be timed
            self.trials.stop(trial)
            raise
        ended = replace(ended, seconds=round(time.monotonic() - began, 3))
        self.trials.end(trial, ended)
        return ended

    def _alone(self, run: Run, configuration: Configuration, is_search: bool) -> Ended:
        """Measure it, unless a program of the same code has been, or is being, measured."""
        built = self.builds.of(configuration)
        ran = self.what_ran(run, configuration, built.code or str(built.path))
        with self.lock_of(ran):
            ended = self.by_code(run, configuration)
            ended = ended or self.measured(run, configuration, self.how.repetitions, is_search)
            self.note(run, configuration, ended)
            return ended

    def lock_of(self, what: object) -> Lock:
        """The lock of something that one thread does, and others wait for."""
        with self._lock:
            return self._locks.setdefault(what, Lock())

    def note(self, run: Run, configuration: Configuration, ended: Ended) -> None:
        """Remember what ran, and the least time."""
        self.same.setdefault(self.what_ran(run, configuration, ended.code), ended)
        found = ended.milliseconds(self.program.tunables)
        if found is not None:
            with self._lock:
                self._least[id(run)] = min(self._least.get(id(run), found), found)

    def _lost(self, trial: Trial) -> Ended:
        """Of a trial that has cost two workers."""
        return self.trials.known(trial) or Ended(Status.QUARANTINE, "its worker was lost, twice")

    def measured(
        self, run: Run, configuration: Configuration, repetitions: int, is_search: bool = False
    ) -> Ended:
        """Build and run it, on the worker of this thread."""
        space, built = self.builds.space, self.builds.of(configuration)
        failure = self.not_run(configuration, built)
        if failure is not None:
            return failure
        host = space.values(configuration, Setting.HOST)
        own, seconds = self.own_result(run), self.seconds(run)
        measured: list[list[HostMeasurement]] = []
        times: list[float] = []
        for _ in range(repetitions if self.how.on == GPU else 1):
            found = self._ran(run, configuration, built, host, seconds)
            if isinstance(found, Failure):
                return _failed(found, built.code)
            if own.is_failure(found.error):
                return _failed(Failure(f"a launch fails: {found.error}"), built.code)
            completed = [self.completed(one, run, configuration) for one in found.measured]
            if all(map(self.is_allowed, completed)):
                reason = own.difference(found.output, {**space.own, **configuration})
                if reason:
                    rules = str(self.how.rules)
                    return Ended(Status.WRONG, reason, code=built.code, rules=rules)
            measured.append(completed)
            times.append(sum(one.milliseconds or 0.0 for one in completed))
            if is_search and times[-1] > HOPELESS * self._least.get(id(run), inf):
                break
        return Ended(Status.OK, "", tuple(merged(measured)), tuple(times), built.code)

    def own_result(self, run: Run) -> OwnResult:
        """What the program does in its own configuration at a size; run when first asked for."""
        with self.lock_of(id(run)):
            if id(run) not in self._own:
                space = self.builds.space
                own = {name: space.own[name] for name in space.settings if name in space.own}
                compiled = space.values(own, *COMPILED)

                def again() -> Ran | Failure:
                    built = self.builds.of(compiled)
                    self.builds.require_own(built, run)
                    if built.failure:
                        return Failure(built.failure)
                    return self._ran(run, own, built, {}, self.how.seconds or RUN_SECONDS)

                self._own[id(run)] = OwnResult(again(), again, own, self.how.rules)
            return self._own[id(run)]

    def _lost_own(self) -> OwnResult:
        lost = Failure("its worker was lost, twice")
        return OwnResult(lost, lambda: lost, {}, self.how.rules)

    @property
    def own_results(self) -> Sequence[OwnResult]:
        """Those that were asked for."""
        return list(self._own.values())

    def what_ran(self, run: Run, configuration: Configuration, code: str) -> tuple[object, ...]:
        """The same for trials that do the same: equal code, sizes and values at run time."""
        values = self.builds.space.values(configuration, Setting.HOST, Setting.RUN)
        return code, tuple(run.values.items()), tuple(values.items())

    def is_allowed(self, one: HostMeasurement) -> bool:
        """Do the conditions on sizes of the host hold, which the program has told?"""
        return is_allowed_by_all(one, self.program.tunables)

    def _ran(
        self,
        run: Run,
        configuration: Configuration,
        built: Built,
        host: Mapping[str, Value],
        seconds: float,
    ) -> Ran | Failure:
        own = self.started(run, configuration, built)
        values = {name: plain(value) for name, value in host.items()}
        how = (self.environment, seconds, self.crew.perform, built.folder)
        asked = (own, values, self.trials.origin, *how)
        once = self.how.once or measure
        found = once(*asked)
        # Someone has ended it, or the system was short of memory: that may have been an accident.
        was_killed = isinstance(found, Failure) and found.was_killed
        return once(*asked) if was_killed else found

    def started(self, run: Run, configuration: Configuration, built: Built) -> Run:
        """The run of a program with the values of a configuration in its command line."""
        values = self.builds.space.values(configuration, Setting.RUN)
        holes = {name: shown(value) for name, value in values.items()}
        return replace(run, values={**run.values, **holes}, program=os.path.relpath(built.path))

    def seconds(self, run: Run) -> float:
        """How long a run may take at a size."""
        own = self.own_result(run).ran
        if self.how.seconds is not None or isinstance(own, Failure):
            return self.how.seconds or RUN_SECONDS
        return min(RUN_SECONDS, MORE_SECONDS + TIMES_SLOWER * own.seconds)

    def _refused(self, configuration: Configuration) -> Ended | None:
        """What no kernel may have needs no compiler to be refused."""
        reason = self.limits.refusal(self._written(configuration), {})
        return Ended(Status.LIMITS, reason) if reason else None

    def not_run(self, configuration: Configuration, built: Built) -> Ended | None:
        """Why a program is not run."""
        if built.failure:
            status = Status.LIMITS if says_limits(built.failure) else Status.COMPILE
            return Ended(status, built.failure)
        reason = self.limits.refusal(self._written(configuration), built.counters)
        return Ended(Status.LIMITS, reason, code=built.code) if reason else None

    def _written(self, configuration: Configuration) -> dict[str, Value]:
        """The values of what is named in the source."""
        return self.builds.space.values(configuration, Setting.HOST, Setting.CONSTANT)

    def known(self, trial: Trial) -> Ended | None:
        """How it ended before, as far as that counts by the present rules."""
        known = self.trials.known(trial)
        return None if known is None or self._is_judged_otherwise(known) else known

    def trial(self, run: Run, configuration: Configuration) -> Trial:
        """What trying a configuration at a size is called."""
        sizes = {name: run.values[name] for name in self.vary}
        return Trial(self.trials.origin, self._circumstances(run), sizes, configuration)

    def _is_judged_otherwise(self, ended: Ended) -> bool:
        return ended.status is Status.WRONG and ended.rules != str(self.how.rules)

    def _circumstances(self, run: Run) -> str:
        """What else decides what a trial takes: GPUs, options of nvcc, the command line."""
        words = [*sorted({*self.gpus}), *(self.builds.target or [EMULATED]), *self.flags]
        return shlex.join([*self.builds.circumstances, *words, "--", *run.words])

    def by_code(self, run: Run, configuration: Configuration) -> Ended | None:
        """How a program of the same code ended with the same values; None where none ran."""
        built = self.builds.of(configuration)
        same = self.same.get(self.what_ran(run, configuration, built.code))
        if not built.code or same is None or same.status is Status.LIMITS:
            return None
        repeated = tuple(self.completed(one, run, configuration) for one in same.measured)
        return replace(same, measured=repeated, is_copied=True)

    def completed(
        self, one: HostMeasurement, run: Run, configuration: Configuration
    ) -> HostMeasurement:
        """With the parameters of which the program itself knows nothing."""
        space = self.builds.space
        known = {n: v for n, v in space.own.items() if n in space.settings}
        own = space.values({**known, **configuration}, *COMPILED, Setting.RUN)
        sizes = integers({name: run.values[name] for name in self.vary})
        values = {**one.values, **{name: plain(value) for name, value in own.items()}}
        return replace(one, values=values, data={**one.data, **dict.fromkeys(own, sizes)})


def integers(sizes: Mapping[str, str]) -> dict[str, int]:
    """The sizes of a run that are integers."""
    return {n: int(v) for n, v in sizes.items() if v.isascii() and v.removeprefix("-").isdigit()}


def _is_dropped(ahead: Future[Ended]) -> bool:
    """Was it forgotten before it was tried?"""
    return ahead.done() and isinstance(ahead.exception(), StoppedError)


def _failed(found: Failure, code: str) -> Ended:
    status = Status.TIMEOUT if found.timed_out else Status.RUNTIME
    return Ended(Status.LIMITS if says_limits(found.reason) else status, found.reason, code=code)

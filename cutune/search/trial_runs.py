"""Trials as they are run. Takes a run and a configuration, gives how it ended, and keeps all of it.

What was tried before, or is the same code with the same values as something that was, is not run.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cutune.analysis.session import Session
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
    """

    on: str
    repetitions: int
    seconds: float | None = None
    rules: Agreement = field(default_factory=rules_of)


@dataclass(frozen=True)
class Tried:
    """A configuration at a size, and how it ended."""

    run: Run
    configuration: Configuration
    trial: Trial
    ended: Ended


@dataclass
class TrialRuns:
    """Trials of one program.

    Attributes:
        vary: the names of sizes.
        gpus: names of all that there are.
        tried: everything that was asked for, in order.
        same: how trials ended, by what ran in them.
        progress: is told of each trial.
    """

    session: Session
    program: Program
    builds: Builds
    trials: Trials
    how: Measuring
    limits: LaunchLimits
    environment: Mapping[str, str]
    vary: tuple[str, ...]
    gpus: tuple[str, ...] = ()
    progress: Callable[[], None] = lambda: None
    tried: list[Tried] = field(default_factory=list)
    same: dict[tuple[object, ...], Ended] = field(default_factory=dict)
    _own: dict[int, OwnResult] = field(default_factory=dict)

    def timed(self, run: Run, configuration: Configuration, best: float | None) -> Ended:
        """How a configuration ended at a size; it is run unless that is known.

        Args:
            best: the least time at this size so far.
        """
        self.progress()
        sizes = {name: run.values[name] for name in self.vary}
        trial = Trial(self.trials.origin, self._circumstances(run), sizes, configuration)
        ended = self.trials.known(trial)
        if ended is None or self._is_judged_otherwise(ended):
            self.trials.begin(trial)
            began = time.monotonic()
            try:
                ended = self._refused(configuration) or self._same(run, configuration)
                ended = ended or self.measured(run, configuration, best, self.how.repetitions)
            except BaseException:  # Ctrl-C, or a region that cannot be timed
                self.trials.stop(trial)
                raise
            ended = replace(ended, seconds=round(time.monotonic() - began, 3))
            self.trials.end(trial, ended)
        self.tried.append(Tried(run, configuration, trial, ended))
        self.same.setdefault(self.what_ran(run, configuration, ended.code), ended)
        return ended

    def prepare(self, configurations: Iterable[Configuration]) -> None:
        """Compile their programs while others run."""
        self.builds.prepare(one for one in configurations if self._refused(one) is None)

    def measured(
        self, run: Run, configuration: Configuration, best: float | None, repetitions: int
    ) -> Ended:
        """Build and run it."""
        space, built = self.builds.space, self.builds.of(configuration)
        failure = self._not_run(configuration, built)
        if failure is not None:
            return failure
        host = space.values(configuration, Setting.HOST)
        own, seconds = self.own_result(run), self._seconds(run)
        measured: list[list[HostMeasurement]] = []
        times: list[float] = []
        for _ in range(repetitions if self.how.on == GPU else 1):
            found = self._ran(run, configuration, built, host, seconds)
            if isinstance(found, Failure):
                return _failed(found, built.code)
            if own.is_failure(found.error):
                return _failed(Failure(f"a launch fails: {found.error}"), built.code)
            completed = [self._completed(one, run, configuration) for one in found.measured]
            if all(map(self.is_allowed, completed)):
                reason = own.difference(found.output, {**space.own, **configuration})
                if reason:
                    rules = str(self.how.rules)
                    return Ended(Status.WRONG, reason, code=built.code, rules=rules)
            measured.append(completed)
            times.append(sum(one.milliseconds or 0.0 for one in completed))
            if best is not None and times[-1] > HOPELESS * best:
                break
        return Ended(Status.OK, "", tuple(merged(measured)), tuple(times), built.code)

    def own_result(self, run: Run) -> OwnResult:
        """What the program does in its own configuration at a size; run when first asked for."""
        if id(run) not in self._own:
            space = self.builds.space
            own = {name: space.own[name] for name in space.settings if name in space.own}
            compiled = space.values(own, *COMPILED)

            def again() -> Ran | Failure:
                built = self.builds.of(compiled)
                if built.failure:
                    return Failure(built.failure)
                return self._ran(run, own, built, {}, self.how.seconds or RUN_SECONDS)

            self._own[id(run)] = OwnResult(again(), again, own, self.how.rules)
        return self._own[id(run)]

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
        space = self.builds.space
        holes = {n: shown(v) for n, v in space.values(configuration, Setting.RUN).items()}
        own = replace(run, values={**run.values, **holes}, program=os.path.relpath(built.path))
        values = {name: plain(value) for name, value in host.items()}
        return measure(own, values, self.trials.origin, self.environment, seconds)

    def _seconds(self, run: Run) -> float:
        """How long a run may take at a size."""
        own = self.own_result(run).ran
        if self.how.seconds is not None or isinstance(own, Failure):
            return self.how.seconds or RUN_SECONDS
        return min(RUN_SECONDS, MORE_SECONDS + TIMES_SLOWER * own.seconds)

    def _refused(self, configuration: Configuration) -> Ended | None:
        """What no kernel may have needs no compiler to be refused."""
        reason = self.limits.refusal(self._written(configuration), {})
        return Ended(Status.LIMITS, reason) if reason else None

    def _not_run(self, configuration: Configuration, built: Built) -> Ended | None:
        """Why a program is not run."""
        if built.failure:
            status = Status.LIMITS if says_limits(built.failure) else Status.COMPILE
            return Ended(status, built.failure)
        reason = self.limits.refusal(self._written(configuration), built.counters)
        return Ended(Status.LIMITS, reason, code=built.code) if reason else None

    def _written(self, configuration: Configuration) -> dict[str, Value]:
        """The values of what is named in the source."""
        return self.builds.space.values(configuration, Setting.HOST, Setting.CONSTANT)

    def _is_judged_otherwise(self, ended: Ended) -> bool:
        return ended.status is Status.WRONG and ended.rules != str(self.how.rules)

    def _circumstances(self, run: Run) -> str:
        """What else decides what a trial takes: GPUs, options of nvcc, the command line."""
        flags = self.session.asked.flags or self.session.flags
        words = [*sorted({*self.gpus}), *(self.builds.target or [EMULATED]), *flags]
        return shlex.join([*words, "--", *run.words])

    def _same(self, run: Run, configuration: Configuration) -> Ended | None:
        """How a program of the same code ended with the same values; None where none ran."""
        built = self.builds.of(configuration)
        same = self.same.get(self.what_ran(run, configuration, built.code))
        if not built.code or same is None or same.status is Status.LIMITS:
            return None
        repeated = tuple(self._completed(one, run, configuration) for one in same.measured)
        return replace(same, measured=repeated, is_copied=True)

    def _completed(
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


def _failed(found: Failure, code: str) -> Ended:
    status = Status.TIMEOUT if found.timed_out else Status.RUNTIME
    return Ended(Status.LIMITS if says_limits(found.reason) else status, found.reason, code=code)

"""Parameters from program to times: every configuration, or a search per size.

Takes a session and a program, gives measurements, and keeps trials on a GPU in the workspace.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from statistics import median

from cutune.analysis.session import Session
from cutune.collect.gpu.instrumented import gpu_target
from cutune.collect.run import RUN_SECONDS, Run, plan_runs
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.processes import run_to_end
from cutune.core.workspace import Workspace
from cutune.device.profile import DeviceProfile
from cutune.emulator.run import device_environment
from cutune.fit.measurement.measurement import Origin
from cutune.frontend.program import Program
from cutune.frontend.tunable import HostTunable
from cutune.search.builds import Builds, Effects
from cutune.search.local_search import search
from cutune.search.program_space import (
    COMPILED,
    Setting,
    device_values,
    program_space,
)
from cutune.search.regions import Failure, HostMeasurement, is_allowed, measure, merged
from cutune.search.trials import Ended, Status, Trial, Trials, plain
from cutune.space.condition import Value
from cutune.space.parameter import shown
from cutune.space.space import Configuration, Space

EMULATED, GPU = "emulated", "gpu"
#: A sweep of more runs is refused: it is probably a mistake.
MOST_RUNS = 100_000
#: What is so many times slower than the best is not run again.
HOPELESS = 3.0
#: So many of the fastest are timed again.
FINALISTS = 5
#: So long the driver is asked for its GPUs.
_ASKED_SECONDS = 60.0
#: `GPU 0: NVIDIA H200 (UUID: …)`.
_LISTED = re.compile(r"GPU \d+: (.*?)(?: \(UUID.*)?$")
#: Otherwise the first launch of a kernel, within a region, would load it (CUDA guide, lazy
#: loading). That takes longer than a small problem.
_READY = {"CUDA_MODULE_LOADING": "EAGER"}


@dataclass(frozen=True)
class HostSweep:
    """The runs that are asked for.

    Attributes:
        names: the parameters that are varied; none: all.
        on: `GPU`, or `EMULATED`, where nothing is timed or saved.
        most: configurations to be searched at each size; None: all of them are run.
        start: where a search begins.
        jobs: programs that are compiled at once.
    """

    names: Sequence[str]
    on: str
    repetitions: int
    most: int | None = None
    start: Mapping[str, Value] = field(default_factory=dict)
    jobs: int = 1


@dataclass(frozen=True)
class CollectedTrials:
    """What was measured, and what the programs have in common.

    Attributes:
        ties: per size the fastest configurations, where several cannot be told apart.
    """

    measured: Sequence[HostMeasurement]
    effects: Effects
    ties: Sequence[str]


def _named(configuration: Configuration) -> str:
    return ", ".join(f"{name} = {shown(value)}" for name, value in configuration.items())


def collect_host(
    session: Session,
    program: Program,
    template: str,
    vary: Mapping[str, Sequence[str]],
    workspace: Workspace,
    sweep: HostSweep,
    device: DeviceProfile,
) -> CollectedTrials:
    """Run the program in every configuration of the named parameters, or in those of a search.

    On the emulated device this checks that every configuration runs.

    Raises:
        CutuneError: CT420 without parameters or regions, CT421 without a GPU, CT422 when no run
            ends well, CT425 for an unknown name or too many runs, and what `program_space` says.
    """
    gpus = _gpu_names() if sweep.on == GPU else []
    known = device_values(device, len(gpus) or None)
    whole = program_space(program, session.asked, template, vary, known)
    if not whole.space.parameters or not program.regions:
        raise CutuneError(
            Diagnostic.at(Code.NO_HOST_TUNABLES, program.source, path=program.source.path)
        )
    space = whole.restricted(sweep.names) if sweep.names else whole
    _require_gpu(sweep.on)
    holes = {n: [shown(whole.own[n])] for n, how in whole.settings.items() if how is Setting.RUN}
    runs = plan_runs(template, {**vary, **holes}, Path(program.source.path).with_suffix(""))
    spaces = [space.at(_integers(run, vary)) for run in runs]
    total = sum(min(own.size, sweep.most or own.size) for own in spaces)
    if total > MOST_RUNS:
        reason = f"{total} runs are too many; name fewer tunables, or --search"
        raise CutuneError(Diagnostic.at(Code.BAD_SWEEP, None, reason=reason))
    workspace.create()
    target = gpu_target(device.architecture) if sweep.on == GPU else None
    environment = device_environment(device, workspace.folder) if sweep.on == EMULATED else _READY
    origin = Origin.of(program.source, program.tunable_headers)
    path = workspace.trials if sweep.on == GPU else None
    trials = Trials(path, origin, session.warn).load()
    pool = ThreadPoolExecutor(sweep.jobs)
    builds = Builds(session, program, space, workspace.folder, target, pool)
    log = _Log(session, program, builds, trials, sweep, environment, vary, total, tuple(gpus))
    try:
        with workspace.claimed([Path(program.source.path).stem], session.warn):
            log.run(list(zip(runs, spaces, strict=True)), {**whole.own, **sweep.start})
    finally:
        pool.shutdown(cancel_futures=True)
    session.progress("running", 1, 1)
    log.report()
    return CollectedTrials(log.measured, builds.effects(), log.ties)


def _integers(run: Run, vary: Mapping[str, Sequence[str]]) -> dict[str, Value]:
    """The sizes of a run that are integers."""
    sizes = {name: run.values[name] for name in vary}
    return {n: int(v) for n, v in sizes.items() if v.isascii() and v.removeprefix("-").isdigit()}


def _gpu_names() -> list[str]:
    """The GPUs of this machine; none where that is not known."""
    if shutil.which("nvidia-smi") is None:
        return []
    ended = run_to_end(["nvidia-smi", "-L"], os.environ, _ASKED_SECONDS)
    found = (_LISTED.match(line) for line in ended.output_text.splitlines())
    return [listed[1] for listed in found if listed is not None]


def _require_gpu(on: str) -> None:
    if on == GPU and shutil.which("nvidia-smi") is None:
        raise CutuneError(Diagnostic.at(Code.REGIONS_NEED_GPU, None))


@dataclass
class _Log:
    """Runs, their measurements and their failures."""

    session: Session
    program: Program
    builds: Builds
    trials: Trials
    sweep_plan: HostSweep
    environment: Mapping[str, str]
    vary: Mapping[str, Sequence[str]]
    count: int
    gpus: tuple[str, ...] = ()
    measured: list[HostMeasurement] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    #: How trials ended, by what ran in them.
    same: dict[tuple[object, ...], Ended] = field(default_factory=dict)
    #: Everything that was asked for, with how it ended.
    ended: list[tuple[Run, Configuration, Trial, Ended]] = field(default_factory=list)
    ties: list[str] = field(default_factory=list)
    done: int = 0

    def run(self, runs: Sequence[tuple[Run, Space]], start: Configuration) -> None:
        """Everything that is asked for, from the first size to the last."""
        if self.sweep_plan.most is None:
            for run, space in runs:
                self.sweep(run, space)
                self.finals(run)
            return
        found: list[Configuration] = []
        for run, space in runs:
            best_here = self.search(run, space, self.sweep_plan.most, start)
            if best_here is not None:
                start = best_here
                found.append(best_here)
        if self.builds.space.compiled_names:
            # What is compiled in has one value for all sizes: the best of each are compared at all.
            for (run, space), best in product(runs, found):
                if best in space:
                    self.timed(run, best, None)
        for run, _ in runs:
            self.finals(run)

    def finals(self, run: Run) -> None:
        """The fastest at one size again, in turn: one time may have been luck."""
        if self.sweep_plan.on != GPU:
            return
        known: dict[tuple[object, ...], tuple[Configuration, Trial, Ended]] = {}
        for place, configuration, trial, ended in self.ended:
            if place is run and ended.times and all(map(self._is_allowed, ended.measured)):
                ran = self._what_ran(run, configuration, ended.code or trial.id)
                known.setdefault(ran, (configuration, trial, ended))
        fastest = sorted(known.values(), key=lambda one: median(one[2].times))[:FINALISTS]
        if len(fastest) > 1:
            self._settled(run, fastest)

    def _settled(self, run: Run, fastest: Sequence[tuple[Configuration, Trial, Ended]]) -> None:
        """Measure finalists in turn, unless that was done before; tell those that are alike."""
        rounds = self.sweep_plan.repetitions
        open_ones = [one for one in fastest if not one[2].is_final]
        again: dict[str, list[Ended]] = {trial.id: [] for _, trial, _ in open_ones}
        for _ in range(rounds):
            for configuration, trial, _ in open_ones:
                again[trial.id].append(self._tried(run, configuration, None, 1))
        found = []
        for configuration, trial, ended in fastest:
            own = again.get(trial.id, [])
            final = ended
            if own and all(one.status is Status.OK for one in own):
                times = tuple(time for one in own for time in one.times)
                measured = tuple(merged([one.measured for one in own]))
                final = replace(ended, times=times, measured=measured, is_final=True)
                self.trials.end(trial, final)
            found.append((configuration, final))
        best = min((final for _, final in found), key=lambda final: median(final.times))
        alike = [c for c, final in found if min(final.times) <= max(best.times)]
        if len(alike) > 1:
            sizes = ", ".join(f"{name} = {run.values[name]}" for name in self.vary)
            named = "; ".join(_named(configuration) for configuration in alike)
            self.ties.append(f"{sizes}: {named}" if sizes else named)

    def sweep(self, run: Run, space: Space) -> None:
        """Run every configuration, those of one program together, while others are compiled."""
        names = self.builds.space.compiled_names
        every = sorted(space, key=lambda one: [str(one[n]) for n in space.names if n in names])
        self.builds.prepare(every)
        for configuration in every:
            self.timed(run, configuration, None)

    def search(
        self, run: Run, space: Space, most: int, start: Configuration
    ) -> Configuration | None:
        """The best configuration at this size; None where none ends well."""
        best: list[float] = []

        def time(configuration: Configuration) -> float | None:
            found = self.timed(run, configuration, min(best, default=None))
            if found is not None:
                best.append(found)
            return found

        times = search(space, time, most, start)
        known = [(found, number) for number, (_, found) in enumerate(times) if found is not None]
        return times[min(known)[1]][0] if known else None

    def timed(self, run: Run, configuration: Configuration, best: float | None) -> float | None:
        """The time of all regions; None where the run fails, or a condition forbids it."""
        self.session.progress("running", self.done, self.count)
        self.done += 1
        sizes = {name: run.values[name] for name in self.vary}
        trial = Trial(self.trials.origin, self._how(run), sizes, configuration)
        ended = self.trials.known(trial)
        if ended is None:
            self.trials.begin(trial)
            try:
                ended = self._same(run, configuration) or self._tried(
                    run, configuration, best, self.sweep_plan.repetitions
                )
            except BaseException:  # Ctrl-C, or a region that cannot be timed
                self.trials.stop(trial)
                raise
            self.trials.end(trial, ended)
        self.ended.append((run, configuration, trial, ended))
        self.same.setdefault(self._what_ran(run, configuration, ended.code), ended)
        if ended.status is not Status.OK:
            self.failures.append(f"{_named(configuration)}: {ended.reason}")
            return None
        self.measured += ended.measured
        times = [one.milliseconds for one in ended.measured if self._is_allowed(one)]
        known = [time for time in times if time is not None]
        return sum(known) if known and len(known) == len(ended.measured) else None

    def _how(self, run: Run) -> str:
        """What else decides what a trial takes: GPUs, options of nvcc, the command line."""
        flags = self.session.asked.flags or self.session.flags
        words = [*sorted({*self.gpus}), *(self.builds.target or [EMULATED]), *flags]
        return shlex.join([*words, "--", *run.words])

    def _same(self, run: Run, configuration: Configuration) -> Ended | None:
        """How a program of the same code ended with the same values; None where none ran."""
        built = self.builds.of(configuration)
        same = self.same.get(self._what_ran(run, configuration, built.code))
        if not built.code or same is None:
            return None
        repeated = tuple(self._completed(one, run, configuration) for one in same.measured)
        return replace(same, measured=repeated)

    def _tried(
        self, run: Run, configuration: Configuration, best: float | None, repetitions: int
    ) -> Ended:
        space, built = self.builds.space, self.builds.of(configuration)
        if built.failure:
            return Ended(Status.COMPILE, built.failure)
        holes = {n: shown(v) for n, v in space.values(configuration, Setting.RUN).items()}
        own = replace(run, values={**run.values, **holes}, program=os.path.relpath(built.path))
        host = {n: plain(v) for n, v in space.values(configuration, Setting.HOST).items()}
        measured: list[list[HostMeasurement]] = []
        times: list[float] = []
        for _ in range(repetitions if self.sweep_plan.on == GPU else 1):
            found = measure(own, host, self.trials.origin, self.environment, RUN_SECONDS)
            if isinstance(found, Failure):
                status = Status.TIMEOUT if found.timed_out else Status.RUNTIME
                return Ended(status, found.reason, code=built.code)
            measured.append([self._completed(one, run, configuration) for one in found])
            times.append(sum(one.milliseconds or 0.0 for one in found))
            if best is not None and times[-1] > HOPELESS * best:
                break
        return Ended(Status.OK, "", tuple(merged(measured)), tuple(times), built.code)

    def _what_ran(self, run: Run, configuration: Configuration, code: str) -> tuple[object, ...]:
        """The same for trials that do the same: equal code, sizes and values at run time."""
        values = self.builds.space.values(configuration, Setting.HOST, Setting.RUN)
        return code, tuple(run.values.items()), tuple(values.items())

    def _completed(
        self, one: HostMeasurement, run: Run, configuration: Configuration
    ) -> HostMeasurement:
        """With the parameters of which the program itself knows nothing."""
        space = self.builds.space
        # A host integer's value is told by the program; `--tune` may have another one first.
        told = (None, Setting.HOST)
        beside = {n: v for n, v in space.own.items() if space.settings.get(n) not in told}
        own = {**beside, **space.values(configuration, *COMPILED, Setting.RUN)}
        sizes = {n: int(v) for n, v in _integers(run, self.vary).items() if isinstance(v, int)}
        values = {**one.values, **{name: plain(value) for name, value in own.items()}}
        return replace(one, values=values, data={**one.data, **dict.fromkeys(own, sizes)})

    def _is_allowed(self, one: HostMeasurement) -> bool:
        groups: dict[int, list[HostTunable]] = {}
        for tunable in self.program.tunables:
            groups.setdefault(tunable.group, []).append(tunable)
        reached = (own for own in groups.values() if all(t.name in one.values for t in own))
        return all(is_allowed(one, own) for own in reached)

    def report(self) -> None:
        """Warn of failures.

        Raises:
            CutuneError: CT422 when nothing ended well.
        """
        if self.failures and not self.measured:
            reason = self.failures[0]
            raise CutuneError(Diagnostic.at(Code.NO_RUN_ENDED_WELL, None, reason=reason))
        if self.failures:
            count, first = len(self.failures), self.failures[0]
            code = Code.CONFIGURATION_FAILED
            self.session.warn(Diagnostic.at(code, None, count=count, reason=first))
        on_gpu = self.sweep_plan.on == GPU
        if not self.measured or (on_gpu and all(m.milliseconds is None for m in self.measured)):
            reason = "no region was reached and timed"
            raise CutuneError(Diagnostic.at(Code.NO_RUN_ENDED_WELL, None, reason=reason))

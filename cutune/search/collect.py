"""Parameters from program to times: every configuration, or a search per size.

Takes a toolchain and a program, gives measurements, and keeps trials on a GPU in the workspace.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cutune.cluster.crew import Crew
from cutune.cluster.gpus import gpu_names
from cutune.cluster.local import LocalWorkers
from cutune.cluster.workers import Workers
from cutune.collect.gpu.instrumented import gpu_target
from cutune.collect.run import WELL, Run, plan_runs
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn, known_names
from cutune.core.processes import ending_in_order
from cutune.core.progress import Reporter
from cutune.core.workspace import Workspace
from cutune.device.profile import DeviceProfile
from cutune.emulator.link import runtime_library, searched_libraries
from cutune.emulator.run import device_environment
from cutune.fit.measurement.measurement import Origin
from cutune.frontend.program import Program
from cutune.search.batches import Batches
from cutune.search.builds import Builds, Effects
from cutune.search.finals import finals
from cutune.search.limits import LaunchLimits
from cutune.search.made import made_builds
from cutune.search.program_space import ProgramSpace, Setting, device_values, program_space
from cutune.search.regions import Failure, HostMeasurement
from cutune.search.techniques.budget import Allowance, Budget
from cutune.search.techniques.registry import TECHNIQUES, Technique, search
from cutune.search.techniques.tries import Timed, Tries
from cutune.search.trial_runs import EMULATED, GPU, Measuring, TrialRuns, Tried, integers, named
from cutune.search.trials import Status, Trials, trusted
from cutune.space.asked import Asked
from cutune.space.condition import Value
from cutune.space.parameter import listed, shown
from cutune.space.space import Configuration, Space
from cutune.toolchain.steps.toolchain import Toolchain

#: A sweep of more runs is refused: it is probably a mistake.
MOST_RUNS = 100_000
#: Otherwise the first launch of a kernel, within a region, would load it (CUDA guide, lazy
#: loading). That takes longer than a small problem.
_READY = {"CUDA_MODULE_LOADING": "EAGER"}
#: So many times more were run at a size by a search than are added because others found them.
SEARCHED_PER_OTHER = 4


@dataclass(frozen=True)
class Search:
    """A search in place of all configurations.

    Attributes:
        start: values where it begins; the others are the program's own.
    """

    technique: Technique
    budget: Budget
    start: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class HostSweep:
    """The runs that are asked for.

    Attributes:
        names: the parameters that are varied; none: all.
        search: None: all configurations are run.
        jobs: programs that are compiled at once.
        statuses: exit statuses of a run that does its work; None: any.
        workers: that run trials.
        kept: where trials are kept; None: those on a GPU in the workspace, others nowhere.
        parameters: what the command line says of them.
    """

    names: Sequence[str]
    how: Measuring
    search: Search | None = None
    jobs: int = 1
    statuses: frozenset[int] | None = WELL
    workers: Workers = field(default_factory=LocalWorkers)
    kept: Path | None = None
    parameters: Asked = field(default_factory=Asked)


Place = tuple[Run, Space]


@dataclass(frozen=True)
class Prepared:
    """Trials that may be asked for now.

    Attributes:
        places: runs, one per size, and what may be tried in each.
    """

    trials: TrialRuns
    places: Sequence[Place]


@dataclass(frozen=True)
class CollectedTrials:
    """What was measured, and what the programs have in common.

    Attributes:
        ties: per size the fastest configurations, where several cannot be told apart.
        others: so many times more belong to configurations that were compared nowhere.
    """

    measured: Sequence[HostMeasurement]
    effects: Effects
    ties: Sequence[str]
    others: int = 0


def collect_host(
    toolchain: Toolchain,
    reporter: Reporter,
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
        CutuneError: CT422 when no run ends well, and what `prepared` says.
    """
    about = program, template, vary, workspace, sweep, device
    with prepared(toolchain, reporter, *about) as ready:
        ties = _run(ready.trials, ready.places, sweep.search)
    count = len(ready.trials.tried)
    reporter.progress("running", count, count)
    measured, others = report(ready.trials, reporter.warn)
    return CollectedTrials(measured, ready.trials.builds.effects(), ties, others)


@contextmanager
def prepared(
    toolchain: Toolchain,
    reporter: Reporter,
    program: Program,
    template: str,
    vary: Mapping[str, Sequence[str]],
    workspace: Workspace,
    sweep: HostSweep,
    device: DeviceProfile,
) -> Iterator[Prepared]:
    """What runs trials, as long as it is asked.

    Raises:
        CutuneError: CT420 without parameters, CT483 without regions, CT421 without a GPU,
            CT425 for an unknown name or too many runs, and what `program_space` says.
    """
    on = sweep.how.on
    whole, space = _asked_space(reporter, program, template, vary, sweep, device)
    holes = {n: [shown(whole.own[n])] for n, how in whole.settings.items() if how is Setting.RUN}
    is_made = bool(sweep.parameters.make)
    values = {**vary, **holes}
    binary = Path() if is_made else Path(program.source.path).with_suffix("")
    runs = plan_runs(template, values, binary, statuses=sweep.statuses)
    places = [(run, space.at(integers({name: run.values[name] for name in vary}))) for run in runs]
    total = _planned(sweep.search, [own for _, own in places])
    workspace.create()
    target = gpu_target(device.architecture) if on == GPU else None
    environment = device_environment(device, workspace.folder) if on == EMULATED else {**_READY}
    origin = Origin.of(program.source, program.tunable_headers)
    path = sweep.kept or (workspace.trials if on == GPU else None)
    if target is None and not is_made:
        runtime_library(toolchain.nvcc, reporter.progress)
    pool = ThreadPoolExecutor(sweep.jobs)
    built = toolchain, sweep.parameters, program, space, workspace.folder, target, pool
    builds = made_builds(*built, template) if is_made else Builds(*built)
    if is_made and target is None:
        environment |= searched_libraries(toolchain.nvcc)
    crew = Crew(sweep.workers, reporter.warn).start()
    try:
        claim = workspace.claimed([Path(program.source.path).stem], reporter.warn)
        with ending_in_order(), claim:
            trials = TrialRuns(
                sweep.parameters.flags or toolchain.flags,
                program,
                builds,
                Trials(path, origin, reporter.warn).load(),
                sweep.how,
                LaunchLimits(program, device.limits),
                environment,
                tuple(vary),
                crew,
                _gpus_of(crew, sweep.workers) if on == GPU else (),
            )
            trials.progress = lambda: reporter.progress(
                "running", min(len(trials.tried), total - 1), total
            )
            yield Prepared(trials, places)
    finally:
        builds.close()
        crew.close()
        pool.shutdown()


def _asked_space(
    reporter: Reporter,
    program: Program,
    template: str,
    vary: Mapping[str, Sequence[str]],
    sweep: HostSweep,
    device: DeviceProfile,
) -> tuple[ProgramSpace, ProgramSpace]:
    """The space of a program, and what of it is to be measured.

    Raises:
        CutuneError: what `prepared` says, before anything is built.
    """
    # Who runs trials elsewhere, or on one GPU each, says so itself.
    gpus = gpu_names() if sweep.how.on == GPU and sweep.workers == LocalWorkers() else []
    known = device_values(device, len(gpus) or None)
    whole = program_space(program, sweep.parameters, template, vary, known)
    named = program.source.path
    if not whole.space.parameters:
        raise CutuneError(Diagnostic.at(Code.NO_HOST_TUNABLES, program.source, path=named))
    if not program.regions:
        where = _first_launch(program)
        raise CutuneError(Diagnostic.at(Code.NO_REGION, program.source, path=named, where=where))
    space = whole.restricted(sweep.names) if sweep.names else whole
    if sweep.search is not None:
        _check_start(sweep.search.start, space)
        _check_technique(reporter.warn, sweep.search.technique, sweep.workers.size)
    if sweep.workers == LocalWorkers():
        _require_gpu(sweep.how.on)
    return whole, space


def _planned(asked: Search | None, spaces: Sequence[Space]) -> int:
    """How many runs there will be at most."""
    sizes = (own.size for own in spaces)
    total = sum(size if asked is None else asked.budget.most(size) for size in sizes)
    is_timed = asked is not None and asked.budget.seconds is not None
    if total > MOST_RUNS and not is_timed:
        advice = "give fewer values (--tune NAME=1,2,4), or --search 200"
        reason = f"{total} runs are too many; {advice}"
        raise CutuneError(Diagnostic.at(Code.BAD_SWEEP, None, reason=reason))
    return total


def _check_start(start: Mapping[str, Value], space: ProgramSpace) -> None:
    """The values of `--start` are values of parameters."""
    for name, value in start.items():
        own = next((p for p in space.space.parameters if p.name == name), None)
        if own is None:
            known = known_names(name, space.space.names)
            reason = f"--start: no tunable is named '{name}'; known: {known}"
        elif value not in own.values:
            reason = f"--start: '{name}' has the values {listed(own.values)}, not {shown(value)}"
        else:
            continue
        raise CutuneError(Diagnostic.at(Code.BAD_SWEEP, None, reason=reason))


def _check_technique(warn: Warn, technique: Technique, workers: int) -> None:
    """Several workers are of use where a technique says what it asks for next."""
    if workers > 1 and not technique.is_ahead:
        known = ", ".join(one.name for one in TECHNIQUES if one.is_ahead)
        code, name = Code.ONE_AT_A_TIME, technique.name
        warn(Diagnostic.at(code, None, name=name, count=workers, known=known))


def _gpus_of(crew: Crew, workers: Workers) -> tuple[str, ...]:
    """The names of the GPUs that a worker sees; all workers see the like.

    Raises:
        CutuneError: CT421 where a worker that was asked for has none, CT839 without a worker.
    """
    found = crew.submit(lambda: tuple(crew.gpus or ()), tuple[str, ...]).result()
    if not found and workers != LocalWorkers():
        raise CutuneError(Diagnostic.at(Code.REGIONS_NEED_GPU, None))
    return found


def _first_launch(program: Program) -> str:
    """A place for the pragmas, for a message."""
    if not program.launches:
        return ""
    site = program.launches[0]
    line = site.source.location(site.span.start).line
    return f", for instance around the launch in line {line} of {site.source.path}"


def _require_gpu(on: str) -> None:
    if on == GPU and shutil.which("nvidia-smi") is None:
        raise CutuneError(Diagnostic.at(Code.REGIONS_NEED_GPU, None))


def _run(trials: TrialRuns, places: Sequence[Place], asked: Search | None) -> Sequence[str]:
    """Everything that is asked for, from the first size to the last; ties."""
    batches, runs = Batches(trials), [run for run, _ in places]
    if asked is None:
        _sweep(batches, places)
        return finals(batches, runs).ties
    _search(batches, places, asked)
    last = finals(batches, runs)
    # Intervals are made of configurations whose times at neighbouring sizes are known.
    _everywhere(batches, places, last.configurations, SEARCHED_PER_OTHER)
    return last.ties


def _sweep(batches: Batches, places: Sequence[Place]) -> None:
    """Run every configuration, those of one program together, while others are compiled."""
    trials = batches.trials
    names = trials.builds.space.compiled_names
    asked = []
    for run, space in places:
        every = sorted(space, key=lambda one: [str(one[n]) for n in space.names if n in names])
        batches.expect(run, every)
        asked += [(run, one) for one in every]
    for run, configuration in asked:
        trials.timed(run, configuration)


def _search(batches: Batches, places: Sequence[Place], asked: Search) -> None:
    """Search at each size, from what was best at the one before."""
    trials = batches.trials
    began, found = time.monotonic(), list[Configuration]()
    for index, (run, space) in enumerate(places):
        own = trials.own_values(run)
        start = {**own, **asked.start} if not found else {**own, **found[-1]}
        spent = time.monotonic() - began
        allowance = asked.budget.at(space.size, spent, len(places) - index)
        best = _searched(batches, (run, space), allowance, asked.technique, start)
        if best is not None:
            found.append(best)
    if trials.builds.space.compiled_names:
        # What is compiled in has one value for all sizes: the best of each are compared at all.
        _everywhere(batches, places, found)


def _everywhere(
    batches: Batches,
    places: Sequence[Place],
    configurations: Sequence[Configuration],
    share: int = 1,
) -> None:
    """Run configurations at all sizes at which they are allowed.

    Args:
        share: so many times more were asked for at a size than are added to them.
    """
    trials, asked = batches.trials, list[tuple[Run, Sequence[Configuration]]]()
    for run, space in places:
        tried = trials.tried_at(run)
        others = [one for one in configurations if trials.trial(run, one).id not in tried]
        few = [one for one in others if one in space][: len(tried) // share]
        asked.append((run, few))
        batches.expect(run, few)
    for run, some in asked:
        for one in some:
            trials.timed(run, one)


def _searched(
    batches: Batches,
    place: Place,
    allowance: Allowance,
    technique: Technique,
    start: Configuration,
) -> Configuration | None:
    """The best configuration at one size; None where none ends well."""
    trials, (run, space) = batches.trials, place

    def timed(configuration: Configuration) -> Timed:
        ended = trials.timed(run, configuration, is_search=True)
        return Timed(ended.milliseconds(trials.program.tunables), ended.has_run)

    def expected(some: Iterable[Configuration]) -> None:
        batches.expect(run, some, is_search=True)

    tries = Tries(space, timed, allowance, expected, batches.company(run))
    search(technique, tries, tuple(table.closest(start) for table in space.tables))
    trials.forget()
    return tries.best


def report(trials: TrialRuns, warn: Warn) -> tuple[list[HostMeasurement], int]:
    """What was measured, and how much more of what was compared nowhere; warns of what failed.

    Raises:
        CutuneError: CT422 when nothing ended well.
    """
    # What was timed again counts as it ended last.
    last = {(id(one.run), one.trial.id): one for one in trials.tried}
    failed = [one for one in last.values() if one.ended.status is not Status.OK]
    right = trusted((_key(one), one.ended) for one in last.values())
    passed = [one for one in last.values() if one.ended.status is Status.OK]
    counted = [one for one in passed if one.ended.is_compared or _key(one) in right]
    measured = [m for one in counted for m in one.ended.measured]
    if failed and not measured:
        reason = _why(failed[0])
        raise CutuneError(Diagnostic.at(Code.NO_RUN_ENDED_WELL, None, reason=reason))
    _warn(trials, failed, warn)
    if not measured or (trials.how.on == GPU and all(m.milliseconds is None for m in measured)):
        reason = "no region was reached and timed"
        raise CutuneError(Diagnostic.at(Code.NO_RUN_ENDED_WELL, None, reason=reason))
    return measured, sum(len(one.ended.measured) for one in passed) - len(measured)


def _key(one: Tried) -> tuple[object, ...]:
    return tuple(sorted((name, str(value)) for name, value in one.configuration.items()))


def _warn(trials: TrialRuns, failed: Sequence[Tried], warn: Warn) -> None:
    statuses = Counter(one.ended.status for one in failed)
    wrong = [one for one in failed if one.ended.status is Status.WRONG]
    others = [one for one in failed if one.ended.status is not Status.WRONG]
    if wrong:
        code, count = Code.WRONG_RESULT, len(wrong)
        warn(Diagnostic.at(code, None, count=count, reason=_why(wrong[0])))
    if others:
        code, count = Code.CONFIGURATION_FAILED, len(others)
        ended = (f"{n} {one.value}" for one, n in statuses.items() if one is not Status.WRONG)
        how, reason = ", ".join(ended), _why(others[0])
        warn(Diagnostic.at(code, None, count=count, how=how, reason=reason))
    own = [one.ran for one in trials.own_results if isinstance(one.ran, Failure)]
    if own:
        warn(Diagnostic.at(Code.OWN_FAILS, None, count=len(own), reason=own[0].reason))


def _why(one: Tried) -> str:
    return f"{named(one.configuration)}: {one.ended.reason}"

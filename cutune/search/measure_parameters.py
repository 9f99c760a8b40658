"""Parameters measured (`--tunables`): every configuration is timed, or a search per size.

Takes a toolchain and a program, gives times of its regions, and keeps trials on a GPU in the
workspace. Kernels are measured elsewhere (`measure/measure_kernels`).
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn, known_names
from cutune.core.processes import awaited, ending_in_order
from cutune.core.progress import Reporter
from cutune.core.workspace import Workspace
from cutune.emulator.link import runtime_library, searched_libraries
from cutune.emulator.run import device_environment
from cutune.measure.gpu_sweep import gpu_target
from cutune.measure.program_runs import WELL, Run, plan_runs
from cutune.model.measurement.measurement import Origin
from cutune.search.builds import Builds, Effects, MakeBuilds
from cutune.search.finals import finals
from cutune.search.predicted_start import predicted_first, predicting
from cutune.search.program_space import ProgramSpace, Setting, device_values, program_space
from cutune.search.regions import FailedRun, HostMeasurement
from cutune.search.shared_processes import Batches
from cutune.search.techniques.registry import TECHNIQUES, Technique, search
from cutune.search.techniques.tries import Allowance, Budget, Timed, Tries
from cutune.search.trial_runs import GPU, Measuring, TrialRuns, Tried, integers, named
from cutune.search.trials import Status, Trials, trusted
from cutune.search.workers.crew import Crew, Workers
from cutune.search.workers.local import LocalWorkers, gpu_names
from cutune.source.program import Program
from cutune.space.annotation import Value
from cutune.space.parameter import ParameterOptions, listed, shown
from cutune.space.space import Configuration, Space
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.toolchain import Toolchain

#: A sweep of more runs is refused: it is probably a mistake.
MOST_RUNS = 100_000
#: Otherwise the first launch of a kernel, within a region, would load it (CUDA guide, lazy
#: loading). That takes longer than a small problem.
_READY = {"CUDA_MODULE_LOADING": "EAGER"}
#: At a size, one configuration that was best at another is added for so many that a search ran.
SEARCHED_PER_OTHER = 4


@dataclass(frozen=True)
class Search:
    """A search in place of all configurations, from `start` and the program's own values.

    `is_predicted`: it tries first what the model finds fastest.
    """

    technique: Technique
    budget: Budget
    start: Mapping[str, Value] = field(default_factory=dict)
    is_predicted: bool = False


@dataclass(frozen=True)
class HostSweep:
    """A program, a choice of its configurations, and the settings of their trials.

    Attributes:
        template: the command line. vary: sizes in it, and their values.
        names: the parameters that are varied; none: all. search: None: all configurations are run.
        jobs: programs that are compiled at once.
        statuses: exit statuses of a run that does its work; None: any.
        kept: the file of trials; None: the workspace's for a GPU, else no file.
    """

    program: Program
    template: str
    vary: Mapping[str, Sequence[str]]
    workspace: Workspace
    device: DeviceProfile
    names: Sequence[str]
    how: Measuring
    search: Search | None = None
    jobs: int = 1
    statuses: frozenset[int] | None = WELL
    workers: Workers = field(default_factory=LocalWorkers)
    kept: Path | None = None
    parameters: ParameterOptions = field(default_factory=ParameterOptions)


Place = tuple[Run, Space]
#: Where trials with predicted times are kept in a workspace: not among those of a GPU.
PREDICTED_TRIALS = "predicted.jsonl"


@dataclass(frozen=True)
class Prepared:
    """Trials that are ready to run, and per size a run and the space of its configurations."""

    trials: TrialRuns
    places: Sequence[Place]


@dataclass(frozen=True)
class CollectedTrials:
    """The measurements without `others`, which are unverified; per size the fastest that tie."""

    measured: Sequence[HostMeasurement]
    effects: Effects
    ties: Sequence[str]
    others: int = 0


def measure_parameters(
    toolchain: Toolchain, reporter: Reporter, sweep: HostSweep
) -> CollectedTrials:
    """Run the program in every configuration of the named parameters, or in those of a search.

    On the emulated device this checks that all run. Raises CT422 when none does, and as `prepared`.
    """
    first = _predicted(toolchain, reporter, sweep)
    with prepared(toolchain, reporter, sweep) as ready:
        batches = Batches(ready.trials)
        if sweep.search is None:
            _sweep(batches, ready.places)
        else:
            _search(batches, ready.places, sweep.search, first)
        fastest, ties = finals(batches, [run for run, _ in ready.places])
        if sweep.search is not None:
            # Intervals are made of configurations whose times at neighbouring sizes are known.
            _everywhere(batches, ready.places, fastest, SEARCHED_PER_OTHER)
    count = len(ready.trials.tried)
    reporter.progress("running", count, count)
    measured, others = report(ready.trials, reporter.warn)
    return CollectedTrials(measured, ready.trials.builds.effects(), ties, others)


def _predicted(
    toolchain: Toolchain, reporter: Reporter, sweep: HostSweep
) -> Sequence[Sequence[Configuration]]:
    """Per size what the model finds fastest; nothing is run on a GPU."""
    if sweep.search is None or not sweep.search.is_predicted:
        return ()
    how = predicting(sweep.how, toolchain.nvcc, sweep.device)
    kept = sweep.workspace.folder / PREDICTED_TRIALS
    emulated = replace(sweep, how=how, workers=LocalWorkers(), kept=kept)
    with prepared(toolchain, reporter, emulated) as ready:
        return [predicted_first(ready.trials, run, space) for run, space in ready.places]


@contextmanager
def prepared(toolchain: Toolchain, reporter: Reporter, sweep: HostSweep) -> Iterator[Prepared]:
    """Give what runs trials, for a `with` statement.

    Raises CT420 without parameters, CT483 without regions, CT421 without a GPU, CT425 for an
    unknown name or too many runs, and as `program_space`.
    """
    program, workspace, on_gpu = sweep.program, sweep.workspace, sweep.how.on == GPU
    whole, space = _checked_spaces(reporter.warn, sweep)
    places = _places(sweep, whole, space)
    total = _planned(sweep.search, [own for _, own in places])
    workspace.create()
    pool = ThreadPoolExecutor(sweep.jobs)
    builds = _builds(toolchain, sweep, space, pool)
    environment = _environment(builds, reporter, sweep)
    kept = sweep.kept or (workspace.trials if on_gpu else None)
    origin = Origin.of(program.source, program.tunable_headers)
    crew = Crew(sweep.workers, reporter.warn).start()
    try:
        claim = workspace.claimed([Path(program.source.path).stem], reporter.warn)
        with ending_in_order(), claim:
            trials = TrialRuns(
                builds,
                Trials(kept, origin, reporter.warn).load(),
                sweep.how,
                sweep.device.limits,
                environment,
                vary=tuple(sweep.vary),
                crew=crew,
                gpus=_gpus_of(crew, sweep.workers) if on_gpu else (),
            )
            trials.progress = lambda: reporter.progress(
                "running", min(len(trials.tried), total - 1), total
            )
            yield Prepared(trials, places)
    finally:
        builds.close()
        crew.close()
        pool.shutdown()


def _places(sweep: HostSweep, whole: ProgramSpace, space: ProgramSpace) -> list[Place]:
    """Return each run, with the program's own values in its command line, and its space."""
    own = {n: [shown(whole.own[n])] for n, how in whole.settings.items() if how is Setting.RUN}
    binary = Path() if sweep.parameters.make else Path(sweep.program.source.path).with_suffix("")
    runs = plan_runs(sweep.template, {**sweep.vary, **own}, binary, statuses=sweep.statuses)
    sizes = [integers({name: run.values[name] for name in sweep.vary}) for run in runs]
    return [(run, space.at(at)) for run, at in zip(runs, sizes, strict=True)]


def _builds(
    toolchain: Toolchain, sweep: HostSweep, space: ProgramSpace, pool: ThreadPoolExecutor
) -> Builds:
    target = gpu_target(sweep.device.architecture) if sweep.how.on == GPU else None
    make = partial(MakeBuilds, run=sweep.template) if sweep.parameters.make else Builds
    folder = sweep.workspace.folder
    return make(toolchain, sweep.parameters, sweep.program, space, folder, target, pool)


def _environment(builds: Builds, reporter: Reporter, sweep: HostSweep) -> dict[str, str]:
    """Return variables of programs, and make the library that emulated ones are linked with."""
    if builds.target:
        return {**_READY}
    environment, nvcc = (
        device_environment(sweep.device, sweep.workspace.folder),
        builds.toolchain.nvcc,
    )
    if sweep.parameters.make:
        # A project is linked by its own command, and finds the library when it runs.
        return environment | searched_libraries(nvcc)
    runtime_library(nvcc, reporter.progress)
    return environment


def _checked_spaces(warn: Warn, sweep: HostSweep) -> tuple[ProgramSpace, ProgramSpace]:
    """Return the whole space, and the part to measure. Raises CutuneError as `prepared`."""
    program = sweep.program
    # Other workers name their GPUs themselves.
    is_here = sweep.how.on == GPU and sweep.workers == LocalWorkers()
    gpus = gpu_names() if is_here else []
    known = device_values(sweep.device, len(gpus) or None)
    whole = program_space(program, sweep.parameters, sweep.template, sweep.vary, known)
    path = program.source.path
    if not whole.space.parameters:
        raise CutuneError.at(Code.NO_HOST_TUNABLES, program.source, path=path)
    if not program.regions:
        where = ""
        for site in program.launches[:1]:
            line = site.source.location(site.span.start).line
            where = f", for instance around the launch in line {line} of {site.source.path}"
        raise CutuneError.at(Code.NO_REGION, program.source, path=path, where=where)
    space = whole.restricted(sweep.names) if sweep.names else whole
    if sweep.search is not None:
        _check_start(sweep.search.start, space)
        technique, count = sweep.search.technique, sweep.workers.size
        if count > 1 and not technique.is_ahead:
            ahead = ", ".join(one.name for one in TECHNIQUES if one.is_ahead)
            code, name = Code.ONE_AT_A_TIME, technique.name
            warn(Diagnostic.at(code, name=name, count=count, known=ahead))
    if is_here:
        _require_gpu()
    return whole, space


def _require_gpu() -> None:
    if shutil.which("nvidia-smi") is None:
        raise CutuneError.at(Code.REGIONS_NEED_GPU)


def _planned(search: Search | None, spaces: Sequence[Space]) -> int:
    """Return how many runs there will be at most. Raises CT425 for too many without a time."""
    sizes = (own.size for own in spaces)
    total = sum(size if search is None else search.budget.most(size) for size in sizes)
    if total > MOST_RUNS and (search is None or search.budget.seconds == inf):
        advice = "give fewer values (--tune NAME=1,2,4), or --search 200"
        raise CutuneError.at(Code.BAD_SWEEP, reason=f"{total} runs are too many; {advice}")
    return total


def _check_start(start: Mapping[str, Value], space: ProgramSpace) -> None:
    """Raise CT425 for a value of `--start` that no parameter has."""
    parameters = {parameter.name: parameter for parameter in space.space.parameters}
    for name, value in start.items():
        if name not in parameters:
            reason = f"no tunable is named '{name}'; known: {known_names(name, space.space.names)}"
        elif value not in parameters[name].values:
            known = listed(parameters[name].values)
            reason = f"'{name}' has the values {known}, not {shown(value)}"
        else:
            continue
        raise CutuneError.at(Code.BAD_SWEEP, reason=f"--start: {reason}")


def _gpus_of(crew: Crew, workers: Workers) -> tuple[str, ...]:
    """Return the names of a worker's GPUs. Raises CT421 where it has none, CT839 without it."""
    gpus = awaited(crew.submit(lambda: tuple(crew.gpus or ()), tuple[str, ...]))
    if not gpus and workers != LocalWorkers():
        raise CutuneError.at(Code.REGIONS_NEED_GPU)
    return gpus


def _sweep(batches: Batches, places: Sequence[Place]) -> None:
    names = batches.trials.builds.space.compiled_names
    # Those of one program are together, while others are compiled.
    trials = [
        (run, sorted(space, key=lambda one: [str(one[n]) for n in space.names if n in names]))
        for run, space in places
    ]
    _run_all(batches, trials)


def _run_all(batches: Batches, trials: Sequence[tuple[Run, Sequence[Configuration]]]) -> None:
    for run, configurations in trials:
        batches.expect(run, configurations)
    for run, configurations in trials:
        for configuration in configurations:
            batches.trials.timed(run, configuration)


def _search(
    batches: Batches,
    places: Sequence[Place],
    search: Search,
    predicted: Sequence[Sequence[Configuration]] = (),
) -> None:
    """Search at each size, from what was best at the one before; `predicted`: what comes first."""
    trials = batches.trials
    began, bests = time.monotonic(), list[Configuration]()
    for index, (run, space) in enumerate(places):
        start = {**trials.own_values(run), **(bests[-1] if bests else search.start)}
        spent = time.monotonic() - began
        allowance = search.budget.at(space.size, spent, len(places) - index)
        first = predicted[index] if predicted else ()
        best = _searched(batches, (run, space), allowance, search.technique, start, first)
        if best is not None:
            bests.append(best)
    if trials.builds.space.compiled_names:
        # Compiled-in parameters have one value for all sizes: the best ones are compared at all.
        _everywhere(batches, places, bests)


def _everywhere(
    batches: Batches,
    places: Sequence[Place],
    configurations: Sequence[Configuration],
    share: int = 1,
) -> None:
    """Run configurations where they are allowed, at most 1 / `share` of those tried at a size."""
    trials, added = batches.trials, list[tuple[Run, Sequence[Configuration]]]()
    for run, space in places:
        tried = {one.trial.id for one in trials.tried if one.trial.run is run}
        others = [one for one in configurations if trials.trial(run, one).id not in tried]
        added.append((run, [one for one in others if one in space][: len(tried) // share]))
    _run_all(batches, added)


def _searched(
    batches: Batches,
    place: Place,
    allowance: Allowance,
    technique: Technique,
    start: Configuration,
    first: Sequence[Configuration],
) -> Configuration | None:
    trials, (run, space) = batches.trials, place

    def timed(configuration: Configuration) -> Timed:
        ended = trials.timed(run, configuration, is_search=True)
        return Timed(ended.milliseconds(trials.program.tunables), ended.has_run)

    def expected(some: Iterable[Configuration]) -> None:
        batches.expect(run, some, is_search=True)

    tries = Tries(space, timed, allowance, expected, batches.shared_process(run))
    begin, *others = (
        tuple(table.closest(one) for table in space.tables) for one in (start, *first)
    )
    search(technique, tries, begin, first=others)
    trials.forget()
    return tries.best


def report(trials: TrialRuns, warn: Warn) -> tuple[list[HostMeasurement], int]:
    """Return measurements, and how many are unverified. Raises CT422 where nothing ended well."""
    # A trial that was timed again counts as it ended last.
    last = {(id(one.trial.run), one.trial.id): one for one in trials.tried}
    failed = [one for one in last.values() if one.ended.status is not Status.OK]
    right = trusted((_key(one), one.ended) for one in last.values())
    passed = [one for one in last.values() if one.ended.status is Status.OK]
    counted = [one for one in passed if one.ended.is_compared or _key(one) in right]
    measured = [m for one in counted for m in one.ended.measured]
    if failed and not measured:
        raise CutuneError.at(Code.NO_RUN_ENDED_WELL, reason=_why(failed[0]))
    _warn(trials, failed, warn)
    on_gpu = trials.how.on == GPU
    if not measured or (on_gpu and all(m.milliseconds is None for m in measured)):
        raise CutuneError.at(Code.NO_RUN_ENDED_WELL, reason="no region was reached and timed")
    return measured, sum(len(one.ended.measured) for one in passed) - len(measured)


def _key(one: Tried) -> tuple[object, ...]:
    return tuple(sorted((name, str(value)) for name, value in one.trial.configuration.items()))


def _warn(trials: TrialRuns, failed: Sequence[Tried], say: Warn) -> None:
    wrong = [one for one in failed if one.ended.status is Status.WRONG]
    others = [one for one in failed if one.ended.status is not Status.WRONG]
    if wrong:
        say(Diagnostic.at(Code.WRONG_RESULT, count=len(wrong), reason=_why(wrong[0])))
    if others:
        statuses = Counter(one.ended.status for one in others)
        how = ", ".join(f"{count} {status.value}" for status, count in statuses.items())
        code, why = Code.CONFIGURATION_FAILED, _why(others[0])
        say(Diagnostic.at(code, count=len(others), reason=why, how=how))
    references = trials.references.values()
    own = [one.ran for one in references if isinstance(one.ran, FailedRun)]
    if own:
        say(Diagnostic.at(Code.OWN_FAILS, count=len(own), reason=own[0].reason))


def _why(one: Tried) -> str:
    return f"{named(one.trial.configuration)}: {one.ended.reason}"

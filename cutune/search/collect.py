"""Parameters from program to times: every configuration, or a search per size.

Takes a session and a program, gives measurements, and keeps trials on a GPU in the workspace.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import product
from math import inf
from pathlib import Path

from cutune.analysis.session import Session
from cutune.collect.gpu.instrumented import gpu_target
from cutune.collect.run import WELL, Run, plan_runs
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, known_names
from cutune.core.processes import run_to_end
from cutune.core.workspace import Workspace
from cutune.device.profile import DeviceProfile
from cutune.emulator.run import device_environment
from cutune.fit.measurement.measurement import Origin
from cutune.frontend.program import Program
from cutune.search.builds import Builds, Effects
from cutune.search.finals import finals
from cutune.search.limits import LaunchLimits
from cutune.search.program_space import (
    ProgramSpace,
    Setting,
    device_values,
    program_space,
)
from cutune.search.regions import Failure, HostMeasurement
from cutune.search.techniques.budget import Allowance, Budget
from cutune.search.techniques.registry import Technique, search
from cutune.search.techniques.tries import Timed, Tries
from cutune.search.trial_runs import EMULATED, GPU, Measuring, TrialRuns, Tried, integers, named
from cutune.search.trials import Status, Trials
from cutune.space.condition import Value
from cutune.space.parameter import listed, shown
from cutune.space.space import Configuration, Space

#: A sweep of more runs is refused: it is probably a mistake.
MOST_RUNS = 100_000
#: So long the driver is asked for its GPUs.
_ASKED_SECONDS = 60.0
#: `GPU 0: NVIDIA H200 (UUID: …)`.
_LISTED = re.compile(r"GPU \d+: (.*?)(?: \(UUID.*)?$")
#: Otherwise the first launch of a kernel, within a region, would load it (CUDA guide, lazy
#: loading). That takes longer than a small problem.
_READY = {"CUDA_MODULE_LOADING": "EAGER"}


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
    """

    names: Sequence[str]
    how: Measuring
    search: Search | None = None
    jobs: int = 1
    statuses: frozenset[int] | None = WELL


@dataclass(frozen=True)
class CollectedTrials:
    """What was measured, and what the programs have in common.

    Attributes:
        ties: per size the fastest configurations, where several cannot be told apart.
    """

    measured: Sequence[HostMeasurement]
    effects: Effects
    ties: Sequence[str]


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
    on = sweep.how.on
    gpus = _gpu_names() if on == GPU else []
    known = device_values(device, len(gpus) or None)
    whole = program_space(program, session.asked, template, vary, known)
    if not whole.space.parameters or not program.regions:
        raise CutuneError(
            Diagnostic.at(Code.NO_HOST_TUNABLES, program.source, path=program.source.path)
        )
    space = whole.restricted(sweep.names) if sweep.names else whole
    if sweep.search is not None:
        _check_start(sweep.search.start, space)
    _require_gpu(on)
    holes = {n: [shown(whole.own[n])] for n, how in whole.settings.items() if how is Setting.RUN}
    values, binary = {**vary, **holes}, Path(program.source.path).with_suffix("")
    runs = plan_runs(template, values, binary, statuses=sweep.statuses)
    places = [(run, space.at(integers({name: run.values[name] for name in vary}))) for run in runs]
    total = _planned(sweep.search, [own for _, own in places])
    workspace.create()
    target = gpu_target(device.architecture) if on == GPU else None
    environment = device_environment(device, workspace.folder) if on == EMULATED else _READY
    origin = Origin.of(program.source, program.tunable_headers)
    path = workspace.trials if on == GPU else None
    pool = ThreadPoolExecutor(sweep.jobs)
    trials = TrialRuns(
        session,
        program,
        Builds(session, program, space, workspace.folder, target, pool),
        Trials(path, origin, session.warn).load(),
        sweep.how,
        LaunchLimits(program, device.limits),
        environment,
        tuple(vary),
        tuple(gpus),
    )
    trials.progress = lambda: session.progress("running", min(len(trials.tried), total - 1), total)
    try:
        with workspace.claimed([Path(program.source.path).stem], session.warn):
            ties = _run(trials, places, sweep.search)
    finally:
        pool.shutdown(cancel_futures=True)
    session.progress("running", 1, 1)
    return CollectedTrials(_report(trials), trials.builds.effects(), ties)


def _planned(asked: Search | None, spaces: Sequence[Space]) -> int:
    """How many runs there will be at most."""
    sizes = (own.size for own in spaces)
    total = sum(size if asked is None else asked.budget.most(size) for size in sizes)
    is_timed = asked is not None and asked.budget.seconds is not None
    if total > MOST_RUNS and not is_timed:
        reason = (
            f"{total} runs are too many; give fewer values (--tune NAME=1,2,4), or --search 200"
        )
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


Place = tuple[Run, Space]


def _run(trials: TrialRuns, places: Sequence[Place], asked: Search | None) -> list[str]:
    """Everything that is asked for, from the first size to the last; ties."""
    if asked is None:
        for run, space in places:
            _sweep(trials, run, space)
    else:
        _search(trials, places, asked)
    ties = (finals(trials, run) for run, _ in places)
    return [tie for tie in ties if tie is not None]


def _sweep(trials: TrialRuns, run: Run, space: Space) -> None:
    """Run every configuration, those of one program together, while others are compiled."""
    names = trials.builds.space.compiled_names
    every = sorted(space, key=lambda one: [str(one[n]) for n in space.names if n in names])
    trials.prepare(every)
    for configuration in every:
        trials.timed(run, configuration, None)


def _search(trials: TrialRuns, places: Sequence[Place], asked: Search) -> None:
    """Search at each size, from what was best at the one before."""
    began, found = time.monotonic(), list[Configuration]()
    for index, (run, space) in enumerate(places):
        own = trials.own_result(run).values
        start = {**own, **asked.start} if not found else {**own, **found[-1]}
        spent = time.monotonic() - began
        allowance = asked.budget.at(space.size, spent, len(places) - index)
        best = _searched(trials, (run, space), allowance, asked.technique, start)
        if best is not None:
            found.append(best)
    if trials.builds.space.compiled_names:
        # What is compiled in has one value for all sizes: the best of each are compared at all.
        for (run, space), best in product(places, found):
            if best in space:
                trials.timed(run, best, None)


def _searched(
    trials: TrialRuns,
    place: Place,
    allowance: Allowance,
    technique: Technique,
    start: Configuration,
) -> Configuration | None:
    """The best configuration at one size; None where none ends well."""
    run, space = place

    def timed(configuration: Configuration) -> Timed:
        ended = trials.timed(run, configuration, tries.least if tries.least < inf else None)
        return Timed(ended.milliseconds(trials.program.tunables), ended.has_run)

    tries = Tries(space, timed, allowance, trials.prepare)
    search(technique, tries, tuple(table.closest(start) for table in space.tables))
    return tries.best


def _report(trials: TrialRuns) -> list[HostMeasurement]:
    """What was measured; warns of what failed.

    Raises:
        CutuneError: CT422 when nothing ended well.
    """
    # What was timed again counts as it ended last.
    last = {(id(one.run), one.trial.id): one for one in trials.tried}
    failed = [one for one in last.values() if one.ended.status is not Status.OK]
    measured = [m for one in last.values() if one not in failed for m in one.ended.measured]
    if failed and not measured:
        reason = _why(failed[0])
        raise CutuneError(Diagnostic.at(Code.NO_RUN_ENDED_WELL, None, reason=reason))
    _warn(trials, failed)
    on_gpu = trials.how.on == GPU
    if not measured or (on_gpu and all(m.milliseconds is None for m in measured)):
        reason = "no region was reached and timed"
        raise CutuneError(Diagnostic.at(Code.NO_RUN_ENDED_WELL, None, reason=reason))
    return measured


def _warn(trials: TrialRuns, failed: Sequence[Tried]) -> None:
    warn, statuses = trials.session.warn, Counter(one.ended.status for one in failed)
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

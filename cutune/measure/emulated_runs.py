"""Runs of an instrumented program on the emulated device. Takes runs, gives launches and trials.

Launches are recorded, candidates tried, and races of the program with its own blocks found. Where
the results of a block differ from the original's, either the block is wrong, or the original's own
results depend on the order of its threads, so that there is nothing to compare with.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn
from cutune.core.processes import ProgramResult
from cutune.core.progress import Progress
from cutune.core.temporary import temporary_folder
from cutune.emulator.findings import Finding, read_findings
from cutune.emulator.launch_log import LaunchRecord, is_cut, read_launches
from cutune.emulator.run import device_environment
from cutune.measure.candidate_trials import Attempt, CandidateTrial, TrialRun, with_larger
from cutune.measure.other_runs import try_smaller
from cutune.measure.program_runs import (
    RUN_SECONDS,
    Run,
    check_end,
    check_kernels,
    ended_run,
    nothing_launched,
    run_program,
)
from cutune.model.measurement.measurement import MeasuredKernel
from cutune.source.launch_sites import SiteNumbers
from cutune.toolchain.device.profile import DeviceProfile

#: Launches recorded per launch site and run.
RECORDED_LAUNCHES = 3
#: Kernels of a run that are executed before the others are only recorded: about so many seconds.
EXECUTED_SECONDS = 15
EXECUTED_INSTRUCTIONS = 1_500_000_000
#: Seconds for a run with its host's work; then it runs again, and no kernel is executed.
PATIENCE_SECONDS = 30
#: Most runs until no candidate breaks the CUDA context.
TRIAL_RUNS = 12
#: After so many of them, all candidates that are larger than a broken one are left out, too.
SINGLY_LEFT_OUT = 3


@dataclass(frozen=True)
class Sweep:
    """When a run in which candidates are launched may end.

    Attributes:
        effort: warp instructions of all launches with candidates, about.
        experiments: launches of the program that are made with all candidates.
        seconds: time limit; a launch that is under way then does not count; 0: none.
    """

    effort: int = 0
    experiments: int = 0
    seconds: int = 0

    def ending(self, run: Run) -> dict[str, str]:
        """Variables that end the run behind the last of these launches.

        A run that is cut executes at most `EXECUTED_INSTRUCTIONS` besides them.
        """
        ends = {"CUTUNE_EXPERIMENTS": str(self.experiments)} if self.experiments else {}
        if run.is_cut:
            ends["CUTUNE_EXECUTE_LIMIT"] = str(EXECUTED_INSTRUCTIONS + self.effort)
        if self.seconds:
            ends["CUTUNE_EXECUTE_SECONDS"] = str(self.seconds)
        return {**ends, "CUTUNE_BEYOND_LIMIT": "stop"}


def record_launches(
    runs: Sequence[Run], device: DeviceProfile, progress: Progress, warn: Warn
) -> list[tuple[Run, list[LaunchRecord]]]:
    """Run the instrumented program on the emulated device; each run with its launches, in order.

    In a run that takes too long, later kernels are recorded but not executed; nor are any
    kernels of the runs behind it.

    Raises:
        CutuneError: CT411 when it does not end well.
    """
    recorded: list[tuple[Run, list[LaunchRecord]]] = []
    with temporary_folder() as folder:
        described = {**os.environ, **device_environment(device, Path(folder))}
        for index, asked in enumerate(runs):
            log = Path(folder) / f"launches-{index}.jsonl"
            progress("running", index, len(runs))
            is_long = any(before.is_cut for before, _ in recorded)
            run = replace(asked, launches_only=True, is_cut=True) if is_long else asked
            try:
                made, launches, ended = _recorded(run, described, log)
            except CutuneError:
                if not is_long:
                    raise
                continue  # It launches nothing in that time; runs before it did.
            if made.is_cut and not is_long:
                advice = try_smaller(run, launches)
                warn(Diagnostic.at(Code.CUT_SHORT, command=run.shown, advice=advice))
            recorded.append((made, launches))
    if not any(launches for _, launches in recorded):
        raise nothing_launched(run, ended)
    progress("running", len(runs), len(runs))
    return recorded


def _recorded(
    run: Run, variables: Mapping[str, str], log: Path
) -> tuple[Run, list[LaunchRecord], ProgramResult]:
    """One run, its launches, and how it ended; kernels are executed while there is time."""
    ended = _logged(run, variables, log)
    launches, made = list(read_launches(log)), run
    if is_cut(log):
        made = replace(run, is_cut=True)
    elif ended.timed_out and not run.launches_only:
        made = replace(run, is_cut=True)
        ended = _logged(replace(run, launches_only=True, is_cut=bool(launches)), variables, log)
        seen = {(record.site, record.kernel) for record in launches}
        further = list(read_launches(log))[len(launches) :]
        launches += [r for r in further if (r.site, r.kernel) not in seen]
    # What a run launched until it was ended counts.
    if not launches or not (made.is_cut or run.launches_only):
        check_end(run, ended)
    if not run.launches_only:
        check_kernels(run, ended)
    return made, launches, ended


def _logged(run: Run, variables: Mapping[str, str], log: Path) -> ProgramResult:
    """Run the program and log the first launches of each site."""
    logging = {"CUTUNE_LAUNCH_LOG": str(log), "CUTUNE_LOG_LIMIT": str(RECORDED_LAUNCHES)}
    if run.launches_only:
        seconds = PATIENCE_SECONDS if run.is_cut else RUN_SECONDS
        return ended_run(run, {**variables, **logging, "CUTUNE_SKIP_KERNELS": "1"}, seconds)
    limits = {
        "CUTUNE_EXECUTE_LIMIT": str(EXECUTED_INSTRUCTIONS),
        "CUTUNE_EXECUTE_SECONDS": str(EXECUTED_SECONDS),
    }
    return ended_run(run, {**variables, **limits, **logging}, PATIENCE_SECONDS)


def try_candidates(
    run: Run,
    kernels: Sequence[MeasuredKernel],
    numbers: SiteNumbers,
    device: DeviceProfile,
    sweep: Sweep,
) -> Mapping[str, CandidateTrial]:
    """Launch every candidate in one run of the program and compare results.

    A candidate that breaks the CUDA context hides those behind it, so the program runs again
    without it.

    Raises:
        CutuneError: CT411 when the run does not end well.
    """
    broken: frozenset[Attempt] = frozenset()
    for attempt in range(TRIAL_RUNS):
        with temporary_folder() as folder:
            described = device_environment(device, Path(folder))
            trial_run = TrialRun(kernels, numbers, Path(folder))
            sweeping = {**trial_run.environment(broken), **sweep.ending(run)}
            failure = None
            try:
                run_program(run, {**os.environ, **described, **sweeping})
            except CutuneError as error:
                failure = error
            hiding = trial_run.hiding_candidates() - broken
            if hiding and attempt >= SINGLY_LEFT_OUT:
                hiding |= with_larger(kernels, hiding)
            trials = trial_run.trials(broken | hiding)
        is_last = attempt + 1 == TRIAL_RUNS
        if failure is not None and (is_last or not hiding):
            raise failure
        if not hiding:
            break
        broken |= hiding
    return trials


#: The checker takes many times as long as the program alone.
CHECK_SECONDS = 60
_RACES = frozenset({Code.SHARED_RACE, Code.GLOBAL_RACE, Code.BLOCK_RACE, Code.DIVERGED_RACE})


def races_with_own_blocks(run: Run, device: DeviceProfile) -> Mapping[str, Finding]:
    """The first race of each kernel, by name, in a run of the program as it is.

    If the run fails, the races that were found until then count.
    """
    with temporary_folder() as folder:
        found = Path(folder) / "findings.jsonl"
        checking = {"CUTUNE_MODE": "off", "CUTUNE_CHECK": str(found)}
        described = device_environment(device, Path(folder))
        with contextlib.suppress(CutuneError):
            run_program(run, {**os.environ, **described, **checking}, seconds=CHECK_SECONDS)
        races = [finding for finding in read_findings(found) if finding.code in _RACES]
    return {finding.kernel: finding for finding in reversed(races)}

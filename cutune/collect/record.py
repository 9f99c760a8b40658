"""Runs of an instrumented program on the emulated device: launches recorded, candidates tried."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from cutune.collect.run import Run, run_program
from cutune.collect.trial import (
    Attempt,
    Trial,
    TrialRun,
    with_larger,
)
from cutune.core.diagnostics import CutuneError
from cutune.core.progress import Progress
from cutune.core.temporary import temporary_folder
from cutune.device.profile import DeviceProfile
from cutune.emulator.launch_log import LaunchRecord, read_launches
from cutune.emulator.run import device_environment
from cutune.fit.measurement.measurement import MeasuredKernel
from cutune.frontend.launch_sites import SiteNumbers

#: Launches recorded per launch site and run.
RECORDED_LAUNCHES = 3
#: Most runs until no candidate breaks the CUDA context.
TRIAL_RUNS = 12
#: After so many of them, all candidates that are larger than a broken one are left out, too.
SINGLY_LEFT_OUT = 3


def record_launches(
    runs: Sequence[Run], device: DeviceProfile, progress: Progress
) -> list[list[LaunchRecord]]:
    """Run the instrumented program on the emulated device; the launches of each run, in order.

    Raises:
        CutuneError: CT411 when it does not end well.
    """
    recorded = []
    with temporary_folder() as folder:
        described = device_environment(device, Path(folder))
        for index, run in enumerate(runs):
            log = Path(folder) / f"launches-{index}.jsonl"
            logging = {
                "CUTUNE_LAUNCH_LOG": str(log),
                "CUTUNE_LOG_LIMIT": str(RECORDED_LAUNCHES),
            }
            if run.launches_only:
                logging["CUTUNE_SKIP_KERNELS"] = "1"
            progress("running", index, len(runs))
            # Kernels that were skipped computed nothing, so the program's own check may fail.
            run_program(run, {**os.environ, **described, **logging}, may_fail=run.launches_only)
            recorded.append(list(read_launches(log)) if log.exists() else [])
    progress("running", len(runs), len(runs))
    return recorded


def try_candidates(
    run: Run, kernels: Sequence[MeasuredKernel], numbers: SiteNumbers, device: DeviceProfile
) -> Mapping[str, Trial]:
    """Launch every candidate in one run of the program and compare results.

    A candidate that breaks the context hides those behind it: the program then runs again
    without it.

    Raises:
        CutuneError: CT411 when the run does not end well.
    """
    broken: frozenset[Attempt] = frozenset()
    for attempt in range(TRIAL_RUNS):
        with temporary_folder() as folder:
            described = device_environment(device, Path(folder))
            trial_run = TrialRun(kernels, numbers, Path(folder))
            sweeping = trial_run.environment(broken)
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

"""Where a search starts: at what the model finds fastest. Takes prepared trials, gives places.

Another search, which runs nothing on a GPU, looks for them: its trials run on the emulated device,
and the predicted times of their launches stand in place of times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from math import inf, isfinite
from pathlib import Path
from typing import Any

from cutune.core.diagnostics import CutuneError
from cutune.core.processes import awaited
from cutune.core.temporary import temporary_folder
from cutune.emulator.launch_log import LaunchRecord, read_launches
from cutune.measure.program_runs import Run
from cutune.measure.replay.counted_launch import counted_launch, static_counters
from cutune.model.measurement.measurement import Origin
from cutune.model.performance.constants import NEAR_BEST
from cutune.search.regions import FailedRun, MeasuredRun, Settings, measure_run
from cutune.search.techniques.registry import TECHNIQUES, search
from cutune.search.techniques.tries import Allowance, Rows, Timed, Tries
from cutune.search.trial_runs import EMULATED, Measuring, TrialRuns
from cutune.space.space import Configuration, Space
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.nvcc import Nvcc

#: So many of the predicted fastest are tried before all others.
FIRST = 8
#: Configurations that are predicted at each size, and seconds for them.
PREDICTED, SECONDS = 64, 120.0
#: Seconds of a run on the emulated device; a size at which the program takes longer has no start.
RUN_SECONDS = 20.0
#: Variables of the emulated device: the file of its launches, and what is counted.
_LOG, _COUNT = "CUTUNE_LAUNCH_LOG", "CUTUNE_COUNT"


def predicting(how: Measuring, nvcc: Nvcc, device: DeviceProfile) -> Measuring:
    """Settings of trials whose times are predicted."""
    return Measuring(EMULATED, 1, RUN_SECONDS, how.rules, partial(_predicted, nvcc, device))


def predicted_first(
    trials: TrialRuns, run: Run, space: Space, seconds: float = SECONDS
) -> list[Configuration]:
    """The predicted fastest of a size, the first one first; none where the program fails."""
    if awaited(trials.crew.submit(lambda: trials.reference(run).fails, bool)):
        return []

    def timed(configuration: Configuration) -> Timed:
        ended = trials.timed(run, configuration, is_search=True)
        time = ended.milliseconds(trials.program.tunables)
        return Timed(time if time is not None and isfinite(time) else None, ended.has_run)

    def expected(some: Iterable[Configuration]) -> None:
        trials.expect(run, some, is_search=True)

    tries = Tries(space, timed, Allowance(PREDICTED, seconds), expected)
    own = trials.own_values(run)
    search(TECHNIQUES[0], tries, tuple(table.closest(own) for table in space.tables))
    trials.forget()
    return [space.of_rows(rows) for rows in shortlist(tries)]


def shortlist(tries: Tries, count: int = FIRST) -> list[Rows]:
    """`count` places with the least times, the least of all first.

    Those that the model does not tell apart are far from each other: one of a kind tells of all.
    """
    times = {rows: time for rows, time in tries.known.items() if time is not None}
    ordered = sorted(times, key=times.__getitem__)
    near = [rows for rows in ordered if times[rows] <= float(NEAR_BEST) * times[ordered[0]]]
    if len(near) < count:
        return ordered[:count]
    places = {rows: _place(tries.space, rows) for rows in near}
    chosen = near[:1]
    while len(chosen) < count:
        apart = {rows: min(_away(places[rows], places[one]) for one in chosen) for rows in near}
        chosen.append(max(near, key=apart.__getitem__))
    return chosen


def _place(space: Space, rows: Rows) -> tuple[float, ...]:
    """Each parameter's value, from 0 for its first to 1 for its last."""
    one = space.of_rows(rows)
    own = [(p.values.index(one[p.name]), len(p.values) - 1) for p in space.parameters]
    return tuple(index / max(1, last) for index, last in own)


def _away(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))


# ---- predicted times of runs on the emulated device


def _predicted(
    nvcc: Nvcc,
    device: DeviceProfile,
    run: Run,
    values: Settings,
    origin: Origin,
    environment: Mapping[str, str],
    **how: Any,
) -> MeasuredRun | FailedRun:
    """Run a program as `measure_run` does, and predict the time of its launches on a device.

    `how`: its further arguments. All launches count, those outside of regions as well: their times
    are added up at the first size of the run. Copies between host and device cost nothing.
    """
    with temporary_folder() as folder:
        log = Path(folder) / "launches.jsonl"
        counting = {**environment, _LOG: str(log), _COUNT: "trace"}
        ran = measure_run(run, values, origin, counting, **how)
        if isinstance(ran, FailedRun):
            return ran
        text_of = cache(_text)  # Many launches are of one module.
        total = sum(
            _microseconds(text_of(launch.module), launch, nvcc, device)
            for launch in read_launches(log)
        )
    times = (
        replace(one, milliseconds=0.0 if index else total / 1000)
        for index, one in enumerate(ran.measured)
    )
    return replace(ran, measured=tuple(times))


def _text(path: str) -> str:
    return Path(path).read_text(encoding="latin-1")


def _microseconds(ptx: str, launch: LaunchRecord, nvcc: Nvcc, device: DeviceProfile) -> float:
    """The predicted time; infinite where counters do not tell all that the kernel does."""
    try:
        static = static_counters(nvcc, ptx, device.architecture)
    except CutuneError:  # It may be made for newer devices.
        return inf
    counted = counted_launch(ptx, launch, static)
    return inf if counted is None else counted.microseconds(device)

"""Predicted times of runs. Takes a run on the emulated device, gives what the model says of it.

All launches of the program count, those outside of regions as well: their times are added up at the
first size of the run. Copies between host and device cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

from cutune.core.diagnostics import CutuneError
from cutune.core.temporary import temporary_folder
from cutune.emulator.launch_log import LaunchRecord, read_launches
from cutune.measure.program_runs import Run
from cutune.measure.replay.counted_launch import counted_launch, static_counters
from cutune.model.measurement.measurement import Origin
from cutune.search.regions import FailedRun, MeasuredRun, Settings, measure
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.nvcc import Nvcc

#: Variables of the emulated device: the file of its launches, and what is counted.
_LOG, _COUNT = "CUTUNE_LAUNCH_LOG", "CUTUNE_COUNT"


def predicted(
    nvcc: Nvcc,
    device: DeviceProfile,
    run: Run,
    values: Settings,
    origin: Origin,
    environment: Mapping[str, str],
    *further: Any,
) -> MeasuredRun | FailedRun:
    """Run a program as `measure` does, and predict the time of its launches on a device."""
    with temporary_folder() as folder:
        log = Path(folder) / "launches.jsonl"
        counting = {**environment, _LOG: str(log), _COUNT: "trace"}
        ran = measure(run, values, origin, counting, *further)
        if isinstance(ran, FailedRun):
            return ran
        text_of = cache(_text)  # Many launches are of one module.
        each = ((text_of(launch.module), launch) for launch in read_launches(log))
        total = sum(_microseconds(*one, nvcc, device) for one in each) / 1000
    times = (
        replace(one, milliseconds=0.0 if index else total) for index, one in enumerate(ran.measured)
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

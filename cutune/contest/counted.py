"""Warp instructions in place of times, where there is no GPU. Runs a program, gives how many.

They are no time and stand for none: what they are good for is to see searches at work. All kernels
of a run are counted, also those outside of its regions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cutune.collect.run import Run
from cutune.core.temporary import temporary_folder
from cutune.emulator.launch_log import read_launches
from cutune.fit.measurement.measurement import Origin
from cutune.search.regions import FailedRun, HostMeasurement, MeasuredRun, Settings, measure

#: In the name of the device, wherever such numbers stand in the place of milliseconds.
UNIT = "warp instructions"
DEVICE = f"the emulated device, {UNIT}"
#: Where trials of this kind are kept in a workspace: not among those with times.
COUNTED = "counted.jsonl"
#: Variable that names the file of its launches.
_LOG = "CUTUNE_LAUNCH_LOG"


def counted(
    run: Run, values: Settings, origin: Origin, environment: Mapping[str, str], *further: Any
) -> MeasuredRun | FailedRun:
    """As `measure`, on the emulated device of this machine."""
    with temporary_folder() as folder:
        log = Path(folder) / "launches.jsonl"
        found = measure(run, values, origin, {**environment, _LOG: str(log)}, *further)
        if isinstance(found, FailedRun):
            return found
        total = float(sum(launch.warp_instructions for launch in read_launches(log)))
    return replace(found, measured=tuple(_with(found.measured, total)))


def _with(measured: tuple[HostMeasurement, ...], total: float) -> list[HostMeasurement]:
    """What a run took as a whole is that of its first size."""
    costs = [total, *[0.0] * (len(measured) - 1)]
    return [
        replace(one, device=DEVICE, milliseconds=cost)
        for one, cost in zip(measured, costs, strict=False)
    ]

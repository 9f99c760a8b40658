"""Warp instructions in place of times, where there is no GPU. Runs a program, gives how many.

They stand for no time: they only let searches be seen at work. All kernels of a run are counted,
also those outside of its regions.
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
from cutune.search.regions import FailedRun, MeasuredRun, Settings, measure

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
    """Run a program as `measure` does, on the emulated device of this machine.

    The count of the whole run stands at its first size.
    """
    with temporary_folder() as folder:
        log = Path(folder) / "launches.jsonl"
        ran = measure(run, values, origin, {**environment, _LOG: str(log)}, *further)
        if isinstance(ran, FailedRun):
            return ran
        total = float(sum(launch.warp_instructions for launch in read_launches(log)))
    counts = (
        replace(one, device=DEVICE, milliseconds=0.0 if index else total)
        for index, one in enumerate(ran.measured)
    )
    return replace(ran, measured=tuple(counts))

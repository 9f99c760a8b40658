"""Races that a program has with its own blocks. Takes one run of it, gives what was found.

Where the results of a block differ from the original's, either the block is wrong, or the
original's own results depend on the order of its threads, so that there is nothing to compare
with. The checker of the emulated device finds such races.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from cutune.collect.run import Run, run_program
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.temporary import temporary_folder
from cutune.device.profile import DeviceProfile
from cutune.emulator.findings import Finding, read_findings
from cutune.emulator.run import device_environment

#: The checker takes many times as long as the program alone.
CHECK_SECONDS = 60
_RACES = frozenset({Code.SHARED_RACE, Code.GLOBAL_RACE, Code.BLOCK_RACE, Code.DIVERGED_RACE})


def races_with_own_blocks(run: Run, device: DeviceProfile) -> Mapping[str, Finding]:
    """Run the instrumented program as it is; the first race of each kernel that has one, by name.

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

"""Programs for tests of comparisons: shell scripts, which need no compiler."""

from __future__ import annotations

from pathlib import Path

from cutune.check.verify import Conditions
from cutune.measure.program_runs import Run, plan_runs

#: As on a GPU: nothing stands between a program and the machine.
PLAIN = Conditions(None)


def script(path: Path, text: str) -> Path:
    """An executable file of these lines."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def runs(program: Path, *sizes: str) -> list[Run]:
    """The program run at these sizes."""
    return plan_runs("./{program} {n}", {"n": sizes or ("1",)}, program)

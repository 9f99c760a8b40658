"""The outcome of a run of a program. Takes a run and a place, gives status, output and files.

Programs run on the emulated device or on a GPU, as their user would run them: variables of cutune
that are set here do not reach them.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.processes import run_to_end
from cutune.core.temporary import temporary_folder
from cutune.emulator.launch_log import Triple, read_launches
from cutune.emulator.run import device_environment, program_environment
from cutune.measure.program_runs import Run
from cutune.toolchain.device.profile import DeviceProfile

#: Variables that change the choices of a tuned program.
_OWN_VARIABLES = ("CUTUNE", "CUTUNE_MODE", "CUTUNE_REFINE_FILE", "CUTUNE_SEED", "CUTUNE_VARIANT")
LONGEST_SECONDS = 600.0
STANDARD_OUTPUT, STANDARD_ERROR = "standard output", "standard error"
#: Most launches that are logged per kernel and launch site.
_LOGGED_LAUNCHES = 100

#: A kernel and its configuration.
Configured = tuple[str, Triple, Triple]


@dataclass(frozen=True)
class RunPlace:
    """Where programs run, and which files they write. `device`: emulated; None is the GPU."""

    device: DeviceProfile | None
    files: tuple[str, ...] = ()
    #: Threads of the host that one emulated launch may use; None: all.
    threads: int | None = None


@dataclass(frozen=True)
class RunOutcome:
    """The end of a run: `contents` of output and files, by their names in messages.

    `status` is None after a time-out. `launches`: the configurations that were launched, on the
    emulated device.
    """

    status: int | None
    contents: Mapping[str, bytes]
    seconds: float = 0.0
    launches: frozenset[Configured] = field(default_factory=frozenset)


def outcome_of(
    run: Run,
    place: RunPlace,
    variables: Mapping[str, str] | None = None,
    limit_seconds: float = LONGEST_SECONDS,
) -> RunOutcome:
    """Run a program to its end or to the time limit. Raises CT441 when it cannot be started."""
    for path in place.files:
        # Otherwise a file of an earlier run would count, although this run does not write it.
        Path(path).unlink(missing_ok=True)
    with temporary_folder() as folder:
        log = Path(folder) / "launches.jsonl"
        environment = {**_environment(run, place, Path(folder), log), **(variables or {})}
        started = time.monotonic()
        ended = run_to_end(run.command, environment, limit_seconds)
        if ended.not_started:
            path, reason = run.command[0], ended.not_started
            raise CutuneError.at(Code.NOT_RUN, path=path, reason=reason)
        seconds = time.monotonic() - started
        launches = frozenset((one.kernel, one.grid, one.block) for one in read_launches(log))
    contents = {STANDARD_OUTPUT: ended.output, STANDARD_ERROR: ended.errors}
    contents |= {f"'{path}'": _content(path) for path in place.files}
    named = {name: _without_program(content, run) for name, content in contents.items()}
    return RunOutcome(ended.status, named, seconds, launches)


def _environment(run: Run, place: RunPlace, folder: Path, log: Path) -> dict[str, str]:
    environment = {k: v for k, v in os.environ.items() if k not in _OWN_VARIABLES}
    if place.device is not None:
        emulated = program_environment(Path(run.command[0]))
        environment |= {k: v for k, v in emulated.items() if k not in _OWN_VARIABLES}
        environment |= device_environment(place.device, folder)
        environment["CUTUNE_PYTHON"] = sys.executable
        environment["CUTUNE_LAUNCH_LOG"] = str(log)
        environment["CUTUNE_LOG_LIMIT"] = str(_LOGGED_LAUNCHES)
        # Times are no results: what the original prints of them varies by itself, as on a GPU.
        environment["CUTUNE_CLOCK_SEED"] = str(1 + secrets.randbelow(2**32))
        if place.threads is not None:
            environment.setdefault("CUTUNE_EMULATOR_THREADS", str(place.threads))
    return {**environment, **run.environment}


def _without_program(content: bytes, run: Run) -> bytes:
    """The text without the path of the program, in which two programs differ."""
    words = {run.command[0], run.program, os.path.abspath(run.program)} if run.program else ()
    for word in sorted(words, key=len, reverse=True):
        if os.sep in word:
            content = re.sub(re.escape(word.encode()) + rb"(?![\w./-])", b"{program}", content)
    return content


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""

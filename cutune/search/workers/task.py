"""Runs of programs on workers. A `Task` gives a `TaskOutcome`; both travel as JSON.

`Workers` starts a `Worker` for each of its places, again where one is lost.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from cutune.core.processes import ProgramResult, run_to_end
from cutune.core.temporary import temporary_folder

#: The variable that names the file to which an instrumented program writes its regions.
OUTPUT = "CUTUNE_OUTPUT"


@dataclass(frozen=True)
class Task:
    """One run of a program in a folder, with variables besides the worker's own."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    seconds: float
    folder: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(line: str | bytes) -> Task:
        entry = json.loads(line)
        return Task(**{**entry, "command": tuple(entry["command"])})


@dataclass(frozen=True)
class TaskOutcome:
    """The end of a task, the lines of its regions, and the seconds that it took."""

    ended: ProgramResult
    log: str
    seconds: float

    def to_json(self) -> str:
        # A character for each byte.
        return json.dumps(asdict(self), default=lambda stream: stream.decode("latin-1"))

    @staticmethod
    def from_json(line: str | bytes) -> TaskOutcome:
        entry = json.loads(line)
        streams = {n: entry["ended"][n].encode("latin-1") for n in ("output", "errors")}
        return TaskOutcome(
            ProgramResult(**{**entry["ended"], **streams}), entry["log"], entry["seconds"]
        )


def perform(task: Task) -> TaskOutcome:
    """Run a task in a process of its own, until it ends or its time is over."""
    try:
        os.chdir(task.folder)
    except OSError as error:
        return TaskOutcome(
            ProgramResult(None, not_started=f"{task.folder}: {error.strerror}"), "", 0.0
        )
    with temporary_folder() as folder:
        log = Path(folder) / "regions.jsonl"
        began = time.monotonic()
        environment = {**os.environ, **task.environment, OUTPUT: str(log)}
        ended = run_to_end(task.command, environment, task.seconds)
        took = time.monotonic() - began
        return TaskOutcome(ended, log.read_text() if log.exists() else "", took)


class WorkerLostError(Exception):
    """A worker, and the program that it ran, has ended or does not answer."""


class NoWorkerError(WorkerLostError):
    """No worker comes to a place, and none will."""


class StoppedError(Exception):
    """A worker was closed while it ran something."""


class Worker(Protocol):
    """Runs one task at a time."""

    @property
    def gpus(self) -> Sequence[str]:
        """The names of the GPUs that its programs may use."""

    @property
    def is_alive(self) -> bool:
        """May it be given a task?"""

    def run(self, task: Task) -> TaskOutcome:
        """Run a task to its end. Raises WorkerLostError, or StoppedError where it was closed."""

    def close(self) -> None:
        """End the worker, and the program that it runs."""


class Workers(Protocol):
    """A source of workers, one per place."""

    @property
    def size(self) -> int:
        """The number of places."""

    def start(self, place: int) -> Worker:
        """Start a worker at a place, from 0 on. Raises NoWorkerError, or as `Worker.run`."""

    def close(self) -> None:
        """End all of them."""

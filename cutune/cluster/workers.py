"""The protocol of workers: `Workers` starts a `Worker` for each place, again where one is lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from cutune.cluster.task import Task, TaskOutcome


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
        """Run a task to its end.

        Raises:
            WorkerLostError: the worker has ended.
            StoppedError: the worker was closed meanwhile.
        """

    def close(self) -> None:
        """End the worker, and the program that it runs."""


class Workers(Protocol):
    """A source of workers, one per place."""

    @property
    def size(self) -> int:
        """The number of places."""

    def start(self, place: int) -> Worker:
        """Start a worker at a place, from 0 on.

        Raises:
            WorkerLostError: it ends at once; NoWorkerError: there is none.
            StoppedError: all was closed meanwhile.
        """

    def close(self) -> None:
        """End all of them."""

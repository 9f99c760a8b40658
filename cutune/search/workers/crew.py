"""Runs jobs on workers. Takes jobs, gives their results: one job in flight per worker.

`Workers` starts a `Worker` for each of its places, again where one is lost. A job runs in a thread
of its worker and has tasks performed there: runs of programs. A `Task` gives a `TaskOutcome`; both
travel as JSON. Where the worker is lost, another takes its place, and the job is done once more.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Condition, Thread, local
from typing import Any, Protocol, TypeVar

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn
from cutune.core.processes import ProgramResult, run_to_end
from cutune.core.temporary import temporary_folder

#: The variable that names the file to which an instrumented program writes its regions.
OUTPUT = "CUTUNE_OUTPUT"


@dataclass(frozen=True)
class Task:
    """A program that a worker runs, in a folder, for so many seconds at most."""

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


T = TypeVar("T")
#: So often a job is begun.
ATTEMPTS = 2
#: A place where so many workers in turn were lost before any has done a job is given up.
MOST_LOST = 4


@dataclass
class _Job:
    """A function to call; `otherwise` gives the result where each attempt has lost its worker."""

    run: Callable[[], Any]
    otherwise: Callable[[], Any]
    future: Future[Any]
    attempts: int = 0


@dataclass
class Crew:
    """Threads with a worker each, all with the same GPUs, and the jobs that wait for them."""

    workers: Workers
    warn: Warn
    is_ending: bool = False
    gpus: Sequence[str] | None = None
    _waiting: deque[_Job] = field(default_factory=deque)
    _changed: Condition = field(default_factory=Condition)
    _here: local = field(default_factory=local)
    _at_work: dict[int, Worker] = field(default_factory=dict)
    _threads: list[Thread] = field(default_factory=list)
    _error: BaseException | None = None
    _places: int = 0

    def start(self) -> Crew:
        """Start the threads; a worker is started when there is something to do."""
        self._places = self.workers.size
        # Daemons: where this process is told to end at once, it does.
        self._threads += [
            Thread(target=self._work, args=(place,), daemon=True) for place in range(self._places)
        ]
        for thread in self._threads:
            thread.start()
        return self

    def submit(self, run: Callable[[], T], otherwise: Callable[[], T]) -> Future[T]:
        job = _Job(run, otherwise, Future())
        with self._changed:
            if self._error is not None or self.is_ending:
                job.future.set_exception(self._error or StoppedError())
            else:
                self._waiting.append(job)
                self._changed.notify_all()
        return job.future

    def perform(self, task: Task) -> TaskOutcome:
        """Run a task on the worker of the job that asks for it. Raises as `Worker.run`."""
        worker: Worker = self._here.worker
        return worker.run(task)

    def forget(self) -> None:
        self._refuse(StoppedError())

    def close(self) -> None:
        with self._changed:
            self.is_ending = True
            self._changed.notify_all()
            at_work = list(self._at_work.values())
        self.forget()
        for worker in at_work:
            worker.close()
        self.workers.close()
        for thread in self._threads:
            thread.join()

    def _work(self, place: int) -> None:
        """Do jobs until there is an end, an error, or no worker at this place."""
        lost = 0
        while self._is_needed():
            job = None
            try:
                # Before the job is taken: a worker may be long in coming, and others have theirs.
                self._here.worker = self._worker(place)
                job = self._next()
                if job is not None:
                    job.attempts += 1
                    job.future.set_result(job.run())
                    lost = 0
            except WorkerLostError as error:
                lost += 1
                self._drop(place)
                if job is not None:
                    self._again(job)
                if lost >= MOST_LOST or isinstance(error, NoWorkerError):
                    self._give_up(error)
                    return
                if not self.is_ending:
                    self.warn(Diagnostic.at(Code.WORKER_LOST, name=error))
            except BaseException as error:
                if job is not None:
                    job.future.set_exception(error)
                self._end(error)
                return

    def _is_needed(self) -> bool:
        """Wait until there is something to do; return False at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self.is_ending)
            return not self.is_ending

    def _next(self) -> _Job | None:
        """Take the job that has waited longest; None where others were quicker."""
        with self._changed:
            while self._waiting and not self.is_ending:
                job = self._waiting.popleft()
                if _is_wanted(job):
                    return job
        return None

    def _worker(self, place: int) -> Worker:
        worker = self._at_work.get(place)
        if worker is not None and worker.is_alive:
            return worker
        self._drop(place)
        worker = self.workers.start(place)
        with self._changed:
            self._at_work[place] = worker
            alike = self.gpus = worker.gpus if self.gpus is None else self.gpus
        if self.is_ending:
            worker.close()
            raise StoppedError
        if {*worker.gpus} != {*alike}:
            names = ", ".join(sorted({*worker.gpus, *alike}))
            raise CutuneError.at(Code.DIFFERENT_GPUS, names=names)
        return worker

    def _drop(self, place: int) -> None:
        with self._changed:
            lost = self._at_work.pop(place, None)
        if lost is not None:
            lost.close()

    def _again(self, job: _Job) -> None:
        with self._changed:
            is_dropped = self.is_ending
            if not is_dropped and job.attempts < ATTEMPTS:
                self._waiting.appendleft(job)
                self._changed.notify_all()
                return
        if is_dropped:
            job.future.set_exception(self._error or StoppedError())
        else:
            job.future.set_result(job.otherwise())

    def _give_up(self, error: WorkerLostError) -> None:
        """Go on without this place; the last one ends everything."""
        with self._changed:
            self._places -= 1
            left = self._places
        if left == 0:
            self._end(CutuneError.at(Code.NO_WORKER_LEFT, reason=error))
        elif not self.is_ending:
            self.warn(Diagnostic.at(Code.FEWER_WORKERS, reason=error, count=left))

    def _end(self, error: BaseException) -> None:
        with self._changed:
            self._error = self._error or error
            self.is_ending = True
            self._changed.notify_all()
        self._refuse(error)

    def _refuse(self, error: BaseException) -> None:
        with self._changed:
            dropped = [*self._waiting]
            self._waiting.clear()
        for job in filter(_is_wanted, dropped):
            job.future.set_exception(error)


def _is_wanted(job: _Job) -> bool:
    """Is it running again, or was it not cancelled before it began?"""
    return job.future.running() or job.future.set_running_or_notify_cancel()

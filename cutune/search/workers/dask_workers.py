"""Workers of dask. Takes a scheduler's address, or GPUs of this machine, gives `Workers`.

Each worker gets one task at a time, and only from here: dask would blame all tasks that wait for a
worker for its death. In the worker a process of its own runs the program, as on this machine.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Lock
from typing import Any

import distributed

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.search.workers.crew import (
    NoWorkerError,
    StoppedError,
    Task,
    TaskOutcome,
    WorkerLostError,
)
from cutune.search.workers.local import LocalWorker, one_gpu

#: A worker has to come within so many seconds, unless it waits for a job.
PATIENCE_SECONDS = 60.0
#: The period of checks whether a worker is still there.
_LOOK_SECONDS = 0.5
_WAIT_SECONDS = 0.2

# ---- within a worker of dask

_RUNNERS: dict[int, LocalWorker] = {}
#: A worker may have several threads, but has one GPU.
_ALONE = Lock()


def _runner() -> LocalWorker:
    known = _RUNNERS.get(os.getpid())
    if known is None or not known.is_alive:
        known = _RUNNERS[os.getpid()] = LocalWorker("of dask", {})
    return known


def gpus_seen() -> list[str]:
    with _ALONE:
        return list(_runner().gpus)


def performed(line: str) -> str:
    """Run a task; both it and its outcome are JSON."""
    with _ALONE:
        return _runner().run(Task.from_json(line)).to_json()


def stopped() -> None:
    known = _RUNNERS.get(os.getpid())
    if known is not None:
        known.close()


# ---- here


@dataclass
class DaskWorker:
    """One worker of a dask cluster, by its address."""

    workers: DaskWorkers
    address: str
    gpus: Sequence[str] = ()
    _is_closed: bool = False

    @property
    def is_alive(self) -> bool:
        return not self._is_closed and self.address in self.workers.present()

    def run(self, task: Task) -> TaskOutcome:
        return TaskOutcome.from_json(self.call(performed, task.to_json()))

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        with suppress(Exception):  # it is gone, or the scheduler is
            if self.address in self.workers.present():
                # In its event loop: its thread is busy.
                self.workers.client.run(stopped, workers=[self.address], on_error="ignore")
        self.workers.free(self.address)

    def call(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Call a function there. Raises CT843 for another cutune, or as `run`."""
        try:
            # The function is sent by its name: the worker has to have it.
            future = self.workers.client.submit(
                function, *arguments, workers=[self.address], pure=False, retries=0
            )
            return self._result(future)
        except (ModuleNotFoundError, AttributeError) as error:
            code = Code.WORKER_WITHOUT
            raise CutuneError.at(code, name=self.address, reason=error) from error
        except (WorkerLostError, StoppedError, OSError, RuntimeError, CancelledError) as error:
            # KilledWorker and CommClosedError are among these: whatever it is, there is no answer.
            if self._is_closed:
                raise StoppedError from error
            raise WorkerLostError(self.address) from error

    def _result(self, future: Any) -> Any:
        ended = Event()
        future.add_done_callback(lambda _: ended.set())
        while not ended.wait(_LOOK_SECONDS):
            if self._is_closed or self.address not in self.workers.present():
                future.cancel()
                raise WorkerLostError(self.address)
        return future.result()


@dataclass
class DaskWorkers:
    """The workers of a scheduler.

    `cluster` has started them, and is closed with them; None: they are someone else's. A worker is
    waited for `patience` seconds; meanwhile `wait` is called.
    """

    client: Any
    size: int
    cluster: Any = None
    patience: float = PATIENCE_SECONDS
    wait: Callable[[], None] = lambda: None
    _taken: set[str] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)
    _is_closed: bool = False

    def start(self, place: int) -> DaskWorker:
        last = time.monotonic() + self.patience
        while True:
            if self._is_closed:
                raise StoppedError
            with self._lock:
                idle = sorted({*self.present()} - self._taken)
                self._taken.update(idle[:1])
            if idle:
                worker = DaskWorker(self, idle[0])
                worker.gpus = worker.call(gpus_seen)
                return worker
            if time.monotonic() > last:
                raise NoWorkerError(f"none that is idle came within {self.patience:g} s")
            self.wait()
            time.sleep(_WAIT_SECONDS)

    def present(self) -> Sequence[str]:
        """Return the addresses of all workers of the scheduler; none where it is gone."""
        try:
            return list(self.client.nthreads())
        except (OSError, RuntimeError, TimeoutError, CancelledError):
            return []

    def free(self, address: str) -> None:
        with self._lock:
            self._taken.discard(address)

    def close(self) -> None:
        self._is_closed = True
        with suppress(Exception):
            self.client.close()
        if self.cluster is not None:
            with suppress(Exception):
                self.cluster.close()


def connected(address: str) -> DaskWorkers:
    """Connect to a scheduler. Raises CT844 where it does not answer, CT839 without a worker."""
    try:
        client = distributed.Client(address, timeout=PATIENCE_SECONDS / 2, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        code, reason = Code.NO_SCHEDULER, str(error) or "no answer"
        raise CutuneError.at(code, address=address, reason=reason) from error
    try:
        client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
    except TimeoutError as error:
        client.close()
        reason = f"none came to {address} within {PATIENCE_SECONDS:g} s"
        raise CutuneError.at(Code.NO_WORKER_LEFT, reason=reason) from error
    return DaskWorkers(client, len(client.nthreads()))


def own_workers(gpus: Sequence[str]) -> DaskWorkers:
    """Start a scheduler on this machine, with a worker for each GPU."""
    # Who reaches a scheduler may run anything: from other machines nobody reaches it.
    here, quiet = {"host": "127.0.0.1"}, {"silence_logs": logging.ERROR}
    usual = {**here, **quiet, "nthreads": 1, "memory_limit": 0}
    workers = {
        number: {"cls": distributed.Nanny, "options": {**usual, "env": one_gpu(gpu)}}
        for number, gpu in enumerate(gpus)
    }
    scheduler = {"cls": distributed.Scheduler, "options": {**here, "dashboard": False}}
    cluster = distributed.SpecCluster(workers=workers, scheduler=scheduler, **quiet)
    return DaskWorkers(distributed.Client(cluster, set_as_default=False), len(gpus), cluster)

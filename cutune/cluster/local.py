"""Workers on this machine, and its GPUs. Takes names of GPUs, gives `Workers`.

Each worker is a process, with a task per line of its input and an outcome per line of its output.
The process leads a group, which ends with its input: whoever gives it tasks may be killed, and no
program goes on running on its GPU.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from threading import Lock, Timer

import cutune
from cutune.cluster.gpus import VISIBLE
from cutune.cluster.runner import serve_tasks
from cutune.cluster.task import Task, TaskOutcome
from cutune.cluster.workers import StoppedError, WorkerLostError

#: A worker begins, or says that a program's time is over, within so many seconds, or it is lost.
ANSWER_SECONDS = 120.0
_ROOT = Path(cutune.__file__).parents[1]
_SERVE = f"from {serve_tasks.__module__} import serve_tasks; serve_tasks()"
#: The folder where cutune is called is no place for packages, but cutune itself may lie anywhere.
_COMMAND = (sys.executable, "-P", "-c", f"import sys; sys.path.append({str(_ROOT)!r}); {_SERVE}")


class LocalWorker:
    """A process that runs `serve_tasks`."""

    def __init__(self, name: str, environment: Mapping[str, str]) -> None:
        """Start it.

        Raises:
            WorkerLostError: it does not begin.
        """
        self.name = name
        self.process = subprocess.Popen(
            _COMMAND,
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # A group of its own, which ends at once; Ctrl-C is for whoever gives tasks.
            start_new_session=True,
        )
        self._lock, self._is_closed, self._is_stopped = Lock(), False, False
        self.gpus: Sequence[str] = json.loads(self._answer(ANSWER_SECONDS))["gpus"]

    @property
    def is_alive(self) -> bool:
        """Does the process run?"""
        return not self._is_closed and self.process.poll() is None

    def run(self, task: Task) -> TaskOutcome:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(task.to_json().encode() + b"\n")
            self.process.stdin.flush()
        except (OSError, ValueError):  # it has ended; its input was closed
            self._lose()
        return TaskOutcome.from_json(self._answer(task.seconds + ANSWER_SECONDS))

    def close(self) -> None:
        self._is_stopped = True
        self._end()

    def _answer(self, seconds: float) -> bytes:
        assert self.process.stdout is not None
        # What was stopped (SIGSTOP), or waits for a disk that is gone, never answers.
        timer = Timer(seconds, self._end)
        timer.daemon = True
        timer.start()
        try:
            line = self.process.stdout.readline()
        finally:
            timer.cancel()
        if not line.endswith(b"\n"):
            self._lose()
        return line

    def _lose(self) -> None:
        self._end()
        raise StoppedError if self._is_stopped else WorkerLostError(self.name)

    def _end(self) -> None:
        """End its group: a program whose worker was killed would run on."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, SIGKILL)
            self.process.wait()


@dataclass(frozen=True)
class LocalWorkers:
    """A worker for each GPU that is named; none: one for what this process sees.

    Attributes:
        gpus: as `CUDA_VISIBLE_DEVICES` may name them.
    """

    gpus: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return max(1, len(self.gpus))

    def start(self, place: int) -> LocalWorker:
        if not self.gpus:
            return LocalWorker("this machine", {})
        return LocalWorker(f"GPU {self.gpus[place]}", one_gpu(self.gpus[place]))

    def close(self) -> None:
        """Nothing is left where each worker was closed."""


def one_gpu(gpu: str) -> dict[str, str]:
    """Return variables with which a program sees only this GPU, numbered as by nvidia-smi."""
    return {VISIBLE: gpu, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}

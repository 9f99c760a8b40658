"""Workers on this machine, and its GPUs. Takes names of GPUs, gives `Workers`.

Each worker is a process, with a task per line of its input and an outcome per line of its output.
The process leads a group, which ends with its input: whoever gives it tasks may be killed, and no
program goes on running on its GPU.
"""

from __future__ import annotations

import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL
from threading import Lock, Thread, Timer

import cutune
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.processes import run_to_end
from cutune.core.temporary import discard
from cutune.search.workers.crew import StoppedError, Task, TaskOutcome, WorkerLostError, perform

VISIBLE = "CUDA_VISIBLE_DEVICES"
#: So long the driver is asked for its GPUs.
_ASKED_SECONDS = 60.0
#: `GPU 0: NVIDIA H200 (UUID: GPU-0123)`.
_LISTED = re.compile(r"GPU \d+: (.*?)(?: \(UUID: (.*)\))?$")


def gpus_here() -> list[tuple[str, str]]:
    if shutil.which("nvidia-smi") is None:
        return []
    ended = run_to_end(["nvidia-smi", "-L"], os.environ, _ASKED_SECONDS)
    matches = map(_LISTED.match, ended.output_text.splitlines())
    return [(match[1], match[2] or "") for match in matches if match is not None]


def gpu_names() -> list[str]:
    return [name for name, _ in gpus_here()]


def visible_gpus(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the names of those that this process may use; a part of a GPU has its name."""
    listed = gpus_here()
    words = [word for word in environment.get(VISIBLE, "").split(",") if word]
    named = [name for word in words if (name := _named(word, listed)) is not None]
    return named if words and len(named) == len(words) else [name for name, _ in listed]


def _named(word: str, listed: Sequence[tuple[str, str]]) -> str | None:
    if word.isascii() and word.isdigit():
        return listed[int(word)][0] if int(word) < len(listed) else None
    return next((name for name, uuid in listed if uuid.startswith(word)), None)


def check_gpus(words: Sequence[str]) -> None:
    """Raise CT421 where this machine has no GPU, CT838 where one of `--gpus` is not there."""
    listed = gpu_names()
    if not listed:
        raise CutuneError.at(Code.REGIONS_NEED_GPU)
    for word in words:
        if word.isdigit() and int(word) >= len(listed):
            names = ", ".join(f"{number} ({name})" for number, name in enumerate(listed))
            raise CutuneError.at(Code.NO_SUCH_GPU, number=word, known=names)


def serve_tasks() -> None:
    """Write which GPUs there are, then run the tasks that are read."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    Thread(target=_read, args=(lines,), daemon=True).start()
    print(json.dumps({"gpus": visible_gpus()}), flush=True)
    while True:
        print(perform(Task.from_json(lines.get())).to_json(), flush=True)


def _read(lines: queue.SimpleQueue[bytes]) -> None:
    """Hand on tasks; at the end of the input end everything, a running program as well."""
    for line in sys.stdin.buffer:
        lines.put(line)
    discard()
    os.killpg(0, signal.SIGKILL)


#: A worker begins, or says that a program's time is over, within so many seconds, or it is lost.
ANSWER_SECONDS = 120.0
_ROOT = Path(cutune.__file__).parents[1]
_SERVE = f"from {serve_tasks.__module__} import serve_tasks; serve_tasks()"
#: The folder where cutune is called is no place for packages, but cutune itself may lie anywhere.
_COMMAND = (sys.executable, "-P", "-c", f"import sys; sys.path.append({str(_ROOT)!r}); {_SERVE}")


class LocalWorker:
    """A process that runs `serve_tasks`."""

    def __init__(self, name: str, environment: Mapping[str, str]) -> None:
        """Start it. Raises WorkerLostError where it does not begin."""
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
    """A worker for each GPU of `CUDA_VISIBLE_DEVICES`; without any, one for all."""

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

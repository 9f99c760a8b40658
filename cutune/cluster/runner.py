"""The process of a worker: a task per line of its input, an outcome per line of its output.

It leads a group of processes, which ends with its input: whoever gives it tasks may be killed, and
no program goes on running on its GPU.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
from threading import Thread

from cutune.cluster.gpus import visible_gpus
from cutune.cluster.task import Task, perform
from cutune.core.temporary import discard


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

"""Threads that compile at once, each a kernel of its own."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

import cupy as cp
import numpy as np

COUNT = 4
barrier = Barrier(COUNT)
found: dict[int, Any] = {}
x = cp.asarray(np.arange(5.0))


def work(number: int) -> None:
    kernel = cp.ElementwiseKernel("T x", "T z", f"z = x * {number} + 1", f"times_{number}")
    barrier.wait()
    found[number] = kernel(x).get()


threads = [Thread(target=work, args=(number,)) for number in range(COUNT)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for number in range(COUNT):
    assert (found[number] == x.get() * number + 1).all()
print("all is well")

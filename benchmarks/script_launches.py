"""What a launch costs from Python, own and tuned in turn in one process; on a GPU.

    cutune tune benchmarks/script_launches.py --run 'python3 {script} cupy {n}' --vary n=1000,4000
    python3 -m cutune.tuned benchmarks/script_launches.py cupy 16000 time

Takes `cupy` or `pycuda`, a size, and `time` where tuned launches are to be timed. Own ones are of
the same text with a comment more, which no table of units knows. Each row has the best times of 80
rounds of 300 launches in us, and the median of the differences between neighbouring rounds: a
process has a pace of its own, which two processes do not share.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

KERNELS = Path(__file__).parents[1] / "tests" / "corpus" / "python" / "tuned_kernels.cu"
ROUNDS, LAUNCHES = 80, 300
#: More than any size that is launched.
MOST = 100_000

Launch = Callable[[int], object]
#: By its name, a launch of one size, and one that takes its size.
Launches = dict[str, tuple[Launch, Launch]]


def blocks(count: int, block: int) -> int:
    return -(-count // block)


def wide(size: int) -> int:
    """A width of 8 rows."""
    return size % (MOST // 8) + 1


def hosts() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return np.arange(MOST, dtype=np.float32), np.ones(MOST, np.float32)


def by_cupy(n: int) -> tuple[Callable[[str], Launches], Callable[[], object]]:
    """What loads a text and launches its kernels, and what waits for them."""
    import cupy as cp  # noqa: PLC0415

    x, y = map(cp.asarray, hosts())
    three, eight = np.float32(3), np.int32(8)

    def loaded(text: str) -> Launches:
        module = cp.RawModule(code=f'extern "C" {{\n{text}\n}}\n')
        saxpy, blur = map(module.get_function, ("saxpy", "blur"))
        grid, rows, width = (blocks(n, 32),), (blocks(n // 8, 8), 1), np.int32(n // 8)
        return {
            "saxpy": (
                lambda _: saxpy(grid, (32,), (n, three, x, y)),
                lambda m: saxpy((blocks(m, 32),), (32,), (m, three, x, y)),
            ),
            "blur": (
                lambda _: blur(rows, (8, 8), (x, y, width, eight)),
                lambda m: blur((blocks(wide(m), 8), 1), (8, 8), (x, y, np.int32(wide(m)), eight)),
            ),
        }

    return loaded, cp.cuda.runtime.deviceSynchronize


def by_pycuda(n: int) -> tuple[Callable[[str], Launches], Callable[[], object]]:
    """The same by PyCUDA; with a prepared call, which does less before it launches."""
    import pycuda.autoprimaryctx  # noqa: F401, PLC0415
    import pycuda.driver as cuda  # noqa: PLC0415
    from pycuda import gpuarray  # noqa: PLC0415
    from pycuda.compiler import SourceModule  # noqa: PLC0415

    x, y = map(gpuarray.to_gpu, hosts())
    start, end = int(x.gpudata), int(y.gpudata)
    i, three, eight = np.int32, np.float32(3), np.int32(8)
    line, square = (32, 1, 1), (8, 8, 1)

    def loaded(text: str) -> Launches:
        module = SourceModule(text)
        saxpy, blur = map(module.get_function, ("saxpy", "blur"))
        call = module.get_function("saxpy").prepare("ifPP").prepared_call
        grid, rows, many, width = (blocks(n, 32), 1), (blocks(n // 8, 8), 1), i(n), i(n // 8)
        return {
            "saxpy": (
                lambda _: saxpy(many, three, x, y, grid=grid, block=line),
                lambda m: saxpy(i(m), three, x, y, grid=(blocks(m, 32), 1), block=line),
            ),
            "blur": (
                lambda _: blur(x, y, width, eight, grid=rows, block=square),
                lambda m: blur(x, y, i(wide(m)), eight, grid=(blocks(wide(m), 8), 1), block=square),
            ),
            "saxpy, prepared": (
                lambda _: call(grid, line, n, 3.0, start, end),
                lambda m: call((blocks(m, 32), 1), line, m, 3.0, start, end),
            ),
        }

    return loaded, cuda.Context.synchronize


def timed(launch: Launch, sizes: Sequence[int], wait: Callable[[], object]) -> float:
    """Microseconds of a launch, in a queue of many."""
    wait()
    begin = time.perf_counter()
    for size in sizes:
        launch(size)
    return (time.perf_counter() - begin) / len(sizes) * 1e6


def compare(pair: tuple[Launch, Launch], wait: Callable[[], object]) -> str:
    """Time an own and a tuned launch in turn, each round with sizes of its own."""
    times: tuple[list[float], list[float]] = ([], [])
    for number in range(ROUNDS):
        for which in (0, 1) if number % 2 else (1, 0):
            first = (2 * number + which) * LAUNCHES * 7
            sizes = [(first + 7 * k) % (MOST - 9) + 1 for k in range(LAUNCHES)]
            times[which].append(timed(pair[which], sizes, wait))
    differences = [tuned - own for own, tuned in zip(*times, strict=True)]
    return f"{min(times[0]):6.2f} {min(times[1]):6.2f} {median(differences):+6.2f}"


def main(package: str, size: str, *words: str) -> None:
    loaded, wait = {"cupy": by_cupy, "pycuda": by_pycuda}[package](int(size))
    text = KERNELS.read_text()
    tuned = loaded(text)
    for once, _ in tuned.values():
        once(0)
    wait()
    if words:
        own = loaded(f"{text}__global__ void never_launched() {{}}\n")
        for name, launches in tuned.items():
            for kind, *pair in zip(("repeated", "new size"), own[name], launches, strict=True):
                shown = compare((pair[0], pair[1]), wait)
                print(f"{package:6} {name:15} {kind:8} own, tuned, difference: {shown}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

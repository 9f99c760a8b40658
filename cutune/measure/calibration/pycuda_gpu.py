"""A real GPU through pycuda: attributes, and times of kernels. The one place that imports pycuda.

Takes CUDA C++ text and launches, gives microseconds. Without pycuda or without a GPU a diagnostic
says so; everything else in cutune works without both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.toolchain.device.thread_block import Block

#: The GPU spins this long while the timed launches are queued.
SPIN_CYCLES = 120_000
#: A longer launch is timed once.
LONG_US = 2000.0


@dataclass(frozen=True)
class TimedLaunch:
    """A launch of a kernel whose arguments are arrays, followed by 32-bit integers."""

    kernel: str
    grid: Block
    block: Block
    integers: tuple[int, ...]


@contextmanager
def open_gpu(index: int = 0) -> Iterator[Gpu]:
    """The GPU of that number, with a context. Raises CT014 without pycuda, CT015 without a GPU."""
    try:
        from pycuda import driver  # noqa: PLC0415
    except (ImportError, OSError) as error:
        raise CutuneError.at(Code.NO_PYCUDA, reason=error) from error
    try:
        driver.init()
        device = driver.Device(index)
        context = device.make_context()
    except driver.Error as error:
        raise CutuneError.at(Code.NO_GPU, reason=error) from error
    try:
        yield Gpu(driver, device)
    finally:
        context.pop()
        context.detach()


class Gpu:
    """An open GPU."""

    def __init__(self, driver: Any, device: Any) -> None:
        self._driver, self._device = driver, device

    @property
    def name(self) -> str:
        return str(self._device.name())

    @property
    def compute_capability(self) -> tuple[int, int]:
        major, minor = self._device.compute_capability()
        return int(major), int(minor)

    def attribute(self, name: str) -> int:
        """The attribute of this name in the driver's interface, in capitals."""
        return int(self._device.get_attribute(getattr(self._driver.device_attribute, name)))

    def load(self, source: str, architecture: str) -> LoadedKernels:
        """Compile CUDA C++ and load it. Raises CT016 when it does not compile."""
        from pycuda.compiler import SourceModule  # noqa: PLC0415

        try:
            module = SourceModule(source, no_extern_c=True, arch=architecture)
        except self._driver.Error as error:
            raise CutuneError.at(Code.GPU_FAILED, reason=error) from error
        return LoadedKernels(self._driver, module)

    def allocate(self, bytes_each: int, count: int) -> list[Any]:
        """Arrays of zeros, freed when the list is."""
        arrays = [self._driver.mem_alloc(bytes_each) for _ in range(count)]
        for array in arrays:
            self._driver.memset_d32(array, 0, bytes_each // 4)
        return arrays


class LoadedKernels:
    """Kernels of one module, and how long their launches take."""

    def __init__(self, driver: Any, module: Any) -> None:
        self._driver, self._module = driver, module
        self._start, self._end = driver.Event(), driver.Event()
        self._spin = module.get_function("cutune_spin")

    def registers(self, kernel: str) -> int:
        return int(self._module.get_function(kernel).num_regs)

    def microseconds(
        self,
        launch: TimedLaunch,
        arrays: Sequence[Any],
        saved: Sequence[Any] = (),
        touched: Sequence[int] = (),
        repetitions: int = 5,
    ) -> float:
        """The least of several times, by events, after one launch that is not timed.

        The GPU spins while everything is queued: the host's speed does not count. `touched` bytes
        of each array are copied back from `saved` before each launch, so that caches hold what
        they would hold after another kernel has written these arrays.
        """
        function = self._module.get_function(launch.kernel)
        arguments = [*arrays, *(np.int32(value) for value in launch.integers)]
        best = float("inf")
        for repetition in range(repetitions + 1):
            self._spin(np.int64(SPIN_CYCLES), grid=(1, 1, 1), block=(1, 1, 1))
            for array, copy, size in zip(arrays, saved, touched, strict=False):
                if size:
                    self._driver.memcpy_dtod_async(array, copy, size)
            self._start.record()
            function(*arguments, grid=launch.grid, block=launch.block)
            self._end.record()
            self._end.synchronize()
            if repetition:
                best = min(best, 1e3 * float(self._start.time_till(self._end)))
            if repetition and best > LONG_US:
                break
        return best

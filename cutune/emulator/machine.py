"""The 32-lane machine for Python. Takes an assembled module, runs its kernels, gives counters.

Buffers are numpy arrays: a device address is a host address, and only the arrays named in a launch
can be reached. Launches with `ghosts` need no memory at all.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, known_names
from cutune.emulator.build import machine_library
from cutune.emulator.launch_log import site_counters
from cutune.emulator.module_metadata import AssembledModule, KernelCode

SITE = np.dtype([(counter.name, np.uint64) for counter in site_counters()])
"""Counters of a static memory instruction, as `struct Site` of machine.h has them."""

_OUTCOMES = (
    *(None, Code.ILLEGAL_ADDRESS, Code.MISALIGNED_ADDRESS, Code.TRAPPED, Code.FAILED_ASSERTION),
    *(Code.DEADLOCK, Code.INSTRUCTION_LIMIT, Code.UNSUPPORTED_AT_RUN_TIME),
)
#: Totals of a launch, as `struct Report` of the machine and `LaunchCounters` have them.
_TOTALS = (
    *("warp_instructions", "thread_instructions", "executed_blocks"),
    *("working_threads", "leapt_instructions"),
)


class _Allocation(ctypes.Structure):
    _fields_ = (("base", ctypes.c_uint64), ("size", ctypes.c_uint64), ("live", ctypes.c_bool))


class _Launch(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("dynamic_shared_bytes", ctypes.c_uint32),
        ("parameters", ctypes.c_char_p),
        ("blocks", ctypes.c_void_p),
        ("block_count", ctypes.c_uint64),
        ("count", ctypes.c_bool),
        ("trace", ctypes.c_bool),
        ("trace_every", ctypes.c_uint32),
        ("ghost_base", ctypes.c_uint64),
        ("ghost_size", ctypes.c_uint64),
        ("instruction_limit", ctypes.c_uint64),
        ("traced_blocks", ctypes.c_void_p),
        ("traced_block_count", ctypes.c_uint64),
        ("checker", ctypes.c_void_p),
        ("threads", ctypes.c_uint32),
        ("cooperative", ctypes.c_bool),
        ("deadline", ctypes.c_int64),
    )


class _Totals(ctypes.Structure):
    _fields_ = (
        ("outcome", ctypes.c_int32),
        ("message", ctypes.c_char * 1020),
        *((total, ctypes.c_uint64) for total in _TOTALS),
        ("findings", ctypes.c_char * 1024),
    )


class Hazards(Exception):
    """What the checker found in a launch: the begin of a list in JSON."""


@dataclass(frozen=True)
class LaunchCounters:
    """Counters of the executed blocks of a launch.

    Attributes:
        warp_instructions, thread_instructions: executed, by warps and by active lanes.
        executed_blocks: thread blocks.
        working_threads: threads that ran a basic block with an access to global memory.
        block_executions, block_lanes: per basic block of the kernel, warps and active lanes.
        leapt_instructions: warp instructions that were counted without being executed.
        sites: per memory instruction of the kernel, see `SITE`.
    """

    warp_instructions: int
    thread_instructions: int
    executed_blocks: int
    working_threads: int
    block_executions: NDArray[np.uint64]
    block_lanes: NDArray[np.uint64]
    leapt_instructions: int
    sites: NDArray[np.void]


class LoadedModule:
    """A module in the machine's memory, with its variables."""

    def __init__(self, assembled: AssembledModule) -> None:
        self.assembled = assembled
        self._library = _machine()
        error = ctypes.create_string_buffer(400)
        image = assembled.image
        self._handle = self._library.cutune_load(image, len(image), error, len(error))
        if not self._handle:
            reason = error.value.decode()
            raise CutuneError.at(Code.UNSUPPORTED_AT_RUN_TIME, reason=reason)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.cutune_unload(self._handle)

    def kernel(self, name: str) -> KernelCode:
        """Metadata of a kernel. Raises CT452 when the module has no such kernel."""
        kernels = self.assembled.kernels
        if name not in kernels:
            known = known_names(name, kernels)
            raise CutuneError.at(Code.UNKNOWN_KERNEL, name=name, known=known)
        return kernels[name]

    def variable(self, name: str) -> NDArray[np.uint8] | None:
        """The bytes of a variable in global or constant memory; None where there is none."""
        size = ctypes.c_uint64()
        address = self._library.cutune_variable(self._handle, name.encode(), ctypes.byref(size))
        if not address or not size.value:
            return None
        return np.ctypeslib.as_array((ctypes.c_uint8 * size.value).from_address(address))

    def run(
        self,
        kernel: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        parameters: bytes,
        *,
        shared_bytes: int = 0,
        blocks: Sequence[int] | None = None,
        trace: bool = False,
        trace_every: int = 1,
        traced_blocks: Sequence[int] | None = None,
        ghosts: tuple[int, int] | None = None,
        instruction_limit: int = 0,
        buffers: Sequence[NDArray[Any]] = (),
        threads: int | None = None,
        is_checked: bool = False,
        until_found: bool = False,
    ) -> LaunchCounters:
        """Run a launch, or only the given `blocks` (linear indices) of it.

        Args:
            parameters: the parameter buffer; arrays are named by their addresses, see `pointer`.
            shared_bytes: dynamic shared memory.
            trace: look at addresses too; one window of 8 executions out of `trace_every`, in
                `traced_blocks` only if these are given.
            ghosts: base and size of an address range without memory. Loads from it give 0, stores
                to it have no effect.
            instruction_limit: warp instructions of the launch; 0: no limit.
            buffers: arrays that the kernel may access.
            threads: threads of the host that run independent blocks. None: all cores, or
                CUTUNE_EMULATOR_THREADS. Results and counters do not depend on it.
            is_checked: look for races, and for reads of shared memory that nobody wrote.
            until_found: end the launch where the first is found.

        Raises:
            CutuneError: CT452, CT453, or CT46x when the launch did not end well.
            Hazards: what the checker found.
        """
        compiled = self.kernel(kernel)
        if len(parameters) < compiled.parameter_bytes:
            reason = f"{len(parameters)} of {compiled.parameter_bytes} parameter bytes given"
            raise CutuneError.at(Code.BAD_LAUNCH, kernel=kernel, reason=reason)
        chosen = None if blocks is None else np.ascontiguousarray(blocks, np.uint64)
        traced = None if traced_blocks is None else np.unique(np.asarray(traced_blocks, np.uint64))
        launch = _Launch(
            *((ctypes.c_uint32 * 3)(*grid), (ctypes.c_uint32 * 3)(*block)),
            *(shared_bytes, parameters + bytes(16), *_array(chosen)),
            *(True, trace, trace_every, *(ghosts or (0, 0)), instruction_limit, *_array(traced)),
            *(None, host_threads() if threads is None else threads),
        )
        if not is_checked:
            return self._run(compiled, launch, buffers)
        launch.checker = self._library.cutune_checker(until_found)
        try:
            return self._run(compiled, launch, buffers)
        finally:
            self._library.cutune_free_checker(launch.checker)

    def _run(
        self, compiled: KernelCode, launch: _Launch, buffers: Sequence[NDArray[Any]]
    ) -> LaunchCounters:
        spans = [_Allocation(pointer(array), array.nbytes, True) for array in buffers]
        allocations = (_Allocation * len(spans))(*spans)
        executions = np.zeros(self.assembled.block_count, np.uint64)
        lanes = np.zeros(self.assembled.block_count, np.uint64)
        sites = np.zeros(self.assembled.site_count, SITE)
        totals = _Totals()
        self._library.cutune_run(
            *(self._handle, compiled.name.encode(), ctypes.byref(launch)),
            *(allocations, len(spans), ctypes.byref(totals)),
            *(counters.ctypes.data for counters in (executions, lanes, sites)),
        )
        code = _OUTCOMES[totals.outcome]
        if code is not None:
            raise CutuneError.at(code, reason=totals.message.decode())
        if totals.findings not in (b"", b"[]"):
            raise Hazards(totals.findings.decode(errors="replace"))
        blocks = np.array(compiled.block_indices, np.intp)
        return LaunchCounters(
            **{total: getattr(totals, total) for total in _TOTALS},
            block_executions=executions[blocks],
            block_lanes=lanes[blocks],
            sites=sites[np.array(compiled.site_indices, np.intp)],
        )


def _array(numbers: NDArray[np.uint64] | None) -> tuple[int | None, int]:
    """The address and the length of an array, as the machine takes them; None: there is none."""
    return (None, 0) if numbers is None else (numbers.ctypes.data, len(numbers))


def host_threads() -> int:
    """How many threads may run blocks of one launch."""
    named = os.environ.get("CUTUNE_EMULATOR_THREADS", "")
    return int(named) if named.isdigit() else len(os.sched_getaffinity(0))


def pointer(array: NDArray[Any]) -> int:
    """The device address of an array that is among a launch's buffers."""
    return int(array.ctypes.data)


@cache
def _machine() -> ctypes.CDLL:
    library = ctypes.CDLL(str(machine_library()))
    text, address, size = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t
    library.cutune_load.restype = address
    library.cutune_load.argtypes = (text, size, text, size)
    library.cutune_unload.restype = None
    library.cutune_unload.argtypes = (address,)
    library.cutune_variable.restype = ctypes.c_uint64
    library.cutune_variable.argtypes = (address, text, address)
    library.cutune_checker.restype = address
    library.cutune_checker.argtypes = (ctypes.c_bool,)
    library.cutune_free_checker.restype = None
    library.cutune_free_checker.argtypes = (address,)
    library.cutune_run.restype = ctypes.c_bool
    library.cutune_run.argtypes = (address, text, address, address, size, *(address,) * 4)
    return library

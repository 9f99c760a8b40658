"""Counts of micro-kernels: a case of the suite in, a `FittedModel` of exactly that case out.

The emulated device runs a few blocks of every launch. Micro-kernels do the same in all blocks, so
the totals follow from the number of threads that work: constants instead of functions of a size.
"""

from __future__ import annotations

import struct
from fractions import Fraction
from math import prod

from cutune.collect.replay.describe import compiled_kernel
from cutune.collect.replay.replay import Replayer, interior_blocks
from cutune.device.thread_block import grid_of
from cutune.emulator.bytecode.module import KernelCode
from cutune.emulator.launch_log import LaunchRecord, Pointer
from cutune.emulator.machine import LoadedModule
from cutune.evaluation.calibration.suite import ARRAY_WORDS, MicroBenchmark
from cutune.fit.count_functions import CountFunctions, code_totals, loads_and_stores
from cutune.fit.fit import model_of
from cutune.fit.fitted_model import Array, FittedModel
from cutune.fit.measurement.measurement import (
    FEATURES,
    MeasuredKernel,
    Measurement,
    Origin,
)
from cutune.fit.rational.functions import RationalFunction, constant_function
from cutune.toolchain.ptxas import StaticCounters

#: One window of eight executions out of so many is traced in long loops.
LONG_LOOP, WINDOWS = 64, 4


def case_model(module: LoadedModule, case: MicroBenchmark, registers: int) -> FittedModel:
    """Emulate a few blocks of a case with each of its thread blocks.

    Args:
        registers: per thread, as the compiler of the real GPU says.
    """
    code = module.kernel(case.kernel)
    kernel = _kernel(code, case, registers)
    replayer = Replayer(module, code, _record(code, case), kernel)
    every = max(1, case.q // 8 // WINDOWS) if case.q >= LONG_LOOP else 1
    grids = [grid_of(block, case.extents) for block in case.blocks]
    measured = [
        replayer.run(
            FEATURES,
            {},
            block,
            blocks=interior_blocks(kernel, grid, block),
            trace_every=every,
        )
        for block, grid in zip(case.blocks, grids, strict=True)
    ]
    ends = replayer.run(
        FEATURES, {}, case.blocks[0], blocks=sorted({0, prod(grids[0]) - 1}), trace_every=1
    )
    counts = _counts(kernel, case, measured[0], ends)
    return model_of(kernel, counts, (), case.blocks, measured)


def _counts(
    kernel: MeasuredKernel, case: MicroBenchmark, inside: Measurement, ends: Measurement
) -> CountFunctions:
    working = prod(case.extents)
    traced = max(1, inside.working_threads)

    def total(lanes: int) -> RationalFunction:
        return constant_function((), Fraction(lanes * working, traced))

    executed = [site.lanes for site in inside.sites]
    groups = sorted({lanes for lanes in executed if lanes})
    touched = sorted({site.array for site in ends.sites if site.array >= 0})
    arrays = []
    for array in touched:
        sites = [site for site in ends.sites if site.array == array]
        extent = max(site.high for site in sites) - min(site.low for site in sites)
        passes_of_array = loads_and_stores(kernel, [ends], array)
        arrays.append(Array(array, constant_function((), extent), *passes_of_array))
    totals = code_totals(kernel, inside)
    return CountFunctions(
        working=constant_function((), working),
        steps=total(totals.steps),
        instructions=total(totals.instructions),
        double=total(totals.double),
        special=total(totals.special),
        barriers=total(totals.barriers),
        constants=total(totals.constants),
        groups=tuple(total(lanes) for lanes in groups),
        group_of=tuple(groups.index(lanes) if lanes else -1 for lanes in executed),
        arrays=tuple(arrays),
    )


def _kernel(code: KernelCode, case: MicroBenchmark, registers: int) -> MeasuredKernel:
    used = tuple(extent > 1 for extent in case.extents)
    return MeasuredKernel(
        name=case.kernel,
        entry=code.name,
        code="",
        origin=Origin("", ""),
        sites=(),
        parameters=(),
        positions=(),
        fixed_arguments=(),
        free=(used[0], used[1], used[2]),
        guards=(None, None, None),
        variable_extents=(False, False, False),
        original=case.blocks[0],
        max_threads=code.max_threads,
        candidate_set="paper",
        allowed=None,
        asserted=code.static_shared_bytes > 0,
        dynamic_shared_bytes=0,
        rejected=(),
        recorded=(((), case.extents),),
        compiled=compiled_kernel(code, StaticCounters(registers, code.static_shared_bytes)),
    )


def _record(code: KernelCode, case: MicroBenchmark) -> LaunchRecord:
    """The launch as the launch log would have it: three arrays, then the integers."""
    buffer = bytearray(code.parameter_bytes)
    pointers = []
    for index, parameter in enumerate(code.parameters):
        if index < 3:
            pointers.append(Pointer(parameter.offset, 0, 4 * ARRAY_WORDS, 0))
        else:
            struct.pack_into("<i", buffer, parameter.offset, (case.n, case.p, case.q)[index - 3])
    return LaunchRecord(
        sequence=0,
        site=None,
        kernel=code.name,
        module="",
        grid=grid_of(case.blocks[0], case.extents),
        block=case.blocks[0],
        shared=0,
        parameters=bytes(buffer),
        pointers=tuple(pointers),
        warp_instructions=0,
        thread_instructions=0,
        executed_blocks=None,
        working_threads=0,
        blocks=(),
        sites=(),
    )

"""`cutune device --calibrate`: a GPU in, its profile out. Queries, times, emulates, fits.

Takes an open GPU and a compiler. Everything that is timed is in `suite`; the emulated device counts
the work of the timed kernels, so that their times give the cost of a unit of each kind of work. It
runs a few blocks of every launch: micro-kernels do the same in all blocks, so the totals follow
from the number of threads that work, as constants instead of functions of a size.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

from cutune.core.progress import Progress
from cutune.core.temporary import temporary_folder
from cutune.emulator.assemble import assemble
from cutune.emulator.launch_log import LaunchRecord, Pointer
from cutune.emulator.machine import LoadedModule
from cutune.emulator.module_metadata import KernelCode
from cutune.measure.calibration import fit_constants
from cutune.measure.calibration.fit_constants import Belief, Calibration, TimedCase
from cutune.measure.calibration.pycuda_gpu import Gpu, LoadedKernels, TimedLaunch
from cutune.measure.calibration.suite import ARRAY_WORDS, MicroBenchmark, cases, source
from cutune.measure.replay.replay import Replayer, compiled_kernel, interior_blocks
from cutune.model.fit.count_functions import (
    CountFunctions,
    accessed_bytes,
    code_totals,
    loads_and_stores,
)
from cutune.model.fit.fit import model_of
from cutune.model.fit.fitted_model import Array, FittedModel
from cutune.model.measurement.measurement import MeasuredKernel, Measurement, Purpose
from cutune.model.rational.functions import RationalFunction, constant_function
from cutune.toolchain.device.profile import FITTED, DeviceProfile, Limits, ModelConstants
from cutune.toolchain.device.thread_block import WARP, Block, grid_of
from cutune.toolchain.nvcc import Nvcc
from cutune.toolchain.ptxas import StaticCounters

#: One window of eight executions out of so many is traced in long loops.
LONG_LOOP, WINDOWS = 64, 4


def case_model(module: LoadedModule, case: MicroBenchmark, registers: int) -> FittedModel:
    """Emulate a few blocks of a case with each thread block. `registers`: per thread on the GPU."""
    code = module.kernel(case.kernel)
    kernel = _kernel(code, case, registers)
    run = partial(Replayer(module, code, _record(code, case), kernel, {}).run, Purpose.FEATURES, {})
    every = max(1, case.q // 8 // WINDOWS) if case.q >= LONG_LOOP else 1
    grids = [grid_of(block, case.extents) for block in case.blocks]
    inside = [interior_blocks(kernel, g, b) for b, g in zip(case.blocks, grids, strict=True)]
    pairs = zip(case.blocks, inside, strict=True)
    measured = [run(block, blocks=blocks, trace_every=every) for block, blocks in pairs]
    ends = run(case.blocks[0], blocks=sorted({0, prod(grids[0]) - 1}), trace_every=1)
    return model_of(kernel, _counts(kernel, case, measured[0], ends), (), case.blocks, measured)


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
        extent = constant_function((), accessed_bytes(ends, array))
        arrays.append(Array(array, extent, *loads_and_stores(kernel, [ends], array)))
    code: dict[str, Any] = {n: total(lanes) for n, lanes in code_totals(kernel, inside).items()}
    group_of = tuple(groups.index(lanes) if lanes else -1 for lanes in executed)
    of_groups, of_all = tuple(map(total, groups)), constant_function((), working)
    return CountFunctions(of_all, **code, groups=of_groups, group_of=group_of, arrays=tuple(arrays))


def _kernel(code: KernelCode, case: MicroBenchmark, registers: int) -> MeasuredKernel:
    compiled = compiled_kernel(code, StaticCounters(registers, code.static_shared_bytes))
    return MeasuredKernel.of_launch(
        case.kernel,
        code.name,
        case.extents,
        case.blocks[0],
        compiled,
        asserted=code.static_shared_bytes > 0,
        max_threads=code.max_threads,
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
    )


REGISTERS_PER_THREAD = 255
#: Shared memory is given out in such units from compute capability 8.0 on, and before.
SHARED_UNIT, OLD_SHARED_UNIT = 128, 256
KHZ_PER_GHZ = 1_000_000
#: Digits of a fitted constant: the fit is not more precise.
DIGITS = 4


def query_profile(gpu: Gpu) -> DeviceProfile:
    """The profile of a GPU as its driver describes it, with prior constants."""
    major, minor = gpu.compute_capability
    clock = Fraction(gpu.attribute("CLOCK_RATE"), KHZ_PER_GHZ)
    # Two transfers per clock; the bus width is in bits.
    rate = Fraction(gpu.attribute("MEMORY_CLOCK_RATE"), KHZ_PER_GHZ)
    dram = rate * 2 * gpu.attribute("GLOBAL_MEMORY_BUS_WIDTH") / 8
    limits = Limits(
        warps_per_sm=gpu.attribute("MAX_THREADS_PER_MULTIPROCESSOR") // WARP,
        blocks_per_sm=gpu.attribute("MAX_BLOCKS_PER_MULTIPROCESSOR"),
        registers_per_sm=gpu.attribute("MAX_REGISTERS_PER_MULTIPROCESSOR"),
        registers_per_thread=REGISTERS_PER_THREAD,
        shared_bytes_per_sm=gpu.attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
        shared_bytes_opt_in=gpu.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        shared_bytes_reserved=gpu.attribute("RESERVED_SHARED_MEMORY_PER_BLOCK"),
        shared_bytes_granularity=SHARED_UNIT if major >= 8 else OLD_SHARED_UNIT,
        threads_per_block=gpu.attribute("MAX_THREADS_PER_BLOCK"),
    )
    queried = ("compute_capability", "sm_count", "clock_ghz", "dram_gbs", "l2_bytes", "limits")
    return DeviceProfile(
        name=gpu.name,
        compute_capability=(major, minor),
        sm_count=gpu.attribute("MULTIPROCESSOR_COUNT"),
        clock_ghz=clock,
        dram_gbs=Fraction(round(dram)),
        l2_bytes=gpu.attribute("L2_CACHE_SIZE"),
        limits=limits,
        model=fit_constants.prior_constants((major, minor), clock),
        provenance=dict.fromkeys(queried, "asked of the driver"),
    )


def calibrate(gpu: Gpu, nvcc: Nvcc, progress: Progress) -> tuple[DeviceProfile, Calibration]:
    """Time the suite and fit all constants. Raises CT016, CT4xx when a kernel fails."""
    profile = query_profile(gpu)
    progress("compiling", 0, 1)
    kernels = gpu.load(source(), profile.architecture)
    module = emulated_module(nvcc)
    suite = list(cases())
    progress("emulating", 0, 1)
    models = [case_model(module, case, kernels.registers(case.kernel)) for case in suite]
    times = _times(gpu, kernels, list(zip(suite, models, strict=True)), progress)
    prior = fit_constants.beliefs(profile.compute_capability, profile.clock_ghz)
    progress("fitting constants", 0, 1)
    calibration = fit_constants.fit_constants(timed_cases(suite, models, times), profile, prior)
    progress("fitting constants", 1, 1)
    return calibrated(profile, calibration, prior), calibration


def emulated_module(nvcc: Nvcc) -> LoadedModule:
    """Compile and load the micro-kernels for the emulated device."""
    with temporary_folder() as folder:
        path = Path(folder) / "kernels.cu"
        path.write_text(source(), encoding="utf-8")
        return LoadedModule(assemble(nvcc.ptx(path)))


def timed_cases(
    suite: Sequence[MicroBenchmark],
    models: Sequence[FittedModel],
    times: Sequence[Mapping[Block, float]],
) -> list[TimedCase]:
    return [
        TimedCase(case, model, tuple(measured[b] for b in model.blocks))
        for case, model, measured in zip(suite, models, times, strict=True)
    ]


def calibrated(
    profile: DeviceProfile, calibration: Calibration, prior: Mapping[str, Belief]
) -> DeviceProfile:
    """The profile with fitted constants; its provenance says which priors were fitted."""
    model, provenance = {}, dict(profile.provenance)
    for name, belief in prior.items():
        was = f"prior {float(belief.value):.3g}: {belief.source}"
        if name in fit_constants.FIXED:
            model[name], provenance[name] = belief.value, was
        else:
            model[name] = Fraction(f"{calibration.constants[name]:.{DIGITS}g}")
            narrowed = f"{100 * calibration.seen[name]:.0f} %"
            provenance[name] = f"{FITTED}, uncertainty -{narrowed}; {was}"
    return replace(profile, model=ModelConstants(**model), provenance=provenance)


def _times(
    gpu: Gpu,
    kernels: LoadedKernels,
    pairs: Sequence[tuple[MicroBenchmark, FittedModel]],
    progress: Progress,
) -> list[dict[Block, float]]:
    arrays, saved = (gpu.allocate(4 * ARRAY_WORDS, 3) for _ in range(2))
    measured = []
    for index, (case, model) in enumerate(pairs):
        progress("timing", index, len(pairs))
        touched = [0, 0, 0]
        for array in model.arrays:
            touched[array.parameter] = int(array.extent_bytes({})) // 4 * 4
        integers = (case.n, case.p, case.q)
        launches = {
            block: TimedLaunch(case.kernel, grid_of(block, case.extents), block, integers)
            for block in case.blocks
        }
        about = arrays, saved, touched
        measured.append({b: kernels.microseconds(one, *about) for b, one in launches.items()})
    progress("timing", len(pairs), len(pairs))
    return measured

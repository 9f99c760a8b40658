"""The time that the model predicts for a launch at its own size. Takes a launch and its code.

Nothing is proven, and no function of the sizes is fitted: a launch is counted as it is. So there
are predictions for configurations among which cutune does not choose, because nothing tells that
they do the same. Counters are those of the log where the launch was traced; else some of its blocks
run again, without data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod

from cutune.emulator.assemble import assemble
from cutune.emulator.launch_log import LaunchRecord
from cutune.emulator.machine import LoadedModule
from cutune.measure.replay.replay import Replayer, compiled_kernel, logged_measurement
from cutune.model.fit.count_functions import CountFunctions, count_functions
from cutune.model.fit.fit import model_of
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.measurement.measurement import (
    CompiledKernel,
    MeasuredKernel,
    Measurement,
    Purpose,
)
from cutune.model.performance.definitions import TIME_WITH_FLOOR, resources_of
from cutune.model.performance.mechanistic import compose
from cutune.model.rational.functions import RationalFunction, constant_function
from cutune.model.rational.program import evaluate
from cutune.toolchain.device.profile import DeviceProfile, can_launch
from cutune.toolchain.device.thread_block import EXTENTS, Block, as_block
from cutune.toolchain.nvcc import Nvcc
from cutune.toolchain.ptxas import StaticCounters


@dataclass(frozen=True)
class CountedLaunch:
    """A launch whose model is known."""

    model: FittedModel
    extents: Block

    def terms(self, device: DeviceProfile) -> Mapping[str, float]:
        """All definitions of the model of this launch, by their names."""
        values = evaluate(compose(self.model, device), _point(self.extents))
        return {name: float(value.flat[0]) for name, value in values.items()}

    def microseconds(self, device: DeviceProfile) -> float:
        """The predicted time; infinite where a block needs more than the device has."""
        if not can_launch(resources_of(self.model, self.model.blocks[0]), device.limits):
            return float("inf")
        return self.terms(device)[TIME_WITH_FLOOR]


def _point(extents: Block) -> dict[str, int]:
    return dict(zip(EXTENTS, extents, strict=True))


@cache
def static_counters(nvcc: Nvcc, ptx: str, architecture: str) -> Mapping[str, StaticCounters]:
    """Registers and shared memory of the kernels of some PTX. Raises CT701."""
    return nvcc.static_counters(None, (), architecture, ptx)


@cache
def _loaded(ptx: str) -> LoadedModule:
    return LoadedModule(assemble(ptx))


def counted_launch(
    ptx: str, record: LaunchRecord, static: Mapping[str, StaticCounters]
) -> CountedLaunch | None:
    """Count one launch with its own block; None where nobody can, such as of texture fetches."""
    module = _loaded(ptx)
    code = module.kernel(record.kernel)
    kernel = _described(record, compiled_kernel(code, static[record.kernel]))
    if not code.obliviousness.countable:
        return None
    if record.sites:
        found = logged_measurement(kernel, code, record, Purpose.FEATURES, ())
    elif code.oblivious:
        replayer = Replayer(module, code, record, kernel, {})
        found = replayer.run(Purpose.FEATURES, {}, record.block, is_sampled=True)
        found = replace(found, executed_blocks=prod(found.grid))
    else:
        return None
    model = model_of(kernel, _functions(kernel, found), (), (record.block,), [found])
    return CountedLaunch(model, kernel.recorded[0][1])


def _described(record: LaunchRecord, compiled: CompiledKernel) -> MeasuredKernel:
    threads = as_block([g * b for g, b in zip(record.grid, record.block, strict=True)])
    about = ("kernel", record.kernel, threads, record.block, compiled)
    return MeasuredKernel.of_launch(*about, dynamic_shared_bytes=record.shared)


def _functions(kernel: MeasuredKernel, found: Measurement) -> CountFunctions:
    def fitted(values: Sequence[int], is_once: bool) -> RationalFunction:
        return constant_function((), values[0])

    return count_functions(kernel, [found], fitted)

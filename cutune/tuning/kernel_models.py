"""Models of a kernel that is launched from Python. Takes its text and a call, gives a tuned text.

They come from the call itself: made again at small sizes, on the emulated device, it is counted as
a program is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cutune.core.diagnostics import CutuneError
from cutune.core.progress import Reporter
from cutune.core.temporary import temporary_folder
from cutune.core.workspace import Workspace
from cutune.emulator.run import program_environment
from cutune.emulator.scripts import REAL_NVCC
from cutune.measure.program_runs import RunPlan
from cutune.tuning.inputs import Request
from cutune.tuning.kernel_calls import MOST_BYTES, ObjectCall, array_file, copy_memory, write_calls
from cutune.tuning.script_session import SHARED
from cutune.tuning.tune_program import (
    NothingTuned,
    TunedProgram,
    Tuning,
    tune_program,
    tuned_targets,
)

if TYPE_CHECKING:
    import ctypes

    from cutune.source.program import Kernel as ProvenKernel
    from cutune.toolchain.device.profile import DeviceProfile
    from cutune.toolchain.toolchain import Toolchain
    from cutune.tuning.kernel_arguments import Arguments, KernelSignature

_CALLS = Path(__file__).with_name("kernel_calls.py")
#: A shell that is not linked to CUDA: so is whatever starts Python.
_ANY_PROGRAM = Path("/bin/sh")
#: Names the file of launches, which are the script's.
LOG = "CUTUNE_LAUNCH_LOG"


@dataclass(frozen=True)
class KnownKernel:
    """All that is known of a kernel with one block. `source`: the text that chooses, or empty.

    `is_free`: may it have any block? `reason`: why nothing chooses. `is_final`: is that so until
    the text changes, and not by a run that failed?
    """

    source: str = ""
    is_free: bool = False
    reason: str = ""
    architectures: tuple[str, ...] = ()
    is_final: bool = True


_WARPS = "threads of a warp work together, and the block says which those are"


@dataclass(frozen=True)
class ModelledText:
    """The text whose kernel is modelled, named as a launch names it, and where results go."""

    kernel: str
    path: Path
    toolchain: Toolchain
    devices: Sequence[DeviceProfile]


@dataclass(frozen=True)
class Sample:
    """The first call of a kernel, with its library, and what its arrays hold."""

    library: ctypes.CDLL
    signature: KernelSignature
    call: ObjectCall
    given: Arguments

    def write(self, folder: Path) -> int:
        """Write it down at small sizes; gives the number of calls. Raises RuntimeError."""
        parameters, data = self.signature.parameters, self.given.data
        integers = []
        for one in parameters:
            if one.form == "=" and one.kind in "iu" and one.size >= 4:
                packed = data[one.offset : one.offset + one.size]
                value = int.from_bytes(packed, sys.byteorder, signed=one.kind == "i")
                integers.append((one.offset, one.size, value))
        pairs = zip(parameters, self.given.arrays, strict=True)
        arrays = [(one.offset, array) for one, array in pairs if array is not None]
        for place, (_, array) in enumerate(arrays):
            held = bytearray(min(array.bytes, MOST_BYTES))
            to = memoryview(held)
            status = self._read(to, array.address, len(held))
            if status:
                raise RuntimeError(f"an array cannot be read (error {status})")
            array_file(folder, place).write_bytes(held)
        sizes = tuple((offset, array.bytes) for offset, array in arrays)
        call = replace(self.call, data=data.hex(), integers=tuple(integers), arrays=sizes)
        calls = call.smaller()
        write_calls(folder, calls)
        return len(calls)

    def _read(self, to: memoryview, start: int, size: int) -> int:
        import ctypes  # noqa: PLC0415

        if not size:
            return 0
        return copy_memory(self.library, ctypes.byref(ctypes.c_char.from_buffer(to)), start, size)


def tuned_kernel(text: ModelledText, name: str, sample: Sample) -> KnownKernel:
    """Count, fit and write the text that chooses, as NAME.cu beside the text itself."""
    output = text.path.with_name(f"{name}.cu")
    with temporary_folder() as folder:
        count = sample.write(Path(folder))
        request, tuning = _request(text, Path(folder), count, output)
        log = os.environ.pop(LOG, None)
        try:
            tuned = tune_program(request, tuning, Reporter())
        except NothingTuned as error:
            reasons = [one.reason for one in error.launches if one.kernel == text.kernel]
            said = [one.message for one in error.said if one.about in ("", text.kernel)]
            return KnownKernel(reason=next(filter(None, [*reasons, *said, str(error)])))
        except CutuneError as error:
            return KnownKernel(reason=error.diagnostic.message.splitlines()[0], is_final=False)
        finally:
            if log is not None:
                os.environ[LOG] = log
    assert isinstance(tuned, TunedProgram), "it is done anew"
    return _known(text, tuned, output)


def _request(text: ModelledText, folder: Path, count: int, output: Path) -> tuple[Request, Tuning]:
    # Under `cutune run` the variables of the emulated device are there.
    is_emulated = REAL_NVCC in os.environ
    environment = {} if is_emulated else program_environment(_ANY_PROGRAM)
    started = str(_CALLS), "{program}", str(folder)
    run = f"{sys.executable} {{script}} {{call}}"
    vary = {"call": [str(number) for number in range(count)]}
    plan = RunPlan(run, vary, "paper", environment=environment, script=started)
    targets_of = partial(tuned_targets, output=str(output))
    toolchain = text.toolchain.with_flags(SHARED)
    place = Workspace(folder / "results")
    request = Request({}, [str(text.path)], toolchain, text.devices, place)
    return request, Tuning(plan, str(output), targets_of, is_anew=True)


def _known(text: ModelledText, tuned: TunedProgram, output: Path) -> KnownKernel:
    models = [model for model in tuned.models if model.kernel.name == text.kernel]
    proven = tuned.programs[0].kernel(text.kernel)
    if not models or proven is None:
        reasons = [one.reason for one in tuned.launches if one.kernel == text.kernel]
        said = [one.message for one in tuned.said if one.about == text.kernel]
        return KnownKernel(reason=next(filter(None, [*reasons, *said, "it has no model"])))
    grid_kept = any(any(model.kernel.grid_kept) for model in models)
    is_free = _takes_any_block(proven) and not grid_kept
    versions = tuple(one.rpartition("_")[2] for one in text.toolchain.architectures)
    reason = _WARPS if proven.needs_warps else ""
    return KnownKernel(output.name, is_free, reason, versions)


def _takes_any_block(kernel: ProvenKernel) -> bool:
    """Does it compute the same in any block, without a copy for other blocks, as by ids alone?"""
    is_free = all(one.impurity is None for one in kernel.dimensions if one.indexed)
    is_plain = kernel.impurity is None and kernel.copy is None and not kernel.tiles
    # Which threads make a warp is told by the block that it is written for, whatever that is.
    is_told = kernel.must_hold or kernel.asserted or kernel.needs_warps
    asks_nothing = not (is_told or kernel.single_thread or kernel.narrow_blocks)
    return is_free and is_plain and asks_nothing

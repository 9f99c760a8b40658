"""Small kernels of which launches are replayed: their PTX, a recorded launch, what is known.

`copy` moves a row of elements, `columns` sums up columns of a square matrix, `twice` does that in
two passes, `gather` goes where data say. Nothing is compiled.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from cutune.emulator.assemble import assemble
from cutune.emulator.launch_log import LaunchRecord, Pointer
from cutune.emulator.machine import LoadedModule
from cutune.emulator.module_metadata import AssembledModule
from cutune.measure.replay.replay import compiled_kernel
from cutune.measure.replay.replayed_kernel import collect_kernel, counted_kernel
from cutune.measure.replay.subjects import Subject
from cutune.model.fit.fit import fit_model
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.measurement.measurement import MeasuredKernel, Measurement
from cutune.source.program import SiteNumbers
from cutune.toolchain.device.thread_block import Block
from tests.support.measured_kernel import KERNEL
from tests.support.ptx_statements import HEADER

_BEGIN = """
.visible .entry {name}(.param .u32 n, .param .u64 a, .param .u64 b)
{{
  .reg .pred %p<4>; .reg .f32 %f<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
  ld.param.u32 %r1, [n];
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra DONE;
  mul.wide.s32 %rd3, %r5, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
"""
_END = """
  st.global.f32 [%rd5], %f1;
DONE:
  ret;
}
"""
_BODIES = {
    "copy": "  ld.global.f32 %f1, [%rd4];",
    "columns": """
  mul.wide.s32 %rd6, %r1, 4;
  mov.f32 %f1, 0f00000000;
  mov.u32 %r6, 0;
NEXT:
  setp.ge.s32 %p2, %r6, %r1;
  @%p2 bra LAST;
  ld.global.f32 %f2, [%rd4];
  add.f32 %f1, %f1, %f2;
  add.s64 %rd4, %rd4, %rd6;
  add.s32 %r6, %r6, 1;
  bra NEXT;
LAST:
""",
    # Sums up columns twice.
    "twice": """
  mul.wide.s32 %rd6, %r1, 4;
  mov.f32 %f1, 0f00000000;
  mov.u64 %rd7, %rd4;
  mov.u32 %r6, 0;
NEXT:
  setp.ge.s32 %p2, %r6, %r1;
  @%p2 bra AGAIN;
  ld.global.f32 %f2, [%rd7];
  add.f32 %f1, %f1, %f2;
  add.s64 %rd7, %rd7, %rd6;
  add.s32 %r6, %r6, 1;
  bra NEXT;
AGAIN:
  mov.u32 %r6, 0;
SECOND:
  setp.ge.s32 %p2, %r6, %r1;
  @%p2 bra LAST;
  ld.global.f32 %f2, [%rd4];
  add.f32 %f1, %f1, %f2;
  add.s64 %rd4, %rd4, %rd6;
  add.s32 %r6, %r6, 1;
  bra SECOND;
LAST:
""",
    # As many rounds as the least power of two that is not below n.
    "padded": """
  mov.u32 %r6, 1;
POWER:
  shl.b32 %r6, %r6, 1;
  setp.lt.s32 %p2, %r6, %r1;
  @%p2 bra POWER;
  mov.f32 %f1, 0f00000000;
ROUND:
  ld.global.f32 %f2, [%rd4];
  add.f32 %f1, %f1, %f2;
  sub.s32 %r6, %r6, 1;
  setp.gt.s32 %p2, %r6, 0;
  @%p2 bra ROUND;
""",
    # Halves n until nothing is left of it.
    "halving": """
  mov.u32 %r6, %r1;
  mov.f32 %f1, 0f00000000;
HALF:
  ld.global.f32 %f2, [%rd4];
  add.f32 %f1, %f1, %f2;
  shr.u32 %r6, %r6, 1;
  setp.gt.s32 %p2, %r6, 0;
  @%p2 bra HALF;
""",
    "gather": """
  ld.global.u32 %r6, [%rd4];
  mul.wide.s32 %rd6, %r6, 4;
  add.s64 %rd7, %rd1, %rd6;
  ld.global.f32 %f1, [%rd7];
""",
}
PTX = HEADER + "".join(_BEGIN.format(name=name) + body + _END for name, body in _BODIES.items())
#: Where the arrays of the recorded launch lay: the first one 64 bytes into its allocation.
POINTERS = (Pointer(8, 1 << 40, 1 << 20, 64), Pointer(16, 1 << 41, 1 << 20, 0))


def recorded(
    name: str, n: int = 1000, block: Block = (256, 1, 1), module: str = ""
) -> LaunchRecord:
    """A launch of a kernel, as a program makes it that has `n` elements."""
    parameters = struct.pack("<i4xQQ", n, *(p.base + p.delta for p in POINTERS))
    grid = (-(-n // block[0]), 1, 1)
    return LaunchRecord(
        sequence=0,
        site=1,
        kernel=name,
        module=module,
        grid=grid,
        block=block,
        shared=0,
        parameters=parameters,
        pointers=POINTERS,
        warp_instructions=n,
        thread_instructions=32 * n,
        executed_blocks=grid[0],
        working_threads=n,
        blocks=(),
        sites=(),
    )


@cache
def loaded() -> tuple[AssembledModule, LoadedModule]:
    """The module of these kernels."""
    assembled = assemble(PTX)
    return assembled, LoadedModule(assembled)


def described(name: str) -> MeasuredKernel:
    """The kernel as `collect` knows it before measuring; `x` is free, bounded by `n`."""
    code = loaded()[0].kernels[name]
    return replace(
        KERNEL,
        name=name,
        entry=name,
        recorded=(((1000,), (1024, 1, 1)),),
        compiled=compiled_kernel(code, KERNEL.compiled.static),
    )


def subject(name: str) -> Subject:
    """A kernel with a recorded launch; nothing of it has been replayed."""
    assembled, module = loaded()
    return Subject(
        module, assembled.kernels[name], recorded(name), described(name), {}, SiteNumbers()
    )


Measured = tuple[MeasuredKernel, tuple[Measurement, ...]]


@cache
def measured(name: str, training: bool = False) -> Measured:
    """A kernel as it was measured, and its measurements."""

    def quiet(what: str, done: int, total: int) -> None:
        """Nobody looks."""

    counted = counted_kernel(subject(name), [], quiet)
    assert counted.problem == ""
    replayed = collect_kernel(counted, [], quiet, training)
    return counted.subject.kernel, (*counted.new, *replayed)


def fitted(kernel: MeasuredKernel, measurements: Sequence[Measurement]) -> FittedModel:
    """The model of what was measured."""
    found = fit_model(kernel, measurements)
    assert isinstance(found, FittedModel)
    return found

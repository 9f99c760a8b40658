"""Small kernels for the emulated device's tests: takes PTX statements and operand values.

`evaluate` wraps statements into a kernel in which thread i sees the i-th value of each operand; the
same text can be assembled for the machine and loaded on a GPU. `run` wraps those that leave a value
in `%r2` of each thread.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutune.emulator.assemble import assemble
from cutune.emulator.machine import LaunchCounters, LoadedModule
from cutune.ptx.types import TYPE_BYTES
from tests.support.launch_parameters import pack_parameters

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"
#: Around the statements of `run`: results in %rd1, thread in %r1, the place of its result in %rd3.
BEGIN = """
.visible .entry kernel(.param .u64 out) {
  .reg .b64 %rd<20>; .reg .b32 %r<20>; .reg .pred %p<9>; .reg .f32 %f<9>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
"""
END = "\n  st.global.u32 [%rd3], %r2;\n  ret;\n}\n"

# The type of the register, and of the load or store, that holds a value of a type.
_REGISTER = {
    **dict.fromkeys(("u8", "s8", "b8", "u16", "s16", "b16", "f16", "bf16"), "b16"),
    **dict.fromkeys(("u32", "s32", "b32", "f16x2", "bf16x2", "pred"), "b32"),
    **dict.fromkeys(("u64", "s64", "b64"), "b64"),
    "f32": "f32",
    "f64": "f64",
}


@dataclass(frozen=True)
class Operation:
    """Statements over `%d` and `%a`, `%b`, `%c`; a result of type pred is stored as 0 or 1."""

    statements: str
    result: str
    operands: tuple[str, ...]

    def kernel(self, name: str) -> str:
        """The PTX of a kernel `name(inputs, results)`."""
        declared = [("%d", self.result), *zip(("%a", "%b", "%c"), self.operands, strict=False)]
        registers = "".join(
            f"  .reg .{'pred' if kind == 'pred' else _REGISTER[kind]} {register};\n"
            for register, kind in declared
        )
        loads, offset = [], 0
        for register, kind in declared[1:]:
            if kind == "pred":
                loads.append(f"  ld.global.b32 %x, [%in+{offset}];\n")
                loads.append(f"  setp.ne.u32 {register}, %x, 0;\n")
            else:
                loads.append(f"  ld.global.{_REGISTER[kind]} {register}, [%in+{offset}];\n")
            offset += 8
        if self.result == "pred":
            store = "  selp.u32 %x, 1, 0, %d;\n  st.global.b32 [%out], %x;\n"
        else:
            store = f"  st.global.{_REGISTER[self.result]} [%out], %d;\n"
        return (
            f".visible .entry {name}(.param .u64 inputs, .param .u64 results)\n{{\n"
            "  .reg .b64 %in, %out;\n  .reg .b32 %x, %i, %y;\n  .reg .pred %p, %q;\n"
            f"{registers}"
            "  ld.param.u64 %in, [inputs];\n  ld.param.u64 %out, [results];\n"
            "  mov.u32 %x, %ntid.x;\n  mov.u32 %y, %ctaid.x;\n  mov.u32 %i, %tid.x;\n"
            "  mad.lo.u32 %i, %x, %y, %i;\n"
            "  mad.wide.u32 %in, %i, 24, %in;\n  mad.wide.u32 %out, %i, 8, %out;\n"
            f"{''.join(loads)}  {self.statements}\n{store}  ret;\n}}\n"
        )


def bits_of(value: float, kind: str) -> int:
    """The bits of a value as an operand: floats by value for floating types, else integers."""
    if isinstance(value, float) and kind in ("f32", "f64", "f16"):
        forms = {"f32": ("<f", "<I"), "f64": ("<d", "<Q"), "f16": ("<e", "<H")}
        form, unsigned = forms[kind]
        return int(struct.unpack(unsigned, struct.pack(form, value))[0])
    return int(value) & ((1 << 64) - 1)


def pack_inputs(operation: Operation, *values: Sequence[float]) -> NDArray[np.uint64]:
    """One row of three 64-bit words per thread."""
    rows = np.zeros((len(values[0]), 3), np.uint64)
    for column, (kind, each) in enumerate(zip(operation.operands, values, strict=True)):
        rows[:, column] = [bits_of(value, kind) for value in each]
    return rows


def evaluate(operation: Operation, *values: Sequence[float]) -> list[int]:
    """Run an operation on the machine; results are bits."""
    inputs = pack_inputs(operation, *values)
    results = np.zeros(len(inputs), np.uint64)
    launch(HEADER + operation.kernel("operation"), len(inputs), inputs, results)
    width = 4 if operation.result == "pred" else max(TYPE_BYTES[operation.result], 2)
    return [int(x) & ((1 << 8 * width) - 1) for x in results]


def aligned(words: int) -> NDArray[np.uint32]:
    """An array of zeros that begins at a 128-byte line, as device allocations do."""
    space = np.zeros(words + 32, np.uint32)
    start = -int(space.ctypes.data) % 128 // 4
    return space[start : start + words]


def module(text: str) -> LoadedModule:
    """Assemble and load PTX; the header is added when it is missing."""
    return LoadedModule(assemble(text if text.lstrip().startswith(".version") else HEADER + text))


def launch(
    text: str | LoadedModule,
    block: int | tuple[int, int, int],
    *values: float | NDArray[Any],
    grid: int | tuple[int, int, int] = 1,
    **options: Any,
) -> LaunchCounters:
    """Run the only kernel of a module; array arguments are its buffers."""
    loaded = module(text) if isinstance(text, str) else text
    kernel = next(iter(loaded.assembled.kernels.values()))
    buffers = [value for value in values if isinstance(value, np.ndarray)]
    return loaded.run(
        kernel.name,
        grid if isinstance(grid, tuple) else (grid, 1, 1),
        block if isinstance(block, tuple) else (block, 1, 1),
        pack_parameters(kernel, *values),
        buffers=buffers,
        **options,
    )


def run(body: str, threads: int = 32, *, before: str = "", **options: Any) -> list[int]:
    """The values that threads leave in %r2."""
    out = aligned(threads)
    launch(before + BEGIN + body + END, threads, out, **options)
    return [int(x) for x in out]

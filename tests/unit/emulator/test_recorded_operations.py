"""Every operation against an H200: the same bits where PTX defines the result."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cutune.emulator.machine import LoadedModule
from cutune.ptx.types import TYPE_BYTES
from tests.support.emulated_operations import THREADS, approximate_operations, inputs, operations
from tests.support.ptx_statements import HEADER, Operation, module

RECORDED = Path(__file__).parents[2] / "recorded" / "operations_h200.npz"
EXACT = operations()
APPROXIMATE = approximate_operations()
# Tests that PTX gives an absolute error for (manual, section of each opcode), or a range.
ABSOLUTE_ERROR = {"sin": 2e-6, "cos": 2e-6, "lg2": 3e-7, "tanh": 2e-5}
# Recorded with inputs below the smallest normal result: a GPU sees that before it rounds.
TINY_BEFORE_ROUNDING = "mul.rm.ftz.f32 %d, %a, %b;"


@cache
def recorded() -> dict[str, NDArray[np.uint64]]:
    with np.load(RECORDED) as file:
        return dict(zip(file["statements"].tolist(), file["outputs"], strict=True))


@cache
def all_operations() -> LoadedModule:
    kernels = [each.kernel(f"operation_{i}") for i, each in enumerate(EXACT + APPROXIMATE)]
    return module(HEADER + "".join(kernels))


def emulated(index: int, operation: Operation) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The machine's results and the recorded ones, without what lies beside the type's bits."""
    given, results = inputs(index, operation), np.zeros(THREADS, np.uint64)
    parameters = np.array([given.ctypes.data, results.ctypes.data], np.uint64).tobytes()
    name, grid = f"operation_{index}", (THREADS // 32, 1, 1)
    all_operations().run(name, grid, (32, 1, 1), parameters, buffers=(given, results))
    width = 4 if operation.result == "pred" else max(2, TYPE_BYTES[operation.result])
    mask = np.uint64((1 << 8 * width) - 1)
    return results & mask, recorded()[operation.statements] & mask


@pytest.mark.parametrize("index", range(len(EXACT)), ids=lambda i: EXACT[i].statements)
def test_same_bits_as_the_gpu(index: int) -> None:
    operation = EXACT[index]
    ours, theirs = emulated(index, operation)
    different = ours != theirs
    if operation.result == "f64":
        # Which NaN comes out of two is not defined.
        different &= ~(np.isnan(ours.view(np.float64)) & np.isnan(theirs.view(np.float64)))
    if operation.statements == TINY_BEFORE_ROUNDING:
        different &= ours != 0x80800000
    assert not different.any(), inputs(index, operation)[different][:3]


@pytest.mark.parametrize("index", range(len(APPROXIMATE)), ids=lambda i: APPROXIMATE[i].statements)
def test_close_to_the_gpu(index: int) -> None:
    operation = APPROXIMATE[index]
    ours, theirs = emulated(len(EXACT) + index, operation)
    a, b = (_values(bits, operation.result) for bits in (ours, theirs))
    opcode = operation.statements.split(".")[0]
    absolute = ABSOLUTE_ERROR.get(opcode, 0.0)
    usable = np.ones(THREADS, bool)
    if opcode in ("sin", "cos"):
        given = _values(inputs(len(EXACT) + index, operation)[:, 0], operation.result)
        usable = np.abs(given) <= 2 * np.pi
    np.testing.assert_allclose(a[usable], b[usable], rtol=4e-6, atol=absolute, equal_nan=True)


def _values(bits: NDArray[np.uint64], kind: str) -> NDArray[np.float64]:
    if kind == "f64":
        return bits.view(np.float64)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return bits.astype(np.uint32).view(np.float32).astype(np.float64)

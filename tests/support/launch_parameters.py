"""Parameters of a launch. Takes the code of a kernel and values, gives the bytes."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutune.emulator.machine import pointer
from cutune.emulator.module_metadata import KernelCode

_FORMATS = {"f32": "<f", "f64": "<d"}


def pack_parameters(kernel: KernelCode, *values: float | NDArray[Any] | bytes) -> bytes:
    """The parameter buffer: from numbers, arrays (their addresses) and structures (bytes)."""
    buffer = bytearray(kernel.parameter_bytes)
    for parameter, value in zip(kernel.parameters, values, strict=True):
        if isinstance(value, np.ndarray):
            packed = struct.pack("<Q", pointer(value))
        elif isinstance(value, bytes):
            packed = value
        elif parameter.type in _FORMATS:
            packed = struct.pack(_FORMATS[parameter.type], value)
        else:
            mask = (1 << 8 * parameter.size) - 1
            packed = (int(value) & mask).to_bytes(parameter.size, "little")
        buffer[parameter.offset : parameter.offset + parameter.size] = packed
    return bytes(buffer)

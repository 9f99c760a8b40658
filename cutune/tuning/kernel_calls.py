"""Calls of one kernel at small sizes. Takes a call, gives smaller ones, and makes them in a run.

A kernel that is called from Python has no program that could be run at several sizes. So its first
call is written down, with what its arrays hold, and made again with fewer threads and smaller
integers. Arrays stay as long as they are: what is within them at large sizes is so at small ones.
Run as a program: `kernel_calls.py LIBRARY FOLDER NUMBER` makes one of the calls.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations_with_replacement
from math import prod
from pathlib import Path

if __name__ == "__main__":  # Run by its path, it is found above its package.
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from cutune.tuning.script_session import UnitLibrary

Extents = tuple[int, int, int]
#: Smaller integers are no sizes, but flags, strides, radii.
_SMALLEST_SIZE = 32
#: A call of so many threads, times its largest size, takes a second or less.
_MOST_WORK = 1 << 21
_LEVELS, _CALLS = 3, "calls.json"
#: `cutune_script_launch` of cutune_script.h, whose arguments are told beside it.
_LAUNCH = struct.Struct("PP7IPn")
#: So much of what an array holds is written down; the rest is zeros.
MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class ObjectCall:
    """A call: threads and block, bytes of dynamic shared memory, and the bytes of its arguments.

    `integers`: offset, size and value of those that may be sizes. `arrays`: offsets and bytes.
    """

    symbol: str
    threads: Extents
    block: Extents
    shared: int
    data: str
    integers: tuple[tuple[int, int, int], ...] = ()
    arrays: tuple[tuple[int, int], ...] = ()

    @property
    def grid(self) -> Extents:
        x, y, z = (-(-n // size) for n, size in zip(self.threads, self.block, strict=True))
        return x, y, z

    def asked(self, context: int, stream: int) -> bytes:
        """It as its library takes it."""
        return _LAUNCH.pack(context, stream, *self.grid, *self.block, self.shared, 0, 0)

    @property
    def work(self) -> int:
        values = [value for _, _, value in self.integers if value >= _SMALLEST_SIZE]
        return prod(self.threads) * max([1, *values])

    def smaller(self) -> list[ObjectCall]:
        """It at a few sizes that take a second, the largest first."""
        parts = [1 << shift for shift in range(32)]
        first = next((part for part in parts if self._scaled(part).work <= _MOST_WORK), parts[-1])
        calls = [self._scaled(first << level) for level in range(_LEVELS)]
        return list(dict.fromkeys(calls))

    def _scaled(self, part: int) -> ObjectCall:
        known = {value: _part(value, part) for _, _, value in self.integers}
        data = bytearray.fromhex(self.data)
        for offset, size, value in self.integers:
            data[offset : offset + size] = known[value].to_bytes(size, sys.byteorder, signed=True)
        x, y, z = (_follows(extent, known, part) for extent in self.threads)
        integers = tuple((offset, size, known[value]) for offset, size, value in self.integers)
        return replace(self, threads=(x, y, z), data=data.hex(), integers=integers)


def _part(value: int, part: int) -> int:
    """A part of a size; what is a multiple of 32 stays one."""
    if value < _SMALLEST_SIZE:
        return value
    if value % 32 == 0:
        return max(32, value // part // 32 * 32)
    return max(_SMALLEST_SIZE // 2 + 1, value // part)


def _follows(extent: int, known: dict[int, int], part: int) -> int:
    """The threads of a dimension at other sizes: a size, a product of some, or a part of one."""
    for count in (1, 2, 3):
        for values in combinations_with_replacement(known, count):
            if prod(values) == extent:
                return prod(known[value] for value in values)
    for value, smaller in known.items():
        for each in (2, 4, 8, 16):
            if -(-value // each) == extent:
                return -(-smaller // each)
    return _part(extent, part)


def write_calls(folder: Path, calls: Sequence[ObjectCall]) -> None:
    text = json.dumps([asdict(call) for call in calls])
    (folder / _CALLS).write_text(text, encoding="utf-8")


def array_file(folder: Path, number: int) -> Path:
    """Where the beginning of an array is written down."""
    return folder / f"array-{number}"


def _make_call(path: str, folder: Path, number: int) -> None:
    rows = json.loads((folder / _CALLS).read_text(encoding="utf-8"))
    call = ObjectCall(**rows[number])
    library = UnitLibrary.at(os.path.abspath(path)).library
    data = bytearray.fromhex(call.data)
    for place, (offset, size) in enumerate(call.arrays):
        address = _filled(library, size, array_file(folder, place).read_bytes())
        data[offset : offset + 8] = struct.pack("P", address)
    launch = getattr(library, f"cutune_object_launch_{call.symbol}")
    if launch(call.asked(context(library), 0), bytes(data), len(data)) or copy_memory(
        library, None, None, 0
    ):
        sys.exit("the kernel cannot be launched")


def context(library: ctypes.CDLL) -> int:
    """The driver's context of this thread, by a library of a kernel."""
    ask = library.cutune_object_context
    ask.restype = ctypes.c_void_p
    found: int | None = ask()
    return found or 0


def _filled(library: ctypes.CDLL, size: int, held: bytes) -> int:
    allocate = library.cutune_object_allocate
    allocate.restype, allocate.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    address: int | None = allocate(size)
    if address is None:
        sys.exit(f"{size} bytes cannot be allocated")
    copy_memory(library, address, held, len(held))
    return address


def copy_memory(library: ctypes.CDLL, to: object, start: object, size: int) -> int:
    """Copy between devices and the host; gives CUDA's status."""
    copy = library.cutune_object_copy
    copy.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t
    status: int = copy(to, start, size)
    return status


if __name__ == "__main__":
    _make_call(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))

"""The binary layout of an assembled module, which machine_load.cpp reads: little-endian, unpadded.

image    = "CUTUNE-2" handlers variables functions code blocks operands sites
text     = u32 length, bytes;  each list = u32 count, elements
"""

from __future__ import annotations

import re
import struct
from collections.abc import Collection, Iterable

from cutune.emulator.lower.encoder import FunctionEncoder, Relocation, literal_bits, width_of
from cutune.emulator.ptx.leaps import Leap, Sum
from cutune.emulator.ptx.types import TYPE_BYTES, PtxError, Variable, split_operands

_ADDRESS = re.compile(r"(?:generic\s*\(\s*)?([%$A-Za-z_][\w$]*)\s*\)?\s*(?:\+\s*(\d+))?$")
_MASKED = re.compile(r"0[xX][fF]+[0]*\s*\(")


class Writer:
    """Collects bytes."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def result(self) -> bytes:
        """Everything written."""
        return b"".join(self._parts)

    def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        self._parts.append(data)

    def u32(self, *numbers: int) -> None:
        """Unsigned numbers."""
        self.raw(struct.pack(f"<{len(numbers)}I", *numbers))

    def text(self, text: str) -> None:
        """A string with its length."""
        self.block(text.encode())

    def block(self, data: bytes) -> None:
        """Bytes with their length."""
        self.u32(len(data))
        self.raw(data)

    def texts(self, texts: Collection[str]) -> None:
        """A list of strings."""
        self.u32(len(texts))
        for text in texts:
            self.text(text)

    def relocations(self, relocations: Collection[Relocation]) -> None:
        """Places that get the address of a variable or function when the module is loaded."""
        self.u32(len(relocations))
        for relocation in relocations:
            self.raw(struct.pack("<Q", relocation.offset))
            self.text(relocation.name)
            self.raw(struct.pack("<q", relocation.addend))

    def variable(self, variable: Variable) -> None:
        """A variable in global or constant memory with its initial bytes."""
        data, relocations = initial_bytes(variable)
        self.text(variable.name)
        self.u32(variable.alignment)
        self.raw(struct.pack("<Q", variable.size))
        self.block(data)
        self.relocations(relocations)


def encoded_leap(leap: Leap, encoder: FunctionEncoder) -> bytes:
    """How a block repeats, with registers as offsets."""
    writer = Writer()
    assert leap.tested.start is not None
    comparison = ("ne", "lt", "le", "gt", "ge").index(leap.comparison)
    writer.u32(comparison, leap.type[0] == "s", width_of(leap.type))
    writer.u32([name for name, _ in leap.steps].index(leap.tested.start))
    _write_sum(writer, leap.tested, encoder)
    _write_sum(writer, leap.bound, encoder)
    writer.u32(len(leap.steps))
    for name, step in leap.steps:
        writer.u32(encoder.register(name), width_of(encoder.register_type(name)))
        _write_sum(writer, step, encoder)
    return writer.result()


def _write_sum(writer: Writer, found: Sum, encoder: FunctionEncoder) -> None:
    """Its number and terms; what it starts from stands elsewhere."""
    writer.raw(struct.pack("<Q", found.number & ((1 << 64) - 1)))
    writer.u32(len(found.terms))
    for name, count in found.terms:
        writer.u32(encoder.register(name), width_of(encoder.register_type(name)))
        writer.raw(struct.pack("<q", count))


def initial_bytes(variable: Variable) -> tuple[bytes, list[Relocation]]:
    """The bytes of an initialiser; addresses in it become relocations."""
    text = variable.initial
    if not text:
        return b"", []
    unsupported = PtxError(0, f"initialiser of '{variable.name}' is not supported")
    if _MASKED.search(text):
        raise unsupported
    width = TYPE_BYTES[variable.type]
    data, relocations = bytearray(), []
    for element in _elements(text):
        match = _ADDRESS.match(element)
        if match is None:
            bits = literal_bits(element, variable.type) & ((1 << 8 * width) - 1)
            data += bits.to_bytes(width, "little")
            continue
        if width != 8:
            raise unsupported
        relocations.append(Relocation(len(data), match.group(1), int(match.group(2) or 0)))
        data += bytes(8)
    return bytes(data[: variable.size]), relocations


def _elements(text: str) -> Iterable[str]:
    """Nested braces are flattened; nvcc always writes inner rows in full."""
    for part in split_operands(text.strip()):
        if part.startswith("{"):
            yield from _elements(part[1:-1])
        elif part:
            yield part

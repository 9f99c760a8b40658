"""An assembled module: metadata of kernels, basic blocks and memory instructions, and its bytes.

machine_load.cpp reads the layout: little-endian, unpadded.

    image = "CUTUNE-3" handlers variables functions code blocks operands sites
    text  = u32 length, bytes;  each list = u32 count, elements
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256

from cutune.emulator.lower.encoder import Access, FunctionEncoder, Relocation, bits_of, width_of
from cutune.ptx.leaps import Leap, Sum
from cutune.ptx.taint import Obliviousness
from cutune.ptx.types import TYPE_BYTES, Function, Label, PtxError, Variable, split_operands
from cutune.ptx.units import Demand


@dataclass(frozen=True)
class ParameterSlot:
    """A kernel parameter, with its bytes and its offset in the parameter buffer."""

    type: str
    size: int
    offset: int


@dataclass(frozen=True)
class Block:
    """A basic block. `loop` is -1 outside of loops; indices of loops are those of its function.

    `targets`: the blocks that may follow; `calls`: does it end with a call?
    """

    loop: int
    demand: Demand
    targets: tuple[int, ...]
    calls: bool


@dataclass(frozen=True)
class Site(Access):
    """A memory instruction in its `block`."""

    block: int


@dataclass(frozen=True)
class Waits:
    """What a warp alone waits for (`ptx.chains`), by block and, of global loads, by site.

    Attributes:
        steps: of each block, its dependent load steps.
        chains: likewise its longest chain of dependent instructions.
        phases: of each site, its place among the load phases.
    """

    steps: tuple[int, ...]
    chains: tuple[int, ...]
    phases: tuple[int, ...]


@dataclass(frozen=True)
class KernelCode:
    """Static metadata of a kernel. Blocks and sites of functions that it calls follow its own.

    `block_indices` and `site_indices` are their places among the module's counters. `waits` and
    `digest` are found when they are asked for: trials do not ask.
    """

    name: str
    parameters: tuple[ParameterSlot, ...]
    blocks: tuple[Block, ...]
    sites: tuple[Site, ...]
    obliviousness: Obliviousness
    static_shared_bytes: int
    max_threads: int
    block_indices: tuple[int, ...]
    site_indices: tuple[int, ...]
    function: Function = field(compare=False, repr=False)
    find_waits: Callable[[], Waits] = field(compare=False, repr=False)

    @cached_property
    def waits(self) -> Waits:
        return self.find_waits()

    @cached_property
    def digest(self) -> str:
        """A hash, equal for kernels of a module that differ in names and lines only."""
        return code_digest(self.function)

    @property
    def oblivious(self) -> bool:
        return self.obliviousness.holds

    @property
    def parameter_bytes(self) -> int:
        return max((p.offset + p.size for p in self.parameters), default=0)


@dataclass(frozen=True)
class AssembledModule:
    """Bytecode for the machine, and the metadata of its kernels."""

    image: bytes
    kernels: Mapping[str, KernelCode]
    block_count: int
    site_count: int


def code_digest(function: Function) -> str:
    """A hash of the code without its lines, its own name, and those of its labels."""
    own = re.compile(rf"\b{re.escape(function.name)}(?=_param_\d+\b)|\$L__BB\d+(?=_\d+\b)")

    def unnamed(text: str) -> str:
        return own.sub("", text) if "_param_" in text or "$L__BB" in text else text

    parts: list[object] = [sorted(function.registers.items()), sorted(function.directives.items())]
    parts += [(v.type, v.count, v.alignment) for v in function.parameters]
    parts += [replace(variable, name=unnamed(variable.name)) for variable in function.variables]
    for item in function.body or ():
        if isinstance(item, Label):
            parts.append((unnamed(item.name), unnamed(item.table)))
        else:
            operands = tuple(unnamed(operand) for operand in item.operands)
            parts.append((item.opcode, item.modifiers, operands, item.guard, item.negated))
    return sha256(repr(parts).encode()).hexdigest()[:16]


_ADDRESS = re.compile(r"(?:generic\s*\(\s*)?([%$A-Za-z_][\w$]*)\s*\)?\s*(?:\+\s*(\d+))?$")
_MASKED = re.compile(r"0[xX][fF]+[0]*\s*\(")


def u32(*numbers: int) -> bytes:
    """Unsigned numbers."""
    return struct.pack(f"<{len(numbers)}I", *numbers)


def sized(data: bytes) -> bytes:
    """Bytes behind their length."""
    return u32(len(data)) + data


def listed(items: Iterable[bytes]) -> bytes:
    """Items behind their number."""
    written = list(items)
    return u32(len(written)) + b"".join(written)


def relocation_bytes(relocation: Relocation) -> bytes:
    """A place that gets the address of a variable or function when the module is loaded."""
    name = sized(relocation.name.encode())
    return struct.pack("<Q", relocation.offset) + name + struct.pack("<q", relocation.addend)


def variable_bytes(variable: Variable) -> bytes:
    """A variable in global or constant memory with its initial bytes."""
    data, relocations = _initial_bytes(variable)
    head = sized(variable.name.encode()) + u32(variable.alignment)
    places = listed(map(relocation_bytes, relocations))
    return head + struct.pack("<Q", variable.size) + sized(data) + places


def leap_bytes(leap: Leap, encoder: FunctionEncoder) -> bytes:
    """How a block repeats, with registers as offsets."""

    def register(name: str) -> bytes:
        return u32(encoder.register(name), width_of(encoder.register_type(name)))

    def total(found: Sum) -> bytes:
        # What it starts from stands elsewhere.
        terms = (register(name) + struct.pack("<q", count) for name, count in found.terms)
        return struct.pack("<Q", found.number & ((1 << 64) - 1)) + listed(terms)

    assert leap.tested.start is not None
    comparison = ("ne", "lt", "le", "gt", "ge").index(leap.comparison)
    tested = [name for name, _ in leap.steps].index(leap.tested.start)
    head = u32(comparison, leap.type[0] == "s", width_of(leap.type), tested)
    sums = total(leap.tested) + total(leap.bound)
    return head + sums + listed(register(name) + total(step) for name, step in leap.steps)


def _initial_bytes(variable: Variable) -> tuple[bytes, list[Relocation]]:
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
            bits = bits_of(element, variable.type) & ((1 << 8 * width) - 1)
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

"""Encoding of one function: takes operands as text, gives frame offsets and records.

A register is 32 lanes of 4 bytes, or of 8 for 64-bit types. Constants are registers too, broadcast
once per warp and placed behind the others. Until their place is known, the offsets of constants
carry the mark `CONSTANT`.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from cutune.emulator.lower.opcodes import handlers
from cutune.ptx.taint import sources
from cutune.ptx.types import Function, Instruction, PtxError, Variable, aligned, integer, placed

CONSTANT = 1 << 31
NO_REGISTER = 0xFFFFFFFF
LANES = 32
GUARDED, SHARED, SPINNING, NEGATED = 1, 2, 4, 8

_WIDE = frozenset(("u64", "s64", "f64", "b64"))
_MEMORY = re.compile(r"\[\s*([^\s+\]]+)\s*(?:\+\s*(-?\w+))?\s*(?:,[^\]]*)?\]$")
_NUMBER = re.compile(r"-?\d")
#: Before the first instruction.
_NOTHING = Instruction("", (), (), "", False, 0, 0)
_FORMATS = {"f32": ("<f", "<I"), "f64": ("<d", "<Q")}
_EXACT_FLOAT = re.compile(r"-?0([fFdD])([0-9a-fA-F]+)$")


@dataclass
class Record:
    """One instruction of the machine; see `struct Instruction` in machine_core.h."""

    handler: str
    d: int = 0
    a: int = 0
    b: int = 0
    c: int = 0
    x: int = 0
    flags: int = 0
    imm: int = 0
    line: int = 0
    source_line: int = 0


@dataclass(frozen=True)
class Access:
    """A static memory instruction; `bytes` per lane, vectors counted whole.

    `guarded`: only some lanes may execute it. `real`: an atomic operation on real numbers.
    """

    kind: str
    space: str
    bytes: int
    guarded: bool
    line: int
    real: bool


@dataclass(frozen=True)
class Relocation:
    """A constant that holds the address of a variable or stands for a function."""

    offset: int
    name: str
    addend: int = 0


class Symbols(Protocol):
    """The symbols of the module that a function reads."""

    functions: dict[str, Function]
    variables: dict[str, Variable]
    operands: list[int]

    def site(self, access: Access) -> int:
        """Number a memory instruction."""

    def shared_offset(self, name: str, function: Function) -> int | None:
        """The offset of a variable in shared memory of the block; None: behind all others."""


@dataclass
class FunctionEncoder:
    """Collects the records of one function, instruction by instruction of it."""

    function: Function
    symbols: Symbols
    records: list[Record] = field(default_factory=list)
    relocations: list[Relocation] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.slots: dict[str, int] = {}
        self.register_bytes = 0
        self.constants: dict[tuple[int, int | str], int] = {}
        self.constant_values: list[tuple[int, int, int]] = []
        self.constant_bytes = 0
        self.temporaries: dict[int, list[int]] = {4: [], 8: []}
        self.begin(_NOTHING)
        function = self.function
        variables = [v for v in function.variables if v.space in ("local", "param")]
        if not function.is_kernel:
            variables = [*function.results, *function.parameters, *variables]
        offsets, size = placed(variables)
        #: Offsets of everything that a thread keeps in local memory for this function.
        self.frame = dict(zip((v.name for v in variables), offsets, strict=True))
        self.local_bytes = aligned(size, 16)

    def fail(self, reason: str) -> PtxError:
        at = self.instruction
        return PtxError(at.line, reason, at.source_line)

    def unsupported(self) -> PtxError:
        return self.fail(f"'{'.'.join((self.opcode, *self.modifiers))}' is not supported")

    def emit(self, handler: str, **fields: int) -> Record:
        if handler not in handlers():
            raise self.unsupported()
        at = self.instruction
        record = Record(handler, **fields, line=at.line, source_line=at.source_line)
        self.records.append(record)
        return record

    def computed(self, handler: str, kind: str, **fields: int) -> int:
        """Append an operation whose result, of type `kind`, goes to a temporary register."""
        result = self.temporary(kind)
        self.emit(handler, d=result, **fields)
        return result

    def access(self, kind: str, space: str, size: int, *, real: bool = False) -> int:
        at = self.instruction
        return self.symbols.site(Access(kind, space, size, bool(at.guard), at.line, real))

    def _new_slot(self, width: int) -> int:
        offset = self.register_bytes
        self.register_bytes += LANES * width
        return offset

    def temporary(self, kind: str) -> int:
        """A register for the rest of the current PTX instruction."""
        width = width_of(kind)
        pool = self.temporaries[width]
        if self.used[width] == len(pool):
            pool.append(self._new_slot(width))
        self.used[width] += 1
        return pool[self.used[width] - 1]

    def begin(self, instruction: Instruction) -> None:
        """Start lowering an instruction: its temporaries may use the last one's."""
        self.instruction, self.opcode = instruction, instruction.opcode
        self.modifiers, self.operands = instruction.modifiers, instruction.operands
        self.used = {4: 0, 8: 0}

    def register_type(self, text: str) -> str:
        if text not in self.function.registers:
            raise self.fail(f"'{text}' is not a register")
        return self.function.registers[text]

    def register(self, text: str) -> int:
        kind = self.register_type(text)
        if text not in self.slots:
            if kind == "b128":
                raise self.fail("128-bit registers are not supported")
            self.slots[text] = self._new_slot(width_of(kind))
        return self.slots[text]

    @cached_property
    def read_registers(self) -> frozenset[str]:
        return frozenset(name for item in self.function.instructions for name in sources(item))

    def destination(self, text: str, kind: str) -> int:
        if text == "_":
            return self.temporary(kind)
        if width_of(self.register_type(text)) != width_of(kind):
            raise self.fail(f"register {text} does not have the width of .{kind}")
        return self.register(text)

    def constant(self, kind: str, value: int) -> int:
        width = width_of(kind)
        value &= (1 << 8 * width) - 1
        return self._constant((width, value), value)

    def _constant(self, key: tuple[int, int | str], value: int) -> int:
        if key not in self.constants:
            self.constants[key] = CONSTANT | self.constant_bytes
            self.constant_values.append((self.constant_bytes, key[0], value))
            self.constant_bytes += LANES * key[0]
        return self.constants[key]

    def source(self, text: str, kind: str) -> int:
        """The register that an operand stands for, as `kind` needs it."""
        if text in self.function.registers:
            return self._adapted(self.register(text), self.function.registers[text], kind)
        if text[0] == "!":
            return self.computed("not_pred", "pred", a=self.source(text[1:], "pred"))
        if _NUMBER.match(text):
            return self.constant(kind, bits_of(text, kind))
        if text in ("WARP_SZ", "%WARP_SZ"):
            return self.constant(kind, LANES)
        if text[0] == "%":
            return self._special(text, kind)
        return self.address(text, kind)

    def registers_of(self, kind: str, d: str, **sources: str) -> dict[str, int]:
        """The registers of a destination and of sources of one type, by the fields of a record."""
        slots = {"d": self.destination(d, kind)}
        return slots | {field: self.source(text, kind) for field, text in sources.items()}

    def _adapted(self, slot: int, held: str, kind: str) -> int:
        if width_of(held) == width_of(kind):
            return slot
        return self.computed("low_b64" if width_of(held) == 8 else "widen_u32", kind, a=slot)

    def _special(self, text: str, kind: str) -> int:
        name = "special_" + text[1:].replace(".", "_")
        if name not in handlers():
            raise self.fail(f"special register {text} is not supported")
        held = handlers()[name][0]
        return self._adapted(self.computed(name, held), held, kind)

    def address(self, name: str, kind: str) -> int:
        if name in self.frame:
            return self.computed("local_address", "u64", imm=self.frame[name])
        for offset, parameter in parameter_offsets(self.function):
            if self.function.is_kernel and parameter.name == name:
                return self.computed("parameter_address", "u64", imm=offset)
        variable = next((v for v in self.function.variables if v.name == name), None)
        variable = variable or self.symbols.variables.get(name)
        if variable is not None and variable.space == "shared":
            shared_offset = self.symbols.shared_offset(name, self.function)
            if shared_offset is not None:
                return self.constant(kind, shared_offset)
            return self._adapted(self.computed("dynamic_shared_address", "u32"), "u32", kind)
        if variable is None and name not in self.symbols.functions:
            raise self.fail(f"unknown operand '{name}'")
        if variable is not None and variable.external:
            raise self.fail(f"variable '{name}' is not defined in any module of the program")
        if (8, name) not in self.constants:
            self.relocations.append(Relocation(self.constant_bytes, name))
        return self._constant((8, name), 0)

    def finish(self, first_operand: int) -> None:
        """Replace the marks of constants by offsets; the number of registers is final now."""
        start = self.register_bytes

        def place(offset: int) -> int:
            is_constant = offset != NO_REGISTER and offset & CONSTANT
            return start + (offset ^ CONSTANT) if is_constant else offset

        for r in self.records:
            r.d, r.a, r.b, r.c, r.x = place(r.d), place(r.a), place(r.b), place(r.c), place(r.x)
        operands = self.symbols.operands
        operands[first_operand:] = map(place, operands[first_operand:])

    def memory_operand(self, text: str) -> tuple[str, int]:
        match = _MEMORY.match(text)
        if match is None:
            raise self.fail(f"address '{text}' not understood")
        base, offset = match.groups()
        return base, integer(offset) if offset else 0

    def address_operand(self, text: str, is_shared: bool) -> tuple[int, int]:
        """Register and offset of `[base+offset]`; addresses of shared memory have 32 bits."""
        base, offset = self.memory_operand(text)
        return self.source(base, "u32" if is_shared else "u64"), offset

    def table(self, values: list[int]) -> int:
        """Put further operands into the module's table; gives the flag bits that point there."""
        index = len(self.symbols.operands)
        self.symbols.operands.extend(values)
        return index << 8


def width_of(kind: str) -> int:
    """Bytes per lane of a register of this type."""
    return 8 if kind in _WIDE else 4


def elements(text: str) -> list[str]:
    """The elements of a vector operand `{a, b}`, or the one operand."""
    return [part.strip() for part in text.strip("{} ").split(",")]


def paired_names(text: str) -> list[str]:
    """The names of a destination `d|p`, or the one name."""
    return [name.strip() for name in text.split("|")]


def parameter_offsets(function: Function) -> list[tuple[int, Variable]]:
    """The parameters of a kernel, each with its offset in the parameter buffer."""
    return list(zip(placed(function.parameters)[0], function.parameters, strict=True))


def bits_of(text: str, kind: str) -> int:
    """The bits of a literal as an operand of type `kind`."""
    match = _EXACT_FLOAT.match(text)
    if match is None:
        if "." in text or (kind in ("f32", "f64") and not text.lower().startswith("0x")):
            return _float_bits(float(text), kind)
        return integer(text)
    bits = int(match.group(2), 16)
    held = "f32" if match.group(1) in "fF" else "f64"
    if text[0] == "-":
        bits ^= 1 << (31 if held == "f32" else 63)
    if kind in ("f32", "f64") and kind != held:
        real, unsigned = _FORMATS[held]
        return _float_bits(struct.unpack(real, struct.pack(unsigned, bits))[0], kind)
    return bits


def _float_bits(value: float, kind: str) -> int:
    real, unsigned = _FORMATS["f64" if kind == "f64" else "f32"]
    return int(struct.unpack(unsigned, struct.pack(real, value))[0])


Lowering = Callable[[FunctionEncoder], object]
"""Emits the records of the instruction that the encoder is at."""

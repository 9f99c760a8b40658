"""Instructions with effects: memory, calls, warps. Takes moments of a walk, gives accesses.

Instructions known to be harmless are listed here; any other is not understood. A called function
gets arguments that are not raw.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cutune.core.codes import Code
from cutune.proof.flow.graph import is_meeting
from cutune.proof.memory.block_sums import BlockSums, Reduced
from cutune.proof.memory.called_functions import (
    ENDINGS,
    PREFETCHES,
    SPACES,
    CalledFunctions,
    is_plain,
)
from cutune.proof.values.built_ins import REGISTERS
from cutune.proof.values.operations import Moment, NotUnderstood, bits_of, parts
from cutune.proof.values.polynomial import OPAQUE, Atom, IntegerPolynomial
from cutune.proof.values.predicates import (
    Relation,
    Unknown,
    Value,
    all_parts_of,
    properties_of,
    unknown,
)
from cutune.proof.values.terms import (
    ANYTHING,
    NOTHING,
    RAW,
    AtomOperation,
    AtomProperties,
    Atoms,
    Interval,
    number_range,
    only_atom,
)
from cutune.ptx.control_flow import CallTargets, call_target, is_by_address
from cutune.ptx.taint import names, results, sources
from cutune.ptx.types import (
    ACTIVE_LANES,
    TYPE_BYTES,
    Function,
    Instruction,
    Module,
    Variable,
    first_of,
    integer,
)

#: A register or variable in square brackets, and the number that is added to it.
ADDRESS = re.compile(r"\[\s*([%$\w@]+)\s*(?:\+\s*(-?\w+))?\s*\]$")
_EVERY = frozenset("xyz")
_SHARED = "shared"
_OWN_SPACES = ("local", "const", _SHARED)
#: Atomic operations that may be done in any order.
COMMUTATIVE = frozenset({"add", "min", "max", "and", "or", "xor", "inc", "dec"})
ATOMIC_OPERATIONS = COMMUTATIVE | {"exch", "cas"}
ATOMIC_WORDS = frozenset({"global", "relaxed", "gpu", "sys", "noftz", "v2", "v4", "cas", "exch"})
_VOTES = frozenset({"shfl", "vote", "redux", "match"})
#: Instructions that must not be executed under a raw condition.
_GUARDED = frozenset({"ld", "st", "atom", "red", "call", "trap", *_VOTES})
#: A barrier that only waits for all threads of the block.
BARRIER_WORDS = frozenset({"sync", "aligned", "cta"})
#: Modifiers of atomic operations in the shared memory of a block.
_OF_BLOCK = frozenset({_SHARED, "shared::cta", "cta"})
_FENCES = frozenset({"membar", "fence"})
_TEXTURES = frozenset({"tex", "tld4", "txq"})
_IN_ADDRESS = "in an address"
_FULL_MASK = IntegerPolynomial.constant(-1)
#: Begins the names of values that lanes of a warp have told each other.
_TOLD = "told"


@dataclass(frozen=True)
class MemoryAccess:
    """An access of memory by a thread.

    `kind`: load, store, atomic, call (of a function that may do anything to memory), end (of the
    launch). `address` is None where it is not known. `operation`: of atomics.
    """

    kind: str
    instruction: Instruction
    block: int
    known: frozenset[Relation]
    properties: AtomProperties
    address: IntegerPolynomial | None = None
    bytes: int = 0
    values: tuple[IntegerPolynomial, ...] = ()
    operation: str = ""
    space: str = "global"
    read_only: bool = False

    @property
    def is_effect(self) -> bool:
        """Can another thread see it?"""
        return self.kind != "load" and self.space != "local"


@dataclass
class Recorder:
    """Collects the accesses of one walk of a function of a module, and where raw values are used.

    `raw`: per dimension the first use: words for the message, and where. `shares_rows`: do blocks
    keep their indices? Then they may have barriers and shared memory. `barriers`: basic blocks with
    one. `sums`: sums that blocks make for themselves, in the variables where these are understood.
    `allows_lanes`: may lanes of a warp tell each other anything, but in a reduction?
    `reduced`: what threads do together as reductions, where these are looked for; `postponed`: what
    was not understood meanwhile, which matters where it is in none. `has_rows_behind`: does
    somebody see that what lies in an array behind all that reductions use is of rows?
    """

    module: Module
    function: Function
    atoms: Atoms
    accesses: list[MemoryAccess] = field(default_factory=list)
    raw: dict[str, tuple[str, Instruction]] = field(default_factory=dict)
    uses_lanes: bool = False
    shares_rows: bool = False
    allows_lanes: bool = True
    reduced: Reduced | None = None
    has_rows_behind: bool = False
    barriers: set[int] = field(default_factory=set)
    sums: BlockSums = field(default_factory=lambda: BlockSums({}))
    postponed: list[tuple[int, NotUnderstood]] = field(default_factory=list)
    _block: int = 0

    def __post_init__(self) -> None:
        function, variables = self.function, (*self.module.variables, *self.function.variables)
        self.variables: Mapping[str, Variable] = {one.name: one for one in variables}
        self.called = CalledFunctions(CallTargets(self.module), self.variables)
        self._read = frozenset(name for item in function.instructions for name in sources(item))
        self._indices = {p.name: i for i, p in enumerate(function.parameters)}

    @property
    def symbols(self) -> frozenset[str]:
        """The names that stand for addresses: of variables, functions and parameters."""
        return frozenset({*self.variables, *self.module.functions, *self._indices})

    def begin(self) -> None:
        self.accesses.clear()
        self.raw.clear()
        self.barriers.clear()
        self.postponed.clear()
        self.uses_lanes = False
        self.sums.begin()

    def see(self, moment: Moment) -> bool:
        """Take care of an instruction; False for those that only compute."""
        self._block = moment.block
        try:
            return self._see(moment)
        except NotUnderstood as error:
            if self.reduced is None or not is_meeting(moment.instruction):
                raise
            self.postponed.append((moment.block, error))
        for register in results(moment.instruction):
            self._write_unknown(moment, "together", register, raw=_EVERY)
        return True

    def _write_unknown(
        self, moment: Moment, what: str, register: str, raw: frozenset[str] = frozenset()
    ) -> None:
        name = f"{what}{moment.instruction.line}.{register}"
        kind = self.function.registers.get(register)
        properties = AtomProperties(raw, _EVERY, True, moment.loops)
        moment.write(register, unknown(name, kind, properties, self.atoms))

    def _see(self, moment: Moment) -> bool:
        opcode = moment.instruction.opcode
        if moment.guard is not None and opcode in _GUARDED:
            self.use(moment.guard, moment.instruction, "in a condition")
        match opcode:
            case "ld":
                self._load(moment)
            case "st":
                self._store(moment)
            case "atom" | "red":
                self._atomic(moment)
            case "call":
                self._call(moment)
            case "trap":
                self.accesses.append(self._access(moment, "end"))
            case "bar" | "barrier":
                self._barrier(moment)
            case _ if opcode in _VOTES:
                self._vote(moment)
            case _ if opcode == ACTIVE_LANES:
                self._active_lanes(moment)
            case _ if opcode in _TEXTURES:
                self._texture(moment)
            case _ if opcode in _FENCES:
                raise NotUnderstood(Code.ORDERING, "a memory fence", moment.instruction)
            case _ if opcode in PREFETCHES:
                self._values(moment, *moment.instruction.operands, how=_IN_ADDRESS)
            case _:
                return False
        return True

    def use(self, value: Value, instruction: Instruction, how: str) -> None:
        """Note the use of a value on which effects depend: it must not be raw."""
        if self._is_in_reduction:
            return
        for dimension in sorted(properties_of(value, self.atoms).raw):
            if dimension not in self.raw:
                self.raw[dimension] = f"{self._built_ins(value, dimension)} {how}", instruction

    def _built_ins(self, value: Value, dimension: str) -> str:
        kinds, is_all = raw_kinds(value, dimension, self.atoms)
        if not is_all:
            read = self.function.operands
            kinds = {kind for kind, name in REGISTERS.items() if f"{name}.{dimension}" in read}
        *first, last = [f"{kind}.{dimension}" for kind in REGISTERS if kind in kinds] or [
            "what a block has summed up"
        ]
        return f"{', '.join(first)} {'and' if is_all else 'or'} {last}" if first else last

    def _load(self, moment: Moment) -> None:
        instruction = moment.instruction
        registers, kind = parts(instruction.operands[0]), instruction.modifiers[-1]
        space = self._space(instruction)
        if space == "param":
            self._load_parameter(moment, registers, kind)
            return
        address, place = self._address(moment, instruction.operands[1], space)
        properties = self._used(moment, address, _IN_ADDRESS)
        size, read_only = len(registers) * TYPE_BYTES[kind], "nc" in instruction.modifiers
        load = self._access(moment, "load", address, size, place)
        self.accesses.append(replace(load, read_only=read_only))
        ids = _EVERY if place == "local" else properties.ids
        is_of_block = self.sums.is_sum(address) or self._is_unsettled(address, place, size)
        raw = _EVERY if is_of_block else self._raw_in_reduction(properties)
        loops = properties.loops | moment.loops
        loaded = AtomProperties(raw, ids, True, loops, _interval_of(kind))
        for index, register in enumerate(registers):
            value = self.atoms.named(f"load{instruction.line}.{index}", loaded)
            self.sums.was_read(value, address)
            if register != "_":
                moment.write(register, value)

    def _is_unsettled(self, address: IntegerPolynomial, place: str, size: int) -> bool:
        """May what a reduction leaves there depend on the block?"""
        if self.reduced is None or place != _SHARED:
            return False
        is_own = self.reduced.may_use(address, self.variables)
        is_own &= not (self.has_rows_behind and self.reduced.begins_behind(address))
        is_stored = self.reduced.element(address, size) in self.reduced.stored
        return self._is_in_reduction or (is_own and not is_stored)

    @property
    def _is_in_reduction(self) -> bool:
        return self.reduced is not None and self._block in self.reduced.blocks

    def _raw_in_reduction(self, address: AtomProperties) -> frozenset[str]:
        return address.raw if self._is_in_reduction else frozenset()

    def _load_parameter(self, moment: Moment, registers: Sequence[str], kind: str) -> None:
        found = ADDRESS.match(moment.instruction.operands[1])
        if found is None:
            raise NotUnderstood(Code.NOT_PROVEN, "the address of a parameter", moment.instruction)
        name, offset = self._parameter(moment, found[1], integer(found[2] or "0"))
        for index, register in enumerate(registers):
            place = offset + index * TYPE_BYTES[kind]
            if name in self._indices:
                # Long numbers are read as signed.
                plain = kind if TYPE_BYTES[kind] < 4 else f"b{bits_of(kind)}"
                text = f"{self._indices[name]}:{place}:{plain}"
                value: Value = self.atoms.parameter(text, _interval_of(kind))
            elif name in self.function.registers:
                # A field of a parameter that is found by an index.
                properties = self._used(moment, self._value(moment, name), _IN_ADDRESS)
                value = self._loaded(moment, index, properties)
            else:
                whole = self._value(moment, _slot(name))
                part = AtomOperation(f"part{place}.{kind}", (whole,))
                value = self.atoms.computed(part, self.atoms.of(whole))
            moment.write(register, value)

    def _loaded(self, moment: Moment, index: int, properties: AtomProperties) -> IntegerPolynomial:
        raw, loops = self._raw_in_reduction(properties), properties.loops | moment.loops
        loaded = AtomProperties(raw, properties.ids, True, loops)
        return self.atoms.named(f"load{moment.instruction.line}.{index}", loaded)

    def _parameter(self, moment: Moment, name: str, offset: int) -> tuple[str, int]:
        """A place in a parameter, whose address may have been put into a register before."""
        address = moment.read(name) if name in self.function.registers else None
        if isinstance(address, IntegerPolynomial):
            terms = dict(address.terms)
            begin = terms.pop((), 0)
            for parameter in self._indices:
                if terms == {(Atom(OPAQUE, f"&{parameter}"),): 1}:
                    return parameter, begin + offset
        return name, offset

    def _store(self, moment: Moment) -> None:
        instruction = moment.instruction
        space = self._space(instruction)
        how = "in a stored value" if space != "param" else "in an argument of a function"
        values = self._values(moment, *parts(instruction.operands[1]), how=how)
        if space == "param":
            if ADDRESS.match(instruction.operands[0]) is None:
                raise NotUnderstood(Code.NOT_PROVEN, "the address of an argument", instruction)
            return
        address, place = self._address(moment, instruction.operands[0], space)
        self._used(moment, address, _IN_ADDRESS)
        size = len(values) * TYPE_BYTES[instruction.modifiers[-1]]
        store = self._access(moment, "store", address, size, place)
        self.accesses.append(replace(store, values=values))

    def _atomic(self, moment: Moment) -> None:
        instruction = moment.instruction
        modifiers = instruction.modifiers
        operation = next((m for m in modifiers if m in ATOMIC_OPERATIONS), "")
        allowed = ATOMIC_WORDS | COMMUTATIVE | (_OF_BLOCK if self.shares_rows else set())
        unknown = (m for m in modifiers if m not in allowed and m not in TYPE_BYTES)
        if not operation or not all(m.startswith(("L1::", "L2::")) for m in unknown):
            raise NotUnderstood(Code.ORDERING, _words(instruction), instruction)
        operands = instruction.operands
        if instruction.opcode == "atom":
            if any(name in self._read for name in parts(operands[0]) if name != "_"):
                raise NotUnderstood(Code.ATOMIC_RESULT, f"'atom.{operation}'", instruction)
            operands = operands[1:]
        is_shared = not {_SHARED, "shared::cta"}.isdisjoint(modifiers)
        address, place = self._address(moment, operands[0], _SHARED if is_shared else "")
        if place != _SHARED and "cta" in modifiers:
            # Between blocks it is none, and there may be more of them than in the original.
            raise NotUnderstood(Code.ORDERING, "an atomic operation of one block", instruction)
        self._used(moment, address, _IN_ADDRESS)
        kind = first_of(m for m in reversed(modifiers) if m in TYPE_BYTES)
        operation = f"{operation}.{kind}"
        texts = [part for text in operands[1:] for part in parts(text)]
        values = self._values(moment, *texts)
        # A block may have summed up one of them.
        if place == _SHARED or not self.sums.is_added(values, operation, instruction.line):
            self._values(moment, *texts, how="in a value of an atomic operation")
        self.sums.changed(address, operation)
        size = TYPE_BYTES[kind] * len(parts(operands[1]))
        atomic = self._access(moment, "atomic", address, size, place)
        self.accesses.append(replace(atomic, values=values, operation=operation))

    def _call(self, moment: Moment) -> None:
        """A called function gets no raw arguments, and may do anything but read its ids."""
        instruction = moment.instruction
        target = call_target(instruction)
        if target in ENDINGS:
            self.accesses.append(self._access(moment, "end"))
            return
        is_virtual = False
        if is_by_address(instruction, self.function):
            (function,) = self._values(moment, target, how="in the address of a function")
            loads = {f"load{one.instruction.line}.0": one.address for one in self.accesses}
            tables = (loads[atom.name] for atom in function.atoms if atom.name in loads)
            # Does an object have the table that the address of the function comes from?
            is_virtual = any(
                atom.name in loads for t in tables if t is not None for atom in t.atoms
            )
        returned = AtomProperties(ids=_EVERY, is_loaded=True, loops=moment.loops)
        first = instruction.operands[0]
        for name in parts(first.strip("()")) if target != first else ():
            value = self.atoms.named(f"call{instruction.line}.{name}", returned)
            moment.write(_slot(name), value)
        problem = self.called.against(instruction, self.function, is_virtual)
        if problem is not None:
            raise NotUnderstood(*problem, instruction)
        self.accesses.append(self._access(moment, "call"))

    def _barrier(self, moment: Moment) -> None:
        instruction = moment.instruction
        if "warp" in instruction.modifiers:
            self._whole_warp(moment, instruction.operands[-1])
            return
        self.barriers.add(moment.block)
        is_plain = set(instruction.modifiers) <= BARRIER_WORDS and len(instruction.operands) == 1
        if not self.shares_rows or not is_plain or moment.guard is not None:
            raise NotUnderstood(Code.BARRIER, "a barrier", instruction)

    def _vote(self, moment: Moment) -> None:
        """Lanes of a whole warp exchange the same values where each warp keeps its threads."""
        instruction = moment.instruction
        if instruction.opcode == "match" or "sync" not in instruction.modifiers:
            raise NotUnderstood(Code.WARP_LEVEL, f"'{instruction.opcode}'", instruction)
        if self.reduced is not None:
            raise NotUnderstood(Code.WARP_LEVEL, "'warps'", instruction)
        self._whole_warp(moment, instruction.operands[-1])
        for operand in instruction.operands[1:-1]:
            value = moment.read(operand.removeprefix("!"))
            self.use(value, instruction, "in a warp-level function")
        for register in map(str.strip, instruction.operands[0].split("|")):
            if register != "_":
                self._write_unknown(moment, _TOLD, register)

    def _active_lanes(self, moment: Moment) -> None:
        """Which lanes of a warp are there follows from what its threads do, in any block."""
        if self.reduced is not None:
            raise NotUnderstood(Code.WARP_LEVEL, "'warps'", moment.instruction)
        self._note_lanes(moment.instruction)
        self._write_unknown(moment, _TOLD, moment.instruction.operands[0])

    def _whole_warp(self, moment: Moment, mask: str) -> None:
        """All lanes meet, or those that the warp has told: they are the same in any block."""
        if self._is_in_reduction:
            return
        value = moment.read(mask)
        is_known = value == _FULL_MASK or _is_told(value)
        if not is_known or moment.guard is not None:
            what = "'warp-level code for a part of a warp'"
            raise NotUnderstood(Code.WARP_LEVEL, what, moment.instruction)
        self._note_lanes(moment.instruction)

    def _note_lanes(self, instruction: Instruction) -> None:
        if not self.allows_lanes and self.reduced is None:
            raise NotUnderstood(Code.WARP_LEVEL, "'warps'", instruction)
        self.uses_lanes = True

    def _texture(self, moment: Moment) -> None:
        instruction = moment.instruction
        read = [n for text in instruction.operands[1:] for n in names(text)]
        registers = [n for n in read if n in self.function.registers]
        properties = self.atoms.joined(self._values(moment, *registers, how="to read a texture"))
        for index, register in enumerate(parts(instruction.operands[0])):
            if register != "_":
                moment.write(register, self._loaded(moment, index, properties))

    def _space(self, instruction: Instruction) -> str:
        if not all(map(is_plain, instruction.modifiers)):
            raise NotUnderstood(Code.ORDERING, _words(instruction), instruction)
        bases = [modifier.split("::")[0] for modifier in instruction.modifiers]
        space = next((base for base in reversed(bases) if base in SPACES), "")
        if space == _SHARED and not self.shares_rows:
            raise NotUnderstood(Code.SHARED_MEMORY, "", instruction)
        return space

    def _address(self, moment: Moment, text: str, space: str) -> tuple[IntegerPolynomial, str]:
        """The address, and the space that it certainly lies in; `global` where that is open."""
        found = ADDRESS.match(text)
        if found is None:
            raise NotUnderstood(Code.NOT_PROVEN, f"the address '{text}'", moment.instruction)
        address = self._value(moment, found[1]) + integer(found[2] or "0")
        for atom in address.atoms:
            variable = self.variables.get(atom.symbol or "")
            if variable is not None and variable.space in _OWN_SPACES:
                return address, variable.space
        return address, space if space in _OWN_SPACES else "global"

    def _value(self, moment: Moment, text: str) -> IntegerPolynomial:
        value = moment.read(text)
        if not isinstance(value, IntegerPolynomial):
            raise NotUnderstood(Code.NOT_PROVEN, f"the operand '{text}'", moment.instruction)
        return value

    def _values(self, moment: Moment, *texts: str, how: str = "") -> tuple[IntegerPolynomial, ...]:
        addresses = map(ADDRESS.match, texts)
        names = (found[1] if found else text for text, found in zip(texts, addresses, strict=True))
        values = tuple(self._value(moment, name) for name in names)
        for value in values if how else ():
            self._used(moment, value, how)
        return values

    def _used(self, moment: Moment, value: IntegerPolynomial, how: str) -> AtomProperties:
        self.use(value, moment.instruction, how)
        return self.atoms.of(value)

    def _access(
        self,
        moment: Moment,
        kind: str,
        address: IntegerPolynomial | None = None,
        bytes: int = 0,
        space: str = "global",
    ) -> MemoryAccess:
        properties = self.atoms.of(address) if address is not None else NOTHING
        where = moment.instruction, moment.block, moment.known
        return MemoryAccess(kind, *where, properties, address, bytes, space=space)


def _words(instruction: Instruction) -> str:
    return f"'{'.'.join((instruction.opcode, *instruction.modifiers))}'"


def _slot(name: str) -> str:
    return f"{name} returned"


def _interval_of(kind: str) -> Interval:
    bits = bits_of(kind)
    if kind[0] not in "usb" or bits > 64:
        return ANYTHING
    return Interval(*number_range(bits, not (kind[0] == "u" and bits < 32)))


def _is_told(value: Value) -> bool:
    """Is it what one instruction has told a warp about itself, as which of its lanes vote?"""
    atom = only_atom(value) if isinstance(value, IntegerPolynomial) else None
    return atom is not None and atom.name.startswith(_TOLD)


def raw_kinds(value: Value, dimension: str, atoms: Atoms) -> tuple[set[str], bool]:
    """Return the raw built-ins that a value is computed from; are these all?"""
    kinds, others = set[str](), set[str]()
    for part in all_parts_of([value], atoms):
        if isinstance(part, Unknown):
            others |= part.properties.raw
        for atom in part.atoms if isinstance(part, IntegerPolynomial) else ():
            if atom.kind in RAW:
                kinds |= {atom.kind} if atom.name == dimension else set()
            elif atoms.operation(atom) is None:
                others |= atoms.properties(atom).raw
    return kinds, bool(kinds) and dimension not in others

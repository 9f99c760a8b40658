"""One block, run from a point that all its threads reach to the next one that data decide.

Takes the control flow, the values at the beginning and the number of threads. Gives the values of
registers at the end, what lies in shared memory, and effects in global memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from cutune.core.codes import Code
from cutune.proof.collectives.arithmetic import (
    LOGIC,
    compared,
    computed,
    held,
    known_results,
    places_read,
    signed,
)
from cutune.proof.collectives.lanes import (
    NUMBER,
    TERM,
    Flags,
    Lanes,
    Numbers,
    Terms,
    applied,
    are_all,
    combined,
    combining,
    is_rounded,
    negated,
    numbers,
    uniform,
    unknown,
)
from cutune.proof.collectives.linear_maps import with_mapped_parts
from cutune.proof.collectives.run_ends import Effect, Stop, Unsettled, detour
from cutune.proof.collectives.shared_memory import Clock, Race, SharedAddresses, SharedArray, used
from cutune.proof.flow.graph import Graph
from cutune.proof.memory.accesses import ADDRESS, BARRIER_WORDS
from cutune.proof.values.operations import FUNCTIONS, parts
from cutune.proof.values.terms import WARP
from cutune.ptx.taint import spaces
from cutune.ptx.types import BARRIERS, TYPE_BYTES, Instruction, integer

#: Blocks of instructions that a run may execute.
_MOST_STEPS = 3000
#: Where no shared variable lies.
_OTHER_SPACES = frozenset({"global", "local", "const", "param", "tex"})


@dataclass(frozen=True)
class _Together:
    """A run as it was when threads went different ways, at `stop`."""

    stop: Stop
    state: dict[str, Lanes]
    blocks: set[int]
    arrays: dict[str, SharedArray]
    effects: list[Effect]
    written: set[str]


@dataclass
class BlockRun:
    """Runs a block of `width` threads.

    Attributes:
        initial: gives the value of a register, a built-in or a constant at the beginning.
        barred: headers of loops that are not entered.
        blocks: basic blocks that were executed.
        effects: accesses of global memory.
        reassociates: were rounded sums made in another order?
        written: registers that were written.
        steps: basic blocks that were executed.
        failure: what ended the run before its end.
    """

    graph: Graph
    registers: Mapping[str, str]
    addresses: SharedAddresses
    terms: Terms
    width: int
    initial: Callable[[str], Lanes]
    barred: frozenset[int]
    state: dict[str, Lanes] = field(default_factory=dict)
    blocks: set[int] = field(default_factory=set)
    arrays: dict[str, SharedArray] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)
    reassociates: bool = False
    written: set[str] = field(default_factory=set)
    steps: int = 0
    failure: Unsettled | None = None
    _together: _Together | None = None

    def run(self, begin: int) -> Stop | None:
        """Run until all threads stop; None where they have all ended.

        Where some of them come to what is not known, the end is where they were last together.

        Raises:
            Unsettled: they were not together before.
        """
        try:
            return self._run(begin)
        except Unsettled as error:
            if self._together is None:
                raise
            self.failure, before = error, self._together
            self.state, self.blocks, self.arrays = before.state, before.blocks, before.arrays
            self.effects, self.written = before.effects, before.written
            return before.stop

    def _run(self, begin: int) -> Stop | None:
        self.terms.threads = self.width
        self.places = np.full(self.width, begin, np.int64)
        self.ended = np.zeros(self.width, np.bool_)
        self.waiting = np.zeros(self.width, np.bool_)
        self.clock = Clock(np.zeros(-(-self.width // WARP), np.int64))
        while self.steps < _MOST_STEPS:
            self.steps += 1
            active = ~self.ended & ~self.waiting
            if not np.count_nonzero(active):
                if are_all(self.ended):
                    return None
                self._pass_barrier()
                continue
            block = int(self.places[active].min())
            group = active & (self.places == block)
            if block in self.barred and block != begin:
                if not are_all(group):
                    raise Unsettled("a loop that some threads may not reach")
                return Stop(block, True)
            self.blocks.add(block)
            for instruction in self.graph.flow.blocks[block].instructions:
                self._execute(instruction, group)
            if self._go_on(block, group):
                return Stop(block)
        raise Unsettled("a loop that goes on for too long")

    def _pass_barrier(self) -> None:
        if self.ended.any() or not are_all(self.places == self.places[0]):
            raise Unsettled("a barrier that some threads may not reach")
        self.waiting[:] = False
        self.clock.block += 1
        for array in self.arrays.values():
            array.last.clear()

    def _go_on(self, block: int, group: Flags) -> bool:
        """Send threads on; True where all stop here."""
        terminator = self.graph.flow.blocks[block].terminator
        match terminator.kind:
            case "ret" | "exit":
                self.ended |= group
            case "jump":
                self.places[group] = terminator.targets[0]
            case "suspend":
                self.places[group] = terminator.targets[0]
                item = terminator.instruction
                if item is None or item.opcode not in BARRIERS:
                    raise Unsettled("a function that is called", item)
                if "warp" not in item.modifiers:
                    self.waiting |= group
            case "branch":
                condition = self._read(terminator.guard)
                if not condition.are_numbers(group):
                    if are_all(group):
                        return True
                    self._take_detour(block, group)
                    return False
                goes = (condition.data != 0) != terminator.negated
                targets = np.where(goes, terminator.targets[0], terminator.targets[1])
                if are_all(group) and not are_all(targets == targets[0]):
                    self._remember(Stop(block))
                self.places = np.where(group, targets, self.places)
            case _:
                raise Unsettled("a table of branches", terminator.instruction)
        return False

    def _take_detour(self, block: int, group: Flags) -> None:
        """Go on behind a branch that data decide, where both ways do nothing but compute."""
        way = detour(self.graph, block, self.registers)
        if way is None:
            instruction = self.graph.flow.blocks[block].terminator.instruction
            raise Unsettled("a branch that data decide", instruction)
        values = [self._read(text) for text in way.read]
        for register in way.written:
            name = f"detour {block}.{register}"
            self._write(register, group, applied(name, values, self.terms))
        self.blocks |= way.blocks
        self.places[group] = way.end

    def _remember(self, stop: Stop) -> None:
        """Remember everything as it is where threads go different ways."""
        arrays = {name: array.copy() for name, array in self.arrays.items()}
        self._together = _Together(
            stop, {**self.state}, {*self.blocks}, arrays, [*self.effects], {*self.written}
        )

    # One instruction.

    def _execute(self, instruction: Instruction, group: Flags) -> None:
        opcode = instruction.opcode
        if opcode in ("bra", "ret", "exit"):
            return
        where = group
        if instruction.guard:
            condition = self._read(instruction.guard)
            if not condition.are_numbers(group):
                self._refuse(instruction, "a condition that data decide")
            where = group & ((condition.data != 0) != instruction.negated)
            if not np.count_nonzero(where):
                return
        match opcode:
            case "bar" | "barrier":
                self._barrier(instruction, where)
            case "ld" if "param" not in instruction.modifiers:
                self._load(instruction, where)
            case "st":
                self._store(instruction, where)
            case "atom" | "red":
                self._atomic(instruction, where)
            case "shfl":
                self._shuffle(instruction, where)
            case "redux":
                self._reduce(instruction, where)
            case "ld":
                self._load_parameter(instruction, where)
            case _ if opcode in FUNCTIONS:
                self._function(instruction, where)
            case _:
                self._refuse(instruction, f"'{opcode}'")

    def _refuse(self, instruction: Instruction, what: str) -> NoReturn:
        raise Unsettled(what, instruction)

    def _read(self, text: str) -> Lanes:
        if text not in self.state:
            self.state[text] = self.initial(text)
        return self.state[text]

    def _write(self, register: str, where: Flags, value: Lanes) -> None:
        if register == "_":
            return
        self.written.add(register)
        kept = value.in_register(self._bits(register))
        before = kept if are_all(where) else self._read(register)
        self.state[register] = before.written(where, kept)

    # Functions of registers.

    def _function(self, instruction: Instruction, where: Flags) -> None:
        opcode, operands = instruction.opcode, instruction.operands
        target = operands[0]
        if target.startswith("{"):
            self._unpack(instruction, where)
            return
        if opcode == "setp" or instruction.modifiers[-1:] == ("pred",):
            self._predicate(instruction, where)
            return
        texts = [text for operand in operands[1:] for text in parts(operand)]
        if "|" in target or opcode in ("addc", "subc", "madc") or "cc" in instruction.modifiers:
            self._write(target.split("|")[0], where, unknown(self.width))
            return
        values = [self._read(text) for text in texts]
        if are_all(where):
            self._write(target, where, self._value(instruction, values))
            return
        active = np.flatnonzero(where)
        result = self._value(instruction, [value.taken(active) for value in values])
        self._write(target, where, result.spread(active, self.width))

    def _value(self, instruction: Instruction, values: list[Lanes]) -> Lanes:
        opcode, modifiers = instruction.opcode, instruction.modifiers
        if opcode == "mov" and len(values) > 1:
            return self._packed(modifiers[-1], values)
        if opcode in ("mov", "cvta"):
            return values[0]
        if opcode == "selp":
            return self._selected(values)
        known = known_results(instruction.opcode, instruction.modifiers, values)
        if known is not None and known.is_number:
            return known
        name = ".".join((opcode, *modifiers))
        if len(values) == 2 and (operation := combining(opcode, modifiers)):
            result = self._combined(operation, values[0], values[1])
        else:
            result = applied(name, values, self.terms)
        result, is_sum = with_mapped_parts(name, values, result, self.terms)
        self.reassociates |= is_sum
        return result if known is None else result.written(known.kind == NUMBER, known)

    def _combined(self, operation: str, first: Lanes, second: Lanes) -> Lanes:
        result = combined(operation, first, second, self.terms)
        if is_rounded(operation) and result.threads is not None:
            self.reassociates = True
        return result

    def _selected(self, values: list[Lanes]) -> Lanes:
        first, second, condition = values
        if not condition.is_number:
            return applied("selp", values, self.terms)
        return second.written(condition.data != 0, first)

    def _packed(self, kind: str, values: list[Lanes]) -> Lanes:
        """`mov.b64 %fd2, {%r1, %r2}`: the value whose parts these are."""
        low, high = values[0], values[-1]
        if kind != "b64" or len(values) > 2:
            return applied(f"mov.packed.{kind}", values, self.terms)
        if (low.piece, high.piece) == (0, 1) and low.equals(high):
            return Lanes(low.kind, low.data, low.threads)
        if low.is_number and high.is_number:
            return numbers(held(low.data, 32) | high.data << np.int64(32))
        return applied("mov.packed", values, self.terms)

    def _unpack(self, instruction: Instruction, where: Flags) -> None:
        names, value = parts(instruction.operands[0]), self._read(instruction.operands[1])
        if len(names) != 2 or instruction.modifiers[-1] != "b64" or value.piece >= 0:
            for name in names:
                self._write(name, where, unknown(self.width))
            return
        for index, name in enumerate(names):
            if value.are_numbers(where):
                self._write(name, where, numbers(held(value.data >> np.int64(32 * index), 32)))
            else:
                self._write(name, where, Lanes(value.kind, value.data, value.threads, index))

    def _predicate(self, instruction: Instruction, where: Flags) -> None:
        names = instruction.operands[0].split("|")
        self._write(names[0].strip(), where, self._condition(instruction, where))
        for name in names[1:]:
            self._write(name.strip(), where, unknown(self.width))

    def _condition(self, instruction: Instruction, where: Flags) -> Lanes:
        opcode, modifiers, operands = (
            instruction.opcode,
            instruction.modifiers,
            instruction.operands[1:],
        )
        values = [self._truth(text) for text in operands]
        if opcode == "setp" and len(operands) == 2:
            kind = modifiers[-1]
            if all(value.are_numbers(where) for value in values):
                try:
                    data = [np.where(where, value.data, np.int64(0)) for value in values]
                    return _flags(compared(modifiers[0], kind, *data))
                except ValueError:
                    pass
        elif opcode == "setp" and len(operands) == 3 and values[2].are_numbers(where):
            plain = Instruction(
                "setp",
                (modifiers[0], *modifiers[2:]),
                ("_", *operands[:2]),
                "",
                False,
                instruction.line,
                instruction.source_line,
            )
            first = self._condition(plain, where)
            if first.are_numbers(where):
                return numbers(LOGIC[modifiers[1]](first.data, values[2].data))
        elif opcode == "mov":
            return values[0]
        elif opcode == "not" and values[0].are_numbers(where):
            return negated(values[0])
        elif opcode in LOGIC and all(value.are_numbers(where) for value in values):
            return numbers(LOGIC[opcode](values[0].data, values[1].data))
        return applied(".".join((opcode, *modifiers)), values, self.terms)

    def _truth(self, text: str) -> Lanes:
        value = self._read(text.removeprefix("!"))
        return negated(value) if text.startswith("!") else value

    # Warps and barriers.

    def _barrier(self, instruction: Instruction, where: Flags) -> None:
        if "warp" in instruction.modifiers:
            self._check_warps(instruction, where, instruction.operands[-1])
            self.clock.warps[np.unique(np.flatnonzero(where) // WARP)] += 1
        elif not BARRIER_WORDS.issuperset(instruction.modifiers) or instruction.operands != ("0",):
            self._refuse(instruction, "a barrier of some threads")

    def _check_warps(self, instruction: Instruction, where: Flags, mask: str) -> None:
        """Are all lanes of a warp there, and meant? Or no lane of it is there."""
        lanes = np.zeros(-(-self.width // WARP) * WARP, np.bool_)
        lanes[: self.width] = where
        rows = lanes.reshape(-1, WARP)
        members = self._read(mask)
        if not members.are_numbers(where):
            self._refuse(instruction, "lanes that data decide")
        are_meant = held(members.data[where], 32) == (1 << WARP) - 1
        if not are_meant.all() or (rows.any(axis=1) != rows.all(axis=1)).any():
            self._refuse(instruction, "warp-level code for a part of a warp")

    def _shuffle(self, instruction: Instruction, where: Flags) -> None:
        """PTX ISA, `shfl.sync`: which lane each one reads."""
        target, source, by, bound, mask = instruction.operands
        self._check_warps(instruction, where, mask)
        offset, clamp = self._read(by), self._read(bound)
        if not (offset.are_numbers(where) and clamp.are_numbers(where)):
            self._refuse(instruction, "lanes that data decide")
        threads = np.arange(self.width)
        mode = next(m for m in instruction.modifiers if m in ("up", "down", "bfly", "idx"))
        places, inside = places_read(mode, threads, offset.data, clamp.data)
        if (places[where] >= self.width).any():
            self._refuse(instruction, "a lane that the block does not have")
        value = self._read(source).taken(np.where(where, places, threads))
        names = [name.strip() for name in target.split("|")]
        self._write(names[0], where, value)
        for name in names[1:]:
            self._write(name, where, _flags(inside))

    def _reduce(self, instruction: Instruction, where: Flags) -> None:
        target, source, mask = instruction.operands
        self._check_warps(instruction, where, mask)
        operation = combining(instruction.modifiers[-2], instruction.modifiers[-1:])
        value, threads = self._read(source), np.arange(self.width)
        for step in (1, 2, 4, 8, 16):
            other = value.taken(np.where(where, threads ^ step, threads))
            if value.are_numbers(where):
                words = instruction.modifiers[-2:]
                value = numbers(computed(words[0], words[1:], (value.data, other.data)))
            else:
                value = self._combined(operation, value, other)
        self._write(target, where, value)

    # Memory.

    def _address(self, instruction: Instruction, text: str, where: Flags) -> Lanes:
        found = ADDRESS.match(text)
        if found is None:
            self._refuse(instruction, f"the address '{text}'")
        value, offset = self._read(found[1]), integer(found[2] or "0")
        if value.are_numbers(where):
            return numbers(value.data + offset)
        return value

    def _elements(
        self, instruction: Instruction, address: Lanes, where: Flags, width: int
    ) -> tuple[SharedArray, Numbers]:
        """The array that these threads access, and the element of each."""
        if not spaces(instruction).isdisjoint(_OTHER_SPACES):
            self._refuse(instruction, "an address that is not known")
        variable = self.addresses.variable_at(int(address.data[where].min()))
        begin = self.addresses.of(variable.name) if variable is not None else None
        if variable is None or begin is None:
            self._refuse(instruction, "an address that is not known")
        name, offsets = variable.name, address.data[where] - begin
        array = self.arrays.get(name)
        if array is None:
            array = self.arrays[name] = SharedArray.of(name, variable.size, width)
        is_outside = (offsets < 0) | (offsets + width > array.size)
        if array.width != width or (offsets % width).any() or is_outside.any():
            self._refuse(instruction, f"places beyond '{name}'")
        return array, offsets // width

    def _load(self, instruction: Instruction, where: Flags) -> None:
        address = self._address(instruction, instruction.operands[1], where)
        registers, width = parts(instruction.operands[0]), TYPE_BYTES[instruction.modifiers[-1]]
        if address.are_numbers(where):
            for index, register in enumerate(registers):
                there = numbers(address.data + index * width)
                array, elements = self._elements(instruction, there, where, width)
                self._use(instruction, array, elements, where, False)
                places = np.zeros(self.width, np.int64)
                places[where] = elements
                loaded = self._loaded(instruction, register, array.content.taken(places))
                self._write(register, where, loaded)
            return
        self._effect(instruction, where, ())
        for index, register in enumerate(registers):
            name = f"load {instruction.line}.{index}"
            self._write(register, where, applied(name, (address,), self.terms))

    def _bits(self, register: str) -> int:
        return 8 * TYPE_BYTES.get(self.registers.get(register, ""), 8)

    def _loaded(self, instruction: Instruction, register: str, content: Lanes) -> Lanes:
        """What a register holds of an element, which may be narrower: extended by its sign or 0."""
        kind, bits = instruction.modifiers[-1], self._bits(register)
        if bits == 8 * TYPE_BYTES[kind]:
            return content
        return self._resized(f"ld.{kind}.{bits}", content, kind, bits)

    def _narrowed(self, instruction: Instruction, operand: str, value: Lanes) -> Lanes:
        """What an element holds of a register, which may be wider: its lower bits."""
        if value.piece >= 0:
            return unknown(self.width)
        kind = instruction.modifiers[-1]
        bits = 8 * TYPE_BYTES[kind]
        if bits > 64:
            return unknown(self.width)
        if operand in self.registers and bits == self._bits(operand):
            return value
        return self._resized(f"st.{kind}", value, f"b{bits}", bits)

    def _resized(self, name: str, value: Lanes, kind: str, bits: int) -> Lanes:
        """The numbers, read as of a type, and terms of the rest: parts of sums become unknown."""
        result = applied(name, (value,), self.terms)
        own = 8 * TYPE_BYTES[kind]
        read = signed(held(value.data, own), own) if kind[0] == "s" else held(value.data, own)
        return result.written(value.kind == NUMBER, numbers(held(read, bits)))

    def _load_parameter(self, instruction: Instruction, where: Flags) -> None:
        found = ADDRESS.match(text := instruction.operands[1])
        is_computed = found is None or found[1] in self.registers
        for index, register in enumerate(parts(instruction.operands[0])):
            if is_computed:
                self._write(register, where, unknown(self.width))
            else:
                term = self.terms.number(("param", text, index))
                self._write(register, where, uniform(self.width, TERM, term))

    def _store(self, instruction: Instruction, where: Flags) -> None:
        address = self._address(instruction, instruction.operands[0], where)
        values = [self._read(text) for text in parts(instruction.operands[1])]
        width = TYPE_BYTES[instruction.modifiers[-1]]
        if not address.are_numbers(where):
            self._effect(instruction, where, tuple(values))
            return
        for index, operand in enumerate(parts(instruction.operands[1])):
            value = self._narrowed(instruction, operand, self._read(operand))
            there = numbers(address.data + index * width)
            array, elements = self._elements(instruction, there, where, width)
            threads = np.flatnonzero(where)
            if self._are_alike(value.taken(threads), elements):
                self._use(instruction, array, elements, where, True)
            else:
                self._refuse(instruction, "several threads write one place")
            sources = np.zeros(len(array.content.kind), np.int64)
            sources[elements] = np.flatnonzero(where)
            is_written = np.zeros(len(array.content.kind), np.bool_)
            is_written[elements] = True
            array.content = array.content.written(is_written, value.taken(sources))

    def _are_alike(self, values: Lanes, elements: Numbers) -> bool:
        """Do threads that write one element write the same there?"""
        _, firsts, places = np.unique(elements, return_index=True, return_inverse=True)
        return len(firsts) == len(elements) or values.equals(values.taken(firsts[places]))

    def _use(
        self,
        instruction: Instruction,
        array: SharedArray,
        elements: Numbers,
        where: Flags,
        writes: bool,
    ) -> None:
        try:
            used(array, elements, np.flatnonzero(where), self.clock, writes)
        except Race as race:
            raise Unsettled(str(race), instruction, Code.RACE) from race

    def _atomic(self, instruction: Instruction, where: Flags) -> None:
        operands = instruction.operands
        if instruction.opcode == "atom":
            self._write(operands[0], where, unknown(self.width))
            operands = operands[1:]
        address = self._address(instruction, operands[0], where)
        if address.are_numbers(where):
            self._refuse(instruction, "an atomic operation on shared memory")
        values = tuple(self._read(text) for operand in operands[1:] for text in parts(operand))
        self._effect(instruction, where, values)

    def _effect(self, instruction: Instruction, where: Flags, values: tuple[Lanes, ...]) -> None:
        if "shared" in spaces(instruction):
            self._refuse(instruction, "a place in shared memory that is not known")
        if any(one.instruction.line == instruction.line for one in self.effects):
            self._refuse(instruction, "an effect in a loop")
        self.effects.append(Effect(instruction, where.copy(), values))


def _flags(values: Flags) -> Lanes:
    return numbers(values.astype(np.int64))

"""The values at every instruction of an entry: abstract interpretation over its control flow.

Blocks are walked in order, again and again until nothing new is learnt. A register that several
ways lead to with different values holds an atom of its own (`phi`). Where a loop adds the same
amount in every round (a step), the register holds its first value plus the step times the number of
rounds so far, so that `i += blockDim.x * gridDim.x` is recognised in all shapes that compilers give
it. A step is learnt from one walk and used in the next. The atoms in it may have other names there,
so each walk is compared with it: a register that does not grow by its step loses it for good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from cutune.core.codes import Code
from cutune.proof.flow.graph import Graph
from cutune.proof.values.built_ins import BuiltIns, KeptGrid
from cutune.proof.values.operation_results import bits_of
from cutune.proof.values.operations import FUNCTIONS, NotUnderstood, Operations
from cutune.proof.values.polynomial import (
    BLOCK,
    BLOCK_SIZE,
    GRID_SIZE,
    OPAQUE,
    THREAD,
    IntegerPolynomial,
    TooLarge,
)
from cutune.proof.values.predicates import (
    Fixed,
    Predicate,
    Relation,
    Unknown,
    Value,
    follows,
    negation,
    properties_of,
)
from cutune.proof.values.terms import (
    NOTHING,
    WARP,
    Alternatives,
    AtomProperties,
    Atoms,
    Interval,
    common_terms,
    modulo,
)
from cutune.ptx.taint import results
from cutune.ptx.types import Instruction, integer

#: The header of a loop, and a register.
Stepping = tuple[int, str]


@dataclass
class LoopSteps:
    """The steps of all loops of an entry.

    `known`: by how much registers grow in each round. `at_header`: the values of registers with a
    step at the header, in this walk.
    """

    known: dict[Stepping, IntegerPolynomial] = field(default_factory=dict)
    at_header: dict[Stepping, IntegerPolynomial] = field(default_factory=dict)
    _unsteady: set[Stepping] = field(default_factory=set)

    def learn(
        self,
        key: Stepping,
        value: IntegerPolynomial,
        phi: IntegerPolynomial,
        bits: int,
        atoms: Atoms,
    ) -> bool:
        """Learn a step from the value that came in (`phi`) and the next one, if it is steady."""
        try:
            step = modulo(value - phi, bits)
        except TooLarge:
            step = value
        properties = atoms.of(step)
        if key in self._unsteady or key[0] in properties.loops or properties.is_loaded:
            return False
        self.known[key] = step
        return True

    def forget(self, key: Stepping, value: Value, bits: int) -> bool:
        """Forget a step where the next value is not a step farther."""
        before = self.at_header.get(key)
        if before is None or _difference(before, value, bits) == self.known[key]:
            return False
        del self.known[key]
        self._unsteady.add(key)
        return True


def _difference(before: IntegerPolynomial, value: Value, bits: int) -> IntegerPolynomial | None:
    try:
        return modulo(value - before, bits) if isinstance(value, IntegerPolynomial) else None
    except TooLarge:
        return None


_MOST_WALKS = 100
_SPECIAL = {"%tid": THREAD, "%ctaid": BLOCK, "%ntid": BLOCK_SIZE, "%nctaid": GRID_SIZE}
_LANE_REGISTERS = ("%laneid", "%lanemask_")
_EVERY = frozenset("xyz")
Known = frozenset[Relation]
_NONE: Known = frozenset()


@dataclass(frozen=True)
class Moment:
    """One instruction as it is executed, and the comparisons that hold there."""

    instruction: Instruction
    block: int
    known: Known
    loops: frozenset[int]
    read: Callable[[str], Value]
    write: Callable[[str, Value], None]
    guard: Predicate | None


@dataclass
class Settled:
    """Values of registers that are known by other means, after a block and in front of a loop."""

    at_end: dict[int, dict[str, Value]] = field(default_factory=dict)
    in_front: dict[int, dict[str, Value]] = field(default_factory=dict)


Effects = Callable[[Moment], bool]
"""Takes care of an instruction with effects (memory, calls, barriers); false for any other."""


@dataclass
class Walk:
    """Walks one function.

    `symbols`: names of variables and functions of the module. `kept_grid`: the dimension whose grid
    is kept, if one is: blocks share rows among their threads. `branches`: conditions of the
    branches, by block. `alternatives`: from which block each value comes, of atoms that stand for
    one of several. `behind`: the block that leaves a loop over a row, and the value there, of atoms
    that stand for it behind the loop. `is_reducing`: may the block decide how long threads stay in
    other loops?
    """

    graph: Graph
    atoms: Atoms
    operations: Operations
    registers: Mapping[str, str]
    symbols: frozenset[str]
    effects: Effects
    kept_grid: KeptGrid | None = None
    built_ins: BuiltIns = field(default_factory=BuiltIns)
    branches: dict[int, Predicate] = field(default_factory=dict)
    alternatives: dict[str, Alternatives] = field(default_factory=dict)
    settled: Settled = field(default_factory=Settled)
    is_reducing: bool = False
    behind: dict[str, tuple[int, Value]] = field(default_factory=dict)
    _phis: dict[tuple[int, str], AtomProperties] = field(default_factory=dict)
    _raw_loops: set[int] = field(default_factory=set)
    _steps: LoopSteps = field(default_factory=LoopSteps)
    _ends: list[dict[str, Value]] = field(default_factory=list)
    _known: list[Known | None] = field(default_factory=list)

    def run(self, begin: Callable[[], None]) -> None:
        """Walk until nothing changes; `begin` is called before each walk.

        Raises:
            NotUnderstood: an instruction that is not known, or too many walks.
            Irreducible: a cycle that is no loop.
        """
        self._settle(begin)
        if self.kept_grid is not None:
            # Values made of J were taken to be raw before J was found.
            self._phis.clear()
            self._raw_loops.clear()
            self.branches.clear()
            self._settle(begin)

    def _settle(self, begin: Callable[[], None]) -> None:
        self._known = [None] * self.graph.count
        for _ in range(_MOST_WALKS):
            begin()
            before = dict(self.branches), list(self._known)
            self._walk()
            learnt = self._learn()
            if self.kept_grid is not None:
                learnt |= self.kept_grid.has_learnt()
            if not learnt and (self.branches, self._known) == before:
                return
        first = self.graph.flow.blocks[0].instructions[0]
        raise NotUnderstood(Code.NOT_PROVEN, "loops whose values are not found", first)

    def _walk(self) -> None:
        self._ends = [{} for _ in range(self.graph.count)]
        for index, block in enumerate(self.graph.flow.blocks):
            state = self._beginning(index)
            self._known[index] = self._known_at(index)
            for instruction in block.instructions:
                self._step(instruction, index, state)
            self._settle_values(state, self.settled.at_end.get(index, {}))
            self._ends[index] = state
            if block.terminator.kind == "branch":
                terminator = block.terminator
                self.branches[index] = self._condition(terminator.guard, terminator.negated, state)
            elif block.terminator.kind == "table":
                table = block.terminator.instruction
                assert table is not None, "a table has an index"
                value = self._read(state, table.operands[0])
                properties = properties_of(value, self.atoms)
                self.branches[index] = Unknown(f"table {index}", properties)

    # Values at the beginning of a block.

    def _beginning(self, block: int) -> dict[str, Value]:
        entries = self.graph.entries(block)
        states = [self._passed(p, block) for p in entries]
        if block in self.graph.loop_of_header:
            return self._in_loop(block, states)
        if len(entries) == 1:
            return dict(states[0])
        return self._merged(block, states)

    def _passed(self, block: int, target: int) -> dict[str, Value]:
        """The values passed from block to block; those of a row are unknown behind its loop."""
        state = self._ends[block]
        if self.kept_grid is None:
            return state
        left = self.graph.loops_around[block] - self.graph.loops_around[target]
        if not left & self.kept_grid.loops:
            return state
        return {r: self._behind(block, r, value, left) for r, value in state.items()}

    def _behind(self, block: int, register: str, value: Value, left: frozenset[int]) -> Value:
        assert self.kept_grid is not None, "a row has a kept grid"
        properties = properties_of(value, self.atoms)
        if not properties.loops & left & self.kept_grid.loops:
            return value
        properties = properties.joined(self.kept_grid.of_block)
        self.behind[f"behind{block}.{register}"] = block, value
        return self._new(f"behind{block}.{register}", register, properties)

    def _new(self, name: str, register: str, properties: AtomProperties) -> Value:
        """A value of a register of which only properties are known."""
        if self.registers.get(register) == "pred":
            return Unknown(name, properties)
        return self.atoms.named(name, properties)

    def _merged(self, block: int, states: list[dict[str, Value]]) -> dict[str, Value]:
        state: dict[str, Value] = {}
        for register in sorted(self.graph.live[block] & self.registers.keys()):
            values = [self._read(one, register) for one in states]
            if not values:
                continue
            if all(value == values[0] for value in values[1:]):
                state[register] = values[0]
            else:
                state[register] = self._one_of(block, register, values)
        return state

    def _one_of(self, block: int, register: str, values: list[Value]) -> Value:
        """One of several values: the sum of their common terms and an atom."""
        numbers = [value for value in values if isinstance(value, IntegerPolynomial)]
        # At a header the name stands for later rounds, too.
        if block in self.graph.loop_of_header or len(numbers) < len(values):
            return self._phi(block, register, values)
        common = common_terms(numbers)
        offsets = [number - common for number in numbers]
        pairs = tuple(zip(self.graph.entries(block), offsets, strict=True))
        name = f"phi{block}.{register}"
        self.alternatives[name] = Alternatives(block, self._bits(register), pairs)
        offset = self._phi(block, register, list(offsets))
        assert isinstance(offset, IntegerPolynomial), "a register that holds numbers"
        return common + offset

    def _in_loop(self, header: int, states: list[dict[str, Value]]) -> dict[str, Value]:
        state = self._merged(header, states) if states else {}
        self._settle_values(state, self.settled.in_front.get(header, {}))
        changed = self._changed_in(header)
        for register in sorted(self.graph.live[header] & changed & self.registers.keys()):
            first = state.get(register, self._undefined(register))
            step = self._steps.known.get((header, register))
            if step is not None and isinstance(first, IntegerPolynomial):
                try:
                    value = self._stepped(header, first, step, self._bits(register))
                    state[register] = self._steps.at_header[header, register] = value
                    continue
                except TooLarge:
                    del self._steps.known[header, register]
            self._steps.at_header.pop((header, register), None)
            state[register] = self._phi(header, register, [first])
        return state

    def _stepped(
        self, header: int, first: IntegerPolynomial, step: IntegerPolynomial, bits: int
    ) -> IntegerPolynomial:
        rounds = self._rounds(header)
        value = modulo(first + step * rounds, bits)
        return self._with_rows(header, value)

    def _with_rows(self, header: int, value: IntegerPolynomial) -> IntegerPolynomial:
        if self.kept_grid is None:
            return value
        loops = self.graph.loops_around[header]
        value = self._without_signed_extensions(value, self.kept_grid.thread)
        return self.kept_grid.with_rows(value, header, self._rounds(header), loops, self.atoms)

    def _without_signed_extensions(
        self, value: IntegerPolynomial, thread: IntegerPolynomial
    ) -> IntegerPolynomial:
        """A place from which a row is stepped through in 64 bits: numbers with a sign are exact."""
        for atom in {*value.atoms}:
            operation = self.atoms.operation(atom)
            if operation is not None and operation.name == "s32":
                (inner,) = operation.numbers
                if not {*thread.atoms}.isdisjoint(inner.atoms):
                    value = value.replaced(atom, inner)
        return value

    def _of_row(self, block: int, value: Value) -> Value:
        """`blockDim * rounds + threadIdx`, as compilers write J too."""
        if self.kept_grid is None or not isinstance(value, IntegerPolynomial):
            return value
        for header in self.graph.loops_around[block] & self.kept_grid.loops:
            value = self._with_rows(header, value)
        return value

    def _settle_values(self, state: dict[str, Value], settled: Mapping[str, Value]) -> None:
        """Put in values that are known by other means where what is here depends on the block."""
        for register, value in settled.items():
            properties = properties_of(self._read(state, register), self.atoms)
            if properties.raw or properties.ids:
                state[register] = value

    def _changed_in(self, header: int) -> frozenset[str]:
        blocks = self.graph.loop_of_header[header]
        return frozenset(
            name
            for block in blocks
            for instruction in self.graph.flow.blocks[block].instructions
            for name in results(instruction)
        )

    def _rounds(self, header: int) -> IntegerPolynomial:
        loops = self.graph.loops_around[header]
        properties = AtomProperties(loops=loops, interval=Interval(0, None))
        is_row = self.kept_grid is not None and header in self.kept_grid.loops
        if self.kept_grid is not None and (is_row or header in self._raw_loops):
            properties = replace(
                properties.joined(self.kept_grid.of_block), interval=properties.interval
            )
        return self.atoms.named(f"rounds{header}", properties)

    def _phi(self, block: int, register: str, values: list[Value]) -> Value:
        properties = self._phis.get((block, register), NOTHING)
        for value in values:
            properties = properties.joined(properties_of(value, self.atoms))
        properties = properties.joined(self.decided(block))
        properties = properties.joined(AtomProperties(loops=self.graph.loops_around[block]))
        if self.kept_grid is not None and block in self.kept_grid.loops:
            # One round over a row hands it to the next.
            properties = properties.joined(self.kept_grid.of_block)
        self._phis[block, register] = properties
        return self._new(f"phi{block}.{register}", register, properties)

    def decided(self, block: int) -> AtomProperties:
        """Return the properties of the conditions that decide from where a block is reached."""
        properties = NOTHING
        for other in self.graph.deciders(block):
            if (predicate := self.branches.get(other)) is not None:
                properties = properties.joined(properties_of(predicate, self.atoms))
        return properties

    def _learn(self) -> bool:
        """Learn from the values that loops bring back to their headers; was anything new?"""
        learnt = False
        for header, blocks in self.graph.loop_of_header.items():
            is_new = self.is_reducing and header not in self._raw_loops
            if is_new and self._is_left_by_block(blocks):
                self._raw_loops.add(header)
                learnt = True
            changed = self.graph.live[header] & self._changed_in(header)
            for register in sorted(changed & self.registers.keys()):
                for latch in self.graph.latches(header):
                    value = self._read(self._passed(latch, header), register)
                    learnt |= self._learn_register(header, register, value)
        return learnt

    def _is_left_by_block(self, blocks: frozenset[int]) -> bool:
        """Does the number of rounds of a loop depend on the block?"""
        return any(
            properties_of(self.branches[block], self.atoms).raw
            for block in blocks
            if block in self.branches
            and set(self.graph.flow.blocks[block].terminator.targets) - blocks
        )

    def _learn_register(self, header: int, register: str, value: Value) -> bool:
        key = header, register
        bits = self._bits(register)
        if key in self._steps.known:
            return self._steps.forget(key, value, bits)
        if isinstance(value, IntegerPolynomial):
            phi = self.atoms.named(f"phi{header}.{register}", self._phis[key])
            if self._steps.learn(key, value, phi, bits, self.atoms):
                return True
        properties = self._phis[key].joined(properties_of(value, self.atoms))
        is_new = properties != self._phis[key]
        self._phis[key] = properties
        return is_new

    def _known_at(self, block: int) -> Known:
        """Comparisons that hold whenever the block is reached."""
        common: Known | None = None
        for other in self.graph.predecessors[block]:
            before = self._known[other]
            if before is None and other >= block:
                continue
            passed = self.known_on_way(other, block)
            if other >= block:
                passed = frozenset(c for c in passed if not self._varies(c, block))
            common = passed if common is None else common & passed
        return common or _NONE

    def at_beginning(self, block: int) -> dict[str, Value]:
        """Return the values of the registers that are live at the beginning of a block."""
        state = self._beginning(block)
        return {name: self._read(state, name) for name in self.graph.live[block] if name in state}

    def into_loop(self, header: int, register: str) -> tuple[list[Value], list[Value]]:
        """Return the values with which a loop begins, and those with which it goes on."""
        entries, latches = self.graph.entries(header), self.graph.latches(header)
        passed = [self._read(self._passed(b, header), register) for b in (*entries, *latches)]
        return passed[: len(entries)], passed[len(entries) :]

    def at_header(self, header: int, register: str) -> IntegerPolynomial | None:
        """Return the value in each round of a loop, where it is not known by a step."""
        properties = self._phis.get((header, register))
        if properties is None or (header, register) in self._steps.known:
            return None
        return IntegerPolynomial.atom(OPAQUE, f"phi{header}.{register}")

    def value_of(self, text: str) -> Value:
        """Return the value of a built-in, a variable or a constant."""
        return self._read({}, text)

    def known_at_beginning(self, block: int) -> Known:
        """Return the comparisons that hold whenever a block is reached, after `run`."""
        return self._known[block] or _NONE

    def known_on_way(self, block: int, target: int) -> Known:
        """Return the comparisons that hold where a block is left for another one."""
        known = self._known[block] or _NONE
        terminator = self.graph.flow.blocks[block].terminator
        predicate = self.branches.get(block)
        if terminator.kind != "branch" or predicate is None or len(set(terminator.targets)) < 2:
            return known
        return known | frozenset(follows(predicate, terminator.targets[0] == target))

    def _varies(self, comparison: Relation, header: int) -> bool:
        return header in properties_of(comparison, self.atoms).loops

    def _condition(self, guard: str, is_negated: bool, state: dict[str, Value]) -> Predicate:
        value = self._read(state, guard)
        predicate = Fixed(bool(value.terms)) if isinstance(value, IntegerPolynomial) else value
        return negation(predicate) if is_negated else predicate

    # One instruction.

    def _step(self, instruction: Instruction, block: int, state: dict[str, Value]) -> None:
        if instruction.opcode in ("bra", "brx", "ret", "exit"):
            return
        guard = None
        known = self._known[block] or _NONE
        if instruction.guard:
            guard = self._condition(instruction.guard, instruction.negated, state)
            known |= frozenset(follows(guard, True))

        def write(register: str, value: Value) -> None:
            value = self._of_row(block, value)
            state[register] = self._guarded(instruction, guard, state, register, value)

        loops, read = self.graph.loops_around[block], partial(self._read, state)
        if self.effects(Moment(instruction, block, known, loops, read, write, guard)):
            return
        if instruction.opcode not in FUNCTIONS:
            raise NotUnderstood(Code.NOT_PROVEN, f"'{instruction.opcode}'", instruction)
        for register, value in self.operations.compute(instruction, read, loops):
            write(register, value)

    def _guarded(
        self,
        instruction: Instruction,
        guard: Predicate | None,
        state: dict[str, Value],
        register: str,
        value: Value,
    ) -> Value:
        """With a guard the register holds the new value or the one that it had."""
        if guard is None:
            return value
        properties = properties_of(self._read(state, register), self.atoms)
        for other in (value, guard):
            properties = properties.joined(properties_of(other, self.atoms))
        name = f"guarded{instruction.line}.{register}"
        if isinstance(value, IntegerPolynomial):
            return self.atoms.named(name, properties)
        return Unknown(name, properties)

    # Operands.

    def _read(self, state: dict[str, Value], text: str) -> Value:
        found = state.get(text)
        if found is not None:
            return found
        if text in self.registers:
            return self._undefined(text)
        if text.startswith("%"):
            return self._special(text)
        if text in self.symbols:
            return self.atoms.named(f"&{text}", NOTHING)
        return IntegerPolynomial.constant(_number(text))

    def _undefined(self, register: str) -> Value:
        properties = AtomProperties(ids=_EVERY, is_loaded=True)
        return self._new(f"undefined {register}", register, properties)

    def _special(self, text: str) -> IntegerPolynomial:
        name, _, dimension = text.partition(".")
        if name in _SPECIAL and dimension in _EVERY:
            if self.kept_grid is not None:
                return self.kept_grid.builtin(_SPECIAL[name], dimension, self.atoms)
            return self.built_ins.value(_SPECIAL[name], dimension, self.atoms)
        if text.startswith(_LANE_REGISTERS):
            if not self.operations.have_lanes:
                raw = AtomProperties(_EVERY, _EVERY, interval=Interval(0, None))
                return self.atoms.named(text, raw)
            self.operations.uses_lanes = True
            return self.atoms.named(text, AtomProperties(ids=_EVERY, interval=Interval(0, None)))
        code = Code.ORDERING if "clock" in text or "timer" in text else Code.NOT_PROVEN
        raise NotUnderstood(code, f"'{text}'", self.graph.flow.blocks[0].instructions[0])

    def _bits(self, register: str) -> int:
        return bits_of(self.registers[register])


def _number(text: str) -> int:
    """A number as the code names it; one with a point is known by its bits."""
    if text == "WARP_SZ":
        return WARP
    if text.lower().startswith(("0f", "0d")):
        return int(text[2:], 16)
    return integer(text)

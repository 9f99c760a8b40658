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
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce

from cutune.core.codes import Code
from cutune.proof.flow.graph import Graph
from cutune.proof.values.built_ins import REGISTERS, BuiltIns, KeptGrid, RowsOfEachBlock
from cutune.proof.values.operations import FUNCTIONS, Moment, NotUnderstood, Operations, bits_of
from cutune.proof.values.polynomial import OPAQUE, IntegerPolynomial, TooLarge
from cutune.proof.values.predicates import (
    Predicate,
    Relation,
    Unknown,
    Value,
    as_predicate,
    follows,
    negation,
    properties_of,
    properties_of_all,
    unknown,
)
from cutune.proof.values.terms import (
    NOTHING,
    WARP,
    Alternatives,
    AtomProperties,
    Atoms,
    Interval,
    modulo,
)
from cutune.ptx.taint import results
from cutune.ptx.types import Instruction, integer

#: The header of a loop, and a register.
Stepping = tuple[int, str]


def _difference(before: IntegerPolynomial, value: Value, bits: int) -> IntegerPolynomial | None:
    try:
        return modulo(value - before, bits) if isinstance(value, IntegerPolynomial) else None
    except TooLarge:
        return None


_MOST_WALKS = 100
#: Instructions that are walked for a reading of an entry, and so many times each one of it.
_MOST_WALKED, _MOST_WALKED_EACH = 300_000, 10
_SPECIAL = {register: kind for kind, register in REGISTERS.items()}
_LANE_REGISTERS = ("%laneid", "%lanemask_")
_EVERY = frozenset("xyz")
Known = frozenset[Relation]
_NONE: Known = frozenset()


@dataclass
class Settled:
    """Values of registers that are known by other means, after a block and in front of a loop.

    A register is settled where a reduction (`collectives`) leaves it: the walk takes its value from
    here, since what threads have exchanged it cannot follow.
    """

    at_end: dict[int, dict[str, Value]] = field(default_factory=dict)
    in_front: dict[int, dict[str, Value]] = field(default_factory=dict)


Effects = Callable[[Moment], bool]
"""Takes care of an instruction with effects (memory, calls, barriers); false for any other."""


@dataclass
class Walk:
    """Walks one function.

    `symbols`: names of variables and functions of the module. `branches`: conditions of the
    branches, by block. `alternatives`: from which block each value comes, of atoms that stand for
    one of several. `behind`: the block that leaves a loop over a row, and the value there, of atoms
    that stand for it behind the loop. `by_first_threads`: how many threads do a row that has an
    element for each of them. `is_reducing`: may the block decide how long threads stay in
    other loops?
    """

    graph: Graph
    atoms: Atoms
    operations: Operations
    registers: Mapping[str, str]
    symbols: frozenset[str]
    effects: Effects
    built_ins: BuiltIns = field(default_factory=BuiltIns)
    branches: dict[int, Predicate] = field(default_factory=dict)
    alternatives: dict[str, Alternatives] = field(default_factory=dict)
    settled: Settled = field(default_factory=Settled)
    is_reducing: bool = False
    behind: dict[str, tuple[int, Value]] = field(default_factory=dict)
    by_first_threads: set[int] = field(default_factory=set)
    _phis: dict[tuple[int, str], AtomProperties] = field(default_factory=dict)
    _raw_loops: set[int] = field(default_factory=set)
    #: By how much registers grow in each round, and those that are known not to grow so.
    _steps: dict[Stepping, IntegerPolynomial] = field(default_factory=dict)
    _unsteady: set[Stepping] = field(default_factory=set)
    #: The values of registers with a step at the header, in this walk.
    _at_header: dict[Stepping, IntegerPolynomial] = field(default_factory=dict)
    _decisions: dict[int, tuple[Predicate, int, AtomProperties]] = field(default_factory=dict)
    #: What `decided` has found, and when: after how many branches, and changes of atoms.
    _decided: dict[int, tuple[tuple[int, int], AtomProperties]] = field(default_factory=dict)
    _branched: int = 0
    _ends: list[dict[str, Value]] = field(default_factory=list)
    _known: list[Known | None] = field(default_factory=list)

    @property
    def kept_grid(self) -> KeptGrid | None:
        """The reading, where a grid is kept: blocks share rows among their threads."""
        return self.built_ins if isinstance(self.built_ins, KeptGrid) else None

    def run(self, begin: Callable[[], None]) -> None:
        """Walk until nothing changes; `begin` is called before each walk.

        Raises NotUnderstood for instructions that are not known, and Irreducible for cycles.
        """
        self._settle(begin)
        if self._has_found_rows:
            # Values made of J were taken to be raw before J was found.
            self._phis.clear()
            self._raw_loops.clear()
            self.branches.clear()
            self._branched += 1
            self._settle(begin)

    @property
    def _has_found_rows(self) -> bool:
        """May there be rows now? Where only sums of rows count, a loop over one is known."""
        grid = self.kept_grid
        is_open = not self.is_reducing or isinstance(grid, RowsOfEachBlock)
        return grid is not None and (is_open or bool(grid.loops))

    def _settle(self, begin: Callable[[], None]) -> None:
        self._known = [None] * self.graph.count
        what = "loops whose values are not found"
        length = sum(len(block.instructions) for block in self.graph.flow.blocks)
        for _ in range(_MOST_WALKS):
            self.operations.walked += length
            if self.operations.walked > _MOST_WALKED + _MOST_WALKED_EACH * length:
                what = "code that takes too long to walk through"
                break
            begin()
            before = dict(self.branches), list(self._known)
            self._walk()
            learnt = self._learn()
            if self.kept_grid is not None:
                learnt |= self.kept_grid.has_learnt()
            if not learnt and (self.branches, self._known) == before:
                return
        first = self.graph.flow.blocks[0].instructions[0]
        raise NotUnderstood(Code.NOT_PROVEN, what, first)

    def _walk(self) -> None:
        self._ends = [{} for _ in range(self.graph.count)]
        self.by_first_threads.clear()
        for index, block in enumerate(self.graph.flow.blocks):
            state = self._beginning(index)
            self._known[index] = self._known_at(index)
            for instruction in block.instructions:
                self._step(instruction, index, state)
            self._settle_values(state, self.settled.at_end.get(index, {}))
            self._ends[index] = state
            terminator = block.terminator
            self._branched += 1
            if terminator.kind == "branch":
                found = self._condition(terminator.guard, terminator.negated, state)
                self.branches[index] = self.built_ins.as_asked(found, self.atoms)
            elif terminator.kind == "table":
                assert terminator.instruction is not None, "a table has an index"
                value = self._read(state, terminator.instruction.operands[0])
                self.branches[index] = Unknown(f"table {index}", properties_of(value, self.atoms))

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
        left = self.graph.loops_around[block] - self.graph.loops_around[target]
        if not (rows := left & self.built_ins.loops):
            return state
        return {r: self._behind(block, r, value, rows) for r, value in state.items()}

    def _behind(self, block: int, register: str, value: Value, rows: frozenset[int]) -> Value:
        assert self.kept_grid is not None, "a row has a kept grid"
        properties = properties_of(value, self.atoms)
        if not properties.loops & rows:
            return value
        properties = properties.joined(self.kept_grid.of_block)
        self.behind[f"behind{block}.{register}"] = block, value
        return self._new(f"behind{block}.{register}", register, properties)

    def _new(self, name: str, register: str, properties: AtomProperties) -> Value:
        return unknown(name, self.registers.get(register), properties, self.atoms)

    def _merged(self, block: int, states: list[dict[str, Value]]) -> dict[str, Value]:
        state: dict[str, Value] = {}
        for register in self._live[block] if states else ():
            values = [one.get(register) or self._read(one, register) for one in states]
            first = values[0]
            # Most are the very same.
            is_one = all(value is first or value == first for value in values)
            state[register] = first if is_one else self._one_of(block, register, values)
        return state

    @cached_property
    def _live(self) -> tuple[tuple[str, ...], ...]:
        """Per block the registers that hold values which may still be read."""
        return tuple(tuple(sorted(one & self.registers.keys())) for one in self.graph.live)

    def _one_of(self, block: int, register: str, values: list[Value]) -> Value:
        """One of several values: the sum of their common terms and an atom."""
        numbers = [value for value in values if isinstance(value, IntegerPolynomial)]
        # At a header the name stands for later rounds, too.
        if block in self.graph.loop_of_header or len(numbers) < len(values):
            return self._phi(block, register, values)
        shared = set.intersection(*(set(number.terms) for number in numbers))
        common = IntegerPolynomial(tuple(sorted(shared)))
        offsets = [number - common for number in numbers]
        pairs = tuple(zip(self.graph.entries(block), offsets, strict=True))
        bits = bits_of(self.registers[register])
        self.alternatives[f"phi{block}.{register}"] = Alternatives(block, bits, pairs)
        offset = self._phi(block, register, list(offsets))
        assert isinstance(offset, IntegerPolynomial), "a register that holds numbers"
        return common + offset

    def _in_loop(self, header: int, states: list[dict[str, Value]]) -> dict[str, Value]:
        state = self._merged(header, states) if states else {}
        self._settle_values(state, self.settled.in_front.get(header, {}))
        changed = self._changed_in[header]
        for register in filter(changed.__contains__, self._live[header]):
            first = state.get(register, self._undefined(register))
            step = self._steps.get((header, register))
            if step is not None and isinstance(first, IntegerPolynomial):
                try:
                    bits = bits_of(self.registers[register])
                    value = modulo(first + step * self._rounds(header), bits)
                    value = self._with_rows(header, value)
                    state[register] = self._at_header[header, register] = value
                    continue
                except TooLarge:
                    del self._steps[header, register]
            self._at_header.pop((header, register), None)
            state[register] = self._phi(header, register, [first])
        return state

    def _with_rows(self, header: int, value: IntegerPolynomial) -> IntegerPolynomial:
        if (grid := self.kept_grid) is None:
            return value
        loops = self.graph.loops_around[header]
        value = self._exact(value)
        return grid.with_rows(value, header, self._rounds(header), loops, self.atoms)

    def _exact(self, value: IntegerPolynomial) -> IntegerPolynomial:
        """A value with the places from which a row is stepped through, and the step, in 64 bits.

        With a sign these are exact. So is the step wherever it is made: no element that one leads
        to has a smaller index.
        """
        grid = self.kept_grid
        for atom in {*value.atoms} if grid is not None else ():
            assert grid is not None, "rows have a kept grid"
            inner = self.atoms.shorter(atom, ("s32",))
            ends = {*grid.thread.atoms, *grid.step.atoms}
            if inner is not None and not ends.isdisjoint(inner.atoms):
                value = value.replaced(atom, inner)
        return value

    def _of_row(self, block: int, value: Value) -> Value:
        """`blockDim * rounds + threadIdx`, as compilers write J too."""
        grid = self.kept_grid
        if grid is not None and isinstance(value, IntegerPolynomial):
            if isinstance(grid, RowsOfEachBlock):
                value = grid.as_elements(value, self.atoms)
            for header in self.graph.loops_around[block] & (grid.loops | grid.by_rounds):
                value = self._with_rows(header, value)
        return value

    def _settle_values(self, state: dict[str, Value], settled: Mapping[str, Value]) -> None:
        """Put in values that are known by other means where what is here depends on the block."""
        for register, value in settled.items():
            properties = properties_of(self._read(state, register), self.atoms)
            if properties.raw or properties.ids:
                state[register] = value

    @cached_property
    def _changed_in(self) -> dict[int, frozenset[str]]:
        """The registers that are written in each loop, by its header."""
        blocks = self.graph.flow.blocks
        return {
            header: frozenset(
                name
                for block in inside
                for instruction in blocks[block].instructions
                for name in results(instruction)
            )
            for header, inside in self.graph.loop_of_header.items()
        }

    def _rounds(self, header: int) -> IntegerPolynomial:
        loops = self.graph.loops_around[header]
        properties = AtomProperties(loops=loops, interval=Interval(0, None))
        if self.kept_grid is not None and header in self.kept_grid.loops | self._raw_loops:
            of_block = self.kept_grid.of_block
            properties = properties._replace(raw=of_block.raw, ids=of_block.ids)
        return self.atoms.named(f"rounds{header}", properties)

    def _phi(self, block: int, register: str, values: list[Value]) -> Value:
        here = AtomProperties(loops=self.graph.loops_around[block])
        properties = self._phis.get((block, register), NOTHING)
        for other in (properties_of_all(values, self.atoms), self.decided(block), here):
            properties = properties.joined(other)
        if self.kept_grid is not None and block in self.kept_grid.loops:
            # One round over a row hands it to the next.
            properties = properties.joined(self.kept_grid.of_block)
        self._phis[block, register] = properties
        return self._new(f"phi{block}.{register}", register, properties)

    def decided(self, block: int) -> AtomProperties:
        """Return the properties of the conditions that decide from where a block is reached."""
        when = self._branched, self.atoms.changes
        known = self._decided.get(block)
        if known is None or known[0] != when:
            deciders = (b for b in self.graph.deciders[block] if b in self.branches)
            found = reduce(AtomProperties.joined, map(self._of_branch, deciders), NOTHING)
            # Looking at branches changes nothing.
            known = self._decided[block] = when, found
        return known[1]

    def _of_branch(self, block: int) -> AtomProperties:
        """The properties of a branch, looked for anew where it, or any atom, is another one."""
        branch, changes = self.branches[block], self.atoms.changes
        known = self._decisions.get(block)
        if known is None or known[0] is not branch or known[1] != changes:
            known = self._decisions[block] = branch, changes, properties_of(branch, self.atoms)
        return known[2]

    def _learn(self) -> bool:
        """Learn from the values that loops bring back to their headers; was anything new?"""
        learnt = False
        for header in self.graph.loop_of_header:
            exits = [self.branches[b] for b in self.graph.exits(header) if b in self.branches]
            if self.is_reducing and properties_of_all(exits, self.atoms).raw:
                learnt |= header not in self._raw_loops
                self._raw_loops.add(header)
            for register in filter(self._changed_in[header].__contains__, self._live[header]):
                for latch in self.graph.latches(header):
                    value = self._read(self._passed(latch, header), register)
                    learnt |= self._learn_register(header, register, value)
        return learnt

    def _learn_register(self, header: int, register: str, value: Value) -> bool:
        key, bits = (header, register), bits_of(self.registers[register])
        if key in self._steps:
            known, step = self._at_header.get(key), self._steps[key]
            grown = _difference(known, value, bits) if known is not None else step
            if grown in (step, self._exact(step)):
                return False
            del self._steps[key]
            self._unsteady.add(key)
            return True
        before = self._phis[key]
        if isinstance(value, IntegerPolynomial):
            phi = self.atoms.named(f"phi{header}.{register}", before)
            step = _difference(phi, value, bits) or value
            of_step = self.atoms.of(step)
            is_steady = header not in of_step.loops and not of_step.is_loaded
            if is_steady and key not in self._unsteady:
                self._steps[key] = step
                return True
        self._phis[key] = before.joined(properties_of(value, self.atoms))
        return self._phis[key] != before

    def _known_at(self, block: int) -> Known:
        common: Known | None = None
        for other in self.graph.predecessors[block]:
            before = self._known[other]
            if before is None and other >= block:
                continue
            passed = self.known_on_way(other, block)
            if other >= block:
                passed = frozenset(
                    c for c in passed if block not in properties_of(c, self.atoms).loops
                )
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
        if properties is None or (header, register) in self._steps:
            return None
        return IntegerPolynomial.atom(OPAQUE, f"phi{header}.{register}")

    def value_of(self, text: str) -> Value:
        """Return the value of a built-in, a variable or a constant."""
        return self._read({}, text)

    def known_at_beginning(self, block: int) -> Known:
        return self._known[block] or _NONE

    def known_on_way(self, block: int, target: int) -> Known:
        """Return the comparisons that hold where a block is left for another one."""
        known = self.known_at_beginning(block)
        terminator = self.graph.flow.blocks[block].terminator
        predicate = self.branches.get(block)
        if terminator.kind != "branch" or predicate is None or len(set(terminator.targets)) < 2:
            return known
        return known | frozenset(follows(predicate, terminator.targets[0] == target))

    def _condition(self, guard: str, is_negated: bool, state: dict[str, Value]) -> Predicate:
        predicate = as_predicate(self._read(state, guard))
        return negation(predicate) if is_negated else predicate

    def _step(self, instruction: Instruction, block: int, state: dict[str, Value]) -> None:
        if instruction.opcode in ("bra", "brx", "ret", "exit"):
            return
        guard, known = None, self.known_at_beginning(block)
        if instruction.guard:
            guard = self._condition(instruction.guard, instruction.negated, state)
            known |= frozenset(follows(guard, True))

        def write(register: str, value: Value) -> None:
            value = self._of_row(block, value)
            if guard is not None:
                # The register holds the new value or the one that it had.
                both = (self._read(state, register), value, guard)
                properties = properties_of_all(both, self.atoms)
                value = self._new(f"guarded{instruction.line}.{register}", register, properties)
            state[register] = value

        loops, read = self.graph.loops_around[block], partial(self._read, state)
        moment = Moment(instruction, block, known, loops, read, write, guard)
        if instruction.opcode not in FUNCTIONS:
            if self.effects(self._by_first_threads(moment)):
                return
            raise NotUnderstood(Code.NOT_PROVEN, f"'{instruction.opcode}'", instruction)
        for register, value in self.operations.compute(moment):
            write(register, value)

    def _by_first_threads(self, moment: Moment) -> Moment:
        """Let J stand for threadIdx in what only the first threads of a block do."""
        grid = self.kept_grid
        if grid is None or self.is_reducing or moment.loops & grid.loops:
            return moment
        threads = grid.first_threads(self.known_at_beginning(moment.block))
        if not threads:
            return moment
        (thread,), element = grid.thread.atoms, grid.element_of(threads, self.atoms)

        def read(text: str) -> Value:
            value = moment.read(text)
            if not isinstance(value, IntegerPolynomial) or thread not in value.atoms:
                return value
            self.by_first_threads.add(threads)
            return value.replaced(thread, element)

        return moment._replace(read=read)

    def _read(self, state: dict[str, Value], text: str) -> Value:
        if (found := state.get(text)) is not None:
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
            return self.built_ins.value(_SPECIAL[name], dimension, self.atoms)
        if text.startswith(_LANE_REGISTERS):
            raw = frozenset[str]() if self.operations.have_lanes else _EVERY
            self.operations.uses_lanes |= self.operations.have_lanes
            return self.atoms.named(text, AtomProperties(raw, _EVERY, interval=Interval(0, None)))
        code = Code.ORDERING if "clock" in text or "timer" in text else Code.NOT_PROVEN
        raise NotUnderstood(code, f"'{text}'", self.graph.flow.blocks[0].instructions[0])


def _number(text: str) -> int:
    """A number as the code names it; one with a point is known by its bits."""
    if text == "WARP_SZ":
        return WARP
    if text.lower().startswith(("0f", "0d")):
        return int(text[2:], 16)
    return integer(text)

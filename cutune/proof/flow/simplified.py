"""Code that does what simpler code does. Takes an entry, gives an entry that the proof can read.

Loops around a compare-and-swap that are one atomic operation:

    L:  add.f64 %new, %old, %v;                   L:  setp.le.s64 %p, %old, %v;
        atom.cas.b64 %r, [%a], %old, %new;            @%p bra END;
        setp.ne.s64 %p, %old, %r;                     atom.cas.b64 %r, [%a], %old, %v;
        mov.u64 %old, %r;                             setp.ne.s64 %p, %old, %r;
        @%p bra L;                                    mov.u64 %old, %r;
                                                      @%p bra L;
                                                  END:
    red.add.f64 [%a], %v;                         red.min.s64 [%a], %v;

With any guess in %old at the beginning, memory holds the function of its value before and of %v in
the end, unless it is that already. Loops of another form, and those whose registers are read behind
them, stay as they are.

Tests that leave out adding nothing:

    setp.eq.s32 %p, %v, 0;
    @%p bra SKIP;                           add.s64 %a, %b, %rd1;
    add.s64 %a, %b, %rd1;                   red.global.add.u32 [%a], %v;
    red.global.add.u32 [%a], %v;        SKIP:
SKIP:

Memory holds the same in the end. What stands between must be functions of registers that nothing
else reads, and one operation whose result is not read. Nor may it read what it has left there the
last time: `p += 1` between counts the values that are not 0.

Loads of shared memory that a compiler has put behind a branch:

    @%p bra END;                            ld.shared.f32 %f, [%a];
    ld.shared.f32 %f, [%a];                 @%p bra END;

Nothing lies between, and the other way does not read the register: more threads read, but none goes
on with anything else. What all threads read together may be a sum whose place the block decides.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations

from cutune.core.reaching import reached
from cutune.proof.flow.graph import Graph
from cutune.proof.values.operations import FUNCTIONS
from cutune.ptx.control_flow import control_flow
from cutune.ptx.taint import results, sources
from cutune.ptx.types import Function, Instruction, Label

Item = Instruction | Label
#: Modifiers that a swap may have: none that orders other accesses.
_PLAIN = frozenset({"global", "relaxed", "gpu", "sys", "cas", "b32", "b64"})
#: Functions of which any two may be done in either order.
_COMMUTATIVE = frozenset({"add", "min", "max", "and", "or", "xor"})
_TYPES = frozenset({"s32", "u32", "s64", "u64", "b32", "b64", "f32", "f64"})
_ADDRESS = re.compile(r"\[\s*(%[\w$]+)\s*(?:\+\s*-?\w+)?\s*\]")
_INTEGER = re.compile(r"[sub](?:32|64)")
#: Where a loop is left without a swap: the guess, related so to the new value, need not change.
_EXTREMUM = {"le": "min", "lt": "min", "ge": "max", "gt": "max", "ls": "min", "lo": "min"}
_EXTREMUM |= {"hs": "max", "hi": "max"}
#: Of numbers with a point: also where one of both is none, and nothing is stored.
_REAL_EXTREMUM = {"leu": "min", "ltu": "min", "geu": "max", "gtu": "max"}
_NUMBER = re.compile(r"[suf](?:32|64)")
#: Loads of integers, in registers of as many bits.
_LOADING = re.compile(r"global(?:\.nc)?\.[sub](32|64)")
#: What writes memory, but with these modifiers no shared memory.
_WRITING, _ELSEWHERE = frozenset({"st", "atom", "red", "call"}), frozenset({"global", "local"})
#: Loads with these may not be moved.
_ORDERED = frozenset({"volatile", "relaxed", "acquire", "mmio"})
_MIRRORED = {"min": "max", "max": "min"}


#: The value of memory when the loop read it last, and the result of the swap.
_OLD, _SWAPPED = object(), object()


@dataclass(frozen=True)
class _Applied:
    """An operation on values; `name` with its modifiers. Registers that stay are their names."""

    name: tuple[str, ...]
    operands: tuple[object, ...]


def without_cas_loops(function: Function) -> Function:
    """Return the entry with an atomic operation in place of each such loop."""
    items = list(function.body or ())
    if not any("cas" in item.modifiers for item in _instructions(items)):
        return function
    if any(item.opcode == "brx" for item in _instructions(items)):
        return function  # a table may lead to any label
    for label in reversed([item for item in items if isinstance(item, Label)]):
        first = items.index(label)
        if (loop := _loop_at(items, first)) is not None:
            last, guess, operation = loop
            items[first + 1 : last + 1] = [operation]
            items = [item for item in items if not _guesses(item, guess, items)]
    return replace(function, body=tuple(items))


def _guesses(item: Item, register: str, items: Sequence[Item]) -> bool:
    """Does it load the first guess, which nothing else reads, and order nothing?"""
    return (
        isinstance(item, Instruction)
        and item.opcode == "ld"
        and "acquire" not in item.modifiers
        and item.operands[0] == register
        and not any(register in sources(other) for other in _instructions(items))
    )


def _instructions(items: Sequence[Item]) -> Iterator[Instruction]:
    return (item for item in items if isinstance(item, Instruction))


def _loop_at(items: Sequence[Item], first: int) -> tuple[int, str, Instruction] | None:
    """The last item of a loop, the register of the guess, and the operation that it is."""
    label = items[first]
    assert isinstance(label, Label), "loops begin at labels"
    last = first + 1
    while last < len(items) and _target(items[last]) != label.name:
        if isinstance(items[last], Label):
            return None
        last += 1
    jumps = Counter(_target(item) for item in items)
    if last == len(items) or jumps[label.name] != 1 or label.table:
        return None
    body = [item for item in items[first + 1 : last + 1] if isinstance(item, Instruction)]
    after = items[last + 1] if last + 1 < len(items) else None
    end = after.name if isinstance(after, Label) else ""
    copies = _copies_before(items, first, body)
    reading = _Reading(body, end, _definitions(items), copies)
    operation = reading.operation()
    outside = [*items[:first], *items[last + 1 :]]
    inner = {name for instruction in body for name in results(instruction)}
    if operation is None or any(inner & {*sources(one)} for one in _instructions(outside)):
        return None
    if reading.may_be_left_early and not reading.begins_with_memory(outside):
        return None
    return last, reading.guess, operation


def _copies_before(
    items: Sequence[Item], first: int, body: Sequence[Instruction]
) -> dict[str, str]:
    """Registers that hold a copy of another one in a loop: by what runs since the label before."""
    changed = {name for one in body for name in results(one)}
    copies: dict[str, str] = {}
    for one in reversed(items[:first]):
        if isinstance(one, Label):
            break
        is_copy = one.opcode == "mov" and len(one.operands) == 2 and not one.guard
        if is_copy and not changed & {*one.operands}:
            copies[one.operands[0]] = one.operands[1]
        changed |= {*results(one)}
    return copies


def _definitions(items: Sequence[Item]) -> dict[str, Instruction]:
    writers: defaultdict[str, list[Instruction]] = defaultdict(list)
    for instruction in _instructions(items):
        for name in results(instruction):
            writers[name].append(instruction)
    return {name: one for name, (one, *others) in writers.items() if not others and not one.guard}


def _target(item: Item) -> str:
    return item.operands[0] if isinstance(item, Instruction) and item.opcode == "bra" else ""


@dataclass
class _Reading:
    """One round of a loop, read symbolically. `end`: the label behind it."""

    body: Sequence[Instruction]
    end: str
    definitions: Mapping[str, Instruction]
    copies: Mapping[str, str]
    guess: str = ""
    #: Can the loop be left where no swap is needed?
    may_be_left_early: bool = False
    _values: dict[str, object] = field(default_factory=dict)
    _changed: frozenset[str] = frozenset()

    def operation(self) -> Instruction | None:
        swaps = [one for one in self.body if one.opcode == "atom"]
        if len(swaps) != 1 or not {*swaps[0].modifiers} <= _PLAIN:
            return None
        (swap,) = swaps
        if "cas" not in swap.modifiers or swap.guard or len(swap.operands) != 4:
            return None
        self._changed = frozenset(name for one in self.body for name in results(one))
        self.guess = swap.operands[2]
        self._values = {self.guess: _OLD}
        exit_test: _Applied | None = None
        new: object = None
        for one in self.body[:-1]:
            if one is swap:
                new = self._swap(swap)
                if new is None:
                    return None
            elif one.opcode == "bra":
                is_exit = bool(self.end) and one.operands[0] == self.end and not one.negated
                test = self._value(one.guard)
                if new is not None or not is_exit or not isinstance(test, _Applied):
                    return None
                exit_test = test
            elif not self._compute(one):
                return None
        if new is None or not self._is_repeated(self.body[-1]):
            return None
        self.may_be_left_early = exit_test is not None
        return _operation(swap, self._known_as(new, exit_test), exit_test)

    def begins_with_memory(self, outside: Sequence[Item]) -> bool:
        (swap,) = (one for one in self.body if one.opcode == "atom")
        first = [one for one in _instructions(outside) if self.guess in results(one)]
        if len(first) != 1 or first[0].opcode != "ld" or first[0].guard:
            return False
        (load,) = first
        is_whole = load.modifiers[-1][1:] == swap.modifiers[-1][1:]
        is_here = self._place(load.operands[1]) == self._place(swap.operands[1])
        return load.operands[0] == self.guess and is_whole and is_here

    def _place(self, address: str) -> str | None:
        found = _ADDRESS.fullmatch(address)
        one = self.definitions.get(found[1]) if found is not None else None
        if found is None or one is None:
            return None
        if one.opcode != "cvta":
            return address
        return address.replace(found[1], one.operands[1]) if self._is_fixed(one) else None

    def _is_fixed(self, one: Instruction) -> bool:
        return all(text[0] != "%" or text in self.definitions for text in one.operands)

    def _known_as(self, new: object, exit_test: _Applied | None) -> object:
        """The new value by the name under which it is tested, where it is computed again."""
        for operand in exit_test.operands if exit_test is not None else ():
            one = self._definition(operand)
            again = _Applied((one.opcode, *one.modifiers), one.operands[1:]) if one else None
            if operand == self._bits_of(new) or new == again:
                return operand
        return new

    def _definition(self, value: object) -> Instruction | None:
        one = self.definitions.get(value) if isinstance(value, str) else None
        return one if one is not None and self._is_fixed(one) else None

    def _bits_of(self, new: object) -> object:
        if isinstance(new, str) and new in self.copies:
            return self.copies[new]
        one = self._definition(new)
        return one.operands[1] if one is not None and one.opcode == "mov" else new

    def _value(self, text: str) -> object:
        if text in self._values:
            return self._values[text]
        return None if text in self._changed else text

    def _compute(self, one: Instruction) -> bool:
        if one.guard or one.opcode not in (*_COMMUTATIVE, "mov", "setp"):
            return False
        if len(one.operands) != (2 if one.opcode == "mov" else 3):
            return False
        operands = tuple(self._value(text) for text in one.operands[1:])
        if None in operands or "{" in "".join(one.operands) or "|" in one.operands[0]:
            return False
        # Registers of numbers and of bits are copied into each other.
        applied = _Applied((one.opcode, *one.modifiers), operands)
        self._values[one.operands[0]] = operands[0] if one.opcode == "mov" else applied
        return True

    def _swap(self, swap: Instruction) -> object:
        address = _ADDRESS.fullmatch(swap.operands[1])
        is_steady = address is not None and address[1] not in self._changed
        new = self._value(swap.operands[3])
        if not is_steady or self._value(swap.operands[2]) != _OLD:
            return None
        self._values[swap.operands[0]] = _SWAPPED
        return new

    def _is_repeated(self, branch: Instruction) -> bool:
        """Does the loop go on where memory held another value, which is the guess then?"""
        if self._values.get(self.guess) is _SWAPPED:
            match self._value(branch.guard):
                case _Applied(("setp", "eq" | "ne" as relation, kind), operands):
                    is_exact = _INTEGER.fullmatch(kind) is not None
                    is_both = {*operands} == {_OLD, _SWAPPED}
                    return is_exact and is_both and (relation == "eq") == branch.negated
        return False


def _operation(swap: Instruction, new: object, exit_test: _Applied | None) -> Instruction | None:
    width = swap.modifiers[-1][1:]
    found = _function(new) if exit_test is None else _extremum(exit_test, new)
    opcode, kind, value = found or ("", "", None)
    if kind not in _TYPES or kind[1:] != width or not isinstance(value, str):
        return None
    marks = [word for word in swap.modifiers if word not in ("cas", swap.modifiers[-1])]
    modifiers = (*marks, opcode, kind)
    return replace(swap, opcode="red", modifiers=modifiers, operands=(swap.operands[1], value))


_Changed = tuple[str, str, object]
"""The operation by which memory is changed, its type, and the operand beside memory."""


def _function(new: object) -> _Changed | None:
    match new:
        case _Applied((opcode, *rounding, kind), (_, _) as operands) if {*rounding} <= {"rn"}:
            values = [value for value in operands if value != _OLD]
            is_one = opcode in _COMMUTATIVE and len(values) == 1
            return (opcode, kind, values[0]) if is_one else None
    return None


def _extremum(test: _Applied, new: object) -> _Changed | None:
    """`min` where memory stays if it is no more than the new value.

    Of two zeros the first one stays, in any order: which, the program leaves open, too.
    """
    match test:
        case _Applied(("setp", relation, kind), (first, second)) if _NUMBER.fullmatch(kind):
            name = (_REAL_EXTREMUM if kind[0] == "f" else _EXTREMUM).get(relation, "")
            if relation in ("lo", "ls", "hi", "hs"):
                kind = f"u{kind[1:]}"
            if (first, second) == (_OLD, new) and name:
                return name, kind, new
            return (_MIRRORED[name], kind, new) if (first, second) == (new, _OLD) and name else None
    return None


#: Operations on integers that a 0 does not change.
_IDLE = frozenset({"add", "or", "xor"})
_INTEGERS = ("s32", "u32", "b32", "s64", "u64", "b64")


def without_idle_adds(function: Function) -> Function:
    """Return the entry without tests that only leave out adding 0."""
    items = list(function.body or ())
    ends = {item.name: place for place, item in enumerate(items) if isinstance(item, Label)}
    defined = Counter(name for item in _instructions(items) for name in results(item))
    kept = [
        item
        for place, item in enumerate(items)
        if not (
            isinstance(item, Instruction)
            and item.opcode == "bra"
            and item.guard
            and place < (end := ends.get(item.operands[0], -1))
            and defined[item.guard] == 1
            and _adds_nothing(items, place, end)
        )
    ]
    return replace(function, body=tuple(kept)) if len(kept) < len(items) else function


def _adds_nothing(items: Sequence[Item], place: int, end: int) -> bool:
    branch, inside = items[place], [*items[place + 1 : end]]
    assert isinstance(branch, Instruction), "a branch is an instruction"
    value = _tested(items[:place], branch)
    *before, last = inside or [branch]
    if not value or not isinstance(last, Instruction) or not _adds(last, value):
        return False
    if not all(isinstance(item, Instruction) and _is_function(item) for item in before):
        return False
    functions = list(_instructions(inside))
    written = {name for item in functions for name in results(item)}
    outside = _instructions([*items[: place + 1], *items[end:]])
    return (
        value not in written
        and not any(written & {*sources(item)} for item in outside)
        and not _goes_on(functions, written)
    )


def _goes_on(items: Sequence[Instruction], written: set[str]) -> bool:
    """Is a register that they write read before: what the last time has left?"""
    left = {*written}
    for item in items:
        if not left.isdisjoint(sources(item)):
            return True
        left.difference_update(results(item))
    return False


def _tested(before: Sequence[Item], branch: Instruction) -> str:
    """The register that is 0 where a branch is taken, tested just before; empty: none."""
    changed = set[str]()
    for item in reversed(before):
        if not isinstance(item, Instruction) or item.opcode in ("bra", "call"):
            return ""
        if branch.guard in results(item):
            relation = "ne" if branch.negated else "eq"
            is_test = item.opcode == "setp" and len(item.operands) == 3 and not item.guard
            # Behind `|` is the opposite.
            is_its = is_test and item.operands[0] == branch.guard
            is_zero = is_its and item.modifiers[0] == relation and item.operands[2] == "0"
            is_integer = item.modifiers[-1:] and item.modifiers[-1] in _INTEGERS
            value = item.operands[1]
            return value if is_zero and is_integer and value not in changed else ""
        changed.update(results(item))
    return ""


def _adds(item: Instruction, value: str) -> bool:
    operation = next((word for word in item.modifiers if word in _IDLE), "")
    is_plain = item.opcode in ("red", "atom") and item.operands[-1] == value and not item.guard
    return is_plain and operation != "" and item.modifiers[-1] in _INTEGERS


def _is_function(item: Instruction) -> bool:
    # A carry is a result that no operand names.
    return item.opcode in FUNCTIONS and not item.guard and "cc" not in item.modifiers


def without_repeated_loads(function: Function) -> tuple[Function, frozenset[int]]:
    """Return the entry with each such load once, and the lines of the loads that stay.

    It does the same where nothing is written in the places that these read.
    """
    written = Counter(name for item in function.instructions for name in results(item))
    types = function.registers
    in_line = Counter(item.line for item in function.instructions)
    loads = [
        item
        for item in function.instructions
        if _is_steady_load(item, written, types) and in_line[item.line] == 1
    ]
    places = Counter((item.modifiers, item.operands[1]) for item in loads)
    if not any(count > 1 for count in places.values()):
        return function, frozenset()
    graph = Graph(control_flow(function, lambda name: True))
    block_of = {
        item.line: (index, place)
        for index, block in enumerate(graph.flow.blocks)
        for place, item in enumerate(block.instructions)
    }
    again = dict[int, Instruction]()
    for item, other in permutations((one for one in loads if one.line in block_of), 2):
        (first, at), (second, other_at) = block_of[item.line], block_of[other.line]
        is_in_front = first == second and at < other_at
        is_on_all_ways = first != second and graph.dominators[second] >> first & 1
        is_same = (item.modifiers, item.operands[1]) == (other.modifiers, other.operands[1])
        if is_same and (is_in_front or is_on_all_ways) and item.line not in again:
            again.setdefault(other.line, item)
    body = [
        _moved(item, again[item.line])
        if isinstance(item, Instruction) and item.line in again
        else item
        for item in function.body or ()
    ]
    lines = frozenset(one.line for one in again.values())
    return (replace(function, body=tuple(body)), lines) if again else (function, lines)


def _is_steady_load(
    item: Instruction, written: Mapping[str, int], types: Mapping[str, str]
) -> bool:
    """Is it a load of one integer at an address, and into a register, that are written once?"""
    kind = _LOADING.fullmatch(".".join(item.modifiers))
    if item.opcode != "ld" or item.guard or kind is None:
        return False
    address = _ADDRESS.fullmatch(item.operands[1])
    is_whole = types.get(item.operands[0], "")[1:] == kind[1]
    is_once = address is not None and written[item.operands[0]] == written[address[1]] == 1
    return is_whole and is_once


def _moved(item: Instruction, before: Instruction) -> Instruction:
    bits = item.modifiers[-1][1:]
    operands = item.operands[0], before.operands[0]
    return replace(item, opcode="mov", modifiers=(f"b{bits}",), operands=operands)


def with_early_loads(function: Function) -> Function | None:
    """Return the entry with such loads in front of all branches; None where there are none."""
    found = None
    while (earlier := _with_earlier_loads(found or function)) is not None:
        found = earlier
    return found


def _with_earlier_loads(function: Function) -> Function | None:
    """In front of one branch more."""
    items = list(function.body or ())
    places = {item.line: place for place, item in enumerate(items) if isinstance(item, Instruction)}
    if len(places) < len(function.instructions):
        return None  # several stand in one line
    graph, moves = Graph(control_flow(function, lambda name: True)), dict[int, int]()
    for index, block in enumerate(graph.flow.blocks):
        (before, *others) = graph.predecessors[index] or (index,)
        branch = graph.flow.blocks[before].terminator
        if others or before >= index or branch.kind != "branch" or branch.instruction is None:
            continue
        if not _changes_shared(graph, index):
            other_ways = [graph.live[target] for target in branch.targets if target != index]
            kept = frozenset({branch.guard}).union(*other_ways)
            moves |= dict.fromkeys(_movable(block.instructions, kept), branch.instruction.line)
    moved = {line: items[places[line]] for line in moves}
    early = [
        one
        for item in items
        if _line(item) not in moves
        for one in (*(moved[k] for k, v in moves.items() if v == _line(item)), item)
    ]
    return replace(function, body=tuple(early)) if moves else None


def _changes_shared(graph: Graph, begin: int) -> bool:
    """May a thread write shared memory behind the begin of a block, before it meets the others?"""
    blocks = graph.flow.blocks

    def onwards(here: int) -> Sequence[int]:
        terminator = blocks[here].terminator
        return () if terminator.kind == "suspend" else terminator.targets

    return any(
        item.opcode in _WRITING and not _ELSEWHERE & {*item.modifiers}
        for here in reached((begin,), onwards)
        for item in blocks[here].instructions
    )


def _line(item: Item) -> int:
    return item.line if isinstance(item, Instruction) else -1


def _movable(instructions: Sequence[Instruction], kept: frozenset[str]) -> Iterator[int]:
    """The lines of plain loads of shared memory, and of the functions before them.

    Those that depend on nothing else that the block does before, and write none of these registers.
    """
    read, written, lines = set[str](), {*kept}, list[int]()
    for item in instructions:
        is_load = item.opcode == "ld" and _ORDERED.isdisjoint(item.modifiers)
        is_shared = is_load and "shared" in item.modifiers and not item.guard
        own, given = {*results(item)}, {*sources(item)}
        if not is_load and item.opcode not in FUNCTIONS:
            return
        is_free = given.isdisjoint(written - kept) and own.isdisjoint(read | written)
        if is_free and (is_shared or _is_function(item)):
            lines.append(item.line)
            if is_shared:
                yield from lines
                lines.clear()
        else:
            read |= given
            written |= own

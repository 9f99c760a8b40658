"""Sums that each thread makes of what is its own. Takes a walk, gives what a value sums up.

In a loop over a row these are its elements, else what it has by its id, or in its block's segment.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cutune.core.reaching import reached
from cutune.proof.collectives.lanes import Summand, can_begin, combining, is_idempotent, neutral
from cutune.proof.collectives.linear_maps import mapped
from cutune.proof.flow.walk import Walk
from cutune.proof.memory.accesses import MemoryAccess
from cutune.proof.values.built_ins import ELEMENT, KeptGrid, Segments
from cutune.proof.values.operations import bits_of
from cutune.proof.values.polynomial import OPAQUE, ZERO, Atom, IntegerPolynomial, TooLarge
from cutune.proof.values.predicates import (
    Both,
    Not,
    Relation,
    Value,
    as_predicate,
    negation,
    properties_of,
)
from cutune.proof.values.terms import Alternatives, AtomOperation, is_of_parameters, only_atom


@dataclass(frozen=True)
class Rounds:
    """What a register holds in a loop: before the first round, before and after each one."""

    header: int
    first: Value
    before: IntegerPolynomial
    following: Value


@dataclass(frozen=True)
class ThreadSums:
    """Sums of one walk.

    A register that holds `first` in front of a loop over a row, and in each round is combined with
    a function of the element, holds behind it the sum of the thread's elements, whatever their
    order. All elements are summed up once all threads' sums are combined, if `first` is neutral.
    """

    walk: Walk
    kept_grid: KeptGrid

    def of(self, value: Value) -> Summand | None:
        """Return what a value behind a loop sums up; None where it is no such sum."""
        if not isinstance(value, IntegerPolynomial):
            return None
        atom = only_atom(value)
        if atom is None:
            return self._multiple(value)
        if atom.name in self.walk.behind:
            return self._behind(value, atom.name)
        if (operation := self.walk.atoms.operation(atom)) is not None:
            return self._mapped(operation)
        ways = self.walk.alternatives.get(atom.name)
        if ways is None:
            return None
        return self._one_of(value, ways)

    def _multiple(self, value: IntegerPolynomial) -> Summand | None:
        """A sum times what all threads share, of integers."""
        if len(value.terms) != 1:
            return None
        ((monomial, coefficient),) = value.terms
        for index, atom in enumerate(monomial):
            sum_ = self.of(IntegerPolynomial.of({(atom,): 1}))
            if sum_ is not None and sum_.operation.startswith("add.b"):
                others = (*monomial[:index], *monomial[index + 1 :])
                factor = IntegerPolynomial.of({others: coefficient})
                if self._is_same_for_all(factor):
                    return replace(sum_, maps=(*sum_.maps, ("multiple", factor)))
        return None

    def _mapped(self, operation: AtomOperation) -> Summand | None:
        """A sum that was scaled by what all threads share, or converted."""
        for index, operand in enumerate(operation.operands):
            others = [*operation.operands[:index], *operation.operands[index + 1 :]]
            if isinstance(operand, IntegerPolynomial) and all(map(self._is_shared, others)):
                sum_ = self.of(operand)
                if sum_ is not None:
                    return mapped(sum_, operation.name, index, others)
        return None

    def _is_shared(self, value: object) -> bool:
        return self._is_same_for_all(value)  # type: ignore[arg-type]

    def _one_of(self, value: Value, ways: Alternatives) -> Summand | None:
        """What all ways to a block lead on to: a sum that some have not begun or not finished."""
        sums = {found: one for _, one in ways.values if (found := self.of(one)) is not None}
        for sum_, whole in sums.items():
            others = [way for way in ways.values if way[1] != whole]
            after = self._after(whole)
            if all(
                b not in after
                and (self._is_begin(one, whole, sum_) or self._is_instead(one, ways, whole, sum_))
                for b, one in others
            ):
                return replace(sum_, value=value)
        return None

    def _is_instead(
        self, value: IntegerPolynomial, ways: Alternatives, whole: Value, sum_: Summand
    ) -> bool:
        """Is a value such a sum as another one, of a loop from which no way leads to that one's?

        All threads do the same of several loops over rows, if they have an element of it.
        """
        found = self.of(value)
        if found is None or replace(found, value=sum_.value) != sum_:
            return False
        after = self._after(value)
        return not any(block in after for block, one in ways.values if one == whole)

    def _is_begin(self, value: IntegerPolynomial, whole: Value, sum_: Summand) -> bool:
        """Is a value that of a thread without elements, or without those of a last loop?"""
        if value.literal is not None:
            return _held(value.literal, sum_.operation) == sum_.first
        if value == sum_.begun:
            return True
        atom = only_atom(whole) if isinstance(whole, IntegerPolynomial) else None
        if atom is None or atom.name not in self.walk.behind:
            return False
        rounds = self._rounds(atom.name)
        return rounds is not None and rounds.first == value

    def _after(self, value: Value) -> set[int]:
        """Basic blocks that a thread may come to behind the loop that a value sums up."""
        blocks = self.walk.graph.flow.blocks

        def onwards(here: int) -> list[int]:
            return [target for target in blocks[here].terminator.targets if target > here]

        return {*reached(self._left_at(value), onwards)}

    def _left_at(self, value: Value) -> Iterator[int]:
        atom = only_atom(value) if isinstance(value, IntegerPolynomial) else None
        if atom is not None and atom.name in self.walk.behind:
            yield self.walk.behind[atom.name][0]
        elif atom is not None and (operation := self.walk.atoms.operation(atom)) is not None:
            for number in operation.numbers:
                yield from self._left_at(number)
        elif atom is not None and (ways := self.walk.alternatives.get(atom.name)) is not None:
            for _, one in ways.values:
                yield from self._left_at(one)

    def _behind(self, value: IntegerPolynomial, name: str) -> Summand | None:
        block, left = self.walk.behind[name]
        rounds = self._rounds(name)
        if rounds is None:
            return None
        operation = self._operation(rounds.following, rounds.before)
        is_tested_first = block not in self.walk.graph.latches(rounds.header)
        if not operation or left != (rounds.before if is_tested_first else rounds.following):
            return None
        return self._begun_by(rounds.first, operation, value)

    def _rounds(self, name: str) -> Rounds | None:
        """The loop over a row behind which a value has this name; None where it is not one."""
        block, register = self.walk.behind[name][0], name.split(".", 1)[1]
        headers = self.walk.graph.loops_around[block] & self.kept_grid.loops
        if len(headers) != 1:
            return None
        (header,) = headers
        begun, goes_on = self.walk.into_loop(header, register)
        before = self.walk.at_header(header, register)
        if before is None or len({*begun}) != 1 or len({*goes_on}) != 1:
            return None
        return Rounds(header, begun[0], before, goes_on[0])

    def _begun_by(self, first: Value, operation: str, value: IntegerPolynomial) -> Summand | None:
        literal = first.literal if isinstance(first, IntegerPolynomial) else None
        if literal is None:
            # A loop goes on with the sum that an earlier one has left.
            sum_ = self.of(first)
            if sum_ is not None:
                return replace(sum_, value=value) if sum_.operation == operation else None
            is_known = is_idempotent(operation) and self._is_same_for_all(first)
            return Summand(value, operation, begun=first) if is_known else None
        held = _held(literal, operation)
        if not can_begin(operation, held):
            return None
        return Summand(value, operation, held)

    def _operation(self, value: Value, before: IntegerPolynomial) -> str:
        """The operation that makes a value of the one before and of elements; empty: none."""
        if value == before or not isinstance(value, IntegerPolynomial):
            return ""
        atom = only_atom(value)
        operation = self.walk.atoms.operation(atom) if atom is not None else None
        if operation is None:
            ways = self.walk.alternatives.get(atom.name) if atom is not None else None
            return self._on_some_ways(ways, before) if ways else self._integer_sum(value, before)
        opcode, *modifiers = operation.name.split(".")
        *others, last = operation.operands
        if opcode == "selp":
            return self._on_some(list(operation.operands), before)
        if opcode == "fma":
            name, inner = combining("add", modifiers), last
        elif opcode == "sub" and self._is_of_elements(last):
            name, inner, others = combining("add", modifiers), others[0], []
        elif len(operation.operands) == 2:
            name, inner = combining(opcode, modifiers), last
            if self._is_of_elements(last):
                inner, others = others[0], [last]
        else:
            return ""
        if not name or not all(map(self._is_of_elements, others)):
            return ""
        is_same = inner == before or self._operation(inner, before) == name  # type: ignore[arg-type]
        return name if is_same else ""

    def _on_some_ways(self, ways: Alternatives, before: IntegerPolynomial) -> str:
        """`if (condition) sum += element;`, where elements decide."""
        if self.walk.decided(ways.block).raw:
            return ""
        return self._one_operation([one for _, one in ways.values], before)

    def _on_some(self, operands: list[object], before: IntegerPolynomial) -> str:
        *values, condition = operands
        return self._one_operation(values, before) if self._is_of_elements(condition) else ""

    def _one_operation(self, values: Sequence[object], before: IntegerPolynomial) -> str:
        """The operation by which all these are made of the value before, if they are not that."""
        names = {self._operation(one, before) for one in values if one != before}  # type: ignore[arg-type]
        return names.pop() if len(names) == 1 else ""

    def _integer_sum(self, value: IntegerPolynomial, before: IntegerPolynomial) -> str:
        try:
            added = value - before
        except TooLarge:
            return ""
        return f"add.b{self._bits(before)}" if self._is_of_elements(added) else ""

    def _bits(self, before: IntegerPolynomial) -> int:
        atom = only_atom(before)
        assert atom is not None, "a value that differs between rounds"
        return bits_of(self.walk.registers[atom.name.split(".", 1)[1]])

    def _is_same_for_all(self, value: Value) -> bool:
        """Is a value in front of a loop the same for all threads of a block?"""
        properties = properties_of(value, self.walk.atoms)
        return not (properties.raw or properties.ids or properties.loops & self.kept_grid.loops)

    def _is_of_elements(self, value: object) -> bool:
        """Does a value not depend on the block, and so not on the sum before either?"""
        return not properties_of(value, self.walk.atoms).raw  # type: ignore[arg-type]


@dataclass(frozen=True)
class OwnValues:
    """Values of one walk that threads have by their ids, the same in whichever block they are."""

    walk: Walk

    def of(self, value: Value) -> Summand | None:
        """Return what a value adds to a sum over the threads of a block; None where it is raw."""
        properties = properties_of(value, self.walk.atoms)
        if properties.raw or not properties.ids or not isinstance(value, IntegerPolynomial):
            return None
        return Summand(value, "")


_Part = tuple[object, ...]
#: Comparisons without a sign by the names of those with one.
_SIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}


@dataclass(frozen=True)
class SegmentSums:
    """Sums of one walk that each thread makes of one function of its elements of a segment.

    `loads`: accesses by the names of the values that they load. In `x[i] + x[i + blockDim.x]`, or
    with a test of its own for each element, the function is the same in all places. So the sum
    over all threads is one over all elements, whichever place they have.
    """

    walk: Walk
    segments: Segments
    loads: Mapping[str, MemoryAccess]
    #: Numbers of which the sign does not matter, as they are not negative; None: it does.
    unsigned: set[IntegerPolynomial] | None = None

    def of(self, value: Value) -> Summand | None:
        """Return what a value adds to a sum over all elements; None where that is not known."""
        if not isinstance(value, IntegerPolynomial):
            return None
        for operation in sorted({*self._operations(value)}):
            if self._is_one_function(value, operation):
                return Summand(value, operation, neutral(operation)[0])
            without_signs = replace(self, unsigned=set())
            if without_signs._is_one_function(value, operation):
                self.segments.asked |= without_signs.unsigned or set()
                return Summand(value, operation, neutral(operation)[0])
        return None

    def _is_one_function(self, value: IntegerPolynomial, operation: str) -> bool:
        parts = self._parts(value, operation)
        is_whole = parts is not None and len(parts) == self.segments.count
        return is_whole and parts is not None and len({*parts.values()}) == 1

    def _operations(self, value: object) -> Iterator[str]:
        """Operations by which a value may be made of several."""

        def inside(one: object) -> Iterator[object]:
            for atom in one.atoms if isinstance(one, IntegerPolynomial) else ():
                if (ways := self.walk.alternatives.get(atom.name)) is not None:
                    yield from (way for _, way in ways.values)
                if (operation := self.walk.atoms.operation(atom)) is not None:
                    yield from operation.operands

        for one in reached([value], inside):
            for atom in one.atoms if isinstance(one, IntegerPolynomial) else ():
                if (made := self.walk.atoms.operation(atom)) is not None:
                    opcode, *modifiers = made.name.split(".")
                    yield combining("add" if opcode == "fma" else opcode, modifiers)
                elif atom.name in self.loads:
                    kind = self.loads[atom.name].instruction.modifiers[-1]
                    yield f"add.b{max(bits_of(kind), 32)}" if kind[0] in "sub" else ""

    def _parts(self, value: object, operation: str) -> dict[int, _Part] | None:
        """What a value is made of by an operation, by the place of the element; None: of more."""
        if not isinstance(value, IntegerPolynomial) or not operation:
            return None
        if value.literal is not None:
            return {} if _held(value.literal, operation) in neutral(operation) else None
        text = self._text(value)
        if text is not None and len(text[1]) == 1:
            return {min(text[1]): text[0]}
        atom = only_atom(value)
        if atom is None:
            return self._of_terms(value, operation) if operation.startswith("add.b") else None
        if (ways := self.walk.alternatives.get(atom.name)) is not None:
            decided = self._decided(ways)
            return self._of_two(*decided, operation) if decided is not None else None
        made = self.walk.atoms.operation(atom)
        if made is None:
            return None
        opcode, *modifiers = made.name.split(".")
        if opcode == "selp":
            first, second, condition = made.operands
            return self._of_two(first, second, condition, operation)
        if opcode == "fma" and combining("add", modifiers) == operation:
            product = self._text(AtomOperation("product", made.operands[:2]))
            if product is None or len(product[1]) != 1:
                return None
            own: dict[int, _Part] = {min(product[1]): ("sum", ("1", product[0]))}
            return _merged(own, self._parts(made.operands[2], operation))
        if len(made.operands) == 2 and combining(opcode, modifiers) == operation:
            one, other = (self._parts(operand, operation) for operand in made.operands)
            return _merged(one, other)
        return None

    def _of_terms(self, value: IntegerPolynomial, operation: str) -> dict[int, _Part] | None:
        """A sum of integers: terms with one element together, others each for itself."""
        together = dict[int, IntegerPolynomial]()
        found: dict[int, _Part] | None = {}
        for term in value.terms:
            one = IntegerPolynomial((term,))
            text = self._text(one)
            if text is not None and len(text[1]) == 1:
                place = min(text[1])
                together[place] = together.get(place, ZERO) + one
            else:
                found = _merged(found, self._parts(one, operation) if one != value else None)
        for one in together.values():
            found = _merged(found, self._parts(one, operation))
        return found

    def _of_two(
        self, first: object, second: object, condition: object, operation: str
    ) -> dict[int, _Part] | None:
        """One of two values: with an element, where a condition of it holds, or without."""
        one, other = self._parts(first, operation), self._parts(second, operation)
        if one is None or other is None:
            return None
        if len(one) < len(other):
            condition, one, other = negation(as_predicate(condition)), other, one  # type: ignore[arg-type]
        more = one.keys() - other.keys()
        test = self._text(condition)
        if len(more) != 1 or other.items() - one.items() or test is None or not test[1] <= more:
            return None
        (place,) = more
        return other | {place: ("if", test[0], one[place])}

    def _decided(self, ways: Alternatives) -> tuple[object, object, object] | None:
        """Two values where ways meet, and the condition of the first one; None: not known."""
        graph, found = self.walk.graph, list[tuple[int, bool, object]]()
        for last, value in ways.values:
            block, following = last, ways.block
            while len({*graph.flow.blocks[block].terminator.targets}) == 1:
                if len(graph.predecessors[block]) != 1:
                    return None
                following, block = block, graph.predecessors[block][0]
            terminator = graph.flow.blocks[block].terminator
            if terminator.kind != "branch" or block not in self.walk.branches:
                return None
            found.append((block, terminator.targets[0] == following, value))
        if len(found) != 2 or found[0][0] != found[1][0] or found[0][1] == found[1][1]:
            return None
        (block, is_first, one), (_, _, other) = found
        condition = self.walk.branches[block]
        return (one, other, condition) if is_first else (other, one, condition)

    def _text(self, value: object) -> tuple[_Part, frozenset[int]] | None:
        """A value in words that do not name the places of elements, and these; None: not known."""
        match value:
            case IntegerPolynomial(terms):
                parts = [
                    self._joined(str(coefficient), map(self._atom_text, monomial))
                    for monomial, coefficient in terms
                ]
                known = [part for part in parts if part is not None]
                if len(known) < len(parts):
                    return None
                both = self._joined("sum", known)
                return both and ((both[0][0], *sorted(both[0][1:], key=repr)), both[1])
            case Relation(relation, bits, signed, left, right):
                sign = self._sign(signed, left, right) if relation not in ("eq", "ne") else ""
                word = f"{_SIGNED.get(relation, relation)} {bits} {sign}"
                return self._joined(word, map(self._text, (left, right)))
            case Both(first, second):
                return self._joined("both", map(self._text, (first, second)))
            case Not(inner):
                return self._joined("not", [self._text(inner)])
            case AtomOperation(name, operands):
                product = re.sub(r"mul(\.rn)?(\.ftz)?\.f\d\d", "product", name)
                return self._joined(product, map(self._text, operands))
        return None

    def _sign(self, signed: bool, *sides: IntegerPolynomial) -> str:
        """How a comparison reads numbers: that does not matter of those that are not negative."""
        is_other = [not self.walk.atoms.interval(one).within(0, (1 << 31) - 1) for one in sides]
        others = [one for one, other in zip(sides, is_other, strict=True) if other]
        if self.unsigned is None or not all(map(is_of_parameters, others)):
            return f"{signed}"
        self.unsigned.update(others)
        return ""

    def _atom_text(self, atom: Atom) -> tuple[_Part, frozenset[int]] | None:
        if atom.name.startswith(ELEMENT) and atom.kind == OPAQUE:
            return (ELEMENT,), frozenset({int(atom.name.removeprefix(ELEMENT))})
        properties = self.walk.atoms.properties(atom)
        access = self.loads.get(atom.name)
        # A thread's own memory may hold something else for its next element.
        is_own = access is not None and access.space == "local"
        if access is not None and access.address is not None and not (properties.raw or is_own):
            words = ".".join(access.instruction.modifiers)
            return self._joined(f"{words} {atom.name.split('.')[1]}", [self._text(access.address)])
        if (operation := self.walk.atoms.operation(atom)) is not None:
            return self._text(operation)
        is_same = not (properties.raw or properties.ids or properties.loops)
        return ((str(atom),), frozenset()) if is_same else None

    def _joined(
        self, word: str, parts: Iterable[tuple[_Part, frozenset[int]] | None]
    ) -> tuple[_Part, frozenset[int]] | None:
        known = [*parts]
        texts = [one for one in known if one is not None]
        if len(texts) < len(known):
            return None
        return (word, *(text for text, _ in texts)), frozenset[int]().union(*(p for _, p in texts))


Sums = ThreadSums | OwnValues | SegmentSums


def _merged(
    one: dict[int, _Part] | None, other: dict[int, _Part] | None
) -> dict[int, _Part] | None:
    """Both, where they are of different elements."""
    if one is None or other is None or not one.keys().isdisjoint(other):
        return None
    return one | other


def _held(number: int, operation: str) -> int:
    """A number as a register of the operation's type holds it."""
    bits = int(operation.rsplit(".", 1)[1].lstrip("subf"))
    return number & ((1 << bits) - 1)

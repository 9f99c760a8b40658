"""Sums that each thread makes in a loop over a row. Takes a walk, gives what a value sums up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cutune.core.reaching import reached
from cutune.proof.collectives.lanes import Summand, can_begin, combining, is_idempotent
from cutune.proof.collectives.linear_maps import mapped
from cutune.proof.flow.walk import Walk
from cutune.proof.values.built_ins import KeptGrid
from cutune.proof.values.operations import bits_of
from cutune.proof.values.polynomial import IntegerPolynomial, TooLarge
from cutune.proof.values.predicates import Value, properties_of
from cutune.proof.values.terms import Alternatives, AtomOperation, only_atom


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


def _held(number: int, operation: str) -> int:
    """A number as a register of the operation's type holds it."""
    bits = int(operation.rsplit(".", 1)[1].lstrip("subf"))
    return number & ((1 << bits) - 1)

"""Sums that each thread makes in a loop over a row. Takes a walk, gives what a value sums up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cutune.proof.collectives.lanes import Summand, combining, is_idempotent, neutral
from cutune.proof.flow.walk import Walk
from cutune.proof.values.built_ins import KeptGrid
from cutune.proof.values.operation_results import bits_of
from cutune.proof.values.polynomial import IntegerPolynomial, TooLarge
from cutune.proof.values.predicates import Value, properties_of
from cutune.proof.values.terms import only_atom


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
        atom = only_atom(value) if isinstance(value, IntegerPolynomial) else None
        if atom is None or not isinstance(value, IntegerPolynomial):
            return None
        if atom.name in self.walk.behind:
            return self._behind(value, atom.name)
        ways = self.walk.alternatives.get(atom.name)
        if ways is None:
            return None
        sums = {found for _, one in ways.values if (found := self.of(one)) is not None}
        if len(sums) != 1:
            return None
        (sum_,) = sums
        # A thread without elements has the value with which the others have begun.
        others = [(block, one.literal) for block, one in ways.values if self.of(one) is None]
        for block, number in others:
            if number is None or _held(number, sum_.operation) != sum_.first:
                return None
            if block in self._after(sum_.value):
                return None
        return Summand(value, sum_.operation, sum_.first)

    def _after(self, value: Value) -> set[int]:
        """Basic blocks that a thread may come to behind the loop that a value sums up."""
        graph, found = self.walk.graph, set[int]()
        waiting = [*self._left_at(value)]
        while waiting:
            here = waiting.pop()
            if here not in found:
                found.add(here)
                waiting += [t for t in graph.flow.blocks[here].terminator.targets if t > here]
        return found

    def _left_at(self, value: Value) -> Iterator[int]:
        atom = only_atom(value) if isinstance(value, IntegerPolynomial) else None
        if atom is not None and atom.name in self.walk.behind:
            yield self.walk.behind[atom.name][0]
        elif atom is not None and (ways := self.walk.alternatives.get(atom.name)) is not None:
            for _, one in ways.values:
                yield from self._left_at(one)

    def _behind(self, value: IntegerPolynomial, name: str) -> Summand | None:
        block, left = self.walk.behind[name]
        register = name.split(".", 1)[1]
        headers = self.walk.graph.loops_around[block] & self.kept_grid.loops
        if len(headers) != 1:
            return None
        (header,) = headers
        begun, goes_on = self.walk.into_loop(header, register)
        before = self.walk.at_header(header, register)
        if before is None or len({*begun}) != 1 or len({*goes_on}) != 1:
            return None
        (first,), (following,) = {*begun}, {*goes_on}
        operation = self._operation(following, before)
        is_tested_first = block not in self.walk.graph.latches(header)
        if not operation or left != (before if is_tested_first else following):
            return None
        return self._begun_by(first, operation, value)

    def _begun_by(self, first: Value, operation: str, value: IntegerPolynomial) -> Summand | None:
        literal = first.literal if isinstance(first, IntegerPolynomial) else None
        if literal is None:
            return None
        held = _held(literal, operation)
        if not is_idempotent(operation) and held not in neutral(operation):
            return None
        return Summand(value, operation, held)

    def _operation(self, value: Value, before: IntegerPolynomial) -> str:
        """The operation that makes a value of the one before and of elements; empty: none."""
        if value == before or not isinstance(value, IntegerPolynomial):
            return ""
        atom = only_atom(value)
        operation = self.walk.atoms.operation(atom) if atom is not None else None
        if operation is None:
            return self._integer_sum(value, before)
        opcode, *modifiers = operation.name.split(".")
        *others, last = operation.operands
        if opcode == "fma":
            name, inner = combining("add", modifiers), last
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

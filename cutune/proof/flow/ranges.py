"""Which numbers are never negative: takes a finished walk, proves it of expressions at a place.

An expression is a polynomial over exact integers. Its atoms are replaced by their bounds, the last
computed first, until a number is left: rounds of a loop by what its test lets through, a value that
is one of several by each of them, others by comparisons that hold at the place. A comparison bounds
something only where both sides are known to fit into what is compared, for which parameters are
taken to be at most 2^30; that, and what has to be asked of parameters besides, is told (`Asked`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cutune.frontend.values.polynomial import (
    IDENTITY,
    ONE,
    OPAQUE,
    PARAMETER,
    Atom,
    IntegerPolynomial,
    Monomial,
    TooLarge,
)
from cutune.proof.flow.walk import Known, Walk
from cutune.proof.values.inequalities import (
    NOTHING_ASKED,
    Asked,
    Bound,
    Fact,
    Facts,
    all_numbers,
    is_size,
    may_hold,
    reduced,
)
from cutune.proof.values.predicates import Comparison
from cutune.proof.values.terms import MOST_THREADS, AtomOperation, AtomProperties, Interval

#: Parameters are within 2^30 on both sides of 0: asked at the launch.
_MOST = MOST_THREADS
#: Registers of other widths are not compared.
_COMPARED_BITS = (32, 64)
#: Atoms that are replaced one after the other, and replacements that are tried for one question.
_MOST_REPLACED = 12
_MOST_STEPS = 200
#: And for all questions about an entry.
_MOST_STEPS_IN_ALL = 6000
_ROUNDS = "rounds"
_LOW_BITS = frozenset((1 << bits) - 1 for bits in range(1, 31))
_EXTENDED = {"s32": Interval(-(1 << 31), (1 << 31) - 1), "u32": Interval(0, (1 << 32) - 1)}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
#: How often what has been learnt may tell that further comparisons are exact.
_STRATA = 3


@dataclass
class Ranges:
    """Proves that expressions are not negative at places of a walk."""

    walk: Walk
    _facts: dict[Known, Facts] = field(default_factory=dict)
    _rounds: dict[int, list[Bound]] = field(default_factory=dict)
    _answers: dict[tuple[IntegerPolynomial, Known], Asked | None] = field(default_factory=dict)
    _ranks: dict[tuple[Atom, int], tuple[int, int, int, str]] = field(default_factory=dict)
    _steps: int = 0
    _steps_in_all: int = 0

    def not_negative(self, value: IntegerPolynomial, known: Known) -> Asked | None:
        """What to ask so that a value is not negative where comparisons hold; None: not proven."""
        question = value, known
        if question not in self._answers:
            self._answers[question] = self._answer(value, known)
        return self._answers[question]

    def _answer(self, value: IntegerPolynomial, known: Known) -> Asked | None:
        for may_ask in (False, True):
            self._steps_in_all += self._steps
            self._steps = 0
            if self._steps_in_all > _MOST_STEPS_IN_ALL:
                return None
            try:
                asked = self._proven(value, self.facts(known), may_ask, _MOST_REPLACED)
            except TooLarge:
                return None
            if asked is not None:
                return asked
        return None

    # What comparisons say about exact integers.

    def facts(self, known: Known) -> Facts:
        """Values that are not negative where comparisons hold."""
        if known not in self._facts:
            self._facts[known] = self._learnt(sorted(known, key=str))
        return self._facts[known]

    def _learnt(self, comparisons: list[Comparison]) -> Facts:
        """Each stratum rests on those before it, so that no comparison vouches for itself."""
        found: Facts = ()
        waiting = comparisons
        for _ in range(_STRATA):
            learnt: list[Fact] = []
            left = []
            for one in waiting:
                facts = self._exact(one, found)
                learnt += facts
                if not facts:
                    left.append(one)
            if not learnt:
                break
            found, waiting = (*found, *learnt), left
        return found

    def _exact(self, comparison: Comparison, facts: Facts) -> list[Fact]:
        left, right = comparison.left, comparison.right
        if comparison.bits not in _COMPARED_BITS:
            return []
        difference = right - left
        if comparison.relation == "ne":
            # Equal numbers are equal in any number of bits.
            for value in (difference, -difference):
                asked = self._proven(value, facts, False, 4)
                if asked is not None:
                    return [Fact(value - ONE, asked.fitting)]
            return []
        whole = all_numbers(comparison.bits, comparison.signed)
        asked = self._fit((left, right), whole, facts)
        if asked is None:
            return []
        match comparison.relation:
            case "lt":
                found = [difference - ONE]
            case "le":
                found = [difference]
            case "gt":
                found = [-difference - ONE]
            case "ge":
                found = [-difference]
            case "eq":
                found = [difference, -difference]
            case _:
                return []
        return [Fact(reduced(value), asked.fitting) for value in found]

    def _fit(
        self, values: Iterable[IntegerPolynomial], whole: Interval, facts: Facts
    ) -> Asked | None:
        """Do values lie in an interval? Without asking more than that parameters fit."""
        assert whole.low is not None and whole.high is not None
        asked = NOTHING_ASKED
        for value in values:
            for goal in (
                value - IntegerPolynomial.constant(whole.low),
                IntegerPolynomial.constant(whole.high) - value,
            ):
                one = self._proven(goal, facts, False, 4)
                if one is None:
                    return None
                asked = asked.joined(one)
        return asked

    # Elimination.

    def _proven(
        self, value: IntegerPolynomial, facts: Facts, may_ask: bool, depth: int
    ) -> Asked | None:
        value = reduced(value)
        interval, fitting = self._interval(value)
        if interval.low is not None and interval.low >= 0:
            return Asked(fitting=fitting)
        self._steps += 1
        if depth == 0 or self._steps > _MOST_STEPS or value.literal is not None:
            return None
        atoms = sorted(set(value.atoms), key=self._rank, reverse=True)
        is_of_parameters = atoms[0].kind == PARAMETER
        for atom in atoms if is_of_parameters else atoms[:1]:
            asked = self._without(atom, value, facts, may_ask, depth)
            if asked is not None:
                return asked
        if may_ask and is_of_parameters and all(map(is_size, atoms)) and may_hold(value):
            return Asked(frozenset({value}), frozenset(atoms))
        return None

    def _rank(self, atom: Atom, depth: int = 6) -> tuple[int, int, int, str]:
        """Atoms are replaced in this order, from the last on: by what was there before them."""
        if (atom, depth) not in self._ranks:
            self._ranks[atom, depth] = self._new_rank(atom, depth)
        return self._ranks[atom, depth]

    def _new_rank(self, atom: Atom, depth: int) -> tuple[int, int, int, str]:
        if atom.kind == PARAMETER:
            return 0, 0, 0, atom.name
        if atom.kind == IDENTITY:
            return 1, 0, 0, atom.name
        if atom.name.startswith(_ROUNDS):
            return 2, int(atom.name.removeprefix(_ROUNDS)), 0, atom.name
        if atom.name in self.walk.alternatives:
            return 2, self.walk.alternatives[atom.name].block, 0, atom.name
        operation = self.walk.atoms.operation(atom)
        if operation is None or depth == 0:
            return 3, 0, 0, atom.name
        operands = (o for o in operation.operands if isinstance(o, IntegerPolynomial))
        inner = [self._rank(one, depth - 1) for operand in operands for one in operand.atoms]
        kind, block, order, _ = max(inner, default=(1, 0, 0, ""))
        return max(kind, 1), block, order + 1, atom.name

    def _without(
        self, atom: Atom, value: IntegerPolynomial, facts: Facts, may_ask: bool, depth: int
    ) -> Asked | None:
        """The same of a value in which an atom is replaced by its least or greatest value."""
        split = value.split(atom)
        if split is None:
            return None
        factor, rest = split
        if atom.name in self.walk.alternatives:
            asked = self._by_alternatives(atom, value, facts, may_ask, depth)
            if asked is not None:
                return asked
        operation = self.walk.atoms.operation(atom)
        if operation is not None and operation.name in _EXTENDED:
            asked = self._as_extended(atom, operation, value, facts, may_ask, depth)
            if asked is not None:
                return asked
        is_rising, sign = True, self._proven(factor, facts, False, 3)
        if sign is None:
            is_rising, sign = False, self._proven(-factor, facts, False, 3)
        if sign is None:
            return None
        for bound in self._bounds(atom, is_rising, facts):
            if bound.asked.not_negative and not may_ask:
                continue
            scaled = rest * IntegerPolynomial.constant(bound.factor) + factor * bound.value
            asked = self._proven(scaled, facts, may_ask, depth - 1)
            if asked is not None:
                return asked.joined(bound.asked).joined(sign)
        return None

    def _by_alternatives(
        self, atom: Atom, value: IntegerPolynomial, facts: Facts, may_ask: bool, depth: int
    ) -> Asked | None:
        """Whichever of several values it is. Each must be what a number with a sign holds."""
        found = self.walk.alternatives[atom.name]
        whole = Interval(-(1 << (found.bits - 1)), (1 << (found.bits - 1)) - 1)
        asked = NOTHING_ASKED
        for block, one in found.values:
            there = (*facts, *self.facts(self.walk.known_on_way(block, found.block)))
            fits = self._fit((one,), whole, there)
            proven = self._proven(value.replaced(atom, one), there, may_ask, depth - 1)
            if fits is None or proven is None:
                return None
            asked = asked.joined(fits).joined(proven)
        return asked

    def _as_extended(
        self,
        atom: Atom,
        operation: AtomOperation,
        value: IntegerPolynomial,
        facts: Facts,
        may_ask: bool,
        depth: int,
    ) -> Asked | None:
        """A number that was made longer is what it was, where that fits."""
        (operand,) = operation.operands
        assert isinstance(operand, IntegerPolynomial), "numbers are extended"
        fits = self._fit((operand,), _EXTENDED[operation.name], facts)
        if fits is None:
            return None
        asked = self._proven(value.replaced(atom, operand), facts, may_ask, depth - 1)
        return asked.joined(fits) if asked is not None else None

    def _interval(self, value: IntegerPolynomial) -> tuple[Interval, frozenset[Atom]]:
        """The range of a polynomial, and the parameters that must fit for it."""
        low: int | None = 0
        high: int | None = 0
        fitting: set[Atom] = set()
        for monomial, coefficient in value.terms:
            least, most = self._of_monomial(monomial, fitting)
            if coefficient < 0:
                least, most = most, least
            low = None if low is None or least is None else low + coefficient * least
            high = None if high is None or most is None else high + coefficient * most
        return Interval(low, high), frozenset(fitting)

    def _of_monomial(self, monomial: Monomial, fitting: set[Atom]) -> Interval:
        if len(monomial) == 1:
            return self._of_atom(monomial[0], fitting)
        low, high = 1, 1
        for atom in monomial:
            interval = self._of_atom(atom, fitting)
            if interval.low is None or interval.high is None:
                return Interval(None, None)
            ends = [a * b for a in (low, high) for b in (interval.low, interval.high)]
            low, high = min(ends), max(ends)
        return Interval(low, high)

    def _of_atom(self, atom: Atom, fitting: set[Atom]) -> Interval:
        interval = self.walk.atoms.properties(atom).interval
        if atom.kind == PARAMETER and not interval.within(-_MOST, _MOST):
            if not is_size(atom):
                return Interval(None, None)
            fitting.add(atom)
            return Interval(-_MOST, _MOST)
        return interval

    # Bounds of single atoms.

    def _bounds(self, atom: Atom, is_least: bool, facts: Facts) -> Iterator[Bound]:
        """What an atom is at least, or at most."""
        for fact in facts:
            split = fact.value.split(atom)
            factor = split[0].literal if split is not None else None
            if split is None or not factor or (factor > 0) != is_least:
                continue
            value = -split[1] if is_least else split[1]
            yield Bound(abs(factor), value, Asked(fitting=fact.fitting))
        if atom.name.startswith(_ROUNDS) and not is_least:
            yield from self._of_rounds(int(atom.name.removeprefix(_ROUNDS)))
        yield from self._of_operation(atom, is_least, facts)
        fitting: set[Atom] = set()
        end = self._of_atom(atom, fitting)[0 if is_least else 1]
        if end is not None:
            yield Bound(1, IntegerPolynomial.constant(end), Asked(fitting=frozenset(fitting)))

    def _of_operation(self, atom: Atom, is_least: bool, facts: Facts) -> Iterator[Bound]:
        """`x & 3` is at most x where that is not negative; a minimum is at most both."""
        operation = self.walk.atoms.operation(atom)
        if operation is None:
            return
        operands = [o for o in operation.operands if isinstance(o, IntegerPolynomial)]
        name, _, kind = operation.name.rpartition(".")
        if len(operands) != 2 or kind[1:] not in ("32", "64"):
            return
        bits = int(kind[1:])
        # Whether they are read with a sign or without does not matter then.
        either = Interval(0, (1 << (bits - 1)) - 1)
        if name == "and" and not is_least and (operands[1].literal or -1) >= 0:
            asked = self._fit((operands[0],), either, facts)
            if asked is not None:
                yield Bound(1, operands[0], asked)
        is_end = (name == "min" and not is_least) or (name == "max" and is_least)
        if is_end and kind[0] in "su":
            asked = self._fit(
                operands, all_numbers(bits, True) if kind[0] == "s" else either, facts
            )
            if asked is not None:
                yield from (Bound(1, operand, asked) for operand in operands)

    # Rounds of loops.

    def _of_rounds(self, header: int) -> list[Bound]:
        """Bounds of the rounds that lie behind, in each round and when the loop is left."""
        if header not in self._rounds:
            self._rounds[header] = []  # what it is bounded by does not depend on it again
            self._rounds[header] = list(self._counted(header))
        return self._rounds[header]

    def _counted(self, header: int) -> Iterator[Bound]:
        graph = self.walk.graph
        latches = graph.latches(header)
        entries = [self.walk.known_on_way(block, header) for block in graph.entries(header)]
        if len(latches) != 1 or not entries:
            return
        before = self.facts(frozenset.intersection(*entries))
        going_on = self.walk.known_on_way(latches[0], header)
        for comparison in sorted(going_on, key=str):
            yield from self._by_test(header, comparison, before)

    def _by_test(self, header: int, comparison: Comparison, before: Facts) -> Iterator[Bound]:
        """By a comparison that held at the end of each round with another one behind it."""
        rounds = Atom(OPAQUE, f"{_ROUNDS}{header}")
        difference = comparison.right - comparison.left
        split = difference.split(rounds)
        factor = split[0].literal if split is not None else None
        if split is None or not factor or comparison.bits not in _COMPARED_BITS:
            return
        if header in self._properties(split[1]).loops:
            return
        found = (
            self._until_equal(factor, split[1], comparison.bits, before)
            if comparison.relation == "ne"
            else self._while_less(comparison, rounds, before)
        )
        if found is not None:
            yield found

    def _until_equal(
        self, factor: int, rest: IntegerPolynomial, bits: int, before: Facts
    ) -> Bound | None:
        """`rest + factor * rounds != 0`, where it comes to 0 by steps that divide the rest."""
        distance = rest if factor < 0 else -rest
        step = abs(factor)
        if not self._is_multiple(distance, step):
            return None
        most = IntegerPolynomial.constant((1 << bits) - 1) - distance
        # A multiple of the step that is more than -step is not negative.
        least_asked = self._proven(
            distance + IntegerPolynomial.constant(step - 1), before, False, 6
        )
        most_asked = self._proven(most, before, False, 6)
        if least_asked is None or most_asked is None:
            return None
        return Bound(step, distance, least_asked.joined(most_asked))

    def _is_multiple(self, value: IntegerPolynomial, step: int) -> bool:
        """`n - (n & 3)` is a multiple of 4."""
        for atom in set(value.atoms):
            operation = self.walk.atoms.operation(atom)
            if operation is None or operation.name not in ("and.b32", "and.b64"):
                continue
            whole, mask = operation.operands
            assert isinstance(whole, IntegerPolynomial) and isinstance(mask, IntegerPolynomial)
            low_bits = mask.literal
            if low_bits in _LOW_BITS and (low_bits + 1) % step == 0:
                value = value.replaced(atom, whole)
        return all(coefficient % step == 0 for _, coefficient in value.terms)

    def _while_less(self, comparison: Comparison, rounds: Atom, before: Facts) -> Bound | None:
        """`first + step * rounds < end`: it grows by steps that do not lead beyond the type."""
        relation, moving, end = comparison.relation, comparison.left, comparison.right
        if rounds not in moving.atoms:
            relation, moving, end = _MIRRORED.get(relation, ""), end, moving
        split = moving.split(rounds)
        step = split[0].literal if split is not None else None
        if split is None or not step or rounds in end.atoms:
            return None
        if relation not in (("lt", "le") if step > 0 else ("gt", "ge")):
            return None
        first, direction = split[1], ONE if step > 0 else -ONE
        last = end if relation in ("le", "ge") else end - direction
        # What comes behind the last value, too, is what the register holds.
        beyond = last + IntegerPolynomial.constant(step)
        asked = self._fit(
            (first, end, last, beyond), all_numbers(comparison.bits, comparison.signed), before
        )
        if asked is None:
            return None
        # So far it has come in the round before this one. In the first, that is to be shown.
        value = (beyond - first) * direction
        entry = self._proven(value, before, False, 6)
        if entry is None and all(map(is_size, value.atoms)) and may_hold(value):
            entry = Asked(frozenset({value}), frozenset(value.atoms))
        return None if entry is None else Bound(abs(step), value, asked.joined(entry))

    def _properties(self, value: IntegerPolynomial) -> AtomProperties:
        return self.walk.atoms.of(value)

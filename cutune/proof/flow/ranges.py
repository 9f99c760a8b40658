"""Proves that numbers are not negative. Takes a finished walk and expressions, gives conditions.

An expression is a polynomial over exact integers. Its atoms are replaced by their bounds, the last
computed first, until a number is left: rounds of a loop by what its test lets through, a value that
is one of several by each of them, others by comparisons that hold at the place. A comparison bounds
something only where both sides are known to fit into the registers compared, for which parameters
are taken to be at most 2^30. That is a condition of the launch, as are others on its parameters
(`SizeConditions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from math import gcd

from cutune.proof.flow.walk import Known, Walk
from cutune.proof.values.id_bounds import ordered
from cutune.proof.values.launch_conditions import NO_CONDITIONS, SizeConditions, all_of
from cutune.proof.values.polynomial import (
    IDENTITY,
    OPAQUE,
    PARAMETER,
    Atom,
    IntegerPolynomial,
    Monomial,
    TooLarge,
)
from cutune.proof.values.predicates import Relation
from cutune.proof.values.terms import (
    ANYTHING,
    MOST_THREADS,
    Interval,
    is_of_parameters,
    number_range,
    sum_of_intervals,
)

#: Registers of other widths are not compared.
_COMPARED_BITS = (32, 64)
#: Atoms that are replaced one after the other, and replacements that are tried for one question.
_MOST_REPLACED = 12
_MOST_STEPS = 200
#: And for all questions about an entry.
_MOST_STEPS_IN_ALL = 6000
_ROUNDS = "rounds"
_LOW_BITS = frozenset((1 << bits) - 1 for bits in range(1, 31))
_EXTENDED = {"s32": number_range(32, True), "u32": number_range(32, False)}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
#: How often known inequalities may tell that further comparisons are exact.
_STRATA = 3
#: Conditions with larger coefficients do not come from sizes: a launch is not asked about them.
_MOST_ASKED = 1 << 20


@dataclass(frozen=True)
class Inequality:
    """`value` is not negative, provided that the parameters in `fitting` fit into 31 bits."""

    value: IntegerPolynomial
    fitting: frozenset[Atom]


@dataclass(frozen=True)
class Bound:
    """`factor * atom` is at most, or at least, a value."""

    factor: int
    value: IntegerPolynomial
    conditions: SizeConditions = NO_CONDITIONS


Facts = tuple[Inequality, ...]


@dataclass
class Ranges:
    """Proves that expressions are not negative at places of a walk."""

    walk: Walk
    _rounds: dict[int, list[Bound]] = field(default_factory=dict)
    _steps: int = 0
    _steps_in_all: int = 0

    def __post_init__(self) -> None:
        self.not_negative, self._rank = cache(self._not_negative), cache(self._rank_of)
        self._facts_where = cache(self._learnt)

    def _not_negative(self, value: IntegerPolynomial, known: Known) -> SizeConditions | None:
        for may_ask in (False, True):
            self._steps_in_all += self._steps
            self._steps = 0
            if self._steps_in_all > _MOST_STEPS_IN_ALL:
                return None
            try:
                conditions = self._proven(value, self._facts_where(known), may_ask, _MOST_REPLACED)
            except TooLarge:
                return None
            if conditions is not None:
                return conditions
        return None

    def _learnt(self, known: Known) -> Facts:
        """Each stratum rests on those before it, so that no comparison vouches for itself."""
        found: Facts = ()
        waiting = sorted(known, key=str)
        for _ in range(_STRATA):
            learnt = {comparison: self._exact(comparison, found) for comparison in waiting}
            if not any(learnt.values()):
                break
            found += tuple(fact for facts in learnt.values() for fact in facts)
            waiting = [comparison for comparison, facts in learnt.items() if not facts]
        return found

    def _exact(self, comparison: Relation, facts: Facts) -> Facts:
        left, right = comparison.left, comparison.right
        if comparison.bits not in _COMPARED_BITS:
            return ()
        difference = right - left
        if comparison.relation == "ne":
            # Equal numbers are equal in any number of bits.
            for value in (difference, -difference):
                if (conditions := self._proven(value, facts, False, 4)) is not None:
                    return (Inequality(value - 1, conditions.fitting),)
            return ()
        whole = number_range(comparison.bits, comparison.signed)
        conditions = self._fit((left, right), whole, facts)
        if conditions is None:
            return ()
        not_negative = (large - small - 1 for small, large in ordered(comparison))
        return tuple(Inequality(_reduced(value), conditions.fitting) for value in not_negative)

    def _fit(
        self, values: Iterable[IntegerPolynomial], whole: tuple[int, int], facts: Facts
    ) -> SizeConditions | None:
        goals = (goal for value in values for goal in (value - whole[0], -value + whole[1]))
        return all_of(self._proven(goal, facts, False, 4) for goal in goals)

    def _proven(
        self, value: IntegerPolynomial, facts: Facts, may_ask: bool, depth: int
    ) -> SizeConditions | None:
        value = _reduced(value)
        fitting: set[Atom] = set()
        interval = sum_of_intervals(value, partial(self._of_monomial, fitting=fitting))
        if interval.low is not None and interval.low >= 0:
            return SizeConditions(fitting=frozenset(fitting))
        self._steps += 1
        if depth == 0 or self._steps > _MOST_STEPS or value.literal is not None:
            return None
        atoms = sorted(set(value.atoms), key=self._rank, reverse=True)
        for atom in atoms if atoms[0].kind == PARAMETER else atoms[:1]:
            if (conditions := self._without(atom, value, facts, may_ask, depth)) is not None:
                return conditions
        return _as_condition(value) if may_ask else None

    def _rank_of(self, atom: Atom, depth: int = 6) -> tuple[int, int, int, str]:
        """The order of atoms: the last one is replaced first, by those computed before it."""
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
        inner = [self._rank(a, depth - 1) for number in operation.numbers for a in number.atoms]
        kind, block, order, _ = max(inner, default=(1, 0, 0, ""))
        return max(kind, 1), block, order + 1, atom.name

    def _without(
        self, atom: Atom, value: IntegerPolynomial, facts: Facts, may_ask: bool, depth: int
    ) -> SizeConditions | None:
        split = value.split(atom)
        if split is None:
            return None
        factor, rest = split
        for shown in (self._by_alternatives, self._as_extended):
            if (conditions := shown(atom, value, facts, may_ask, depth)) is not None:
                return conditions
        rising = self._proven(factor, facts, False, 3)
        sign = self._proven(-factor, facts, False, 3) if rising is None else rising
        if sign is None:
            return None
        for bound in self._bounds(atom, rising is not None, facts):
            if bound.conditions.not_negative and not may_ask:
                continue
            scaled = rest * bound.factor + factor * bound.value
            conditions = self._proven(scaled, facts, may_ask, depth - 1)
            if conditions is not None:
                return conditions.joined(bound.conditions).joined(sign)
        return None

    def _by_alternatives(
        self, atom: Atom, value: IntegerPolynomial, facts: Facts, may_ask: bool, depth: int
    ) -> SizeConditions | None:
        """Prove it whichever of several values it is. Each must fit into a number with a sign."""
        if (alternatives := self.walk.alternatives.get(atom.name)) is None:
            return None
        whole = number_range(alternatives.bits, True)
        conditions = NO_CONDITIONS
        for block, one in alternatives.values:
            there = facts + self._facts_where(self.walk.known_on_way(block, alternatives.block))
            fits = self._fit((one,), whole, there)
            proven = self._proven(value.replaced(atom, one), there, may_ask, depth - 1)
            if fits is None or proven is None:
                return None
            conditions = conditions.joined(fits).joined(proven)
        return conditions

    def _as_extended(
        self, atom: Atom, value: IntegerPolynomial, facts: Facts, may_ask: bool, depth: int
    ) -> SizeConditions | None:
        """Prove it of a number before it was made longer, where that is the same number."""
        operation = self.walk.atoms.operation(atom)
        if operation is None or operation.name not in _EXTENDED:
            return None
        (operand,) = operation.numbers
        fits = self._fit((operand,), _EXTENDED[operation.name], facts)
        if fits is None:
            return None
        conditions = self._proven(value.replaced(atom, operand), facts, may_ask, depth - 1)
        return conditions.joined(fits) if conditions is not None else None

    def _of_monomial(self, monomial: Monomial, fitting: set[Atom]) -> Interval:
        if len(monomial) == 1:
            return self._of_atom(monomial[0], fitting)
        low, high = 1, 1
        for atom in monomial:
            interval = self._of_atom(atom, fitting)
            if interval.low is None or interval.high is None:
                return ANYTHING
            ends = [a * b for a in (low, high) for b in (interval.low, interval.high)]
            low, high = min(ends), max(ends)
        return Interval(low, high)

    def _of_atom(self, atom: Atom, fitting: set[Atom]) -> Interval:
        interval = self.walk.atoms.properties(atom).interval
        if atom.kind == PARAMETER and not interval.within(-MOST_THREADS, MOST_THREADS):
            fitting.add(atom)  # a launch is asked whether it does
            return Interval(-MOST_THREADS, MOST_THREADS)
        return interval

    def _bounds(self, atom: Atom, is_least: bool, facts: Facts) -> Iterator[Bound]:
        for fact in facts:
            split = fact.value.split(atom)
            factor = split[0].literal if split is not None else None
            if split is None or not factor or (factor > 0) != is_least:
                continue
            value = -split[1] if is_least else split[1]
            yield Bound(abs(factor), value, SizeConditions(fitting=fact.fitting))
        if atom.name.startswith(_ROUNDS) and not is_least:
            yield from self._of_rounds(int(atom.name.removeprefix(_ROUNDS)))
        yield from self._of_operation(atom, is_least, facts)
        fitting: set[Atom] = set()
        low, high = self._of_atom(atom, fitting)
        if (end := low if is_least else high) is not None:
            conditions = SizeConditions(fitting=frozenset(fitting))
            yield Bound(1, IntegerPolynomial.constant(end), conditions)

    def _of_operation(self, atom: Atom, is_least: bool, facts: Facts) -> Iterator[Bound]:
        """`x & 3` is at most x where that is not negative; a minimum is at most both."""
        operation = self.walk.atoms.operation(atom)
        if operation is None:
            return
        operands = operation.numbers
        name, _, kind = operation.name.rpartition(".")
        if len(operands) != 2 or kind[1:] not in ("32", "64"):
            return
        bits = int(kind[1:])
        # Whether they are read with a sign or without does not matter then.
        either = 0, (1 << (bits - 1)) - 1
        if name == "and" and not is_least and (operands[1].literal or -1) >= 0:
            whole, limits = either, operands[:1]
        elif name == ("max" if is_least else "min") and kind[0] in "su":
            whole, limits = number_range(bits, True) if kind[0] == "s" else either, operands
        else:
            return
        if (conditions := self._fit(limits, whole, facts)) is not None:
            yield from (Bound(1, limit, conditions) for limit in limits)

    def _of_rounds(self, header: int) -> list[Bound]:
        """Bounds of the number of rounds so far, in each round and when the loop is left."""
        if header not in self._rounds:
            self._rounds[header] = []  # their bounds do not depend on them again
            self._rounds[header] = list(self._counted(header))
        return self._rounds[header]

    def _counted(self, header: int) -> Iterator[Bound]:
        graph = self.walk.graph
        latches = graph.latches(header)
        entries = [self.walk.known_on_way(block, header) for block in graph.entries(header)]
        if len(latches) != 1 or not entries:
            return
        before = self._facts_where(frozenset.intersection(*entries))
        going_on = self.walk.known_on_way(latches[0], header)
        bounds = (self._by_test(header, one, before) for one in sorted(going_on, key=str))
        yield from (bound for bound in bounds if bound is not None)

    def _by_test(self, header: int, comparison: Relation, before: Facts) -> Bound | None:
        """A bound by a comparison that held at the end of each round with another one behind it."""
        rounds = Atom(OPAQUE, f"{_ROUNDS}{header}")
        difference = comparison.right - comparison.left
        split = difference.split(rounds)
        factor = split[0].literal if split is not None else None
        if split is None or not factor or comparison.bits not in _COMPARED_BITS:
            return None
        if header in self.walk.atoms.of(split[1]).loops:
            return None
        if comparison.relation == "ne":
            return self._until_equal(factor, split[1], comparison.bits, before)
        return self._while_less(comparison, rounds, before)

    def _until_equal(
        self, factor: int, rest: IntegerPolynomial, bits: int, before: Facts
    ) -> Bound | None:
        """`rest + factor * rounds != 0`, where it comes to 0 by steps that divide the rest."""
        distance = rest if factor < 0 else -rest
        step = abs(factor)
        if not self._is_multiple(distance, step):
            return None
        most = -distance + ((1 << bits) - 1)
        # A multiple of the step that is more than -step is not negative.
        least = distance + (step - 1)
        conditions = all_of([self._proven(value, before, False, 6) for value in (least, most)])
        return None if conditions is None else Bound(step, distance, conditions)

    def _is_multiple(self, value: IntegerPolynomial, step: int) -> bool:
        """`n - (n & 3)` is a multiple of 4."""
        for atom in set(value.atoms):
            operation = self.walk.atoms.operation(atom)
            if operation is None or operation.name not in ("and.b32", "and.b64"):
                continue
            whole, mask = operation.numbers
            low_bits = mask.literal
            if low_bits in _LOW_BITS and (low_bits + 1) % step == 0:
                value = value.replaced(atom, whole)
        return all(coefficient % step == 0 for _, coefficient in value.terms)

    def _while_less(self, comparison: Relation, rounds: Atom, before: Facts) -> Bound | None:
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
        first, direction = split[1], 1 if step > 0 else -1
        last = end if relation in ("le", "ge") else end - direction
        # The register holds the value behind the last one, too.
        beyond = last + step
        whole = number_range(comparison.bits, comparison.signed)
        fits = self._fit((first, end, last, beyond), whole, before)
        if fits is None:
            return None
        # So far it has come in the round before this one. In the first, that is to be shown.
        value = (beyond - first) * direction
        entry = self._proven(value, before, False, 6) or _as_condition(value)
        return None if entry is None else Bound(abs(step), value, fits.joined(entry))


def _reduced(value: IntegerPolynomial) -> IntegerPolynomial:
    """Divide by the gcd of the coefficients; the value keeps its sign."""
    common = gcd(*(coefficient for monomial, coefficient in value.terms if monomial))
    if common <= 1:
        return value
    return IntegerPolynomial.of({m: c // common for m, c in value.terms})


def _as_condition(value: IntegerPolynomial) -> SizeConditions | None:
    """Ask a launch that a value is not negative; None where that is in vain, or it cannot tell."""
    is_small = all(abs(coefficient) <= _MOST_ASKED for _, coefficient in value.terms)
    positive = max((len(monomial) for monomial, c in value.terms if c > 0), default=0)
    negative = max((len(monomial) for monomial, c in value.terms if c < 0), default=0)
    # Where sizes are large it may be positive.
    may_hold = is_small and positive > 0 and positive >= negative
    if not (may_hold and is_of_parameters(value)):
        return None
    return SizeConditions(frozenset({value}), frozenset(value.atoms))

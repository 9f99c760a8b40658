"""Conditions on a launch: signs of expressions of its parameters, pointers, distances of places."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

from cutune.proof.values.polynomial import ONE, OPAQUE, PARAMETER, Atom, IntegerPolynomial, TooLarge
from cutune.proof.values.terms import MOST_THREADS


@dataclass(frozen=True)
class SizeConditions:
    """Conditions on a launch: values are not negative, parameters fit into 31 bits."""

    not_negative: frozenset[IntegerPolynomial] = frozenset()
    fitting: frozenset[Atom] = frozenset()

    def joined(self, other: SizeConditions) -> SizeConditions:
        return SizeConditions(self.not_negative | other.not_negative, self.fitting | other.fitting)


NO_CONDITIONS = SizeConditions()


def all_of(proven: Iterable[SizeConditions | None]) -> SizeConditions | None:
    """Return the conditions of all proofs; None where one of them failed."""
    conditions = NO_CONDITIONS
    for one in proven:
        if one is None:
            return None
        conditions = conditions.joined(one)
    return conditions


#: Variables whose addresses no program can ask for: tables of the mathematical library, texts.
_HIDDEN = ("&__cudart_", "&__unnamed_", "&$str")
_FAR = IntegerPolynomial.constant(1 << 61)
LARGEST = IntegerPolynomial.constant(MOST_THREADS)


@dataclass(frozen=True)
class Spread:
    """larger >= smaller * extent of a dimension (-1: an extent of 1), in bytes."""

    larger: IntegerPolynomial
    smaller: IntegerPolynomial
    dimension: int


@lru_cache(maxsize=4096)
def can_hold(spread: Spread) -> bool:
    """Tell whether it may hold where sizes are at least 1, and there are several threads in x.

    `4 >= 4 * m * threads` holds for one thread and rows of one element alone; against a constant,
    sizes are taken to be 2 at least. With each size one or two more than a number that is not
    negative, it fails where the smaller side exceeds the larger one, and its opposite, in each
    coefficient.
    """
    extent = ONE if spread.dimension < 0 else _from(2 if spread.dimension == 0 else 1, "extent")
    least = 1 if spread.larger.literal is None else 2
    near = _with_sizes(spread.smaller, least) * extent
    far = _with_sizes(spread.larger, least)
    return not any(
        all(c >= 0 for one in (far, -far) for _, c in (near * sign - one - 1).terms)
        for sign in (1, -1)
    )


def _from(least: int, name: str) -> IntegerPolynomial:
    return IntegerPolynomial.atom(OPAQUE, name) + least


def _with_sizes(value: IntegerPolynomial, least: int) -> IntegerPolynomial:
    for atom in set(value.atoms):
        value = value.replaced(atom, _from(least, f"{atom.kind} {atom.name}"))
    return value


@dataclass
class Meetings:
    """`keep_warps`, unless pairs of pointers lie in different allocations and spreads hold."""

    keep_warps: bool = False
    pointers: set[tuple[str, str]] = field(default_factory=set)
    spreads: set[Spread] = field(default_factory=set)

    def ask(self, conditions: SizeConditions) -> None:
        """Add conditions: expressions of parameters are not negative, and parameters fit."""
        for value in conditions.not_negative:
            # |2^61| >= |value - 2^61|: from 0 to 2^62.
            self.spreads.add(Spread(_FAR, value - _FAR, -1))
        fitting_anyway = {atom for value in conditions.not_negative for atom in value.atoms}
        for atom in conditions.fitting - fitting_anyway:
            self.spreads.add(Spread(LARGEST, IntegerPolynomial.of({(atom,): 1}), -1))

    def that_can_hold(self) -> Meetings:
        """Return these conditions; `keep_warps` in place of conditions that never hold."""
        with suppress(TooLarge):
            if not all(map(can_hold, self.spreads)):
                return Meetings(keep_warps=True, pointers=self.pointers)
        return self

    def lie_apart(self, first: Atom, second: Atom) -> bool:
        """Tell whether two bases differ: two pointers in different allocations, which is noted."""
        is_hidden = first.name.startswith(_HIDDEN) or second.name.startswith(_HIDDEN)
        if first.kind == second.kind == OPAQUE or is_hidden:
            return True  # two variables of the module, or a table that the compiler has made
        if first.kind != PARAMETER or second.kind != PARAMETER:
            return False
        self.pointers.add((min(first, second).name, max(first, second).name))
        return True

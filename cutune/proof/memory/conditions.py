"""What a launch is asked about threads that meet in memory: pointers, and steps between places."""

from __future__ import annotations

from dataclasses import dataclass, field

from cutune.frontend.values.polynomial import OPAQUE, PARAMETER, Atom, IntegerPolynomial
from cutune.proof.values.inequalities import Asked
from cutune.proof.values.terms import MOST_THREADS

#: Variables whose addresses no program can ask for: tables of the mathematical library, texts.
_HIDDEN = ("&__cudart_", "&__unnamed_", "&$str")
_FAR = IntegerPolynomial.constant(1 << 61)
_LARGEST = IntegerPolynomial.constant(MOST_THREADS)


@dataclass(frozen=True)
class Spread:
    """larger >= smaller * extent of a dimension (-1: an extent of 1), in bytes."""

    larger: IntegerPolynomial
    smaller: IntegerPolynomial
    dimension: int


@dataclass
class Meetings:
    """`keep_warps`, unless pairs of pointers lie in different allocations and spreads hold."""

    keep_warps: bool = False
    pointers: set[tuple[str, str]] = field(default_factory=set)
    spreads: set[Spread] = field(default_factory=set)

    def ask(self, asked: Asked) -> None:
        """Ask that expressions of parameters are not negative, and how large parameters are."""
        for value in asked.not_negative:
            # |2^61| >= |value - 2^61|: from 0 to 2^62.
            self.spreads.add(Spread(_FAR, value - _FAR, -1))
        told = {atom for value in asked.not_negative for atom in value.atoms}
        for atom in asked.fitting - told:
            self.spreads.add(Spread(_LARGEST, IntegerPolynomial.of({(atom,): 1}), -1))

    def part(self, first: Atom, second: Atom) -> bool:
        """Do two bases differ? Two pointers must lie in different allocations, which is noted."""
        is_hidden = first.name.startswith(_HIDDEN) or second.name.startswith(_HIDDEN)
        if first.kind == second.kind == OPAQUE or is_hidden:
            return True  # two variables of the module, or a table that the compiler has made
        if first.kind != PARAMETER or second.kind != PARAMETER:
            return False
        self.pointers.add((min(first, second).name, max(first, second).name))
        return True

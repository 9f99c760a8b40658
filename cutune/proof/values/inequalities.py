"""Conditions on a launch: signs of expressions of its parameters, pointers, distances of places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cutune.frontend.values.polynomial import Atom, IntegerPolynomial


@dataclass(frozen=True)
class SizeConditions:
    """Conditions on a launch: expressions of parameters that must not be negative.

    `fitting`: parameters that must fit into 31 bits.
    """

    not_negative: frozenset[IntegerPolynomial] = frozenset()
    fitting: frozenset[Atom] = frozenset()

    def joined(self, other: SizeConditions) -> SizeConditions:
        """Return the conditions of both."""
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

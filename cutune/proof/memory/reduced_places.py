"""Shared memory that proven reductions use: other accesses to it are judged with that in mind.

Takes what `collectives` has proven, says which accesses are theirs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from cutune.proof.values.polynomial import Atom, IntegerPolynomial

Element = tuple[str, int, int]
"""A shared array, and where in it bytes begin and how many there are."""


@dataclass(frozen=True)
class Reduced:
    """What threads do together as reductions.

    `blocks`: basic blocks of these. `arrays`: the shared arrays that they use. `stored`: elements
    in which they leave the same with any block.
    """

    blocks: frozenset[int] = frozenset()
    arrays: frozenset[str] = frozenset()
    stored: frozenset[Element] = frozenset()

    def may_use(self, address: IntegerPolynomial, variables: Collection[str]) -> bool:
        """Tell whether an address in shared memory may lie in one of the arrays."""
        names = {atom.name.removeprefix("&") for atom in address.atoms}.intersection(variables)
        return not names or not self.arrays.isdisjoint(names)

    @staticmethod
    def element(address: IntegerPolynomial | None, size: int) -> Element | None:
        """Return the element at an address that is the same for all threads."""
        terms = dict(address.terms) if address is not None else {}
        offset = terms.pop((), 0)
        match list(terms.items()):
            case [((Atom(kind="opaque", name=name),), 1)] if name.startswith("&"):
                return name[1:], offset, size
        return None

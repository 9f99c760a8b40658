"""What a round of a loop adds to registers. Takes what loops bring back to their headers, gives it.

A step is learnt from one walk and used in the next. What it is made of may have other names there,
so each walk is held against it: a register that is not a step farther has none, for good.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cutune.frontend.values.polynomial import IntegerPolynomial, TooLarge
from cutune.proof.values.operations import Value
from cutune.proof.values.terms import Atoms, modulo

#: The header of a loop, and a register.
Stepping = tuple[int, str]


@dataclass
class Steps:
    """The steps of all loops of an entry.

    Attributes:
        known: by how much registers grow in each round.
        at_header: what those with a step hold at the header, in this walk.
    """

    known: dict[Stepping, IntegerPolynomial] = field(default_factory=dict)
    at_header: dict[Stepping, IntegerPolynomial] = field(default_factory=dict)
    _unsteady: set[Stepping] = field(default_factory=set)

    def is_learnt(
        self,
        key: Stepping,
        value: IntegerPolynomial,
        phi: IntegerPolynomial,
        bits: int,
        atoms: Atoms,
    ) -> bool:
        """Is what a loop brings back something steady more than what came in (`phi`)?"""
        try:
            step = modulo(value - phi, bits)
        except TooLarge:
            step = value
        properties = atoms.of(step)
        if key in self._unsteady or key[0] in properties.loops or properties.is_loaded:
            return False
        self.known[key] = step
        return True

    def is_forgotten(self, key: Stepping, value: Value, bits: int) -> bool:
        """Is what a loop brings back no step farther? It has none then."""
        before = self.at_header.get(key)
        if before is None or self._is_next(before, value, self.known[key], bits):
            return False
        del self.known[key]
        self._unsteady.add(key)
        return True

    def _is_next(
        self, before: IntegerPolynomial, value: Value, step: IntegerPolynomial, bits: int
    ) -> bool:
        try:
            return isinstance(value, IntegerPolynomial) and modulo(value - before, bits) == step
        except TooLarge:
            return False

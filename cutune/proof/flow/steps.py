"""Amounts that loops add to registers in each round. Takes values at their headers, gives steps.

A step is learnt from one walk and used in the next. The atoms in it may have other names there, so
each walk is compared with it: a register that does not grow by its step loses it for good.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cutune.frontend.values.polynomial import IntegerPolynomial, TooLarge
from cutune.proof.values.predicates import Value
from cutune.proof.values.terms import Atoms, modulo

#: The header of a loop, and a register.
Stepping = tuple[int, str]


@dataclass
class LoopSteps:
    """The steps of all loops of an entry.

    `known`: by how much registers grow in each round. `at_header`: the values of registers with a
    step at the header, in this walk.
    """

    known: dict[Stepping, IntegerPolynomial] = field(default_factory=dict)
    at_header: dict[Stepping, IntegerPolynomial] = field(default_factory=dict)
    _unsteady: set[Stepping] = field(default_factory=set)

    def learn(
        self,
        key: Stepping,
        value: IntegerPolynomial,
        phi: IntegerPolynomial,
        bits: int,
        atoms: Atoms,
    ) -> bool:
        """Learn a step from the value that came in (`phi`) and the next one, if it is steady."""
        try:
            step = modulo(value - phi, bits)
        except TooLarge:
            step = value
        properties = atoms.of(step)
        if key in self._unsteady or key[0] in properties.loops or properties.is_loaded:
            return False
        self.known[key] = step
        return True

    def forget(self, key: Stepping, value: Value, bits: int) -> bool:
        """Forget a step where the next value is not a step farther."""
        before = self.at_header.get(key)
        if before is None or _difference(before, value, bits) == self.known[key]:
            return False
        del self.known[key]
        self._unsteady.add(key)
        return True


def _difference(before: IntegerPolynomial, value: Value, bits: int) -> IntegerPolynomial | None:
    try:
        return modulo(value - before, bits) if isinstance(value, IntegerPolynomial) else None
    except TooLarge:
        return None

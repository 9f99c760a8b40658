"""One row that all threads of a launch share. Takes a walk, gives conditions and limits.

A loop from the id in steps of the number of threads does its body once for each J below its limit,
whatever that number is. It is judged as a row that one block shares (`shared_rows`), with all
blocks in the place of one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

from cutune.proof.blocks.row_meetings import Row
from cutune.proof.blocks.shared_rows import RowJudge
from cutune.proof.memory.access_places import without_extensions
from cutune.proof.values.id_bounds import ID_BITS
from cutune.proof.values.launch_conditions import Spread
from cutune.proof.values.polynomial import ONE, IntegerPolynomial
from cutune.proof.values.predicates import Relation
from cutune.proof.values.terms import Atoms, constant_term, is_of_parameters, only_atom

#: Atomic operations on numbers that are not rounded.
_EXACT = re.compile(r"\w+\.[sub]\d+")
#: What is added to a number that was made longer, at most.
_SMALL = 1 << 19


@dataclass(frozen=True)
class GridJudge(RowJudge):
    """Judges entries in which all threads share rows."""

    #: What no other thread comes to is not looked at.
    apart: ClassVar[frozenset[str]] = frozenset({"const", "local"})

    def _limit(
        self, header: int, end: IntegerPolynomial, stride: IntegerPolynomial
    ) -> IntegerPolynomial | None:
        if stride != ONE:
            self.refuse(header, "a row in steps of more than one")
        return end

    def _is_first(self, comparison: Relation) -> bool:
        # In fewer bits many ids are 0.
        return comparison.bits >= ID_BITS and super()._is_first(comparison)

    def limited(self, sharing: Collection[Row | None]) -> Iterator[Spread]:
        """Yield nothing: the launch asks for the limits themselves."""
        yield from ()

    def limits(self) -> tuple[IntegerPolynomial, ...]:
        """Return the limits of all loops, as a launch computes them.

        Where one is more than 0 and at most `MOST_SHARED_BY_GRID`, it is the number that the loop
        compares with.

        Raises:
            NotUnderstood: one is not made of parameters.
        """
        found = {
            loop.header: exact_limit(loop.ends[0], self.atoms) if len(loop.ends) == 1 else None
            for loop in self.loops.values()
        }
        for header, limit in found.items():
            if limit is None or not is_of_parameters(limit):
                self.refuse(header, "a row whose end a launch does not know")
        return tuple(dict.fromkeys(limit for limit in found.values() if limit is not None))

    def check_local_memory(self) -> None:
        """Check that a thread uses memory of its own in rounds alone.

        What one round leaves there the next one finds, so that elements have to be done in one
        round each: by a thread of their own, the same whatever the number of threads is.

        Raises:
            NotUnderstood: it uses such memory elsewhere, or an address in it is stored.
        """
        variables = self.recorder.variables.values()
        own = {variable.name for variable in variables if variable.space == "local"}
        for access in self.recorder.accesses:
            if access.space == "local" and self._in_row(access) is None:
                self.refuse(access.block, "local memory beside rows")
            if any(atom.symbol in own for value in access.values for atom in value.atoms):
                self.refuse(access.block, "an address of local memory that is stored")

    def check_atomics(self) -> None:
        """Check that atomic operations do not round: with one thread their order is known.

        Raises:
            NotUnderstood: they do.
        """
        for access in self.recorder.accesses:
            if access.kind == "atomic" and _EXACT.fullmatch(access.operation) is None:
                self.refuse(access.block, "atomic operations on rounded numbers")


def exact_limit(limit: IntegerPolynomial, atoms: Atoms) -> IntegerPolynomial | None:
    """Return a limit without extensions, where it is that number if it is not negative.

    A number that was made longer alone, but for a small number, is exact where the limit is.
    """
    unsigned: list[IntegerPolynomial] = []
    result = without_extensions(limit, atoms, unsigned, [])
    if result == limit:
        return limit
    literal = constant_term(limit)
    is_alone = only_atom(limit - IntegerPolynomial.constant(literal)) is not None
    least = -_SMALL
    most = 0 if unsigned else _SMALL
    return result if is_alone and least <= literal <= most else None

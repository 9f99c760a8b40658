"""Warps of a block that lie along y or z. Takes values of a kernel, gives what ties it to a number.

For `flat_blocks`, in whose walk built-ins were read as of flat blocks (`WarpsInADimension`): the
number of a warp is `t / 32`, how many there are the width / 32. Blocks keep their grid. No proof
rests on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cutune.proof.values.polynomial import (
    BLOCK,
    BLOCK_SIZE,
    GRID_SIZE,
    THREAD,
    Atom,
    IntegerPolynomial,
    without,
)
from cutune.proof.values.predicates import Relation
from cutune.proof.values.terms import WARP, AtomOperation, only_atom
from cutune.proof.width_dependence import EXTENSION, ROUNDS, THREAD_X, WIDTH, WidthDependence

ONCE = "each thread of a block has one element of a row, and none goes on by blockDim.x"
COUNTED = "the number of blocks is part of what it computes, and follows the block"
OTHER_WIDTH = "it decides by the width of its block"
ARITHMETIC = "it does arithmetic with {words} that supposes one width"


@dataclass(frozen=True)
class WarpsAlong:
    """Answers for one kernel: words for an obstacle, or nothing. With x there is none.

    `values`: all that addresses, conditions and stored values are computed from.
    """

    dimension: str
    of: WidthDependence
    values: Sequence[IntegerPolynomial]

    def arithmetic(self, operation: AtomOperation | None) -> str:
        """Numbers of warps may not be taken apart any further.

        But for the last rounds of a loop over all warps, which compilers unroll.
        """
        if self.dimension == "x" or operation is None or EXTENSION.match(operation.name):
            return ""
        unrolled = {BLOCK_SIZE} if operation.name.startswith("and.") else set[str]()
        for number in operation.numbers:
            kinds = {kind for atom in number.atoms if (kind := self._warp_kind(atom)) is not None}
            kinds -= unrolled
            if kinds and not self.of.is_of_row(number):
                return ARITHMETIC.format(words=built_in_words(kinds))
        return ""

    def comparison(self, test: Relation) -> str:
        """Warps go on up to an end that does not follow how many there are."""
        both = {THREAD, BLOCK_SIZE}
        sides = [self.of.kinds(side) & both for side in (test.left, test.right)]
        is_of_width = both in sides and all(BLOCK_SIZE in kinds for kinds in sides)
        return OTHER_WIDTH if self.dimension != "x" and is_of_width else ""

    def in_steady_grid(self) -> str:
        """Warps step by their number, and blocks begin nothing at multiples of it."""
        for value in self.values:
            if not self._steps_by_all(value):
                return ONCE
            for monomial, _ in value.terms:
                kinds = {part.kind for atom in monomial for part in self._atoms_in(atom)}
                of_width = any(map(self._is_number_of_warps, monomial))
                if of_width and not kinds.isdisjoint((BLOCK, GRID_SIZE)):
                    return COUNTED
        return ""

    def _steps_by_all(self, value: IntegerPolynomial) -> bool:
        """Where warps go on by their number, neighbours begin one element apart."""
        terms = dict(value.terms)
        for monomial, step in value.terms:
            of_width = next((a for a in monomial if self._is_number_of_warps(a)), None)
            rounds = next((a for a in monomial if ROUNDS.match(a.name)), None)
            if of_width is None or rounds is None:
                continue
            rest = without(monomial, of_width, rounds) or ()
            size = 1 if of_width == WIDTH else WARP
            own = size * terms.get(tuple(sorted((*rest, THREAD_X))), 0) + sum(
                factor
                for other, factor in value.terms
                if any(self._warp_kind(a) == THREAD and without(other, a) == rest for a in other)
            )
            # A compiler that unrolls the loop has several elements in a round.
            further = tuple(sorted((*rest, of_width)))
            is_unrolled = any(
                dict(one.terms).get(monomial) == step and dict(one.terms).get(further) == step - own
                for one in self.values
            )
            if own and step != own and not is_unrolled:
                return False
        return True

    def _is_number_of_warps(self, atom: Atom) -> bool:
        return atom == WIDTH or self._warp_kind(atom) == BLOCK_SIZE

    def _atoms_in(self, atom: Atom) -> Iterator[Atom]:
        for part in self.of.parts(IntegerPolynomial.atom(*atom)):
            yield from part.atoms

    def _warp_kind(self, atom: Atom) -> str | None:
        """The built-in that is a number of warps: threadIdx or blockDim of their dimension."""
        operation = self.of.atoms.operation(atom)
        numbers = operation.numbers if operation is not None else ()
        whole = only_atom(numbers[0]) if len(numbers) == 2 else None
        return whole.kind if whole in (THREAD_X, WIDTH) else None


def is_kept_by(operation: AtomOperation) -> bool:
    """Tell whether an operation hands on one of its numbers."""
    is_one_of_them = operation.name.split(".")[0] in ("min", "max", "selp")
    return is_one_of_them or EXTENSION.match(operation.name) is not None


def built_in_words(kinds: Iterable[str]) -> str:
    return " and ".join(f"{kind}.x" for kind in sorted(kinds, reverse=True))

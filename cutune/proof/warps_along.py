"""Warps of a block that lie along y or z. Takes values of a kernel, gives what ties it to a number.

For `flat_blocks`, in whose walk built-ins were read as of flat blocks (`WarpsInADimension`): the
number of a warp is `t / 32`, how many there are the width / 32. Blocks keep their grid. No proof
rests on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cutune.proof.memory.accesses import MemoryAccess
from cutune.proof.values.id_bounds import ordered
from cutune.proof.values.polynomial import (
    BLOCK,
    BLOCK_SIZE,
    GRID_SIZE,
    OPAQUE,
    PARAMETER,
    THREAD,
    ZERO,
    Atom,
    IntegerPolynomial,
    Monomial,
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

    def is_number_of_rounds(self, atom: Atom) -> bool:
        """How often a loop goes round, `(n - 1 - t) / width`, which compilers compute before it?"""
        return self._counted_step(atom) > 0

    def _counted_step(self, atom: Atom) -> int:
        """How far apart the first elements of threads are, in a loop whose rounds are counted."""
        operation = self.of.atoms.operation(atom)
        if operation is None or not operation.name.startswith("div.") or not operation.numbers[1:]:
            return 0
        left, step = operation.numbers
        own = -dict(left.terms).get((THREAD_X,), 0)
        rest = left + IntegerPolynomial.atom(*THREAD_X) * own
        is_of_block = self.of.kinds(rest) & {THREAD, BLOCK_SIZE}
        return own if self._is_step(step, own) and not is_of_block else 0

    def is_a_round_later(self, place: IntegerPolynomial, other: IntegerPolynomial) -> bool:
        """Does a thread come to the second place in the next round of a row, which is unrolled?"""
        return self._is_step(other - place, dict(place.terms).get((THREAD_X,), 0))

    def is_odd_round(self, access: MemoryAccess, others: Iterable[IntegerPolynomial]) -> bool:
        """Is it a round that is done apart, since a loop that is unrolled does several at once?

        It is made or not by the number of rounds, and the loop goes on in the same array.
        """
        place = access.address or ZERO
        own = dict(place.terms).get((THREAD_X,), 0)
        array = {atom for atom in place.atoms if atom.kind == PARAMETER}
        sides = (side for test in access.known for side in (test.left, test.right))
        known = {atom for side in sides for part in self.of.parts(side) for atom in part.atoms}
        is_counted = any(own % step == 0 for atom in known if (step := self._counted_step(atom)))
        return is_counted and any(
            array == {atom for atom in other.atoms if atom.kind == PARAMETER}
            and {THREAD, BLOCK_SIZE} <= self.of.kinds(other)
            and self.of.is_by_register(other)
            for other in others
        )

    def _is_step(self, value: IntegerPolynomial, own: int) -> bool:
        """Is it the width of the block, for threads whose elements lie so far apart?"""
        match value.terms:
            case (((atom,), factor),) if own > 0 and self.is_number_of_warps(atom):
                return factor == own * (1 if atom == WIDTH else WARP)
        return False

    def comparison(self, test: Relation) -> str:
        """Warps go on up to an end that does not follow how many there are."""
        both = {THREAD, BLOCK_SIZE}
        sides = [self.of.kinds(side) & both for side in (test.left, test.right)]
        is_of_width = both in sides and all(BLOCK_SIZE in kinds for kinds in sides)
        return OTHER_WIDTH if self.dimension != "x" and is_of_width else ""

    def in_steady_grid(self) -> str:
        """Warps step by their number, and blocks begin nothing at what it leads to."""
        for value in self.values:
            if not self._steps_by_all(value):
                return ONCE
            for monomial, _ in value.terms:
                parts = (part for atom in monomial for part in self._atoms_in(atom))
                kinds = {part.kind for part in parts if part not in monomial}
                of_width = any(map(self.is_number_of_warps, monomial))
                if of_width and not kinds.isdisjoint((BLOCK, GRID_SIZE)):
                    return COUNTED
        return ""

    def _steps_by_all(self, value: IntegerPolynomial) -> bool:
        """Where warps go on by their number, neighbours begin one element apart."""
        for monomial, step in value.terms:
            of_width = next((a for a in monomial if self.is_number_of_warps(a)), None)
            rounds = next((a for a in monomial if ROUNDS.match(a.name)), None)
            if of_width is None or rounds is None:
                continue
            rest = without(monomial, of_width, rounds) or ()
            own = self.between(value, rest, of_width)
            # A compiler that unrolls the loop has several elements in a round.
            further = tuple(sorted((*rest, of_width)))
            is_unrolled = any(
                dict(one.terms).get(monomial) == step and dict(one.terms).get(further) == step - own
                for one in self.values
            )
            if own and step != own and not is_unrolled:
                return False
        return True

    def is_row(self, value: IntegerPolynomial) -> bool:
        """Is a place that of a row which warps share, `threadIdx.y + rounds * blockDim.y`?"""
        return self.dimension != "x" and any(
            self.between(value, rest, number) == factor
            for monomial, factor in value.terms
            for number in filter(self.is_number_of_warps, monomial)
            for rounds in filter(_counts_rounds, monomial)
            if (rest := without(monomial, number, rounds)) is not None
        )

    def is_first_round(
        self, test: Relation, tests: Sequence[Relation], accesses: Sequence[MemoryAccess]
    ) -> bool:
        """Is a comparison made in front of a loop over rows, of which only its effects depend?"""
        first = {*differences([test])}
        if self.dimension == "x" or any(
            not any(map(self.is_row, self.of.parts(one.address or ZERO)))
            for one in accesses
            if one.kind != "load" and not first.isdisjoint(differences(one.known))
        ):
            return False
        further = (after - before for before in first for after in differences(tests))
        return any(
            bool(more.terms) and all(any(map(self.is_number_of_warps, m)) for m, _ in more.terms)
            for more in further
        )

    def lanes_over_warps(
        self, place: IntegerPolynomial, step: int, tests: Sequence[Relation]
    ) -> tuple[int, int] | None:
        """Return how many lanes read the places of all warps, and the loop in which they do.

        `for (j = threadIdx.x; j < blockDim.z; j += 4)`; None where a place is read otherwise.
        """
        terms = {
            monomial: factor // step
            for monomial, factor in place.terms
            if factor % step == 0 and not any(map(self._warp_kind, monomial))
        }
        steps = {m[0]: c for m, c in terms.items() if len(m) == 1 and _counts_rounds(m[0])}
        lanes = {m: c for m, c in terms.items() if not m or m[0] not in steps}
        if self.dimension != "z" or len(steps) != 1 or lanes != {(Atom(OPAQUE, "lane.x"),): 1}:
            return None
        ((rounds, count),) = steps.items()
        ends = (
            small - IntegerPolynomial.of(terms)
            for small, large in pairs(tests)
            if (atom := only_atom(large)) is not None and self.is_number_of_warps(atom)
        )
        is_power = 0 < count <= WARP and count & (count - 1) == 0
        if not is_power or all(end.literal not in (0, count) for end in ends):
            return None
        return count, int(rounds.name.removeprefix("rounds"))

    def are_few_lanes(self, access: MemoryAccess) -> bool:
        """Do lanes read places of warps, of a number that does not follow the block?"""
        place, thread = access.address or ZERO, IntegerPolynomial.atom(*THREAD_X)
        return place != self.of.without_lanes(place) and any(
            small.literal is None
            and (small == thread or self.of.without_lanes(small).literal is not None)
            and BLOCK_SIZE not in self.of.kinds(large)
            and (large.literal is None or large.literal < WARP)
            for test in access.known
            for small, large in ordered(test)
            if test.relation != "eq"
        )

    def between(self, value: IntegerPolynomial, rest: Monomial, of_width: Atom) -> int:
        """Return by how much the number of a warp counts, or that of a thread, times a product."""
        size = 1 if of_width == WIDTH else WARP
        return size * dict(value.terms).get(tuple(sorted((*rest, THREAD_X))), 0) + sum(
            factor
            for other, factor in value.terms
            if any(self.is_number_of_warp(a) and without(other, a) == rest for a in other)
        )

    def is_number_of_warp(self, atom: Atom) -> bool:
        return self._warp_kind(atom) == THREAD

    def is_number_of_warps(self, atom: Atom) -> bool:
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


def pairs(tests: Iterable[Relation]) -> Iterator[tuple[IntegerPolynomial, IntegerPolynomial]]:
    """Yield pairs, the lesser one first, as one of these tells where it holds or does not."""
    ways = (way for test in tests for way in (test, test.negated()))
    return (pair for way in ways for pair in ordered(way))


def differences(tests: Iterable[Relation]) -> Iterator[IntegerPolynomial]:
    """Yield what is below 0, of such pairs."""
    return (small - large for small, large in pairs(tests))


def _counts_rounds(atom: Atom) -> bool:
    return ROUNDS.match(atom.name) is not None


def is_kept_by(operation: AtomOperation) -> bool:
    """Tell whether an operation hands on one of its numbers."""
    is_one_of_them = operation.name.split(".")[0] in ("min", "max", "selp")
    return is_one_of_them or EXTENSION.match(operation.name) is not None


def built_in_words(kinds: Iterable[str]) -> str:
    return " and ".join(f"{kind}.x" for kind in sorted(kinds, reverse=True))

"""Rows that the warps of all blocks share, for kernels that are not proven.

    for (row = blockIdx.y * blockDim.y + threadIdx.y; row < n; row += gridDim.y * blockDim.y)

Takes values, accesses and loops, for `flat_blocks`; no proof rests on it. As long as there are as
many blocks, all their warps together do each row once, however many warps a block has. So what
they add up is the same, where each block hands on nothing but its sum. A plain store of what a
block has is right for one block alone, which does all rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cutune.proof.memory.accesses import MemoryAccess
from cutune.proof.same_code import FLOATS
from cutune.proof.values.id_bounds import ordered
from cutune.proof.values.polynomial import (
    BLOCK,
    BLOCK_SIZE,
    GRID_SIZE,
    THREAD,
    Atom,
    IntegerPolynomial,
    Monomial,
    without,
)
from cutune.proof.values.predicates import Relation, Value
from cutune.proof.warps_along import COUNTED, WarpsAlong
from cutune.proof.width_dependence import BY_REGISTER, ROUNDS, THREAD_X, depending
from cutune.ptx.taint import results, sources
from cutune.ptx.types import Function, Instruction

#: What may be done with values of other threads where nothing but sums is handed on.
_SUMMING = frozenset({"add", "mov", "shfl", "st", "atom", "red"})
_TOLD = frozenset({"shfl", "vote", "redux", "match", "activemask"})


@dataclass(frozen=True)
class LoopUse:
    """Loops by their headers: conditions of their ends, and those whose threads exchange values."""

    ends: Mapping[int, Sequence[Value | None]]
    exchanging: frozenset[int]


@dataclass(frozen=True)
class RowsOfAllBlocks:
    """Answers for one kernel: words for an obstacle, or nothing."""

    warps: WarpsAlong
    function: Function
    accesses: Sequence[MemoryAccess]
    tests: Sequence[Relation]
    loops: LoopUse

    def obstacle(self) -> str:
        """Return what is against other numbers of warps where blocks share rows, if they do."""
        if not self._shared:
            return ""
        are_rows = all(map(self._is_of_rows, self.accesses)) and all(map(self._is_end, self._tests))
        return "" if are_rows and self._hands_on_sums() else COUNTED

    @cached_property
    def _shared(self) -> frozenset[str]:
        """The dimensions of the grid whose blocks share rows."""
        return frozenset(
            atom.name
            for value in self.warps.values
            for monomial, _ in value.terms
            if any(map(self.warps.is_number_of_warps, monomial))
            for atom in monomial
            if atom.kind in (BLOCK, GRID_SIZE)
        )

    def _is_of_grid(self, atom: Atom) -> bool:
        if (register := BY_REGISTER.match(atom.name)) is not None:
            return register[1] in self._registers
        return atom.kind in (BLOCK, GRID_SIZE) and atom.name in self._shared

    @cached_property
    def _registers(self) -> frozenset[str]:
        names = (f"%{kind}.{d}" for d in self._shared for kind in ("ctaid", "nctaid"))
        return frozenset().union(*(depending(self.function, name) for name in names))

    @cached_property
    def _tests(self) -> list[IntegerPolynomial]:
        """Differences whose sign conditions ask for, of values that depend on shared rows."""
        ways = (way for test in self.tests for way in (test, test.negated()))
        found = (small - large for way in ways for small, large in ordered(way))
        return [one for one in found if any(map(self._is_of_grid, self._atoms(one)))]

    def _atoms(self, value: IntegerPolynomial) -> Iterator[Atom]:
        return (atom for part in self.warps.of.parts(value) for atom in part.atoms)

    def _is_of_rows(self, access: MemoryAccess) -> bool:
        """Does an access read rows, or depend on none?"""
        if access.kind != "load":
            values = [one for one in (access.address, *access.values) if one is not None]
            # Of an effect for some rows alone the number of warps may be seen.
            values += [side for test in access.known for side in (test.left, test.right)]
            return not any(self._is_of_grid(atom) for one in values for atom in self._atoms(one))
        parts = self.warps.of.parts(access.address) if access.address is not None else ()
        return all(map(self._steps, parts))

    def _steps(self, value: IntegerPolynomial, ends: bool = False) -> bool:
        """Does it hold the number of a row, and nothing else of the grid, if it holds anything?

        `ends`: it may be that of the next row.
        """
        terms = dict(value.terms)
        for monomial, factor in value.terms:
            block = next(filter(self._is_of_grid, monomial), None)
            if block is None:
                continue
            number = next(filter(self.warps.is_number_of_warps, monomial), None)
            rest = without(monomial, block, number) if number is not None else None
            if rest is None or number is None or block.kind not in (BLOCK, GRID_SIZE):
                return False
            rounds = [atom for atom in rest if ROUNDS.match(atom.name)]
            if block.kind == GRID_SIZE:
                first = [atom for atom in rest if atom not in rounds]
                first += [Atom(BLOCK, block.name), number]
                if terms.get(tuple(sorted(first))) != factor or not (rounds or ends):
                    return False
                continue
            stepped = (*rest, number, Atom(GRID_SIZE, block.name))
            is_own = self.warps.between(value, rest, number) == factor
            if not is_own or not any(self._is_step(m, c, stepped, factor) for m, c in value.terms):
                return False
        return True

    def _is_step(self, monomial: Monomial, found: int, stepped: Monomial, factor: int) -> bool:
        """Is a term the steps of a loop from row to row, which ends behind the last row alone?"""
        rounds = [atom for atom in monomial if ROUNDS.match(atom.name)]
        if len(rounds) != 1 or found != factor or without(monomial, *stepped) != (rounds[0],):
            return False
        header = int(rounds[0].name.removeprefix("rounds"))
        ends = self.loops.ends.get(header, ())
        if header in self.loops.exchanging or len(ends) != 1 or not isinstance(ends[0], Relation):
            return False
        counted = [m for m, _ in (ends[0].left - ends[0].right).terms if rounds[0] in m]
        return bool(counted) and all(map(self._is_of_steps, counted))

    def _is_end(self, difference: IntegerPolynomial) -> bool:
        """Is a condition that of the end of the rows, in a loop or in front of it?"""
        others = IntegerPolynomial.of({m: c for m, c in difference.terms if not self._is_of_row(m)})
        kinds = self.warps.of.kinds(others)
        if kinds & {THREAD, BLOCK_SIZE} or any(map(self._is_of_grid, self._atoms(others))):
            return False
        if self._steps(difference, ends=True) or self._steps(-difference, ends=True):
            return True
        later = (one - difference for one in self._tests if self._steps(one, ends=True))
        return any(
            bool(more.terms) and all(self._is_of_steps(monomial) for monomial, _ in more.terms)
            for more in later
        )

    def _is_of_row(self, monomial: Monomial) -> bool:
        is_warp = monomial == (THREAD_X,) or any(map(self.warps.is_number_of_warp, monomial))
        return is_warp or any(map(self._is_of_grid, monomial))

    def _is_of_steps(self, monomial: Monomial) -> bool:
        has_number = any(map(self.warps.is_number_of_warps, monomial))
        return has_number and any(a.kind == GRID_SIZE and self._is_of_grid(a) for a in monomial)

    def _hands_on_sums(self) -> bool:
        """Where blocks add to one total: is all that threads hand on there added up as well?"""
        effects = [one for one in self.accesses if one.space == "global" and one.is_effect]
        atomics = [one.instruction for one in effects if one.kind == "atomic"]
        if not atomics:
            return True
        if not all("add" in one.modifiers and one.modifiers[-1] in FLOATS for one in atomics):
            return False
        body = self.function.instructions
        written = Counter(name for item in body for name in results(item))
        # What a loop adds up, and what threads tell each other.
        summed = {name for name, count in written.items() if count > 1 and name.startswith("%f")}
        told = (i for i in body if i.opcode in _TOLD or (i.opcode == "ld" and _is_shared(i)))
        summed.update(name for item in told for name in results(item))
        before = 0
        while before != (before := len(summed)):
            for item in self._reading(summed):
                summed.update(results(item))
        return all(_adds(item, summed) for item in self._reading(summed))

    def _reading(self, names: set[str]) -> list[Instruction]:
        return [i for i in self.function.instructions if not names.isdisjoint(sources(i))]


def _is_shared(item: Instruction) -> bool:
    return any(word.startswith("shared") for word in item.modifiers)


def _adds(item: Instruction, summed: set[str]) -> bool:
    if item.opcode == "fma":
        return summed.isdisjoint(item.operands[1:3])
    return item.opcode in _SUMMING

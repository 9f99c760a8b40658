"""Blocks that count themselves, so that the last one goes on with what all have left.

Takes accesses and comparisons of a kernel that is not proven, for `block_use` and `flat_blocks`; no
proof rests on it.

    if (threadIdx.x == 0) last = atomicAdd(counter, 1);
    __syncthreads();
    if (last == gridDim.x - 1) …

Which block comes last depends on the order of threads. That some block is the last one, and finds
what all others have left, does not, nor does it depend on how many threads or blocks there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from cutune.proof.memory.accesses import MemoryAccess
from cutune.proof.values.polynomial import GRID_SIZE, OPAQUE, THREAD, Atom, IntegerPolynomial
from cutune.proof.values.predicates import Relation
from cutune.proof.values.terms import Atoms

_FIRST = IntegerPolynomial.atom(THREAD, "x")
_BLOCKS = IntegerPolynomial.atom(GRID_SIZE, "x")
_LAST = _BLOCKS - 1
_ONE = IntegerPolynomial.constant(1)
_SHARED = "shared"


@dataclass(frozen=True)
class _Counter:
    """An atomic operation that counts blocks; `told`: its result, and where that is read again."""

    access: MemoryAccess
    told: frozenset[Atom]
    places: tuple[MemoryAccess, ...]


@dataclass(frozen=True)
class LastBlock:
    """Answers for one kernel. `values`: all that addresses, conditions and values are made of."""

    accesses: Sequence[MemoryAccess]
    tests: Sequence[Relation]
    values: Sequence[IntegerPolynomial]
    atoms: Atoms

    @property
    def lines(self) -> frozenset[int]:
        """The lines of operations whose results tell nothing but which block comes last."""
        return frozenset(one.access.instruction.line for one in self._counters)

    def is_counting(self, access: MemoryAccess) -> bool:
        """Tell whether an access counts blocks, or hands on the number of a block."""
        return any(access is one.access or access in one.places for one in self._counters)

    def is_of_last(self, access: MemoryAccess) -> bool:
        """Tell whether none but the last block comes to an access."""
        tests = [test for test in access.known if test.relation == "eq"]
        return any(not self._told.isdisjoint(_atoms(test)) for test in tests)

    def is_comparison(self, value: IntegerPolynomial) -> bool:
        """Tell whether a value says how many blocks there are for nothing but counting them."""
        if any(value in one.access.values for one in self._counters):
            return True
        return bool(self._counters) and (value == _LAST or not self._told.isdisjoint(value.atoms))

    @cached_property
    def _told(self) -> frozenset[Atom]:
        return frozenset[Atom]().union(*(one.told for one in self._counters))

    @cached_property
    def _counters(self) -> list[_Counter]:
        atomics = [one for one in self.accesses if one.kind == "atomic" and _adds_one(one)]
        return [one for access in atomics if (one := self._counter(access)) is not None]

    def _counter(self, access: MemoryAccess) -> _Counter | None:
        item = access.instruction
        result = Atom(OPAQUE, f"unseen{item.line}.{item.operands[0]}")
        stores = [a for a in self.accesses if any(result in value.atoms for value in a.values)]
        if not all(_is_plain_store(a, result) for a in stores):
            return None
        places = {a.address for a in stores}
        others = [a for a in self.accesses if a.address in places and a.space == _SHARED]
        if any(a.is_effect and a not in stores for a in others):
            return None
        loads = [a for a in others if not a.is_effect]
        told = frozenset({result, *(Atom(OPAQUE, f"load{a.instruction.line}.0") for a in loads)})
        if not all(self._is_allowed(value, result, told) for value in self.values):
            return None
        return _Counter(access, told, (*stores, *loads))

    def _is_allowed(self, value: IntegerPolynomial, result: Atom, told: frozenset[Atom]) -> bool:
        """Is a value handed on as it is, or compared with the number of the last block alone?"""
        operations = (self.atoms.operation(atom) for atom in value.atoms)
        numbers = (number for one in operations if one is not None for number in one.numbers)
        if any(not told.isdisjoint(number.atoms) for number in numbers):
            return False
        if told.isdisjoint(value.atoms):
            return True
        alone = [IntegerPolynomial.atom(*atom) for atom in told]
        compared = [test for test in self.tests if value in (test.left, test.right)]
        is_stored = value == IntegerPolynomial.atom(*result)
        return (bool(compared) or is_stored) and all(
            test.relation in ("eq", "ne")
            and any(test.left - test.right in (one - _LAST, _LAST - one) for one in alone)
            for test in compared
        )


def _adds_one(access: MemoryAccess) -> bool:
    """Does the first thread of each block add 1, from 0 up to the number of blocks at most?"""
    words, is_global = access.instruction.modifiers, access.space != _SHARED
    is_one = ("add" in words and access.values == (_ONE,)) or (
        "inc" in words and access.values in ((_BLOCKS,), (_LAST,))
    )
    is_told = access.instruction.opcode == "atom" and is_global
    return is_told and is_one and any(map(_is_of_first, access.known))


def _is_of_first(test: Relation) -> bool:
    return test.relation == "eq" and test.left - test.right in (_FIRST, -_FIRST)


def _is_plain_store(access: MemoryAccess, result: Atom) -> bool:
    is_shared = access.kind == "store" and access.space == _SHARED
    return is_shared and access.values == (IntegerPolynomial.atom(*result),)


def _atoms(test: Relation) -> Iterator[Atom]:
    yield from test.left.atoms
    yield from test.right.atoms

"""Elements of global memory that a kernel writes and reads, for kernels that are not proven.

Takes accesses, gives the first read of an element that another thread may have written, where there
is one; for `flat_blocks`, no proof rests on it. Thread t of a block of w threads has the elements
`t + w * n` of a row, whatever n is:

    for (i = threadIdx.x; i < size; i += 4 * blockDim.x) … y[i + blockDim.x] …

An index that is held back (`y[min(size - 1, i)]`) is that of the thread where `i < size`. So a
value that is read there must reach nothing but stores for which that is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cutune.proof.last_block import LastBlock
from cutune.proof.memory.accesses import MemoryAccess
from cutune.proof.values.id_bounds import ordered
from cutune.proof.values.operations import FUNCTIONS
from cutune.proof.values.polynomial import BLOCK_SIZE, PARAMETER, THREAD, Atom, IntegerPolynomial
from cutune.proof.values.predicates import Relation
from cutune.proof.width_dependence import EXTENSION, THREAD_X, WIDTH, WidthDependence, depending
from cutune.ptx.taint import names, results, sources
from cutune.ptx.types import Function


@dataclass(frozen=True)
class OwnElements:
    """Answers for one kernel."""

    function: Function
    of: WidthDependence
    accesses: Sequence[MemoryAccess]
    last_block: LastBlock

    def are_exchanged(self) -> bool:
        """Tell whether a thread may read an element that another one has written."""
        every = [one for one in self.accesses if one.space == "global"]
        written = [one for one in every if one.is_effect and one.address]
        for access in every:
            if access.kind != "load" or access.read_only or self.last_block.is_of_last(access):
                continue
            others = [one for one in written if one.address != access.address]
            if access.address is None or any(self._is_foreign(one, access) for one in others):
                return True
        return False

    def _is_foreign(self, effect: MemoryAccess, load: MemoryAccess) -> bool:
        if _bases(effect).isdisjoint(_bases(load)):
            return False
        own = self._row(effect, effect.known)
        return own is None or own != self._row(load, load.known | self._known_of_uses(load))

    def _row(
        self, access: MemoryAccess, known: Iterable[Relation]
    ) -> tuple[IntegerPolynomial, int] | None:
        """Where the row begins, and the bytes of an element, of which each thread has its own."""
        assert access.address is not None, "its address was asked for"
        limits = {pair for test in known for pair in ordered(test)}
        value = access.address.substituted(lambda atom: self._index(atom, limits))
        terms = dict(value.terms)
        step = terms.pop((THREAD_X,), 0)
        begin = {m: c for m, c in terms.items() if WIDTH not in m or step <= 0 or c % step}
        rest = IntegerPolynomial.of(begin)
        is_steady = self.of.kinds(rest).isdisjoint((THREAD, BLOCK_SIZE))
        return (rest, step) if is_steady and 0 < access.bytes <= step else None

    def _index(
        self, atom: Atom, limits: set[tuple[IntegerPolynomial, IntegerPolynomial]]
    ) -> IntegerPolynomial:
        """What an atom is where these pairs hold, the lesser one first."""
        whole, operation = IntegerPolynomial.atom(*atom), self.of.atoms.operation(atom)
        if operation is None or len(operation.numbers) > 2:
            return whole
        if EXTENSION.match(operation.name):
            return operation.numbers[0].substituted(lambda one: self._index(one, limits))
        if operation.name.split(".")[0] == "min":
            first, second = operation.numbers
            for held, end in ((first, second), (second, first)):
                if (held, end + 1) in limits:
                    return held
        return whole

    def _known_of_uses(self, load: MemoryAccess) -> frozenset[Relation]:
        """All that is known wherever a value is stored that is read; empty: it goes elsewhere."""
        held = frozenset[str]().union(
            *(depending(self.function, one) for one in results(load.instruction))
        )
        stores = {one.instruction.line: one for one in self.accesses if one.kind == "store"}
        found: list[frozenset[Relation]] = []
        for item in self.function.instructions:
            if held.isdisjoint(sources(item)):
                continue
            if item.opcode == "st" and held.isdisjoint(names(item.operands[0])):
                found.append(stores[item.line].known if item.line in stores else frozenset())
            elif item.opcode not in FUNCTIONS or item.opcode in ("set", "setp"):
                return frozenset()
        return frozenset.intersection(*found) if found else frozenset()


def _bases(access: MemoryAccess) -> frozenset[Atom]:
    terms = access.address.terms if access.address is not None else ()
    return frozenset(
        monomial[0]
        for monomial, factor in terms
        if factor == 1 and len(monomial) == 1 and monomial[0].kind == PARAMETER
    )

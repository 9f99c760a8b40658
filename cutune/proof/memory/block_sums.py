"""Sums that each block makes for itself, and shared memory that proven reductions use.

Takes accesses of shared memory, gives values of sums, and says which accesses are of reductions.

A block may add up in shared memory values of its threads, and then add the sum to one in global
memory. The sum of a block is raw, but the sum of all blocks is not, if the same operation adds in
both places. So a value that was read from a sum may be added by that operation, and used for
nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from cutune.proof.values.polynomial import Atom, IntegerPolynomial
from cutune.proof.values.terms import constant_term
from cutune.ptx.types import Variable

#: Operations that may be done in parts, and their neutral values; None: a sum may begin at any
#: value, since adding it again changes nothing.
NEUTRAL: Mapping[str, int | None] = {
    "add": 0,
    "or": 0,
    "xor": 0,
    "and": None,
    "max": None,
    "min": None,
}


@dataclass
class BlockSums:
    """Sums in shared memory, over all walks.

    `operations`: of atomics, by the variable that they change. `parts`: values that were read from
    such a variable, with its operation. `adding`: lines of instructions that add such a value
    elsewhere.
    """

    variables: Mapping[str, Variable]
    operations: dict[str, set[str]] = field(default_factory=dict)
    parts: dict[IntegerPolynomial, str] = field(default_factory=dict)
    adding: set[int] = field(default_factory=set)
    _known: int = 0

    def begin(self) -> None:
        self.parts.clear()
        self.adding.clear()

    def has_learnt(self) -> bool:
        """Tell whether sums were found since the last call."""
        count = sum(map(len, self.operations.values()))
        before, self._known = self._known, count
        return count > before

    def variable_of(self, address: IntegerPolynomial) -> str | None:
        """Return the shared variable that an address lies in; None where it is not one."""
        variables = (self.variables.get(atom.symbol or "") for atom in address.atoms)
        shared = [one.name for one in variables if one is not None and one.space == "shared"]
        return shared[0] if len(shared) == 1 else None

    def changed(self, address: IntegerPolynomial, operation: str) -> None:
        """Note an atomic operation on an address."""
        if (name := self.variable_of(address)) is not None:
            self.operations.setdefault(name, set()).add(operation)

    def is_sum(self, address: IntegerPolynomial) -> bool:
        """Tell whether atomic operations change the variable at an address."""
        return bool(self.operations) and self.variable_of(address) in self.operations

    def was_read(self, value: IntegerPolynomial, address: IntegerPolynomial) -> None:
        """Note a value that was read, perhaps from a sum."""
        if self.is_sum(address):
            (operation, *others) = sorted(self.operations[self.variable_of(address) or ""])
            self.parts[value] = operation if not others else ""

    def is_added(self, values: Sequence[IntegerPolynomial], operation: str, line: int) -> bool:
        """Tell whether an atomic operation may add these, a part of a sum, and note its line."""
        if len(values) != 1 or self.parts.get(values[0]) != operation:
            return False
        self.adding.add(line)
        return True


#: More bytes than shared memory has.
_MOST_BYTES = 1 << 20

Element = tuple[str, int, int]
"""A shared array, and where in it bytes begin and how many there are."""


@dataclass(frozen=True)
class Reduced:
    """What threads do together as reductions.

    `blocks`: basic blocks of these. `arrays`: the shared arrays that they use. `stored`: elements
    in which they leave the same with any block. `ends`: where what they use of an array ends.
    """

    blocks: frozenset[int] = frozenset()
    arrays: frozenset[str] = frozenset()
    stored: frozenset[Element] = frozenset()
    ends: Mapping[str, int] = field(default_factory=dict)

    def begins_behind(self, address: IntegerPolynomial) -> bool:
        """Tell whether an address, without what is added to a constant place, lies behind these."""
        terms = {monomial: number for monomial, number in address.terms if monomial}
        bases = [
            monomial for monomial in terms if {atom.symbol for atom in monomial} & {*self.ends}
        ]
        if len(bases) != 1 or terms[bases[0]] != 1 or len(bases[0]) != 1:
            return False
        return self.ends[bases[0][0].symbol or ""] <= constant_term(address) < _MOST_BYTES

    def may_use(self, address: IntegerPolynomial, variables: Collection[str]) -> bool:
        """Tell whether an address in shared memory may lie in one of the arrays."""
        names = {atom.symbol for atom in address.atoms}.intersection(variables)
        return not names or not self.arrays.isdisjoint(names)

    @staticmethod
    def element(address: IntegerPolynomial | None, size: int) -> Element | None:
        """Return the element at an address that is the same for all threads."""
        terms = dict(address.terms) if address is not None else {}
        offset = terms.pop((), 0)
        match list(terms.items()):
            case [((Atom(symbol=str(name)),), 1)]:
                return name, offset, size
        return None

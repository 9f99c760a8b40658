"""How the parameters of an entry reach its work. Takes a finished walk, gives roles by place.

A value is a sum of signed products. The role of a parameter depends on its side of a comparison, as
this holds where the work is done, or on what varies beside it in an address.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from cutune.proof.flow.graph import Graph
from cutune.proof.flow.walk import Walk
from cutune.proof.memory.accesses import MemoryAccess
from cutune.proof.values.id_bounds import IdBound
from cutune.proof.values.polynomial import (
    BLOCK,
    IDENTITY,
    PARAMETER,
    Atom,
    IntegerPolynomial,
    Monomial,
)
from cutune.proof.values.predicates import Both, Not, Predicate, Relation, operands_of
from cutune.proof.values.terms import Atoms
from cutune.source.program import Role

_ORDER = tuple(Role)
_LARGER = ("gt", "ge", "hi", "hs")
#: A number that was made longer is the number.
_EXTENSIONS = ("s8", "u8", "s16", "u16", "s32", "u32")


class Term(NamedTuple):
    """A product: its sign, the parameters in it, and whether it differs between evaluations.

    `is_in_row`: does it differ between neighbours in x?
    """

    sign: int
    places: frozenset[str]
    varies: bool
    is_in_row: bool


def roles(
    graph: Graph, walk: Walk, accesses: Iterable[MemoryAccess], bounds: Iterable[IdBound]
) -> tuple[tuple[str, Role], ...]:
    """The strongest role of each parameter that work or addresses depend on."""
    uses = sorted({*_uses(graph, walk, accesses, bounds)}, key=lambda use: -_ORDER.index(use[1]))
    return tuple(sorted(dict(uses).items()))


def row_products(atoms: Atoms, accesses: Iterable[MemoryAccess]) -> tuple[frozenset[str], ...]:
    """The places of parameters in each product at which rows or planes begin.

    Neighbours in x add nothing else to it: where each is a multiple of a number of ids, so many
    accesses of neighbours lie together as the first of them does.
    """
    terms = _Terms(atoms)
    each = (term for access in accesses for term in terms.of(_without_pointer(access)))
    found = {term.places for term in each if term.places and not term.is_in_row}
    return tuple(sorted(found, key=lambda places: (len(places), sorted(places))))


def _uses(
    graph: Graph, walk: Walk, accesses: Iterable[MemoryAccess], bounds: Iterable[IdBound]
) -> Iterator[tuple[str, Role]]:
    accesses, terms = list(accesses), _Terms(walk.atoms)
    for term in chain(*(terms.of(bound.limit) for bound in bounds)):
        yield from _each(term, Role.GUARD if term.sign > 0 else Role.COUNTER)
    readings = _Readings(graph, {access.block for access in accesses})
    for block, predicate in walk.branches.items():
        plain = Role.BOUND if readings.leaves_loop(block) else Role.BRANCH
        for holds in readings.of(block):
            for comparison in _comparisons(predicate, holds):
                yield from _compared(comparison, plain, terms)
    for access in accesses:
        for comparison in access.known if access.instruction.guard else ():
            yield from _compared(comparison, Role.BRANCH, terms)
        for term in terms.of(_without_pointer(access)):
            yield from _each(term, Role.STRIDE if term.varies else Role.OFFSET)
    yield from _in_steps(accesses)


def _in_steps(accesses: Iterable[MemoryAccess]) -> Iterator[tuple[str, Role]]:
    """`a[i - w]` beside `a[i + w]`, as unrolled loops leave it: one is a stride from the other."""
    found: defaultdict[tuple[frozenset[Monomial], Monomial], set[int]] = defaultdict(set)
    for access in accesses:
        terms = access.address.terms if access.address is not None else ()
        base = frozenset(monomial for monomial, _ in terms if _is_pointer(monomial))
        for monomial, coefficient in terms:
            if monomial and monomial not in base and all(a.kind == PARAMETER for a in monomial):
                found[base, monomial].add(coefficient)
    for (_, monomial), coefficients in found.items():
        if len(coefficients) > 1:
            yield from ((atom.name, Role.STRIDE) for atom in monomial)


def _without_pointer(access: MemoryAccess) -> IntegerPolynomial:
    terms = access.address.terms if access.address is not None else ()
    return IntegerPolynomial(tuple(term for term in terms if not _is_pointer(term[0])))


def _is_pointer(monomial: Monomial) -> bool:
    return len(monomial) == 1 and monomial[0].name.endswith(":b64")


def _each(term: Term, role: Role) -> Iterator[tuple[str, Role]]:
    return ((place, role) for place in term.places)


def _compared(comparison: Relation, plain: Role, terms: _Terms) -> Iterator[tuple[str, Role]]:
    """`plain`: the role of a parameter that is compared with nothing that varies."""
    left, right = terms.of(comparison.left), terms.of(comparison.right)
    if comparison.relation in _LARGER:
        left, right = right, left
    has_counterpart = all(any(t.varies or t.places for t in side) for side in (left, right))
    sides = [(term, -1) for term in left] + [(term, 1) for term in right]
    if not has_counterpart and not any(term.varies for term, _ in sides):
        for term, _ in sides:
            yield from _each(term, plain)
        return
    is_equality = comparison.relation in ("eq", "ne")
    is_loop_end = is_equality and plain is Role.BOUND
    # What a loop counts up to has the other sign than what it counts from.
    counting = next((term.sign * larger for term, larger in sides if term.varies), -1)
    for term, larger in sides:
        is_bound = term.sign * larger != counting if is_loop_end else term.sign * larger > 0
        is_bound = is_bound and (is_loop_end or not is_equality)
        yield from _each(term, Role.BOUND if is_bound else Role.COUNTER)


def _comparisons(predicate: Predicate, holds: bool) -> Iterator[Relation]:
    match predicate:
        case Relation():
            yield predicate if holds else predicate.negated()
        case Both(first, second):
            yield from _comparisons(first, holds)
            yield from _comparisons(second, holds)
        case Not(inner):
            yield from _comparisons(inner, not holds)


class _Readings:
    """Does the condition of a branch hold where the work is done, or the opposite?"""

    def __init__(self, graph: Graph, working: Iterable[int]) -> None:
        self.graph = graph
        self._working = sum(1 << block for block in set(working))

    def of(self, block: int) -> tuple[bool, ...]:
        targets = self.graph.flow.blocks[block].terminator.targets
        if self.leaves_loop(block):
            inside = self._inside(block)
            return tuple(target in inside for target in targets[:1])
        taken, other = (self._ahead[target] & self._working for target in targets[:2])
        ways = bool(taken & ~other), bool(other & ~taken)
        return (True, False) if ways[0] == ways[1] else ways[:1]

    def leaves_loop(self, block: int) -> bool:
        return not self._inside(block) >= {*self.graph.flow.blocks[block].terminator.targets}

    def _inside(self, block: int) -> frozenset[int]:
        loops = [self.graph.loop_of_header[h] for h in self.graph.loops_around[block]]
        return min(loops, key=len, default=frozenset(range(self.graph.count)))

    @cached_property
    def _ahead(self) -> list[int]:
        """Per block those that may follow it in the same round of a loop, as bits."""
        found = [1 << index for index in range(self.graph.count)]
        for index in reversed(range(self.graph.count)):
            for target in self.graph.flow.blocks[index].terminator.targets:
                if target > index:
                    found[index] |= found[target]
        return found


class _Terms:
    def __init__(self, atoms: Atoms) -> None:
        self.atoms = atoms
        self._inside: dict[Atom, frozenset[str]] = {}

    def of(self, value: IntegerPolynomial) -> list[Term]:
        found = []
        for monomial, coefficient in value.terms:
            sign = 1 if coefficient > 0 else -1
            number = self.atoms.shorter(monomial[0], _EXTENSIONS) if len(monomial) == 1 else None
            if number is not None:
                found += [term._replace(sign=sign * term.sign) for term in self.of(number)]
                continue
            places = frozenset(place for atom in monomial for place in self._places(atom))
            is_in_row = any("x" in self.atoms.properties(atom).ids for atom in monomial)
            found.append(Term(sign, places, any(map(self._varies, monomial)), is_in_row))
        return found

    def _varies(self, atom: Atom) -> bool:
        known = self.atoms.properties(atom)
        is_kept_block = atom.name.startswith(f"{BLOCK}.")
        return atom.kind == IDENTITY or is_kept_block or bool(known.ids or known.loops)

    def _places(self, atom: Atom) -> frozenset[str]:
        if atom.kind == PARAMETER:
            return frozenset({atom.name})
        if atom not in self._inside:
            self._inside[atom] = frozenset()
            operation = self.atoms.operation(atom)
            inside = map(self._in_operand, operation.operands if operation is not None else ())
            self._inside[atom] = frozenset(chain(*inside))
        return self._inside[atom]

    def _in_operand(self, operand: object) -> Iterator[str]:
        for atom in operand.atoms if isinstance(operand, IntegerPolynomial) else ():
            yield from self._places(atom)
        for part in operands_of(operand):
            yield from self._in_operand(part)

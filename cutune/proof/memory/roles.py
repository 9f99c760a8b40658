"""How the parameters of an entry reach its work. Takes a finished walk, gives roles by place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cutune.proof.flow.graph import Graph
from cutune.proof.flow.walk import Walk
from cutune.proof.memory.accesses import MemoryAccess
from cutune.proof.values.id_bounds import IdBound
from cutune.proof.values.predicates import Both, Not, Predicate, Relation
from cutune.proof.values.terms import Atoms
from cutune.source.program import Role
from cutune.source.values.polynomial import (
    BLOCK,
    IDENTITY,
    OPAQUE,
    PARAMETER,
    Atom,
    IntegerPolynomial,
)

_ORDER = tuple(Role)


def roles(
    graph: Graph, walk: Walk, accesses: Iterable[MemoryAccess], bounds: Iterable[IdBound]
) -> tuple[tuple[str, Role], ...]:
    """The strongest role of each parameter that work or addresses depend on."""
    found: dict[str, Role] = {}
    for place, role in _uses(graph, walk, accesses, bounds):
        known = found.get(place, role)
        found[place] = min(known, role, key=_ORDER.index)
    return tuple(sorted(found.items()))


def _uses(
    graph: Graph, walk: Walk, accesses: Iterable[MemoryAccess], bounds: Iterable[IdBound]
) -> Iterator[tuple[str, Role]]:
    leaving = {
        block
        for blocks in graph.loop_of_header.values()
        for block in blocks
        if set(graph.flow.blocks[block].terminator.targets) - blocks
    }
    compared: dict[Role, list[IntegerPolynomial]] = {Role.BOUND: [], Role.BRANCH: []}
    for block, predicate in walk.branches.items():
        for comparison in _comparisons(predicate):
            role = Role.BOUND if block in leaving else Role.BRANCH
            compared[role] += comparison.left, comparison.right
    for role, values in {Role.GUARD: [bound.limit for bound in bounds], **compared}.items():
        for place in _parameters(values, walk.atoms):
            yield place, role
    addresses = [access.address for access in accesses if access.address is not None]
    yield from _in_addresses(addresses, walk.atoms)


def _comparisons(predicate: Predicate) -> Iterator[Relation]:
    match predicate:
        case Relation():
            yield predicate
        case Both(first, second):
            yield from _comparisons(first)
            yield from _comparisons(second)
        case Not(inner):
            yield from _comparisons(inner)


def _in_addresses(
    addresses: Iterable[IntegerPolynomial], atoms: Atoms
) -> Iterator[tuple[str, Role]]:
    """A factor of an id or of rounds is a stride; a pointer is none of it."""
    for value in _inner(addresses, atoms):
        for monomial, _ in value.terms:
            own = [atom.name for atom in monomial if atom.kind == PARAMETER]
            if len(monomial) == 1 and own and own[0].endswith(":b64"):
                continue
            moving = any(_moves(atom, atoms) for atom in monomial)
            for place in own:
                yield place, Role.STRIDE if moving else Role.OFFSET


def _moves(atom: Atom, atoms: Atoms) -> bool:
    properties = atoms.properties(atom)
    is_kept_block = atom.name.startswith(f"{BLOCK}.")
    return atom.kind == IDENTITY or is_kept_block or bool(properties.ids or properties.loops)


def _parameters(values: Iterable[IntegerPolynomial], atoms: Atoms) -> Iterator[str]:
    for inner in _inner(values, atoms):
        yield from (atom.name for atom in inner.atoms if atom.kind == PARAMETER)


def _inner(values: Iterable[IntegerPolynomial], atoms: Atoms) -> Iterator[IntegerPolynomial]:
    """Values and all that they are computed from, each once: hashes use one value many times."""
    seen: set[IntegerPolynomial] = set()
    waiting = [*values]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        yield one
        operations = (atoms.operation(atom) for atom in one.atoms if atom.kind == OPAQUE)
        waiting += [
            operand
            for operation in operations
            if operation is not None
            for operand in operation.operands
            if isinstance(operand, IntegerPolynomial)
        ]

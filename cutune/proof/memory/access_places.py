"""Places in memory. Takes accesses, gives base and offset of each, and compares two of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from math import gcd

from cutune.proof.memory.accesses import MemoryAccess
from cutune.proof.values.id_bounds import ID_BITS
from cutune.proof.values.launch_conditions import SizeConditions
from cutune.proof.values.polynomial import (
    IDENTITY,
    PARAMETER,
    ZERO,
    Atom,
    IntegerPolynomial,
    Monomial,
    TooLarge,
    exactly,
    term_over,
)
from cutune.proof.values.predicates import Relation
from cutune.proof.values.terms import Atoms, constant_term, is_of_parameters, only_atom

#: Constants beyond it are not added to unsigned indices.
_FAR = 1 << 30
#: The largest number of 32 bits.
LARGEST_UNSIGNED = IntegerPolynomial.constant((1 << 32) - 1)


@dataclass(frozen=True, eq=False)
class AccessPlace:
    """An access as base + offset; no base where it is not known. Each is a place of its own.

    `unsigned`: the parts of the offset that are exact only where they are less than 2^32.
    `factors`: those of them that are multiplied by other atoms.
    """

    access: MemoryAccess
    base: Atom | None
    offset: IntegerPolynomial
    unsigned: tuple[IntegerPolynomial, ...] = ()
    factors: tuple[IntegerPolynomial, ...] = ()


def place_of(access: MemoryAccess, atoms: Atoms) -> AccessPlace:
    """Return the place of an access."""
    unsigned, factors = list[IntegerPolynomial](), list[IntegerPolynomial]()
    address = ZERO
    with suppress(TooLarge):
        address = without_extensions(access.address or ZERO, atoms, unsigned, factors)
    bases = [m[0] for m, c in address.terms if len(m) == 1 and c == 1 and _is_base(m[0])]
    if len(bases) != 1:
        return AccessPlace(access, None, ZERO)
    offset = address - IntegerPolynomial.atom(*bases[0])
    wrapping = tuple(dict.fromkeys(unsigned)), tuple(dict.fromkeys(factors))
    return AccessPlace(access, bases[0], offset, *wrapping)


def without_extensions(
    value: IntegerPolynomial,
    atoms: Atoms,
    unsigned: list[IntegerPolynomial],
    factors: list[IntegerPolynomial],
) -> IntegerPolynomial:
    """Return the value with the operand in place of each extended number.

    `unsigned`, `factors`: lists to which those of an `AccessPlace` are added.
    """
    result = ZERO
    for monomial, coefficient in value.terms:
        product = IntegerPolynomial.constant(coefficient)
        for atom in monomial:
            before = len(unsigned)
            product *= _inner(atom, atoms, unsigned, factors)
            factors += unsigned[before:] if len(monomial) > 1 else []
        result += product
    return result


def _inner(
    atom: Atom, atoms: Atoms, unsigned: list[IntegerPolynomial], factors: list[IntegerPolynomial]
) -> IntegerPolynomial:
    operation = atoms.operation(atom)
    if operation is None or operation.name not in ("s32", "u32"):
        return IntegerPolynomial.atom(*atom)
    value = without_extensions(operation.numbers[0], atoms, unsigned, factors)
    # Numbers with a sign do not overflow; others may wrap around in any program.
    if operation.name == "u32":
        unsigned.append(value)
    return value


def exact_factors(place: AccessPlace) -> SizeConditions:
    """Return when unsigned products of parameters, by which ids are multiplied, are exact.

    In `j * (size_t)(w * h)` the step is the number that the register holds, which may be 0.
    """
    sizes = [v for v in place.factors if v.literal is None and is_of_parameters(v)]
    # A parameter alone fits where it is not negative.
    ends = (LARGEST_UNSIGNED - value for value in sizes if only_atom(value) is None)
    return SizeConditions(frozenset((*sizes, *ends)))


def wrap_together(
    first: AccessPlace, second: AccessPlace, moving: Collection[Atom] | None = None
) -> bool:
    """Tell whether two places may be compared as if no unsigned index in them wrapped around.

    Modulo 2^32 they may where they lie a constant apart, and all unsigned indices add the same to
    the moving atoms (the ids, or elements of a row). Where they lie a parameter apart, 2^32 may be
    among its values.
    """
    if not (first.unsigned or second.unsigned):
        return True
    apart = _steady(second.offset - first.offset, moving).literal
    if apart is None or abs(apart) >= _FAR:
        return False
    shifts = [_steady(value, moving) for value in (*first.unsigned, *second.unsigned)]
    constants = [constant_term(shift) for shift in shifts]
    parameters = {shift - number for shift, number in zip(shifts, constants, strict=True)}
    is_both = bool(first.unsigned) and bool(second.unsigned)
    is_same = parameters == {ZERO} or (is_both and len(parameters) == 1)
    return is_same and max(map(abs, constants)) < _FAR


def _steady(value: IntegerPolynomial, moving: Collection[Atom] | None) -> IntegerPolynomial:

    def moves(atom: Atom) -> bool:
        return atom.kind == IDENTITY if moving is None else atom in moving

    return IntegerPolynomial.of({m: c for m, c in value.terms if not any(map(moves, m))})


def common_step(first: AccessPlace, second: AccessPlace) -> int:
    """Return the bytes in whose multiples two places move; 0 where they do not move."""
    return gcd(*(c for m, c in chain(first.offset.terms, second.offset.terms) if m))


def never_overlap(first: AccessPlace, second: AccessPlace) -> bool:
    """Tell whether both stay in different bytes of the steps in which they move, as members do."""
    step = common_step(first, second)
    apart = constant_term(second.offset) - constant_term(first.offset)
    size, other_size = first.access.bytes, second.access.bytes
    if step == 0:
        return apart >= size or -apart >= other_size
    return size <= apart % step <= step - other_size


def _pinned(place: AccessPlace, where: AccessPlace | None = None) -> IntegerPolynomial:
    """The offset with those ids replaced that comparisons at an access fix: `i == 0`."""
    offset = place.offset
    for comparison in (where or place).access.known:
        is_equality = comparison.relation == "eq" and comparison.bits >= ID_BITS
        match [term for term in comparison.left.terms if term[0]]:
            case [((atom,), (1 | -1) as sign)] if is_equality and atom.kind == IDENTITY:
                value = IntegerPolynomial.constant(-constant_term(comparison.left) * sign)
                offset = offset.replaced(atom, value)
    return offset


def decisive_places(first: AccessPlace, second: AccessPlace) -> list[AccessPlace]:
    """Return those that must be a thread's own so that both are one place of that thread.

    An empty list where they are not one place.
    """
    if first.offset == second.offset:
        return [first, second]
    pairs = ((first, second), (second, first))
    return next(([other] for one, other in pairs if _pinned(one) == _pinned(other, one)), [])


def are_equal_stores(first: AccessPlace, second: AccessPlace) -> bool:
    """Tell whether both store the same values, as many bytes."""
    one, other = first.access, second.access
    are_stores = one.kind == other.kind == "store"
    return are_stores and one.bytes == other.bytes and one.values == other.values


def _is_base(atom: Atom) -> bool:
    if atom.kind == PARAMETER:
        return atom.name.endswith(":b64")
    return atom.symbol is not None


def terms_by_ids(value: IntegerPolynomial) -> Iterator[tuple[list[Atom], Monomial, int]]:
    """Yield the ids in each term, its other factors, and its coefficient."""
    for monomial, coefficient in value.terms:
        ids = [atom for atom in monomial if atom.kind == IDENTITY]
        yield ids, tuple(atom for atom in monomial if atom.kind != IDENTITY), coefficient


def steps_of(place: AccessPlace) -> dict[str, IntegerPolynomial] | None:
    """Return the factor of each id; None where ids are multiplied with each other."""
    steps: defaultdict[str, IntegerPolynomial] = defaultdict(lambda: ZERO)
    for ids, rest, coefficient in terms_by_ids(place.offset):
        if len(ids) > 1:
            return None
        for _, d in ids:
            steps[d] += IntegerPolynomial.of({rest: coefficient})
    return dict(steps)


def parts_of(
    place: AccessPlace, atoms: Atoms
) -> tuple[dict[str, IntegerPolynomial], list[IntegerPolynomial]] | None:
    """Return the steps of the ids and the terms that loops move; None where others move it."""
    steps, moving = steps_of(place), list[IntegerPolynomial]()
    for ids, rest, coefficient in terms_by_ids(place.offset):
        term = IntegerPolynomial.of({rest: coefficient})
        known = atoms.joined([term])
        if len(ids) + bool(known.loops) > 1 or known.ids or known.is_loaded:
            return None
        if known.loops:
            moving.append(term)
    return None if steps is None else (steps, moving)


def rest_of_both(
    first: AccessPlace, second: AccessPlace, atoms: Atoms
) -> list[IntegerPolynomial] | None:
    """Return the terms beside ids: those that loops move, and the difference of all others."""
    moving, steady = list[IntegerPolynomial](), [ZERO, ZERO]
    for index, place in enumerate((first, second)):
        for ids, rest, coefficient in terms_by_ids(place.offset):
            term = IntegerPolynomial.of({rest: coefficient})
            known = atoms.joined([term])
            if not ids and (known.ids or known.is_loaded):
                return None
            if not ids and known.loops:
                moving.append(term)
            elif not ids:
                steady[index] += term
    return [*moving, steady[1] - steady[0]]


def leads_back(place: AccessPlace) -> bool:
    """Tell whether it lies before its base, as long as neither ids nor sizes are negative."""
    terms = place.offset.terms
    return bool(terms) and all(coefficient < 0 for _, coefficient in terms)


def size_of(step: IntegerPolynomial) -> tuple[int, int, str]:
    """Return a key that sorts constants before products of parameters, smaller before larger."""
    degree = max((len(monomial) for monomial, _ in step.terms), default=0)
    return degree, max(abs(c) for _, c in step.terms), str(step.terms)


def by_size(steps: Mapping[str, IntegerPolynomial]) -> list[tuple[str, IntegerPolynomial]]:
    """Return the steps of ids, the smallest first."""
    return sorted(steps.items(), key=lambda item: size_of(item[1]))


def quotient(value: IntegerPolynomial, width: IntegerPolynomial) -> int | None:
    """Return the constant by which a width of one term has to be multiplied to give a value."""
    whole = exactly(value, width)
    return whole.literal if whole is not None else None


def is_multiple(width: IntegerPolynomial, value: IntegerPolynomial) -> bool:
    """Tell whether each term of the value is a multiple of a width of one term."""
    ((factors, step),) = width.terms
    return all(term_over(term, factors, step) is not None for term in value.terms)


def common_width(moving: Sequence[IntegerPolynomial], atoms: Atoms) -> IntegerPolynomial | None:
    """Return the least that a round adds: a width of which all terms that move are multiples."""
    for term in moving:
        ((monomial, coefficient),) = term.terms
        steady = tuple(atom for atom in monomial if not atoms.properties(atom).loops)
        width = IntegerPolynomial.of({steady: coefficient})
        if all(is_multiple(width, other) for other in moving):
            return width
    return None


def single_threads(known: Iterable[Relation], atoms: Atoms) -> frozenset[str]:
    """Return the dimensions in which one thread alone comes here: `if (i == 0)`."""
    dimensions = set()
    for comparison in known:
        properties = atoms.of(comparison.left)
        is_equality = comparison.relation == "eq" and comparison.bits >= ID_BITS
        # A value that differs between rounds of a loop is equal to each id in turn.
        is_steady = not properties.is_loaded and not properties.loops
        match [t for t in comparison.left.terms if t[0] and t[0][0].kind == IDENTITY]:
            # Twice an id may be one number for several threads, modulo 2^32.
            case [((identity,), 1 | -1)] if is_equality and is_steady and len(properties.ids) == 1:
                dimensions.add(identity.name)
    return frozenset(dimensions)

"""Where one access leads. Takes an access, gives its place; do two places ever overlap?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import gcd

from cutune.frontend.values.polynomial import (
    IDENTITY,
    OPAQUE,
    PARAMETER,
    ZERO,
    Atom,
    IntegerPolynomial,
    Monomial,
    TooLarge,
    term_over,
)
from cutune.proof.memory.accesses import MemoryAccess
from cutune.proof.values.inequalities import Asked
from cutune.proof.values.predicates import Comparison
from cutune.proof.values.terms import Atoms

#: So many bits distinguish any two ids.
ID_BITS = 32
#: Constants beyond it are not added to unsigned indices.
_FAR = 1 << 30
#: The largest number of 32 bits.
LARGEST_UNSIGNED = IntegerPolynomial.constant((1 << 32) - 1)


@dataclass(frozen=True)
class AccessPlace:
    """An access as base + offset; no base where it is not known.

    `unsigned`: the parts of the offset that are right only where they are less than 2^32.
    `factors`: those of them that something else than a number is multiplied by.
    """

    access: MemoryAccess
    base: Atom | None
    offset: IntegerPolynomial
    unsigned: tuple[IntegerPolynomial, ...] = ()
    factors: tuple[IntegerPolynomial, ...] = ()


def place_of(access: MemoryAccess, atoms: Atoms) -> AccessPlace:
    """Where an access happens."""
    if access.address is None:
        return AccessPlace(access, None, ZERO)
    unsigned: list[IntegerPolynomial] = []
    factors: list[IntegerPolynomial] = []
    try:
        address = _loose(access.address, atoms, unsigned, factors)
    except TooLarge:
        return AccessPlace(access, None, ZERO)
    bases = [m[0] for m, c in address.terms if len(m) == 1 and c == 1 and _is_base(m[0])]
    if len(bases) != 1:
        return AccessPlace(access, None, ZERO)
    offset = address - IntegerPolynomial.of({(bases[0],): 1})
    told = tuple(dict.fromkeys(unsigned)), tuple(dict.fromkeys(factors))
    return AccessPlace(access, bases[0], offset, *told)


def _loose(
    value: IntegerPolynomial,
    atoms: Atoms,
    unsigned: list[IntegerPolynomial],
    factors: list[IntegerPolynomial],
) -> IntegerPolynomial:
    """The same with extended numbers taken as what they extend."""
    result = ZERO
    for monomial, coefficient in value.terms:
        product = IntegerPolynomial.constant(coefficient)
        for atom in monomial:
            before = len(unsigned)
            product = product * _inner(atom, atoms, unsigned, factors)
            factors += unsigned[before:] if len(monomial) > 1 else []
        result = result + product
    return result


def _inner(
    atom: Atom,
    atoms: Atoms,
    unsigned: list[IntegerPolynomial],
    factors: list[IntegerPolynomial],
) -> IntegerPolynomial:
    operation = atoms.operation(atom) if atom.kind == OPAQUE else None
    if operation is not None and operation.name in ("s32", "u32"):
        operand = operation.operands[0]
        assert isinstance(operand, IntegerPolynomial), "numbers are extended"
        value = _loose(operand, atoms, unsigned, factors)
        # Numbers with a sign do not overflow; others may wrap around in any program.
        if operation.name == "u32":
            unsigned.append(value)
        return value
    return IntegerPolynomial.of({(atom,): 1})


def exact_factors(place: AccessPlace) -> Asked:
    """What to ask so that unsigned products of parameters, which ids are multiplied by, are exact.

    In `j * (size_t)(w * h)` the step is what the register holds, which may be 0.
    """
    sizes = [
        value
        for value in place.factors
        if value.literal is None and all(atom.kind == PARAMETER for atom in value.atoms)
    ]
    ends = (LARGEST_UNSIGNED - value for value in sizes if not _is_one_parameter(value))
    return Asked(frozenset((*sizes, *ends)))


def _is_one_parameter(value: IntegerPolynomial) -> bool:
    """Is it a parameter as it is? It fits where it is not negative."""
    return len(value.terms) == 1 and value.terms[0][1] == 1 and len(value.terms[0][0]) == 1


def wrap_together(
    first: AccessPlace, second: AccessPlace, moving: Collection[Atom] | None = None
) -> bool:
    """May the two places be compared as if no unsigned index in them wrapped around?

    Modulo 2^32 they may where they lie a constant apart, and whatever else is added to the moving
    atoms (the ids, or elements of a row) is the same in all unsigned indices. Where they lie a
    parameter apart, 2^32 may be among its values.
    """
    if not (first.unsigned or second.unsigned):
        return True
    apart = _steady(second.offset - first.offset, moving).literal
    if apart is None or abs(apart) >= _FAR:
        return False
    shifts = [_steady(value, moving) for value in (*first.unsigned, *second.unsigned)]
    constants = [_constant(shift.terms) for shift in shifts]
    parameters = {
        shift - IntegerPolynomial.constant(constant)
        for shift, constant in zip(shifts, constants, strict=True)
    }
    is_both = bool(first.unsigned) and bool(second.unsigned)
    is_same = parameters == {ZERO} or (is_both and len(parameters) == 1)
    return is_same and max(map(abs, constants)) < _FAR


def _steady(value: IntegerPolynomial, moving: Collection[Atom] | None) -> IntegerPolynomial:
    """The terms without an id, or without any of the moving atoms."""

    def moves(atom: Atom) -> bool:
        return atom.kind == IDENTITY if moving is None else atom in moving

    return IntegerPolynomial.of({m: c for m, c in value.terms if not any(map(moves, m))})


def common_step(first: AccessPlace, second: AccessPlace) -> int:
    """Bytes that all that moves two places is a multiple of; 0 where nothing does."""
    step = 0
    for place in (first, second):
        for monomial, coefficient in place.offset.terms:
            if monomial:
                step = gcd(step, coefficient)
    return step


def never_overlap(first: AccessPlace, second: AccessPlace) -> bool:
    """Members of structures: do both stay in different bytes of the steps they move in?"""
    step = common_step(first, second)
    begins = [_constant(place.offset.terms) for place in (first, second)]
    sizes = first.access.bytes, second.access.bytes
    if step == 0:
        return begins[0] + sizes[0] <= begins[1] or begins[1] + sizes[1] <= begins[0]
    distance = (begins[1] - begins[0]) % step
    return sizes[0] <= distance and distance + sizes[1] <= step


def pinned(place: AccessPlace, where: AccessPlace | None = None) -> IntegerPolynomial:
    """The offset with those ids replaced that are known where another access is: `i == 0`."""
    offset = place.offset
    for comparison in (where or place).access.known:
        terms = dict(comparison.left.terms)
        constant = terms.pop((), 0)
        if comparison.relation == "eq" and len(terms) == 1 and comparison.bits >= ID_BITS:
            ((monomial, coefficient),) = terms.items()
            if len(monomial) == 1 and monomial[0].kind == IDENTITY and abs(coefficient) == 1:
                value = IntegerPolynomial.constant(-constant * coefficient)
                offset = offset.replaced(monomial[0], value)
    return offset


def one_place(first: AccessPlace, second: AccessPlace) -> list[AccessPlace]:
    """Which of the two must be a thread's own so that both are the same place of that thread.

    None of them: they are not one place.
    """
    if first.offset == second.offset:
        return [first, second]
    if pinned(first) == pinned(second, first):
        return [second]
    return [first] if pinned(second) == pinned(first, second) else []


def _is_base(atom: Atom) -> bool:
    if atom.kind == PARAMETER:
        return atom.name.endswith(":b64")
    return atom.kind == OPAQUE and atom.name.startswith("&")


def _constant(terms: tuple[tuple[Monomial, int], ...]) -> int:
    return next((coefficient for monomial, coefficient in terms if not monomial), 0)


def steps_of(place: AccessPlace) -> dict[str, IntegerPolynomial] | None:
    """What each id is multiplied by; None where ids are multiplied with each other."""
    steps: dict[str, IntegerPolynomial] = {}
    for monomial, coefficient in place.offset.terms:
        ids = [atom for atom in monomial if atom.kind == IDENTITY]
        if len(ids) > 1:
            return None
        if ids:
            rest = tuple(atom for atom in monomial if atom != ids[0])
            step = IntegerPolynomial.of({rest: coefficient})
            steps[ids[0].name] = steps.get(ids[0].name, ZERO) + step
    return steps


def parts_of(
    place: AccessPlace, atoms: Atoms
) -> tuple[dict[str, IntegerPolynomial], list[IntegerPolynomial]] | None:
    """The steps of the ids and what moves in loops; None where it is more than these."""
    steps: dict[str, IntegerPolynomial] = {}
    moving: list[IntegerPolynomial] = []
    for monomial, coefficient in place.offset.terms:
        ids = [atom for atom in monomial if atom.kind == IDENTITY]
        others = [atoms.properties(atom) for atom in monomial if atom.kind != IDENTITY]
        varies = any(properties.loops for properties in others)
        if len(ids) + varies > 1 or any(one.ids or one.is_loaded for one in others):
            return None
        if ids:
            rest = tuple(atom for atom in monomial if atom != ids[0])
            name = ids[0].name
            steps[name] = steps.get(name, ZERO) + IntegerPolynomial.of({rest: coefficient})
        elif varies:
            moving.append(IntegerPolynomial.of({monomial: coefficient}))
    return steps, moving


def rest_of_both(
    first: AccessPlace, second: AccessPlace, atoms: Atoms
) -> list[IntegerPolynomial] | None:
    """What is added to the ids: the difference, and each part that moves in a loop."""
    moving: list[IntegerPolynomial] = []
    steady = [ZERO, ZERO]
    for index, place in enumerate((first, second)):
        for monomial, coefficient in place.offset.terms:
            if any(atom.kind == IDENTITY for atom in monomial):
                continue
            known = [atoms.properties(atom) for atom in monomial]
            if any(one.ids or one.is_loaded for one in known):
                return None
            term = IntegerPolynomial.of({monomial: coefficient})
            if any(one.loops for one in known):
                moving.append(term)
            else:
                steady[index] += term
    return [*moving, steady[1] - steady[0]]


def leads_back(place: AccessPlace) -> bool:
    """Does it lie before its base, as long as neither ids nor sizes are negative?"""
    terms = place.offset.terms
    return bool(terms) and all(coefficient < 0 for _, coefficient in terms)


def size_of(step: IntegerPolynomial) -> tuple[int, int, str]:
    """Constants before products of parameters, smaller before larger."""
    degree = max((len(monomial) for monomial, _ in step.terms), default=0)
    return degree, max(abs(c) for _, c in step.terms), str(step.terms)


def quotient(value: IntegerPolynomial, width: IntegerPolynomial) -> int | None:
    """The constant by which a width of one term has to be multiplied to give a value."""
    ((monomial, step),) = width.terms
    if value == ZERO:
        return 0
    if len(value.terms) != 1 or value.terms[0][0] != monomial or value.terms[0][1] % step:
        return None
    return value.terms[0][1] // step


def is_multiple(width: IntegerPolynomial, value: IntegerPolynomial) -> bool:
    """Is each term of the value a multiple of a width of one term?"""
    ((factors, step),) = width.terms
    return all(term_over(term, factors, step) is not None for term in value.terms)


def common_width(moving: Sequence[IntegerPolynomial], atoms: Atoms) -> IntegerPolynomial | None:
    """What a round adds at least: the rest of all terms is a multiple of it."""
    for one in moving:
        ((monomial, coefficient),) = one.terms
        steady = tuple(atom for atom in monomial if not atoms.properties(atom).loops)
        width = IntegerPolynomial.of({steady: coefficient})
        if all(is_multiple(width, other) for other in moving):
            return width
    return None


def single_threads(known: Iterable[Comparison], atoms: Atoms) -> frozenset[str]:
    """Dimensions in which only one thread comes here: `if (i == 0)`."""
    found = set()
    for comparison in known:
        ids = [(m, c) for m, c in comparison.left.terms if m and m[0].kind == IDENTITY]
        properties = atoms.of(comparison.left)
        # Twice an id may be one number for several threads, modulo 2^32.
        is_id = len(ids) == 1 and len(ids[0][0]) == 1 and abs(ids[0][1]) == 1
        is_alone = is_id and len(properties.ids) == 1 and comparison.bits >= ID_BITS
        # What differs between rounds of a loop is equal to each id in turn.
        is_steady = not properties.is_loaded and not properties.loops
        if comparison.relation == "eq" and is_alone and is_steady:
            found.add(ids[0][0][0].name)
    return frozenset(found)

"""Guards: takes comparisons, gives the parameters of a kernel that bound a global id from above.

A bound `id < limit` is right for every value of the parameters for which the limit, computed
exactly, lies in 1 .. 2^30 and all of its conditions hold, while no parameter in it exceeds 2^30
and the launch has at most 2^30 threads (both are asked at the launch). Then neither side of the
comparison wraps around: with `id + shift < right` and limit = right - shift, right itself is what
the register holds, because it is congruent to it and as small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from cutune.proof.values.polynomial import IDENTITY, PARAMETER, Atom, IntegerPolynomial
from cutune.proof.values.predicates import Relation
from cutune.proof.values.terms import (
    WARP,
    AtomOperation,
    Atoms,
    constant_term,
    is_of_parameters,
    only_atom,
)

_SMALL = 1 << 19
#: So many bits distinguish any two ids.
ID_BITS = 32
#: Ids that a thread does at most for its guard to be understood.
_MOST_STEP = 32
#: Ids are compared with quotients by no more than this.
_MOST_BY = {"div": _SMALL, "shr": 19}
_Limit = tuple[int, IntegerPolynomial]


@dataclass(frozen=True)
class IdBound:
    """step * id < limit, where each of the conditions is not negative.

    `is_firm`: it holds for limits below 1, too. Read as unsigned, those bound nothing, and a limit
    that does not fit into the register may be far below the number that the register holds.
    """

    limit: IntegerPolynomial
    conditions: tuple[IntegerPolynomial, ...] = ()
    is_firm: bool = True
    step: int = 1


def bounds(known: Iterable[Relation], dimension: str, atoms: Atoms) -> dict[_Limit, IdBound]:
    """Return the bounds of the id that follow from comparisons, by steps and limits."""
    shortest: dict[_Limit, IdBound] = {}
    for comparison in known:
        for small, large in ordered(comparison):
            for bound in _bounds(small, large, comparison, dimension, atoms):
                key = bound.step, bound.limit
                both = shortest.get(key, bound), bound
                shortest[key] = min(both, key=lambda one: (len(one.conditions), not one.is_firm))
    return shortest


def common(all_known: Iterable[Iterable[Relation]], dimension: str, atoms: Atoms) -> list[IdBound]:
    """Return the bounds that hold in all of these places."""
    places = [bounds(known, dimension, atoms) for known in all_known]
    if not places:
        return []
    limits = set(places[0]).intersection(*places[1:])
    order = sorted(limits, key=lambda limit: (limit[0], _shortest(limit[1])))
    return [_joined([place[limit] for place in places]) for limit in order]


def of_threads(of_warps: Iterable[IdBound]) -> list[IdBound]:
    """Return bounds of the ids of threads, from those of the ids of warps; none of them is firm."""
    return [replace(b, limit=b.limit * WARP, is_firm=False) for b in of_warps if b.step == 1]


def _shortest(limit: IntegerPolynomial) -> tuple[int, str]:
    return len(limit.terms), str(limit.terms)


def _joined(alike: list[IdBound]) -> IdBound:
    conditions = sorted({c for bound in alike for c in bound.conditions}, key=_shortest)
    is_firm = all(bound.is_firm for bound in alike)
    return replace(alike[0], conditions=tuple(conditions), is_firm=is_firm)


def ordered(comparison: Relation) -> Iterator[tuple[IntegerPolynomial, IntegerPolynomial]]:
    """Yield pairs of which the first is less than the second; `<=` is `<` of one more."""
    left, right = comparison.left, comparison.right
    match comparison.relation:
        case "lt":
            yield left, right
        case "le":
            yield left, right + 1
        case "gt":
            yield right, left
        case "ge":
            yield right, left + 1
        case "eq" if comparison.bits >= ID_BITS:
            yield left, right + 1
            yield right, left + 1


def _bounds(
    small: IntegerPolynomial,
    large: IntegerPolynomial,
    comparison: Relation,
    dimension: str,
    atoms: Atoms,
) -> Iterator[IdBound]:
    if comparison.bits < ID_BITS:
        return
    yield from _of_multiple(small, large, comparison, dimension)
    shift = small - IntegerPolynomial.atom(IDENTITY, dimension)
    if not _is_shift(shift):
        return
    yield from _of_part(shift, large, comparison, atoms)
    for right, conditions, bits in _rights(large, comparison, atoms):
        if not is_of_parameters(right):
            continue
        least = shift.literal
        # Read as unsigned, a number below 0 is a large one.
        may_be_large = not comparison.signed and (least is None or least < -1)
        is_signed = comparison.relation == "eq" or (comparison.signed and not conditions)
        is_firm = is_signed and least is not None and _fits(right, bits)
        all_conditions = (*conditions, right) if may_be_large else conditions
        yield IdBound(right - shift, all_conditions, is_firm)


def _of_multiple(
    small: IntegerPolynomial, large: IntegerPolynomial, comparison: Relation, dimension: str
) -> Iterator[IdBound]:
    """`8 * id < n`, where each thread does eight.

    A launch is not trimmed unless its ids are little more than the bound (`cutune_most_idle`), so
    that with n itself below 2^30 their multiples fit into 32 bits with a sign.
    """
    step = dict(small.terms).get((Atom(IDENTITY, dimension),), 0)
    shift = (small - IntegerPolynomial.of({(Atom(IDENTITY, dimension),): step})).literal
    if not 1 < step <= _MOST_STEP or shift is None or not 0 <= shift <= _SMALL:
        return
    size = _without_constant(large)
    if size is not None and size.kind == PARAMETER and abs(constant_term(large)) <= _SMALL:
        yield IdBound(large - shift, (), comparison.signed, step)


def _of_part(
    shift: IntegerPolynomial, large: IntegerPolynomial, comparison: Relation, atoms: Atoms
) -> Iterator[IdBound]:
    """`id < n / 4`, in the forms that compilers leave: right where the quotient is at least 1."""
    constant = constant_term(large)
    operation = atoms.operation_of(large - constant)
    offset = (-shift + constant).literal
    if operation is None or offset is None or abs(offset) > _SMALL:
        return
    whole, by = _quotient(operation, atoms) or (None, 0)
    if whole is None or not is_of_parameters(whole):
        return
    # A number too large for a sign is divided as one below 0, which must not be read as a large
    # one. A parameter alone is known to fit.
    is_alone = _without_constant(whole) is not None
    if comparison.signed or is_alone or operation.name.split(".")[1][0] == "u":
        # Less than floor(n / by) is: by * (it + 1) <= n.
        limit = whole + (by * offset - by + 1)
        # Below 0 it is rounded upwards, or read as a large number.
        yield IdBound(limit, (whole,) if offset > 0 else (), False, by)


def _quotient(operation: AtomOperation, atoms: Atoms) -> tuple[IntegerPolynomial, int] | None:
    operands = operation.numbers
    by = operands[1].literal if len(operands) == 2 else None
    if by is None or by < 1:
        return None
    name, _, kind = operation.name.partition(".")
    if kind not in ("s32", "u32", "s64", "u64") or by > _MOST_BY.get(name, 0):
        return None
    if name == "div":
        return operands[0], by
    return _without_rounding(operands[0], by, kind[1:], atoms), 1 << by


def _without_rounding(
    value: IntegerPolynomial, by: int, bits: str, atoms: Atoms
) -> IntegerPolynomial:
    """`n + (n >> 31 >>> 30)` rounds negative n towards 0; others stay what they are."""
    for atom in set(value.atoms):
        outer = atoms.operation(atom)
        if outer is None or outer.name != f"shr.u{bits}" or is_of_parameters(value):
            continue
        sign, distance = outer.numbers
        inner = atoms.operation_of(sign)
        if inner is None or inner.name != f"shr.s{bits}" or distance.literal != int(bits) - by:
            continue
        rest = value - IntegerPolynomial.of({(atom,): 1})
        if inner.operands == (rest, IntegerPolynomial.constant(int(bits) - 1)):
            return rest
    return value


def _without_constant(value: IntegerPolynomial) -> Atom | None:
    return only_atom(IntegerPolynomial(tuple((m, c) for m, c in value.terms if m)))


def _is_shift(shift: IntegerPolynomial) -> bool:
    """A small number, or a parameter and a small number: id + shift cannot wrap around."""
    parameters = [(m, c) for m, c in shift.terms if m]
    if abs(constant_term(shift)) > _SMALL or len(parameters) > 1:
        return False
    return all(abs(c) == 1 and len(m) == 1 and m[0].kind == PARAMETER for m, c in parameters)


def _rights(
    large: IntegerPolynomial, comparison: Relation, atoms: Atoms
) -> Iterator[tuple[IntegerPolynomial, tuple[IntegerPolynomial, ...], int]]:
    """Upper limits of the larger side, their conditions, and the bits that hold them."""
    offset = constant_term(large)
    operation = atoms.operation_of(large - offset)
    if operation is None:
        yield large, (), comparison.bits
        return
    if abs(offset) > _SMALL:
        return
    kind, sign = operation.name, "s" if comparison.signed else "u"
    if kind in (f"min.{sign}32", f"min.{sign}64"):
        for operand in operation.numbers:
            yield operand + offset, (), int(kind[-2:])
    elif kind in ("s32", "s16", "s8"):
        yield operation.numbers[0] + offset, (), int(kind[1:])
    elif kind in ("u32", "u16", "u8"):
        yield operation.numbers[0] + offset, (operation.numbers[0],), int(kind[1:])


def _fits(value: IntegerPolynomial, bits: int) -> bool:
    """Is it what so many bits with a sign hold, whatever parameters are?

    A parameter and a small number are taken to: numbers with a sign do not overflow.
    """
    largest = {atom: 63 if atom.name.endswith(":b64") else 31 for atom in value.atoms}
    alone = _without_constant(value)
    if alone is not None:
        return largest[alone] < bits
    sizes = (abs(c) << sum(largest[atom] for atom in m) for m, c in value.terms)
    return sum(sizes) < 1 << (bits - 1)

"""Rows of threads: takes places that move in loops, says whether threads stay in rows of their own.

Where thread i writes `out[i * C + c]`, no two threads meet as long as 0 <= c < C, whatever way the
loops take, in any order and for any part of the row. So a place is `step * id + rest`, and from
where the row begins the rest is neither negative nor, with the bytes of the access, more than the
step. Where rows lie in larger ones, with one for each thread, `step * (id + threads * k) + rest`,
the same holds whatever k is; and so it does for planes that are as long as all rows, which a launch
is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import gcd

from cutune.frontend.values.polynomial import (
    IDENTITY,
    ONE,
    PARAMETER,
    ZERO,
    IntegerPolynomial,
    TooLarge,
)
from cutune.proof.flow.ranges import Ranges
from cutune.proof.memory.one_place import AccessPlace, is_multiple, size_of, steps_of
from cutune.proof.values.inequalities import Asked


@dataclass(frozen=True)
class OwnRow:
    """What to ask so that threads stay in rows of their own, and the steps of their ids.

    `plane`: each step of which must reach beyond the rows of all threads.
    """

    asked: Asked
    steps: tuple[tuple[str, IntegerPolynomial], ...]
    plane: IntegerPolynomial | None = None


def own_row(
    places: Sequence[AccessPlace],
    bytes: int,
    needed: frozenset[str],
    limits: Mapping[str, Sequence[IntegerPolynomial]],
    ranges: Ranges,
) -> OwnRow | None:
    """Do all of these places lie in one row per thread?

    Args:
        bytes: how many are used there, if more than in an access.
        needed: dimensions in which threads differ there.
        limits: for each, numbers that the id stays below.
    """
    try:
        return _own_row(places, bytes, needed, limits, ranges)
    except TooLarge:
        return None


def _own_row(
    places: Sequence[AccessPlace],
    bytes: int,
    needed: frozenset[str],
    limits: Mapping[str, Sequence[IntegerPolynomial]],
    ranges: Ranges,
) -> OwnRow | None:
    steps = _common_steps(places, needed, ranges)
    if not steps or not all(map(_are_exact, places)):
        return None
    rests = [_rest(place, steps) for place in places]
    begin = _begin(rests[0], steps[0][1])
    rests = [rest - begin for rest in rests]
    (dimension, step), found = steps[-1], []

    def try_rows(
        width: IntegerPolynomial, asked: Asked | None, plane: IntegerPolynomial | None = None
    ) -> None:
        for place, rest in zip(places, rests, strict=True):
            size = max(bytes, place.access.bytes)
            asked = _stays(asked, place, size, _without_rows(rest, width), steps[0][1], ranges)
        if asked is not None:
            found.append(OwnRow(asked, steps, plane))

    try_rows(ZERO, Asked())
    for row in limits.get(dimension, ()):
        if len((step * row).terms) == 1:
            try_rows(step * row, _below(places, dimension, row, ranges))
    if not found:
        degree = max(len(monomial) for monomial, _ in step.terms)
        for plane in _planes(rests, degree) if _move_alike(rests, ranges) else ():
            try_rows(plane, Asked(), plane)
    return min(found, key=lambda row: len(row.asked.not_negative), default=None)


def _move_alike(rests: Sequence[IntegerPolynomial], ranges: Ranges) -> bool:
    """Do places move by loops alone? Planes that threads choose are shorter than all rows."""
    known = [ranges.walk.atoms.of(rest) for rest in rests]
    return not any(one.ids or one.is_loaded for one in known)


def _planes(rests: Sequence[IntegerPolynomial], degree: int) -> list[IntegerPolynomial]:
    """Products of more sizes than this by which places may move."""
    terms = [(m, c) for rest in rests for m, c in rest.terms]
    sizes = {tuple(atom for atom in monomial if atom.kind == PARAMETER) for monomial, _ in terms}
    found = []
    for product in sorted(one for one in sizes if len(one) > degree):
        unit = IntegerPolynomial.of({product: 1})
        moving = [c for m, c in terms if is_multiple(unit, IntegerPolynomial.of({m: 1}))]
        found.append(IntegerPolynomial.of({product: gcd(*moving)}))
    return found


def _below(
    places: Sequence[AccessPlace], dimension: str, limit: IntegerPolynomial, ranges: Ranges
) -> Asked | None:
    """Is the id below a limit in all of these places?"""
    room = limit - IntegerPolynomial.atom(IDENTITY, dimension) - ONE
    found = [ranges.not_negative(room, place.access.known) for place in places]
    known = [one for one in found if one is not None]
    return reduce(Asked.joined, known) if len(known) == len(found) else None


def _common_steps(
    places: Sequence[AccessPlace], needed: frozenset[str], ranges: Ranges
) -> tuple[tuple[str, IntegerPolynomial], ...]:
    """The steps of the ids, the smallest first; none where they differ, or between threads."""
    found = [steps_of(place) for place in places]
    if not needed or found[0] is None or any(not needed <= (one or {}).keys() for one in found):
        return ()
    steps = {dimension: found[0][dimension] for dimension in needed}
    if any(one is None or one[d] != steps[d] for one in found for d in needed):
        return ()
    if any(step == ZERO or not _is_uniform(step, ranges) for step in steps.values()):
        return ()
    return tuple(sorted(steps.items(), key=lambda item: size_of(item[1])))


def _is_uniform(value: IntegerPolynomial, ranges: Ranges) -> bool:
    """Is it the same in all threads, at any time?"""
    known = ranges.walk.atoms.of(value)
    return not (known.raw or known.ids or known.loops or known.is_loaded)


def _rest(
    place: AccessPlace, steps: tuple[tuple[str, IntegerPolynomial], ...]
) -> IntegerPolynomial:
    rest = place.offset
    for dimension, step in steps:
        rest = rest - step * IntegerPolynomial.atom(IDENTITY, dimension)
    return rest


def _begin(rest: IntegerPolynomial, step: IntegerPolynomial) -> IntegerPolynomial:
    """Where rows begin, as far as that is the same for all threads: `out + first`."""
    of_step = {monomial for monomial, _ in step.terms}
    return IntegerPolynomial.of(
        {
            monomial: coefficient
            for monomial, coefficient in rest.terms
            if monomial and monomial not in of_step and all(a.kind == PARAMETER for a in monomial)
        }
    )


def _without_rows(rest: IntegerPolynomial, width: IntegerPolynomial) -> IntegerPolynomial:
    """The rest without whole rows of all threads."""
    if width == ZERO:
        return rest
    terms = {m: c for m, c in rest.terms if not is_multiple(width, IntegerPolynomial.of({m: c}))}
    return IntegerPolynomial.of(terms)


def _stays(
    asked: Asked | None,
    place: AccessPlace,
    bytes: int,
    offset: IntegerPolynomial,
    step: IntegerPolynomial,
    ranges: Ranges,
) -> Asked | None:
    """Does an offset stay within the step? `asked`: what has to be asked so far, if it does."""
    length = step if any(coefficient > 0 for _, coefficient in step.terms) else -step
    end = length - IntegerPolynomial.constant(bytes)
    for goal in (offset, end - offset, *place.unsigned):
        if asked is None:
            break
        one = ranges.not_negative(goal, place.access.known)
        asked = asked.joined(one) if one is not None else None
    return asked


def _are_exact(place: AccessPlace) -> bool:
    """Are unsigned indices in it parameters alone, which may be asked whether they are exact?"""
    return all(
        len(value.terms) == 1
        and value.terms[0][1] == 1
        and len(value.terms[0][0]) == 1
        and value.terms[0][0][0].kind == PARAMETER
        for value in place.unsigned
    )

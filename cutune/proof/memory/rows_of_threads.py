"""Each thread writes in a row of its own, within which a loop moves.

Takes places that move in loops, gives when no thread leaves its row.

Where thread i writes `out[i * C + c]`, no two threads meet as long as 0 <= c < C, whatever way the
loops take, in any order and for any part of the row. So a place is `step * id + rest`, and from
where the row begins the rest is neither negative nor, with the bytes of the access, more than the
step. Where rows lie in larger ones, with one for each thread, `step * (id + threads * k) + rest`,
the same holds for any k; and so it does for planes that are as long as all rows, which is a
condition of the launch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import gcd

from cutune.proof.flow.ranges import Ranges
from cutune.proof.memory.access_places import AccessPlace, by_size, is_multiple, steps_of
from cutune.proof.values.launch_conditions import NO_CONDITIONS, SizeConditions, all_of
from cutune.proof.values.polynomial import IDENTITY, PARAMETER, ZERO, IntegerPolynomial
from cutune.proof.values.terms import is_of_parameters, only_atom


@dataclass(frozen=True)
class RowPerThread:
    """Conditions under which threads stay in rows of their own, and the steps of their ids.

    `plane`: a width that must reach beyond the rows of all threads.
    """

    conditions: SizeConditions
    steps: tuple[tuple[str, IntegerPolynomial], ...]
    plane: IntegerPolynomial | None = None


def row_per_thread(
    places: Sequence[AccessPlace],
    bytes: int,
    needed: frozenset[str],
    limits: Mapping[str, Sequence[IntegerPolynomial]],
    ranges: Ranges,
) -> RowPerThread | None:
    """Return when all of these places lie in one row per thread; None: not proven.

    `bytes`: how many are used there, if more than in an access. `needed`: dimensions in which
    threads differ there. `limits`: for each, numbers that the id stays below. Raises TooLarge.
    """
    steps = _common_steps(places, needed, ranges)
    if not steps or not all(map(_are_exact, places)):
        return None
    rests = [place.offset for place in places]
    for d, of_id in steps:
        rests = [rest - of_id * IntegerPolynomial.atom(IDENTITY, d) for rest in rests]
    begin = _begin(rests[0], steps[0][1])
    rests = [rest - begin for rest in rests]
    (dimension, step), own_rows = steps[-1], []

    def try_rows(
        width: IntegerPolynomial,
        conditions: SizeConditions | None,
        plane: IntegerPolynomial | None = None,
    ) -> None:
        proven = (
            ranges.not_negative(goal, place.access.known)
            for place, rest in zip(places, rests, strict=True)
            for goal in _staying(place, bytes, _without_rows(rest, width), steps[0][1])
        )
        if (found := all_of(chain([conditions], proven))) is not None:
            own_rows.append(RowPerThread(found, steps, plane))

    try_rows(ZERO, NO_CONDITIONS)
    for row in limits.get(dimension, ()):
        if len((step * row).terms) == 1:
            try_rows(step * row, _below(places, dimension, row, ranges))
    if not own_rows:
        degree = max(len(monomial) for monomial, _ in step.terms)
        moving = ranges.walk.atoms.joined(rests)
        # Planes that threads choose, not loops alone, are shorter than all rows.
        for plane in () if moving.ids or moving.is_loaded else _planes(rests, degree):
            try_rows(plane, NO_CONDITIONS, plane)
    return min(own_rows, key=lambda row: len(row.conditions.not_negative), default=None)


def _planes(rests: Sequence[IntegerPolynomial], degree: int) -> list[IntegerPolynomial]:
    """Products of more sizes than this by which places may move."""
    terms = [(m, c) for rest in rests for m, c in rest.terms]
    sizes = {tuple(atom for atom in monomial if atom.kind == PARAMETER) for monomial, _ in terms}
    planes = []
    for product in sorted(one for one in sizes if len(one) > degree):
        unit = IntegerPolynomial.of({product: 1})
        moving = [c for m, c in terms if is_multiple(unit, IntegerPolynomial.of({m: 1}))]
        planes.append(IntegerPolynomial.of({product: gcd(*moving)}))
    return planes


def _below(
    places: Sequence[AccessPlace], dimension: str, limit: IntegerPolynomial, ranges: Ranges
) -> SizeConditions | None:
    room = limit - IntegerPolynomial.atom(IDENTITY, dimension) - 1
    return all_of([ranges.not_negative(room, place.access.known) for place in places])


def _common_steps(
    places: Sequence[AccessPlace], needed: frozenset[str], ranges: Ranges
) -> tuple[tuple[str, IntegerPolynomial], ...]:
    """The steps of the ids, the smallest first; none where they differ, or between threads."""
    of_places = [steps_of(place) or {} for place in places]
    if not needed or any(not needed <= one.keys() for one in of_places):
        return ()
    steps = {dimension: of_places[0][dimension] for dimension in needed}
    are_alike = all(one[d] == steps[d] for one in of_places for d in needed)
    atoms = ranges.walk.atoms
    if not are_alike or any(s == ZERO or not atoms.of(s).is_uniform for s in steps.values()):
        return ()
    return tuple(by_size(steps))


def _begin(rest: IntegerPolynomial, step: IntegerPolynomial) -> IntegerPolynomial:
    """The part of the beginning of rows that is the same for all threads: `out + first`."""
    beside = [(m, c) for m, c in rest.terms if m and m not in dict(step.terms)]
    return IntegerPolynomial.of(
        {m: c for m, c in beside if all(atom.kind == PARAMETER for atom in m)}
    )


def _without_rows(rest: IntegerPolynomial, width: IntegerPolynomial) -> IntegerPolynomial:
    if width == ZERO:
        return rest
    terms = {m: c for m, c in rest.terms if not is_multiple(width, IntegerPolynomial.of({m: c}))}
    return IntegerPolynomial.of(terms)


def _staying(
    place: AccessPlace, bytes: int, offset: IntegerPolynomial, step: IntegerPolynomial
) -> tuple[IntegerPolynomial, ...]:
    """Values that are not negative where an offset stays within the step."""
    length = step if any(coefficient > 0 for _, coefficient in step.terms) else -step
    return offset, length - max(bytes, place.access.bytes) - offset, *place.unsigned


def _are_exact(place: AccessPlace) -> bool:
    """Is each unsigned index in it one parameter? A launch is asked whether that is exact."""
    return all(only_atom(v) is not None and is_of_parameters(v) for v in place.unsigned)

"""Each thread writes places of its own. Takes places, gives conditions under which that holds.

By digits, where ids are split by `/` and `%`: no two threads have the same place.

A place is a sum of digits, each with its step (`digits`), as in `out[(x % w) * h + x / w]`. Let the
digits be in some order, so that each step is at least as long as the step before it times the
numbers that the digit before it can be, the first one at least as long as the access. Then equal
places have equal digits: of those that differ, the last one moves the place farther than all others
can bring it back. So they are of one id. Signs of steps do not matter in this.

How many numbers the uppermost digit of an id can be, its bound says: where x < limit and
limit <= divisor * times, x / divisor < times. A rest that moves in loops has to move by steps that
are longer than all digits together.

In `for (j = id; j < n; j += threads)` each thread does the elements j = id + threads * rounds, and
no two do the same one: there digits of j tell threads and rounds apart, as those of an id do.

In a row, within which a loop moves: where thread i writes `out[i * C + c]`, no two threads meet as
long as 0 <= c < C, whatever way the loops take, in any order and for any part of the row. So a
place is `step * id + rest`, and from where the row begins the rest is neither negative nor, with
the bytes of the access, more than the step. Where rows lie in larger ones, with one for each
thread, `step * (id + threads * k) + rest`, the same holds for any k; and so it does for planes that
are as long as all rows, which is a condition of the launch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, permutations
from math import gcd

from cutune.proof.flow.ranges import Ranges
from cutune.proof.flow.walk import Walk
from cutune.proof.memory.access_places import (
    LARGEST_UNSIGNED,
    AccessPlace,
    by_size,
    common_width,
    is_multiple,
    size_of,
    steps_of,
)
from cutune.proof.values.id_bounds import ID_BITS, ordered
from cutune.proof.values.id_digits import Digit, DigitReader, InDigits
from cutune.proof.values.launch_conditions import (
    LARGEST,
    NO_CONDITIONS,
    SizeConditions,
    Spread,
    all_of,
    can_hold,
)
from cutune.proof.values.polynomial import (
    IDENTITY,
    ONE,
    OPAQUE,
    PARAMETER,
    STRIDE,
    ZERO,
    IntegerPolynomial,
    TooLarge,
    exactly,
)
from cutune.proof.values.terms import is_of_parameters, only_atom


def elements_of(header: int, dimension: str) -> IntegerPolynomial:
    """Return the amount that a loop has added to the id so far."""
    threads = IntegerPolynomial.atom(STRIDE, dimension)
    return threads * IntegerPolynomial.atom(OPAQUE, f"rounds{header}")


def element_limits(walk: Walk, header: int, dimension: str) -> frozenset[IntegerPolynomial]:
    """Return numbers n of parameters such that elements are below n, if n is from 1 to 2^30.

    A thread that comes to the loop has tested `id < n`, and one that goes on `j + threads < n`,
    both on registers. By induction these hold the exact numbers: j < n <= 2^30, and there are at
    most 2^30 threads, so that j + threads fits, with a sign or without.
    """
    identity = IntegerPolynomial.atom(IDENTITY, dimension)
    threads = IntegerPolynomial.atom(STRIDE, dimension)
    following = identity + elements_of(header, dimension) + threads
    ways = [(block, identity) for block in walk.graph.entries(header)]
    ways += [(block, following) for block in walk.graph.latches(header)]
    limits = [
        frozenset(
            large
            for comparison in walk.known_on_way(block, header)
            if comparison.bits >= ID_BITS
            for small, large in ordered(comparison)
            if small == value and is_of_parameters(large)
        )
        for block, value in ways
    ]
    return frozenset.intersection(*limits) if limits else frozenset()


#: Orders of more digits are not tried.
_MOST_DIGITS = 5


Separated = tuple[SizeConditions, frozenset[Spread]]
"""Conditions under which each thread has places of its own."""


def separating_digits(
    place: AccessPlace,
    bytes: int,
    needed: frozenset[str],
    limits: Mapping[str, Sequence[IntegerPolynomial]],
    ranges: Ranges,
) -> Separated | None:
    """Return when digits tell threads apart in a place; None: not proven.

    `bytes`: how many are used there. `needed`: dimensions in which threads differ there. `limits`:
    for each, numbers that the id stays below.
    """
    for ends in (_Ends(limits), _strided(place, needed, limits, ranges.walk)):
        try:
            if ends is not None and (own := _by_ends(place, bytes, needed, ends, ranges.walk)):
                return own
        except TooLarge:
            continue
    return None


@dataclass(frozen=True)
class _Ends:
    """Numbers that ids stay below, or elements in dimensions over which a loop strides.

    `elements`: the amount that such a loop adds to the id, by dimension.
    """

    limits: Mapping[str, Sequence[IntegerPolynomial]]
    elements: Mapping[str, IntegerPolynomial] = field(default_factory=dict)
    conditions: SizeConditions = NO_CONDITIONS

    def of(self, dimension: str) -> Sequence[IntegerPolynomial]:
        return self.limits.get(dimension, ())


def _strided(
    place: AccessPlace,
    needed: frozenset[str],
    limits: Mapping[str, Sequence[IntegerPolynomial]],
    walk: Walk,
) -> _Ends | None:
    ends: dict[str, Sequence[IntegerPolynomial]] = {}
    elements: dict[str, IntegerPolynomial] = {}
    for header in sorted(walk.graph.loops_around[place.access.block]):
        for dimension in needed - elements.keys():
            if found := element_limits(walk, header, dimension):
                ends[dimension] = sorted(found, key=size_of)
                elements[dimension] = elements_of(header, dimension)
    every = [one for each in ends.values() for one in each]
    within = frozenset(end for one in every for end in (one - 1, LARGEST - one))
    return _Ends({**limits, **ends}, elements, SizeConditions(within)) if elements else None


def _by_ends(
    place: AccessPlace, bytes: int, needed: frozenset[str], ends: _Ends, walk: Walk
) -> Separated | None:
    parts = _in_digits(place, ends, walk)
    if parts is None or not needed <= {digit.dimension for digit in parts.digits}:
        return None
    terms = [IntegerPolynomial((term,)) for term in parts.rest.terms]
    known = walk.atoms.joined(terms)
    is_uniform = all(walk.atoms.of(digit.step).is_uniform for digit in parts.digits)
    if known.ids or known.is_loaded or not is_uniform:
        return None
    moving = [term for term in terms if walk.atoms.of(term).loops]
    width = common_width(moving, walk.atoms) if moving else None
    if moving and width is None:
        return None
    spreads = _least(parts.digits, bytes, width, ends)
    return None if spreads is None else (parts.conditions, spreads)


def _in_digits(place: AccessPlace, ends: _Ends, walk: Walk) -> InDigits | None:
    assert place.base is not None and place.access.address is not None
    reader = DigitReader(walk.atoms, walk.alternatives, ends.elements)
    offset = place.access.address - IntegerPolynomial.of({(place.base,): 1})
    parts = reader.in_digits(reader.read(offset))
    # In place of an id, all of the element must be there.
    rounds = {atom for one in ends.elements.values() for atom in one.atoms if atom.kind == OPAQUE}
    if parts is None or not rounds.isdisjoint(parts.rest.atoms):
        return None
    conditions = parts.conditions.joined(ends.conditions)
    for value in reader.unsigned:
        if (fits := _fits(reader.in_digits(value), ends)) is None:
            return None
        conditions = conditions.joined(fits)
    return InDigits(parts.digits, parts.rest, conditions)


def _least(
    digits: Sequence[Digit], bytes: int, width: IntegerPolynomial | None, ends: _Ends
) -> frozenset[Spread] | None:
    """The fewest conditions that an order of digits needs. `width`: all stay below it."""
    moving = [digit for digit in digits if digit.step != ZERO]
    # A digit that is not in the place must be 0. For one digit alone that never holds.
    zeros = [_zero(digit, ends) for digit in digits if digit.step == ZERO]
    of_zeros = frozenset(spread for zero in zeros for spread in zero or ())
    if len(moving) > _MOST_DIGITS or len(moving) < 1 + len(zeros) or None in zeros:
        return None
    if not all(map(can_hold, of_zeros)):
        return None
    orders = permutations(sorted(moving, key=lambda digit: size_of(digit.step)))
    of_orders = (_conditions(order, bytes, width, ends) for order in orders)
    least = min((one for one in of_orders if one is not None), key=len, default=None)
    return None if least is None else least | of_zeros


def _zero(digit: Digit, ends: _Ends) -> frozenset[Spread] | None:
    """Conditions under which the uppermost digit of an id is 0: no id reaches its divisor."""
    limits = ends.of(digit.dimension)
    if digit.radix is not None or digit.divisor == ONE:
        return None
    if digit.divisor in limits:
        return frozenset()
    if any(exactly(limit, digit.divisor) is not None for limit in limits):
        return None  # it is as many numbers as some size: 0 alone where that is 1
    if limits:
        return frozenset({Spread(digit.divisor, limits[0], -1)})
    if digit.dimension in ends.elements:
        return None
    return frozenset({Spread(digit.divisor, ONE, "xyz".index(digit.dimension))})


def _conditions(
    order: Sequence[Digit], bytes: int, width: IntegerPolynomial | None, ends: _Ends
) -> frozenset[Spread] | None:
    spreads = []
    first = order[0].step
    if first.literal is None:
        spreads.append(Spread(first, IntegerPolynomial.constant(bytes), -1))
    elif abs(first.literal) < bytes:
        return None
    larger = [digit.step for digit in order[1:]] + ([] if width is None else [width])
    for digit, step in zip(order, larger, strict=False):
        if step in _wholes(digit, ends):
            continue
        if (reaches := next(_reaches(digit, step, ends), None)) is None:
            return None
        spreads.append(reaches)
    return frozenset(spreads) if all(map(can_hold, spreads)) else None


def _wholes(digit: Digit, ends: _Ends) -> Iterator[IntegerPolynomial]:
    """Steps that are as long as all numbers that the digit can be."""
    if digit.radix is not None:
        counts = [digit.radix]
    else:
        limits = [*ends.of(digit.dimension)]
        if digit.dimension not in ends.elements:
            limits.append(IntegerPolynomial.atom(STRIDE, digit.dimension))
        counts = [count for end in limits if (count := exactly(end, digit.divisor)) is not None]
    yield from (step * radix for radix in counts for step in (digit.step, -digit.step))


def _reaches(digit: Digit, larger: IntegerPolynomial, ends: _Ends) -> Iterator[Spread]:
    """Conditions under each of which a step is as long as all numbers that the digit can be."""
    if digit.radix is not None:
        yield Spread(larger, digit.step * digit.radix, -1)
        return
    limits = ends.of(digit.dimension)
    # Elements may be more than there are threads.
    threads = None if digit.dimension in ends.elements else "xyz".index(digit.dimension)
    times = exactly(larger, digit.step)
    if times is not None:
        room = digit.divisor * times
        yield from (Spread(room, end, -1) for end in limits)
        if threads is not None:
            yield Spread(room, ONE, threads)
    elif digit.divisor == ONE:
        yield from (Spread(larger, digit.step * end, -1) for end in limits)
        if threads is not None:
            yield Spread(larger, digit.step, threads)
    counts = (exactly(end, digit.divisor) for end in limits)
    yield from (Spread(larger, digit.step * count, -1) for count in counts if count is not None)


def _fits(value: InDigits | None, ends: _Ends) -> SizeConditions | None:
    """Conditions under which a number without a sign is below 2^32, and nothing in it negative."""
    if value is None or not is_of_parameters(value.rest):
        return None
    not_negative, most, scale = [value.rest], value.rest, ONE
    for digit in value.digits:
        if not is_of_parameters(digit.step):
            return None
        not_negative.append(digit.step)
        if digit.radix is not None:
            most = most + scale * digit.step * digit.radix
            continue
        end = next(iter(ends.of(digit.dimension)), None)
        if end is None:
            return None
        # digit <= end / divisor: all is multiplied by the divisor.
        most, scale = most * digit.divisor + scale * digit.step * end, scale * digit.divisor
    not_negative.append(LARGEST_UNSIGNED * scale - most)
    if any((one.literal or 0) < 0 for one in not_negative):
        return None
    return SizeConditions(frozenset(one for one in not_negative if one.literal is None))


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
    # A launch is asked whether an unsigned index of one parameter is exact.
    unsigned = [value for place in places for value in place.unsigned]
    if not steps or not all(only_atom(v) and is_of_parameters(v) for v in unsigned):
        return None
    rests = [place.offset for place in places]
    for d, of_id in steps:
        rests = [rest - of_id * IntegerPolynomial.atom(IDENTITY, d) for rest in rests]
    # The part of the beginning of rows that is the same for all threads: `out + first`.
    beside = {m: c for m, c in rests[0].terms if m and m not in dict(steps[0][1].terms)}
    common = {m: c for m, c in beside.items() if all(atom.kind == PARAMETER for atom in m)}
    rests = [rest - IntegerPolynomial.of(common) for rest in rests]
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
            room = row - IntegerPolynomial.atom(IDENTITY, dimension) - 1
            below = (ranges.not_negative(room, place.access.known) for place in places)
            try_rows(step * row, all_of([*below]))
    if not own_rows:
        degree = max(len(monomial) for monomial, _ in step.terms)
        moving = ranges.walk.atoms.joined(rests)
        # Planes that threads choose, not loops alone, are shorter than all rows.
        for plane in () if moving.ids or moving.is_loaded else _planes(rests, degree):
            try_rows(plane, NO_CONDITIONS, plane)
    return min(own_rows, key=lambda row: len(row.conditions.not_negative), default=None)


def _planes(rests: Sequence[IntegerPolynomial], degree: int) -> list[IntegerPolynomial]:
    terms = [(m, c) for rest in rests for m, c in rest.terms]
    sizes = {tuple(atom for atom in monomial if atom.kind == PARAMETER) for monomial, _ in terms}
    planes = []
    for product in sorted(one for one in sizes if len(one) > degree):
        unit = IntegerPolynomial.of({product: 1})
        moving = [c for m, c in terms if is_multiple(unit, IntegerPolynomial.of({m: 1}))]
        planes.append(IntegerPolynomial.of({product: gcd(*moving)}))
    return planes


def _common_steps(
    places: Sequence[AccessPlace], needed: frozenset[str], ranges: Ranges
) -> tuple[tuple[str, IntegerPolynomial], ...]:
    of_places = [steps_of(place) or {} for place in places]
    if not needed or any(not needed <= one.keys() for one in of_places):
        return ()
    steps = {dimension: of_places[0][dimension] for dimension in needed}
    are_alike = all(one[d] == steps[d] for one in of_places for d in needed)
    atoms = ranges.walk.atoms
    if not are_alike or any(s == ZERO or not atoms.of(s).is_uniform for s in steps.values()):
        return ()
    return tuple(by_size(steps))


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

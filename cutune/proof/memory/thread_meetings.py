"""Threads that meet in memory. Takes the accesses of an entry, gives conditions on its launches.

Programs have relied on the threads of a warp running in step: one reads a value that its neighbour
has written or is about to write, without a barrier; or several write one place, and the last one
wins. Such a program keeps working where each warp keeps its threads. (Between different warps the
same without synchronization is a data race of the original.) So each write must have a place of its
own for each thread, and no other thread may access it: decided on addresses as the compiled code
computes them. Where that is not proven, warps keep their threads.

Addresses are taken not to wrap around.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import NoReturn

from cutune.core.codes import Code
from cutune.proof.flow.ranges import Ranges
from cutune.proof.memory.access_places import (
    AccessPlace,
    are_equal_stores,
    by_size,
    common_width,
    decisive_places,
    exact_factors,
    is_multiple,
    leads_back,
    never_overlap,
    parts_of,
    place_of,
    quotient,
    rest_of_both,
    single_threads,
    steps_of,
    terms_by_ids,
    wrap_together,
)
from cutune.proof.memory.accesses import COMMUTATIVE, MemoryAccess
from cutune.proof.memory.own_places import row_per_thread, separating_digits
from cutune.proof.values.launch_conditions import Meetings, Spread
from cutune.proof.values.operations import NotUnderstood
from cutune.proof.values.polynomial import IDENTITY, STRIDE, ZERO, Atom, IntegerPolynomial, TooLarge
from cutune.proof.values.terms import Atoms

#: Atomic operations that may not be done in any order, if their operands differ.
_ORDERED = frozenset({"exch", "cas", "inc", "dec"})
_ANY_ORDER = COMMUTATIVE - _ORDERED
#: So far may ids move an unsigned index in one dimension: in three they stay below 2^32.
_INDICES = IntegerPolynomial.constant(1 << 30)
_Widths = frozenset[IntegerPolynomial]
#: Where it begins, bytes and step, and the widths that tell rows apart.
Column = tuple[Atom, int, int, _Widths]


def meetings(
    accesses: Iterable[MemoryAccess],
    atoms: Atoms,
    indexed: frozenset[str],
    limits: Mapping[str, list[IntegerPolynomial]],
    ranges: Ranges,
) -> Meetings:
    """Return the conditions under which threads meet as in the original.

    `indexed`: the dimensions in which threads differ. `limits`: the guard bounds by dimension.
    Raises NotUnderstood for operations whose order matters even if warps keep their threads.
    """
    job = _ThreadMeetings(atoms, indexed, limits, ranges)
    seen = (a for a in accesses if a.kind != "end" and a.space not in ("const", "local"))
    job.judge([place_of(access, atoms) for access in seen])
    return job.conditions.that_can_hold()


@dataclass
class _ThreadMeetings:
    atoms: Atoms
    indexed: frozenset[str]
    limits: Mapping[str, list[IntegerPolynomial]]
    ranges: Ranges
    conditions: Meetings = field(default_factory=Meetings)

    def __post_init__(self) -> None:
        # Of single places the results are kept: there are many pairs.
        self._is_exact, self._column = cache(self._tells_ids_apart), cache(self._column_of)
        self._has_own_digits, self._share_row = cache(self._digits), cache(self._row)

    def judge(self, places: list[AccessPlace]) -> None:
        writes = [place for place in places if place.access.is_effect]
        order = {write: index for index, write in enumerate(writes)}
        outside: dict[Column, list[AccessPlace]] = {}
        for index, write in enumerate(writes):
            if not self._is_own(write, places):
                self._shared(write)
            column = self._certain_column(write)
            if column is not None and column not in outside:
                outside[column] = [p for p in places if self._certain_column(p) != column]
            others = places if column is None else outside[column]
            later = [other for other in others if order.get(other, -1) > index]
            for other in [*later, *(p for p in others if not p.access.is_effect)]:
                self._two(write, other)

    def _certain_column(self, place: AccessPlace) -> Column | None:
        if place.access.kind == "atomic" or place.base is None or place.unsigned or place.factors:
            return None
        column = self._column(place)
        return (place.base, *column) if column[-1] else None

    def _is_own(self, write: AccessPlace, places: list[AccessPlace]) -> bool:
        alike = [p for p in places if p.base is None or p.base == write.base]
        # A flag: all writes there store the same, and it is never read.
        is_flag = write.access.kind == "store" and write.base is not None
        if self._has_own_place(write) or (is_flag and all(self._is_flag(write, p) for p in alike)):
            return True
        # Operations in any order need no row, and so no conditions.
        return _operation(write) not in _ANY_ORDER and self._share_own_row(write)

    def _shared(self, write: AccessPlace) -> None:
        operation = _operation(write)
        if write.access.kind != "atomic":
            self.conditions.keep_warps = True
        elif operation == "cas" or (operation == "exch" and not self._are_uniform(write)):
            # A flag, to which all threads give one value, may be set in any order.
            self._refuse(write, f"atomic '{operation}' at a place that threads may share")
        elif operation in ("inc", "dec") and not self._are_uniform(write):
            self._refuse(write, f"atomic '{operation}' with different bounds")

    def _refuse(self, place: AccessPlace, what: str) -> NoReturn:
        raise NotUnderstood(Code.ORDERING, what, place.access.instruction)

    def _are_uniform(self, write: AccessPlace) -> bool:
        properties = self.atoms.joined(write.access.values)
        return not (properties.ids or properties.loops or properties.is_loaded)

    def _two(self, write: AccessPlace, other: AccessPlace) -> None:
        if write.access.kind == other.access.kind == "atomic":
            self._two_atomics(write, other)
            return
        if write.base is None or other.base is None:
            self.conditions.keep_warps = True
        elif write.base != other.base:
            self._two_bases(write, other)
        elif not self._is_flag(write, other) and not self._are_own(write, other):
            self.conditions.keep_warps = True

    def _are_own(self, write: AccessPlace, other: AccessPlace) -> bool:
        return self._are_exact(write, other) and (
            self._are_columns(write, other)
            or never_overlap(write, other)
            or self._are_one_place(write, other)
            or self._are_digits(write, other)
            or self._share_own_row(write, other)
            or self._is_of_no_thread(other, write)
            or (other.access.is_effect and self._is_of_no_thread(write, other))
        )

    def _are_one_place(self, write: AccessPlace, other: AccessPlace) -> bool:
        """Is it one place, that of the thread? One of the two may be for a single thread alone."""
        needing_own = decisive_places(write, other)
        # Where the place does not tell threads apart, both come from one and the same thread.
        needed = self.indexed - single_threads(write.access.known & other.access.known, self.atoms)
        bytes = max(write.access.bytes, other.access.bytes)
        # In a row both have to stay, each by the comparisons that hold where it is.
        both = (write, other)
        own_places = (self._has_own_place(p, bytes, both, needed) for p in needing_own)
        return bool(needing_own) and all(own_places)

    def _is_of_no_thread(self, place: AccessPlace, write: AccessPlace) -> bool:
        """Would the place be written by an id of -1? So all rows read the one in front of them.

        Ids lie apart as for other places. In the next larger step there must be room for one more.
        """
        parts, others = parts_of(write, self.atoms), steps_of(place)
        if parts is None or others is None:
            return False
        steps, moving = parts
        order = [dimension for dimension, _ in by_size(steps)]
        match [dimension for dimension in order if others.get(dimension) != steps[dimension]]:
            case [dimension] if dimension not in others and not moving:
                step = steps[dimension]
            case _:
                return False
        bytes = max(write.access.bytes, place.access.bytes)
        if rest_of_both(place, write, self.atoms) != [step]:
            return False
        if not self._has_own_place(write, bytes):
            return False
        for larger in (steps[d] for d in order[order.index(dimension) + 1 :][:1]):
            extent = "xyz".index(dimension)
            self.conditions.spreads |= {Spread(larger + s, step, extent) for s in (step, -step)}
        return True

    def _are_columns(self, first: AccessPlace, second: AccessPlace) -> bool:
        """Places `id + rows * width` with the id below the width: a column for each thread."""
        one, other = self._column(first), self._column(second)
        return one[:2] == other[:2] and not one[2].isdisjoint(other[2])

    def _column_of(self, place: AccessPlace) -> tuple[int, int, _Widths]:
        bytes, dimension = place.access.bytes, min(self.indexed, default="")
        identity = (Atom(IDENTITY, dimension),)
        step = dict(place.offset.terms).get(identity, 0) if len(self.indexed) == 1 else 0
        if abs(step) < bytes:
            return bytes, step, _Widths()
        rest = place.offset - IntegerPolynomial.of({identity: step})
        widths = (limit * step for limit in self.limits.get(dimension, ()))
        return bytes, step, frozenset(width for width in widths if _are_multiples(width, [rest]))

    def _are_digits(self, first: AccessPlace, second: AccessPlace) -> bool:
        """Places that are numbers of mixed radix, with the ids as their lower digits.

        `x * s + y * (s * width) + …`: each step is a constant times the step before it times a row
        in which the id before it stays, so that equal places have equal ids, if all else in them
        is a multiple of these widths, too: of the last one as well, or less than the last step.
        """
        steps, other_steps = steps_of(first), steps_of(second)
        if not steps or steps != other_steps or not self.indexed <= steps.keys():
            return False
        (dimension, least), *others = by_size(steps)
        bytes = max(first.access.bytes, second.access.bytes)
        if least.literal is None or abs(least.literal) < bytes:
            return False
        rest = rest_of_both(first, second, self.atoms)
        return rest is not None and self._tell_apart(dimension, least, others, rest)

    def _tell_apart(
        self,
        dimension: str,
        step: IntegerPolynomial,
        others: Sequence[tuple[str, IntegerPolynomial]],
        rest: Sequence[IntegerPolynomial],
    ) -> bool:
        """Do the digits from this one on tell threads apart, whatever the rest is?"""
        for row in self._rows(dimension):
            width = step * row
            if not _are_multiples(width, rest):
                continue
            if not others:
                return True
            (following, larger), *behind = others
            times = quotient(larger, width)
            if not times:
                continue
            # In the last digit the rest may stand for a part of the step.
            part = quotient(rest[0], width) if not behind and len(rest) == 1 else None
            if 0 < abs(part or 0) < abs(times) or self._tell_apart(following, larger, behind, rest):
                return True
        return False

    def _is_flag(self, write: AccessPlace, other: AccessPlace) -> bool:
        return are_equal_stores(write, other) and self._are_uniform(write)

    def _two_atomics(self, first: AccessPlace, second: AccessPlace) -> None:
        if self._commute(first, second):
            return
        are_known = first.base is not None and second.base is not None
        if are_known and first.base != second.base:
            self._two_bases(first, second)
        elif not (are_known and self._are_exact(first, second) and never_overlap(first, second)):
            self._refuse(first, "different atomic operations on one array")

    def _commute(self, first: AccessPlace, second: AccessPlace) -> bool:
        """May either come first? Not where they count up to a bound, or exchange values."""
        if first.access.operation != second.access.operation:
            return False
        is_same = first.access.values == second.access.values and self._are_uniform(first)
        if is_same or _operation(first) not in _ORDERED:
            return True
        return first.base is not None and first.base == second.base and self._are_own(first, second)

    def _are_exact(self, first: AccessPlace, second: AccessPlace) -> bool:
        return self._is_exact(first) and self._is_exact(second) and wrap_together(first, second)

    def _tells_ids_apart(self, place: AccessPlace) -> bool:
        """Do unsigned indices tell ids apart? Perhaps on conditions, which are noted then."""
        needed = list[Spread]()
        for value in place.unsigned:
            for ids, rest, coefficient in terms_by_ids(value):
                step = IntegerPolynomial.of({rest: coefficient})
                properties = self.atoms.joined([step])
                if len(ids) > 1 or properties.ids or properties.loops:
                    return False
                if ids and (rest or abs(coefficient) != 1):
                    needed.append(Spread(_INDICES, step, "xyz".index(ids[0].name)))
        self.conditions.spreads.update(needed)
        self.conditions.ask(exact_factors(place))
        return True

    def _two_bases(self, first: AccessPlace, second: AccessPlace) -> None:
        assert first.base is not None and second.base is not None
        # A pointer to the end of an array may be the beginning of another allocation.
        is_end = leads_back(first) or leads_back(second)
        if is_end or not self.conditions.lie_apart(first.base, second.base):
            self.conditions.keep_warps = True

    def _has_own_place(
        self,
        place: AccessPlace,
        bytes: int = 0,
        both: Sequence[AccessPlace] = (),
        needed: frozenset[str] = frozenset(),
    ) -> bool:
        """Do threads use different places? Perhaps on conditions, which are noted then.

        `bytes`, `needed`: how many are used, and dimensions in which threads differ there, besides
        those of this access. `both`: the accesses for which it stands, if not for its own alone.
        """
        if place.base is None:
            return False
        needed |= self.indexed - single_threads(place.access.known, self.atoms)
        bytes = max(bytes, place.access.bytes)
        parts = parts_of(place, self.atoms) if self._is_exact(place) else None
        if parts is None:
            # Where warps are kept, nothing is gained by it.
            return not self.conditions.keep_warps and self._has_own_digits(place, bytes, needed)
        steps, moving = parts
        if not needed <= steps.keys() or any(step == ZERO for step in steps.values()):
            return False
        return self._are_spread(steps, moving, bytes, both or (place,))

    def _digits(self, place: AccessPlace, bytes: int, needed: frozenset[str]) -> bool:
        own = separating_digits(place, bytes, needed, self.limits, self.ranges)
        if own is not None:
            self.conditions.ask(own[0])
            self.conditions.spreads |= own[1]
        return own is not None

    def _share_own_row(self, *places: AccessPlace, bytes: int = 0) -> bool:
        # Where warps are kept, nothing is gained by it.
        return not self.conditions.keep_warps and self._share_row(places, bytes)

    def _row(self, places: tuple[AccessPlace, ...], bytes: int) -> bool:
        known = frozenset.intersection(*(place.access.known for place in places))
        needed, row = self.indexed - single_threads(known, self.atoms), None
        with suppress(TooLarge):
            row = row_per_thread(places, bytes, needed, self.limits, self.ranges)
        if row is not None:
            self.conditions.ask(row.conditions)
            self._reach_each_other(row.steps, row.plane)
        return row is not None

    def _are_spread(
        self,
        steps: Mapping[str, IntegerPolynomial],
        moving: Sequence[IntegerPolynomial],
        bytes: int,
        places: Sequence[AccessPlace],
    ) -> bool:
        """Do ids lie far enough apart, and rounds farther than all ids, or in a thread's row?"""
        order = by_size(steps)
        if not order:
            return True
        first = order[0][1]
        if first.literal is not None and abs(first.literal) < bytes:
            return False
        dimension, largest = order[-1]
        # A round may move by whole rows, as long as the extent.
        if any(_are_multiples(largest * row, moving) for row in self._rows(dimension)):
            moving = []
        if moving and self._share_own_row(*places, bytes=bytes):
            return True
        width = common_width(moving, self.atoms)
        if moving and width is None:
            return False
        if first.literal is None:
            self.conditions.spreads.add(Spread(first, IntegerPolynomial.constant(bytes), -1))
        self._reach_each_other(order, width)
        return True

    def _rows(self, dimension: str) -> list[IntegerPolynomial]:
        return [*self.limits.get(dimension, ()), IntegerPolynomial.atom(STRIDE, dimension)]

    def _reach_each_other(
        self, steps: Sequence[tuple[str, IntegerPolynomial]], beyond: IntegerPolynomial | None
    ) -> None:
        """Need each step to reach beyond the extent of the one before, and one beyond them all."""
        every = [*steps, ("", beyond)] if beyond is not None else steps
        for (dimension, smaller), (_, larger) in pairwise(every):
            if not self._is_row(smaller, larger, dimension):
                self.conditions.spreads.add(Spread(larger, smaller, "xyz".index(dimension)))

    def _is_row(
        self, smaller: IntegerPolynomial, larger: IntegerPolynomial, dimension: str
    ) -> bool:
        spares = [(larger - smaller * row).literal for row in self._rows(dimension)]
        # Steps may be negative: their lengths count.
        sign = smaller.literal or 0
        return any(spare is not None and (spare == 0 or spare * sign > 0) for spare in spares)


def _operation(place: AccessPlace) -> str:
    return place.access.operation.split(".")[0]


def _are_multiples(width: IntegerPolynomial, values: Iterable[IntegerPolynomial]) -> bool:
    return len(width.terms) == 1 and all(is_multiple(width, value) for value in values)

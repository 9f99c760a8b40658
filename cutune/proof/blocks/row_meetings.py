"""Meetings of threads that share rows. Takes accesses and who makes them, gives conditions.

With another block, elements that one thread did one after the other are done by several threads at
once. So a place written for one element must not be read or written for another; keeping the
threads of each warp is not enough. Different blocks need not be looked at: they keep their indices,
and where one changes what another uses, without order, it is a race of the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from cutune.core.codes import Code
from cutune.proof.flow.graph import Phases
from cutune.proof.memory.access_places import (
    AccessPlace,
    are_equal_stores,
    common_step,
    exact_factors,
    is_multiple,
    never_overlap,
    wrap_together,
)
from cutune.proof.values.launch_conditions import Meetings, Spread
from cutune.proof.values.operations import NotUnderstood
from cutune.proof.values.polynomial import ZERO, IntegerPolynomial
from cutune.proof.values.terms import Atoms, constant_term


@dataclass(frozen=True)
class Row:
    """A row whose elements a loop visits: J, which counts them, and how many (None: not known).

    `end`: all J are less than that, a number that a launch may not know; None: not known either.
    """

    element: IntegerPolynomial
    limit: IntegerPolynomial | None
    end: IntegerPolynomial | None = None

    def split(
        self, offset: IntegerPolynomial
    ) -> tuple[IntegerPolynomial, IntegerPolynomial] | None:
        """Return step and rest of an offset step * J + rest; None where J occurs otherwise."""
        (element,) = self.element.atoms
        return offset.split(element)


@dataclass(frozen=True)
class Position:
    """The threads that execute an access: one per element of a row, thread 0 alone, or all."""

    row: Row | None = None
    is_alone: bool = False


Placed = tuple[Position, AccessPlace]
_SHARED = "shared"
#: Bytes between elements in shared memory. Times `MOST_SHARED` they are less than 2^31.
MOST_STEP = 1 << 10
#: More elements than lie in shared memory are not asked for.
MOST_SHARED = 1 << 20


def meet(placed: Sequence[Placed], atoms: Atoms, phases: Phases) -> Meetings:
    """Return when elements use different places between barriers; raises NotUnderstood."""
    job = _ElementMeetings(atoms)
    seen = [(w, p) for w, p in placed if not (p.access.read_only and not p.access.is_effect)]
    writes = [one for one in seen if one[1].access.is_effect]
    reads = [one for one in seen if not one[1].access.is_effect]
    for index, write in enumerate(writes):
        job.check_write(write, seen)
        for other in writes[index + 1 :] + reads:
            if phases.meet(write[1].access.block, other[1].access.block):
                job.check_two(write, other)
    return job.conditions


@dataclass
class _ElementMeetings:
    atoms: Atoms
    conditions: Meetings = field(default_factory=Meetings)

    def check_write(self, write: Placed, seen: Sequence[Placed]) -> None:
        where, place = write
        kind = place.access.kind
        if where.is_alone:
            return
        if kind == "atomic":
            operation = place.access.operation.split(".")[0]
            if where.row is None or operation in ("exch", "cas", "inc", "dec"):
                self._refuse(place, f"atomic '{operation}' by threads of a row")
        elif not self._is_flag(place, seen) and not self._are_apart(write, write):
            self._refuse(place, "a place that elements of a row may share")

    def check_two(self, write: Placed, other: Placed) -> None:
        (_, first), (_, second) = write, other
        if first.base is None or second.base is None:
            self._refuse(first, "a place that is not known")
        if first.base != second.base:
            is_one_space = (first.access.space == _SHARED) == (second.access.space == _SHARED)
            if is_one_space and not self.conditions.lie_apart(first.base, second.base):
                self._refuse(first, "a variable that a pointer may lead to")
            return
        if first.access.kind == second.access.kind == "atomic":
            same = first.access.operation == second.access.operation
            if same or (self._are_exact(write, other) and never_overlap(first, second)):
                return
            self._refuse(first, "different atomic operations on one array")
        if not self._are_apart(write, other) and not self._are_equal_flags(first, second):
            self._refuse(first, "a place that elements of a row may share")

    def _refuse(self, place: AccessPlace, what: str) -> NoReturn:
        raise NotUnderstood(Code.NOT_PROVEN, what, place.access.instruction)

    def _is_flag(self, place: AccessPlace, seen: Sequence[Placed]) -> bool:
        others = [p for _, p in seen if p.base is None or p.base == place.base]
        return place.base is not None and all(self._are_equal_flags(place, p) for p in others)

    def _are_equal_flags(self, first: AccessPlace, second: AccessPlace) -> bool:
        values = first.access.values
        are_uniform = all(self.atoms.of(value).is_uniform for value in values)
        return are_uniform and are_equal_stores(first, second)

    def _are_apart(self, one: Placed, other: Placed) -> bool:
        (where, first), (other_where, second) = one, other
        if first.base is None or second.base is None or not self._are_exact(one, other):
            return False
        is_shared = first.access.space == _SHARED
        # Offsets wrap around onto others unless 2^32 is a multiple of their steps.
        may_wrap = is_shared and common_step(first, second).bit_count() > 1
        are_alone = where.is_alone and other_where.is_alone
        if are_alone or (never_overlap(first, second) and not may_wrap):
            return True
        if where.row is None or other_where.row is None:
            return False
        split = where.row.split(first.offset)
        other_split = other_where.row.split(second.offset)
        if split is None or other_split is None:
            return False
        (step, rest), (other_step, other_rest) = split, other_split
        # Numbers of 32 bits, as shared addresses are, stay exact.
        is_far = step.literal is None or abs(step.literal) > MOST_STEP
        if (
            step != other_step
            or step == ZERO
            or not self._is_steady(step)
            or (is_shared and is_far)
        ):
            return False
        first, second = replace(first, offset=rest), replace(second, offset=other_rest)
        if self._have_steps(step, first, second):
            return True
        pairs = ((where.row, first, second), (other_where.row, second, first))
        if not is_shared and any(_is_behind(step, *pair) for pair in pairs):
            return True
        limit = where.row.limit
        if is_shared or limit is None or limit != other_where.row.limit:
            return False
        return _are_columns(step, limit, first, second)

    def _are_exact(self, one: Placed, other: Placed) -> bool:
        rows = [where.row for where, _ in (one, other) if where.row is not None]
        elements = [atom for row in rows for atom in row.element.atoms]
        if not (self._is_exact(*one) and self._is_exact(*other)):
            return False
        return wrap_together(*self._without_common(one[1], other[1]), elements)

    def _without_common(
        self, first: AccessPlace, second: AccessPlace
    ) -> tuple[AccessPlace, AccessPlace]:
        """Both without unsigned numbers that add one and the same number to either, wrapped or not.

        So it is with `(blockIdx.y * gridDim.x + blockIdx.x) * n`, where a row begins.
        """
        apart = dict((second.offset - first.offset).terms)
        common = {
            value
            for value in first.unsigned
            if value in second.unsigned
            and value not in (*first.factors, *second.factors)
            and self._is_steady(value)
            and apart.keys().isdisjoint(dict(value.terms))
        }
        both = (
            replace(one, unsigned=tuple(v for v in one.unsigned if v not in common))
            for one in (first, second)
        )
        return next(both), next(both)

    def _is_exact(self, where: Position, place: AccessPlace) -> bool:
        for value in place.unsigned:
            split = where.row.split(value) if where.row is not None else (ZERO, value)
            if split is None:
                return False
            step, rest = split
            if step.literal not in (-1, 0, 1) or not self._is_steady(rest):
                return False
        self.conditions.ask(exact_factors(place))
        return True

    def _is_steady(self, value: IntegerPolynomial) -> bool:
        properties = self.atoms.of(value)
        return not (properties.raw or properties.ids or properties.loops)

    def _have_steps(self, step: IntegerPolynomial, first: AccessPlace, second: AccessPlace) -> bool:
        """Places `step * J + offset`, with one offset but for constants within a step."""
        constant = (second.offset - first.offset).literal
        if constant is None or not self._is_steady(first.offset):
            return False
        span = max(first.access.bytes, constant + second.access.bytes) - min(0, constant)
        if step.literal is not None:
            return span <= abs(step.literal)
        self.conditions.spreads.add(Spread(step, IntegerPolynomial.constant(span), -1))
        return True


def _is_behind(step: IntegerPolynomial, row: Row, place: AccessPlace, other: AccessPlace) -> bool:
    """Do places `step * J + other` begin where the row of the first ones ends at last?"""
    if row.end is None or step.literal is None or step.literal < place.access.bytes:
        return False
    apart = (other.offset - place.offset - step * row.end).literal
    return apart is not None and apart >= 0


def _are_columns(
    step: IntegerPolynomial, limit: IntegerPolynomial, first: AccessPlace, second: AccessPlace
) -> bool:
    """Places `step * (J + limit * row)`: columns of J, wherever the rows are."""
    if step.literal is None or len(limit.terms) != 1:
        return False
    width = limit * step
    begins = [constant_term(place.offset) for place in (first, second)]
    both = zip((first, second), begins, strict=True)
    rows = (place.offset - begin for place, begin in both)
    end = max(begins[0] + first.access.bytes, begins[1] + second.access.bytes)
    return all(is_multiple(width, r) for r in rows) and end - min(begins) <= abs(step.literal)

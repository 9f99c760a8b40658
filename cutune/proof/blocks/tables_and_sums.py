"""Tables and sums of each block, beside the work of ids. Takes a walk, gives the accesses by ids.

A block may fill a table in shared memory that is the same for all blocks, which its threads then
read; and it may sum up values of its threads in shared memory, and add that to a sum of all blocks.
Rows (`shared_rows`) and single threads do this, where all threads of a block come alike. So another
number of blocks, or other threads in them, change nothing: tables are the same, and sums are added
in other parts. All else threads do by their ids, and without each other: barriers order only the
threads of one block, and with another size these may lie in different blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from cutune.proof.blocks.row_meetings import Position, meet
from cutune.proof.blocks.shared_rows import RowJudge
from cutune.proof.memory.access_places import AccessPlace, place_of
from cutune.proof.memory.accesses import MemoryAccess
from cutune.proof.memory.block_sums import NEUTRAL
from cutune.proof.values.built_ins import MOST_ELEMENTS, ROW, Segments
from cutune.proof.values.id_bounds import ID_BITS
from cutune.proof.values.launch_conditions import Meetings, SizeConditions, Spread
from cutune.proof.values.polynomial import ONE, ZERO, IntegerPolynomial
from cutune.proof.values.predicates import Predicate, Relation, properties_of

_SHARED = "shared"
#: What each thread adds to sums, at most; a block has less than 2^11 threads.
_SMALL = 1 << 19
_INTEGERS = frozenset({"b32", "s32", "u32", "b64", "s64", "u64"})


class _Placed(NamedTuple):
    """An access of memory that a block does for itself, or (`where` is None) by ids."""

    where: Position | None
    access: MemoryAccess
    place: AccessPlace


@dataclass(frozen=True)
class EachBlockJudge(RowJudge):
    """Judges entries in which ids count."""

    def each_block(self) -> tuple[list[MemoryAccess], Meetings]:
        """Return the accesses by ids, and conditions for all others; raises NotUnderstood."""
        self.check_branches()
        self._check_between_reductions()
        placed = [
            _Placed(self._where(access), access, place_of(access, self.atoms))
            for access in self.recorder.accesses
            if not self._is_of_reduction(access)
        ]
        conditions = Meetings()
        self._check_shared([one for one in placed if one.access.space == _SHARED], conditions)
        self._check_global([one for one in placed if one.access.space == "global"], conditions)
        sharing = {one.where.row for one in placed if one.where and one.access.space == _SHARED}
        conditions.spreads.update(self.limited(sharing))
        of_ids = [one.access for one in placed if one.where is None]
        if isinstance(self.kept_grid, Segments):
            self._check_segments(self.kept_grid, of_ids, conditions)
        return of_ids, conditions

    def _check_segments(
        self, segments: Segments, of_ids: Iterable[MemoryAccess], conditions: Meetings
    ) -> None:
        """Are elements of segments read alone? Their numbers are asked to be less than 2^31."""
        for access in of_ids:
            if access.kind != "load":
                self._stop(access.instruction, "an effect of an element of a block")
        conditions.ask(SizeConditions(frozenset(segments.asked)))
        most, each = map(IntegerPolynomial.constant, (MOST_ELEMENTS, segments.count))
        conditions.spreads.add(Spread(most, each, "xyz".index(segments.dimension)))

    def _is_raw(self, predicate: Predicate) -> bool:
        properties = properties_of(predicate, self.atoms)
        return bool(properties.raw) or not self.kept_grid.of_block.ids.isdisjoint(properties.ids)

    def _is_idle(self, block: int) -> bool:
        """Does it leave out nothing but to add a part of a sum that is 0 (`if (part > 0)`)?"""
        added = self._left_out_at_zero(self.walk.branches[block])
        deciding = self.graph.dependences
        others = {*self.recorder.barriers, *self.graph.loop_of_header}
        if added is None or any(block in deciding[other] for other in others - {block}):
            return False
        adding, accesses = self.recorder.sums.adding, self.recorder.accesses
        left_out = [a for a in accesses if a.kind != "load" and block in deciding[a.block]]
        return all(a.instruction.line in adding and a.values == (added,) for a in left_out)

    def _left_out_at_zero(self, predicate: Predicate) -> IntegerPolynomial | None:
        """The part of a sum whose being 0 a condition tests, where 0 changes nothing of it."""
        if not isinstance(predicate, Relation) or predicate.bits < ID_BITS:
            return None
        tests = chain(_tests_for_zero(predicate), _tests_for_zero(predicate.negated()))
        for part, is_for_sign in tests:
            operation = self.recorder.sums.parts.get(part, "").split(".")[0]
            if NEUTRAL.get(operation) == 0 and not (is_for_sign and self._may_be_negative()):
                return part
        return None

    def _may_be_negative(self) -> bool:
        """May sums of blocks be less than 0? Not where each thread adds a few small numbers."""
        made = [a for a in self.recorder.accesses if a.kind == "atomic" and a.space == _SHARED]
        added = [value.literal for one in made for value in one.values]
        total = sum(value for value in added if value is not None)
        return (
            any(self.graph.loops_around[one.block] for one in made)
            or any(not one.operation.startswith("add.") for one in made)
            or any(value is None or value < 0 for value in added)
            or total > _SMALL
        )

    def _check_branch(self, block: int) -> None:
        is_by_block = properties_of(self.walk.branches[block], self.atoms).raw
        if is_by_block or self._around(block):
            super()._check_branch(block)

    def _singles_out(self, predicate: Predicate) -> bool:
        return super()._singles_out(predicate) or self._is_decided_by(predicate, self._is_last)

    def _is_last(self, comparison: Relation) -> bool:
        last = self.kept_grid.thread - self.kept_grid.step + 1
        is_last = comparison.left - comparison.right in (last, -last)
        return is_last and comparison.relation in ("eq", "ne")

    def _where(self, access: MemoryAccess) -> Position | None:
        if access.block in self._reduced:
            return self._of_reduction(access)
        branches = [self.walk.branches[block] for block in self.dividing(access.block)]
        by_block = any(properties_of(branch, self.atoms).raw for branch in branches)
        if access.space == "local" and (by_block or self._around(access.block)):
            # Its values would tell afterwards which threads were here.
            self._stop(access.instruction, "local memory of some threads")
        if (where := self._in_row(access)) is not None:
            return self._of_block(access, where)
        if not by_block:
            return None
        for is_first, is_it in ((True, self._is_first), (False, self._is_last)):
            # The first thread is the last one, too, only where there are no others.
            is_known = any(c.relation == "eq" and is_it(c) for c in access.known)
            if is_known and all(self._is_decided_by(branch, is_it) for branch in branches):
                return self._of_block(access, Position(is_alone=is_first))
        is_by_id = not access.is_effect and access.space != _SHARED
        if is_by_id and ROW not in access.properties.ids:
            return None
        if (where := self._of_first_threads(access)) is None:
            self._stop(access.instruction, "an effect of some threads")
        return self._of_block(access, where)

    def _of_block(self, access: MemoryAccess, where: Position) -> Position:
        if access.instruction.guard:
            self._stop(access.instruction, "an instruction under a condition")
        properties = self.atoms.joined(access.values).joined(access.properties)
        if not self.kept_grid.of_block.ids.isdisjoint(properties.ids):
            self._stop(access.instruction, "what a block does by an id")
        return where

    def _check_shared(self, placed: Sequence[_Placed], conditions: Meetings) -> None:
        filled = {one.place.base for one in placed if one.access.kind == "store"}
        for one in placed:
            if one.place.base not in filled:
                self._stop(one.access.instruction, "shared memory that nothing is stored in")
            if one.place.base is None or self.recorder.sums.variable_of(_address(one)) is None:
                self._stop(one.access.instruction, "a place in shared memory that is not known")
            if self.recorder.sums.is_sum(_address(one)):
                self._check_sum(one, [o for o in placed if o.place.base == one.place.base])
            elif one.where is None and one.access.is_effect:
                self._stop(one.access.instruction, "shared memory that threads write by their ids")
            for other in (o for o in placed if o.place.base == one.place.base):
                # What a block does for itself, and what is done by ids, lies in different phases.
                is_mixed = (one.where is None) != (other.where is None)
                is_changed = one.access.is_effect or other.access.is_effect
                is_at_once = self.phases.meet(one.access.block, other.access.block)
                if is_mixed and is_changed and is_at_once:
                    self._stop(one.access.instruction, "shared memory without a barrier between")
        by_block = [(one.where, one.place) for one in placed if one.where is not None]
        conditions.spreads |= meet(by_block, self.atoms, self.phases).spreads

    def _check_sum(self, one: _Placed, all_: Sequence[_Placed]) -> None:
        """Is it begun by a neutral value, added to by ids, and read by the block alone?"""
        (name, *others) = {o.access.operation for o in all_ if o.access.kind == "atomic"}
        operation, _, kind = name.partition(".")
        is_integer = kind in _INTEGERS and operation in NEUTRAL and not others
        if not is_integer or (one.where is None) != (one.access.kind == "atomic"):
            self._stop(one.access.instruction, "a sum of a block that is not the same in parts")
        if {o.access.bytes for o in all_} != {one.access.bytes}:
            self._stop(one.access.instruction, "a sum that is read in another width")
        begun = {o.access.values for o in all_ if o.access.kind == "store"}
        (numbers, *more) = [[v.literal for v in values] for values in begun] or [[]]
        neutral = NEUTRAL.get(operation)
        is_number = numbers != [] and None not in numbers and not more
        if not is_number or (neutral is not None and numbers != [neutral]):
            self._stop(one.access.instruction, "a sum that does not begin at one number")

    def _check_global(self, placed: Sequence[_Placed], conditions: Meetings) -> None:
        for one in (o for o in placed if o.access.kind != "end"):
            if one.access.instruction.line in self.recorder.sums.adding:
                if one.where is None:
                    self._stop(one.access.instruction, "a part of a sum that several threads add")
                others = [other for other in placed if not self._add_alike(one, other)]
                self._check_apart(one, others, conditions)
            elif one.where is not None:
                if one.access.is_effect:
                    self._stop(one.access.instruction, "an effect of each block")
                if not one.access.read_only:
                    effects = [other for other in placed if other.access.is_effect]
                    self._check_apart(one, effects, conditions)

    def _add_alike(self, one: _Placed, other: _Placed) -> bool:
        is_same = other.place.base == one.place.base is not None
        return is_same and other.access.operation == one.access.operation

    def _check_apart(self, one: _Placed, others: Iterable[_Placed], conditions: Meetings) -> None:
        first = one.place.base
        for second in (o.place.base for o in others if o.access.kind != "end"):
            if (
                first is None
                or second is None
                or first == second
                or not conditions.lie_apart(first, second)
            ):
                self._stop(one.access.instruction, "what all blocks share, and change")


def _tests_for_zero(relation: Relation) -> Iterator[tuple[IntegerPolynomial, bool]]:
    """Values that a relation tells to be 0, or not; is that so only where they are not negative?"""
    left, right = relation.left, relation.right
    for literal, value, strict, loose in ((left, right, "lt", "le"), (right, left, "gt", "ge")):
        if literal == ZERO and relation.relation in ("eq", strict):
            yield value, relation.signed and relation.relation != "eq"
        elif literal == ONE and relation.relation == loose:
            yield value, relation.signed


def _address(one: _Placed) -> IntegerPolynomial:
    assert one.access.address is not None, "an access has an address"
    return one.access.address

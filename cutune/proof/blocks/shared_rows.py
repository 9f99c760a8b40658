"""Rows that threads of a block share. Takes a walk in which a grid is kept, gives conditions.

A loop whose variable is J = threadIdx + rounds * blockDim, and which goes on while J < limit, does
its body once for each J below the limit, whatever the size of the block. That holds if all threads
of the block come to the loop, as often and with the same limit, nothing else ends it, and the body
is a function of J. So every branch that depends on the thread must be that of such a loop, be the
guard in front of one that is tested behind its body, or single out thread 0, which every block has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NoReturn

from cutune.core.codes import Code
from cutune.proof.blocks.row_places import MOST_SHARED, Position, Row, meet
from cutune.proof.collectives.reductions import Reduction
from cutune.proof.flow.graph import Graph, Phases
from cutune.proof.flow.walk import Walk
from cutune.proof.memory.access_places import place_of, without_extensions
from cutune.proof.memory.accesses import MemoryAccess, Recorder
from cutune.proof.values.built_ins import KeptGrid
from cutune.proof.values.launch_conditions import Meetings, Spread
from cutune.proof.values.operations import NotUnderstood
from cutune.proof.values.polynomial import ONE, IntegerPolynomial
from cutune.proof.values.predicates import Both, Not, Predicate, Relation, properties_of
from cutune.proof.values.terms import MOST_THREADS, Atoms
from cutune.ptx.types import Instruction

_SMALL = 1 << 19
#: Registers of fewer bits do not hold J.
_EXACT_BITS = 32


@dataclass(frozen=True)
class _OrderTest:
    """small < large, both read with a sign or without."""

    small: IntegerPolynomial
    large: IntegerPolynomial
    signed: bool


@dataclass(frozen=True)
class RowLoop:
    """A loop over a row, which goes on behind the block `stay`. `guard`: is the first J in it?

    `end`: J is less than that, and so is the number that is compared, as 2 * J.
    """

    header: int
    stay: int
    row: Row
    end: IntegerPolynomial
    guard: _OrderTest
    is_tested_first: bool


def shared_rows(
    graph: Graph,
    walk: Walk,
    recorder: Recorder,
    kept_grid: KeptGrid,
    reductions: Sequence[Reduction] = (),
) -> Meetings:
    """Return the conditions on a launch under which blocks of any size do the same.

    `reductions`: what threads do together otherwise than by rows.

    Raises:
        NotUnderstood: they may not.
    """
    return RowJudge(graph, walk, recorder, kept_grid, reductions=reductions).judged()


@dataclass(frozen=True)
class RowJudge:
    """Judges entries in which blocks share rows."""

    graph: Graph
    walk: Walk
    recorder: Recorder
    kept_grid: KeptGrid
    reductions: Sequence[Reduction] = field(default=(), kw_only=True)

    @property
    def atoms(self) -> Atoms:
        """The atoms of the walk."""
        return self.walk.atoms

    def judged(self) -> Meetings:
        """Return the conditions under which blocks of any size do the same.

        Raises:
            NotUnderstood: they may not.
        """
        if not self.loops:
            self.refuse(0, "no loop from threadIdx by blockDim")
        self.check_branches()
        self._check_between_reductions()
        known = (a for a in self.recorder.accesses if a.space != "const")
        accesses = [a for a in known if not self._is_of_reduction(a)]
        pairs = [(self._position(access), access) for access in accesses]
        placed = [(where, place_of(a, self.atoms)) for where, a in pairs if a.kind != "end"]
        meeting = meet(placed, self.atoms, self.phases)
        sharing = {where.row for where, access in pairs if _is_shared_by(where.row, access)}
        for loop in self.loops.values():
            most = MOST_SHARED if loop.row in sharing else MOST_THREADS
            meeting.spreads.update(self.limited(loop, most))
        return meeting

    def check_branches(self) -> None:
        """Check that threads go the same ways, but for loops over rows and single threads.

        Raises:
            NotUnderstood: they do not.
        """
        if not self.graph.ends_everywhere:
            self.refuse(0, "a loop without an end")
        self._check_pointers()
        for loop in self.loops.values():
            self._check_entry(loop)
        for block in sorted(self.divided):
            self._check_branch(block)
        for block in sorted(self.recorder.barriers - self._reduced):
            if self.dividing(block):
                self.refuse(block, "a barrier that some threads may not reach")

    def _check_pointers(self) -> None:
        """Is shared memory accessed by its variables alone, and by no pointer to anything?"""
        for block in self.graph.flow.blocks:
            for instruction in block.instructions:
                spaces = {word.split("::")[0] for word in instruction.modifiers}
                if instruction.opcode == "cvta" and "shared" in spaces and "to" not in spaces:
                    self._stop(instruction, "a pointer to shared memory")

    def refuse(self, block: int, what: str) -> NoReturn:
        """Stop with the words for what is not understood in a basic block."""
        blocks = self.graph.flow.blocks
        instructions = blocks[block].instructions or blocks[0].instructions
        raise NotUnderstood(Code.NOT_PROVEN, what, instructions[-1])

    def _is_raw(self, predicate: Predicate) -> bool:
        return bool(properties_of(predicate, self.atoms).raw)

    def _is_uniform(self, value: IntegerPolynomial, header: int) -> bool:
        """Is a value the same for all threads of the block, in all rounds of a loop?"""
        properties = self.atoms.of(value)
        return not properties.raw and not properties.ids and header not in properties.loops

    # Branches.

    @cached_property
    def loops(self) -> dict[int, RowLoop]:
        """The loops over rows, by header."""
        return {header: self._loop(header) for header in sorted(self.kept_grid.loops)}

    @cached_property
    def divided(self) -> frozenset[int]:
        """Blocks behind which threads may go different ways, other than by J."""
        stays = {loop.stay for loop in self.loops.values()}
        raw = {block for block, predicate in self.walk.branches.items() if self._is_raw(predicate)}
        decided = {
            one.stop.block for one in self.reductions if one.stop and not one.stop.is_in_front
        }
        return frozenset(stays | raw) - (self._reduced - decided)

    def dividing(self, block: int) -> frozenset[int]:
        """Return the divided blocks that decide whether a thread comes to a block."""
        return self.graph.dependences[block] & self.divided

    @cached_property
    def _reduced(self) -> frozenset[int]:
        """Basic blocks of reductions."""
        return frozenset[int]().union(*(one.blocks for one in self.reductions))

    def _is_of_reduction(self, access: MemoryAccess) -> bool:
        """Does it use shared memory of reductions, in one or to read what one leaves there?"""
        reduced = self.recorder.reduced
        if reduced is None or access.space != "shared" or access.address is None:
            return False
        if access.block in self._reduced:
            return True
        names = {atom.name.removeprefix("&") for atom in access.address.atoms}
        if names & self.recorder.variables.keys() and reduced.arrays.isdisjoint(names):
            return False
        element = reduced.element(access.address, access.bytes)
        if access.is_effect or element not in reduced.stored:
            self._stop(access.instruction, "a place that sums of the block are made in")
        for one in self.reductions:
            is_own = element in one.by_first and any(
                c.relation == "eq" and self._is_first(c) for c in access.known
            )
            targets = self.graph.flow.blocks[access.block].terminator.targets
            is_late = one.writes_last(element) and not is_own
            if is_late or (one.writes_first(element) and self._lead_to(one, targets)):
                raise NotUnderstood(Code.RACE, "", access.instruction)
        return True

    def _of_reduction(self, access: MemoryAccess) -> Position:
        """Who makes an access of a reduction: thread 0, or all threads the same one."""
        if access.kind == "call":
            self._stop(access.instruction, "a function that is called")
        properties = access.properties
        if properties.raw or properties.ids:
            self._stop(access.instruction, "a place that depends on the block")
        line = access.instruction.line
        alone = next((e[line] for one in self.reductions if line in (e := one.effects)), True)
        return Position(is_alone=alone)

    def _check_between_reductions(self) -> None:
        """Does a barrier lie between the end of one and the beginning of the next?"""
        sizes = dict[str, int]()
        for one in self.reductions:
            if any(sizes.setdefault(name, size) != size for name, size in one.sizes.items()):
                self.refuse(one.begin, "shared memory that holds several types")
        for one in self.reductions:
            for other in self.reductions:
                if self._follows_at_once(one, other) and one.may_race_with(other):
                    raise NotUnderstood(Code.RACE, "", self._first_use(other))

    def _first_use(self, reduction: Reduction) -> Instruction:
        """The first instruction of a reduction that uses shared memory."""
        accesses = (a for a in self.recorder.accesses if a.block in reduction.blocks)
        used = [a.instruction for a in accesses if a.space == "shared"]
        return min(used, key=lambda item: item.line)

    def _follows_at_once(self, one: Reduction, other: Reduction) -> bool:
        if one.stop is None:
            return False
        block = one.stop.block
        targets = self.graph.flow.blocks[block].terminator.targets
        return self._lead_to(other, (block,) if one.stop.is_in_front else targets)

    def _lead_to(self, reduction: Reduction, blocks: tuple[int, ...]) -> bool:
        """Is there a way from one of these basic blocks to a reduction without a barrier?"""
        return reduction.begin in self.phases.beginning_at(blocks)

    @cached_property
    def phases(self) -> Phases:
        """What barriers keep apart."""
        return Phases(self.graph, self.recorder.barriers)

    def _around(self, block: int) -> list[RowLoop]:
        return [self.loops[h] for h in self.graph.loops_around[block] if h in self.loops]

    def _check_branch(self, block: int) -> None:
        around = self._around(block)
        if around:
            if block != around[0].stay:
                self.refuse(block, "a branch by the thread within a row")
            return
        predicate = self.walk.branches[block]
        is_guard = any(self._guards(block, loop) for loop in self.loops.values())
        if not is_guard and not self._singles_out(predicate):
            self.refuse(block, "a branch by the thread")

    def _guards(self, block: int, loop: RowLoop) -> bool:
        """Is it decided by whether the first J is in the row, and by uniform conditions?"""
        return self._is_decided_by(self.walk.branches[block], lambda c: _is_either(c, loop.guard))

    def _singles_out(self, predicate: Predicate) -> bool:
        """Is it decided by threadIdx == 0, and by uniform conditions?"""
        return self._is_decided_by(predicate, self._is_first)

    def _is_decided_by(self, predicate: Predicate, known: Callable[[Relation], bool]) -> bool:
        match predicate:
            case Relation() if known(predicate):
                return True
            case Both(first, second):
                return self._is_decided_by(first, known) and self._is_decided_by(second, known)
            case Not(inner):
                return self._is_decided_by(inner, known)
        return not self._is_raw(predicate)

    def _is_first(self, comparison: Relation) -> bool:
        difference = comparison.left - comparison.right
        is_thread = difference in (self.kept_grid.thread, -self.kept_grid.thread)
        return is_thread and comparison.relation in ("eq", "ne")

    # Loops.

    def _loop(self, header: int) -> RowLoop:
        blocks = self.graph.loop_of_header[header]
        if self.graph.loops_around[header] & self.kept_grid.loops != {header}:
            self.refuse(header, "a row within a row")
        leaving = [b for b in sorted(blocks) if self._may_leave(b, blocks)]
        if len(leaving) != 1 or leaving[0] not in self.walk.branches:
            self.refuse(header, "a row that is left in several places")
        (stay,) = leaving
        test = self._staying(stay, blocks)
        is_tested_first = self.graph.latches(header) != (stay,)
        if is_tested_first and stay != header:
            self.refuse(header, "a row that is left in the middle")
        element = self.kept_grid.element(header)
        tested = element if is_tested_first else element + self.kept_grid.step
        stride = IntegerPolynomial.constant(dict(test.small.terms).get(element.terms[0][0], 1))
        shift = (test.small - stride * tested).literal
        if shift is None or not 0 <= shift <= _SMALL or not self._is_uniform(test.large, header):
            self.refuse(header, "a row whose end differs between threads")
        shifted = IntegerPolynomial.constant(shift)
        end = test.large - shifted
        limit = self._limit(header, end, stride)
        guard = _OrderTest(stride * self.kept_grid.thread + shifted, test.large, test.signed)
        if stride != ONE and limit is not None:
            # As compilers write it: fewer threads than elements.
            end, guard = limit, _OrderTest(self.kept_grid.thread, limit, test.signed)
        return RowLoop(header, stay, Row(element, limit), end, guard, is_tested_first)

    def _limit(
        self, header: int, end: IntegerPolynomial, stride: IntegerPolynomial
    ) -> IntegerPolynomial | None:
        """The limit of J where stride * J is less than the end; None where it is not known."""
        if stride == ONE:
            return end
        each, whole = stride.literal, end.literal
        if each is None or not 0 < each <= _SMALL:
            self.refuse(header, "a row in steps of more than one")
        return IntegerPolynomial.constant(-(-whole // each)) if whole is not None else None

    def _may_leave(self, block: int, blocks: frozenset[int]) -> bool:
        targets = set(self.graph.flow.blocks[block].terminator.targets)
        return not targets or bool(targets - blocks)

    def _staying(self, block: int, blocks: frozenset[int]) -> _OrderTest:
        """The test under which a loop goes on."""
        terminator = self.graph.flow.blocks[block].terminator
        predicate = self.walk.branches[block]
        if terminator.kind != "branch" or not isinstance(predicate, Relation):
            self.refuse(block, "a row with another end than a size")
        goes_on = predicate if terminator.targets[0] in blocks else predicate.negated()
        test = next(_tests(goes_on), None)
        if test is None:
            self.refuse(block, "a row with another end than a size")
        return test

    def _check_entry(self, loop: RowLoop) -> None:
        """Do all threads whose first J is below the limit come to the loop, and no others?"""
        raw = self.dividing(loop.header) - {loop.stay}
        known = self.walk.known_at_beginning(loop.header)
        is_guarded = any(loop.guard in _tests(comparison) for comparison in known)
        if not is_guarded and (raw or not loop.is_tested_first):
            self.refuse(loop.header, "a row that is not entered by its limit")
        if not all(self._guards(block, loop) for block in raw):
            self.refuse(loop.header, "a row that not all threads come to")

    def limited(self, loop: RowLoop, most: int) -> Iterator[Spread]:
        """Yield conditions under which J, and its sums, are exact: 0 <= limit <= most."""
        limit, signed = loop.end, loop.guard.signed
        low, high = self.atoms.interval(limit)
        least = -2 * MOST_THREADS if signed else 0
        if low is not None and low >= least and high is not None and high <= most + _SMALL:
            return
        half = IntegerPolynomial.constant(most // 2)
        # Extended numbers are small, which the launch checks.
        yield Spread(half, without_extensions(limit, self.atoms, [], []) - half, -1)

    # Where accesses happen.

    def _position(self, access: MemoryAccess) -> Position:
        block, dividing = access.block, self.dividing(access.block)
        if block in self._reduced:
            return self._of_reduction(access)
        if access.kind == "call":
            self._stop(access.instruction, "a function that is called")
        around = self._around(block)
        if around:
            (loop,) = around
            if loop.is_tested_first and block == loop.header:
                self._stop(access.instruction, "an access beside the test of a row")
            return Position(loop.row)
        guards = {b for b in dividing if any(self._guards(b, one) for one in self.loops.values())}
        if any(c.relation == "eq" and self._is_first(c) for c in access.known):
            return Position(is_alone=True)
        if dividing - guards or (dividing and access.is_effect):
            self._stop(access.instruction, "an effect of some threads")
        return Position()

    def _stop(self, instruction: Instruction, what: str) -> NoReturn:
        raise NotUnderstood(Code.NOT_PROVEN, what, instruction)


def _is_shared_by(row: Row | None, access: MemoryAccess) -> bool:
    """Does an element have a place of its own in shared memory?"""
    if row is None or access.space != "shared" or access.address is None:
        return False
    return not {*row.element.atoms}.isdisjoint(access.address.atoms)


def _tests(comparison: Predicate) -> Iterator[_OrderTest]:
    """`small < large` in as many ways as it can be said; `<=` is `<` of one more."""
    if not isinstance(comparison, Relation) or comparison.bits < _EXACT_BITS:
        return
    left, right, signed = comparison.left, comparison.right, comparison.signed
    match comparison.relation:
        case "lt":
            yield _OrderTest(left, right, signed)
        case "le":
            yield _OrderTest(left, right + ONE, signed)
        case "gt":
            yield _OrderTest(right, left, signed)
        case "ge":
            yield _OrderTest(right, left + ONE, signed)


def _is_either(comparison: Relation, test: _OrderTest) -> bool:
    """Is it the test, or its opposite?"""
    return test in (*_tests(comparison), *_tests(comparison.negated()))

"""Rows that threads of a block share. Takes a walk in which a grid is kept, gives conditions.

A loop whose variable is J = threadIdx + rounds * blockDim, and which goes on while J < limit, does
its body once for each J below the limit, whatever the size of the block. That holds if all threads
of the block come to the loop, as often and with the same limit, nothing else ends it, and the body
is a function of J. So every branch that depends on the thread must be that of such a loop, be the
guard in front of one that is tested behind its body, or single out thread 0, which every block has.

Elements that one thread did one after the other are then done by several at once (`row_meetings`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, product
from typing import ClassVar, NoReturn

from cutune.core.codes import Code
from cutune.proof.blocks.row_meetings import MOST_SHARED, MOST_STEP, Position, Row, meet
from cutune.proof.collectives.reductions import Reduction
from cutune.proof.collectives.shared_memory import BETWEEN_WARPS
from cutune.proof.flow.graph import Graph, Phases
from cutune.proof.flow.walk import Walk
from cutune.proof.memory.access_places import place_of, without_extensions
from cutune.proof.memory.accesses import MemoryAccess, Recorder
from cutune.proof.memory.block_sums import Reduced
from cutune.proof.values.built_ins import KeptGrid
from cutune.proof.values.id_bounds import ID_BITS, ordered
from cutune.proof.values.launch_conditions import Meetings, Spread
from cutune.proof.values.operations import NotUnderstood
from cutune.proof.values.polynomial import ONE, ZERO, IntegerPolynomial
from cutune.proof.values.predicates import Both, Not, Predicate, Relation, properties_of
from cutune.proof.values.terms import MOST_THREADS, WARP, Atoms, is_of_parameters
from cutune.ptx.types import Instruction
from cutune.toolchain.device.thread_block import LARGEST

_SMALL = 1 << 19
#: Elements that each thread does in a round of a row whose end no launch is asked, at most.
_MOST_UNASKED_STEP = 16


@dataclass(frozen=True)
class _OrderTest:
    """small < large, both read with a sign or without."""

    small: IntegerPolynomial
    large: IntegerPolynomial
    signed: bool


@dataclass(frozen=True)
class RowLoop:
    """A loop over a row, which goes on behind the block `stay`. `guard`: is the first J in it?

    `ends`: numbers that are asked to be small; J is less than the first one, and so is the number
    that is compared, as 2 * J. None are, where a launch does not know them.
    """

    header: int
    stay: int
    row: Row
    ends: tuple[IntegerPolynomial, ...]
    guard: _OrderTest
    is_tested_first: bool


@dataclass(frozen=True)
class RowJudge:
    """Judges entries in which blocks share rows."""

    walk: Walk
    recorder: Recorder
    kept_grid: KeptGrid
    reductions: Sequence[Reduction] = field(default=(), kw_only=True)
    #: Shared arrays that hold rows behind what reductions use of them.
    behind: set[str] = field(default_factory=set, init=False)
    #: Spaces in which accesses do not meet.
    apart: ClassVar[frozenset[str]] = frozenset({"const"})

    @property
    def graph(self) -> Graph:
        return self.walk.graph

    @property
    def atoms(self) -> Atoms:
        return self.walk.atoms

    def judged(self) -> Meetings:
        """Return when blocks of any size do the same; raises NotUnderstood where they may not."""
        if not self.loops and not any(map(self._is_by_first_threads, self.walk.branches.values())):
            self.refuse(0, "no loop from threadIdx by blockDim")
        self.check_branches()
        self._check_between_reductions()
        known = (a for a in self.recorder.accesses if a.space not in self.apart)
        accesses = [a for a in known if not self._is_of_reduction(a)]
        pairs = [(self._position(access), access) for access in accesses]
        placed = [(where, place_of(a, self.atoms)) for where, a in pairs if a.kind != "end"]
        meeting = meet(placed, self.atoms, self.phases)
        sharing = {where.row for where, access in pairs if _is_shared_by(where.row, access)}
        meeting.spreads.update(self.limited(sharing))
        return meeting

    def check_branches(self) -> None:
        """Raise NotUnderstood unless threads part only for loops over rows and single threads."""
        if not self.graph.ends_everywhere:
            self.refuse(0, "a loop without an end")
        for instruction in chain(*(block.instructions for block in self.graph.flow.blocks)):
            spaces = {word.split("::")[0] for word in instruction.modifiers}
            if instruction.opcode == "cvta" and "shared" in spaces and "to" not in spaces:
                self._stop(instruction, "a pointer to shared memory")
        for loop in self.loops.values():
            self._check_entry(loop)
        for block in sorted(self.divided):
            self._check_branch(block)
        for block in sorted(self.recorder.barriers - self._reduced):
            if self.dividing(block):
                self.refuse(block, "a barrier that some threads may not reach")

    def check_left_by(self, lines: frozenset[int]) -> None:
        """Raise NotUnderstood unless branches in these lines leave rows, whose ends are asked."""
        blocks = self.graph.flow.blocks
        tests = (
            blocks[loop.stay].terminator for loop in self.loops.values() if loop.is_tested_first
        )
        known = {test.instruction.line for test in tests if test.instruction is not None}
        if lines - known:
            self.refuse(0, "a loop that is left by two tests")

    def check_steady(self, lines: frozenset[int], conditions: Meetings) -> None:
        """Ask that nothing is written where loads in these lines read; raises NotUnderstood.

        Whatever barriers lie between: such a value stands for what is loaded later.
        """
        known = [place_of(access, self.atoms) for access in self.recorder.accesses]
        effects = [one.base for one in known if one.access.is_effect and one.access.kind != "end"]
        for place in (one for one in known if one.access.instruction.line in lines):
            for base in effects:
                if (
                    place.base is None
                    or base is None
                    or base == place.base
                    or not conditions.lie_apart(place.base, base)
                ):
                    self._stop(place.access.instruction, "a value that is loaded again")

    def refuse(self, block: int, what: str) -> NoReturn:
        """Stop with the words for what is not understood in a basic block."""
        blocks = self.graph.flow.blocks
        self._stop((blocks[block].instructions or blocks[0].instructions)[-1], what)

    def _is_raw(self, predicate: Predicate) -> bool:
        properties = properties_of(predicate, self.atoms)
        return bool(properties.raw) or (self.kept_grid.of_lanes and bool(properties.ids))

    @cached_property
    def loops(self) -> dict[int, RowLoop]:
        """The loops over rows, by header."""
        return {header: self._loop(header) for header in sorted(self.kept_grid.loops)}

    @cached_property
    def divided(self) -> frozenset[int]:
        """Blocks behind which threads may go different ways, other than by J."""
        stays = {loop.stay for loop in self.loops.values()}
        branches = self.walk.branches.items()
        raw = {b for b, one in branches if self._is_raw(one) and not self._is_idle(b)}
        stops = (one.stop for one in self.reductions if one.stop is not None)
        decided = {stop.block for stop in stops if not stop.is_in_front}
        return frozenset(stays | raw) - (self._reduced - decided)

    def _is_idle(self, block: int) -> bool:
        """Does a branch only leave out what would change nothing?"""
        return False

    def dividing(self, block: int) -> frozenset[int]:
        """Return the divided blocks that decide whether a thread comes to a block."""
        return self.graph.dependences[block] & self.divided

    @cached_property
    def _reduced(self) -> frozenset[int]:
        return frozenset[int]().union(*(one.blocks for one in self.reductions))

    def needed_widths(self) -> tuple[int, ...]:
        """Return the blocks of whole warps that have enough threads; nothing where any block has.

        Once its accesses are judged.
        """
        threads = max(self.walk.by_first_threads, default=0)
        return tuple(range(-(-threads // WARP) * WARP, LARGEST + 1, WARP)) if threads > 0 else ()

    def _is_of_reduction(self, access: MemoryAccess) -> bool:
        """Does it use shared memory of reductions, in one or to read what one leaves there?"""
        reduced = self.recorder.reduced
        if reduced is None or access.space != "shared" or access.address is None:
            return False
        if access.block in self._reduced:
            return True
        if not reduced.may_use(access.address, self.recorder.variables):
            return False
        if self._is_of_row_behind(access, reduced):
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
                raise NotUnderstood(Code.RACE, BETWEEN_WARPS, access.instruction)
        return True

    def _is_of_row_behind(self, access: MemoryAccess, reduced: Reduced) -> bool:
        """Is it of a row that lies in an array behind all that reductions use there?"""
        around = self._around(access.block)
        if not (self.recorder.has_rows_behind and around and access.address is not None):
            return False
        split = around[0].row.split(access.address)
        step, rest = split if split is not None else (ZERO, ZERO)
        element = reduced.element(rest, access.bytes)
        is_near = step.literal is not None and 0 < step.literal <= MOST_STEP
        if element is None or not is_near or not reduced.begins_behind(access.address):
            return False
        self.behind.add(element[0])
        return True

    def _of_reduction(self, access: MemoryAccess) -> Position:
        """Who makes an access of a reduction: thread 0, or all threads the same one."""
        if access.kind == "call":
            self._stop(access.instruction, "a function that is called")
        properties, line = access.properties, access.instruction.line
        is_of_lanes = any(line in one.of_lanes for one in self.reductions)
        if properties.raw or (properties.ids and not is_of_lanes):
            self._stop(access.instruction, "a place that depends on the block")
        alone = next((e[line] for one in self.reductions if line in (e := one.effects)), True)
        return Position(is_alone=alone)

    def _check_between_reductions(self) -> None:
        sizes = dict[str, int]()
        for one in self.reductions:
            if any(sizes.setdefault(name, size) != size for name, size in one.sizes.items()):
                self.refuse(one.begin, "shared memory that holds several types")
        for one, other in product(self.reductions, repeat=2):
            if self._follows_at_once(one, other) and one.may_race_with(other):
                accesses = (a for a in self.recorder.accesses if a.block in other.blocks)
                used = [a.instruction for a in accesses if a.space == "shared"]
                first = min(used, key=lambda item: item.line)
                raise NotUnderstood(Code.RACE, BETWEEN_WARPS, first)

    def _follows_at_once(self, one: Reduction, other: Reduction) -> bool:
        if one.stop is None:
            return False
        block = one.stop.block
        targets = self.graph.flow.blocks[block].terminator.targets
        return self._lead_to(other, (block,) if one.stop.is_in_front else targets)

    def _lead_to(self, reduction: Reduction, blocks: tuple[int, ...]) -> bool:
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
        is_allowed = is_guard or self._is_by_first_threads(predicate)
        if not is_allowed and not self._singles_out(predicate):
            self.refuse(block, "a branch by the thread")

    def _guards(self, block: int, loop: RowLoop) -> bool:
        """Is it decided by whether the first J is in the row, and by uniform conditions?"""

        def is_guard(comparison: Relation) -> bool:
            return loop.guard in (*_tests(comparison), *_tests(comparison.negated()))

        return self._is_decided_by(self.walk.branches[block], is_guard)

    def _singles_out(self, predicate: Predicate) -> bool:
        return self._is_decided_by(predicate, self._is_first)

    def _is_by_first_threads(self, predicate: Predicate) -> bool:
        """Is it decided by whether a thread is one of the first, and by uniform conditions?"""
        may_be = self._is_raw(predicate) and not self.reductions
        return may_be and self._is_decided_by(predicate, self._is_of_first_threads)

    def _is_of_first_threads(self, comparison: Relation) -> bool:
        return self.kept_grid.first_threads((comparison, comparison.negated())) > 0

    def _is_of_any_block(self, comparison: Relation) -> bool:
        """Does it hold for the same of the first threads in all blocks that have them?"""
        return self._is_of_first_threads(comparison) or self._is_first(comparison)

    def _of_first_threads(self, access: MemoryAccess) -> Position | None:
        """Where an access happens that the first threads of a block make, one element each."""
        threads = self.kept_grid.first_threads(access.known)
        if not threads or self.reductions or self._around(access.block):
            return None
        branches = (self.walk.branches[block] for block in self.dividing(access.block))
        if not all(self._is_decided_by(branch, self._is_of_any_block) for branch in branches):
            return None
        self.walk.by_first_threads.add(threads)
        element = self.kept_grid.element_of(threads, self.atoms)
        return Position(Row(element, IntegerPolynomial.constant(threads)))

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

    def _loop(self, header: int) -> RowLoop:
        blocks = self.graph.loop_of_header[header]
        if self.graph.loops_around[header] & self.kept_grid.loops != {header}:
            self.refuse(header, "a row within a row")
        targets = {b: {*self.graph.flow.blocks[b].terminator.targets} for b in sorted(blocks)}
        leaving = [block for block, ways in targets.items() if not ways or ways - blocks]
        if len(leaving) != 1 or leaving[0] not in self.walk.branches:
            self.refuse(header, "a row that is left in several places")
        (stay,) = leaving
        test, bits = self._staying(stay, blocks)
        is_tested_first = self.graph.latches(header) != (stay,)
        if is_tested_first and stay != header:
            self.refuse(header, "a row that is left in the middle")
        element = self.kept_grid.element(header)
        tested = element if is_tested_first else element + self.kept_grid.step
        stride = IntegerPolynomial.constant(dict(test.small.terms).get(element.terms[0][0], 1))
        begin = test.small - stride * tested
        if not all(self._is_same_for_all(one, header) for one in (begin, test.large)):
            self.refuse(header, "a row whose end differs between threads")
        end = test.large - begin
        guard = _OrderTest(stride * self.kept_grid.thread + begin, test.large, test.signed)
        if begin.literal is not None and not 0 <= begin.literal <= _SMALL:
            self.refuse(header, "a row that does not begin at a size")
        limit, ends = self._limit(header, end, stride), self._asked(begin, test.large)
        if not ends:
            limit = None
            if (stride.literal or 0) > _MOST_UNASKED_STEP:
                self.refuse(header, "a row in long steps")
            self.kept_grid.learn_end(header, _most_unasked(begin, bits, test.signed))
        elif stride != ONE and limit is not None:
            # As compilers write it: fewer threads than elements.
            ends, guard = (limit,), _OrderTest(self.kept_grid.thread, limit, test.signed)
        is_exact = stride == ONE and (bool(ends) or test.signed)
        row = Row(element, limit, end if is_exact else None)
        return RowLoop(header, stay, row, ends, guard, is_tested_first)

    def _is_same_for_all(self, value: IntegerPolynomial, header: int) -> bool:
        properties = self.atoms.of(value)
        return not (properties.raw or properties.ids or header in properties.loops)

    def _asked(
        self, begin: IntegerPolynomial, large: IntegerPolynomial
    ) -> tuple[IntegerPolynomial, ...]:
        """Return numbers of which a launch may ask whether they are small; none: it cannot.

        Behind such numbers J is exact. Of others the proof takes it to be so, as of all indices:
        what is loaded is less than any number of its type by more than a block does in a round.
        """
        ends = (large - begin,) if begin.literal is not None else (begin, large)
        is_known = (is_of_parameters(without_extensions(e, self.atoms, [], [])) for e in ends)
        are_askable = all(
            known or self._is_small(end, MOST_THREADS)
            for known, end in zip(is_known, ends, strict=True)
        )
        return ends if are_askable else ()

    def _is_small(self, end: IntegerPolynomial, most: int, least: int = 0) -> bool:
        low, high = self.atoms.interval(end)
        return low is not None and low >= least and high is not None and high <= most + _SMALL

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

    def _staying(self, block: int, blocks: frozenset[int]) -> tuple[_OrderTest, int]:
        """The test by which the loop goes on behind a block, and the bits that it compares."""
        terminator = self.graph.flow.blocks[block].terminator
        predicate = self.walk.branches[block]
        if terminator.kind != "branch" or not isinstance(predicate, Relation):
            self.refuse(block, "a row with another end than a size")
        goes_on = predicate if terminator.targets[0] in blocks else predicate.negated()
        if (test := next(_tests(goes_on), None)) is None:
            self.refuse(block, "a row with another end than a size")
        return test, goes_on.bits

    def _check_entry(self, loop: RowLoop) -> None:
        """Do all threads whose first J is below the limit come to the loop, and no others?"""
        raw = self.dividing(loop.header) - {loop.stay}
        known = self.walk.known_at_beginning(loop.header)
        is_guarded = any(loop.guard in _tests(comparison) for comparison in known)
        if not is_guarded and (raw or not loop.is_tested_first):
            self.refuse(loop.header, "a row that is not entered by its limit")
        if not all(self._guards(block, loop) for block in raw):
            self.refuse(loop.header, "a row that not all threads come to")

    def limited(self, sharing: Collection[Row | None]) -> Iterator[Spread]:
        """Yield when J is exact: 0 <= limit <= most. `sharing`: rows with shared places."""
        for loop in self.loops.values():
            most = MOST_SHARED if loop.row in sharing else MOST_THREADS
            least = -2 * MOST_THREADS if loop.guard.signed else 0
            half = IntegerPolynomial.constant(most // 2)
            for end in loop.ends:
                if not self._is_small(end, most, least):
                    # Extended numbers are small, which the launch checks.
                    yield Spread(half, without_extensions(end, self.atoms, [], []) - half, -1)

    def _in_row(self, access: MemoryAccess) -> Position | None:
        if access.kind == "call":
            self._stop(access.instruction, "a function that is called")
        for loop in self._around(access.block):
            if loop.is_tested_first and access.block == loop.header:
                self._stop(access.instruction, "an access beside the test of a row")
            return Position(loop.row)
        return None

    def _position(self, access: MemoryAccess) -> Position:
        if access.block in self._reduced:
            return self._of_reduction(access)
        if (where := self._in_row(access)) is not None:
            return where
        if any(c.relation == "eq" and self._is_first(c) for c in access.known):
            return Position(is_alone=True)
        dividing = self.dividing(access.block)
        guards = {b for b in dividing if any(self._guards(b, one) for one in self.loops.values())}
        if dividing - guards or (dividing and access.is_effect):
            if (where := self._of_first_threads(access)) is not None:
                return where
            self._stop(access.instruction, "an effect of some threads")
        return Position()

    def _stop(self, instruction: Instruction, what: str) -> NoReturn:
        raise NotUnderstood(Code.NOT_PROVEN, what, instruction)


def _is_shared_by(row: Row | None, access: MemoryAccess) -> bool:
    if row is None or access.space != "shared" or access.address is None:
        return False
    return not {*row.element.atoms}.isdisjoint(access.address.atoms)


def _most_unasked(begin: IntegerPolynomial, bits: int, signed: bool) -> int | None:
    """What J is at most behind a loop whose end may be any number; None: there is no limit."""
    if bits > ID_BITS:
        return None
    is_half = signed and begin.literal is not None
    return (1 << (bits - is_half)) - 1


def _tests(comparison: Predicate) -> Iterator[_OrderTest]:
    """`small < large` in as many ways as it can be said; `<=` is `<` of one more."""
    if not isinstance(comparison, Relation) or comparison.bits < ID_BITS:
        return
    for small, large in ordered(comparison) if comparison.relation != "eq" else ():
        yield _OrderTest(small, large, comparison.signed)

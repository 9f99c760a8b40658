"""Reductions of a kernel. Takes a walk in which a grid is kept, gives what they leave behind.

A loop over a row leaves a sum of its own in each thread. Threads then combine these sums, by
shuffles and in shared memory. What they do is run for each number of threads that a block may have.
A register in which every number of threads leaves the same value, made of whole sums, does not
depend on the block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import and_
from typing import TypeVar

import numpy as np

from cutune.core.codes import Code
from cutune.core.reaching import reached
from cutune.proof.collectives.block_run import BlockRun
from cutune.proof.collectives.initial_lanes import InitialLanes
from cutune.proof.collectives.lanes import COMBINING, NUMBER, Lanes, Terms, as_terms, combining
from cutune.proof.collectives.run_ends import Stop, Unsettled
from cutune.proof.collectives.shared_memory import SEVERAL, SharedAddresses
from cutune.proof.collectives.thread_sums import OwnValues, SegmentSums, Sums, ThreadSums
from cutune.proof.flow.graph import Graph
from cutune.proof.flow.walk import Settled, Walk
from cutune.proof.memory.accesses import MemoryAccess
from cutune.proof.memory.block_sums import Element, Reduced
from cutune.proof.values.built_ins import KeptGrid, Segments
from cutune.proof.values.operations import parts
from cutune.proof.values.polynomial import IntegerPolynomial
from cutune.proof.values.predicates import Fixed, Unknown, Value, properties_of
from cutune.proof.values.terms import WARP, AtomProperties
from cutune.ptx.types import Function, Instruction, Variable

#: Threads of the blocks that are run. Where none of the first ones ends, nothing is proven.
_TRIED = (256, 64, 1024)
_WIDTHS = (*_TRIED, *(w for w in range(WARP, 1025, WARP) if w not in _TRIED))

#: The blocks that are run where a run takes many steps, as a loop over all threads does.
_FEW = frozenset({32, 64, 96, 128, 160, 192, 256, 320, 384, 512, 640, 768, 896, 1024})
_MANY_STEPS = 200

T = TypeVar("T")
Uses = Mapping[str, Mapping[int, int]]
"""By shared array the elements that are used, and by which thread; written ones: `-1 - element`."""


_Left = tuple[str, object]
"""A register, an element of a shared array, or a value of an effect: of which kind, and which."""


@dataclass(frozen=True)
class Ending:
    """What a run of one block leaves.

    Attributes:
        left: the term of each register, element and value of an effect; -1 where that is none.
        effects: by the line of an access of global memory: is it done by thread 0, or by all?
        by_first: elements of shared arrays of which thread 0 was the last writer.
        written: all elements that were written.
        sizes: of the elements of each array, in bytes.
        first, last: what is used before the first barrier, and behind the last one.
        bytes: how much is used of the array whose size the launch gives.
        ends: where the last element that is used ends, by shared array, in bytes.
        steps: how many basic blocks were executed.
        of_lanes: lines of accesses of the first warp, whose places may depend on the lane.
        is_cut: did it come to what is not known, and go back to where all threads were together?
    """

    stop: Stop | None
    blocks: frozenset[int]
    left: Mapping[_Left, int]
    effects: Mapping[int, bool]
    by_first: frozenset[Element]
    written: frozenset[Element]
    sizes: Mapping[str, int]
    reassociates: bool
    first: Uses
    last: Uses
    bytes: int
    ends: Mapping[str, int]
    steps: int
    of_lanes: frozenset[int]
    is_cut: bool


@dataclass(frozen=True)
class Reduction:
    """What threads do together between two points that they all reach.

    Attributes:
        begin: the basic block where it begins.
        endings: by the threads of each block for which it is proven.
        registers: those that hold the same at the end with any block: a number, or else None.
        stored: elements of shared arrays of which that is so.
        blocks: the basic blocks in it.
    """

    begin: int
    endings: Mapping[int, Ending]
    registers: Mapping[str, int | None]
    stored: frozenset[Element]
    blocks: frozenset[int]

    @property
    def _any(self) -> Ending:
        """One of the endings, which are alike in most."""
        return next(iter(self.endings.values()))

    @property
    def stop(self) -> Stop | None:
        """Where it ends; None: with the kernel."""
        return self._any.stop

    @property
    def effects(self) -> Mapping[int, bool]:
        """The effects, which are those of every ending."""
        return self._any.effects

    @property
    def of_lanes(self) -> frozenset[int]:
        """Lines of accesses by lane, which are those of every ending."""
        return self._any.of_lanes

    @property
    def widths(self) -> frozenset[int]:
        """Threads of the blocks for which it is proven."""
        return frozenset(self.endings)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The shared arrays that it uses, and the bytes of their elements."""
        return {name: size for one in self.endings.values() for name, size in one.sizes.items()}

    @cached_property
    def written(self) -> frozenset[Element]:
        """All elements that it writes, with some block."""
        return _union(one.written for one in self.endings.values())

    @property
    def by_first(self) -> frozenset[Element]:
        """Stored elements that thread 0 has written, with any block."""
        return self.stored.intersection(*(one.by_first for one in self.endings.values()))

    @property
    def reassociates(self) -> bool:
        """Does it depend on the block in which order rounded numbers are combined?"""
        return any(one.reassociates for one in self.endings.values())

    def may_race_with(self, following: Reduction) -> bool:
        """Does one that follows without a barrier use what this one writes, or the other way?"""
        return any(
            _meet(one.last, other.first)
            for width, one in self.endings.items()
            if (other := following.endings.get(width)) is not None
        )

    def writes_first(self, element: Element) -> bool:
        """Is an element written before the first barrier, with some block?"""
        return any(_writes(one.first, element) for one in self.endings.values())

    def writes_last(self, element: Element) -> bool:
        """Is an element written behind the last barrier, with some block?"""
        return any(_writes(one.last, element) for one in self.endings.values())


@dataclass
class Reductions:
    """Finds the reductions of one walk.

    `failures`: why others are none, by where they begin. `known`: what earlier walks have shown, by
    all that decides it. `accesses`: of memory, in the walk. `together`: basic blocks where threads
    meet, if what they combine are not sums of rows but values of their own, which each block adds
    to a sum of all blocks. Then the reduction is one `of_ids`; without such blocks one of rows.
    """

    graph: Graph
    walk: Walk
    function: Function
    variables: Mapping[str, Variable]
    kept_grid: KeptGrid
    most_threads: int
    together: Sequence[int]
    known: dict[object, Reduction | None]
    accesses: Sequence[MemoryAccess]
    failures: dict[int, Unsettled] = field(default_factory=dict)

    @property
    def of_ids(self) -> bool:
        """Are the values combined those that threads have by their ids?"""
        return bool(self.together)

    def found(self) -> tuple[Reduction, ...]:
        """Return all reductions, in the order of their basic blocks."""
        reductions: list[Reduction] = []
        for begin in sorted(set(self._begins())):
            if not any(begin in one.blocks for one in reductions):
                one = self._reduction(begin)
                reductions += [one] if one is not None else []
        return tuple(reductions)

    def _begins(self) -> Iterator[int]:
        """Points that all threads reach: behind a loop over a row, or before they meet."""
        if self.of_ids:
            ways = (self.graph.dominators[block] for block in self.together)
            common = reduce(and_, ways)
            points = [b for b in range(self.graph.count) if common >> b & 1]
            yield from [b for b in points if self._is_reached_by_all(b)][-1:]
            return
        for header in self.kept_grid.loops:
            block, inside = header, self.graph.loop_of_header[header]
            while block < self.graph.count and not (
                block not in inside and self._is_reached_by_all(block)
            ):
                block = self.graph.flow.meetings[block]
            if block < self.graph.count:
                yield block

    def _is_reached_by_all(self, block: int) -> bool:
        deciding = (self.walk.branches.get(other) for other in self.graph.dependences[block])
        properties = [properties_of(one, self.walk.atoms) for one in deciding if one is not None]
        are_ids = self.of_ids or self.kept_grid.of_lanes
        return not any(one.raw or (are_ids and one.ids) for one in properties)

    def _reduction(self, begin: int) -> Reduction | None:
        sums = self._sums
        at_beginning = self.walk.at_beginning(begin)
        summed = {name: sums.of(value) for name, value in at_beginning.items()}
        if not any(summed.values()):
            return None
        deciding = begin, frozenset(at_beginning.items()), frozenset(summed.items())
        if deciding not in self.known:
            self.known[deciding] = self._run_all(begin, at_beginning, sums)
        return self.known[deciding]

    @cached_property
    def _sums(self) -> Sums:
        if isinstance(self.kept_grid, Segments):
            loads = {
                f"load{one.instruction.line}.{index}": one
                for one in self.accesses
                if one.kind == "load"
                for index in range(len(parts(one.instruction.operands[0])))
            }
            return SegmentSums(self.walk, self.kept_grid, loads)
        return OwnValues(self.walk) if self.of_ids else ThreadSums(self.walk, self.kept_grid)

    def _run_all(
        self, begin: int, at_beginning: Mapping[str, Value], sums: Sums
    ) -> Reduction | None:
        terms, runs = Terms(of_lanes=self.kept_grid.of_lanes), dict[int, Ending]()
        addresses = SharedAddresses(self.variables)
        barred = frozenset({*self.kept_grid.loops, *self.graph.loops_around[begin]})
        for width in _WIDTHS:
            is_long = any(one.steps > _MANY_STEPS for one in runs.values())
            if width > self.most_threads or (is_long and width not in _FEW):
                continue
            if width == _WIDTHS[len(_TRIED)] and not runs:
                break
            try:
                lanes = InitialLanes(
                    self.walk, self.function, at_beginning, sums, terms, width, addresses
                )
                barred, runs[width] = self._ran(begin, lanes, barred)
            except Unsettled as error:
                self.failures.setdefault(begin, error)
        return self._alike(begin, runs, terms)

    def _ran(
        self, begin: int, lanes: InitialLanes, barred: frozenset[int]
    ) -> tuple[frozenset[int], Ending]:
        """Run once; loops whose end data decide are not entered, which is seen when one stops."""
        while True:
            run = BlockRun(
                self.graph,
                self.function.registers,
                lanes.addresses,
                lanes.terms,
                lanes.width,
                lanes.of_text,
                barred,
            )
            stop = run.run(begin)
            if run.failure is not None:
                self.failures.setdefault(begin, run.failure)
            inside = self.graph.loops_around[stop.block] - barred if stop else frozenset[int]()
            if stop is None or stop.is_in_front or not inside:
                return barred, self._ending(run, stop, lanes.terms)
            barred |= inside

    def _ending(self, run: BlockRun, stop: Stop | None, terms: Terms) -> Ending:
        effects, of_lanes = dict[int, bool](), set[int]()
        left, by_first = dict[_Left, int](), frozenset[Element]()
        # What a block leaves for itself is not the same as what another block leaves.
        if not self.of_ids:
            left, by_first = self._left_in_place(run, stop, terms)
        for effect in run.effects:
            where, line = effect.threads, effect.instruction.line
            is_alone = bool(where[0]) and int(where.sum()) == 1
            is_of_warp = terms.of_lanes and where[:WARP].all() and not where[WARP:].any()
            if terms.of_lanes and (is_alone or is_of_warp):
                of_lanes.add(line)
            is_alone |= bool(is_of_warp)
            if not is_alone and not (where.all() and not effect.values):
                raise Unsettled("an effect of some threads", effect.instruction)
            effects[line] = is_alone
            for index, value in enumerate(effect.values):
                term = int(as_terms(value, terms)[0])
                if is_of_warp:
                    term = _of_all_lanes(value, terms)
                if self.of_ids and not _is_part_of_sum(effect.instruction, term, terms):
                    is_sum = is_alone and term >= 0 and terms.is_sum(term)
                    is_stored = effect.instruction.opcode == "st"
                    code = Code.BLOCK_RESULT if is_sum and is_stored else None
                    raise Unsettled("an effect of each block", effect.instruction, code)
                left["effect", (line, index)] = term
        return Ending(
            stop,
            frozenset(run.blocks),
            left,
            effects,
            by_first,
            frozenset(
                (a.name, int(element) * a.width, a.width)
                for a in run.arrays.values()
                for element in np.flatnonzero(a.written_in >= 0)
            ),
            {a.name: a.width for a in run.arrays.values()},
            run.reassociates,
            {a.name: a.first for a in run.arrays.values()},
            {a.name: a.last for a in run.arrays.values()},
            sum(a.used_bytes for a in run.arrays.values() if not a.is_sized),
            {a.name: a.used_bytes for a in run.arrays.values()},
            run.steps,
            frozenset(of_lanes),
            run.failure is not None,
        )

    def _left_in_place(
        self, run: BlockRun, stop: Stop | None, terms: Terms
    ) -> tuple[dict[_Left, int], frozenset[Element]]:
        """The terms in registers and shared arrays; and the elements that thread 0 wrote last."""
        left, by_first = dict[_Left, int](), set[Element]()
        for register in sorted(run.written & self._live_behind(stop)):
            left["register", register] = _common(run.state[register], terms)
        for array in run.arrays.values():
            numbers = as_terms(array.content, terms)
            is_told = (numbers >= 0) & (array.content.kind != NUMBER)
            for element in np.flatnonzero(is_told):
                place = array.name, int(element) * array.width, array.width
                left["stored", place] = int(numbers[element])
                is_own = array.writer[element] == 0 and not terms.of_lanes
                by_first |= {place} if is_own else set()
        return left, frozenset(by_first)

    def _live_behind(self, stop: Stop | None) -> frozenset[str]:
        if stop is None:
            return frozenset()
        if stop.is_in_front:
            return self.graph.live[stop.block]
        return _union(self.graph.live[target] for target in self._targets(stop.block))

    def _alike(self, begin: int, runs: Mapping[int, Ending], terms: Terms) -> Reduction | None:
        """What all runs leave alike; blocks that leave something else are not among `widths`."""
        runs = _of_usual_way(runs)
        settled = dict[tuple[str, object], int]()
        for item in sorted({item for run in runs.values() for item in run.left}, key=str):
            found = Counter(run.left.get(item, -1) for run in runs.values())
            # A block of one warp has the whole sum sooner than others, and in the slot of its warp.
            least = 1 + (item[0] == "stored" and len(runs) > len(_TRIED))
            sums = (n for n, count in found.most_common() if count > least)
            usual = next((n for n in sums if n >= 0 and terms.is_sum(n)), None)
            if usual is None:
                usual = found.most_common(1)[0][0]
                is_same = usual >= 0 and len(found) == 1
                if not is_same and item[0] == "effect":
                    self.failures.setdefault(begin, Unsettled("an effect that differs"))
                    return None
                if not is_same:
                    continue
            runs = {w: run for w, run in runs.items() if run.left.get(item, -1) == usual}
            settled[item] = usual
        if len(runs) < 2 or not (settled or any(run.effects for run in runs.values())):
            return None
        addresses = SharedAddresses(self.variables)
        registers, stored = dict[str, int | None](), set[Element]()
        for (kind, name), term in sorted(settled.items(), key=str):
            match kind, name:
                case "register", str(register):
                    number = terms.literal(term)
                    # The address of an array is not the number that it has in a run.
                    if number is None or addresses.variable_at(number) is None:
                        registers[register] = number
                case "stored", (str(array), int(offset), int(size)):
                    stored.add((array, offset, size))
        blocks = _union(one.blocks for one in runs.values())
        return self._closed(Reduction(begin, runs, registers, frozenset(stored), blocks))

    def _closed(self, reduction: Reduction) -> Reduction | None:
        """With all basic blocks that no thread comes to but from its begin; None where some do.

        Those of them that no run has executed are never executed by blocks of these widths.
        """
        begin, behind = reduction.begin, self._reached_from(reduction.stop, reduction.begin)
        inside = {b for b in range(self.graph.count) if self.graph.dominators[b] >> begin & 1}
        # Threads that end early come to the last one, too, where nothing is left to do.
        if not {b for b in reduction.blocks if not self._is_end(b)} <= inside - behind:
            return None
        return replace(reduction, blocks=frozenset(inside - behind))

    def _is_end(self, block: int) -> bool:
        instructions = self.graph.flow.blocks[block].instructions
        return all(one.opcode in ("ret", "exit") for one in instructions) and not (
            self._targets(block)
        )

    def _reached_from(self, stop: Stop | None, begin: int) -> set[int]:
        """Basic blocks that threads may come to behind a point before they begin again."""
        if stop is None:
            return set()
        begun = [stop.block] if stop.is_in_front else self._targets(stop.block)
        ways = reached(begun, lambda block: () if block == begin else self._targets(block))
        return {*ways} - {begin}

    def _targets(self, block: int) -> Sequence[int]:
        return self.graph.flow.blocks[block].terminator.targets


def _union(sets: Iterable[frozenset[T]]) -> frozenset[T]:
    return frozenset[T]().union(*sets)


def _of_usual_way(runs: Mapping[int, Ending]) -> Mapping[int, Ending]:
    """The runs that end where most do, with the same effects.

    Those that were cut short do not count beside others: of `s[8]`, which has a place for each warp
    of 256 threads, most blocks have too many.
    """
    whole = {width: run for width, run in runs.items() if not run.is_cut}
    runs = whole if len(whole) > 1 else runs
    ways = {
        width: (run.stop, tuple(run.effects.items()), run.of_lanes) for width, run in runs.items()
    }
    usual = next((way for way, _ in Counter(ways.values()).most_common(1)), None)
    return {width: run for width, run in runs.items() if ways[width] == usual}


def _common(value: Lanes, terms: Terms) -> int:
    """The term that all threads have; -1 where there is none."""
    found = np.unique(as_terms(value, terms))
    return int(found[0]) if len(found) == 1 else -1


def _of_all_lanes(value: Lanes, terms: Terms) -> int:
    """A term made of those of the first warp's threads; -1 where one of them has none."""
    numbers = as_terms(value, terms)[:WARP].tolist()
    return terms.number(("lanes", *numbers)) if min(numbers) >= 0 else -1


def _is_part_of_sum(instruction: Instruction, term: int, terms: Terms) -> bool:
    """Does an atomic operation add the share of a block, by the operation that has made it?"""
    words = [word for word in instruction.modifiers if word in COMBINING]
    operation = combining(words[0], instruction.modifiers[-1:]) if words else ""
    return term >= 0 and operation != "" and terms.is_share(term, operation)


def _meet(one: Uses, other: Uses) -> bool:
    """Does one of two write an element that another thread uses in the other one?"""
    return any(
        user == SEVERAL or user != following
        for name, first in one.items()
        for mark, user in first.items()
        for same in ((mark, -1 - mark) if mark < 0 else (-1 - mark,))
        if (following := other.get(name, {}).get(same)) is not None
    )


def _writes(uses: Uses, element: Element) -> bool:
    name, begin, size = element
    return -1 - begin // size in uses.get(name, ())


def reduced_by(reductions: Sequence[Reduction]) -> Reduced:
    """Return what a recorder must know of reductions."""
    return Reduced(
        _union(one.blocks for one in reductions),
        frozenset(name for one in reductions for name in one.sizes),
        frozenset(
            element
            for one in reductions
            for element in one.stored
            if not any(_overwrites(other, element) for other in reductions)
        ),
        _ends(reductions),
    )


def _ends(reductions: Sequence[Reduction]) -> Mapping[str, int]:
    """Where in each array what any block of any reduction uses ends."""
    found = dict[str, int]()
    for run in (run for one in reductions for run in one.endings.values()):
        found |= {name: max(end, found.get(name, 0)) for name, end in run.ends.items()}
    return found


def _overwrites(reduction: Reduction, element: Element) -> bool:
    """May a reduction leave something there that depends on the block?"""
    name, begin, size = element
    return element not in reduction.stored and any(
        other == name and first < begin + size and begin < first + count
        for other, first, count in reduction.written
    )


def _leads_alone(reduction: Reduction, graph: Graph) -> bool:
    """Do all threads that come to its end come from it?"""
    stop = reduction.stop
    return stop is None or not stop.is_in_front or {*graph.entries(stop.block)} <= reduction.blocks


def settled_by(reductions: Sequence[Reduction], walk: Walk, function: Function) -> Settled:
    """Return the values behind reductions, for the next walk."""
    settled = Settled()
    for one in reductions:
        if one.stop is None or not _leads_alone(one, walk.graph):
            continue
        loops = walk.graph.loops_around[one.begin]
        properties = AtomProperties(is_loaded=True, loops=loops)
        values: dict[str, Value] = {}
        for register, number in one.registers.items():
            name = f"settled{one.begin}.{register}"
            if function.registers[register] == "pred":
                unknown = Unknown(name, properties)
                values[register] = unknown if number is None else Fixed(number != 0)
            elif number is None:
                values[register] = walk.atoms.named(name, properties)
            else:
                values[register] = IntegerPolynomial.constant(number)
        where = settled.in_front if one.stop.is_in_front else settled.at_end
        where.setdefault(one.stop.block, {}).update(values)
    return settled

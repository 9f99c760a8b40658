"""Reductions of a kernel. Takes a walk in which a grid is kept, gives what they leave behind.

A loop over a row leaves a sum of its own in each thread. Threads then combine these sums, by
shuffles and in shared memory. What they do is run for each number of threads that a block may have.
A register in which every number of threads leaves the same value, made of whole sums, does not
depend on the block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_
from typing import TypeVar

import numpy as np

from cutune.proof.collectives.block_run import BlockRun, Stop, Unsettled
from cutune.proof.collectives.initial_lanes import APART, InitialLanes
from cutune.proof.collectives.lanes import COMBINING, NUMBER, Lanes, Terms, as_terms, combining
from cutune.proof.collectives.thread_sums import OwnValues, ThreadSums
from cutune.proof.flow.graph import Graph
from cutune.proof.flow.walk import Settled, Walk
from cutune.proof.memory.reduced_places import Element, Reduced
from cutune.proof.values.built_ins import KeptGrid
from cutune.proof.values.polynomial import IntegerPolynomial
from cutune.proof.values.predicates import Fixed, Unknown, Value, properties_of
from cutune.proof.values.terms import WARP, AtomProperties
from cutune.ptx.types import Function, Instruction, Variable

#: Threads of the blocks that are run. Where none of the first ones ends, nothing is proven.
_TRIED = (256, 64, 1024)
_WIDTHS = (*_TRIED, *(w for w in range(WARP, 1025, WARP) if w not in _TRIED))

T = TypeVar("T")
Uses = Mapping[str, frozenset[int]]
"""By shared array the elements that are used; those that are written as `-1 - element`."""


@dataclass(frozen=True)
class Reduction:
    """What threads do together between two points that they all reach.

    Attributes:
        begin: the basic block where it begins.
        stop: where it ends; None: with the kernel.
        blocks: basic blocks in it.
        registers: those that hold the same at the end with any block: a number, or else None.
        stored: elements of shared arrays of which that is so.
        by_first: those of them that thread 0 has written.
        written: all elements that it writes, with some block.
        sizes: of the elements of its arrays, in bytes.
        arrays: the shared arrays that it uses.
        effects: by the line of an access of global memory: is it done by thread 0, or by all?
        widths: threads of the blocks for which it is proven.
        reassociates: does it depend on the block in which order rounded numbers are combined?
        first, last: by the threads of a block, what it uses before its first barrier, and behind
            its last one.
        bytes: by the threads of a block, how much it uses of the array whose size the launch gives.
    """

    begin: int
    stop: Stop | None
    blocks: frozenset[int]
    registers: Mapping[str, int | None]
    stored: frozenset[Element]
    by_first: frozenset[Element]
    written: frozenset[Element]
    sizes: Mapping[str, int]
    arrays: frozenset[str]
    effects: Mapping[int, bool]
    widths: frozenset[int]
    reassociates: bool
    first: Mapping[int, Uses]
    last: Mapping[int, Uses]
    bytes: Mapping[int, int]


@dataclass(frozen=True)
class _Ran:
    """One run. `left`: the term of each thing that it leaves, -1 where that is none."""

    stop: Stop | None
    blocks: frozenset[int]
    left: Mapping[tuple[str, object], int]
    effects: Mapping[int, bool]
    arrays: frozenset[str]
    by_first: frozenset[Element]
    written: frozenset[Element]
    sizes: Mapping[str, int]
    reassociates: bool
    first: Uses
    last: Uses
    bytes: int


@dataclass
class Reductions:
    """Finds the reductions of one walk.

    `failures`: why others are none, by where they begin. `known`: what earlier walks have shown, by
    all that decides it. `together`: basic blocks where threads meet, if what they combine are not
    sums of rows but values of their own, which each block adds to a sum of all blocks.
    """

    graph: Graph
    walk: Walk
    function: Function
    variables: Mapping[str, Variable]
    kept_grid: KeptGrid
    most_threads: int
    failures: dict[int, Unsettled] = field(default_factory=dict)
    known: dict[object, Reduction | None] = field(default_factory=dict)
    together: Sequence[int] = ()

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
        return not any(one.raw or (self.of_ids and one.ids) for one in properties)

    def _reduction(self, begin: int) -> Reduction | None:
        sums = OwnValues(self.walk) if self.of_ids else ThreadSums(self.walk, self.kept_grid)
        at_beginning = self.walk.at_beginning(begin)
        summed = {name: sums.of(value) for name, value in at_beginning.items()}
        if not any(summed.values()):
            return None
        deciding = begin, frozenset(at_beginning.items()), frozenset(summed.items())
        if deciding not in self.known:
            self.known[deciding] = self._run_all(begin, at_beginning, sums)
        return self.known[deciding]

    def _run_all(
        self, begin: int, at_beginning: Mapping[str, Value], sums: ThreadSums | OwnValues
    ) -> Reduction | None:
        terms, runs = Terms(), dict[int, _Ran]()
        barred = frozenset({*self.kept_grid.loops, *self.graph.loops_around[begin]})
        for width in _WIDTHS:
            if width > self.most_threads:
                continue
            if width == _WIDTHS[len(_TRIED)] and not runs:
                break
            try:
                barred, runs[width] = self._ran(begin, width, at_beginning, sums, terms, barred)
            except Unsettled as error:
                self.failures.setdefault(begin, error)
        return self._alike(begin, runs, terms)

    def _ran(
        self,
        begin: int,
        width: int,
        at_beginning: Mapping[str, Value],
        sums: ThreadSums | OwnValues,
        terms: Terms,
        barred: frozenset[int],
    ) -> tuple[frozenset[int], _Ran]:
        """Run once; loops whose end data decide are not entered, which is seen when one stops."""
        while True:
            lanes = InitialLanes(self.walk, self.function, at_beginning, sums, terms, width)
            lanes.variables = self.variables
            run = BlockRun(
                self.graph,
                self.function.registers,
                self.variables,
                terms,
                width,
                lanes.of_text,
                barred,
            )
            stop = run.run(begin)
            if run.failure is not None:
                self.failures.setdefault(begin, run.failure)
            inside = self.graph.loops_around[stop.block] - barred if stop else frozenset[int]()
            if stop is None or stop.is_in_front or not inside:
                return barred, self._left(run, stop, terms)
            barred |= inside

    def _left(self, run: BlockRun, stop: Stop | None, terms: Terms) -> _Ran:
        left: dict[tuple[str, object], int] = {}
        by_first = set[Element]()
        # What a block leaves for itself is not the same as what another block leaves.
        live = self._live_behind(stop) if not self.of_ids else frozenset[str]()
        for register in sorted(run.written & live):
            left["register", register] = _common(run.state[register], terms)
        for array in run.arrays.values():
            numbers = as_terms(array.content, terms)
            is_told = (numbers >= 0) & (array.content.kind != NUMBER)
            for element in [] if self.of_ids else np.flatnonzero(is_told):
                place = array.name, int(element) * array.width, array.width
                left["stored", place] = int(numbers[element])
                by_first |= {place} if array.writer[element] == 0 else set()
        effects = {}
        for effect in run.effects:
            where, line = effect.threads, effect.instruction.line
            is_alone = bool(where[0]) and int(where.sum()) == 1
            if not is_alone and not (where.all() and not effect.values):
                raise Unsettled("an effect of some threads", effect.instruction)
            effects[line] = is_alone
            for index, value in enumerate(effect.values):
                term = int(as_terms(value, terms)[0])
                if self.of_ids and not _is_part_of_sum(effect.instruction, term, terms):
                    raise Unsettled("an effect of each block", effect.instruction)
                left["effect", (line, index)] = term
        return _Ran(
            stop,
            frozenset(run.blocks),
            left,
            effects,
            frozenset(run.arrays),
            frozenset(by_first),
            frozenset(
                (a.name, int(element) * a.width, a.width)
                for a in run.arrays.values()
                for element in np.flatnonzero(a.written_in >= 0)
            ),
            {a.name: a.width for a in run.arrays.values()},
            run.reassociates,
            {a.name: frozenset(a.first) for a in run.arrays.values()},
            {a.name: frozenset(a.last) for a in run.arrays.values()},
            sum(a.used_bytes for a in run.arrays.values() if not a.is_sized),
        )

    def _live_behind(self, stop: Stop | None) -> frozenset[str]:
        if stop is None:
            return frozenset()
        if stop.is_in_front:
            return self.graph.live[stop.block]
        targets = self.graph.flow.blocks[stop.block].terminator.targets
        return frozenset[str]().union(*(self.graph.live[target] for target in targets))

    def _alike(self, begin: int, runs: Mapping[int, _Ran], terms: Terms) -> Reduction | None:
        """What all runs leave alike; blocks that leave something else are not among `widths`."""
        ways = Counter((run.stop, tuple(run.effects.items())) for run in runs.values())
        for way, _ in ways.most_common(1):
            runs = {w: r for w, r in runs.items() if (r.stop, tuple(r.effects.items())) == way}
        settled = dict[tuple[str, object], int]()
        for item in sorted({item for run in runs.values() for item in run.left}, key=str):
            found = Counter(run.left.get(item, -1) for run in runs.values())
            # A block of one warp has the whole sum sooner than others.
            sums = (n for n, count in found.most_common() if count > 1)
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
        if not self._is_closed(begin, blocks := _union(run.blocks for run in runs.values())):
            return None
        registers, stored = dict[str, int | None](), set[Element]()
        for (kind, name), term in sorted(settled.items(), key=str):
            match kind, name:
                case "register", str(register):
                    number = terms.literal(term)
                    # The address of an array is not the number that it has in a run.
                    if number is None or not 1 <= number // APART <= len(self.variables):
                        registers[register] = number
                case "stored", (str(array), int(offset), int(size)):
                    stored.add((array, offset, size))
        one, *_ = runs.values()
        return Reduction(
            begin,
            one.stop,
            blocks,
            registers,
            frozenset(stored),
            frozenset(stored).intersection(*(run.by_first for run in runs.values())),
            _union(run.written for run in runs.values()),
            {name: size for run in runs.values() for name, size in run.sizes.items()},
            _union(run.arrays for run in runs.values()),
            one.effects,
            frozenset(runs),
            any(run.reassociates for run in runs.values()),
            {width: run.first for width, run in runs.items()},
            {width: run.last for width, run in runs.items()},
            {width: run.bytes for width, run in runs.items()},
        )

    def _is_closed(self, begin: int, blocks: frozenset[int]) -> bool:
        """Do its basic blocks have no other entry than the first one?"""
        inside = blocks - {begin}
        return all({*self.graph.predecessors[block]} <= blocks for block in inside)


def _union(sets: Iterable[frozenset[T]]) -> frozenset[T]:
    return frozenset[T]().union(*sets)


def _common(value: Lanes, terms: Terms) -> int:
    """The term that all threads have; -1 where there is none."""
    found = np.unique(as_terms(value, terms))
    return int(found[0]) if len(found) == 1 else -1


def _is_part_of_sum(instruction: Instruction, term: int, terms: Terms) -> bool:
    """Does an atomic operation add the sum of a block, by the operation that has made it?"""
    sum_ = terms.total(term) if term >= 0 else None
    words = [word for word in instruction.modifiers if word in COMBINING]
    operation = combining(words[0], instruction.modifiers[-1:]) if words else ""
    return sum_ is not None and operation != "" and sum_.operation == operation


def meet_in_memory(one: Mapping[int, Uses], other: Mapping[int, Uses]) -> bool:
    """Tell whether one of two writes an element that the other one uses, in blocks of one size."""
    return any(
        _written(first) & _used(second) or _used(first) & _written(second)
        for width, uses in one.items()
        if width in other
        for name, first in uses.items()
        if (second := other[width].get(name)) is not None
    )


def is_written_in(uses: Mapping[int, Uses], name: str, element: int) -> bool:
    """Tell whether an element of an array is among those written, with any block."""
    return any(-1 - element in arrays.get(name, ()) for arrays in uses.values())


def _written(marks: frozenset[int]) -> set[int]:
    return {-1 - mark for mark in marks if mark < 0}


def _used(marks: frozenset[int]) -> set[int]:
    return {mark if mark >= 0 else -1 - mark for mark in marks}


def reduced_by(reductions: Sequence[Reduction]) -> Reduced:
    """Return what a recorder must know of reductions."""
    return Reduced(
        _union(one.blocks for one in reductions),
        _union(one.arrays for one in reductions),
        frozenset(
            element
            for one in reductions
            for element in one.stored
            if not any(_overwrites(other, element) for other in reductions)
        ),
    )


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

"""Counts as functions of the sizes. Takes full launches at small sizes, gives rational functions.

All totals are over threads of the whole launch, so that they depend neither on the block nor on
partial warps; most of them are polynomials in the sizes, found exactly.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from cutune.device.thread_block import LARGEST, WARP
from cutune.fit.fitted_model import Array, Totals
from cutune.fit.measurement.measurement import MeasuredKernel, Measurement
from cutune.fit.measurement.size_relations import extents_at
from cutune.fit.rational.exact_fit import fit
from cutune.fit.rational.functions import RationalFunction

#: Multiples of 32, so that unrolled loops have no remainder and warps are full.
LEVELS = (32, 64, 96, 128, 160, 192, 224, 256)
#: Levels per variable, by the number of variables.
LEVELS_BY_WIDTH = {1: 8, 2: 5, 3: 4}
DRAWN_LEVELS = 4
MAX_POINTS = 150
#: A model whose counts are further off at unseen sizes is not used.
HELD_OUT_LIMIT = 0.05
#: Of the memory accesses, those that data may decide about.
UNCERTAIN_LIMIT = 0.05
#: Of the threads that should have work in a larger launch, fewer have only if something is wrong.
LEAST_WORKING = 0.5
BOUNDED_BY_NO_SIZE = "what its threads are compared with is none of its sizes"

#: Gives a function for totals; they may be of what no thread does twice.
Fitter = Callable[[Sequence[int], bool], RationalFunction]


@dataclass(frozen=True)
class CountFunctions(Totals):
    """Totals of a launch as functions of its variables.

    `groups`: distinct execution totals of memory instructions; `group_of`: per
    memory instruction the index of its group, or -1 where it is never executed. `shares`: of all
    memory accesses, those in each group. `strides`: numbers of blocks, of which any divides the
    same work, as where a loop strides by the whole grid.
    """

    groups: tuple[RationalFunction, ...]
    group_of: tuple[int, ...]
    arrays: tuple[Array, ...]
    shares: tuple[float, ...] = ()
    strides: tuple[str, ...] = ()

    @property
    def worst_error(self) -> float:
        """How far the worst of these functions is off at sizes that it has not seen."""
        units = [self.instructions, self.double, self.special, self.barriers, self.constants]
        functions = [self.working, self.steps, *units, *self.groups]
        return max(function.held_out_error for function in functions)

    @property
    def typical_error(self) -> float:
        """The same where data decide: what few accesses are to rare branches is told by chance."""
        accesses = sum(
            share * group.held_out_error
            for share, group in zip(self.shares, self.groups, strict=True)
        )
        works = (self.working, self.steps, self.instructions)
        return max(accesses, *(function.held_out_error for function in works))

    def per_thread(self, function: RationalFunction, sizes: Mapping[str, int]) -> float:
        """A total divided by the threads that work."""
        return float(function(sizes)) / max(1.0, float(self.working(sizes)))


def count_points(variables: Sequence[str]) -> list[dict[str, int]]:
    """Sizes at which full launches are counted: every variable on its own.

    A product grid for up to three variables, an even draw from one for more.
    """
    width = len(variables)
    levels = LEVELS[: LEVELS_BY_WIDTH.get(width, DRAWN_LEVELS)]
    count = len(levels) ** width
    chosen: Sequence[int] = range(count)
    if count > MAX_POINTS:
        chosen = sorted(random.Random(0).sample(chosen, MAX_POINTS))
    return [
        {name: levels[index // len(levels) ** v % len(levels)] for v, name in enumerate(variables)}
        for index in chosen
    ]


def count_functions(
    facts: MeasuredKernel, measured: Sequence[Measurement], fitter: Fitter | None = None
) -> CountFunctions:
    """Fit every total that the model needs.

    Args:
        facts: the kernel.
        measured: measurements of purpose `counts`, at least two.
        fitter: what gives a function for totals at the sizes of these; without one, `fit`.
    """
    variables = facts.variables
    points = [[dict(m.sizes)[name] for name in variables] for m in measured]
    known: dict[tuple[tuple[int, ...], bool], RationalFunction] = {}

    def fitted(values: Sequence[int], is_once: bool = False) -> RationalFunction:
        key = tuple(values)
        if (key, is_once) not in known:
            found = fitter(key, is_once) if fitter else fit(variables, points, key)
            known[key, is_once] = found
        return known[key, is_once]

    def weighted(weights: Sequence[int]) -> RationalFunction:
        products = [
            sum(lanes * weight for lanes, weight in zip(m.lanes, weights, strict=True))
            for m in measured
        ]
        return fitted(products)

    groups: list[tuple[int, ...]] = []
    group_of = []
    for index in range(len(facts.memory)):
        lanes = tuple(m.sites[index].lanes for m in measured)
        if not any(lanes):
            group_of.append(-1)
            continue
        if lanes not in groups:
            groups.append(lanes)
        group_of.append(groups.index(lanes))
    repeating = {group_of[i] for i in range(len(facts.memory)) if is_in_loop(facts, i)}
    accesses = [max(lanes) * group_of.count(index) for index, lanes in enumerate(groups)]
    return CountFunctions(
        working=fitted([m.working_threads for m in measured]),
        steps=weighted([block.load_phases for block in facts.code_blocks]),
        instructions=weighted([block.instructions for block in facts.code_blocks]),
        double=weighted([block.double for block in facts.code_blocks]),
        special=weighted([block.special for block in facts.code_blocks]),
        barriers=weighted([block.barriers for block in facts.code_blocks]),
        constants=weighted([block.constants for block in facts.code_blocks]),
        groups=tuple(fitted(lanes, index not in repeating) for index, lanes in enumerate(groups)),
        group_of=tuple(group_of),
        arrays=_arrays(facts, measured, fitted),
        shares=tuple(count / sum(accesses) for count in accesses),
    )


def is_in_loop(facts: MeasuredKernel, index: int) -> bool:
    """May a thread execute this memory instruction more than once?"""
    return facts.code_blocks[facts.memory[index].block].loop >= 0


def is_bounded_by_no_size(
    facts: MeasuredKernel, counts: CountFunctions, features: Iterable[Measurement] = ()
) -> bool:
    """Do more threads not mean more work, as where the size is a member of a structure?

    `features`: launches larger than those that were counted, in which it may show.
    """
    if facts.asserted:
        return False
    launches = [(m.working_threads, _expected_to_work(facts, counts, m)) for m in features]
    found, wanted = (sum(column) for column in zip(*launches, strict=True)) if launches else (0, 0)
    if found < LEAST_WORKING * wanted and wanted > WARP:
        return True
    working = counts.working.numerator
    depending = {
        name
        for exponents, _ in working.terms
        for name, exponent in zip(working.variables, exponents, strict=True)
        if exponent
    }
    extents = set(facts.extent_words.values())
    if not extents or not extents.isdisjoint(depending):
        return False
    # Else a block or less works in all launches alike: `if (i == 0)`.
    return any(counts.working(point) > LARGEST for point in count_points(facts.variables))


def _expected_to_work(facts: MeasuredKernel, counts: CountFunctions, launch: Measurement) -> float:
    """The threads of the blocks that were looked at which should have had work."""
    sizes = dict(launch.sizes)
    extents = extents_at(facts, sizes)
    inside = prod(min(pair) for pair in zip(launch.block, extents, strict=True))
    share = min(1.0, launch.executed_blocks * inside / max(1, prod(extents)))
    return share * float(counts.working(sizes))


def uncertain_share(facts: MeasuredKernel, largest: Measurement) -> float:
    """Which part of the accesses of a launch data decide about."""
    pairs = zip(facts.memory, largest.sites, strict=True)
    accesses = sum(site.lanes for memory, site in pairs if not memory.shared)
    return facts.compiled.uncertain * largest.working_threads / max(1, accesses)


def _arrays(
    facts: MeasuredKernel,
    measured: Sequence[Measurement],
    fitted: Callable[[Sequence[int]], RationalFunction],
) -> tuple[Array, ...]:
    """Extent of each array: from the lowest to the highest address that any instruction touched."""
    touched = sorted({s.array for m in measured for s in m.sites if s.array >= 0})
    arrays = []
    for array in touched:
        extents = []
        for measurement in measured:
            sites = [s for s in measurement.sites if s.array == array and s.executions]
            extents.append(max(s.high for s in sites) - min(s.low for s in sites) if sites else 0)
        arrays.append(Array(array, fitted(extents), *passes(facts, measured, array)))
    return tuple(arrays)


def passes(facts: MeasuredKernel, measured: Sequence[Measurement], array: int) -> tuple[bool, bool]:
    """Is the array loaded from, and is it stored to?"""
    kinds = {
        memory.kind
        for measurement in measured
        for memory, site in zip(facts.memory, measurement.sites, strict=True)
        if site.array == array and site.executions
    }
    return bool(kinds - {"store"}), bool(kinds - {"load"})


def is_looped(facts: MeasuredKernel) -> bool:
    """Does a loop hold accesses to global memory?"""
    return any(is_in_loop(facts, i) for i, memory in enumerate(facts.memory) if not memory.shared)

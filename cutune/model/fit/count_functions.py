"""Counts as functions of the sizes. Takes full launches at small sizes, gives rational functions.

All totals are over threads of the whole launch, so that they depend neither on the block nor on
partial warps; most of them are polynomials in the sizes, found exactly.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from math import prod
from typing import Any

from cutune.model.fit.fitted_model import Array, Totals
from cutune.model.measurement.measurement import MeasuredKernel, Measurement
from cutune.model.measurement.size_relations import extents_at
from cutune.model.rational.exact_fit import fit
from cutune.model.rational.functions import RationalFunction
from cutune.toolchain.device.thread_block import LARGEST, WARP

#: Multiples of 32, so that unrolled loops have no remainder and warps are full.
LEVELS = (32, 64, 96, 128, 160, 192, 224, 256)
#: Levels per variable, by the number of variables.
LEVELS_BY_WIDTH = {1: 8, 2: 5, 3: 4}
DRAWN_LEVELS = 4
MAX_POINTS = 150
#: Relative error at held-out sizes above which a model is not used.
HELD_OUT_LIMIT = 0.05
#: The largest share of memory accesses that may depend on data.
UNCERTAIN_LIMIT = 0.05
#: If a smaller share of the expected threads has work in a larger launch, the counts are wrong.
LEAST_WORKING = 0.5
#: Totals that follow from how often blocks of code were executed, and fields of `CodeBlock`.
CODE_TOTALS = {
    "steps": "load_phases",
    **{name: name for name in ("instructions", "double", "special", "barriers", "constants")},
}
#: Reasons why no model is made, as messages end.
UNCERTAIN_ACCESSES = "its memory accesses depend on loaded data"
BOUNDED_BY_NO_SIZE = "its thread index is compared with a value that is none of its sizes"

#: Takes totals, and whether no thread does more than once what they count; gives a function.
Fitter = Callable[[Sequence[int], bool], RationalFunction]


@dataclass(frozen=True)
class CountFunctions(Totals):
    """Totals of a launch as functions of its variables.

    Attributes:
        groups: the distinct execution totals of memory instructions.
        group_of: per memory instruction the index of its group; -1: it is never executed.
        arrays: the pointer parameters that are accessed.
        shares: per group its share of all memory accesses.
        strides: names of extents in blocks that do not change the work: a loop of the kernel
            strides by the whole grid.
    """

    groups: tuple[RationalFunction, ...]
    group_of: tuple[int, ...]
    arrays: tuple[Array, ...]
    shares: tuple[float, ...] = ()
    strides: tuple[str, ...] = ()

    @property
    def worst_error(self) -> float:
        """The largest held-out error of these functions, relative."""
        functions: list[RationalFunction] = [*self.totals.values(), *self.groups]
        return max(function.held_out_error for function in functions)

    @property
    def holds(self) -> bool:
        """Do all of these functions give the counts at held-out sizes?"""
        return self.worst_error <= HELD_OUT_LIMIT

    @property
    def typical_error(self) -> float:
        """Held-out error of a data-dependent kernel, relative.

        Groups of memory accesses are weighted by their share: counts of rare branches are noise.
        """
        accesses = sum(
            share * group.held_out_error
            for share, group in zip(self.shares, self.groups, strict=True)
        )
        works = (self.working, self.steps, self.instructions)
        return max(accesses, *(function.held_out_error for function in works))

    def per_thread(self, function: RationalFunction, sizes: Mapping[str, int]) -> float:
        """A total divided by the threads that work."""
        return float(function(sizes)) / max(1.0, float(self.working(sizes)))


def levels_of(width: int) -> tuple[int, ...]:
    """The values of each of so many variables."""
    return LEVELS[: LEVELS_BY_WIDTH.get(width, DRAWN_LEVELS)]


def count_points(variables: Sequence[str]) -> list[dict[str, int]]:
    """Sizes at which full launches are counted: variables vary independently.

    All combinations of levels for up to three variables, a random sample of them for more.
    """
    width = len(variables)
    levels = levels_of(width)
    count = len(levels) ** width
    chosen: Sequence[int] = range(count)
    if count > MAX_POINTS:
        chosen = sorted(random.Random(0).sample(chosen, MAX_POINTS))
    return [
        {name: levels[index // len(levels) ** v % len(levels)] for v, name in enumerate(variables)}
        for index in chosen
    ]


def count_functions(
    kernel: MeasuredKernel, measured: Sequence[Measurement], fitter: Fitter | None = None
) -> CountFunctions:
    """Fit every total that the model needs.

    `measured`: of purpose `counts`, at least two; `fitter`: fits their totals; None: `fit`.
    """
    variables, points = kernel.variables, _points(kernel, measured)

    @cache
    def fitted_once(values: tuple[int, ...], is_once: bool) -> RationalFunction:
        return fitter(values, is_once) if fitter else fit(variables, points, values)

    def fitted(values: Iterable[int], is_once: bool = False) -> RationalFunction:
        return fitted_once(tuple(values), is_once)

    groups: list[tuple[int, ...]] = []
    group_of = []
    for index in range(len(kernel.memory)):
        lanes = tuple(m.sites[index].lanes for m in measured)
        if not any(lanes):
            group_of.append(-1)
            continue
        if lanes not in groups:
            groups.append(lanes)
        group_of.append(groups.index(lanes))
    repeating = {group_of[i] for i in range(len(kernel.memory)) if is_in_loop(kernel, i)}
    accesses = [max(lanes) * group_of.count(index) for index, lanes in enumerate(groups)]
    columns = zip(*(code_totals(kernel, m).values() for m in measured), strict=True)
    totals: dict[str, Any] = dict(zip(CODE_TOTALS, map(fitted, columns), strict=True))
    return CountFunctions(
        working=fitted(m.working_threads for m in measured),
        **totals,
        groups=tuple(fitted(lanes, index not in repeating) for index, lanes in enumerate(groups)),
        group_of=tuple(group_of),
        arrays=_arrays(kernel, measured, fitted),
        shares=tuple(count / sum(accesses) for count in accesses),
    )


def have_functions(kernel: MeasuredKernel, measured: Sequence[Measurement]) -> bool:
    """Would `count_functions` find functions that hold? Ends at the first total that has none.

    A total that no function gives takes longest to fit, and one is enough.
    """
    variables, points = kernel.variables, _points(kernel, measured)
    totals = chain(
        [[m.working_threads for m in measured]],
        zip(*(code_totals(kernel, m).values() for m in measured), strict=True),
        ([m.sites[index].lanes for m in measured] for index in range(len(kernel.memory))),
    )
    return all(fit(variables, points, t).held_out_error <= HELD_OUT_LIMIT for t in totals)


def _points(kernel: MeasuredKernel, measured: Sequence[Measurement]) -> list[list[int]]:
    return [[dict(m.sizes)[name] for name in kernel.variables] for m in measured]


def code_totals(kernel: MeasuredKernel, launch: Measurement) -> dict[str, int]:
    """The totals of one launch: lanes of each block of code, times what the block has of a kind."""
    pairs = list(zip(launch.lanes, kernel.code_blocks, strict=True))
    return {
        name: sum(lanes * getattr(block, kind) for lanes, block in pairs)
        for name, kind in CODE_TOTALS.items()
    }


def is_in_loop(kernel: MeasuredKernel, index: int) -> bool:
    """May a thread execute this memory instruction more than once?"""
    return kernel.code_blocks[kernel.memory[index].block].loop >= 0


def bounded_elsewhere(
    kernel: MeasuredKernel, counts: CountFunctions, features: Iterable[Measurement]
) -> str:
    """Why no model is made where no size bounds the work, but a member of a structure, for example.

    Empty where one does. `features`: launches larger than those counted, which may show it.
    """
    if kernel.asserted:
        return ""
    launches = list(features)
    working_threads = sum(m.working_threads for m in launches)
    expected = sum(_expected_to_work(kernel, counts, m) for m in launches)
    if working_threads < LEAST_WORKING * expected and expected > WARP:
        return BOUNDED_BY_NO_SIZE
    working = counts.working.numerator
    depending = {
        name
        for exponents, _ in working.terms
        for name, exponent in zip(working.variables, exponents, strict=True)
        if exponent
    }
    extents = set(kernel.extent_words.values())
    if not extents or not extents.isdisjoint(depending):
        return ""
    # A kernel with `if (i == 0)` keeps at most one block busy at every size: that is sound.
    is_busy = any(counts.working(point) > LARGEST for point in count_points(kernel.variables))
    return BOUNDED_BY_NO_SIZE if is_busy else ""


def _expected_to_work(kernel: MeasuredKernel, counts: CountFunctions, launch: Measurement) -> float:
    """Threads of the executed blocks that have work according to the counts."""
    sizes = dict(launch.sizes)
    extents = extents_at(kernel, sizes)
    inside = prod(min(pair) for pair in zip(launch.block, extents, strict=True))
    share = min(1.0, launch.executed_blocks * inside / max(1, prod(extents)))
    return share * float(counts.working(sizes))


def uncertain_accesses(kernel: MeasuredKernel, largest: Measurement) -> str:
    """Why no model is made where too many global accesses of a launch depend on data, or empty."""
    pairs = zip(kernel.memory, largest.sites, strict=True)
    accesses = sum(site.lanes for memory, site in pairs if not memory.shared)
    share = kernel.compiled.uncertain * largest.working_threads / max(1, accesses)
    return UNCERTAIN_ACCESSES if share > UNCERTAIN_LIMIT else ""


def _arrays(
    kernel: MeasuredKernel,
    measured: Sequence[Measurement],
    fitted: Callable[[Iterable[int]], RationalFunction],
) -> tuple[Array, ...]:
    touched = sorted({s.array for m in measured for s in m.sites if s.array >= 0})
    return tuple(
        Array(
            array,
            fitted(accessed_bytes(m, array) for m in measured),
            *loads_and_stores(kernel, measured, array),
        )
        for array in touched
    )


def accessed_bytes(launch: Measurement, array: int) -> int:
    """Bytes between the lowest and the highest address of an array that a launch accesses."""
    sites = [site for site in launch.sites if site.array == array and site.executions]
    return max(s.high for s in sites) - min(s.low for s in sites) if sites else 0


def loads_and_stores(
    kernel: MeasuredKernel, measured: Sequence[Measurement], array: int
) -> tuple[bool, bool]:
    """Is the array loaded from, and is it stored to?"""
    kinds = {
        memory.kind
        for measurement in measured
        for memory, site in zip(kernel.memory, measurement.sites, strict=True)
        if site.array == array and site.executions
    }
    return bool(kinds - {"store"}), bool(kinds - {"load"})


def is_looped(kernel: MeasuredKernel) -> bool:
    """Does a loop hold accesses to global memory?"""
    return any(is_in_loop(kernel, i) for i, memory in enumerate(kernel.memory) if not memory.shared)

"""Counts as functions of the sizes. Takes launches, gives functions, and how far off they are.

Functions are fitted to full launches at small sizes. All totals are over threads of the whole
launch, so that they depend neither on the block nor on partial warps; most of them are polynomials
in the sizes, found exactly.

Every function that a model reads is then compared with launches that took no part: the largest that
can be counted in full, corners where one size is far from the others, and some blocks of much
larger ones. Launches with the program's own small values, a radius for instance, tell whether
functions hold below the sizes that were counted.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, starmap
from math import prod
from typing import Any

from cutune.model.fit.fitted_model import Array, SizeRange, Totals
from cutune.model.measurement.measurement import MeasuredKernel, Measurement, Measurements, Purpose
from cutune.model.measurement.size_relations import extents_at
from cutune.model.rational.functions import RationalFunction, fit
from cutune.toolchain.device.thread_block import LARGEST, WARP

#: Multiples of 32, so that unrolled loops have no remainder and warps are full.
LEVELS = (32, 64, 96, 128, 160, 192, 224, 256)
#: Levels per variable, by the number of variables.
LEVELS_BY_WIDTH = {1: 8, 2: 5, 3: 4}
DRAWN_LEVELS = 4
MAX_POINTS = 150
#: Combinations that are looked at where some are left out.
MOST_DRAWN = 1024
#: Relative error at held-out sizes above which a model is not used.
HELD_OUT_LIMIT = 0.05
#: The largest share of memory accesses that may depend on data.
UNCERTAIN_LIMIT = 0.05
#: If a smaller share of the expected threads has work in a larger launch, the counts are wrong.
LEAST_WORKING = 0.5
#: Totals that follow from how often blocks of code were executed, and fields of `CodeBlock`.
CODE_TOTALS = {
    "steps": "load_phases",
    **{
        name: name
        for name in (
            "instructions",
            "double",
            "special",
            "barriers",
            "constants",
            "chain",
            "single",
        )
    },
}
#: What is less than this share of all instructions, accesses or bytes may be off by as much as that
#: share may: it hardly costs anything.
LITTLE = 0.05
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
        shares: per group its share of all memory accesses.
        strides: names of extents in blocks that do not change the work: a loop of the kernel
            strides by the whole grid.
        scattered: arrays of which the bytes of all accesses are known, and not how far apart they
            lie.
    """

    groups: tuple[RationalFunction, ...]
    group_of: tuple[int, ...]
    arrays: tuple[Array, ...]
    shares: tuple[float, ...] = ()
    strides: tuple[str, ...] = ()
    scattered: frozenset[int] = frozenset()

    @property
    def worst_error(self) -> float:
        functions: list[RationalFunction] = [*self.totals.values(), *self.groups]
        return max(function.held_out_error for function in functions)

    @property
    def holds(self) -> bool:
        return self.worst_error <= HELD_OUT_LIMIT

    @property
    def typical_error(self) -> float:
        """Held-out error of a data-dependent kernel, relative.

        Groups of memory accesses are weighted by their share: counts of rare branches are noise.
        """
        pairs = zip(self.shares, self.groups, strict=True)
        accesses = sum(share * group.held_out_error for share, group in pairs)
        works = (self.working, self.steps, self.instructions)
        return max(accesses, *(function.held_out_error for function in works))

    def per_thread(self, function: RationalFunction, sizes: Mapping[str, int]) -> float:
        return float(function(sizes)) / max(1.0, float(self.working(sizes)))


def levels_of(width: int) -> tuple[int, ...]:
    """The values of each of so many variables."""
    return LEVELS[: LEVELS_BY_WIDTH.get(width, DRAWN_LEVELS)]


def count_points(
    variables: Sequence[str], is_counted: Callable[[Mapping[str, int]], bool] | None = None
) -> list[dict[str, int]]:
    """Sizes at which full launches are counted: variables vary independently.

    All combinations of levels for up to three variables, a random sample of them for more.
    `is_counted`: leaves out some combinations.
    """
    width = len(variables)
    levels = levels_of(width)
    count = len(levels) ** width

    def at(index: int) -> dict[str, int]:
        return {n: levels[index // len(levels) ** v % len(levels)] for v, n in enumerate(variables)}

    chosen: Sequence[int] = range(count)
    if is_counted is not None:
        drawn = random.Random(0).sample(chosen, min(count, MOST_DRAWN))
        chosen = sorted([index for index in drawn if is_counted(at(index))][:MAX_POINTS])
    elif count > MAX_POINTS:
        chosen = sorted(random.Random(0).sample(chosen, MAX_POINTS))
    return [at(index) for index in chosen]


def _groups(
    kernel: MeasuredKernel, measured: Measurements
) -> tuple[list[tuple[int, ...]], list[int]]:
    """The lanes of memory instructions, each count once; per instruction which of them, or -1."""
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
    return groups, group_of


def count_functions(
    kernel: MeasuredKernel, measured: Measurements, fitter: Fitter | None = None
) -> CountFunctions:
    """Fit every total that the model needs. `measured`: two or more of purpose `counts`."""
    variables, points = kernel.variables, _points(kernel, measured)

    @cache
    def fitted_once(values: tuple[int, ...], is_once: bool) -> RationalFunction:
        return fitter(values, is_once) if fitter else fit(variables, points, values)

    def fitted(values: Iterable[int], is_once: bool = False) -> RationalFunction:
        return fitted_once(tuple(values), is_once)

    groups, group_of = _groups(kernel, measured)
    repeating = {group_of[i] for i in range(len(kernel.memory)) if is_in_loop(kernel, i)}
    accesses = [max(lanes) * group_of.count(index) for index, lanes in enumerate(groups)]
    columns = zip(*(code_totals(kernel, m).values() for m in measured), strict=True)
    totals: dict[str, Any] = dict(zip(CODE_TOTALS, map(fitted, columns), strict=True))
    accessed = sorted({s.array for m in measured for s in m.sites if s.array >= 0})
    extents = {array: fitted(accessed_bytes(m, array) for m in measured) for array in accessed}
    # Rows of a length that is a size of its own (`id / width * pitch`) span no polynomial of sizes.
    scattered = {
        array: fitted(touched_bytes(kernel, m, array) for m in measured)
        for array, of in extents.items()
        if of.held_out_error > HELD_OUT_LIMIT and not _is_looped_over(kernel, measured, array)
    }
    extents |= scattered
    return CountFunctions(
        working=fitted(m.working_threads for m in measured),
        **totals,
        groups=tuple(fitted(lanes, index not in repeating) for index, lanes in enumerate(groups)),
        group_of=tuple(group_of),
        arrays=tuple(
            Array(a, of, *loads_and_stores(kernel, measured, a)) for a, of in extents.items()
        ),
        shares=tuple(count / sum(accesses) for count in accesses),
        scattered=frozenset(scattered),
    )


def have_functions(kernel: MeasuredKernel, measured: Measurements) -> bool:
    """Would `count_functions` find functions that hold? Ends at the first total that has none."""
    variables, points = kernel.variables, _points(kernel, measured)
    totals = chain(
        [[m.working_threads for m in measured]],
        zip(*(code_totals(kernel, m).values() for m in measured), strict=True),
        ([m.sites[index].lanes for m in measured] for index in range(len(kernel.memory))),
    )
    return all(fit(variables, points, t).held_out_error <= HELD_OUT_LIMIT for t in totals)


def _points(kernel: MeasuredKernel, measured: Measurements) -> list[list[int]]:
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


def bounded_elsewhere(kernel: MeasuredKernel, counts: CountFunctions, larger: Measurements) -> str:
    """Why no model is made where no size bounds the work, but a member of a structure, for example.

    Empty where one does. `larger`: launches larger than those counted, which may show it.
    """
    if kernel.asserted:
        return ""
    working_threads = sum(m.working_threads for m in larger)
    expected = sum(_expected_to_work(kernel, counts, m) for m in larger)
    if working_threads < LEAST_WORKING * expected and expected > WARP:
        return BOUNDED_BY_NO_SIZE
    working = counts.working
    terms = (zip(working.variables, exponents, strict=True) for exponents, _ in working.numerator)
    depending = {name for term in terms for name, exponent in term if exponent}
    extents = set(kernel.extent_words.values())
    if not extents or not extents.isdisjoint(depending):
        return ""
    # A kernel with `if (i == 0)` keeps at most one block busy at every size: that is sound.
    is_busy = any(counts.working(point) > LARGEST for point in count_points(kernel.variables))
    return BOUNDED_BY_NO_SIZE if is_busy else ""


def _expected_to_work(kernel: MeasuredKernel, counts: CountFunctions, launch: Measurement) -> float:
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


def accessed_bytes(launch: Measurement, array: int) -> int:
    """Bytes between the lowest and the highest address of an array that a launch accesses."""
    sites = [site for site in launch.sites if site.array == array and site.executions]
    return max(s.high for s in sites) - min(s.low for s in sites) if sites else 0


def touched_bytes(kernel: MeasuredKernel, launch: Measurement, array: int) -> int:
    """Bytes of all accesses of a launch to an array."""
    pairs = zip(kernel.memory, launch.sites, strict=True)
    return sum(site.lanes * memory.bytes for memory, site in pairs if site.array == array)


def _is_looped_over(kernel: MeasuredKernel, measured: Measurements, array: int) -> bool:
    """May a thread access an array at one place of the code more than once?"""
    return any(
        site.array == array and is_in_loop(kernel, index)
        for launch in measured
        for index, site in enumerate(launch.sites)
    )


def loads_and_stores(
    kernel: MeasuredKernel, measured: Measurements, array: int
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


# ---- launches that took no part


def off_text(relative: float) -> str:
    """`6.1 % off`; above 200 % `21,946 times off`."""
    if relative > 2:
        return f"{relative:,.0f} times off"
    return f"{100 * relative:.{'2g' if relative < 0.1 else '0f'}} % off"


@dataclass(frozen=True)
class HeldOut:
    """Functions of the sizes, and what held-out launches say of them.

    Attributes:
        functions: made with some of the launches, if they did not hold without.
        fitted: launches that took part.
        reached: these, and those that were held out.
        deviation: relative, the largest at the launches that took no part.
        at: the sizes where it is so large; empty where nothing was held out.
        is_exact: are all functions exact, at each launch that was counted in full?
        holds_below: the sizes that were tried at the program's own small values, and whether the
            functions hold there.
    """

    functions: CountFunctions
    fitted: tuple[Measurement, ...]
    reached: tuple[Measurement, ...]
    deviation: float = 0.0
    at: Mapping[str, int] = field(default_factory=dict)
    is_exact: bool = False
    holds_below: Mapping[str, bool] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        return self.functions.holds and self.deviation <= HELD_OUT_LIMIT

    def ranges(self, kernel: MeasuredKernel) -> tuple[SizeRange, ...]:
        """Per variable the values at which the counts are known and met."""

        def reached(name: str) -> SizeRange:
            met, fitted = (
                [dict(launch.sizes)[name] for launch in launches]
                for launches in (self.reached, self.fitted)
            )
            return SizeRange(min(met), max(met), max(1, max(met) // max(1, *fitted)))

        return tuple(map(reached, kernel.variables))

    @property
    def where(self) -> str:
        """The sizes at which the functions are off, in brackets; empty where nothing was."""
        sizes = ", ".join(f"{name} = {value}" for name, value in self.at.items())
        return f" ({sizes})" if sizes else ""


def held_out(kernel: MeasuredKernel, measured: Measurements) -> HeldOut:
    """Fit the counts of a replayed kernel, and hold them against launches that took no part.

    If they fail there, they are fitted again with the checks that were counted in full; then later
    checks decide, and those of much larger launches.
    """
    counted = [m for m in measured if m.purpose == Purpose.COUNTS]
    checks = [m for m in measured if m.purpose == Purpose.CHECK]
    later = [m for m in measured if m.purpose in (Purpose.RECHECK, Purpose.FAR)]
    small = [m for m in measured if m.purpose == Purpose.OWN_SMALL]
    first = _compared(kernel, counted, [*checks, *later], small)
    if first.holds or not checks or not any(m.purpose == Purpose.RECHECK for m in later):
        return first
    second = _compared(kernel, [*counted, *checks], later, small)
    return second if second.holds else first


def _compared(
    kernel: MeasuredKernel, counted: Measurements, checks: Measurements, small: Measurements
) -> HeldOut:
    functions = count_functions(kernel, counted)
    off = [(deviation(kernel, functions, check), kernel.as_asked(check.sizes)) for check in checks]
    worst, at = max(off, key=lambda one: one[0], default=(0.0, {}))
    full = [check for check in checks if check.purpose != Purpose.FAR]
    below = {
        name: all(deviation(kernel, functions, m) <= HELD_OUT_LIMIT for m in tried)
        for name in kernel.variables
        if (tried := [m for m in small if name in _small_names(m)])
    }
    met = [m for m in small if all(below[name] for name in _small_names(m))]
    is_exact = functions.worst_error == 0 and all(_is_met(kernel, functions, m) for m in full)
    return HeldOut(functions, tuple(counted), (*counted, *checks, *met), worst, at, is_exact, below)


def _small_names(launch: Measurement) -> list[str]:
    """The sizes that have one of the program's own small values."""
    return [name for name, value in launch.sizes if value < LEVELS[0]]


def _totals(
    kernel: MeasuredKernel, counts: CountFunctions, launch: Measurement
) -> Iterator[tuple[int, RationalFunction, int]]:
    """Every counted total of a launch, its function, and how much there is of its kind."""
    totals = code_totals(kernel, launch)
    yield launch.working_threads, counts.working, launch.working_threads
    for name, total in totals.items():
        yield total, getattr(counts, name), total if name == "steps" else totals["instructions"]
    accesses = sum(site.lanes for site in launch.sites)
    for site, group in zip(launch.sites, counts.group_of, strict=True):
        if group >= 0:
            yield site.lanes, counts.groups[group], accesses
    if launch.purpose != Purpose.FAR:  # some blocks touch a part of an array only
        extents = [
            touched_bytes(kernel, launch, array.parameter)
            if array.parameter in counts.scattered
            else accessed_bytes(launch, array.parameter)
            for array in counts.arrays
        ]
        for array, extent in zip(counts.arrays, extents, strict=True):
            yield extent, array.extent_bytes, sum(extents)


def deviation(kernel: MeasuredKernel, counts: CountFunctions, launch: Measurement) -> float:
    """The largest relative difference of a function and what was counted in a launch."""
    sizes = dict(launch.sizes)

    def relative(counted: int, function: RationalFunction, of_all: int) -> float:
        try:
            predicted = float(function(sizes))
        except ZeroDivisionError:
            return float("inf")
        return abs(predicted - counted) / max(1.0, counted, LITTLE * of_all)

    return max(starmap(relative, _totals(kernel, counts, launch)))


def _is_met(kernel: MeasuredKernel, counts: CountFunctions, launch: Measurement) -> bool:
    sizes = dict(launch.sizes)
    return deviation(kernel, counts, launch) <= HELD_OUT_LIMIT and all(
        function(sizes) == counted for counted, function, _ in _totals(kernel, counts, launch)
    )

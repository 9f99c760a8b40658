"""Counts at sizes that took no part. Takes functions and held-out launches, says how far off.

Every function that a model reads is compared: totals of the launch, executions of each memory
instruction, extents of arrays. Held-out launches are the largest that can be counted in full, and
corners where one size is far from the others; of much larger ones some blocks are counted. Launches
with the program's own small values, a radius for instance, tell whether functions hold below the
sizes that were counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap

from cutune.model.fit.count_functions import (
    HELD_OUT_LIMIT,
    LEVELS,
    CountFunctions,
    accessed_bytes,
    code_totals,
    count_functions,
)
from cutune.model.fit.fitted_model import SizeRange
from cutune.model.measurement.measurement import (
    CHECK,
    COUNTS,
    FAR,
    OWN_SMALL,
    RECHECK,
    MeasuredKernel,
    Measurement,
)
from cutune.model.rational.functions import RationalFunction

#: What is less than this share of all instructions, accesses or bytes may be off by as much as that
#: share may: it hardly costs anything.
LITTLE = 0.05


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
        """Do the functions give the counts of all launches that took no part?"""
        return self.functions.holds and self.deviation <= HELD_OUT_LIMIT

    def ranges(self, kernel: MeasuredKernel) -> tuple[SizeRange, ...]:
        """Per variable the values at which the counts are known and met."""

        def values(launches: Iterable[Measurement], name: str) -> list[int]:
            return [dict(launch.sizes)[name] for launch in launches]

        def reached(name: str) -> SizeRange:
            met, took_part = values(self.reached, name), max(values(self.fitted, name))
            return SizeRange(min(met), max(met), max(1, max(met) // max(1, took_part)))

        return tuple(map(reached, kernel.variables))

    @property
    def where(self) -> str:
        """The sizes at which the functions are off, in brackets; empty where nothing was."""
        sizes = ", ".join(f"{name} = {value}" for name, value in self.at.items())
        return f" ({sizes})" if sizes else ""


def held_out(kernel: MeasuredKernel, measured: Sequence[Measurement]) -> HeldOut:
    """Fit the counts of a replayed kernel, and hold them against launches that took no part.

    If they fail there, they are fitted again with the checks that were counted in full; then later
    checks decide, and those of much larger launches.
    """
    counted = [m for m in measured if m.purpose == COUNTS]
    checks = [m for m in measured if m.purpose == CHECK]
    later = [m for m in measured if m.purpose in (RECHECK, FAR)]
    small = [m for m in measured if m.purpose == OWN_SMALL]
    first = _compared(kernel, counted, [*checks, *later], small)
    if first.holds or not checks or not any(m.purpose == RECHECK for m in later):
        return first
    second = _compared(kernel, [*counted, *checks], later, small)
    return second if second.holds else first


def _compared(
    kernel: MeasuredKernel,
    counted: Sequence[Measurement],
    checks: Sequence[Measurement],
    small: Sequence[Measurement],
) -> HeldOut:
    functions = count_functions(kernel, counted)
    off = [(deviation(kernel, functions, check), kernel.as_asked(check.sizes)) for check in checks]
    worst, at = max(off, key=lambda one: one[0], default=(0.0, {}))
    full = [check for check in checks if check.purpose != FAR]
    below = dict(_below(kernel, functions, small))
    met = [m for m in small if all(below[name] for name in _small_names(m))]
    return HeldOut(
        functions,
        tuple(counted),
        (*counted, *checks, *met),
        worst,
        at,
        functions.worst_error == 0 and all(_is_met(kernel, functions, m) for m in full),
        below,
    )


def _small_names(launch: Measurement) -> list[str]:
    """The sizes that have one of the program's own small values."""
    return [name for name, value in launch.sizes if value < LEVELS[0]]


def _below(
    kernel: MeasuredKernel, functions: CountFunctions, small: Sequence[Measurement]
) -> Iterator[tuple[str, bool]]:
    """Per size that was tried at small values, whether the functions hold there."""
    for name in kernel.variables:
        tried = [m for m in small if name in _small_names(m)]
        if tried:
            yield name, all(deviation(kernel, functions, m) <= HELD_OUT_LIMIT for m in tried)


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
    if launch.purpose != FAR:  # some blocks touch a part of an array only
        extents = [accessed_bytes(launch, array.parameter) for array in counts.arrays]
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

"""Counts in proportion to something: for kernels that were counted at the sizes of few runs.

Where work depends on data, nothing can be counted at sizes of our choice, and totals are no exact
functions of the sizes. They are taken to grow as the threads do, or as what explains them better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import expm1, prod, sqrt
from statistics import median

from cutune.device.thread_block import WARP, threads_of
from cutune.fit.count_functions import Fitter, count_points
from cutune.fit.measurement.measurement import MeasuredKernel, Measurement, SiteCounters
from cutune.fit.measurement.size_relations import extents_at
from cutune.fit.rational.exact_fit import fit
from cutune.fit.rational.functions import Polynomial, RationalFunction, constant_function

#: What threads share by chance: how often that is gets less with the size.
WITHIN_WARP = "load_cost_x20"
SHARED_BY_CHANCE = (WITHIN_WARP, "new_sectors", "missing")
SECTOR = 32
#: Threads per sector that are told apart from none, and from any number of them.
LEAST_CROWD, MOST_CROWD, BISECTIONS = 1e-3, 100.0, 30
#: From here on two sizes hardly tell how many threads meet: smaller blocks do.
TELLING_CROWD = 3.0
#: Totals that differ by so much from growing with the threads do grow so: data differ.
NEARLY = 0.15
#: What explains them to that extent does so for a reason.
EXACTLY = 0.001


def proportions(kernel: MeasuredKernel, measured: Sequence[Measurement]) -> Fitter:
    """What fits totals at the sizes of these measurements."""
    points = [dict(m.sizes) for m in measured]
    bases = [base for base in _bases(kernel) if all(base(point) > 0 for point in points)]
    constant = constant_function(kernel.variables, 1)

    def fitted(values: Sequence[int], is_once: bool) -> RationalFunction:
        if not any(values):
            return constant_function(kernel.variables, 0)
        # What each thread does at most once grows no faster than the threads.
        candidates = [*(bases[:1] if is_once else bases), constant]
        ratios = [
            [value / base(point) for value, point in zip(values, points, strict=True)]
            for base in candidates
        ]
        spreads = [_spread(ratio) for ratio in ratios]
        least = min(spreads)
        enough = EXACTLY if least <= EXACTLY else max(NEARLY, least)
        best = next(index for index, spread in enumerate(spreads) if spread <= enough)
        largest = max(range(len(values)), key=lambda place: values[place])
        return _scaled(candidates[best], ratios[best][largest], spreads[best])

    return fitted


def _bases(kernel: MeasuredKernel) -> Iterator[RationalFunction]:
    """The threads (blocks, where the grid is kept), then products of sizes."""
    variables = kernel.variables
    if variables:
        points = count_points(variables)
        threads = [max(0, prod(extents_at(kernel, point))) for point in points]
        places = [[point[name] for name in variables] for point in points]
        yield fit(variables, places, threads)
    for width in (1, 2, 3):
        for names in combinations_with_replacement(variables, width):
            exponents = tuple(names.count(name) for name in variables)
            yield replace(
                constant_function(variables, 1),
                numerator=Polynomial(variables, ((exponents, Fraction(1)),)),
            )


def _spread(ratios: Sequence[Fraction]) -> float:
    """By how much they differ; what is rare may not have happened at all in a small run."""
    seen = [ratio for ratio in ratios if ratio]
    return float(max(seen) / min(seen)) - 1


def _scaled(base: RationalFunction, factor: Fraction, spread: float) -> RationalFunction:
    terms = tuple((exponents, factor * c) for exponents, c in base.numerator.terms)
    numerator = Polynomial(base.numerator.variables, terms)
    return replace(base, numerator=numerator, exact=False, held_out_error=spread)


def without_idle_warps(launches: Sequence[Measurement]) -> list[Measurement]:
    """The counters of launches with different blocks, as if threads without work did not exist.

    Blocks larger than what small runs have to do hold many of them. Whatever threads execute
    beyond what they do with another block, whole warps of them do.
    """
    least = [min(lanes) for lanes in zip(*(m.lanes for m in launches), strict=True)]
    return [
        replace(
            m,
            lanes=tuple(least),
            executions=tuple(
                executions - (lanes - needed) // WARP
                for executions, lanes, needed in zip(m.executions, m.lanes, least, strict=True)
            ),
        )
        for m in launches
    ]


def at_large_sizes(
    kernel: MeasuredKernel, large: Sequence[Measurement], small: Sequence[Measurement]
) -> list[Measurement]:
    """The counters of launches, one per block, as much larger ones would have them.

    Of k threads that go to S sectors by chance S (1 - exp(-k / S)) meet no other there; S grows as
    the launch does. What is left of the sharing where two sizes have told k / S is its nature.

    Args:
        small: smaller launches with the same blocks.
    """
    pairs = list(zip(large, small, strict=True))
    is_nested = sum(kernel.free) == 1
    sites = [
        _at_limit([Pair(most, least, index) for most, least in pairs], memory.bytes, is_nested)
        for index, memory in enumerate(kernel.memory)
    ]
    return [
        replace(most, sites=tuple(of_block[place] for of_block in sites))
        for place, most in enumerate(large)
    ]


class Pair:
    """Counters of one memory instruction in a launch and in a smaller one with the same block."""

    def __init__(self, large: Measurement, small: Measurement, index: int) -> None:
        self.site, self.before = large.sites[index], small.sites[index]
        self.growth = large.working_threads / max(1, small.working_threads)
        self.threads = threads_of(large.block)

    def rates(self, name: str) -> tuple[float, float]:
        """A counter per execution, and in the smaller launch."""
        now, before = getattr(self.site, name), getattr(self.before, name)
        return now / max(1, self.site.traced), before / max(1, self.before.traced)

    def crowd(self, name: str) -> float:
        """Threads that meet per sector by chance, in the larger launch; 0 where none do."""
        rate, before = self.rates(name)
        if not self.before.traced or self.growth <= 1 or before >= rate:
            return 0.0
        low, high = LEAST_CROWD, MOST_CROWD
        for _ in range(BISECTIONS):
            crowd = sqrt(low * high)
            fits = _alone(self.growth * crowd) / _alone(crowd) < before / rate
            low, high = (low, crowd) if fits else (crowd, high)
        return low


def _at_limit(pairs: Sequence[Pair], size: int, is_nested: bool) -> list[SiteCounters]:
    """One instruction in launches of all blocks.

    `is_nested`: large blocks are several small ones, so that where these share nothing by chance,
    large ones in the end share what these do: a block that spans rows of a small grid does not span
    those of a large one.
    """
    found = [pair.site for pair in pairs]
    for name in SHARED_BY_CHANCE:
        crowds = _crowds(pairs, name)
        settled = 0.0
        for place in sorted(range(len(pairs)), key=lambda place: pairs[place].threads):
            site, crowd = found[place], crowds[place]
            rate = pairs[place].rates(name)[0]
            if not crowd:
                settled = rate if site.traced else settled
                continue
            lanes = site.lanes / site.executions
            # Each lane at a sector, and in a line, of its own.
            most = {WITHIN_WARP: 20 * lanes, "new_sectors": lanes * -(-size // SECTOR)}
            limit = max(rate, min(rate / _alone(crowd), most.get(name, 1.0)))
            if is_nested and settled and name == "new_sectors":
                limit = max(rate, settled)
            found[place] = replace(site, **{name: round(limit * site.traced)})
    return found


def _crowds(pairs: Sequence[Pair], name: str) -> list[float]:
    """Threads that meet per sector by chance, by block; of large ones smaller ones may tell."""
    crowds = [pair.crowd(name) for pair in pairs]
    # Of a warp the same meet in all blocks; of a block those that are in it.
    meeting = [1 if name == WITHIN_WARP else pair.threads for pair in pairs]
    told = [c / count for c, count in zip(crowds, meeting, strict=True) if 0 < c <= TELLING_CROWD]
    if not told:
        return crowds
    typical = median(told)
    return [
        crowd if crowd <= TELLING_CROWD else max(TELLING_CROWD, typical * count)
        for crowd, count in zip(crowds, meeting, strict=True)
    ]


def _alone(crowd: float) -> float:
    """The share of `crowd` threads per sector that are the only ones there."""
    return -expm1(-crowd) / crowd

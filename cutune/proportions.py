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

from cutune.counts import Fitter, count_points
from cutune.measure import MeasuredKernel, Measurement, SiteCounters
from cutune.rational import Polynomial, RationalFunction, constant_function, fit
from cutune.relations import extents_at

#: What threads share by chance: how often that is gets less with the size.
SHARED_BY_CHANCE = ("load_cost_x20", "new_sectors", "missing")
SECTOR = 32
#: Threads per sector that are told apart from none, and from any number of them.
LEAST_CROWD, MOST_CROWD, BISECTIONS = 1e-3, 100.0, 30
#: Totals that differ by so much from growing with the threads do grow so: data differ.
NEARLY = 0.15


def proportions(facts: MeasuredKernel, measured: Sequence[Measurement]) -> Fitter:
    """What fits totals at the sizes of these measurements."""
    points = [dict(m.sizes) for m in measured]
    bases = [base for base in _bases(facts) if all(base(point) > 0 for point in points)]

    def fitted(values: Sequence[int]) -> RationalFunction:
        if not any(values):
            return constant_function(facts.variables, 0)
        candidates = [*bases, constant_function(facts.variables, 1)]
        ratios = [
            [value / base(point) for value, point in zip(values, points, strict=True)]
            for base in candidates
        ]
        spreads = [_spread(ratio) for ratio in ratios]
        best = next(
            index for index, spread in enumerate(spreads) if spread <= max(NEARLY, min(spreads))
        )
        largest = max(range(len(values)), key=lambda place: values[place])
        return _scaled(candidates[best], ratios[best][largest], spreads[best])

    return fitted


def _bases(facts: MeasuredKernel) -> Iterator[RationalFunction]:
    """The threads (blocks, where the grid is kept), then products of sizes."""
    variables = facts.variables
    if variables:
        points = count_points(variables)
        threads = [max(0, prod(extents_at(facts, point))) for point in points]
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


def at_large_sizes(facts: MeasuredKernel, large: Measurement, small: Measurement) -> Measurement:
    """The counters of the larger of two launches, as a much larger one would have them.

    Of k threads that go to S sectors by chance S (1 - exp(-k / S)) meet no other there; S grows as
    the launch does. What is left of the sharing where the two sizes have told k / S is its nature.
    """
    growth = large.working_threads / max(1, small.working_threads)
    if growth <= 1:
        return large
    sites = zip(large.sites, small.sites, facts.memory, strict=True)
    return replace(
        large,
        sites=tuple(
            _at_limit(site, before, growth, memory.bytes) for site, before, memory in sites
        ),
    )


def _at_limit(site: SiteCounters, before: SiteCounters, growth: float, size: int) -> SiteCounters:
    if not site.traced or not before.traced:
        return site
    lanes = site.lanes / site.executions
    # Each lane at a sector, and in a line, of its own.
    most = {"load_cost_x20": 20 * lanes, "new_sectors": lanes * -(-size // SECTOR)}
    values = {}
    for name in SHARED_BY_CHANCE:
        rate, rate_before = getattr(site, name) / site.traced, getattr(before, name) / before.traced
        limit = min(_without_chance(rate, rate_before, growth), most.get(name, 1.0))
        values[name] = round(max(rate, limit) * site.traced)
    return replace(site, **values)


def _without_chance(rate: float, before: float, growth: float) -> float:
    """What a rate tends to that chance has lowered; `before`: at a size `growth` times smaller."""
    if before >= rate:
        return rate

    def alone(crowd: float) -> float:
        """The share of `crowd` threads per sector that are the only ones there."""
        return -expm1(-crowd) / crowd

    low, high = LEAST_CROWD, MOST_CROWD
    for _ in range(BISECTIONS):
        crowd = sqrt(low * high)
        fits = alone(growth * crowd) / alone(crowd) < before / rate
        low, high = (low, crowd) if fits else (crowd, high)
    return rate / alone(low)

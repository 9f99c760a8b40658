"""Counts in proportion to something: for kernels that were counted at the sizes of few runs.

Where work depends on data, nothing can be counted at sizes of our choice, and totals are no exact
functions of the sizes. They are taken to grow as the threads do, or as what explains them better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement
from math import prod

from cutune.counts import Fitter, count_points
from cutune.measure import MeasuredKernel, Measurement, SiteCounters
from cutune.rational import Polynomial, RationalFunction, constant_function, fit
from cutune.relations import extents_at

#: What threads share by chance: how often that is gets less with the size.
SHARED_BY_CHANCE = ("load_cost_x20", "new_sectors", "missing")
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
    least, most = min(ratios), max(ratios)
    return float(most / least) - 1 if least > 0 else float("inf")


def _scaled(base: RationalFunction, factor: Fraction, spread: float) -> RationalFunction:
    terms = tuple((exponents, factor * c) for exponents, c in base.numerator.terms)
    numerator = Polynomial(base.numerator.variables, terms)
    return replace(base, numerator=numerator, exact=False, held_out_error=spread)


def at_large_sizes(large: Measurement, small: Measurement) -> Measurement:
    """The counters of the larger of two launches, as a much larger one would have them.

    Threads that go to addresses by chance meet in a sector the more rarely the larger the arrays:
    what an instruction costs tends to a limit as 1 / size.
    """
    most, least = large.working_threads, small.working_threads
    if most <= least:
        return large
    further = least / (most - least)
    pairs = zip(large.sites, small.sites, strict=True)
    return replace(large, sites=tuple(_at_limit(site, before, further) for site, before in pairs))


def _at_limit(site: SiteCounters, before: SiteCounters, further: float) -> SiteCounters:
    if not site.traced or not before.traced:
        return site
    values = {}
    for name in SHARED_BY_CHANCE:
        rate, rate_before = getattr(site, name) / site.traced, getattr(before, name) / before.traced
        limit = rate + max(0.0, rate - rate_before) * further
        values[name] = round(limit * site.traced)
    values["missing"] = min(values["missing"], site.traced)
    return replace(site, **values)

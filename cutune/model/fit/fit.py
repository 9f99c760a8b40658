"""Measurements to models. Takes the counters of one kernel, gives a `FittedModel`.

Work that depends on data cannot be counted at sizes of our choice, and totals are no exact
functions of the sizes. They are taken as proportional to the number of threads, or to a product of
sizes that fits better.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import expm1, prod, sqrt
from statistics import median

from cutune.core.codes import NO_REMEDY, Code
from cutune.core.diagnostics import Diagnostic
from cutune.model.fit import count_functions
from cutune.model.fit.count_functions import HELD_OUT_LIMIT, CountFunctions, HeldOut
from cutune.model.fit.feature_columns import feature_columns, transaction_columns
from cutune.model.fit.fitted_model import SECTOR, FittedModel, PublishedCounts
from cutune.model.fit.rereads import reread_columns
from cutune.model.measurement.alignment import alignment_classes, all_rows, cells
from cutune.model.measurement.measurement import (
    MeasuredKernel,
    Measurement,
    Measurements,
    Purpose,
    SiteCounters,
)
from cutune.model.measurement.size_relations import busy_threads, extents_at
from cutune.model.rational.functions import RationalFunction, Terms, constant_function, fit
from cutune.toolchain.device.thread_block import WARP, Block, threads_of

#: The ways of fitting.
EXACT, PAPER = "exact", "paper"
#: Relative error up to which the functions of a data-dependent kernel are used.
PROPORTION_LIMIT = 1.0
#: How many times as large as before the sizes are at which a program is proposed to run.
LARGER = (2, 4, 8)
#: So many launches that are counted on data tell how their work grows.
FEWEST_ON_DATA = 2


def fit_model(
    kernel: MeasuredKernel, measurements: Measurements, method: str = EXACT
) -> FittedModel | Diagnostic:
    """Fit one kernel by a method (`EXACT`, `PAPER`); a diagnostic says why there is no model."""
    checked = _counts(kernel, measurements)
    if isinstance(checked, Diagnostic):
        return checked
    counts = checked.functions
    classes = alignment_classes(kernel, measurements)
    # Measurements of other candidate sets may be there too.
    blocks = kernel.remaining()
    launches = _feature_launches(kernel, classes, blocks, measurements)
    if launches is None:
        return Diagnostic.at(Code.NO_MEASUREMENTS, kernel=kernel.name)
    published: PublishedCounts | Diagnostic | None = None
    if method == PAPER:
        # Takes half a second to import.
        from cutune.model.fit.published_counters import fit_published  # noqa: PLC0415

        published = fit_published(kernel, measurements)
    if isinstance(published, Diagnostic):
        return published
    ordered, smaller = launches
    return replace(
        model_of(kernel, counts, classes, blocks, ordered, smaller if kernel.keeps_grid else ()),
        transactions=tuple(transaction_columns(kernel, counts, ordered)),
        published=published,
        reached=checked.ranges(kernel),
        is_exact=checked.is_exact,
        held_out_error=0.0 if checked.is_exact else max(_error(kernel, counts), checked.deviation),
    )


def _counts(kernel: MeasuredKernel, measurements: Measurements) -> HeldOut | Diagnostic:
    counted = [m for m in measurements if m.purpose == Purpose.COUNTS]
    features = [m for m in measurements if m.purpose == Purpose.FEATURES]
    if not counted or not features:
        return Diagnostic.at(Code.NO_MEASUREMENTS, kernel=kernel.name)
    reason, name = "", kernel.name
    if kernel.on_data:
        checked, limit = _on_data(kernel, counted), PROPORTION_LIMIT
    elif not (reason := count_functions.uncertain_accesses(kernel, counted[-1])):
        checked, limit = count_functions.held_out(kernel, measurements), HELD_OUT_LIMIT
        reason = count_functions.bounded_elsewhere(kernel, checked.functions, features)
    if reason:
        return Diagnostic.at(Code.DATA_DEPENDENT, kernel=name, reason=f"{reason}. {NO_REMEDY}")
    error = max(_error(kernel, checked.functions), checked.deviation)
    return _poor_fit(kernel, checked, error) if error > limit else checked


def _on_data(kernel: MeasuredKernel, counted: Measurements) -> HeldOut:
    """Totals in proportion to sizes: of all launches, or of the larger ones if these differ.

    A loop that small launches do not repeat does not tell how often large ones do.
    """
    ordered = sorted(counted, key=lambda launch: prod(value for _, value in launch.sizes))
    fits = []
    for kept in _larger_ones(tuple(ordered)):
        functions = count_functions.count_functions(kernel, kept, proportions(kernel, kept))
        fits.append(HeldOut(functions, kept, kept))
        if _error(kernel, functions) <= PROPORTION_LIMIT:
            return fits[-1]
    return fits[0]


def _larger_ones(ordered: tuple[Measurement, ...]) -> Iterator[tuple[Measurement, ...]]:
    """All launches, then without the smallest ones, down to those that still tell growth."""
    while len(ordered) > FEWEST_ON_DATA:
        yield ordered
        ordered = ordered[max(1, len(ordered) // 4) :]
    yield ordered


def _poor_fit(kernel: MeasuredKernel, checked: HeldOut, error: float) -> Diagnostic:
    largest = [max(column) for column in zip(*(one for one, _ in kernel.recorded), strict=True)]
    example = ""
    if largest:
        name, most = kernel.parameters[0], largest[0]
        values = ",".join(str(most * factor) for factor in LARGER)
        example = f", such as {values} where {name} was {most} at most"
    code, name, off = Code.POOR_FIT, kernel.name, count_functions.off_text(error)
    return Diagnostic.at(code, kernel=name, error=off, where=checked.where, example=example)


def _feature_launches(
    kernel: MeasuredKernel,
    classes: tuple[tuple[int, ...], ...],
    blocks: Sequence[Block],
    measurements: Measurements,
) -> tuple[Measurements, Measurements] | None:
    """One launch for each (class, block) in this order, and smaller ones; None: one is missing."""
    table = cells(kernel, classes, measurements)
    wanted = [table.at(row, block) for row in all_rows(classes) for block in blocks]
    ordered = [measurement for measurement in wanted if measurement is not None]
    if len(ordered) < len(wanted):
        return None
    by_block = {m.block: m for m in measurements if m.purpose == Purpose.SMALLER}
    smaller = [by_block[block] for block in blocks if block in by_block]
    if (kernel.keeps_grid or kernel.on_data) and len(smaller) < len(blocks):
        return None
    if kernel.on_data:
        ordered = at_large_sizes(kernel, ordered, [by_block[m.block] for m in ordered])
        if not kernel.asserted:
            ordered = without_idle_warps(ordered)
    return ordered, smaller


def model_of(
    kernel: MeasuredKernel,
    counts: CountFunctions,
    classes: tuple[tuple[int, ...], ...],
    blocks: tuple[Block, ...],
    ordered: Measurements,
    smaller: Measurements = (),
) -> FittedModel:
    """The model of counts and launches, by (class, block). `smaller`: one per block, or none."""
    # The count groups of the instructions in global memory.
    pairs = zip(counts.group_of, kernel.memory, strict=True)
    requesting = [group for group, memory in pairs if not memory.shared]
    return FittedModel(
        kernel=kernel,
        **counts.totals,
        looped=count_functions.is_looped(kernel),
        groups=counts.groups,
        requests=tuple(map(requesting.count, range(len(counts.groups)))),
        arrays=counts.arrays,
        classes=classes,
        blocks=blocks,
        columns=(
            *feature_columns(kernel, counts, ordered, smaller),
            *reread_columns(kernel, counts, ordered, len(all_rows(classes))),
        ),
        held_out_error=_error(kernel, counts),
    )


def _error(kernel: MeasuredKernel, counts: CountFunctions) -> float:
    return counts.typical_error if kernel.on_data else counts.worst_error


# ---- kernels whose work depends on data

#: Counters that become smaller where threads share sectors by chance. Sharing by chance becomes
#: rarer as the size grows.
WITHIN_WARP = "load_cost_x20"
SHARED_BY_CHANCE = (WITHIN_WARP, "new_sectors", "missing")
#: Bounds between which the number of threads per sector is searched, and the steps of the search.
LEAST_CROWD, MOST_CROWD, BISECTIONS = 1e-3, 100.0, 30
#: Threads per sector up to which two sizes determine their number. Above, smaller blocks do.
MEASURABLE_CROWD = 3.0
#: Relative spread up to which totals count as proportional to the threads: data differ by so much.
NEARLY = 0.15
#: Below this relative spread, proportionality is taken as structural, not coincidental.
EXACTLY = 0.001


def proportions(kernel: MeasuredKernel, measured: Measurements) -> count_functions.Fitter:
    """A fitter of totals at the sizes of these measurements."""
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
        factor, base = ratios[best][values.index(max(values))], candidates[best]
        numerator = tuple((exponents, factor * c) for exponents, c in base.numerator)
        return replace(base, numerator=numerator, exact=False, held_out_error=spreads[best])

    return fitted


def _bases(kernel: MeasuredKernel) -> Iterator[RationalFunction]:
    """The number of threads (blocks, where the grid is kept), then products of up to 3 sizes."""
    variables = kernel.variables
    if variables:
        yield _threads(kernel)
    for width in (1, 2, 3):
        for names in combinations_with_replacement(variables, width):
            exponents = tuple(names.count(name) for name in variables)
            yield replace(constant_function(variables, 1), numerator=((exponents, Fraction(1)),))


def _threads(kernel: MeasuredKernel) -> RationalFunction:
    """The product of the threads by axis; of many variables it is not found by fitting that."""
    variables = kernel.variables
    points = count_functions.count_points(variables)
    places = [[point[name] for name in variables] for point in points]
    extents = [_busy(kernel, point) for point in points]
    of_axes = [fit(variables, places, along) for along in zip(*extents, strict=True)]
    if not all(extent.exact for extent in of_axes):
        return fit(variables, places, list(map(prod, extents)))
    threads = constant_function(variables, 1)
    for extent in of_axes:
        numerator = _product(threads.numerator, extent.numerator)
        denominator = _product(threads.denominator, extent.denominator)
        threads = replace(threads, numerator=numerator, denominator=denominator)
    return threads


def _busy(kernel: MeasuredKernel, point: Mapping[str, int]) -> list[int]:
    """The threads that a launch covers: those that have work, where any number does the same."""
    covered = extents_at(kernel, point)
    return [busy_threads(kernel, axis, point) or max(0, covered[axis]) for axis in range(3)]


def _product(first: Terms, second: Terms) -> Terms:
    terms: dict[tuple[int, ...], Fraction] = {}
    for (one, a), (two, b) in product(first, second):
        powers = tuple(map(sum, zip(one, two, strict=True)))
        terms[powers] = terms.get(powers, Fraction(0)) + a * b
    return tuple(term for term in sorted(terms.items()) if term[1])


def _spread(ratios: Sequence[Fraction]) -> float:
    """Relative spread. Zeros are left out: a rare event may be missing in a small run."""
    seen = [ratio for ratio in ratios if ratio]
    return float(max(seen) / min(seen)) - 1


def without_idle_warps(launches: Measurements) -> list[Measurement]:
    """The counters of launches with different blocks, without those of idle threads.

    In small runs large blocks have many. What exceeds the least of all blocks is their work.
    """
    least = tuple(min(lanes) for lanes in zip(*(m.lanes for m in launches), strict=True))

    def working(m: Measurement) -> Measurement:
        counts = zip(m.executions, m.lanes, least, strict=True)
        executions = (executed - (lanes - needed) // WARP for executed, lanes, needed in counts)
        return replace(m, lanes=least, executions=tuple(executions))

    return list(map(working, launches))


def at_large_sizes(
    kernel: MeasuredKernel, large: Measurements, small: Measurements
) -> list[Measurement]:
    """The counters of launches, one per block, extrapolated to much larger launches.

    If k threads access S sectors at random, S (1 - exp(-k / S)) of the accesses share no sector,
    and S grows with the launch. Two sizes give k / S. The sharing that remains is structural.
    `small`: smaller launches with the same blocks, in the same order.
    """
    pairs = list(zip(large, small, strict=True))
    is_nested = sum(kernel.free) == 1
    sites = [
        _at_limit([Pair(most, least, index) for most, least in pairs], memory.bytes, is_nested)
        for index, memory in enumerate(kernel.memory)
    ]
    return [replace(most, sites=tuple(of[n] for of in sites)) for n, most in enumerate(large)]


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
        """Threads that share a sector by chance, in the larger launch; 0 where none do."""
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
    """One memory instruction in launches of all blocks, `size` bytes wide.

    `is_nested`: a large block consists of several small ones. Where small blocks share nothing by
    chance, large blocks then approach their rate: a block that spans rows of a small grid does not
    span those of a large grid.
    """
    sites = [pair.site for pair in pairs]
    for name in SHARED_BY_CHANCE:
        crowds = _crowds(pairs, name)
        settled = 0.0
        for place in sorted(range(len(pairs)), key=lambda place: pairs[place].threads):
            site, crowd = sites[place], crowds[place]
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
            sites[place] = site._replace(**{name: round(limit * site.traced)})
    return sites


def _crowds(pairs: Sequence[Pair], name: str) -> list[float]:
    """Threads that share a sector by chance, per block. Those of large blocks may be inferred."""
    crowds = [pair.crowd(name) for pair in pairs]
    # Sharing within a warp is the same in all blocks, within a block it grows with the threads.
    meeting = [1 if name == WITHIN_WARP else pair.threads for pair in pairs]
    each = list(zip(crowds, meeting, strict=True))
    measured = [crowd / count for crowd, count in each if 0 < crowd <= MEASURABLE_CROWD]
    if not measured:
        return crowds
    typical, most = median(measured), MEASURABLE_CROWD
    return [crowd if crowd <= most else max(most, typical * count) for crowd, count in each]


def _alone(crowd: float) -> float:
    """The share of accesses that share no sector, at `crowd` threads per sector."""
    return -expm1(-crowd) / crowd

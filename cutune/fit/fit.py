"""Measurements to models. Takes the counters of one kernel, gives a `FittedModel`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.device.thread_block import Block
from cutune.fit.count_functions import (
    BOUNDED_BY_NO_SIZE,
    HELD_OUT_LIMIT,
    UNCERTAIN_LIMIT,
    CountFunctions,
    count_functions,
    is_bounded_by_no_size,
    is_looped,
    uncertain_share,
)
from cutune.fit.data_dependent import at_large_sizes, proportions, without_idle_warps
from cutune.fit.fitted_model import (
    ATOMIC,
    ATOMIC_REAL,
    BARRIER,
    FIXED,
    ISSUE,
    SCATTERED,
    SECTORS,
    STEP,
    UNCOALESCED,
    FeatureColumn,
    FittedModel,
    in_single_precision,
)
from cutune.fit.measurement.alignment_classes import alignment_classes
from cutune.fit.measurement.alignment_table import all_rows, cells
from cutune.fit.measurement.measurement import (
    COUNTS,
    FEATURES,
    SMALLER,
    MeasuredKernel,
    Measurement,
)
from cutune.fit.per_warp import NEAR_ONE, Scale, growth

#: The ways of fitting.
EXACT, PAPER = "exact", "paper"
#: How much the counts of kernels whose work depends on data may differ from their functions.
PROPORTION_LIMIT = 1.0


def fit_model(
    facts: MeasuredKernel, measurements: Sequence[Measurement], method: str = EXACT
) -> FittedModel | Diagnostic:
    """Fit one kernel; a diagnostic says why it cannot be modelled.

    `method`: `EXACT`, or `PAPER` for what the published models read.
    """
    counted = [m for m in measurements if m.purpose == COUNTS]
    features = [m for m in measurements if m.purpose == FEATURES]
    if len(counted) < 1 or not features:
        return Diagnostic.at(Code.NO_MEASUREMENTS, None, kernel=facts.kernel)
    if not facts.on_data and uncertain_share(facts, counted[-1]) > UNCERTAIN_LIMIT:
        reason = "data decide about memory accesses"
        return Diagnostic.at(Code.DATA_DEPENDENT, None, kernel=facts.kernel, reason=reason)
    fitter = proportions(facts, counted) if facts.on_data else None
    limit = PROPORTION_LIMIT if facts.on_data else HELD_OUT_LIMIT
    counts = count_functions(facts, counted, fitter)
    error = _error(facts, counts)
    if error > limit:
        return Diagnostic.at(
            Code.POOR_FIT,
            None,
            kernel=facts.kernel,
            error=f"{100 * error:.1f}",
            limit=f"{100 * limit:.0f}",
        )
    if not facts.on_data and is_bounded_by_no_size(facts, counts, features):
        kernel, reason = facts.kernel, BOUNDED_BY_NO_SIZE
        return Diagnostic.at(Code.DATA_DEPENDENT, None, kernel=kernel, reason=reason)
    classes = alignment_classes(facts, measurements)
    known = cells(facts, classes, measurements)
    # Measurements of other candidate sets may be there too.
    blocks = tuple(block for block in facts.candidates() if block not in facts.rejected)
    rows = all_rows(classes)
    found = [known.at(row, block) for row in rows for block in blocks]
    ordered = [measurement for measurement in found if measurement is not None]
    if len(ordered) < len(found):
        return Diagnostic.at(Code.NO_MEASUREMENTS, None, kernel=facts.kernel)
    by_block = {m.block: m for m in measurements if m.purpose == SMALLER}
    smaller = [by_block[block] for block in blocks if block in by_block]
    if (facts.keeps_grid or facts.on_data) and len(smaller) < len(blocks):
        return Diagnostic.at(Code.NO_MEASUREMENTS, None, kernel=facts.kernel)
    if facts.on_data:
        ordered = at_large_sizes(facts, ordered, [by_block[m.block] for m in ordered])
        if not facts.asserted:
            ordered = without_idle_warps(ordered)
    published = None
    if method == PAPER:
        # Takes half a second to import.
        from cutune.fit.published_counters import fit_published  # noqa: PLC0415

        published = fit_published(facts, measurements)
    if isinstance(published, Diagnostic):
        return published
    return replace(
        model_of(facts, counts, classes, blocks, ordered, smaller if facts.keeps_grid else ()),
        transactions=tuple(_transactions(facts, counts, ordered)),
        published=published,
    )


def model_of(
    facts: MeasuredKernel,
    counts: CountFunctions,
    classes: tuple[tuple[int, ...], ...],
    blocks: tuple[Block, ...],
    ordered: Sequence[Measurement],
    smaller: Sequence[Measurement] = (),
) -> FittedModel:
    """The model of counts and of feature launches, one for each (class, block) in this order.

    `smaller`: where the grid is kept, one more for each block.
    """
    return FittedModel(
        facts=facts,
        working=counts.working,
        steps=counts.steps,
        instructions=counts.instructions,
        double=counts.double,
        special=counts.special,
        barriers=counts.barriers,
        constants=counts.constants,
        looped=is_looped(facts),
        groups=counts.groups,
        requests=_requests(facts, counts),
        arrays=counts.arrays,
        classes=classes,
        blocks=blocks,
        columns=tuple(_columns(facts, counts, ordered, smaller)),
        held_out_error=_error(facts, counts),
        transactions=(),
    )


def _error(facts: MeasuredKernel, counts: CountFunctions) -> float:
    """How far the counts are off at sizes that they have not seen."""
    return counts.typical_error if facts.on_data else counts.worst_error


def _requests(facts: MeasuredKernel, counts: CountFunctions) -> tuple[int, ...]:
    """Instructions in each count group that ask the caches for something."""
    asking = [g for g, m in zip(counts.group_of, facts.memory, strict=True) if not m.shared]
    return tuple(asking.count(group) for group in range(len(counts.groups)))


def _columns(
    facts: MeasuredKernel,
    counts: CountFunctions,
    ordered: Sequence[Measurement],
    smaller: Sequence[Measurement],
) -> Iterable[FeatureColumn]:
    """Features per trip, summed over the memory instructions of each group."""
    scales = [Scale(facts, counts, measurement) for measurement in ordered]

    def column(kind: str, group: int, sites: Sequence[int], attribute: str) -> FeatureColumn:
        values = [scale.cost(sites, attribute) for scale in scales]
        return _feature(kind, group, values)

    arrays = [array.parameter for array in counts.arrays]
    for group in range(len(counts.groups)):
        members = [i for i, g in enumerate(counts.group_of) if g == group]
        shared = [i for i in members if facts.memory[i].shared]
        loads = [i for i in members if facts.memory[i].kind == "load" and i not in shared]
        stores = [i for i in members if i not in (*loads, *shared)]
        atomics = [i for i in stores if facts.memory[i].kind == "atomic"]
        if smaller:
            asking = [index for index in members if index not in shared]
            requests = [scale.requests(asking) for scale in scales]
            yield _feature("request", group, requests)
        if loads:
            yield column("load", group, loads, "load_cost_x20")
            shares = _settled([scale.missing(loads) for scale in scales])
            yield _feature("missing", group, shares)
        if stores:
            yield column("store", group, stores, "store_cost_x20")
            yield column("rewritten", group, stores, "rewritten_sectors")
            yield _feature("rewritten_lines", group, [scale.lines(stores) for scale in scales])
        if shared:
            values = [
                scale.cost(shared, "load_cost_x20") + scale.cost(shared, "store_cost_x20")
                for scale in scales
            ]
            yield _feature("shared", group, values)
        for index, array in enumerate(arrays):
            touching = [i for i in members if any(m.sites[i].array == array for m in ordered)]
            if touching:
                values = [scale.cost(touching, "new_sectors") for scale in scales]
                yield _feature("missed", group, values, index)
            adding = [i for i in touching if i in atomics]
            if adding:
                real = any(facts.memory[i].real for i in adding)
                values = [scale.atomic_bytes(adding) for scale in scales]
                yield _feature(ATOMIC_REAL if real else ATOMIC, group, values, index)
    if facts.asserted or facts.on_data:
        yield _feature("busiest", 0, [s.busiest() for s in scales])
    if smaller:
        yield from _growth_columns(scales, [Scale(facts, counts, m) for m in smaller])
        return
    issued = _settled([scale.relative("instructions") for scale in scales])
    yield _feature(ISSUE, 0, issued)
    yield _feature(BARRIER, 0, [s.relative("barriers") for s in scales])


def _growth_columns(scales: Sequence[Scale], smaller: Sequence[Scale]) -> Iterable[FeatureColumn]:
    """What grows with the work of a row, and what each warp does anyway."""
    for kind, what in ((ISSUE, "instructions"), (STEP, "steps"), (BARRIER, "barriers")):
        # One smaller launch per block, whatever the alignment.
        pairs = [
            growth(scale, smaller[index % len(smaller)], what) for index, scale in enumerate(scales)
        ]
        yield _feature(kind, 0, [slope for slope, _ in pairs])
        yield _feature(f"{kind}{FIXED}", 0, [fixed for _, fixed in pairs])


def _transactions(
    facts: MeasuredKernel, counts: CountFunctions, ordered: Sequence[Measurement]
) -> Iterable[FeatureColumn]:
    """Sectors per execution, and how much of that is not coalesced, of each group."""
    for group in range(len(counts.groups)):
        grouped = [i for i, g in enumerate(counts.group_of) if g == group]
        members = [i for i in grouped if not facts.memory[i].shared]
        rows = [[_sectors(m, facts, i) for i in members] for m in ordered]
        scattered = [[(s, s > least) for s, least in row] for row in rows]
        for kind, values in (
            (SECTORS, [sum(s for s, _ in row) for row in rows]),
            (UNCOALESCED, [float(sum(is_scattered for _, is_scattered in r)) for r in scattered]),
            (SCATTERED, [sum((s for s, wide in r if wide), 0.0) for r in scattered]),
        ):
            yield _feature(kind, group, values)


def _sectors(measurement: Measurement, facts: MeasuredKernel, index: int) -> tuple[float, float]:
    """Sectors per execution of a memory instruction, and those of a full warp side by side."""
    site = measurement.sites[index]
    return (site.sectors / site.traced if site.traced else 0.0, float(facts.memory[index].bytes))


def _settled(values: Sequence[float]) -> Sequence[float]:
    """One value where all are nearly the same: it needs no table."""
    least, most = min(values, default=0.0), max(values, default=0.0)
    return [most] * len(values) if most - least <= NEAR_ONE * most else values


def _feature(
    kind: str, group: int, values: Sequence[float], array: int | None = None
) -> FeatureColumn:
    return FeatureColumn(kind, group, array, in_single_precision(values))

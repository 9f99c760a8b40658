"""Measurements to models. Takes the counters of one kernel, gives a `FittedModel`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from cutune.candidates import Block
from cutune.classes import alignment_classes
from cutune.counts import CountFunctions, count_functions
from cutune.diagnostics import Code, Diagnostic
from cutune.fitted import SCATTERED, SECTORS, UNCOALESCED, FeatureColumn, FittedModel
from cutune.measure import COUNTS, FEATURES, MeasuredKernel, Measurement, SiteCounters
from cutune.plan import is_looped
from cutune.published import fit_published

#: The ways of fitting.
EXACT, PAPER = "exact", "paper"
#: A model whose counts are further off at unseen sizes is not used.
HELD_OUT_LIMIT = 0.05

#: Of the memory accesses, those that data decide about.
UNCERTAIN_LIMIT = 0.05

Cell = tuple[tuple[int, ...], Block]


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
    if _uncertain_share(facts, counted[-1]) > UNCERTAIN_LIMIT:
        reason = "it decides about memory accesses"
        return Diagnostic.at(Code.DATA_DEPENDENT, None, kernel=facts.kernel, reason=reason)
    counts = count_functions(facts, counted)
    if counts.worst_error > HELD_OUT_LIMIT:
        return Diagnostic.at(
            Code.POOR_FIT,
            None,
            kernel=facts.kernel,
            error=f"{100 * counts.worst_error:.1f}",
            limit=f"{100 * HELD_OUT_LIMIT:.0f}",
        )
    classes = alignment_classes(facts, measurements)
    cells = _cells(facts, classes, features)
    # Measurements of other candidate sets may be there too.
    blocks = tuple(block for block in facts.candidates() if block not in facts.rejected)
    rows = list(product(*(range(max(c) + 1) for c in classes)))
    missing = [(row, block) for row in rows for block in blocks if (row, block) not in cells]
    if missing:
        return Diagnostic.at(Code.NO_MEASUREMENTS, None, kernel=facts.kernel)
    ordered = [cells[row, block] for row in rows for block in blocks]
    published = fit_published(facts, measurements) if method == PAPER else None
    if isinstance(published, Diagnostic):
        return published
    return FittedModel(
        facts=facts,
        working=counts.working,
        steps=counts.steps,
        instructions=counts.instructions,
        looped=is_looped(facts),
        groups=counts.groups,
        requests=tuple(counts.group_of.count(g) for g in range(len(counts.groups))),
        arrays=counts.arrays,
        classes=classes,
        blocks=blocks,
        columns=tuple(_columns(facts, counts, ordered)),
        held_out_error=counts.worst_error,
        transactions=tuple(_transactions(facts, counts, ordered)),
        published=published,
    )


def _uncertain_share(facts: MeasuredKernel, largest: Measurement) -> float:
    accesses = sum(site.lanes for site in largest.sites)
    return facts.uncertain * largest.working_threads / max(1, accesses)


def _cells(
    facts: MeasuredKernel,
    classes: Sequence[Sequence[int]],
    features: Iterable[Measurement],
) -> dict[Cell, Measurement]:
    """Feature launches by alignment class and block."""
    cells = {}
    for measurement in features:
        sizes = dict(measurement.sizes)
        residues = zip(facts.parameters, classes, strict=True)
        row = tuple(c[sizes[name] % len(c)] for name, c in residues)
        cells[row, measurement.block] = measurement
    return cells


def _columns(
    facts: MeasuredKernel, counts: CountFunctions, ordered: Sequence[Measurement]
) -> Iterable[FeatureColumn]:
    """Features per execution, summed over the memory instructions of each group."""
    arrays = [array.parameter for array in counts.arrays]
    for group in range(len(counts.groups)):
        members = [i for i, g in enumerate(counts.group_of) if g == group]
        loads = [i for i in members if facts.memory[i].kind == "load"]
        stores = [i for i in members if facts.memory[i].kind != "load"]
        if loads:
            values = [_mean(m, loads, "load_cost_x20") / 20 for m in ordered]
            yield FeatureColumn("load", group, None, _exact(values))
        if stores:
            values = [_mean(m, stores, "store_cost_x20") / 20 for m in ordered]
            yield FeatureColumn("store", group, None, _exact(values))
        for index, array in enumerate(arrays):
            touching = [i for i in members if any(m.sites[i].array == array for m in ordered)]
            if touching:
                values = [_mean(m, touching, "new_sectors") for m in ordered]
                yield FeatureColumn("missed", group, index, _exact(values))


def _transactions(
    facts: MeasuredKernel, counts: CountFunctions, ordered: Sequence[Measurement]
) -> Iterable[FeatureColumn]:
    """Sectors per execution, and how much of that is not coalesced, of each group."""
    for group in range(len(counts.groups)):
        members = [i for i, g in enumerate(counts.group_of) if g == group]
        rows = [[_sectors(m, facts, i) for i in members] for m in ordered]
        scattered = [[(s, s > least) for s, least in row] for row in rows]
        for kind, values in (
            (SECTORS, [sum(s for s, _ in row) for row in rows]),
            (UNCOALESCED, [float(sum(is_scattered for _, is_scattered in r)) for r in scattered]),
            (SCATTERED, [sum((s for s, wide in r if wide), 0.0) for r in scattered]),
        ):
            yield FeatureColumn(kind, group, None, _exact(values))


def _sectors(measurement: Measurement, facts: MeasuredKernel, index: int) -> tuple[float, float]:
    """Sectors per execution of a memory instruction, and those of a full warp side by side."""
    site = measurement.sites[index]
    return (site.sectors / site.traced if site.traced else 0.0, float(facts.memory[index].bytes))


def _mean(measurement: Measurement, sites: Sequence[int], attribute: str) -> float:
    """Sum over memory instructions of a counter per traced execution."""
    chosen: list[SiteCounters] = [measurement.sites[i] for i in sites]
    ratios = [int(getattr(site, attribute)) / site.traced for site in chosen if site.traced]
    return sum(ratios, 0.0)


def _exact(values: Sequence[float]) -> tuple[Fraction, ...]:
    """As C will hold them: rounded to single precision."""
    return tuple(Fraction(float(np.float32(value))) for value in values)

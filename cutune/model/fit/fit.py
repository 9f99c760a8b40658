"""Measurements to models. Takes the counters of one kernel, gives a `FittedModel`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from math import prod

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.model.fit.count_functions import (
    HELD_OUT_LIMIT,
    CountFunctions,
    HeldOut,
    bounded_elsewhere,
    count_functions,
    held_out,
    is_looped,
    uncertain_accesses,
)
from cutune.model.fit.data_dependent import at_large_sizes, proportions, without_idle_warps
from cutune.model.fit.feature_columns import feature_columns, transaction_columns
from cutune.model.fit.fitted_model import FittedModel, PublishedCounts
from cutune.model.measurement.alignment import alignment_classes, all_rows, cells
from cutune.model.measurement.measurement import MeasuredKernel, Measurement, Purpose
from cutune.toolchain.device.thread_block import Block

#: The ways of fitting.
EXACT, PAPER = "exact", "paper"
#: Relative error up to which the functions of a data-dependent kernel are used.
PROPORTION_LIMIT = 1.0
#: How many times as large as before the sizes are at which a program is proposed to run.
LARGER = (2, 4, 8)
#: So many launches that are counted on data tell how their work grows.
FEWEST_ON_DATA = 2


def fit_model(
    kernel: MeasuredKernel, measurements: Sequence[Measurement], method: str = EXACT
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
    published: PublishedCounts | None = None
    if method == PAPER:
        # Takes half a second to import.
        from cutune.model.fit.published_counters import fit_published  # noqa: PLC0415

        counters = fit_published(kernel, measurements)
        if isinstance(counters, Diagnostic):
            return counters
        published = counters
    ordered, smaller = launches
    return replace(
        model_of(kernel, counts, classes, blocks, ordered, smaller if kernel.keeps_grid else ()),
        transactions=tuple(transaction_columns(kernel, counts, ordered)),
        published=published,
        reached=checked.ranges(kernel),
        is_exact=checked.is_exact,
        held_out_error=0.0 if checked.is_exact else max(_error(kernel, counts), checked.deviation),
    )


def _counts(kernel: MeasuredKernel, measurements: Sequence[Measurement]) -> HeldOut | Diagnostic:
    counted = [m for m in measurements if m.purpose == Purpose.COUNTS]
    features = [m for m in measurements if m.purpose == Purpose.FEATURES]
    if not counted or not features:
        return Diagnostic.at(Code.NO_MEASUREMENTS, kernel=kernel.name)
    reason = ""
    if kernel.on_data:
        checked, limit = _on_data(kernel, counted), PROPORTION_LIMIT
    elif not (reason := uncertain_accesses(kernel, counted[-1])):
        checked, limit = held_out(kernel, measurements), HELD_OUT_LIMIT
        reason = bounded_elsewhere(kernel, checked.functions, features)
    if reason:
        name = kernel.name
        return Diagnostic.at(Code.DATA_DEPENDENT, kernel=name, reason=reason, advice="")
    error = max(_error(kernel, checked.functions), checked.deviation)
    return _poor_fit(kernel, checked, error) if error > limit else checked


def _on_data(kernel: MeasuredKernel, counted: Sequence[Measurement]) -> HeldOut:
    """Totals in proportion to sizes: of all launches, or of the larger ones if these differ.

    A loop that small launches do not repeat does not tell how often large ones do.
    """
    ordered = sorted(counted, key=lambda launch: prod(value for _, value in launch.sizes))
    each = (tuple(ordered[first:]) for first in range(max(1, len(ordered) - FEWEST_ON_DATA + 1)))
    fits = (
        HeldOut(count_functions(kernel, kept, proportions(kernel, kept)), kept, kept)
        for kept in each
    )
    of_all = next(fits)
    good = (f for f in chain([of_all], fits) if _error(kernel, f.functions) <= PROPORTION_LIMIT)
    return next(good, of_all)


def _poor_fit(kernel: MeasuredKernel, checked: HeldOut, error: float) -> Diagnostic:
    largest = [max(column) for column in zip(*(one for one, _ in kernel.recorded), strict=True)]
    example = ""
    if largest:
        name, most = kernel.parameters[0], largest[0]
        values = ",".join(str(most * factor) for factor in LARGER)
        example = f", such as {values} where {name} was {most} at most"
    code, name, percent = Code.POOR_FIT, kernel.name, f"{100 * error:.0f}"
    return Diagnostic.at(code, kernel=name, error=percent, where=checked.where, example=example)


def _feature_launches(
    kernel: MeasuredKernel,
    classes: tuple[tuple[int, ...], ...],
    blocks: Sequence[Block],
    measurements: Sequence[Measurement],
) -> tuple[Sequence[Measurement], Sequence[Measurement]] | None:
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
    ordered: Sequence[Measurement],
    smaller: Sequence[Measurement] = (),
) -> FittedModel:
    """The model of counts and launches, by (class, block). `smaller`: one per block, or none."""
    # The count groups of the instructions in global memory.
    pairs = zip(counts.group_of, kernel.memory, strict=True)
    requesting = [group for group, memory in pairs if not memory.shared]
    return FittedModel(
        kernel=kernel,
        **counts.totals,
        looped=is_looped(kernel),
        groups=counts.groups,
        requests=tuple(map(requesting.count, range(len(counts.groups)))),
        arrays=counts.arrays,
        classes=classes,
        blocks=blocks,
        columns=tuple(feature_columns(kernel, counts, ordered, smaller)),
        held_out_error=_error(kernel, counts),
        transactions=(),
    )


def _error(kernel: MeasuredKernel, counts: CountFunctions) -> float:
    return counts.typical_error if kernel.on_data else counts.worst_error

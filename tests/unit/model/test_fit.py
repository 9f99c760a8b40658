"""Counters to models, of small kernels that are replayed: functions, columns, and refusals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.model.fit.count_functions import LEVELS, UNCERTAIN_LIMIT
from cutune.model.fit.fit import PAPER, fit_model
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.measurement.measurement import RUN, MeasuredKernel, Measurement, Purpose
from tests.support.replayed_kernels import fitted, measured


def refused(kernel: MeasuredKernel, measurements: Sequence[Measurement]) -> Code:
    """What is said instead of a model."""
    found = fit_model(kernel, measurements)
    assert isinstance(found, Diagnostic)
    return found.code


def column(model: FittedModel, kind: str, group: int = 0) -> tuple[float, ...]:
    (found,) = (c for c in model.columns if (c.kind, c.group) == (kind, group) and c.array is None)
    return found.values


def test_counts_are_functions_of_the_sizes() -> None:
    model = fitted(*measured("columns"))
    n = {"n": 1000}
    assert model.working(n) == 1000
    assert model.steps(n) == 1000 * 1000
    assert [group(n) for group in model.groups] == [1000 * 1000, 1000]
    assert model.requests == (1, 1)
    assert [(int(a.extent_bytes(n)), a.is_loaded, a.is_stored) for a in model.arrays] == [
        (4 * 1000 * 1000, True, False),
        (4 * 1000, False, True),
    ]
    assert (model.looped, model.held_out_error) == (True, 0)


def test_there_is_a_row_of_features_per_class_and_candidate() -> None:
    model = fitted(*measured("copy"))
    assert not model.looped
    assert model.blocks == measured("copy")[0].candidates()
    rows = len(model.blocks) * max(1 + max(classes) for classes in model.classes)
    assert {len(c.values) for c in model.columns} == {rows}
    assert {c.kind for c in model.columns} == {
        *("load", "missing", "store", "rewritten", "rewritten_lines", "missed", "issue", "barrier")
    }
    # A warp stores 128 bytes in whole sectors: four of them.
    assert {*column(model, "store")} == {4}


def test_one_class_is_enough_where_the_width_of_a_row_changes_nothing() -> None:
    # A warp reads 128 bytes side by side, wherever its row begins.
    model = fitted(*measured("columns"))
    assert [{*classes} for classes in model.classes] == [{0}]


def test_blocks_that_differed_are_left_out() -> None:
    kernel, measurements = measured("copy")
    model = fitted(replace(kernel, rejected=((64, 1, 1),)), measurements)
    assert (64, 1, 1) not in model.blocks
    assert len(model.blocks) == len(kernel.candidates()) - 1


def test_without_counts_or_features_there_is_no_model() -> None:
    kernel, measurements = measured("copy")
    for purpose in (Purpose.COUNTS, Purpose.FEATURES):
        left = [m for m in measurements if m.purpose != purpose]
        assert refused(kernel, left) is Code.NO_MEASUREMENTS


def test_every_candidate_must_have_been_traced() -> None:
    kernel, measurements = measured("copy")
    left = [m for m in measurements if (m.purpose, m.block) != (Purpose.FEATURES, (96, 1, 1))]
    assert len(left) < len(measurements)
    assert refused(kernel, left) is Code.NO_MEASUREMENTS


def test_work_that_is_no_function_of_the_sizes_is_refused() -> None:
    kernel, measurements = measured("copy")
    factors = dict(
        zip((32, 64, 96, 128, 160, 192, 224, 256), (9, 1, 5, 2, 7, 3, 8, 1), strict=True)
    )
    torn = [
        replace(m, lanes=tuple(factors[dict(m.sizes)["n"]] * n for n in m.lanes))
        if m.purpose == Purpose.COUNTS
        else m
        for m in measurements
    ]
    assert refused(kernel, torn) is Code.POOR_FIT


def test_accesses_that_data_decide_about_are_refused() -> None:
    kernel, measurements = measured("copy")
    assert (
        refused(replace(kernel, compiled=replace(kernel.compiled, uncertain=1)), measurements)
        is Code.DATA_DEPENDENT
    )


def test_what_data_decide_about_counts_at_the_largest_size() -> None:
    """There it is a small share: of columns, one access in as many as there are rows."""
    kernel, measurements = measured("columns")
    compiled = replace(kernel.compiled, uncertain=int(UNCERTAIN_LIMIT * LEVELS[-1]))
    assert compiled.uncertain > UNCERTAIN_LIMIT * (LEVELS[1] + 1)
    fitted(replace(kernel, compiled=compiled), measurements)
    more = replace(compiled, uncertain=compiled.uncertain + 2)
    assert refused(replace(kernel, compiled=more), measurements) is Code.DATA_DEPENDENT


def test_threads_that_no_size_bounds_are_refused() -> None:
    kernel, measurements = measured("copy")
    idle = [
        replace(m, working_threads=1) if m.purpose == Purpose.FEATURES else m for m in measurements
    ]
    assert refused(kernel, idle) is Code.DATA_DEPENDENT


def test_where_the_grid_is_kept_smaller_launches_are_needed() -> None:
    kernel, measurements = measured("copy")
    kept = replace(kernel, grid_kept=(True, False, False), asserted=True)
    assert refused(kept, measurements) is Code.NO_MEASUREMENTS
    small = [
        replace(m, purpose=Purpose.SMALLER) for m in measurements if m.purpose == Purpose.FEATURES
    ]
    model = fitted(kept, [*measurements, *small])
    kinds = {c.kind for c in model.columns}
    assert {"request", "busiest", "issue_fixed", "step", "step_fixed", "barrier_fixed"} <= kinds


def test_counts_on_data_may_be_further_off() -> None:
    kernel, measurements = measured("copy")
    on_data = replace(kernel, on_data=True)
    seen = [replace(m, source=RUN) for m in measurements]
    small = [replace(m, purpose=Purpose.SMALLER) for m in seen if m.purpose == Purpose.FEATURES]
    model = fitted(on_data, [*seen, *small])
    assert model.working({"n": 5000}) == 5000
    assert {*column(model, "busiest")} == {1}


def test_what_the_published_models_read_is_made_only_for_them() -> None:
    kernel, measurements = measured("columns", training=True)
    plain = fitted(kernel, measurements)
    assert plain.published is None
    found = fit_model(kernel, measurements, PAPER)
    assert isinstance(found, FittedModel)
    assert found.published is not None
    assert replace(found, published=None) == plain
    sectors = {c.values for c in plain.transactions if c.kind == "sectors"}
    assert {value for values in sectors for value in values} == {4}


def test_one_value_is_kept_where_all_are_nearly_the_same() -> None:
    kernel, measurements = measured("copy")

    def missing(share: float) -> set[float]:
        """The column where blocks of 32 threads miss that share of what the others do."""
        changed = [
            replace(m, sites=tuple(s._replace(missing=round(share * s.missing)) for s in m.sites))
            if m.purpose == Purpose.FEATURES and m.block == (32, 1, 1)
            else m
            for m in measurements
        ]
        return {*column(fitted(kernel, changed), "missing")}

    assert len(missing(1)) == 1
    assert len(missing(0.5)) == 2


@pytest.mark.parametrize("name", ["copy", "columns"])
def test_other_candidate_sets_do_not_disturb(name: str) -> None:
    kernel, measurements = measured(name)
    odd = [replace(m, block=(33, 1, 1)) for m in measurements if m.purpose == Purpose.FEATURES][:1]
    assert fitted(kernel, [*measurements, *odd]) == fitted(kernel, measurements)

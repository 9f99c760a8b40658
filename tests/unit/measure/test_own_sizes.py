"""Launches that are replayed as they were recorded, with every candidate."""

from __future__ import annotations

import struct
from dataclasses import replace
from unittest.mock import patch

from cutune.emulator.launch_log import LaunchRecord
from cutune.measure.replay import replayed_kernel as own_sizes
from cutune.measure.replay.replayed_kernel import OwnSizes, at_own_sizes
from cutune.measure.replay.subjects import Subject
from cutune.model.fit.fit import fit_model
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.measurement.measurement import RUN, Measurement, Purpose
from tests.support.replayed_kernels import recorded, subject

PADDED = subject("padded")


def found_at(*sizes: int, of: Subject = PADDED) -> OwnSizes:
    launches = [recorded(of.kernel.entry, n) for n in sizes]
    found = at_own_sizes(of, launches)
    assert found is not None
    return found


def of_purpose(found: OwnSizes, purpose: str) -> list[Measurement]:
    return [one for one in found.measured if one.purpose == purpose]


def test_the_largest_launch_and_one_with_half_its_work_are_counted() -> None:
    found = found_at(1000, 3000, 2900, 7000)
    assert found.subject.kernel.on_data
    assert {one.source for one in found.measured} == {RUN}
    sizes = {
        purpose: {dict(one.sizes)["n"] for one in of_purpose(found, purpose)} for purpose in Purpose
    }
    assert sizes[Purpose.SMALLER] == {3000} and sizes[Purpose.FEATURES] == {7000}
    assert sizes[Purpose.COUNTS] == {1000, 2900, 3000, 7000}
    blocks = {*found.subject.kernel.candidates()}
    assert {one.block for one in of_purpose(found, Purpose.FEATURES)} == blocks
    assert [record.grid for record in found.launches] == [
        recorded("padded", n).grid for n in (3000, 7000)
    ]


def test_a_model_is_made_of_it() -> None:
    found = found_at(1000, 7000)
    model = fit_model(found.subject.kernel, found.measured)
    assert isinstance(model, FittedModel), model


def test_parts_of_large_launches_stand_for_all() -> None:
    (whole,) = (m for m in of_purpose(found_at(7000), Purpose.FEATURES) if m.block == (256, 1, 1))
    with patch.object(own_sizes, "TRACED_IN_FULL", 0):
        (part,) = (
            m for m in of_purpose(found_at(7000), Purpose.FEATURES) if m.block == (256, 1, 1)
        )
    assert part.executed_blocks == whole.executed_blocks == 28
    assert part.executions == whole.executions
    assert part.working_threads == whole.working_threads == 7000


def test_threads_without_a_guard_stay_as_many() -> None:
    kernel = replace(
        PADDED.kernel, guards=(None, None, None), variable_extents=(True, False, False)
    )
    found = found_at(6 * 256, of=replace(PADDED, kernel=kernel))
    left = {b[0] for b in kernel.candidates() if b not in found.subject.kernel.rejected}
    assert left == {32, 64, 96, 128, 192, 256, 384, 512, 768}


def test_launches_that_need_data_are_not_replayed() -> None:
    assert at_own_sizes(subject("gather"), [recorded("gather")]) is None


def test_other_work_at_the_same_sizes_tells_nothing() -> None:
    kernel = replace(PADDED.kernel, parameters=(), positions=(), guards=(None, None, None))
    kernel = replace(kernel, variable_extents=(True, False, False))
    other = replace(PADDED, kernel=kernel)
    launches = [with_n(recorded("padded", 1000), n) for n in (900, 90)]
    assert at_own_sizes(other, launches[:1]) is not None
    assert at_own_sizes(other, launches) is None


def with_n(record: LaunchRecord, n: int) -> LaunchRecord:
    return replace(record, parameters=struct.pack("<i", n) + record.parameters[4:])


def test_launches_of_other_kernels_count_for_nothing() -> None:
    assert at_own_sizes(PADDED, [replace(recorded("padded"), site=99)]) is None
    assert at_own_sizes(PADDED, []) is None

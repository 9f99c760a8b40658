"""Trials of candidates, from the lines that a sweep writes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from cutune.collect.trial import (
    NOT_ALLOWED,
    SCHEMA,
    hiding_candidates,
    read_trials,
    trial_environment,
    with_larger,
)
from cutune.fit.measurement.measurement import MeasuredKernel
from cutune.frontend.block_range import BlockRange
from cutune.frontend.syntax.annotation import Values
from tests import measured

KERNEL = replace(
    measured.KERNEL,
    entry="_Z1kv",
    parameters=(),
    positions=(),
    guards=(None, None, None),
    variable_extents=(True, False, False),
    original=(64, 1, 1),
    allowed=BlockRange(Values((), (32, 128))),
    asserted=True,
    recorded=(((), (1024, 1, 1)),),
)


def swept(folder: Path, **ends: object) -> None:
    """`b32="same"`, or the error of that block."""
    lines = []
    for name, end in ends.items():
        width = int(name[1:])
        line = {"schema": SCHEMA, "site": 1, "block": [width, 1, 1], "original": width == 64}
        fine = {"identical": True, "difference": 0.0}
        lines.append(json.dumps({**line, **(fine if end == "same" else {"error": end})}))
    Path(trial_environment([KERNEL], folder)["CUTUNE_OUTPUT"]).write_text("\n".join(lines))


def test_candidates_are_those_that_the_annotation_allows(tmp_path: Path) -> None:
    trial_environment([KERNEL], tmp_path, {(1, "", (96, 1, 1))})
    lines = (tmp_path / "candidates").read_text().splitlines()
    assert lines == ["1 32 1 1", "1 64 1 1", "1 128 1 1"]


def test_what_an_annotation_asserts_must_have_been_tried(tmp_path: Path) -> None:
    swept(tmp_path, b64="same", b32="same")
    assert read_trials([KERNEL], tmp_path)["_Z1kv"].differing == ((96, 1, 1), (128, 1, 1))
    proven = replace(KERNEL, asserted=False)
    assert read_trials([proven], tmp_path)["_Z1kv"].differing == ()


def test_a_broken_context_hides_candidates(tmp_path: Path) -> None:
    swept(tmp_path, b64="same", b32="illegal address")
    broken = hiding_candidates([KERNEL], tmp_path)
    assert broken == {(1, "", (32, 1, 1))}
    swept(tmp_path, b64="same", b96="same", b128=NOT_ALLOWED)
    differing = read_trials([KERNEL], tmp_path, broken)["_Z1kv"].differing
    assert differing == ((32, 1, 1), (128, 1, 1))


def test_nothing_is_hidden_where_all_were_tried(tmp_path: Path) -> None:
    swept(tmp_path, b64="same", b32="illegal address", b96="same", b128="same")
    assert hiding_candidates([KERNEL], tmp_path) == set()


def test_larger_blocks() -> None:
    assert with_larger([KERNEL], {(1, "", (96, 1, 1))}) == {
        (1, "", (96, 1, 1)),
        (1, "", (128, 1, 1)),
    }
    assert with_larger([KERNEL], {(2, "", (32, 1, 1))}) == set()


def test_kernels_are_read_back() -> None:
    assert MeasuredKernel.from_json(json.loads(json.dumps(KERNEL.to_json()))) == KERNEL


def test_an_older_kernel_that_says_more_of_its_code_is_read() -> None:
    entry = json.loads(json.dumps(KERNEL.to_json()))
    entry["static"] |= {"spill_store_bytes": 8, "stack_bytes": 16}
    assert MeasuredKernel.from_json(entry) == KERNEL

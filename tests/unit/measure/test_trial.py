"""Trials of candidates, from the lines that a sweep writes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from struct import pack

import pytest

from cutune.measure.candidate_trials import (
    Attempt,
    DifferingPlace,
    TrialRun,
    with_larger,
)
from cutune.model.measurement.measurement import MeasuredKernel
from cutune.model.measurement.sweep import NOT_ALLOWED, OTHER_SHARED, TIMING
from cutune.source.candidates import BlockRange
from cutune.source.program import SiteNumbers
from cutune.space.annotation import Values
from tests.support import measured_kernel

KERNEL = replace(
    measured_kernel.KERNEL,
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

#: The source is the second one of the program.
NUMBERS = SiteNumbers(6)
(SITE,) = KERNEL.sites
OTHER = replace(SITE, id=2)


def trial_run(folder: Path, kernel: MeasuredKernel = KERNEL) -> TrialRun:
    return TrialRun([kernel], NUMBERS, folder)


def swept(folder: Path, **ends: object) -> None:
    """`b32="same"`, or the error of that block."""
    lines = []
    for name, end in ends.items():
        width = int(name[1:])
        line = {"schema": TIMING, "site": 7, "block": [width, 1, 1], "original": width == 64}
        fine = {"identical": True, "difference": 0.0}
        lines.append(json.dumps({**line, **(fine if end == "same" else {"error": end})}))
    Path(trial_run(folder).environment()["CUTUNE_OUTPUT"]).write_text("\n".join(lines))


def test_candidates_are_those_that_the_annotation_allows(tmp_path: Path) -> None:
    trial_run(tmp_path).environment({(SITE, "", (96, 1, 1))})
    lines = (tmp_path / "candidates").read_text().splitlines()
    assert lines == ["7 32 1 1", "7 64 1 1", "7 128 1 1"]


def test_what_an_annotation_asserts_must_have_been_tried(tmp_path: Path) -> None:
    swept(tmp_path, b64="same", b32="same")
    trial = trial_run(tmp_path).trials()["_Z1kv"]
    # Results that nobody has seen do not differ.
    assert (trial.differing, trial.untried) == ((), ((96, 1, 1), (128, 1, 1)))
    assert trial.rejected == trial.untried
    proven = replace(KERNEL, asserted=False)
    assert trial_run(tmp_path, proven).trials()["_Z1kv"].rejected == ()


def test_a_block_that_is_not_allowed_is_not_accused(tmp_path: Path) -> None:
    swept(tmp_path, b64="same", b32="invalid argument", b96=NOT_ALLOWED, b128=OTHER_SHARED)
    trial = trial_run(tmp_path).trials()["_Z1kv"]
    assert (trial.differing, trial.error) == (((32, 1, 1),), "invalid argument")
    assert trial.untried == ((96, 1, 1), (128, 1, 1))
    assert trial.refusal == NOT_ALLOWED


def test_a_broken_context_hides_candidates(tmp_path: Path) -> None:
    swept(tmp_path, b64="same", b32="illegal address")
    broken = trial_run(tmp_path).hiding_candidates()
    assert broken == {(SITE, "", (32, 1, 1))}
    swept(tmp_path, b64="same", b96="same", b128=NOT_ALLOWED)
    trial = trial_run(tmp_path).trials(broken)["_Z1kv"]
    assert (trial.differing, trial.untried) == (((32, 1, 1),), ((128, 1, 1),))


def test_nothing_is_hidden_where_all_were_tried(tmp_path: Path) -> None:
    swept(tmp_path, b64="same", b32="illegal address", b96="same", b128="same")
    assert trial_run(tmp_path).hiding_candidates() == set()


def test_larger_blocks() -> None:
    broken: set[Attempt] = {(SITE, "", (96, 1, 1))}
    assert with_larger([KERNEL], broken) == {*broken, (SITE, "", (128, 1, 1))}
    assert with_larger([KERNEL], {(OTHER, "", (32, 1, 1))}) == set()


def test_kernels_are_read_back() -> None:
    assert MeasuredKernel.from_json(json.loads(json.dumps(KERNEL.to_json()))) == KERNEL


def test_an_older_kernel_that_says_more_of_its_code_is_read() -> None:
    entry = json.loads(json.dumps(KERNEL.to_json()))
    entry["static"] |= {"spill_store_bytes": 8, "stack_bytes": 16}
    assert MeasuredKernel.from_json(entry) == KERNEL


@pytest.mark.parametrize(
    ("type_", "expected", "at", "said"),
    [
        ("float *", pack("<ff", 1, 2.5), 4, "b[1] is 7 in place of 2.5 with block 32"),
        ("const float *__restrict__", pack("<ff", 1, 2.5), 4, "b[1] is 7 in place of 2.5"),
        ("double *", pack("<d", 0.5), 6, "b[0] is 1 in place of 0.5"),
        ("unsigned int *", pack("<II", 9, 3), 1, "b[0] is 5 in place of 9"),
        ("Cell *", pack("<II", 9, 3), 5, "byte 5 of what b points to differs"),
    ],
)
def test_the_value_that_differs_is_named(type_: str, expected: bytes, at: int, said: str) -> None:
    others = {"f": pack("<ff", 1, 7), "d": pack("<d", 1), "u": pack("<II", 5, 3)}
    found = others.get(type_.removeprefix("const ")[0], pack("<II", 9, 4))
    pointers = [{"kind": "pointer", "address": base, "base": base} for base in (512, 1024)]
    place = {"base": 1024, "at": at, "expected": expected.hex(), "found": found.hex()}
    entry = {"block": [32, 1, 1], "arguments": pointers, "place": place}
    differing = DifferingPlace.of(entry)
    assert differing is not None
    assert differing.said(["a", "b"], ["int *", type_]).startswith(said)
    assert DifferingPlace.of({**entry, "arguments": pointers[:1]}) is None


@pytest.mark.parametrize(
    ("type_", "form", "expected", "found"),
    [
        ("int *", "<i", "1234567891", "1234567892"),
        ("long long *", "<q", "9007199254740993", "9007199254740994"),
        ("double *", "<d", "1.0000000000000002", "1"),
        ("float *", "<f", "1.00000012", "1"),
    ],
)
def test_values_that_hardly_differ_are_told_apart(
    type_: str, form: str, expected: str, found: str
) -> None:
    number = float if form in ("<d", "<f") else int
    before, after = (pack(form, number(text)).hex() for text in (expected, found))
    arguments = [{"kind": "pointer", "address": 1024, "base": 1024}]
    place = {"base": 1024, "at": 0, "expected": before, "found": after}
    differing = DifferingPlace.of({"block": [32, 1, 1], "arguments": arguments, "place": place})
    assert differing is not None
    said = f"b[0] is {found} in place of {expected} with block 32"
    assert differing.said(["b"], [type_]) == said


def test_elements_are_counted_from_where_the_argument_points() -> None:
    inner = [{"kind": "pointer", "address": 1032, "base": 1024}]
    place = {"base": 1024, "at": 20, "expected": bytes(8).hex(), "found": pack("<ii", 0, 3).hex()}
    found = DifferingPlace.of({"block": [64, 1, 1], "arguments": inner, "place": place})
    assert found is not None
    assert found.said(["p"], ["int *"]) == "p[3] is 3 in place of 0 with block 64"
    assert found.said([], []) == ""

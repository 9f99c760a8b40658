"""Recorded sweeps, the strategies that are compared on them, and their scores."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.check.evaluate import (
    FIXED,
    NEAREST,
    OCCUPANCY,
    OWN,
    REUSED,
    Case,
    Evaluation,
    by_occupancy,
    evaluate_sweep,
)
from cutune.cli.evaluating import print_evaluation, to_csv, to_json
from cutune.core.diagnostics import CutuneError
from cutune.core.source import Source
from cutune.model.measurement.sweep import (
    NOT_ALLOWED,
    REPEATED,
    RecordedSweep,
    SweptConfiguration,
    SweptLaunch,
    read_entries,
    read_sweep,
    swept_launches,
    write_sweep,
)
from cutune.model.selection.chooser import DEFAULT
from cutune.toolchain.device.present import profile_of
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block
from cutune.toolchain.ptxas import StaticCounters
from tests.support.analyzed import analyzed
from tests.support.replayed_kernels import measured
from tests.support.swept_programs import JUDGES, SAMPLES, recorded_sweep

RECORDED = Path(__file__).parents[2] / "recorded"
H200 = DeviceProfile.named("h200")
SMALL, MIDDLE, LARGE = (64, 1, 1), (256, 1, 1), (1024, 1, 1)


def launch(size: int | None, times: dict[Block, float], own: Block = MIDDLE) -> SweptLaunch:
    return SweptLaunch("app", "k", size, {}, None, own, times, registers=32, shared_bytes=0)


def plain(block: Block) -> SweptConfiguration:
    return SweptConfiguration(block)


FIRST = launch(512, {SMALL: 1.0, MIDDLE: 2.0, LARGE: 4.0})
SECOND = launch(1000, {SMALL: 12.0, MIDDLE: 10.0, LARGE: 11.0})
THIRD = launch(3000, {SMALL: 33.0, MIDDLE: 36.0, LARGE: 30.0})


def test_regret_and_error() -> None:
    assert FIRST.best == SMALL and FIRST.spread == 4
    assert FIRST.regret(plain(MIDDLE)) == 1.0
    assert FIRST.error(plain(MIDDLE)) == pytest.approx(1 / 3)
    assert FIRST.regret(plain((32, 1, 1))) == float("inf")
    assert launch(8, {SMALL: 1.0, LARGE: 1.0}).error(plain(LARGE)) == 0


def test_variants_count_among_the_best() -> None:
    varied = replace(FIRST, variants={"restrict": {LARGE: 0.5}, "x2": {SMALL: 0.25}})
    assert varied.fastest == (SMALL, "x2") and varied.best == SMALL
    assert varied.regret(plain(SMALL)) == 3.0
    assert varied.spread == 16 and varied.error(SweptConfiguration(SMALL, "x2")) == 0
    assert replace(varied, variants={"restrict": {}}).only({"restrict"}).variants == {}
    known = varied.only({"restrict"})
    assert known.fastest == (LARGE, "restrict")
    assert known.regret(SweptConfiguration(SMALL, "x2")) == float("inf")


def test_a_sweep_survives_its_file(tmp_path: Path) -> None:
    named = replace(SECOND, sizes={"n": 1000, "step": 3}, extents=(1000, 1, 1), size=None)
    named = replace(named, signature=1 << 63 | 5)
    varied = replace(FIRST, variants={"restrict": {LARGE: 0.5}, "x2": {SMALL: 0.25}})
    sweep = RecordedSweep("NVIDIA H200", "580", "how", (FIRST, named, varied))
    path = tmp_path / "sweep.json"
    write_sweep(path, sweep)
    assert read_sweep(path) == sweep
    assert len(path.read_text().splitlines()) == 6 + len(sweep.launches) + 2
    write_sweep(path, replace(sweep, cache=REPEATED))
    assert read_sweep(path).cache == REPEATED
    path.write_text(path.read_text().replace(REPEATED, "full"))
    with pytest.raises(CutuneError, match="is damaged"):
        read_sweep(path)


LAUNCH = {"program": "a", "kernel": "k", "own": [32, 1, 1], "microseconds": [[32, 1, 1, 1.0]]}


@pytest.mark.parametrize(
    "launch",
    [
        {"program": "a"},
        LAUNCH | {"microseconds": []},
        LAUNCH | {"microseconds": [[32, 1, 1, 0.0]]},
        LAUNCH | {"variants": {"restrict": [[32, 1, 1, -1.0]]}},
        LAUNCH | {"variants": {"restrict": [[32, 1, 1, math.nan]]}},
        LAUNCH | {"variants": {"restrict": [[32, 1, 1, math.inf]]}},
        LAUNCH | {"variants": {"restrict": 7}},
        LAUNCH | {"variants": {"": [[32, 1, 1, 1.0]]}},
    ],
)
def test_a_damaged_sweep(launch: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "sweep.json"
    document = {"schema": "cutune-sweep-1", "device": "", "driver": "", "method": ""}
    path.write_text(json.dumps({**document, "launches": [launch]}))
    with pytest.raises(CutuneError) as caught:
        read_sweep(path)
    assert caught.value.diagnostic.code.number == "CT012"


#: Their launches were not tunable when their sets were swept, or times of several instances of a
#: template were recorded as one.
NOT_SWEPT = {
    "parallel_for",
    "residual_norm",
    "residual_layernorm",
    "rmsnorm_vectors",
    "segment_totals",
    "two_pass_variance",
}


#: Sets and their sweeps: over blocks, over variants too, or both.
SWEPT = [
    (folder, path)
    for folder in (SAMPLES, *JUDGES)
    for with_variants in (False, True)
    if (path := recorded_sweep(folder, with_variants)).exists()
]


@pytest.mark.parametrize(("folder", "path"), SWEPT, ids=[path.stem for _, path in SWEPT])
def test_recorded_sweeps_are_whole(folder: Path, path: Path) -> None:
    """Each launch has its own block, its size, its registers; over blocks no program is missing."""
    sweep = read_sweep(path)
    assert profile_of(sweep.device) in ("h100", "h200")
    for one in sweep.launches:
        assert one.own in one.microseconds
        assert one.registers is not None and one.size is not None
    swept = {one.program for one in sweep.launches}
    programs = {source.stem for source in folder.glob("*.cu")} - NOT_SWEPT
    assert swept == programs if path == recorded_sweep(folder) else swept <= programs


def test_judge_sets_are_numbered() -> None:
    # The last may just have been written.
    assert {folder for folder, _ in SWEPT} >= {SAMPLES, *JUDGES[:-1]}
    assert [folder.name for folder in JUDGES] == [f"{n + 1:02}" for n in range(len(JUDGES))]
    assert all((folder / "sizes.json").exists() for folder in JUDGES) and len(JUDGES) >= 14


SOURCE = """
__global__ void k(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] += 1;
}
void go(int n, float *a) { k<<<(n + 255) / 256, 256>>>(n, a); }
"""


def timing(block: int, milliseconds: list[float], **more: object) -> dict[str, object]:
    entry: dict[str, object] = {
        "schema": "cutune-timing-1",
        "site": 1,
        "kernel": "k",
        "launch": 0,
        "shared": 16,
        "extent": [1000, 1, 1],
        "block": [block, 1, 1],
        "arguments": [{"kind": "integer", "value": 1000}, {"kind": "pointer", "address": 1}],
        "original": block == 256,
        "milliseconds": milliseconds,
        "modelled": False,
        "identical": True,
        "difference": 0.0,
    }
    return entry | more


def test_lines_of_the_probe_become_a_launch(tmp_path: Path) -> None:
    lines = [
        timing(256, [0.02, 0.01]),
        timing(256, [0.03]),
        timing(128, [0.009], identical=False, difference=1e-7),
        timing(64, [0.001], identical=False, difference=1e-2),
        timing(32, [], error="too many resources"),
        timing(32, [0.001], error="too many resources"),
        timing(96, []),
        timing(160, [], error=NOT_ALLOWED),
        timing(512, [0.011], modelled=True),
        timing(256, [0.02], site=9),
        {"schema": "cutune-record-1", "site": 1},
    ]
    path = tmp_path / "timings"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"torn')
    program = analyzed(Source("dir/app.cu", SOURCE))
    static = {"k": StaticCounters(20, static_shared_bytes=8)}
    entries = read_entries(path, "cutune-timing-1")
    (found,) = swept_launches(program, entries, 1000, 1e-5, static)
    assert found == SweptLaunch(
        *("app", "k", 1000, {"n": 1000}, (1000, 1, 1), MIDDLE),
        microseconds={MIDDLE: 10.0, (128, 1, 1): 9.0},
        registers=20,
        shared_bytes=24,
        failed=frozenset(map(SweptConfiguration, [(64, 1, 1), (32, 1, 1)])),
    )
    varied = [*entries, timing(128, [0.02, 0.03], variant="restrict")]
    (known,) = swept_launches(program, varied, 1000, 1e-5, static)
    assert known == replace(found, variants={"restrict": {(128, 1, 1): 20.0}})
    (told,) = swept_launches(program, [{**one, "signature": 7} for one in entries], 1000, 1e-5, {})
    assert told.signature == 7
    assert swept_launches(program, entries[2:], 1000, 1e-5, static) == []
    assert read_entries(tmp_path / "none", "cutune-timing-1") == []


def test_strategies() -> None:
    evaluation = evaluate_sweep([FIRST, SECOND, THIRD], [], H200, train=512)
    answers = {case.launch.size: case.answers for case in evaluation.cases}
    assert list(answers) == [1000, 3000]
    assert [answers[size][OWN] for size in answers] == [(MIDDLE, ""), (MIDDLE, "")]
    assert [answers[size][REUSED] for size in answers] == [(SMALL, ""), (SMALL, "")]
    assert [answers[size][NEAREST] for size in answers] == [(LARGE, ""), (MIDDLE, "")]
    # 1.1 * 1.0 against 1.2 * 1.1 and 1.0 * 1.2.
    assert [answers[size][FIXED] for size in answers] == [(LARGE, ""), (LARGE, "")]
    # 2048 threads are resident with each block of 64 threads or more; the largest is preferred.
    assert [answers[size][OCCUPANCY] for size in answers] == [(LARGE, ""), (LARGE, "")]
    assert [answers[size][DEFAULT] for size in answers] == [None, None]


def test_without_a_training_size_all_launches_are_cases() -> None:
    evaluation = evaluate_sweep([FIRST, SECOND, THIRD], [], H200)
    reused = [case.answers[REUSED] for case in evaluation.cases]
    assert reused == [None, (SMALL, ""), (SMALL, "")]


def test_who_reuses_timings_reuses_no_variant_that_the_model_lacks() -> None:
    """Without a model there is nothing but the kernel that the program could launch."""
    varied = replace(FIRST, variants={"restrict": {LARGE: 0.5}})
    (case, _) = evaluate_sweep([varied, SECOND], [], H200).cases
    assert case.launch.fastest == (SMALL, "")


def test_a_model_of_one_instance_is_not_asked_about_another() -> None:
    of_all, _ = measured("copy")
    of_one = replace(of_all, signatures=(5, 7))
    known = replace(FIRST, program=Path(of_all.origin.path).stem, kernel=of_all.name)
    assert known.is_of(of_all) and not FIRST.is_of(of_all)
    assert replace(known, signature=7).is_of(of_one) and replace(known, signature=7).is_of(of_all)
    assert not replace(known, signature=6).is_of(of_one) and not known.is_of(of_one)


def test_occupancy_heeds_registers_and_shape() -> None:
    # 64 registers: 1024 threads are resident at most, and 40 leave 1536 with blocks of 512 or less.
    many = replace(FIRST, registers=40)
    assert by_occupancy(H200)(many) == (MIDDLE, "")
    flat = launch(8, {(256, 1, 1): 1.0, (16, 16, 1): 1.0, (32, 8, 1): 1.0, (8, 32, 1): 1.0})
    assert by_occupancy(H200)(flat) == ((32, 8, 1), "")
    assert by_occupancy(H200)(replace(flat, registers=None)) is None


def test_scores() -> None:
    cases = tuple(
        Case(one, {OWN: plain(one.own), DEFAULT: chosen})
        for one, chosen in ((FIRST, plain(SMALL)), (SECOND, plain(SMALL)), (THIRD, None))
    )
    evaluation = Evaluation(DEFAULT, cases)
    score = evaluation.score(DEFAULT)
    assert (score.cases, score.answered) == (3, 2)
    assert score.mean == pytest.approx((1.0 * 1.2 * 1.2) ** (1 / 3) - 1)
    assert score.worst == pytest.approx(0.2)
    assert score.within_2 == pytest.approx(1 / 3)
    assert score.error == 0.0  # of FIRST alone: the others spread by 1.2
    assert score.no_loss == pytest.approx(2 / 3)
    assert score.gain == pytest.approx((2 * 10 / 12 * 1) ** (1 / 3))
    assert score.least_gain == pytest.approx(10 / 12)
    assert evaluation.score(OWN).no_loss == 1


def test_json_and_csv() -> None:
    evaluation = evaluate_sweep([FIRST, SECOND, THIRD], [], H200, train=512)
    document = to_json(evaluation)
    assert document["judged"] == DEFAULT
    assert document["launches"][1]["regrets"][REUSED] == pytest.approx(0.1)
    (first, second) = csv.DictReader(io.StringIO(to_csv(evaluation)))
    assert (first["size"], first["best"], first["chosen"]) == ("1000", "256", "256")
    assert float(second["regret"]) == pytest.approx(0.2)


def test_energy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Beside the times: kept in a sweep, and shown where it was measured."""
    of_variant = {"restrict": {SMALL: 5.0, LARGE: 9.0}}
    energies = {"": {SMALL: 300.0, MIDDLE: 200.5}, **of_variant, "gone": {SMALL: 1.0}}
    measured = replace(FIRST, variants={"restrict": {SMALL: 0.5}}, millijoules=energies)
    path = tmp_path / "sweep.json"
    write_sweep(path, RecordedSweep("a GPU", "1", "made up", (measured, SECOND), REPEATED))
    read, other = read_sweep(path).launches
    assert (read.millijoules, other.millijoules) == (energies, {})
    # What was not timed, or gave other results, does not count.
    least = SweptConfiguration(SMALL, "restrict")
    assert read.energies == {plain(SMALL): 300.0, plain(MIDDLE): 200.5, least: 5.0}

    cases = tuple(Case(one, {OWN: plain(one.own), DEFAULT: plain(SMALL)}) for one in (read, other))
    evaluation = Evaluation(DEFAULT, cases)
    first, second = csv.DictReader(io.StringIO(to_csv(evaluation)))
    names = ("own_mj", "chosen_mj", "best_mj", "least_energy", "least_mj")
    assert [first[name] for name in names] == ["200.5", "300.0", "5.0", "64 restrict", "5.0"]
    assert [second[name] for name in names] == [""] * 5
    assert to_json(evaluation)["launches"][0]["least_mj"] == 5
    print_evaluation(evaluation, True)
    assert "least energy" in capsys.readouterr().out

    print_evaluation(Evaluation(DEFAULT, cases[1:]), True)
    assert "energy" not in capsys.readouterr().out
    assert "own_mj" not in to_csv(Evaluation(DEFAULT, cases[1:]))

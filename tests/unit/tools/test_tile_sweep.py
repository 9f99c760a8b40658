"""The sweep over tests/corpus/tiles: value sets, answers of programs, and going on after a stop."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import tile_sweep
from benchmarks.tile_programs import CORPUS, SETS, TileProgram, tile_programs
from benchmarks.tile_sweep import Builds, Job, Results, agree, answers_of, is_right, summary, sweep

PROGRAMS = {program.name: program for program in tile_programs()}


ALL = [program for of_set in SETS for program in tile_programs(of_set)]


@pytest.mark.parametrize("of_set", SETS)
def test_every_program_is_listed(of_set: str) -> None:
    sources = sorted(path.stem for path in (CORPUS / of_set).glob("*.cu"))
    assert [program.name for program in tile_programs(of_set)] == sources


def test_half_of_the_first_set_is_unseen() -> None:
    unseen = [name for name, program in PROGRAMS.items() if program.is_unseen]
    assert unseen == sorted(random.Random(51).sample(sorted(PROGRAMS), 6))


@pytest.mark.parametrize("program", ALL, ids=[f"{one.of_set}-{one.name}" for one in ALL])
def test_value_sets(program: TileProgram) -> None:
    legal = program.value_sets()
    assert 6 <= len(legal) == len({*legal}) <= 60
    assert legal[0] == program.own
    # Every value has a text of its own: no two sets are the same program.
    built = {(program.source(values), *program.flags(values)) for values in legal}
    assert len(built) == len(legal)
    assert program.source(program.own) == program.path.read_text()
    own = program.named(program.own)
    for macro in program.macros:
        assert re.search(rf"^#define {macro} {own[macro]}\b", program.path.read_text(), re.M)
    if program.of_set != SETS[0]:
        return
    readme = (CORPUS / program.of_set / "README.md").read_text()
    (row,) = re.findall(rf"^\| `{program.name}` \|.*$", readme, re.M)
    assert f"| {len(legal)} |" in row
    assert ("| yes |" in row) == program.is_unseen


@pytest.mark.parametrize(
    ("one", "other", "are_alike"),
    [
        ("sum 1.00001e+02, PASS", "sum 1.00000e+02, PASS", True),
        ("sum 1.001e+02, PASS", "sum 1.000e+02, PASS", False),
        ("sum 1.0e+02, FAIL", "sum 1.0e+02, PASS", False),
        ("sum 1.0e+02", "sum 1.0e+02 PASS", False),
        ("last 1000001", "last 1000000", False),
        ("nan", "1.0e+02", False),
    ],
)
def test_agree(one: str, other: str, are_alike: bool) -> None:
    assert agree([one], [other]) == are_alike


LAUNCH = '{"kernel": "k", "milliseconds": 0.5}'
WHOLE = f"""\
@size small
@launch {LAUNCH}
@launch {LAUNCH}
@output {{"bytes": 8, "error": 1e-06}}
sum 1.0e+00
PASS
@status 0
@size large
@launch {LAUNCH}
@failed an illegal memory access was encountered
"""


def test_answers() -> None:
    answers = answers_of(WHOLE)
    assert list(answers) == ["small", "large"]
    small, large = answers.values()
    assert small["printed"] == ["sum 1.0e+00", "PASS"]
    assert [one["milliseconds"] for one in small["launches"]] == [0.5, 0.5]
    assert small["errors"] == [1e-6]
    assert is_right(small, {"printed": ["sum 1.0e+00", "PASS"]})
    assert not is_right(large, {"printed": []})
    assert "status" not in large and large["said"].startswith("an illegal")


@pytest.mark.parametrize(
    "change",
    [
        {"status": 1},
        {"errors": [1e-7, 2e-4]},
        {"errors": []},
        {"launches": []},
        {"printed": ["sum 2.0e+00", "PASS"]},
    ],
    ids=lambda change: str(*change),
)
def test_what_is_wrong(change: dict[str, Any]) -> None:
    reference = {"printed": ["sum 1.0e+00", "PASS"]}
    assert not is_right({**answers_of(WHOLE)["small"], **change}, reference)


class Machine:
    """Stands in for nvcc and the GPU; a run takes a second."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, bool]] = []
        self.is_broken = False

    def monotonic(self) -> float:
        return float(len(self.ran))

    def run(self, job: Job, _: Path, __: Path, is_reference: bool, ___: float) -> dict[str, Any]:
        self.ran.append((job.key, is_reference))
        launch = {"kernel": "k", "milliseconds": job.values[0] + len(self.ran) / 1000}
        answer = {"status": 0, "launches": [launch], "errors": [0.0], "printed": ["PASS"]}
        if self.is_broken:
            answer = {"status": 1, "said": "no GPU"}
            return dict.fromkeys(job.program.sizes, answer)
        if job.values[0] == 28:
            answer["errors"] = [1.0]
        return {size: {**answer, "launches": [dict(launch)]} for size in job.program.sizes}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine()
    monkeypatch.setattr(tile_sweep, "run", found.run)
    monkeypatch.setattr(tile_sweep, "time", found)
    monkeypatch.setattr(Builds, "timing", lambda _: Path("timing.o"))
    monkeypatch.setattr(Builds, "program", lambda *_: Path("program"))
    return found


def keys(values: Sequence[int]) -> list[tuple[str, bool]]:
    return [(f"TILE={value}", False) for value in values]


THERE = (16, 4, 8, 12, 20, 24, 28, 32)


def test_rounds_go_there_and_back(machine: Machine, tmp_path: Path) -> None:
    results = Results(tmp_path / "sweep.json").load()
    assert sweep(results, [PROGRAMS["matmul_tiled"]], Builds(tmp_path, []), 60)
    assert machine.ran == [("TILE=16", True), *keys(THERE), *keys(THERE[::-1])]
    lines = list(summary(Results(tmp_path / "sweep.json").load()))
    # TILE=4 was the third and the last but one of the runs.
    best = "best 4.0095 ms TILE=4; own 16.0095 ms, 3.99 times, TILE=16"
    assert " ".join(lines[0].split()) == f"matmul_tiled small 7 of 8 sets, 1 wrong; {best}"
    assert len(lines) == 3


def test_without_right_results_nothing_is_timed(machine: Machine, tmp_path: Path) -> None:
    program, results = PROGRAMS["matmul_tiled"], Results(tmp_path / "sweep.json").load()
    machine.is_broken = True
    assert not sweep(results, [program], Builds(tmp_path, []), 60)
    assert machine.ran == [("TILE=16", True)]
    machine.is_broken = False
    assert sweep(results, [program], Builds(tmp_path, []), 60)
    assert machine.ran[1:] == [("TILE=16", True), *keys(THERE), *keys(THERE[::-1])]


def test_a_sweep_goes_on(machine: Machine, tmp_path: Path) -> None:
    program, path = PROGRAMS["matmul_tiled"], tmp_path / "sweep.json"
    assert not sweep(Results(path).load(), [program], Builds(tmp_path, []), 4)
    # What ran when the time was over does not count.
    assert machine.ran == [("TILE=16", True), *keys(THERE[:3])]
    machine.ran.clear()
    assert sweep(Results(path).load(), [program], Builds(tmp_path, []), 60)
    assert machine.ran == [*keys(THERE[2:]), *keys(THERE[::-1])]
    # On another machine the results to compare with are made again.
    machine.ran.clear()
    assert sweep(Results(path).load(), [program], Builds(tmp_path / "b", []), 60)
    assert machine.ran == [("TILE=16", True)]

"""The programs of tests/corpus/tiles on the emulated device, with the sweep that a GPU has."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from benchmarks import tile_sweep
from benchmarks.tile_programs import TileProgram, Values, tile_programs
from benchmarks.tile_sweep import Builds, Results, sweep
from tests.support.cutune_runs import build_flags
from tests.support.short_headers import STANDARD, with_all_headers

pytestmark = pytest.mark.nvcc

PROGRAMS = list(tile_programs())
#: They take mathematics from CUDA's headers.
RELYING = ("scan_inclusive",)


@dataclass(frozen=True)
class Brief(TileProgram):
    """A program at its own values and the last ones, and at sizes that no tile divides."""

    def value_sets(self) -> list[Values]:
        legal = super().value_sets()
        return [legal[0], legal[-1]]


def brief(program: TileProgram, kind: type[Brief] = Brief) -> Brief:
    same = {field.name: getattr(program, field.name) for field in fields(program)}
    sizes = {str(number): words for number, words in enumerate(program.emulated)}
    return kind(**{**same, "sizes": sizes})


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    # The standard of most tests, whose headers are short.
    return Builds(tmp_path_factory.mktemp("builds"), [*build_flags(), STANDARD])


@pytest.fixture(autouse=True)
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times of the emulated device are the same each time."""
    monkeypatch.setattr(tile_sweep, "REPETITIONS", 1)
    monkeypatch.setattr(tile_sweep, "ROUNDS", 1)


@pytest.mark.long
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_values_do_not_change_results(program: TileProgram, builds: Builds, tmp_path: Path) -> None:
    results = Results(tmp_path / "sweep.json").load()
    with with_all_headers() if program.name in RELYING else nullcontext():
        assert sweep(results, [brief(program)], builds, time.monotonic() + 300)
    found = results.data["programs"][program.name]
    said = [size["printed"] for size in found["references"].values()]
    assert [lines[-1] for lines in said] == ["PASS"] * len(program.emulated)
    sizes = [size for one in found["sets"].values() for size in one["sizes"].values()]
    assert len(sizes) == 2 * len(program.emulated)
    assert [size for size in sizes if not size["ok"]] == []
    assert all(size["milliseconds"] > 0 and size["launches"] for size in sizes)


@dataclass(frozen=True)
class Wrong(Brief):
    """One whose other values change a result a little."""

    def source(self, values: Values) -> str:
        text = super().source(values)
        return text if values == self.own else text.replace("rate = 0.2f", "rate = 0.201f")


def test_other_results_are_wrong(builds: Builds, tmp_path: Path) -> None:
    (program,) = (brief(one, Wrong) for one in PROGRAMS if one.name == "heat2d")
    results = Results(tmp_path / "sweep.json").load()
    assert sweep(results, [program], builds, time.monotonic() + 300)
    own, other = results.data["programs"]["heat2d"]["sets"].values()
    assert [size["ok"] for size in own["sizes"].values()] == [True, True]
    assert [size["ok"] for size in other["sizes"].values()] == [False, False]

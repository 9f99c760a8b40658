"""Tiles that are arguments of templates: members of structures, structures, written numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cutune.emulator.launch_log import read_launches
from cutune.measure.tile_trials import copies_that_do_the_same
from cutune.proof.variants.tiles import NAME
from cutune.source.program import Program
from cutune.toolchain.kernel_names import base_name
from tests.support.cutune_runs import ARCHITECTURE, cutune, run
from tests.support.short_headers import STANDARD
from tests.support.told_variants import own_and_told, with_proven_variants

pytestmark = [pytest.mark.nvcc, pytest.mark.long]

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "tile_arguments.cu"
RIGHT = {
    "right_members": {"SYSTEMS_8", "SYSTEMS_32", "LANES_4", "LANES_4_SYSTEMS_32"},
    "right_shape": {"SIDE_8", "SIDE_32"},
    "right_number": {"T_32", "T_64", "T_256", "T_512"},
    # With 128 threads each a step is longer than any size that is tried as a matter of course.
    "right_class": {"ROW_LANES_4", "ROW_COUNT_8", "ROW_LANES_4_ROW_COUNT_32"},
    "right_window": {"WINDOW_32", "WINDOW_128"},
}


@pytest.fixture(scope="module")
def program() -> Program:
    """The program with the copies that do the same."""
    return with_proven_variants(PROGRAM, copies_that_do_the_same)


def test_arguments_of_templates_are_tiles(program: Program) -> None:
    for name, wanted in RIGHT.items():
        kernel = program.kernel(name)
        assert kernel is not None
        assert wanted <= {one.name for one in kernel.tiles}, name


def test_tiles_that_something_else_has_stay(program: Program) -> None:
    wrong = [kernel for kernel in program.kernels if kernel.name.startswith("wrong_")]
    assert len(wrong) == 7
    for kernel in wrong:
        assert [one.name for one in kernel.tiles if one.transform == NAME] == [], kernel.name
        said = [diagnostic.message for _, diagnostic in kernel.variant_reasons]
        reasons = ("its results are others", "do not answer", "a number of a size and of data")
        assert any(reason in one for reason in reasons for one in said)


@pytest.fixture(scope="module")
def binaries(program: Program, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The program as it is, and one that takes the copy that it is told."""
    return own_and_told(program, tmp_path_factory.mktemp("told"))


@pytest.mark.parametrize("size", ["5", "100", "333"])
def test_results_are_those_of_the_program(
    size: str, binaries: tuple[Path, Path], tmp_path: Path
) -> None:
    original, told = binaries
    expected = run(original, size).stdout
    for variant in (
        *("SYSTEMS_32", "LANES_4", "SIDE_8", "SIDE_32", "T_32", "T_256"),
        *("ROW_LANES_4", "ROW_LANES_4_ROW_COUNT_32", "WINDOW_128"),
    ):
        log = tmp_path / variant
        found = run(told, size, VARIANT=variant, HALVED="", CUTUNE_LAUNCH_LOG=str(log))
        assert found.stdout == expected, variant
        launched = {base_name(one.kernel) for one in read_launches(log)}
        assert any(name.endswith(f"__{variant}") for name in launched), variant


def test_inspect_lists_what_launches_are_made_of() -> None:
    done = cutune("inspect", "--tunables", "--json", PROGRAM, STANDARD, ARCHITECTURE)
    assert done.returncode == 0, done.stderr
    found = {(one["kernel"], one["name"]): one for one in json.loads(done.stdout)["constants"]}
    lanes, rows = found["right_members", "LANES"], found["wrong_macros", "ROWS"]
    assert (lanes["kind"], lanes["value"], lanes["uses"]) == (
        "template argument",
        8,
        ["block x", "loop"],
    )
    assert {4, 16, 32} <= {*lanes["allowed"]}
    assert {*lanes["same"]} <= {*lanes["allowed"]}
    assert (rows["kind"], rows["allowed"], rows["same"]) == ("macro", [64, 128], [])
    assert "its results are others" in rows["reason"]
    shown = cutune("inspect", "--tunables", PROGRAM, STANDARD, ARCHITECTURE).stdout
    assert "wrong_macros: macro ROWS = 32; in block x, grid x, shared memory; may be 64" in shown

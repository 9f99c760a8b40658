"""Tiles of kernels that get structures by value, numbers of two bytes, and enumerators."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.emulator.launch_log import read_launches
from cutune.measure.tile_trials import copies_that_do_the_same
from cutune.proof.variants.tiles import NAME
from cutune.source.program import Program
from cutune.toolchain.kernel_names import base_name
from tests.support.cutune_runs import run
from tests.support.told_variants import own_and_told, with_proven_variants

pytestmark = [pytest.mark.nvcc, pytest.mark.usefixtures("all_headers"), pytest.mark.long]

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "tile_structures.cu"
RIGHT = {
    "right_fir": {"LANES_32", "LANES_512"},
    "right_image": {"SIDE_8", "SIDE_32"},
    "right_halves": {"PART_32", "PART_128", "PART_256"},
    "kept_lines": {"WIDTH_128"},
    "kept_parts": {"WIDTH_128"},
}
WRONG = {
    "wrong_step": "it compares a product of sizes",
    "wrong_turned": "its results are others",
    "wrong_flags": "it is not known what 'of.is_open' is",
    "wrong_rows": "an address depends on loaded data",
    "wrong_constants": "it writes through a pointer to constants",
    "wrong_places": "",
}


@pytest.fixture(scope="module")
def program() -> Program:
    """The program with the copies that do the same."""
    return with_proven_variants(PROGRAM, copies_that_do_the_same)


@pytest.mark.parametrize("name", RIGHT)
def test_what_structures_hold_is_tried(name: str, program: Program) -> None:
    kernel = program.kernel(name)
    assert kernel is not None
    assert RIGHT[name] <= {one.name for one in kernel.tiles}, kernel.variant_reasons


def test_launches_are_asked_for_members(program: Program) -> None:
    kernel = program.kernel("right_image")
    assert kernel is not None
    names = [one.name for one in kernel.members]
    below = ["image.below_0", "image.below_1", "image.scale.rows"]
    assert names == ["image.w", "image.h", *below, "image.border"]
    # Behind the argument and its integers: the two pointers.
    assert {one.pointers for one in kernel.tiles} == {(7, 8)}
    assert {one.written for one in kernel.tiles} == {(8,)}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_certain_keeps_the_tile(name: str, program: Program) -> None:
    kernel = program.kernel(name)
    assert kernel is not None
    assert [one.name for one in kernel.tiles if one.transform == NAME] == []
    said = [diagnostic.message for _, diagnostic in kernel.variant_reasons]
    assert any(WRONG[name] in one for one in said), said


@pytest.fixture(scope="module")
def binaries(program: Program, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The program as it is, and one that takes the copy that it is told."""
    return own_and_told(program, tmp_path_factory.mktemp("told"))


@pytest.mark.parametrize("size", ["5", "100", "333", "1030"])
def test_results_are_those_of_the_program(
    size: str, binaries: tuple[Path, Path], tmp_path: Path
) -> None:
    original, told = binaries
    expected = run(original, size).stdout
    for variant in ("LANES_32", "LANES_512", "SIDE_8", "SIDE_32", "PART_128", "WIDTH_128"):
        log = tmp_path / variant
        found = run(told, size, VARIANT=variant, HALVED="", CUTUNE_LAUNCH_LOG=str(log))
        assert found.stdout == expected, variant
        launched = {base_name(one.kernel) for one in read_launches(log)}
        # In place, or with a number below zero, the kernel itself is launched.
        is_launched = any(name.endswith(f"__{variant}") for name in launched)
        assert is_launched == (variant != "WIDTH_128"), variant

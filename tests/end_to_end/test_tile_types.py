"""Tiles of templates on types: each instance is tried, with the types that it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.emulator.launch_log import read_launches
from cutune.measure.tile_trials import copies_that_do_the_same
from cutune.proof.variants.tiles import NAME
from cutune.source.program import Program
from cutune.toolchain.kernel_names import base_name, demangled
from tests.support.cutune_runs import run
from tests.support.told_variants import own_and_told, with_proven_variants

pytestmark = [pytest.mark.nvcc, pytest.mark.long]

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "tile_types.cu"
#: Copies of kernels, and the types of their instances.
RIGHT = {
    "right_product": ({"TILE_8", "TILE_32"}, ("float", "double")),
    "right_transpose": ({"SIDE_8", "SIDE_32"}, ("unsigned char", "int", "double")),
    "right_stencil": ({"W_64", "W_256"}, ("float, int", "double, unsigned long")),
}


@pytest.fixture(scope="module")
def program() -> Program:
    """The program with the copies that do the same."""
    return with_proven_variants(PROGRAM, copies_that_do_the_same)


@pytest.mark.parametrize("name", RIGHT)
def test_templates_on_types_have_tiles(name: str, program: Program) -> None:
    kernel = program.kernel(name)
    assert kernel is not None
    assert RIGHT[name][0] <= {one.name for one in kernel.tiles}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("wrong_for_one", "its results are others"),
        ("wrong_kinds", "a parameter is no number and no pointer to numbers"),
        ("wrong_lanes", "its results are others"),
    ],
)
def test_what_one_instance_does_otherwise_is_done_in_none(
    name: str, reason: str, program: Program
) -> None:
    wrong = program.kernel(name)
    assert wrong is not None
    assert [one.name for one in wrong.tiles if one.transform == NAME] == []
    said = [diagnostic.message for _, diagnostic in wrong.variant_reasons]
    assert any(reason in one for one in said), said


@pytest.fixture(scope="module")
def binaries(program: Program, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The program as it is, and one that takes the copy that it is told."""
    return own_and_told(program, tmp_path_factory.mktemp("told"))


def test_each_instance_prints_the_same(binaries: tuple[Path, Path], tmp_path: Path) -> None:
    original, told = binaries
    expected = run(original, "75").stdout
    for name, (variants, types) in RIGHT.items():
        for variant in sorted(variants):
            log = tmp_path / variant
            found = run(told, "75", VARIANT=variant, HALVED="", CUTUNE_LAUNCH_LOG=str(log))
            assert found.stdout == expected, variant
            of_copy = [one.kernel for one in read_launches(log)]
            of_copy = [one for one in of_copy if base_name(one) == f"{name}__{variant}"]
            shown = demangled(of_copy)
            assert all(any(f"<{one}" in text for text in shown) for one in types), variant


def test_numbers_below_zero_keep_the_kernel(
    program: Program, binaries: tuple[Path, Path], tmp_path: Path
) -> None:
    kernel = program.kernel("kept_rest")
    assert kernel is not None and "STEPS_128" in {one.name for one in kernel.tiles}
    original, told = binaries
    log = tmp_path / "log"
    found = run(told, "75", VARIANT="STEPS_128", HALVED="", CUTUNE_LAUNCH_LOG=str(log))
    assert found.stdout == run(original, "75").stdout
    launched = [base_name(one.kernel) for one in read_launches(log)]
    assert launched.count("kept_rest") == 2
    assert not any(one.startswith("kept_rest__") for one in launched)

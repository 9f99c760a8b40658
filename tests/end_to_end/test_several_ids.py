"""Variants whose threads do several ids, or that have launch bounds.

Results are those of the kernel itself, in any block.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.emulator.launch_log import read_launches
from cutune.source.program import Program
from tests.support.cutune_runs import SAMPLES, Tuned, compiled, run, select
from tests.support.told_variants import own_and_told, with_proven_variants

pytestmark = pytest.mark.nvcc

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "several_ids.cu"
BOUNDED = [f"{prefix}bounds256x{blocks}" for prefix in ("", "restrict_") for blocks in (2, 3, 4)]
BY_AXIS = {"x": 0, "y": 1, "z": 2}


@pytest.fixture(scope="module")
def program() -> Program:
    return with_proven_variants(PROGRAM)


@pytest.fixture(scope="module")
def binaries(program: Program, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The program as it is, and one that takes the variant that it is told."""
    return own_and_told(program, tmp_path_factory.mktemp("several"))


def _names(axes: str) -> set[str]:
    return {"restrict", *(f"restrict_{axis}{ids}" for axis in axes for ids in (2, 4))}


@pytest.mark.long
def test_only_kernels_whose_place_comes_from_their_index_have_them(program: Program) -> None:
    found = {k.name: {one.name for one in k.variants} for k in program.kernels}
    assert found.pop("crowded") == {*_names("x"), *BOUNDED}
    assert found == {
        "early": _names("x"),
        "interior": _names("y"),
        "planes": _names("yz"),
        "by_function": {"restrict"},
        "ending": {"restrict"},
        "looping": {"restrict"},
        "without_guard": {"restrict"},
    }
    reasons = {k.name: {r.code: r.message for _, r in k.variant_reasons} for k in program.kernels}
    said = reasons["by_function"][Code.VARIANT_UNPROVEN]
    assert said.endswith("its copy reads %ctaid.x beside the index that it is given")
    assert "ends early" in reasons["ending"][Code.VARIANT_USELESS]
    assert "one after the other" in reasons["looping"][Code.VARIANT_USELESS]
    assert "guard" in reasons["without_guard"][Code.VARIANT_USELESS]


@pytest.mark.long
@pytest.mark.parametrize("size", ["64", "101"])
@pytest.mark.parametrize("name", sorted({*_names("x"), *_names("yz")} - {"restrict"}))
def test_results_are_those_of_the_kernel_itself(
    name: str, size: str, binaries: tuple[Path, Path], tmp_path: Path
) -> None:
    original, tuned = binaries
    expected, log = run(original, size), str(tmp_path / "log")
    halved = "1" if size == "101" else ""
    found = run(tuned, size, VARIANT=name, HALVED=halved, CUTUNE_LAUNCH_LOG=log)
    assert expected.returncode == 0
    assert (found.returncode, found.stdout) == (expected.returncode, expected.stdout)
    launched = {r.kernel: r for r in read_launches(Path(log)) if name in r.kernel}
    axis, ids = BY_AXIS[name[-2]], int(name[-1])
    kernel, extents = ("planes", (0, int(size), 9)) if axis else ("earlyIf", (int(size) ** 2, 1, 1))
    record = next(record for entry, record in launched.items() if kernel in entry or axis == 0)
    assert record.grid[axis] == -(-extents[axis] // (record.block[axis] * ids))


@pytest.mark.parametrize(("halved", "threads"), [("1", 256), ("", 512)])
@pytest.mark.parametrize("name", ["bounds256x4", "restrict_bounds256x2"])
def test_a_variant_with_bounds_gets_no_larger_block(
    name: str, halved: str, threads: int, binaries: tuple[Path, Path], tmp_path: Path
) -> None:
    original, tuned = binaries
    expected, log = run(original, "64"), str(tmp_path / "log")
    found = run(tuned, "64", VARIANT=name, HALVED=halved, CUTUNE_LAUNCH_LOG=log)
    assert expected.returncode == 0
    assert (found.returncode, found.stdout) == (expected.returncode, expected.stdout)
    (record,) = (r for r in read_launches(Path(log)) if "crowded" in r.kernel)
    assert record.block == (threads, 1, 1)
    assert (name in record.kernel) == (threads == 256)


@pytest.mark.long
def test_one_is_chosen_by_its_model(tuned: Tuned, tmp_path: Path) -> None:
    source, rewritten = SAMPLES / "2dconv.cu", tuned("2dconv")
    answer = select("Convolution2D_kernel", rewritten.parent, "--all-sizes", "1500")
    variant, block = answer["choice"]["variant"], answer["choice"]["block"]
    assert (variant["name"], variant["coarsen"]) == ("restrict_y4", [1, 4, 1])
    expected = run(compiled(source, source, tmp_path / "original"), "1500")
    log = tmp_path / "log"
    found = run(
        compiled(rewritten, source, tmp_path / "tuned"),
        "1500",
        CUTUNE="verbose",
        CUTUNE_LAUNCH_LOG=str(log),
    )
    assert (found.returncode, found.stdout) == (expected.returncode, expected.stdout)
    assert "Convolution2D_kernel: variant restrict_y4" in found.stderr
    (record,) = read_launches(log)
    assert list(record.block) == block
    # 1499 rows have work, and each thread does four.
    assert record.grid[1] == -(-1499 // (block[1] * 4))

"""Copies of kernels without a guard, which are right at multiples of what blocks cover alone."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from cutune.emulator.launch_log import read_launches
from cutune.measure.tile_trials import copies_that_do_the_same
from cutune.proof.analysis import read_source
from cutune.source.program import Program
from tests.support.cutune_runs import run
from tests.support.told_variants import in_turn_by_two, own_and_told, with_proven_variants

pytestmark = [pytest.mark.nvcc, pytest.mark.long]

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "whole_blocks.cu"
RACE = "its threads or blocks have a race"
COPIES = ("blocks_y2", "beside_y2")


@pytest.fixture(scope="module")
def program() -> Program:
    """The program with the copies that do the same."""
    with patch.object(read_source, "proven_copies", return_value={}):
        return with_proven_variants(PROGRAM, in_turn_by_two({}))


def test_only_what_does_the_same_has_copies(program: Program) -> None:
    variants = {k.name: tuple(one.name for one in k.variants) for k in program.kernels}
    assert variants == {"right_product": COPIES, "wrong_rows": (), "wrong_below": ()}
    for one in program.kernels[0].variants:
        assert one.tile is not None
        assert (one.tile.divided, one.tile.multiple) == (("n",), 32)
    for kernel in program.kernels[1:]:
        assert RACE in "".join(m.message for m in dict(kernel.variant_reasons).values())


@pytest.fixture(scope="module")
def binaries(program: Program, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The program as it is, and one that takes the copy that it is told."""
    return own_and_told(program, tmp_path_factory.mktemp("whole_blocks"))


@pytest.mark.parametrize(("size", "rows"), [("48", 3), ("64", 2), ("100", 6), ("160", 5)])
def test_other_sizes_keep_their_launch(
    size: str, rows: int, binaries: tuple[Path, Path], tmp_path: Path
) -> None:
    original, tuned = binaries
    expected = run(original, size)
    for name in COPIES:
        log = tmp_path / name
        found = run(tuned, size, VARIANT=name, HALVED="", CUTUNE_LAUNCH_LOG=str(log))
        assert (found.returncode, found.stdout) == (0, expected.stdout)
        first = next(iter(read_launches(log)))
        assert first.grid[1] == rows


def test_a_loop_that_has_a_round_at_each_legal_size_is_no_doubt(tmp_path: Path) -> None:
    tiled = with_proven_variants(PROGRAM.with_name("whole_tiles.cu"), copies_that_do_the_same)
    (kernel,) = tiled.kernels
    (wider,) = (one for one in kernel.variants if one.name == "TILE_32")
    assert wider.tile is not None and wider.tile.divided == ("n",)
    original, tuned = own_and_told(tiled, tmp_path)
    for size, side in (("48", 16), ("64", 32), ("96", 32), ("100", 16)):
        log = tmp_path / size
        found = run(tuned, size, VARIANT="TILE_32", HALVED="", CUTUNE_LAUNCH_LOG=str(log))
        assert (found.returncode, found.stdout) == (0, run(original, size).stdout)
        assert next(iter(read_launches(log))).block[0] == side


def test_rows_are_also_tried_that_all_threads_of_a_block_share() -> None:
    """Blocks of 256 threads that cover one row: multiples of 1 to 4 rows are short ones."""
    with patch.object(read_source, "proven_copies", return_value={}):
        program = with_proven_variants(PROGRAM.with_name("long_rows.cu"), in_turn_by_two({}))
    apart, wrong = program.kernels
    assert apart.variants and not wrong.variants
    assert RACE in "".join(m.message for m in dict(wrong.variant_reasons).values())

"""Copies of kernels whose blocks do what several do, one after another or side by side."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from unittest.mock import patch

import pytest

from cutune.emulator.launch_log import read_launches
from cutune.proof.analysis import read_source
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import Program
from cutune.toolchain.device.thread_block import Block
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK_FLAGS, run
from tests.support.told_variants import in_turn_by_two, own_and_told

pytestmark = [pytest.mark.nvcc, pytest.mark.long]

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "blocks_in_turn.cu"
ROWS = {"right_transpose", "right_product", "right_stencil", "right_planes"}
#: Whose grid follows no argument, or of whose text no piece may stand beside itself.
NOT_BESIDE = {"right_stride", "right_grid", "right_dynamic", "right_whole_return"} | {
    "right_function",
    "right_sort",
}
#: Whose blocks are tried by four as well as by two: along x and y, with each kind of grid.
BY_FOUR = {"right_halo", "right_grid", "right_stride", "right_stencil", "right_sum", "wrong_order"}
RACE = "its threads or blocks have a race"
ON_DATA = "what it does depends on data: a branch depends on loaded data"
WRONG = {
    "wrong_return": "some threads may not come to a barrier",
    "wrong_warp_return": "some threads of a warp may not come to 'shfl'",
    "wrong_unwritten": "a block reads shared memory that it has not written",
    "wrong_last_block": ON_DATA,
    "wrong_spin": ON_DATA,
    "wrong_neighbours": RACE,
    "wrong_order": RACE,
    "wrong_before": RACE,
    "wrong_function": "it, or a function that it calls, reads %ctaid.x",
    "wrong_grid": "it, or a function that it calls, reads %nctaid.x",
    "wrong_barrier": "it has a barrier of some threads, or one that tells something",
    "wrong_ahead": "nothing is known of 'cp' where threads go on",
    "wrong_exit": "nothing is known of 'exit' where threads go on",
    "wrong_processor": "it reads %smid",
    "wrong_rounds": ON_DATA,
    "wrong_places": "an address depends on loaded data",
    "wrong_addresses": "it makes numbers of addresses of shared or local memory",
    "wrong_assembly": "it, or a function that it calls, reads %ctaid.x",
}
#: Whose text has no copy at all.
WITHOUT = "without_lambda"


@pytest.fixture(scope="module")
def program() -> Program:
    """The program with the copies that do the same."""
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS), try_copies=in_turn_by_two(BY_FOUR))
    # Copies that read their block take a compilation for each kernel here, and are not asked for.
    with patch.object(read_source, "proven_copies", return_value={}):
        return analyzer.with_checked_variants(analyzer.load(str(PROGRAM), require_nvcc=True))


def _names(kernel: str) -> set[str]:
    axis, words = "y" if kernel in ROWS else "x", ["blocks"]
    if kernel not in NOT_BESIDE:
        words.append("beside")
    factors = (2, 4) if kernel in BY_FOUR else (2,)
    return {f"{word}_{axis}{blocks}" for word in words for blocks in factors}


def test_only_blocks_that_may_come_in_turn_have_copies(program: Program) -> None:
    found = {k.name: {one.name for one in k.variants} for k in program.kernels if k.variants}
    right = {k.name for k in program.kernels if k.name not in {*WRONG, WITHOUT}}
    assert found == {name: _names(name) for name in right}
    reasons = {k.name: dict(k.variant_reasons) for k in program.kernels}
    said = {
        k: next((m.message for n, m in reasons[k].items() if "blocks_x2" in n), "") for k in WRONG
    }
    assert {k: said[k] for k, why in WRONG.items() if why not in said[k]} == {}
    assert len(right) + len(WRONG) + 1 == len(program.kernels) >= 25


@pytest.fixture(scope="module")
def binaries(program: Program, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The program as it is, and one that takes the copy that it is told."""
    return own_and_told(program, tmp_path_factory.mktemp("in_turn"))


@pytest.mark.parametrize("size", ["1", "300", "512", "700"])
def test_results_are_those_of_the_kernel_itself(
    size: str, binaries: tuple[Path, Path], tmp_path: Path
) -> None:
    original, tuned = binaries
    expected = run(original, size)
    forms = product(("blocks", "beside"), "xy", (2, 4))
    for name in [f"{word}_{axis}{blocks}" for word, axis, blocks in forms]:
        log = tmp_path / name
        found = run(tuned, size, VARIANT=name, HALVED="", CUTUNE_LAUNCH_LOG=str(log))
        assert (found.returncode, found.stdout) == (0, expected.stdout)
        grids = {r.kernel: r.grid for r in read_launches(log)}
        blocks, in_turn = -(-int(size) // 128), int(name[-1]) if "x" in name else 1
        assert _grid_of("right_halo", grids) == (-(-blocks // in_turn), 1, 1)
        if "beside" in name:
            continue
        assert _grid_of("right_grid", grids) == (-(-blocks // in_turn), 1, 1)
        # Where no argument tells the grid, it has to be a multiple.
        assert _grid_of("right_stride", grids)[0] == (6 // in_turn if in_turn < 4 else 6)


def _grid_of(kernel: str, grids: Mapping[str, Block]) -> Block:
    return next(grid for name, grid in grids.items() if kernel in name)

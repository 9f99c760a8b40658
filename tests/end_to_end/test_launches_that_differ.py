"""Copies of kernels that are launched in several ways, where blocks do what several do."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from cutune.emulator.launch_log import read_launches
from cutune.proof.analysis import read_source
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.kernel_variant import Tile
from cutune.source.launches.verdicts import may_be_launched
from cutune.source.program import Program
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK_FLAGS, run
from tests.support.told_variants import in_turn_by_two, own_and_told

pytestmark = pytest.mark.nvcc

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "launches_that_differ.cu"
TURN, BESIDE = "blocks_x2", "beside_x2"
RIGHT = ("right_passes", "right_captured", "right_narrow", "right_bounds", "right_given")
WRONG = {
    "wrong_passes": "its threads or blocks have a race",
    "wrong_gone": "some threads may not come to a barrier",
    "wrong_left": "a block reads shared memory that it has not written",
    "wrong_place": "it, or a function that it calls, reads %ctaid.x",
    "wrong_number": "it uses the result of add",
    "wrong_data": "what it does depends on data",
    "wrong_lanes": "may bring lanes of a warp together elsewhere",
}


@pytest.fixture(scope="module")
def program() -> Program:
    """The program with the copies that do the same."""
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS), try_copies=in_turn_by_two(()))
    with patch.object(read_source, "proven_copies", return_value={}):
        return analyzer.with_checked_variants(analyzer.load(str(PROGRAM), require_nvcc=True))


@pytest.mark.long
def test_a_kernel_has_copies_for_the_launches_that_they_fit(program: Program) -> None:
    found = {k.name: {one.name for one in k.variants} for k in program.kernels if k.variants}
    assert found == {kernel: {TURN, BESIDE} for kernel in RIGHT}
    for kernel in program.kernels:
        said = " ".join(reason.message for _, reason in kernel.variant_reasons)
        assert WRONG.get(kernel.name, "") in said, kernel.name


def test_a_launch_that_no_copy_fits_is_refused(program: Program) -> None:
    refused = [one.configuration for one in program.launches if one.kernel in RIGHT and one.code]
    assert refused == [("1", "T"), ("(n + T / 2 - 1) / (T / 2)", "T / 2")]


def test_grids_and_blocks_that_are_not_known_are_asked_at_the_launch(program: Program) -> None:
    captured, narrow = (
        [one.resolved for one in program.launches if one.kernel == kernel]
        for kernel in ("right_captured", "right_narrow")
    )
    own = Tile((128, 1, 1), (128, 1, 1), ("gridDim.x", "1", "1"), (1, 1, 1), (1, 1, 1))
    assert all(may_be_launched(own, one) for one in (*captured, None))
    assert [may_be_launched(own, one) for one in narrow] == [True, False, True]


@pytest.fixture(scope="module")
def binaries(program: Program, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The program as it is, and one that takes the copy that it is told."""
    return own_and_told(program, tmp_path_factory.mktemp("differ"))


@pytest.mark.long
@pytest.mark.parametrize("size", ["1", "300", "512", "700", "1024"])
@pytest.mark.parametrize("variant", [TURN, BESIDE])
def test_results_are_those_of_the_kernel_itself(
    variant: str, size: str, binaries: tuple[Path, Path], tmp_path: Path
) -> None:
    original, tuned = binaries
    expected, log = run(original, size), tmp_path / "log"
    found = run(tuned, size, VARIANT=variant, HALVED="", CUTUNE_LAUNCH_LOG=str(log))
    assert (found.returncode, found.stdout) == (0, expected.stdout)
    blocks = -(-int(size) // 128)
    grids = [one.grid[0] for one in read_launches(log) if "right_captured" in one.kernel]
    assert grids == [-(-blocks // 2)] * 3

"""Copies of kernels in whose text several blocks stand side by side."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from cutune.proof.analysis import read_source
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import Program
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK_FLAGS, run
from tests.support.told_variants import in_turn_alone, in_turn_by_two, own_and_told

pytestmark = pytest.mark.nvcc

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "blocks_side_by_side.cu"
IN_TURN, BESIDE = {"blocks_x2", "blocks_x4"}, {"beside_x2", "beside_x4"}
#: Whose blocks are tried by four as well as by two.
BY_FOUR = {"right_loops", "right_unrolled", "right_moved", "wrong_step", "wrong_function"}


@pytest.fixture(scope="module")
def program() -> Program:
    """The program with the copies that do the same."""
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS), try_copies=in_turn_by_two(BY_FOUR))
    # Copies that read their block take a compilation for each kernel here, and are not asked for.
    with patch.object(read_source, "proven_copies", return_value={}):
        return analyzer.with_checked_variants(analyzer.load(str(PROGRAM), require_nvcc=True))


@pytest.mark.long
def test_only_text_that_may_stand_beside_itself_does(program: Program) -> None:
    found = {kernel.name: {one.name for one in kernel.variants} for kernel in program.kernels}
    assert len(found) == 33
    for name, variants in found.items():
        forms = IN_TURN | (BESIDE if name.startswith("right") else set())
        expected = {one for one in forms if name in BY_FOUR or "2" in one}
        assert variants == expected, name


@pytest.mark.long
def test_results_are_those_of_the_kernel_itself(program: Program, tmp_path: Path) -> None:
    original, tuned = own_and_told(program, tmp_path)
    for size in ("1", "100", "256", "500"):
        expected = run(original, size)
        for name in sorted(IN_TURN | BESIDE):
            found = run(tuned, size, VARIANT=name, HALVED="")
            assert (found.returncode, found.stdout) == (0, expected.stdout)


LEAVING = """
__global__ void leave(const int *a, int *b, int n) {
    __shared__ int s[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    const int found = s[63 - threadIdx.x];
    UNLESS(i < n && (n < 8192 || blockIdx.x % 3 == 1)) b[i] = found;
}
void call(const int *a, int *b, int n) { leave<<<(n + 63) / 64, 64>>>(a, b, n); }
"""


@pytest.mark.parametrize(
    ("does", "expected"), [("if(!(x))return;", IN_TURN), ("if(x)", IN_TURN | BESIDE)]
)
def test_a_macro_of_an_option_leaves_no_piece(
    does: str, expected: set[str], tmp_path: Path
) -> None:
    path = tmp_path / "leave.cu"
    path.write_text(LEAVING)
    flags = (*QUICK_FLAGS, f"-DUNLESS(x)={does}")
    analyzer = Analyzer(Toolchain(flags=flags), try_copies=in_turn_alone)
    with patch.object(read_source, "proven_copies", return_value={}):
        program = analyzer.with_checked_variants(analyzer.load(str(path), require_nvcc=True))
    assert {one.name for one in program.kernels[0].variants} == expected

"""Rows behind sums in shared memory, and loops with two tests: what is proven of each kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.proof.entry import prove
from cutune.ptx.types import Module
from tests.support.proof_verdicts import kernels_by_section, module_of

pytestmark = pytest.mark.nvcc

SOURCE = Path(__file__).parents[2] / "corpus" / "proofs" / "rows_beside_sums.cu"
#: Names of kernels by their section.
SECTIONS = kernels_by_section(SOURCE)
WHOLE_WARPS = tuple(range(32, 1025, 32))


@pytest.fixture(scope="module")
def module() -> Module:
    """All kernels, compiled at once."""
    return module_of(SOURCE.read_text())


@pytest.mark.parametrize("name", SECTIONS["behind"])
def test_rows_behind_sums(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert proof.refused is None, proof.refused
    assert proof.widths == WHOLE_WARPS and proof.dimensions[0].grid_kept
    # Blocks of any size keep what the launch asks for, which must hold all slots.
    assert proof.keeps_shared and max(proof.shared_bytes) == 128


@pytest.mark.parametrize("name", SECTIONS["two_tests"])
def test_loops_with_two_tests(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert proof.refused is None, proof.refused
    assert proof.widths == WHOLE_WARPS and proof.dimensions[0].grid_kept
    assert not proof.keeps_shared and proof.shared_bytes == ()
    # The end is asked to be far from where sums wrap around.
    assert any("2:0:b32" in str(spread.smaller) for spread in proof.spreads)


@pytest.mark.parametrize("name", SECTIONS["powers"])
def test_sums_that_one_thread_uses(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert proof.refused is None, proof.refused
    assert proof.widths == (32, 64, 128, 256, 512, 1024)


@pytest.mark.parametrize("name", SECTIONS["bounded"])
def test_slots_that_nobody_wrote(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert proof.refused is None, proof.refused
    assert proof.widths == WHOLE_WARPS[:-1]
    x = proof.dimensions[0]
    assert x.raw is None and x.bounds == () and x.grid_stride


@pytest.mark.long
@pytest.mark.parametrize("name", SECTIONS["wrong"])
def test_wrong(module: Module, name: str) -> None:
    assert not prove(module, name).is_tunable

"""Blocks whose threads combine sums of rows: each case is a kernel and what is proven of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.proof.entry import judge, prove
from cutune.proof.entry_proof import EntryProof
from cutune.proof.values.built_ins import KeptGrid
from cutune.ptx.types import Module
from tests.support.proof_verdicts import kernels_by_section, module_of

pytestmark = pytest.mark.nvcc

SOURCE = Path(__file__).parents[2] / "corpus" / "proofs" / "reductions.cu"
#: Names of kernels by their section.
SECTIONS = kernels_by_section(SOURCE)


@pytest.fixture(scope="module")
def module() -> Module:
    """All kernels, compiled at once."""
    return module_of(SOURCE.read_text())


def _proven(module: Module, name: str) -> EntryProof:
    proof = judge(module, module.functions[name], KeptGrid(dimension="x"), reducing=True)
    assert proof.refused is None, proof.refused
    return proof


@pytest.mark.long
@pytest.mark.parametrize("name", [*SECTIONS["whole_warps"], *SECTIONS["rounded"]])
def test_whole_warps(module: Module, name: str) -> None:
    proof = _proven(module, name)
    assert proof.widths == tuple(range(32, 1025, 32))
    assert proof.reassociates == (name in SECTIONS["rounded"])


@pytest.mark.long
@pytest.mark.parametrize("name", SECTIONS["long"])
def test_long_runs(module: Module, name: str) -> None:
    proof = _proven(module, name)
    assert {32, 64, 128, 256, 512, 1024} <= {*proof.widths} < {*range(32, 1025, 32)}


@pytest.mark.parametrize("name", SECTIONS["powers"])
def test_powers_of_two(module: Module, name: str) -> None:
    proof = _proven(module, name)
    assert proof.widths == (32, 64, 128, 256, 512, 1024)


@pytest.mark.parametrize("name", SECTIONS["wrong"])
def test_wrong(module: Module, name: str) -> None:
    proof = judge(module, module.functions[name], KeptGrid(dimension="x"), reducing=True)
    assert proof.refused is not None


@pytest.mark.parametrize("name", [*SECTIONS["of_all"], *SECTIONS["rounded_of_all"]])
def test_sums_of_all_blocks(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert proof.refused is None, proof.refused
    assert proof.widths == tuple(range(32, 1025, 32))
    assert proof.reassociates == (name in SECTIONS["rounded_of_all"])
    x = proof.dimensions[0]
    assert x.raw is None and x.bounds == () and x.grid_stride


@pytest.mark.parametrize("name", SECTIONS["not_of_all"])
def test_parts_that_another_block_does_not_have(module: Module, name: str) -> None:
    refused = prove(module, name).refused
    assert refused is not None
    assert (refused.code is Code.BLOCK_RESULT) == (name == "stores_its_part")


@pytest.mark.parametrize("name", [*SECTIONS["segments"], *SECTIONS["rounded_segments"]])
def test_elements_a_block_apart(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert proof.refused is None, proof.refused
    assert proof.widths == tuple(range(32, 1025, 32))
    assert proof.reassociates == (name in SECTIONS["rounded_segments"])
    x = proof.dimensions[0]
    assert x.raw is None and x.bounds == () and x.grid_stride
    # Each element has a number of 32 bits with a sign.
    most, each = ((1 << 31) - 1, 4 if name == "four_of_each" else 2)
    asked = {(one.larger.literal, one.smaller.literal, one.dimension) for one in proof.spreads}
    assert (most, each, 0) in asked


@pytest.mark.parametrize("name", SECTIONS["not_segments"])
def test_elements_of_which_another_block_does_something_else(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert proof.refused is not None or proof.dimensions[0].raw is not None


@pytest.mark.parametrize("name", ["no_barrier", "a_slot_too_early", "told_too_late"])
def test_races_are_named(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert proof.refused is not None
    assert (proof.refused.code is Code.RACE) == (name != "a_slot_too_early")


def test_blocks_with_more_warps_than_places_do_not_count() -> None:
    """Most blocks have too many warps for `w[8]`."""
    text = """
__global__ void few(int *a, const int *c, int n) {
    __shared__ int w[8];
    int r = blockIdx.x, t = threadIdx.x, s = 0;
    for (int j = t; j < n; j += blockDim.x) s += c[r * n + j];
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    if (t % 32 == 0) w[t / 32] = s;
    __syncthreads();
    if (t < 32) {
        s = t < blockDim.x / 32 ? w[t] : 0;
        for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
        if (t == 0) a[r] = s;
    }
}
"""
    assert _proven(module_of(text), "_Z3fewPiPKii").widths == tuple(range(32, 257, 32))

"""Numbers of blocks of which 24 bits are multiplied, as older programs do: `__umul24`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from cutune.proof.entry import prove
from cutune.ptx.types import Module
from tests.support.proof_verdicts import compiled, described

pytestmark = [pytest.mark.nvcc, pytest.mark.usefixtures("all_headers")]


class Case(NamedTuple):
    """A kernel, what is proven of it, and whether its launches must have few blocks for that."""

    body: str
    proven: str
    is_narrow: bool = True


GUARD = "if (i < n) a[i] += 1;"
CASES: Mapping[str, Case] = {
    "unsigned_id": Case(
        f"int i = __umul24(blockIdx.x, blockDim.x) + threadIdx.x; {GUARD}", "x < n"
    ),
    "signed_id": Case(f"int i = threadIdx.x + __mul24(blockDim.x, blockIdx.x); {GUARD}", "x < n"),
    "own_instruction": Case(
        'unsigned i; asm("mad24.lo.u32 %0, %1, %2, %3;" : "=r"(i) : "r"(blockIdx.x), '
        f'"r"(blockDim.x), "r"(threadIdx.x)); {GUARD}',
        "x < n",
    ),
    "grid_stride": Case(
        "for (int i = __umul24(blockIdx.x, blockDim.x) + threadIdx.x; i < n;"
        " i += __umul24(blockDim.x, gridDim.x)) a[i] += 1;",
        "x; stride x",
    ),
    "two_dimensions": Case(
        "int i = __umul24(blockIdx.x, blockDim.x) + threadIdx.x;"
        " int j = __mul24(blockIdx.y, blockDim.y) + threadIdx.y;"
        " if (i < n && j < m) a[j * n + i] += 1;",
        "x < n; y < m",
    ),
    "plain": Case(f"int i = blockIdx.x * blockDim.x + threadIdx.x; {GUARD}", "x < n", False),
    # Of an id there may be more than 24 bits.
    "narrow_id": Case(
        "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[__umul24(i, 1)] += 1;",
        "x < n; warps",
        False,
    ),
    "fewer_bits": Case(
        f"int i = (blockIdx.x & 0x7fffff) * blockDim.x + threadIdx.x; {GUARD}", "x raw", False
    ),
    "fewer_signed_bits": Case(
        f"int i = ((int)(blockIdx.x << 9) >> 9) * blockDim.x + threadIdx.x; {GUARD}", "x raw", False
    ),
    "upper_bits": Case(
        f"int i = ((blockIdx.x << 8) >> 9) * blockDim.x + threadIdx.x; {GUARD}", "x raw", False
    ),
    "next_block": Case(
        f"int i = __umul24(blockIdx.x + 1, blockDim.x) + threadIdx.x; {GUARD}", "x raw", False
    ),
    "wider_block": Case(
        f"int i = __umul24(blockIdx.x, blockDim.x + 1) + threadIdx.x; {GUARD}", "x raw"
    ),
    "upper_half": Case(
        'unsigned i; asm("mul24.hi.u32 %0, %1, %2;" : "=r"(i) : "r"(blockIdx.x), "r"(blockDim.x));'
        f" i += threadIdx.x; {GUARD}",
        "x raw",
    ),
}


@pytest.fixture(scope="module")
def module() -> Module:
    bodies = {name: case.body for name, case in CASES.items()}
    return compiled(bodies, "", "float *a, float *b, int n, int m")


@pytest.mark.parametrize("name", list(CASES))
def test_verdict(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert described(proof, {"2:0:b32": "n", "3:0:b32": "m"}) == CASES[name].proven
    assert proof.narrow_blocks == CASES[name].is_narrow

"""What blocks of x and y do for themselves beside ids: each case is a kernel and what is proven."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.proof.entry import judge, prove
from cutune.proof.values.built_ins import RowsOfEachFlatBlock
from cutune.ptx.types import Module
from tests.support.proof_verdicts import NAMES, compiled, described

pytestmark = pytest.mark.nvcc

#: Before the kernels: n columns and m rows.
COMMON = """
#define THREADS (blockDim.x * blockDim.y)
#define ID const int x = blockIdx.x * blockDim.x + threadIdx.x;          \\
    const int y = blockIdx.y * blockDim.y + threadIdx.y;                  \\
    const int t = threadIdx.y * blockDim.x + threadIdx.x;
#define K for (int j = t; j < 64; j += THREADS)
#define FIRST if (t == 0)
#define WAIT __syncthreads();
#define IN if (x < n && y < m)
#define V ((const int *)b)[y * n + x]
#define TABLE __shared__ float s[64]; ID
#define SUM __shared__ int s; ID
#define BINS __shared__ int s[64]; ID K s[j] = 0; WAIT
#define COUNT IN atomicAdd(s + V % 64u, 1); WAIT
#define READ WAIT IN a[y * n + x] = s[V % 64u];
"""
READ = "x < n; y < m; meet 0 1"
PROVEN: Mapping[str, str] = {
    "histogram": "BINS COUNT K atomicAdd(c + j, s[j]);",
    "some_only": "BINS COUNT K { int v = s[j]; if (v > 0) atomicAdd(c + j, v); }",
    "unsigned_number": (
        "__shared__ int s[64]; ID const unsigned u = t; const unsigned all = THREADS;"
        " for (unsigned j = u; j < 64; j += all) s[j] = 0; WAIT COUNT"
        " for (unsigned j = u; j < 64; j += all) atomicAdd(c + j, s[j]);"
    ),
    "sum": "SUM FIRST s = 0; WAIT IN atomicAdd(&s, V); WAIT FIRST atomicAdd(c, s);",
    "by_last": (
        "SUM FIRST s = 0; WAIT IN atomicAdd(&s, V); WAIT if (t == THREADS - 1) atomicAdd(c, s);"
    ),
}
TABLES: Mapping[str, str] = {
    "table": "TABLE K s[j] = b[j]; READ",
    "of_a_table": "TABLE __shared__ float u[64]; K u[j] = b[j]; WAIT K s[j] = u[63 - j]; READ",
}
HOSTILE: Mapping[str, tuple[str, str]] = {
    # Each row of threads does all elements: as often as there are rows in a block.
    "once_for_each_row": (
        "BINS COUNT for (int j = threadIdx.x; j < 64; j += blockDim.x) atomicAdd(c + j, s[j]);",
        "in an address",
    ),
    "steps_by_width": (
        "BINS COUNT for (int j = t; j < 64; j += blockDim.x) atomicAdd(c + j, s[j]);",
        "in an address",
    ),
    "begins_at_column": (
        "BINS COUNT for (int j = threadIdx.x; j < 64; j += THREADS) atomicAdd(c + j, s[j]);",
        "in an address",
    ),
    "begins_at_square": (
        "BINS COUNT for (int j = threadIdx.y * blockDim.y + threadIdx.x; j < 64; j += THREADS)"
        " atomicAdd(c + j, s[j]);",
        "in an address",
    ),
    "of_a_fixed_width": (
        "BINS COUNT for (int j = threadIdx.y * 16 + threadIdx.x; j < 64; j += THREADS)"
        " atomicAdd(c + j, s[j]);",
        "in an address",
    ),
    "twice_the_number": (
        "BINS COUNT for (int j = 2 * t; j < 64; j += THREADS) atomicAdd(c + j, s[j]);",
        "in an address",
    ),
    "first_of_each_row": (
        "SUM FIRST s = 0; WAIT IN atomicAdd(&s, V); WAIT if (threadIdx.x == 0) atomicAdd(c, s);",
        "a branch by the thread",
    ),
    "filled_by_column": ("TABLE K s[j] = b[x]; READ", "what a block does by an id"),
    "filled_by_line": ("TABLE K s[j] = b[y]; READ", "what a block does by an id"),
    "filled_by_blocks": ("TABLE K s[j] = b[blockIdx.y * 64 + j]; READ", "blockIdx.y in an address"),
    "filled_with_width": ("TABLE K s[j] = blockDim.y; READ", "blockDim.y in a stored value"),
    "read_by_number": ("TABLE K s[j] = b[j]; WAIT IN a[y * n + x] = s[t % 64];", "in an address"),
    "own_slots": ("__shared__ float s[1024]; ID s[t] = b[y * n + x]; READ", "in an address"),
    "first_threads": ("TABLE if (t < 64) s[t] = b[t]; READ", "in an address"),
    "by_number_of_threads": (
        "TABLE for (int j = t; j < THREADS; j += THREADS) s[j % 64] = b[j]; READ",
        "a row whose end differs between threads",
    ),
    "no_barrier": (
        "TABLE K s[j] = b[j]; IN a[y * n + x] = s[V % 64u];",
        "shared memory without a barrier between",
    ),
    "some_wait": ("TABLE if (y < m) { K s[j] = b[j]; READ }", "a row that not all threads come to"),
    "counts_blocks": (
        "SUM FIRST s = 0; WAIT IN atomicAdd(&s, V); WAIT FIRST atomicAdd(c, 1);",
        "an effect of each block",
    ),
    "real_sum": (
        "__shared__ float s; ID FIRST s = 0; WAIT IN atomicAdd(&s, b[y * n + x]); WAIT"
        " FIRST atomicAdd(a, s);",
        "a sum of a block that is not the same in parts",
    ),
    "in_three_dimensions": (
        "TABLE K s[j] = b[j]; WAIT IN a[(blockIdx.z * m + y) * n + x] = s[V % 64u];",
        "",
    ),
}


@pytest.fixture(scope="module")
def module() -> Module:
    bodies = {name: body for name, (body, _) in HOSTILE.items()}
    return compiled({**PROVEN, **TABLES, **bodies}, COMMON)


@pytest.mark.parametrize("name", [*PROVEN, *TABLES])
def test_ids_count(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert described(proof, NAMES) == (READ if name in TABLES else "x < n; y < m; meet 1 4")
    assert proof.uses_shared
    assert proof.must_hold
    assert not proof.needs_warps
    assert proof.widths == ()


@pytest.mark.parametrize("name", list(HOSTILE))
def test_nothing_is_proven(module: Module, name: str) -> None:
    assert prove(module, name).refused is not None
    refused = judge(module, module.functions[name], RowsOfEachFlatBlock()).refused
    assert refused is not None
    assert HOSTILE[name][1] in refused.message

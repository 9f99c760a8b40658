"""Blocks that end before they add up: `if (blockIdx.x >= rows) return;` in front of a reduction."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.proof.entry import judge
from cutune.proof.values.built_ins import KeptGrid
from cutune.ptx.types import Module
from tests.support.proof_verdicts import compiled

pytestmark = pytest.mark.nvcc

#: Before the kernels, which all get (float *a, const float *b, int n, int m, int *c).
COMMON = """
#define D blockDim.x
#define R int r = blockIdx.x, t = threadIdx.x;
#define SUM int s = 0; for (int j = t; j < n; j += D) s += c[r * n + j];
#define WARPS for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
#define TREE __shared__ int w[1024]; w[t] = s; __syncthreads(); \\
    for (int k = D / 2; k; k /= 2) { if (t < k) w[t] += w[t + k]; __syncthreads(); }
#define SLOTS __shared__ int w[32]; WARPS if (t % 32 == 0) w[t / 32] = s; __syncthreads(); \\
    if (t < 32) { s = t < D / 32 ? w[t] : 0; WARPS if (t == 0) a[r] = s; }
"""
RIGHT: Mapping[str, str] = {
    "row": "R if (r >= m) return; SUM TREE if (t == 0) a[r] = w[0];",
    "row_in_slots": "R if (r >= m) return; SUM SLOTS",
    "root": "R if (r >= m) return; SUM TREE if (t == 0) a[r] = sqrtf(w[0]);",
    "flag": "R if (b[r] < 0) return; SUM TREE if (t == 0) a[r] = w[0];",
    "twice": "R if (r >= m) return; if (n > m) return; SUM TREE if (t == 0) a[r] = w[0];",
    "around": "R if (r < m) { SUM TREE if (t == 0) a[r] = w[0]; }",
    "leaves_a_mark": """
        R if (r >= m) { if (t == 0) a[r] = -1; return; } SUM TREE if (t == 0) a[r] = w[0];
    """,
    "goes_on": """
        R if (r >= m) return; SUM TREE
        for (int j = t; j < n; j += D) a[r * n + j] = w[0];
    """,
}
WRONG: Mapping[str, str] = {
    # Some of its threads, or some of the blocks by their size.
    "by_thread": "R if (t >= m) return; SUM TREE if (t == 0) a[r] = w[0];",
    "by_size": "R if (r * (int)D >= m) return; SUM TREE if (t == 0) a[r] = w[0];",
    "last_threads": "R SUM TREE if (t >= m) return; if (t == D - 1) a[r] = w[0];",
    # What is done where they meet again.
    "by_all_threads": "R if (r < m) { SUM TREE if (t == 0) a[r] = w[0]; } c[r * 2000 + t] = 1;",
    "more_sums": "R int q = 0; if (r < m) { SUM TREE q = w[t]; } a[r] = q;",
    "marks_by_threads": """
        R if (r >= m) { a[r * 1024 + t] = -1; return; } SUM TREE if (t == 0) a[r] = w[0];
    """,
    "asks_the_size": """
        R if (r >= m) { if (t == 0) a[r] = D; return; } SUM TREE if (t == 0) a[r] = w[0];
    """,
}


@pytest.fixture(scope="module")
def module() -> Module:
    """All kernels, compiled at once."""
    bodies = {name: " ".join(body.split()) for name, body in {**RIGHT, **WRONG}.items()}
    return compiled(bodies, COMMON)


@pytest.mark.long
@pytest.mark.parametrize("name", [*RIGHT, *WRONG])
def test_blocks_that_end_early(module: Module, name: str) -> None:
    proof = judge(module, module.functions[name], KeptGrid(dimension="x"), reducing=True)
    assert (proof.refused is None) == (name in RIGHT), proof.refused
    assert name in WRONG or {64, 256, 1024} <= {*proof.widths}

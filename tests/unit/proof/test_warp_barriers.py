"""Sums whose last warp waits for itself alone: __syncwarp() in place of __syncthreads()."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.core.codes import Code
from cutune.proof.entry import prove
from cutune.ptx.types import Module
from tests.support.proof_verdicts import compiled

pytestmark = pytest.mark.nvcc

#: Before the kernels, which all get (float *a, const float *b, int n, int m, int *c).
COMMON = """
#define D blockDim.x
#define ROW __shared__ int w[1024]; int r = blockIdx.x, t = threadIdx.x, s = 0; \\
    for (int j = t; j < n; j += D) s += c[r * n + j]; w[t] = s; __syncthreads();
#define IDS __shared__ int w[1024]; int t = threadIdx.x, i = blockIdx.x * D + t; \\
    w[t] = i < n ? ((const int *)b)[i] : 0; __syncthreads();
#define STEP(k) if (t < k) w[t] += w[t + k];
#define DOWN_TO(last) for (int k = D / 2; k >= last; k /= 2) { STEP(k) __syncthreads(); }
#define WARP_DOWN for (int k = 16; k; k /= 2) { STEP(k) __syncwarp(); }
#define STORE if (t == 0) a[r] = w[0];
"""
RIGHT: Mapping[str, str] = {
    "row": "ROW DOWN_TO(32) WARP_DOWN STORE",
    "ids": "IDS DOWN_TO(32) WARP_DOWN if (t == 0) atomicAdd(c, w[0]);",
    "dynamic": """
        extern __shared__ int d[]; int t = threadIdx.x, i = blockIdx.x * D + t;
        d[t] = i < n ? ((const int *)b)[i] : 0; __syncthreads();
        for (int k = D / 2; k >= 32; k /= 2) { if (t < k) d[t] += d[t + k]; __syncthreads(); }
        for (int k = 16; k; k /= 2) { if (t < k) d[t] += d[t + k]; __syncwarp(); }
        if (t == 0) atomicAdd(c, d[0]);
    """,
    "from_two_warps": "ROW DOWN_TO(64) for (int k = 32; k; k /= 2) { STEP(k) __syncwarp(); } STORE",
    "first_warp": "ROW DOWN_TO(32) if (t < 32) { WARP_DOWN } STORE",
    "read_then_written": """
        ROW DOWN_TO(64)
        if (t < 32) {
            if (D >= 64) w[t] += w[t + 32]; __syncwarp();
            for (int k = 16; k; k /= 2) {
                s = w[t + k]; __syncwarp(); w[t] += s; __syncwarp();
            }
        }
        STORE
    """,
    "in_slots": """
        ROW for (int k = 16; k; k /= 2) { if (t % 32 < k) w[t] += w[t + k]; __syncwarp(); }
        __syncthreads();
        if (t == 0) { s = 0; for (int k = 0; k < D; k += 32) s += w[k]; a[r] = s; }
    """,
}
#: Threads of two warps meet, or lanes between which there is nothing.
RACES: Mapping[str, str] = {
    "one_too_early": "ROW DOWN_TO(128) for (int k = 64; k; k /= 2) { STEP(k) __syncwarp(); } STORE",
    "all_by_warps": "ROW for (int k = D / 2; k; k /= 2) { STEP(k) __syncwarp(); } STORE",
    "none_between": "ROW DOWN_TO(32) for (int k = 16; k; k /= 2) { STEP(k) } STORE",
    "one_too_few": """
        ROW DOWN_TO(32)
        for (int k = 16; k; k /= 2) { s = t < 32 ? w[t + k] : 0; if (t < 32) w[t] += s;
            __syncwarp(); }
        STORE
    """,
}
#: Other lanes wait than those that use the memory, or threads do something by their ids.
WRONG: Mapping[str, str] = {
    "read_by_the_next_warp": """
        ROW DOWN_TO(32) for (int k = 16; k; k /= 2) { STEP(k) __syncwarp(); }
        if (t == 32) a[r] = w[0];
    """,
    "half_a_warp": """
        ROW DOWN_TO(32) for (int k = 16; k; k /= 2) { STEP(k) if (t < 16) __syncwarp(0xffff); }
        STORE
    """,
    "by_place": "ROW DOWN_TO(32) WARP_DOWN if (t == 0) a[r] = w[0] + w[1];",
    "waits_by_ids": "int i = blockIdx.x * D + threadIdx.x; ROW DOWN_TO(1) STORE __syncwarp(i);",
}


@pytest.fixture(scope="module")
def module() -> Module:
    """All kernels, compiled at once. Small blocks show what is wrong."""
    bodies = {name: " ".join(body.split()) for name, body in {**RIGHT, **RACES, **WRONG}.items()}
    return compiled(bodies, COMMON, bounded={*RACES, *WRONG})


@pytest.mark.parametrize("name", RIGHT)
def test_warps_that_wait_for_themselves(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert proof.refused is None, proof.refused
    assert {64, 256, 1024} <= {*proof.widths}


@pytest.mark.parametrize("name", [*RACES, *WRONG])
def test_warps_that_do_not(module: Module, name: str) -> None:
    refused = prove(module, name).refused
    assert refused is not None
    assert (refused.code is Code.RACE) == (name in RACES)

"""Blocks whose warps share a row for each lane: each case is a kernel and what is proven of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.proof.entry import judge, prove
from cutune.proof.entry_proof import EntryProof
from cutune.proof.values.built_ins import RowsOfWarps
from cutune.ptx.types import Module
from tests.support.proof_verdicts import compiled

pytestmark = pytest.mark.nvcc

#: Before the kernels, which all get (float *a, const float *b, int n, int m, int *c).
COMMON = """
#define D blockDim.x
#define T threadIdx.x
#define I ((const int *)b)
#define WAIT __syncthreads();
#define R int l = T % 32, w = T / 32, W = D / 32, r = blockIdx.x * 32 + l;
#define J for (int j = w; j < n; j += W)
#define OWN __shared__ int s[1024]; R int v = 0; J v += I[j * m + r]; s[T] = v;
#define SUM v = 0; for (int k = 0; k < W; ++k) v += s[l + 32 * k];
#define LANES for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
"""
#: Right with blocks of any number of whole warps; sums of integers.
COLUMNS: Mapping[str, str] = {
    "slots": "OWN WAIT if (w == 0) { SUM c[r] = v; }",
    "by_bits": """
        __shared__ int s[1024]; int l = T & 31, w = T >> 5, W = D >> 5, v = 0;
        J v += I[j * m + blockIdx.x * 32 + l]; s[l + 32 * w] = v; WAIT
        if (T < 32) { SUM c[blockIdx.x * 32 + l] = v; }
    """,
    "of_the_launch": """
        extern __shared__ int s[]; R int v = 0; J v += I[j * m + r]; s[T] = v; WAIT
        if (w == 0) { SUM c[r] = v; }
    """,
    "added": "OWN WAIT if (w == 0) { SUM c[r] += v; }",
    "added_by_atomics": "OWN WAIT if (w == 0) { SUM atomicAdd(c + r, v); }",
    "transposed": """
        __shared__ int s[32 * 33]; R int v = 0; J v += I[j * m + r]; s[l * 33 + w] = v; WAIT
        if (w == 0) { v = 0; for (int k = 0; k < W; ++k) v += s[l * 33 + k]; c[r] = v; }
    """,
    "of_another_lane": "OWN WAIT l ^= 5; if (w == 0) { SUM c[r] = v; }",
    "largest": """
        __shared__ int s[1024]; R int v = -1; J v = max(v, I[j * m + r]); s[T] = v; WAIT
        if (w == 0) { for (int k = 1; k < W; ++k) v = max(v, s[l + 32 * k]); c[r] = v; }
    """,
    "times_what_lanes_have": """
        R __shared__ int s[1024]; int v = 0, x = I[r]; J v += I[j * m + r]; s[T] = v; WAIT
        if (w == 0) { SUM c[r] = v * x + l; }
    """,
    "of_all_lanes": "OWN WAIT if (w == 0) { SUM LANES if (l == 0) c[blockIdx.x] = v; }",
    "tiles_of_a_grid": """
        __shared__ int s[1024];
        for (int q = blockIdx.x; q < m; q += gridDim.x) {
            int l = T % 32, w = T / 32, W = D / 32, v = 0; J v += I[j * m + q * 32 + l];
            s[T] = v; WAIT if (w == 0) { SUM c[q * 32 + l] = v; } WAIT
        }
    """,
}
#: What data decide between is a function of the data. A block of one warp has its sum sooner.
BRANCHES: Mapping[str, str] = {
    "by_a_branch": """
        OWN WAIT if (w == 0) {
            SUM int x = m; if (v > 7) { for (int k = 0; k < 3; ++k) x = x * v + (x >> 3); x ^= r; }
            c[r] = x;
        }
    """
}
ROUNDED: Mapping[str, str] = {
    "reals": """
        __shared__ float s[1024]; R float v = 0; J v += b[j * m + r] * b[j]; s[T] = v; WAIT
        if (w == 0) { SUM a[r] = v; }
    """,
    "narrowed": """
        __shared__ float s[1024]; R double d = 0; J d += b[j * m + r]; s[T] = d; WAIT
        if (w == 0) { float v; SUM a[r] += v; }
    """,
}
#: Right in some blocks alone, up to a number of threads.
NARROW: Mapping[str, str] = {
    "few_slots": """
        __shared__ int s[512]; R int v = 0; J v += I[j * m + r]; s[T] = v; WAIT
        if (w == 0) { SUM c[r] = v; }
    """
}
TREE = """OWN WAIT for (int h = W / 2; h; h /= 2) { if (w < h) s[T] += s[T + 32 * h]; WAIT }
    if (w == 0) c[r] = s[l];"""
#: Wrong, or not proven.
WRONG: Mapping[str, str] = {
    "no_barrier": "OWN if (w == 0) { SUM c[r] = v; }",
    "barrier_of_warps": "OWN __syncwarp(); if (w == 0) { SUM c[r] = v; }",
    "eight_warps": """
        OWN WAIT if (w == 0) { for (int k = 1; k < 8; ++k) v += s[l + 32 * k]; c[r] = v; }
    """,
    "skips_the_first": """
        OWN WAIT if (w == 0) { v = 0; for (int k = 1; k < W; ++k) v += s[l + 32 * k]; c[r] = v; }
    """,
    "counts_twice": """
        OWN WAIT if (w == 0) { for (int k = 0; k < W; ++k) v += s[l + 32 * k]; c[r] = v; }
    """,
    "begins_at_one": """
        __shared__ int s[1024]; R int v = 1; J v += I[j * m + r]; s[T] = v; WAIT
        if (w == 0) { SUM c[r] = v; }
    """,
    "two_warps_store": "OWN WAIT if (w < 2) { SUM c[r + w] = v; }",
    "last_warp_stores": "OWN WAIT if (w == W - 1) { SUM c[r] = v; }",
    "each_warp_adds": "OWN WAIT SUM atomicAdd(c + r, v);",
    "own_sums_of_warps": "OWN LANES if (l == 0) c[blockIdx.x * 32 + w] = v;",
    "rows_of_threads": """
        __shared__ int s[1024]; R int v = 0; for (int j = T; j < n; j += W) v += I[j * m + r];
        s[T] = v; WAIT if (w == 0) { SUM c[r] = v; }
    """,
    "rows_of_four_warps": """
        __shared__ int s[1024]; R int v = 0; for (int j = w; j < n; j += 4) v += I[j * m + r];
        s[T] = v; WAIT if (w == 0) { SUM c[r] = v; }
    """,
    "ends_by_lane": """
        __shared__ int s[1024]; R int v = 0; for (int j = w; j < n - l; j += W) v += I[j * m + r];
        s[T] = v; WAIT if (w == 0) { SUM c[r] = v; }
    """,
    "warp_as_value": """
        __shared__ int s[1024]; R int v = 0; J v += I[j * m + r] * w; s[T] = v; WAIT
        if (w == 0) { SUM c[r] = v; }
    """,
    "width_as_value": "OWN WAIT if (w == 0) { SUM c[r] = v / W; }",
    "place_by_width": "OWN WAIT if (w == 0) { SUM c[blockIdx.x * W + l] = v; }",
    "half_a_warp_stores": "OWN WAIT if (w == 0 && l < 16) { SUM c[r] = v; }",
    "round_without_barrier": """
        __shared__ int s[1024];
        for (int q = blockIdx.x; q < m; q += gridDim.x) {
            int l = T % 32, w = T / 32, W = D / 32, v = 0; J v += I[j * m + q * 32 + l];
            s[T] = v; WAIT if (w == 0) { SUM c[q * 32 + l] = v; }
        }
    """,
    "barrier_of_some_lanes": """
        __shared__ int s[1024]; R int v = 0; J v += I[j * m + r];
        if (l < m) { s[T] = v; WAIT } if (w == 0) { SUM c[r] = v; }
    """,
    "told_without_barrier": """
        OWN WAIT if (w == 0) { SUM s[l] = v; } v = s[l]; J a[j * m + r] = v;
    """,
    "lanes_of_before": """
        __shared__ int s[1024]; R int v = 0; J v += I[j * m + r]; s[T] = v; WAIT
        if (w == 0) { v = 0; for (int k = 0; k < W; ++k) v += s[(l + k) % 32 + 32 * k]; c[r] = v; }
    """,
    "place_in_a_branch": """
        OWN WAIT if (w == 0) {
            SUM unsigned x = m;
            if (v > 7) {
                asm volatile("mov.u32 %0, %%ntid.x;" : "=r"(x)); x = x * 3 + (x >> 1); x ^= v;
            }
            c[r] = x;
        }
    """,
    "effect_in_a_branch": "OWN WAIT if (w == 0) { SUM if (v > 7) c[r] = v; }",
    "part_in_a_branch": """
        OWN int x = 1; if (w < 4) { if (v > 7) x = v * 5 - (v ^ 3); v = x; s[T] = v; } WAIT
        if (w == 0) { SUM c[r] = v; }
    """,
    "stored_by_rows": "R J c[j * m + r] = w; WAIT",
}
GROUPS = (COLUMNS, BRANCHES, ROUNDED, NARROW, WRONG, {"tree": TREE})


@pytest.fixture(scope="module")
def module() -> Module:
    """All kernels, compiled at once. Small blocks show what is wrong."""
    bodies = {name: " ".join(body.split()) for one in GROUPS for name, body in one.items()}
    return compiled(bodies, COMMON, bounded=WRONG)


def _proven(module: Module, name: str) -> EntryProof:
    proof = prove(module, name)
    assert proof.refused is None, proof.refused
    assert proof.dimensions[0].grid_kept
    return proof


@pytest.mark.parametrize("name", [*COLUMNS, *ROUNDED])
def test_columns(module: Module, name: str) -> None:
    proof = _proven(module, name)
    assert proof.widths == tuple(range(32, 1025, 32))
    assert proof.reassociates == (name in ROUNDED)
    assert bool(proof.shared_bytes) == (name == "of_the_launch")


@pytest.mark.parametrize("name", BRANCHES)
def test_branches_that_data_decide(module: Module, name: str) -> None:
    assert {*range(64, 1025, 32)} <= {*_proven(module, name).widths}


def test_narrow_blocks(module: Module) -> None:
    assert _proven(module, "few_slots").widths == tuple(range(32, 513, 32))


def test_powers_of_two(module: Module) -> None:
    assert _proven(module, "tree").widths == (32, 64, 128, 256, 512, 1024)


def test_memory_follows_the_block(module: Module) -> None:
    proof = _proven(module, "of_the_launch")
    assert proof.shared_bytes == tuple(4 * width for width in proof.widths)


@pytest.mark.long
@pytest.mark.parametrize("name", WRONG)
def test_wrong(module: Module, name: str) -> None:
    function = module.functions[name]
    assert judge(module, function, RowsOfWarps(dimension="x"), reducing=True).refused is not None
    proof = prove(module, name)
    assert proof.refused is not None or proof.dimensions[0].raw is not None

"""Kernels that count the warps of their blocks: each case is a kernel and what is proven of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.proof.entry import prove
from cutune.ptx.types import Module
from tests.support.proof_verdicts import NAMES, compiled, described

pytestmark = pytest.mark.nvcc

#: Before the kernels.
COMMON = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define T threadIdx.x
#define W int w = blockIdx.x * (blockDim.x / 32) + T / 32, l = T % 32;
#define TILE auto tile = cg::tiled_partition<32>(cg::this_thread_block());
#define RANK int w = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank();
#define ROW for (int j = l; j < m; j += 32) a[w * m + j] = b[j] * w;
#define SUM float s = b[w * m + l]; for (int o = 16; o; o /= 2) \\
    s += __shfl_xor_sync(~0u, s, o); if (l == 0) a[w] = s;
"""
PROVEN: Mapping[str, tuple[str, str]] = {
    "guarded": ("W if (w < n) { ROW }", "x < 32 * n; warps"),
    "returns": ("W if (w >= n) return; SUM", "x < 32 * n; warps"),
    "some_lanes": ("W if (w < n && l < 8) a[w * 8 + l] = m;", "x < 32 * n; warps"),
    "shifted": (
        "int w = blockIdx.x * (blockDim.x >> 5) + (T >> 5), l = T & 31; if (w < n) { ROW }",
        "x < 32 * n; warps",
    ),
    "signed_lanes": (
        "int t = T, all = blockDim.x / 32, w = blockIdx.x * all + t / 32, l = t % 32;"
        " if (w < n) { ROW }",
        "x < 32 * n; warps",
    ),
    "masked": (
        "int w = blockIdx.x * (blockDim.x / 32) + ((int)T & -32) / 32, l = T - ((int)T & -32);"
        " if (w < n) { ROW }",
        "x < 32 * n; warps",
    ),
    # Parts of the lane, as the compiler writes `l / 8` and `4 * (l % 8)`.
    "parts_of_lanes": (
        "W size_t i = (T & 24) >> 3, j = (size_t)T * 4 & 28;"
        " if (w < n) a[w * 128ll + 32 * i + j] = m;",
        "x < 32 * n; warps",
    ),
    "unsigned_guard": ("W if (w < (unsigned)n) { ROW }", "x < 32 * n; warps"),
    "up_to": ("W if (w <= n) { ROW }", "x < 32 * n + 32; warps"),
    "unguarded": ("W SUM", "x; warps"),
    "by_threads": ("W if (blockIdx.x * blockDim.x + T < n) { SUM }", "x; warps"),
    "strides": (
        "int l = T % 32; for (int w = blockIdx.x * (blockDim.x / 32) + T / 32; w < n;"
        " w += gridDim.x * (blockDim.x / 32)) { ROW }",
        "x; stride x; warps",
    ),
    "rounded_up": (
        "int w = blockIdx.x * ((blockDim.x + 31) / 32) + T / 32, l = T % 32; if (w < n) { ROW }",
        "x < 32 * n; warps",
    ),
    "whole_id": (
        "int t = blockIdx.x * blockDim.x + T; W if (w < n) a[t] = w + l;",
        "x < 32 * n; warps",
    ),
    "batches": ("W if (w < n) a[(blockIdx.y * n + w) * 32 + l] = m;", "x < 32 * n; y raw"),
    "tile": (
        "TILE RANK int l = tile.thread_rank(); if (w < n) { ROW }",
        "x < 32 * n; y raw; z raw",
    ),
    # Two tiles of each warp, as two halves of its lanes.
    "small_tiles_by_rank": (
        "auto tile = cg::tiled_partition<16>(cg::this_thread_block()); RANK"
        " a[w * 16 + tile.thread_rank()] = n;",
        "x; y raw; z raw",
    ),
    "multiples_of_lanes": (
        "W int j = (4 * T + blockDim.x) & 28; if (w < n) a[w * 32 + j] = m;",
        "x < 32 * n; warps",
    ),
    "tile_batches": (
        "TILE RANK int l = tile.thread_rank(); if (w < n) a[(blockIdx.y * n + w) * 32 + l] = m;",
        "x < 32 * n; y raw; z raw",
    ),
}
HOSTILE: Mapping[str, str] = {
    "masked_too_far": "W int s = (int)T & -64; if (w < n) a[w * 64 + T - s] = m;",
    "part_of_two_warps": "W int j = 4 * T & 252; if (w < n) a[w * 256 + j] = m;",
    "bits_of_two_warps": "W int i = (T & 40) >> 3; if (w < n) a[w * 8 + i] = m;",
    "part_of_block": "W int j = (4 * T + blockDim.x / 32) & 28; if (w < n) a[w * 32 + j] = m;",
    "warp_alone": "int w = T / 32; a[w * 32 + T % 32] = n;",
    "block_alone": "W a[w * 32 + l] = blockIdx.x;",
    "warps_as_value": "W a[w * 32 + l] = blockDim.x / 32;",
    "other_width": (
        "int w = blockIdx.x * (blockDim.x / 32) + T / 16, l = T % 16; a[w * 16 + l] = n;"
    ),
    "half_warps": "int w = blockIdx.x * (blockDim.x / 16) + T / 32, l = T % 32; a[w * 32 + l] = n;",
    "one_too_many": (
        "int w = blockIdx.x * (blockDim.x / 32 + 1) + T / 32, l = T % 32; a[w * 32 + l] = n;"
    ),
    "rounded_twice": (
        "int w = blockIdx.x * ((blockDim.x + 63) / 32) + T / 32, l = T % 32; a[w * 32 + l] = n;"
    ),
    "two_of_each": "int w = blockIdx.x * (blockDim.x / 32) * 2 + T / 32, l = T % 32; ROW",
    "fixed_number": "int w = blockIdx.x * 8 + T / 32, l = T % 32; ROW",
    "last_warp": "W if (T / 32 == blockDim.x / 32 - 1) { ROW }",
    "first_warp": "W if (T < 32) { ROW }",
    "first_thread": "W if (T == 0) { ROW }",
    "transposed": "int w = blockIdx.x + gridDim.x * (T / 32), l = T % 32; ROW",
    "in_two_dimensions": "int w = blockIdx.x * blockDim.y + threadIdx.y, l = T; ROW",
    "tile_of_y": (
        "TILE RANK int l = tile.thread_rank(); a[(w * blockDim.y +"
        " threadIdx.y) * 32 + l] = blockDim.x;"
    ),
    "small_tiles": (
        "auto tile = cg::tiled_partition<16>(cg::this_thread_block()); RANK"
        " a[w] = tile.thread_rank();"
    ),
    "with_shared": "__shared__ float s[32]; W s[T / 32] = w; __syncthreads(); a[w] = s[0];",
    "in_short": "short w = blockIdx.x * (blockDim.x / 32) + T / 32; a[w * 32 + T % 64] = n;",
    "strides_by_block": (
        "int l = T % 32; for (int w = blockIdx.x * (blockDim.x / 32) + T / 32; w < n;"
        " w += blockDim.x / 32) { ROW }"
    ),
}


@pytest.fixture(scope="module")
def module() -> Module:
    bodies = {**{name: body for name, (body, _) in PROVEN.items()}, **HOSTILE}
    return compiled(bodies, COMMON)


@pytest.mark.parametrize("name", list(PROVEN))
def test_ids_are_those_of_warps(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert described(proof, NAMES) == PROVEN[name][1]
    assert proof.needs_warps


@pytest.mark.parametrize("name", list(HOSTILE))
def test_x_stays(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert proof.refused is not None or proof.dimensions[0].raw is not None


@pytest.mark.parametrize(("name", "flat"), [("guarded", ()), ("tile", ("y", "z"))])
def test_a_rank_takes_blocks_of_one_row(module: Module, name: str, flat: tuple[str, ...]) -> None:
    assert prove(module, name).single_thread == flat

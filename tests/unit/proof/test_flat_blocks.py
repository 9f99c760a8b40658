"""Which widths of a flat block are proposed, and what is said where none is."""

from __future__ import annotations

from functools import cache

import pytest

from cutune.proof.analysis.suggestions import Suggestion
from tests.support.suggested_blocks import check, program_of, suggested

ID = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
SUM = """for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) own[threadIdx.x] = OP;
        __syncthreads();
    }"""
TREE = SUM.replace("OP", "own[threadIdx.x] - own[threadIdx.x + s]")
ROW = "for (int j = threadIdx.x; j < n; j += blockDim.x)"
TILES = """float v = 0;
    for (int t = 0; t < n; t += blockDim.x) {
        own[threadIdx.x] = a[t + threadIdx.x];
        __syncthreads();
        _Pragma("unroll 1") for (int j = 0; j < UNTIL; j++) v += own[j] * a[i];
        __syncthreads();
    }
    b[i] = v;"""
OWN = "__shared__ float own[256];"
COLUMNS = """__shared__ float own[1024]; float v = 0;
    int l = threadIdx.x % 32, w = threadIdx.x / 32;
    for (int j = w; j < n; j += WARPS)
        if (a[j] > 0) { v += a[j * n + blockIdx.x * 32 + l]; b[n + blockIdx.x] = 1; }
    own[threadIdx.x] = v; __syncthreads(); v = 0;
    if (FIRST) { for (int j = 0; j < SUMMED; j++) v += own[l + 32 * j];
                 b[blockIdx.x * 32 + l] = v; }"""


#: Places of warps, from which those who are let through make one value.
SLOTS = """__shared__ float w[32]; float v = 0; ROW v = v / 2 + a[blockIdx.x * n + j];
    for (int o = 16; o > 0; o /= 2) v -= __shfl_down_sync(0xffffffffu, v, o);
    if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = v;
    __syncthreads();
    v = threadIdx.x < blockDim.x / 32 ? w[threadIdx.x % 32] : 0.0f;
    if (FIRST) for (int o = 16; o > 0; o /= 2) v -= __shfl_down_sync(0xffffffffu, v, o);
    if (threadIdx.x == 0) b[blockIdx.x] = v;""".replace("ROW", ROW)


#: Mean and squares of a row, joined by structures of one shared array, a place for each warp.
MOMENTS = """struct Part { float mean, square, count; }; __shared__ Part parts[32];
    const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
    Part own = {0, 0, 0};
    auto join = [](Part &into, Part other) {
        if (other.count == 0) return;
        float count = into.count + other.count, off = other.mean - into.mean;
        into.mean += off * other.count / count;
        into.square += other.square + off * off * into.count * other.count / count;
        into.count = count; };
    auto fold = [&](Part &one) { for (int by = 16; by; by /= 2) join(one, Part{
        __shfl_down_sync(~0u, one.mean, by), __shfl_down_sync(~0u, one.square, by),
        __shfl_down_sync(~0u, one.count, by)}); };
    for (int j = thread; j < n; j += blockDim.x) join(own, Part{a[blockIdx.x * n + j], 0, 1});
    fold(own); if (lane == 0) parts[warp] = own;
    __syncthreads(); Part all = thread < WARPS ? PLACE : Part{0, 0, 0};
    if (warp == 0) fold(all);
    if (thread == 0) b[blockIdx.x] = all.square / all.count + all.mean;"""


def _moments(place: str = "parts[lane]", warps: str = "blockDim.x / 32") -> str:
    return MOMENTS.replace("PLACE", place).replace("WARPS", warps)


def _columns(warps: str, first: str, summed: str) -> str:
    return COLUMNS.replace("WARPS", warps).replace("FIRST", first).replace("SUMMED", summed)


ALL_WARPS = "blockDim.x / 32"

#: Name, launch, body of the kernel, and the clauses, or a part of what is said of its obstacle.
KERNELS: dict[str, tuple[str, str, str]] = {
    # Each thread, each row, each tile.
    "own_place": (
        "n, 128",
        f"{OWN} {ID} own[threadIdx.x] = a[i]; __syncthreads(); b[i] = own[threadIdx.x];",
        "block(x: 32..256)",
    ),
    "two_places": (
        "n, 64",
        f"""{OWN} {ID} own[threadIdx.x] = a[i]; own[threadIdx.x + blockDim.x] = a[i] + 1;
        __syncthreads(); b[i] = own[threadIdx.x + blockDim.x] - own[threadIdx.x];""",
        "block(x: 32..128)",
    ),
    "row": (
        "n, 128",
        f"""{OWN} float v = 0; {ROW} v += a[blockIdx.x * n + j]; own[threadIdx.x] = v;
        __syncthreads(); {TREE} if (threadIdx.x == 0) b[blockIdx.x] = own[0];""",
        "block(x: 32, 64, 128, 256) grid(keep)",
    ),
    "tiles": ("n, 128", f"{OWN} {ID} {TILES.replace('UNTIL', 'blockDim.x')}", "block(x: 32..256)"),
    "many_threads": (
        "n, 256",
        f"{ROW} b[blockIdx.x * n + j] = a[j]; if (threadIdx.x == 96) b[blockIdx.x * n] = a[n];",
        "block(x: 128..1024) grid(keep)",
    ),
    "few_threads": (
        "n, 64",
        f"{ROW} b[blockIdx.x * n + j] = a[j]; if (blockDim.x > 256) b[blockIdx.x] = 7;",
        "block(x: 32..256) grid(keep)",
    ),
    # The number of a warp, or of its first thread, is 0.
    "slots": (
        "n, 128",
        SLOTS.replace("FIRST", "threadIdx.x / 32 == 0"),
        "block(x: 32..1024) grid(keep)",
    ),
    "slots_by_mask": (
        "n, 128",
        SLOTS.replace("FIRST", "(threadIdx.x & ~31) == 0"),
        "block(x: 32..1024) grid(keep)",
    ),
    "slots_of_two_warps": (
        "n, 128",
        SLOTS.replace("FIRST", "(threadIdx.x & ~63) == 0"),
        "it does arithmetic with threadIdx.x that supposes one width",
    ),
    # Members of a structure for each warp.
    "moments": ("n, 128", _moments(), "block(x: 32..1024) grid(keep)"),
    "moments_of_next": (
        "n, 128",
        _moments("parts[1]"),
        "whose number may be taken for a fixed one",
    ),
    "moments_of_four": (
        "n, 128",
        _moments(warps="4"),
        "whose number may be taken for a fixed one",
    ),
    # A column for each lane, whose rows warps share.
    "columns": (
        "n, 256",
        _columns(ALL_WARPS, "w == 0", ALL_WARPS),
        "block(x: 32..1024) grid(keep)",
    ),
    "columns_of_threads": (
        "n, 256",
        _columns(ALL_WARPS, "threadIdx.x < 32", ALL_WARPS),
        "block(x: 32..1024) grid(keep)",
    ),
    "more_in_wide_ones": (
        "n, 256",
        f"{_columns(ALL_WARPS, 'w == 0', ALL_WARPS)} if (blockDim.x / 32 > 4) b[blockIdx.x] = 7;",
        "block(x: 160..1024) grid(keep)",
    ),
    "columns_of_eight": (
        "n, 256",
        _columns("8", "w == 0", ALL_WARPS),
        "none goes on by blockDim.x",
    ),
    "columns_of_two_warps": (
        "n, 256",
        _columns(ALL_WARPS, "w < 2", ALL_WARPS),
        "block(x: 64..1024) grid(keep)",
    ),
    "sums_of_eight": (
        "n, 256",
        _columns(ALL_WARPS, "w == 0", "8"),
        "others that are not known to follow blockDim.x",
    ),
    # The block is a tile, a row, a number of warps.
    "tile": ("n, 256", f"{OWN} {ID} {TILES.replace('UNTIL', '256')}", "not known to follow"),
    "square": (
        "dim3(n, n), dim3(16, 16)",
        """__shared__ float own[32][33]; int x = blockIdx.x * blockDim.x + threadIdx.x;
        int y = blockIdx.y * blockDim.y + threadIdx.y; own[threadIdx.y][threadIdx.x] = a[y * n + x];
        __syncthreads(); b[x * n + y] = own[threadIdx.x][threadIdx.y];""",
        "threads in y or z",
    ),
    "whole_row": (
        "n, 256",
        f"""{OWN} own[threadIdx.x] = a[blockIdx.x * n + threadIdx.x];
        __syncthreads(); {TREE} b[blockIdx.x * n + threadIdx.x] = own[0];""",
        "none goes on by blockDim.x",
    ),
    "unrolled": (
        "n, 256",
        f"""{OWN} float v = 0; {ROW} v += a[blockIdx.x * n + j]; own[threadIdx.x] = v;
        __syncthreads(); if (threadIdx.x < 128) own[threadIdx.x] -= own[threadIdx.x + 128];
        __syncthreads(); if (threadIdx.x == 0) b[blockIdx.x] = own[0] - own[64];""",
        "fixed number of threads apart",
    ),
    "four_warps": (
        "n, 128",
        f"""__shared__ float own[32]; float v = 0; {ROW} v -= a[blockIdx.x * n + j];
        own[threadIdx.x / 32] = v; __syncthreads();
        if (threadIdx.x == 0) b[blockIdx.x] = own[0] - own[1] - own[2] - own[3];""",
        "No other block is known",
    ),
    "one_warp": (
        "n, 32",
        f"""float v = 0; {ROW} v += a[blockIdx.x * n + j];
        v *= __shfl_xor_sync(0xffffffff, v, 16); if (threadIdx.x == 0) b[blockIdx.x] = v;""",
        "within warps alone",
    ),
    "seven": (
        "n, 256",
        f"""{OWN} int i = blockIdx.x * (blockDim.x / 7 * 7) + threadIdx.x; own[threadIdx.x] = a[i];
        __syncthreads(); b[i] = own[threadIdx.x / 7 * 7];""",
        "No other block is known",
    ),
    # The block is asserted.
    "pinned": (
        "n, 256",
        f"""if (blockDim.x != 256) return; {OWN} {ROW} b[blockIdx.x * n + j] = a[j];
        own[threadIdx.x] = a[0]; if (a[1] == 7) b[0] = own[threadIdx.x];""",
        "No other block is known",
    ),
    "asserted": (
        "n, 256",
        f"""assert(blockDim.x == 256); {OWN} {ROW} b[blockIdx.x * n + j] = a[j];
        own[threadIdx.x] = a[0]; if (a[1] == 7) b[0] = own[threadIdx.x];""",
        "no other width",
    ),
    "asserted_by_size": (
        "n, 256",
        f"if (n % blockDim.x) return; {ROW} b[blockIdx.x * n + j] = a[j] + a[blockDim.x];",
        "No other block is known",
    ),
    # Blocks have results of their own.
    "results": (
        "n, 256",
        f"""{OWN} {ID} own[threadIdx.x] = a[i]; __syncthreads(); {TREE}
        if (threadIdx.x == 0) b[blockIdx.x] = own[0];""",
        "number of blocks is part",
    ),
    "partial_sums": (
        "n, 256",
        f"""{OWN} {ID} float v = 0; for (; i < n; i += gridDim.x * blockDim.x) v -= a[i];
        own[threadIdx.x] = v; __syncthreads(); {TREE}
        if (threadIdx.x == 0) b[blockIdx.x] = own[0];""",
        "number of blocks is part",
    ),
    "two_elements": (
        "n, 256",
        """int i = 2 * blockIdx.x * blockDim.x + threadIdx.x;
        b[i] = a[i] * a[i + blockDim.x];""",
        "from its own elements",
    ),
    "range_of_block": (
        "n, 256",
        f"""{ID} float v = 0; int last = blockDim.x * (blockIdx.x + 1);
        for (int j = i; j < last; j++) v += a[j];
        b[i] = v;""",
        "No other block is known",
    ),
    "handed_on": (
        "n, 256",
        f"{ID} __syncthreads(); b[i] = a[i]; __syncthreads(); b[i] += b[(int)a[i]] + b[n - i];",
        "other threads may have written",
    ),
    "exchanged": (
        "n, 256",
        f"""__shared__ volatile float own[256]; {ID} own[threadIdx.x] = a[i];
        b[i] = own[threadIdx.x];""",
        "depends on the order of threads",
    ),
    "rows_of_rows": (
        "n, 256",
        f"""{OWN} int i = blockIdx.x % n * blockDim.x + threadIdx.x; own[threadIdx.x] = a[i];
        __syncthreads(); {TREE} if (own[0] > 7) b[i] = own[0];""",
        "number of blocks is part",
    ),
    "scan": (
        "n, 256",
        f"""{OWN} {ID} own[threadIdx.x] = a[i]; __syncthreads(); {TREE} b[i] = own[0];""",
        "from its own elements",
    ),
    "counted": (
        "n, 256",
        f"""{OWN} {ID} own[threadIdx.x] = a[i]; __syncthreads(); {TREE}
        if (threadIdx.x == 0 && own[0] > 0) atomicAdd(b, 1.0f);""",
        "from its own elements",
    ),
    "ordered": (
        "n, 256",
        f"__shared__ int own; {ID} b[atomicAdd(&own, 1)] = a[i];",
        "depends on which thread came first",
    ),
}


@cache
def said() -> dict[str, Suggestion]:
    """Of each kernel; all are one program."""
    return suggested(program_of(KERNELS, "#include <cassert>\n"))


@pytest.mark.long
@pytest.mark.nvcc
@pytest.mark.parametrize("name", KERNELS)
def test_a_width_is_proposed_where_the_code_leaves_it_free(name: str) -> None:
    check(said()[name], KERNELS[name][-1])

"""Which numbers of warps are proposed for blocks whose warps lie along y or z."""

from __future__ import annotations

from functools import cache

import pytest

from cutune.proof.analysis.suggestions import Suggestion
from tests.support.suggested_blocks import check, check_pragmas, program_of, suggested

pytestmark = pytest.mark.long

BLOCK = "n, dim3(32, 8)"


def columns(
    own: str = "own[32][32]",
    begin: str = "threadIdx.y",
    step: str = "blockDim.y",
    first: str = "threadIdx.y == 0",
    summed: str = "blockDim.y",
) -> str:
    """Sums of columns: the warps of a block share the rows, and the first one adds up."""
    return f"""__shared__ float {own}; float v = 0; int c = blockIdx.x * 32 + threadIdx.x;
    for (int r = {begin}; r < n; r += {step}) v += a[r * n + c];
    own[threadIdx.y][threadIdx.x] = v; __syncthreads();
    if ({first}) {{
        v = 0; for (int j = 0; j < {summed}; j++) v += own[j][threadIdx.x]; b[c] = v; }}"""


IN_Z = """__shared__ float own[32][8][4]; float v = 0;
    int c = blockIdx.x * 32 + threadIdx.y * 4 + threadIdx.x;
    for (int r = threadIdx.z; r < n; r += blockDim.z) v += a[r * n + c];
    own[threadIdx.z][threadIdx.y][threadIdx.x] = v; __syncthreads();
    if (threadIdx.z == 0) {
        v = 0; for (int j = 0; j < blockDim.z; j++) v += own[j][threadIdx.y][threadIdx.x];
        b[c] = v; }"""
SUM = "for (int s = 16; s > 0; s /= 2) v += __shfl_down_sync(~0u, v, s);"
ALL = "block(y: 1, 2, 4, 8, 16, 32) grid(keep, keep)"

#: Name, launch, body of the kernel, and the clauses, or a part of what is said of its obstacle.
KERNELS: dict[str, tuple[str, str, str]] = {
    "sums_of_columns": (BLOCK, columns(), ALL),
    "first_threads": (BLOCK, columns(first="threadIdx.y < 1"), ALL),
    "eight_rows": (BLOCK, columns("own[8][32]"), "block(y: 1, 2, 4, 8) grid(keep, keep)"),
    "padded": (BLOCK, columns("own[16][33]"), "block(y: 1, 2, 4, 8, 16) grid(keep, keep)"),
    "wide_rows": (BLOCK, columns("own[8][40]"), "block(y: 1, 2, 4, 8) grid(keep, keep)"),
    "second_warp": (
        BLOCK,
        columns(first="threadIdx.y == 1"),
        "block(y: 2, 4, 8, 16, 32) grid(keep, keep)",
    ),
    "numbered": (
        BLOCK,
        """__shared__ float own[1024]; int t = threadIdx.y * 32 + threadIdx.x; float v = 0;
        for (int j = t; j < n; j += 32 * blockDim.y) v += a[blockIdx.x * n + j];
        own[t] = v; __syncthreads();
        for (int s = 16 * blockDim.y; s > 0; s /= 2) {
            if (t < s) own[t] += own[t + s];
            __syncthreads();
        }
        if (t == 0) b[blockIdx.x] = own[0];""",
        ALL,
    ),
    "shuffled": (
        BLOCK,
        f"""__shared__ float own[32]; float v = 0;
        for (int j = threadIdx.y * 32 + threadIdx.x; j < n; j += 32 * blockDim.y)
            v += a[blockIdx.x * n + j];
        {SUM} if (threadIdx.x == 0) own[threadIdx.y] = v;
        __syncthreads(); v = threadIdx.x < blockDim.y ? own[threadIdx.x] : 0;
        {SUM} if (threadIdx.x == 0 && threadIdx.y == 0) b[blockIdx.x] = v;""",
        ALL,
    ),
    "along_z": ("n, dim3(4, 8, 8)", IN_Z, "block(z: 1, 2, 4, 8, 16, 32) grid(keep, keep, keep)"),
    # Rows that are no rows: some are left out, or done twice.
    "by_eight": (BLOCK, columns(step="8"), "No other block is known"),
    "from_double": (BLOCK, columns(begin="2 * threadIdx.y"), "none goes on by blockDim.y"),
    "every_second": (BLOCK, columns(step="2 * blockDim.y"), "none goes on by blockDim.y"),
    "turned": (BLOCK, columns(begin="(threadIdx.y ^ 1)"), "arithmetic with threadIdx.y"),
    "halves": (BLOCK, columns(step="blockDim.y / 2"), "arithmetic with blockDim.y"),
    "rounds": (
        BLOCK,
        columns().replace("v = 0;", "v = 0; int k = 0;", 1).replace("v +=", "b[k++] = 1, v +=", 1),
        "how often a loop that steps by blockDim.y",
    ),
    "until_twice": (
        BLOCK,
        columns().replace("r < n", "r < 2 * (int)blockDim.y"),
        "decides by the width",
    ),
    # A fixed number of rows.
    "sums_of_eight": (BLOCK, columns(summed="8"), "not known to follow blockDim.y"),
    "at_most_eight": (BLOCK, columns(summed="min(blockDim.y, 8)"), "arithmetic with blockDim.y"),
    "four_places": (
        BLOCK,
        columns().replace("own[threadIdx.y]", "own[threadIdx.y % 4]"),
        "arithmetic with threadIdx.y",
    ),
    "pinned": (BLOCK, f"{columns()} if (blockDim.y == 8) b[n * n] = 1;", "no other width"),
    # blockDim.y and threadIdx.y as values and places.
    "number_of_warps": (
        BLOCK,
        f"{columns()} if (threadIdx.y == 0) b[n * n] = blockDim.y;",
        "arithmetic with blockDim.y",
    ),
    "mean": (BLOCK, columns().replace("b[c] = v", "b[c] = v / blockDim.y"), "with blockDim.y"),
    "number_of_warp": (BLOCK, f"{columns()} b[n * n + c] = threadIdx.y;", "with threadIdx.y"),
    "unguarded": (
        BLOCK,
        f"{columns()} b[n * n + threadIdx.y] = a[c];",
        "none goes on by blockDim.y",
    ),
    # The number of blocks would have to follow.
    "rows_of_blocks": (
        BLOCK,
        columns(begin="blockIdx.x * blockDim.y + threadIdx.y"),
        "number of blocks is part",
    ),
    "strided": (
        BLOCK,
        columns(begin="blockIdx.y * blockDim.y + threadIdx.y", step="gridDim.y * blockDim.y"),
        ALL,
    ),
    # Other blocks than of warps along one dimension.
    "square": ("n, dim3(16, 16)", columns(), "threads in y or z, other than as warps"),
    "also_in_z": ("n, dim3(32, 8, n)", columns(), "threads in y or z, other than as warps"),
    "not_known": ("n, dim3(n, 8)", columns(), "threads in y or z, other than as warps"),
}


@cache
def said() -> dict[str, Suggestion]:
    """Of each kernel; all are one program."""
    return suggested(program_of(KERNELS))


@pytest.mark.nvcc
@pytest.mark.parametrize("name", KERNELS)
def test_numbers_of_warps_are_proposed_where_the_code_leaves_them_free(name: str) -> None:
    check(said()[name], KERNELS[name][-1])


@pytest.mark.nvcc
def test_launches_are_tunable_by_the_pragmas_that_are_proposed() -> None:
    check_pragmas(KERNELS, said())

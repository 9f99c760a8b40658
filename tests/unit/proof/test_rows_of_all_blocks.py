"""Which numbers of warps are proposed where the warps of all blocks share rows, and lanes slots."""

from __future__ import annotations

from functools import cache

import pytest

from cutune.proof.analysis.suggestions import Suggestion
from tests.support.suggested_blocks import check, check_pragmas, program_of, suggested

pytestmark = pytest.mark.long

BLOCK = "dim3(n, 9), dim3(32, 8)"
IN_Z = "dim3(n, 9), dim3(4, 8, 8)"
FIRST = "blockIdx.y * blockDim.y + threadIdx.y"
STEP = "gridDim.y * blockDim.y"


def columns(
    begin: str = FIRST,
    step: str = STEP,
    row: str = "v += a[r * n + c];",
    until: str = "r < n",
    sum_: str = "v += own[j][threadIdx.x];",
    last: str = "atomicAdd(b + c, v);",
    before: str = "",
) -> str:
    """Sums of columns: the warps of all blocks share the rows, and each block adds its sum."""
    return f"""__shared__ float own[32][32]; float v = 0; int c = blockIdx.x * 32 + threadIdx.x;
    for (int r = {begin}; {until}; r += {step}) {{ {row} }}
    {before} own[threadIdx.y][threadIdx.x] = v; __syncthreads();
    if (threadIdx.y == 0) {{ v = 0; for (int j = 0; j < blockDim.y; j++) {{ {sum_} }} {last} }}"""


def slots(
    until: str = "blockDim.z",
    step: str = "4",
    last: str = "atomicAdd(b + c + k, v)",
    planes: str = "k < 4",
    begin: str = "threadIdx.x",
    more: str = "",
) -> str:
    """Sums of four columns by each lane, whose slots are added up by lanes, a plane by a warp."""
    return f"""__shared__ float own[4][32][8]; float s[4] = {{}};
    int c = 4 * (blockIdx.x * 8 + threadIdx.y), d = threadIdx.x;
    for (int r = 4 * (blockIdx.y * blockDim.z + threadIdx.z) + d; r < n;
         r += 4 * gridDim.y * blockDim.z)
        for (int k = 0; k < 4; k++) s[k] += a[r * n + c + k];
    for (int k = 0; k < 4; k++) {{
        float v = s[k]; v += __shfl_down_sync(~0u, v, 1, 4); v += __shfl_down_sync(~0u, v, 2, 4);
        if (d == 0) own[k][threadIdx.z][threadIdx.y] = v; }}
    __syncthreads(); {more}
    for (int k = threadIdx.z; {planes}; k += blockDim.z) {{
        float v = 0;
        for (int j = {begin}; j < {until}; j += {step}) {{
            float w = own[k][j][threadIdx.y];
            w += __shfl_down_sync(~0u, w, 1, 4); w += __shfl_down_sync(~0u, w, 2, 4); v += w; }}
        if (d == 0) {last}; }}"""


ALL = "block(y: 1, 2, 4, 8, 16, 32) grid(keep, keep)"
WHOLE = "block(z: 4, 8, 16, 32) grid(keep, keep, keep)"
COUNTED = "number of blocks is part"
KERNELS: dict[str, tuple[str, str, str]] = {
    "sums": (BLOCK, columns(), ALL),
    "other_order": (
        BLOCK,
        columns("threadIdx.y + blockDim.y * blockIdx.y", "blockDim.y * gridDim.y"),
        ALL,
    ),
    "squares": (BLOCK, columns(row="float x = a[r * n + c]; v += x * x;"), ALL),
    "every_third": (BLOCK, columns(f"3 * ({FIRST})", f"3 * {STEP}"), ALL),
    # One block in y, or a race.
    "stored": (BLOCK, columns(last="b[c] = v;"), ALL),
    # Some rows are left out, or done by several.
    "by_blocks": (BLOCK, columns(step="gridDim.y"), COUNTED),
    "by_eight": (BLOCK, columns(step="gridDim.y * 8"), COUNTED),
    "no_steps": (BLOCK, columns(row="v += a[r * n + c]; break;"), COUNTED),
    "in_x": (BLOCK, columns(begin="blockIdx.x * blockDim.y + threadIdx.y"), COUNTED),
    "from_double": (BLOCK, columns(begin=f"2 * ({FIRST})"), COUNTED),
    "from_next": (BLOCK, columns(begin="(blockIdx.y + 1) * blockDim.y + threadIdx.y"), COUNTED),
    "three_rounds": (
        BLOCK,
        columns(until="k < 3", row="v += a[r * n + c]; k++;").replace(
            "v = 0;", "v = 0; int k = 0;", 1
        ),
        COUNTED,
    ),
    "until_negative": (BLOCK, columns(row="if (a[r] < 0) break; v += a[r * n + c];"), COUNTED),
    "first_twice": (BLOCK, columns(before=f"if ({FIRST} < n) v += a[({FIRST}) * n + c];"), COUNTED),
    "next_row": (BLOCK, columns(row=f"v += a[(r + {STEP}) * n + c];"), COUNTED),
    # Something depends on the rows that are together in a block.
    "sum_of_each_block": (BLOCK, columns(last="b[blockIdx.y * n + c] = v;"), COUNTED),
    "adds_by_block": (BLOCK, columns(last="atomicAdd(b + blockIdx.y * n + c, v);"), COUNTED),
    "of_first_block": (BLOCK, columns(last="if (blockIdx.y == 0) b[c] = v;"), COUNTED),
    "counts_warps": (
        BLOCK,
        columns(before=f"if ({FIRST} < n) atomicAdd(b + n * n, 1.0f);"),
        COUNTED,
    ),
    "first_warps": (BLOCK, columns(before=f"if ({FIRST} < 5) atomicAdd(b, 1.0f);"), COUNTED),
    "greatest": (BLOCK, columns(sum_="v = fmaxf(v, own[j][threadIdx.x]);"), COUNTED),
    "square_of_sum": (BLOCK, columns(last="atomicAdd(b + c, v * v);"), COUNTED),
    "root_of_each": (BLOCK, columns(before="v = sqrtf(v);"), COUNTED),
    "greatest_of_all": (BLOCK, columns(last="atomicMax((int *)b + c, (int)v);"), COUNTED),
    # Lanes over the slots of warps.
    "lanes": (IN_Z, slots(), WHOLE),
    "lanes_stored": (IN_Z, slots(last="b[c + k] += v"), WHOLE),
    "lanes_of_two": ("dim3(n, 9), dim3(8, 4, 8)", slots(), "No other block is known to be right"),
    "slots_of_eight": (IN_Z, slots(until="8"), "may be taken for a fixed one"),
    "slots_but_one": (IN_Z, slots(until="blockDim.z - 1"), "may be taken for a fixed one"),
    "every_eighth": (IN_Z, slots(step="8"), "No other block is known to be right"),
    "from_second": (IN_Z, slots(begin="threadIdx.x + 1"), "may be taken for a fixed one"),
    **{
        f"counts_{count}": (
            IN_Z,
            slots(more=f"if (threadIdx.z < {count} && d == 0) atomicAdd(b + n * n, 1.0f);"),
            f"block(z: {sizes}) grid(keep, keep, keep)",
        )
        for count, sizes in ((4, "4, 8, 16, 32"), (6, "8, 16, 32"))
    },
    "planes_of_blocks": (IN_Z, slots(last="b[blockIdx.y * n + c + k] = v"), COUNTED),
}


@cache
def said() -> dict[str, Suggestion]:
    """Of each kernel; all are one program."""
    return suggested(program_of(KERNELS))


@pytest.mark.nvcc
@pytest.mark.parametrize("name", KERNELS)
def test_numbers_of_warps_are_proposed_where_blocks_add_to_one_total(name: str) -> None:
    check(said()[name], KERNELS[name][-1])


@pytest.mark.nvcc
def test_launches_are_tunable_by_the_pragmas_that_are_proposed() -> None:
    check_pragmas(KERNELS, said())

"""Numbers of warps along y that are proposed where z tells blocks of a block apart, as layers."""

from __future__ import annotations

from functools import cache

import pytest

from cutune.proof.analysis.suggestions import Suggestion
from tests.support.suggested_blocks import check, check_pragmas, program_of, suggested

MORE = ", int y, int z, int m"
ALL = "block(y: 1, 2, 4, 8, 16, 32) grid(keep, keep)"
KEPT = f"{ALL} shared(keep)"
SUM = "for (int s = 16; s > 0; s /= 2) v += __shfl_xor_sync(~0u, v, s);"
UNKNOWN = "threads in y or z, other than as warps"
MEMORY = "How much dynamic shared memory each block needs is not seen"


def norm(
    own: str = "__shared__ float own[8][32];",
    place: str = "own[threadIdx.z]",
    warps: str = "blockDim.y",
    step: str = "32 * blockDim.y",
    first: str = "threadIdx.y * 32 + threadIdx.x",
    row: str = "blockIdx.x * blockDim.z + threadIdx.z",
) -> str:
    """Each layer has a row, of which its warps add up parts, and then scale it by the sum."""
    return f"""{own} int row = {row}; float v = 0;
    for (int j = {first}; j < n; j += {step}) v += a[row * n + j];
    {SUM} if (threadIdx.x == 0) {place}[threadIdx.y] = v;
    __syncthreads(); v = threadIdx.x < {warps} ? {place}[threadIdx.x] : 0; {SUM}
    for (int j = {first}; j < n; j += {step}) b[row * n + j] = a[row * n + j] / v;"""


#: All layers fill one table. Compilers count the rounds of the loop, and do four at once.
TABLE = norm().replace(
    "v += a",
    "v += bytes[2 * n + j % 2] + a",
    1,
)
TABLE = f"""extern __shared__ char bytes[]; uint4 *table = (uint4 *)bytes;
    uint4 *other = (uint4 *)(bytes + n * 2); const short *in = (const short *)a;
    for (int j = (threadIdx.x + 32 * threadIdx.y) * 8; j < n; j += blockDim.y * 32 * 8) {{
        table[j / 8] = *(const uint4 *)(in + j); other[j / 8] = *(const uint4 *)(in + n + j);
    }}
    {TABLE}"""
#: A test of how often a loop goes round is no round of it, and its number is no value.
COUNTED = norm().replace(
    "v = 0;", "v = 0; int c = (n - 1 - int(threadIdx.y * 32 + threadIdx.x)) / (32 * blockDim.y);", 1
)
DYNAMIC = norm("extern __shared__ float memory[];", "(memory + 32 * threadIdx.z)")
BEHIND = norm("extern __shared__ float memory[];", "(memory + n + 32 * threadIdx.z)")

#: Name, launch, body of the kernel, and the clauses, or a part of what is said of its obstacle.
KERNELS: dict[str, tuple[str, str, str]] = {
    "layers": ("n, dim3(32, 8, 4)", norm(), ALL),
    "number_of_layers": ("n, dim3(32, 8, z)", norm(), ALL),
    "eight_places": (
        "n, dim3(32, 8, 4)",
        norm("__shared__ float own[4][8];"),
        "block(y: 1, 2, 4, 8) grid(keep, keep)",
    ),
    "vectors": (
        "n, dim3(32, 8, 4)",
        norm(step="128 * blockDim.y", first="4 * (threadIdx.y * 32 + threadIdx.x)"),
        ALL,
    ),
    "table": ("n, dim3(32, y, z), 4 * n", TABLE, KEPT),
    # The host computes how much memory there is by the layers, and not by the warps.
    "kept_memory": ("n, dim3(32, y, z), 128 * z", DYNAMIC, KEPT),
    "behind_a_row": ("n, dim3(32, y, z), (n + 32 * z) * sizeof(float)", BEHIND, KEPT),
    "memory_of_warps": ("n, dim3(32, y, z), 16 * z + 4 * m * y", DYNAMIC, MEMORY),
    "given_memory": ("n, dim3(32, 8, z), 128 * z", DYNAMIC, MEMORY),
    # Layers that share more than they may, or whose warps do not share their row.
    "one_array": ("n, dim3(32, 8, 4)", norm("__shared__ float own[32];", "own"), UNKNOWN),
    "no_room": (
        "n, dim3(32, 8, 4)",
        norm("__shared__ float own[128];", "(own + blockDim.y * threadIdx.z)"),
        UNKNOWN,
    ),
    "other_number": ("n, dim3(32, 8, 8)", norm(warps="blockDim.z"), UNKNOWN),
    "eight_warps": ("n, dim3(32, 8, 4)", norm(warps="8"), UNKNOWN),
    "fixed_step": ("n, dim3(32, 8, 4)", norm(step="256"), UNKNOWN),
    "number_of_warps": (
        "n, dim3(32, 8, 4)",
        norm().replace("/ v", "/ v * blockDim.y"),
        UNKNOWN,
    ),
    "rows_of_warps": (
        "n, dim3(32, 8, 4)",
        norm(row="(blockIdx.x * blockDim.z + threadIdx.z) * blockDim.y + threadIdx.y"),
        UNKNOWN,
    ),
    "round_apart": ("n, dim3(32, 8, 4)", f"{COUNTED} if (c & 1) b[threadIdx.y] = a[row];", UNKNOWN),
    "number_of_rounds": ("n, dim3(32, 8, 4)", f"{COUNTED} b[n * n + row] = c;", UNKNOWN),
    "not_read": ("n, dim3(32, 8, z)", norm(place="own[0]", row="blockIdx.x"), UNKNOWN),
    # Other shapes than layers of warps.
    "narrow": ("n, dim3(16, 8, 4)", norm(), UNKNOWN),
    "wide": ("n, dim3(64, 8, 2)", norm(), UNKNOWN),
}


@cache
def said() -> dict[str, Suggestion]:
    """Of each kernel; all are one program."""
    return suggested(program_of(KERNELS, more=MORE))


@pytest.mark.long
@pytest.mark.nvcc
@pytest.mark.parametrize("name", KERNELS)
def test_numbers_of_warps_are_proposed_where_layers_share_nothing(name: str) -> None:
    check(said()[name], KERNELS[name][-1])


@pytest.mark.nvcc
def test_launches_are_tunable_by_the_pragmas_that_are_proposed() -> None:
    check_pragmas(KERNELS, said(), MORE)

"""Widths that are proposed where the first threads do what is left of a row behind its vectors."""

from __future__ import annotations

from functools import cache

import pytest

from cutune.proof.analysis.suggestions import Suggestion
from tests.support.suggested_blocks import check, check_pragmas, program_of, suggested

pytestmark = pytest.mark.long

ALL = "block(x: 32, 64, 128, 256) grid(keep)"
FIXED = "each thread of a block has one element"


def sums(rest: str, begin: str = "n & ~3") -> str:
    """Sums of rows by blocks: vectors first, then the elements behind them."""
    return f"""__shared__ float own[256]; float v = 0; const float *row = a + blockIdx.x * n;
    for (int j = threadIdx.x; j < n / 4; j += blockDim.x) v += row[4 * j] * row[4 * j + 1];
    int first = {begin}; {rest}
    own[threadIdx.x] = v; __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {{
        if (threadIdx.x < s) own[threadIdx.x] += own[threadIdx.x + s];
        __syncthreads();
    }}
    if (threadIdx.x == 0) b[blockIdx.x] = own[0];"""


LOOP = "for (int j = first + threadIdx.x; j < n; j++) v += row[j];"
ONE = "if (first + (int)threadIdx.x < n) v += row[first + threadIdx.x];"
UNSIGNED = LOOP.replace("int j", "unsigned j")
BY_IDS = """__shared__ float own[256]; int i = blockIdx.x * blockDim.x + threadIdx.x;
    own[threadIdx.x] = a[i]; __syncthreads(); b[i] = own[threadIdx.x];
    if ((n & ~3) + (int)threadIdx.x < n) EFFECT;"""

#: Name, launch, body of the kernel, and the clauses, or a part of what is said of its obstacle.
KERNELS: dict[str, tuple[str, str, str]] = {
    "loop": ("n, 128", sums(LOOP), ALL),
    "one_element": ("n, 128", sums(ONE), ALL),
    "divided": ("n, 128", sums(LOOP, "n / 8 * 8"), ALL),
    "remainder": ("n, 128", sums(ONE, "n - n % 16"), ALL),
    "shifted": ("n, 128", sums(LOOP, "n >> 2 << 2"), ALL),
    "unsigned_numbers": ("n, 128", sums(UNSIGNED, "unsigned(n) / 4 * 4"), ALL),
    "a_warp": ("n, 128", sums(LOOP, "n & ~31"), ALL),
    "from_the_end": ("n, 128", sums("if (n > int(first + threadIdx.x)) v += row[first];"), ALL),
    "stored": ("n, 128", sums(LOOP.replace("v +=", "b[n * n + j] =")), ALL),
    # More threads than every block has, or a number of them that is not known.
    "two_warps": ("n, 128", sums(LOOP, "n & ~63"), FIXED),
    "beyond": ("n, 128", sums(LOOP.replace("j < n", "j < n + 64")), FIXED),
    "before": ("n, 128", sums(LOOP, "(n & ~3) - 64"), FIXED),
    "half": ("n, 128", sums(LOOP, "(n / 2) & ~3"), FIXED),
    "lower_bits": ("n, 128", sums(LOOP, "n & 3"), FIXED),
    "other_factor": ("n, 128", sums(LOOP, "n / 4 * 3"), FIXED),
    "two_threads": ("n, 128", sums(LOOP.replace("threadIdx", "2 * threadIdx")), FIXED),
    # Elements that other threads overwrite.
    "handed_on": (
        "n, 128",
        sums(LOOP.replace("v +=", "b[j] = b[j + 1] +")),
        "other threads may have written",
    ),
    # Of each block, whose number follows its width.
    "added": ("n, 128", BY_IDS.replace("EFFECT", "atomicAdd(b + n, 1.0f)"), "its own elements"),
    "kept": ("n, 128", BY_IDS.replace("EFFECT", "b[n] = a[n]"), "its own elements"),
}


@cache
def said() -> dict[str, Suggestion]:
    """Of each kernel; all are one program."""
    return suggested(program_of(KERNELS))


@pytest.mark.nvcc
@pytest.mark.parametrize("name", KERNELS)
def test_a_width_is_proposed_where_the_rest_is_of_the_first_threads(name: str) -> None:
    check(said()[name], KERNELS[name][-1])


@pytest.mark.nvcc
def test_launches_are_tunable_by_the_pragmas_that_are_proposed() -> None:
    check_pragmas(KERNELS, said())

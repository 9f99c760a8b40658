"""Which kernels are held to read no element of another thread, and which arrays to be apart."""

from __future__ import annotations

from functools import cache

import pytest

from cutune.proof.analysis.suggestions import Suggestion
from tests.support.suggested_blocks import check, check_pragmas, program_of, suggested

pytestmark = pytest.mark.long

SLOTS = "n, t, 2 * t / 32 * sizeof(float)"
SUM = "for (int s = 16; s > 0; s /= 2) v += __shfl_down_sync(~0u, v, s);"
#: The whole row is summed up, and written; then `read` is what becomes of each element.
SUMMED = f"""__shared__ float own[32]; float v = 0; int r = blockIdx.x * n;
    for (int j = threadIdx.x; j < n; j += blockDim.x) v += b[r + j] = a[r + j];
    {SUM} if (threadIdx.x % 32 == 0) own[threadIdx.x / 32] = v;
    __syncthreads(); v = threadIdx.x % 32 < blockDim.x / 32 ? own[threadIdx.x % 32] : 0;
    {SUM} v = __shfl_sync(~0u, v, 0);"""


def pairs(read: str, then: str = "") -> str:
    return f"""{SUMMED}
    for (int j = threadIdx.x; j + blockDim.x < n; j += 2 * blockDim.x) b[r + j] = {read} / v;
    {then}"""


def held(end: str = "n - 1", known: str = "i < n", use: str = "b[r + i] = e[u] / v") -> str:
    """Elements are read four at a time, and the last one again where there are less."""
    return f"""{SUMMED} for (int j = threadIdx.x; j < n; j += 4 * blockDim.x) {{
        float e[4];
        _Pragma("unroll") for (int u = 0; u < 4; u++)
            e[u] = b[r + min({end}, (int)(j + u * blockDim.x))];
        _Pragma("unroll") for (int u = 0; u < 4; u++) {{
            int i = j + u * blockDim.x;
            if ({known}) {use};
        }}
    }}"""


def slots(
    second: str = "blockDim.x / 32", first: str = "float", until: str = "(int)blockDim.x / 32"
) -> str:
    """Two arrays with a place for each warp, one behind the other."""
    return f"""extern __shared__ float s[]; {first} *f = ({first} *)s;
    float v = 0, *g = s + {second};
    for (int j = threadIdx.x; j < n; j += blockDim.x) v += a[blockIdx.x * n + j];
    {SUM} if (threadIdx.x % 32 == 0) f[threadIdx.x / 32] = v, g[threadIdx.x / 32] = v * v;
    __syncthreads();
    if (threadIdx.x == 0) {{
        for (int j = 1; j < {until}; j++) v = v * v + f[j] + g[j];
        b[blockIdx.x] = v + g[0];
    }}"""


ROW = "block(x: 32..1024) grid(keep)"
TWO = f"{ROW} shared(2 * x / 32 * 4)"
OTHERS, TIED = "other threads may have written", "No other block is known"

#: Name, launch, body of the kernel, and the clauses, or a part of what is said of its obstacle.
KERNELS: dict[str, tuple[str, str, str]] = {
    "own_pairs": ("n, 256", pairs("b[r + j + blockDim.x]"), ROW),
    "held_back": ("n, 256", held(), ROW),
    "held_below": ("n, 256", held(known="n > i"), ROW),
    "held_and_more": ("n, 256", held(known="i < n && i > 3"), ROW),
    "held_sum": ("n, 256", held(use="b[r + i] = e[u] * e[u] + v"), ROW),
    "slots": (SLOTS, slots(), TWO),
    "shifted_slots": (SLOTS, slots("(blockDim.x >> 5)"), TWO),
    # Elements of others.
    "neighbours": ("n, 256", pairs("b[r + j + 1]"), OTHERS),
    "halves": ("n, 256", pairs("b[r + j + blockDim.x / 2]"), OTHERS),
    "elsewhere": ("n, 256", pairs("b[r + j]", "b[n * n + r] = v;"), OTHERS),
    "next_row": ("n, 256", pairs("b[r + n + j]"), OTHERS),
    "mirrored": ("n, 256", pairs("b[r + n - j]"), OTHERS),
    "by_data": ("n, 256", pairs("b[r + (int)a[j]]"), OTHERS),
    # The last element is seen.
    "seen_last": ("n, 256", held(known="i <= n"), OTHERS),
    "seen_always": ("n, 256", held(known="j < n"), OTHERS),
    "held_early": ("n, 256", held(end="n - 2"), OTHERS),
    "held_by_data": ("n, 256", held(end="(int)a[n]"), OTHERS),
    "decides": ("n, 256", held(known="i < n && e[u] > 0"), OTHERS),
    "decides_later": ("n, 256", held(known="i < n && e[(u + 1) % 4] > 0"), OTHERS),
    "others_sum": ("n, 256", held(use="b[r + i] = e[u] + e[(u + 1) % 4]"), OTHERS),
    "summed_up": ("n, 256", held(use="", known="v += e[u], i < 0") + " b[r] = v;", OTHERS),
    # Arrays that meet.
    "half_as_many": (SLOTS, slots("blockDim.x / 64"), TIED),
    "one_less": (SLOTS, slots("blockDim.x / 32 - 1"), TIED),
    "eight": (SLOTS, slots("8"), "may have a race"),
    "wide_slots": (SLOTS, slots(first="double"), TIED),
    "eight_warps": (SLOTS, slots(until="8"), TIED),
}


@cache
def said() -> dict[str, Suggestion]:
    """Of each kernel; all are one program."""
    return suggested(program_of(KERNELS, more=", int t"))


@pytest.mark.nvcc
@pytest.mark.parametrize("name", KERNELS)
def test_a_width_is_proposed_where_threads_have_elements_of_their_own(name: str) -> None:
    check(said()[name], KERNELS[name][-1])


@pytest.mark.nvcc
def test_launches_are_tunable_by_the_pragmas_that_are_proposed() -> None:
    check_pragmas(KERNELS, said(), more=", int t")

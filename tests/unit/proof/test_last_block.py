"""Results of atomic operations that tell nothing about the order of threads, for suggestions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest

from cutune.core.source import Source
from cutune.proof.analysis.suggestions import Suggestion, suggestions
from tests.support.analyzed import analyzed

pytestmark = pytest.mark.nvcc

COMMON = """
#define T threadIdx.x
#define ROW for (int j = T; j < n; j += blockDim.x)
#define SUMS extern __shared__ float s[]; ROW s[j] = 0; __syncthreads(); \\
    for (int i = blockIdx.x * blockDim.x + T; i < m; i += gridDim.x * blockDim.x) \\
        atomicAdd(s + c[i], b[i]); \\
    __syncthreads(); ROW atomicAdd(a + j, s[j]); __syncthreads();
#define TOLD unsigned *told = (unsigned *)(s + n);
#define LAST(one) TOLD if (T == 0) *told = one; __syncthreads();
#define END if (*told == gridDim.x - 1) ROW a[n + 1 + j] = a[j];
#define COUNT (unsigned *)(a + n)
#define I int i = blockIdx.x * blockDim.x + T; __shared__ int w[1024]; w[T] = i; \\
    __syncthreads(); if (i < n) c[i] = w[T] + 1;
"""
#: Right in all blocks: one of them is the last one, whichever it is.
COUNTED: Mapping[str, str] = {
    "added": "SUMS LAST(atomicAdd(COUNT, 1)) END",
    "wrapped": "SUMS LAST(atomicInc(COUNT, gridDim.x)) END",
    "wrapped_at_last": "SUMS LAST(atomicInc(COUNT, gridDim.x - 1)) END",
    "other_than": (
        "SUMS LAST(atomicAdd(COUNT, 1)) if (*told != gridDim.x - 1) return; ROW a[j] *= 2;"
    ),
}
#: The number of a block is used, or counts something else.
OTHERS: Mapping[str, str] = {
    "first": "SUMS LAST(atomicAdd(COUNT, 1)) if (*told == 0) ROW a[n + 1 + j] = a[j];",
    "twos": "SUMS LAST(atomicAdd(COUNT, 2)) END",
    "all_threads": "SUMS TOLD *told = atomicAdd(COUNT, 1); __syncthreads(); END",
    "second_thread": "SUMS TOLD if (T == 1) *told = atomicAdd(COUNT, 1); __syncthreads(); END",
    "stored": "SUMS LAST(atomicAdd(COUNT, 1)) END if (T == 0) a[m] = *told;",
    "as_index": "SUMS LAST(atomicAdd(COUNT, 1)) END if (T == 0) a[*told] = 1;",
    "less": "SUMS LAST(atomicAdd(COUNT, 1)) if (*told >= gridDim.x - 1) ROW a[n + 1 + j] = a[j];",
    "one_before": "SUMS LAST(atomicAdd(COUNT, 1)) if (*told == gridDim.x - 2) ROW a[j] *= 2;",
    "overwritten": "SUMS LAST(atomicAdd(COUNT, 1)) if (T == 0) *told += m; __syncthreads(); END",
    "exchanged": "SUMS LAST(atomicExch(COUNT, 1)) END",
    "maximum": "SUMS LAST(atomicMax(COUNT, 1)) END",
}
SWAP = "old = atomicCAS(c, seen, seen * 3 + i);"
#: Swaps that are repeated until they succeed.
RETRIED: Mapping[str, str] = {
    "by_branches": (
        "I if (i < n) { int old = *c, seen; do { seen = old; int x = i; if (seen & 4)"
        " for (int k = 0; k < seen; ++k) x = x * 3 + k; old = atomicCAS(c, seen, x); }"
        " while (old != seen); }"
    ),
    "loop": "I if (i < n) { int old = *c, seen; do { seen = old; SWAP } while (old != seen); }",
    "tried_before": (
        "I if (i < n) { int seen = *c, old; SWAP while (old != seen) { seen = old; SWAP } }"
    ),
}
NOT_RETRIED: Mapping[str, str] = {
    "counts_tries": (
        "I if (i < n) { int k = 0, old = *c, seen; do { seen = old; ++k; SWAP }"
        " while (old != seen); c[n + i] = k; }"
    ),
    "claims": "I if (i < n && atomicCAS(c + n, 0, 1) == 0) c[n + i] = 1;",
    "once": "I if (i < n) { int seen = *c, old; SWAP if (old != seen) c[n + i] = 1; }",
    "tells": (
        "I if (i < n) { int old = *c, seen; do { seen = old; SWAP } while (old != seen);"
        " c[n + i] = old; }"
    ),
    "looks_up": (
        "I if (i < n) { int old = *c, seen; do { seen = old; old = atomicCAS(c, seen, c[seen]); }"
        " while (old != seen); }"
    ),
    "elsewhere": (
        "I if (i < n) { int old = *c, seen; do { seen = old;"
        " old = atomicCAS(c + (seen & 1), seen, i); } while (old != seen); }"
    ),
}


@cache
def said() -> dict[str, Suggestion]:
    """Of each kernel; all are one program."""
    bodies = {**COUNTED, **OTHERS, **RETRIED, **NOT_RETRIED}
    text, launches = COMMON, ""
    for name, body in bodies.items():
        parameters = "float *a, const float *b, int *c, int n, int m"
        text += f"__global__ void {name}({parameters}) {{ {body.replace('SWAP', SWAP)} }}\n"
        launches += f"{name}<<<m / 256, 256, bytes>>>(a, b, c, n, m);"
    run = "void run(float *a, const float *b, int *c, int n, int m, int bytes)"
    found = suggestions(analyzed(Source("a.cu", f"{text}{run} {{ {launches} }}\n")))
    return {one.kernel: one for one in found}


@pytest.mark.parametrize("name", COUNTED)
def test_the_last_block_may_be_any(name: str) -> None:
    found = said()[name]
    assert found.pragma is not None, found.text
    assert found.pragma.endswith("block(x: 32..1024) shared(keep)")


@pytest.mark.parametrize("name", OTHERS)
def test_numbers_of_blocks_depend_on_their_order(name: str) -> None:
    assert (said()[name].code, said()[name].pragma) == ("CT216", None)


@pytest.mark.parametrize("name", RETRIED)
def test_swaps_are_repeated(name: str) -> None:
    assert name not in said() or said()[name].code != "CT216"


@pytest.mark.parametrize("name", NOT_RETRIED)
def test_results_of_swaps_are_used(name: str) -> None:
    assert (said()[name].code, said()[name].pragma) == ("CT216", None)

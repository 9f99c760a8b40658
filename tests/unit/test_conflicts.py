"""Kernels in which threads of a warp may hand each other values: their warps are kept."""

from __future__ import annotations

import pytest

from cutune.analyze import analyze
from cutune.candidates import candidate_blocks
from cutune.program import Kernel
from cutune.source import Source
from cutune.syntax import parse

HEAD = (
    "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    "int j = blockIdx.y * blockDim.y + threadIdx.y; if (i >= n || j >= m) return;"
)


def kernel_of(body: str, before: str = "") -> Kernel:
    parameters = "int n, int m, float *a, float *b, const int *c, float (*A)[64]"
    text = f"{before}\n__global__ void k({parameters}) {{ {HEAD} {body} }}"
    (kernel,) = analyze(parse(Source("test.cu", text))).kernels
    assert kernel.pure_dimensions == ("x", "y"), kernel.impurity
    return kernel


@pytest.mark.parametrize(
    "body",
    [
        # A neighbour reads what is written.
        "a[j * n + i] = a[j * n + (i + 1) % n];",
        "float v = a[j * n + i + 1]; a[j * n + i] = v;",
        "for (int s = 16; s > 0; s >>= 1) a[j * n + i] += a[j * n + i + s];",
        "A[j][i] -= A[j][3] * A[3][i];",
        "float *p = a + j * n; p[i] = p[i + 1];",
        "float *p = a + j * n + i; *p = p[1];",
        "float &x = a[j * n + i]; x = a[j * n + i + n];",
        "int l = i; float v = a[j * n + l]; l++; a[j * n + l] = v;",
        "((float2 *)a)[j * n + i].x = a[j * n + i];",
        "shift(a, j * n + i);",
        "a[j * n + i] = at(a, j * n + i + 1);",
        # Several threads change one element.
        "int row = i / 4; for (int k = 0; k < 4; k++) if (i % 4 == k) a[j * n + row] += b[i];",
        "a[i] += 1;",
        "a[c[i]] += 1;",
        "a[0]++;",
        "int row = rounded(i); a[j * n + row] += 1;",
    ],
)
def test_warps_are_needed(body: str) -> None:
    before = (
        "__device__ void shift(float *p, int k) { p[k] = p[k + 1]; }"
        "__device__ float at(const float *p, int k) { return p[k]; }"
        "__device__ int rounded(int k) { return k & ~3; }"
    )
    assert kernel_of(body, before).needs_warps


@pytest.mark.parametrize(
    "body",
    [
        "a[j * n + i] += 1;",
        "a[j * n + i] = a[j * n + i] * 2 + b[j * n + i + 1];",
        "a[i + n * j] = a[n * j + i] + 1;",
        "A[j][i] += 1;",
        "A[j][i] = b[i];",
        "float *p = a + j * n; p[i] = sinf(p[i]);",
        "float &x = a[j * n + i]; x += b[i + 1]; x *= 2;",
        "for (int k = 0; k < n; k++) a[j * n + i] += b[j * n + k] * b[k * n + i];",
        "float s[4]; s[0] = b[i]; s[1] = s[0]; a[j * n + i] = s[1];",
        "a[j * n + i] = b[c[i]];",
        "a[c[i]] = 1;",
        "atomicAdd(&a[i / 4], a[0]);",
        "a[place(i, j, n)] -= 3;",
        "add(a, j * n + i);",
        "int k = j * n + i; a[k] = scaled(a[k]);",
        "float2 *p = (float2 *)a; p[j * n + i].x = p[j * n + i].y;",
    ],
)
def test_warps_are_not_needed(body: str) -> None:
    before = (
        "__device__ int place(int x, int y, int w) { return y * w + x; }"
        "__device__ void add(float *p, int k) { p[k] += 1; }"
        "__device__ float scaled(float x) { return 2 * x; }"
    )
    assert not kernel_of(body, before).needs_warps


def test_candidates_that_keep_warps() -> None:
    free = (True, True, False)
    wide = candidate_blocks(free, (32, 8, 1), needs_warps=True)
    assert {x % 32 for x, _, _ in wide} == {0}
    assert (64, 4, 1) in wide
    rows = candidate_blocks(free, (16, 16, 1), needs_warps=True)
    assert rows == tuple((16, 1 << e, 1) for e in range(1, 7))
    assert candidate_blocks(free, (24, 4, 1), needs_warps=True) == ((24, 4, 1),)

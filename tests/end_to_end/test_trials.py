"""Candidates that are tried: results that differ in the order of additions alone are the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cutune_runs import QUICK, cutune

pytestmark = pytest.mark.nvcc

#: Parameters that are arrays of arrays are pointers to rows.
ROWS = """
#include <cstdio>
#include <cstdlib>
__global__ void gather(float sums[6][5], const float (*from)[5], int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int k = 0; k < n / 100; ++k)
            atomicAdd(&sums[(i + k) % 6][k % 5], from[(i * 7 + k * 31) % n][k % 5] / 3);
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    float *sums, *from;
    cudaMallocManaged(&sums, 6 * 5 * 4);
    cudaMallocManaged(&from, 20 * n);
    for (int i = 0; i < 5 * n; ++i) from[i] = i % 977 * 0.37f;
    gather<<<(n + 255) / 256, 256>>>((float(*)[5])sums, (float(*)[5])from, n);
    cudaDeviceSynchronize();
    printf("%.2g\\n", sums[7] / n);
}
"""


@pytest.mark.parametrize(("factor", "is_wrong"), [("1", False), ("(1 + threadIdx.x % 7)", True)])
def test_numbers_in_rows_are_compared_as_numbers(
    tmp_path: Path, factor: str, is_wrong: bool
) -> None:
    source = tmp_path / "rows.cu"
    pragma = "#pragma cutune kernel gather data(n) block(x: 32, 96, 256) grid(ceil(n / x))\n"
    text = ROWS.replace("from[(", f"{factor} * from[(")
    source.write_text(text.replace("__global__", f"{pragma}__global__"))
    done = cutune(
        *("collect", source, "--run", "{program} {n}", "--vary", "n=3000"),
        *("--workspace", tmp_path / "work", *QUICK),
    )
    assert done.returncode == 0, done.stderr
    assert ("numbers differ by up to" in done.stderr) == is_wrong
    assert ("CT416" in done.stderr) == is_wrong

"""Projects whose compiler runs in another folder than `cutune tune --make`: recursive makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cutune_runs import QUICK_FLAGS, cutune

pytestmark = pytest.mark.nvcc

SOURCE = """#include <stdlib.h>
__global__ void halve(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] /= 2;
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    float *a;
    cudaMalloc(&a, n * sizeof(float));
    halve<<<(n + 31) / 32, 32>>>(n, a);
    if (argc > 2)
        halve<<<(n + 31) / 32, 32>>>(n, a);
    return cudaDeviceSynchronize();
}
"""
MAKEFILE = f"""NVCC ?= nvcc
app: app.cu
\t$(NVCC) {" ".join(QUICK_FLAGS)} app.cu -o $@
"""


def test_sources_are_known_by_the_folder_of_their_compiler(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.cu").write_text(SOURCE)
    (tmp_path / "src" / "Makefile").write_text(MAKEFILE)
    options = ("--run", "src/app {n}", "--vary", "n=1000,3000", "--variants=none", "-q")
    done = cutune("tune", "--make", "make -C src", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # Messages and the summary name it as one would open it from here.
    assert "src/app.cu:12:9: warning: this launch of 'halve' did not happen" in done.stderr
    assert "  src/app.cu:10  halve  tuned" in done.stdout
    assert "  src/app.cu:12  halve  not modelled" in done.stdout
    assert b"cutune_select_halve" in (tmp_path / "src" / "app").read_bytes()

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


@pytest.mark.long
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


@pytest.mark.long
def test_a_kernel_of_another_folder_is_found(tmp_path: Path) -> None:
    """It is linked from an archive, which is made again with the objects."""
    start = SOURCE.index("__global__")
    end = SOURCE.index("int main")
    declared = "extern __global__ void halve(int n, float *a);\n"
    flags = f"{' '.join(QUICK_FLAGS)} -rdc=true"
    files = {
        "lib/k.cu": SOURCE[start:end],
        "app/app.cu": SOURCE[:start] + declared + SOURCE[end:],
        "Makefile": "all:\n\t$(MAKE) -C lib\n\t$(MAKE) -C app\n",
        "lib/Makefile": f"libk.a: k.cu\n\tnvcc {flags} -c k.cu -o k.o\n\tnvcc -lib k.o -o $@\n",
        "app/Makefile": f"app: app.cu ../lib/libk.a\n\tnvcc {flags} app.cu -L../lib -lk -o $@\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    options = ("--run", "app/app {n}", "--vary", "n=1000,3000", "--variants=none", "-q")
    done = cutune("tune", "--make", "make", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "  app/app.cu:7  halve  tuned" in done.stdout

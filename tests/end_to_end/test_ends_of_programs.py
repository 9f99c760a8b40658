"""How programs end: by signals, not at all, or when a process that they have forked has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.emulator import run
from tests.support.cutune_runs import QUICK, cutune

pytestmark = pytest.mark.nvcc

FORKED = """#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>
__global__ void scale(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 2 * a[i] + 1;
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]), status = 0;
    if (fork() == 0) {
        float *a;
        cudaMalloc(&a, n * sizeof(float));
        cudaMemset(a, 0, n * sizeof(float));
        scale<<<(n + 255) / 256, 256>>>(n, a);
        _exit(cudaDeviceSynchronize() == cudaSuccess ? 7 : 1);
    }
    wait(&status);
    return WEXITSTATUS(status) == 7 ? 0 : 3;
}
"""

#: A global object launches once threads have given back what they kept.
LATE = """#include <cstdio>
__global__ void scale(int *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = a[i] * 3 + i;
}
struct Late {
    int *a = nullptr, n = 700;
    Late() { cudaMallocManaged(&a, n * sizeof(int)); }
    ~Late() {
        scale<<<(n + 127) / 128, 128>>>(a, n);
        const cudaError_t found = cudaDeviceSynchronize();
        printf("late %d %d\\n", a[n - 1], int(found));
    }
} late;
int main() {
    int *a;
    cudaMallocManaged(&a, 400);
    scale<<<1, 100>>>(a, 100);
    return cudaDeviceSynchronize();
}
"""


def script(folder: Path, text: str) -> str:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_the_signal_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main_run([script(tmp_path, "kill -SEGV $$")]) == 139
    assert "SIGSEGV" in capsys.readouterr().err
    assert run.main_run([script(tmp_path, "exit 139")]) == 139
    assert "SIG" not in capsys.readouterr().err


@pytest.mark.long
def test_a_limit_is_offered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "LONG_SECONDS", 0)
    program = script(tmp_path, "sleep 1")
    run.main_run([program], limit=5)
    assert "--limit" not in capsys.readouterr().err
    run.main_run([program])
    assert "--limit N" in capsys.readouterr().err


def test_a_process_that_a_program_forks_goes_on_behind_its_experiments(tmp_path: Path) -> None:
    (tmp_path / "app.cu").write_text(FORKED)
    done = cutune(
        *("tune", "app.cu", "--run", "./{program} {n}", "--vary", "n=1000,3000", *QUICK),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "1 launch: 1 tuned" in done.stdout


def test_an_object_that_goes_launches(tmp_path: Path) -> None:
    (tmp_path / "late.cu").write_text(LATE)
    done = cutune("run", "late.cu", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "late 699 0" in done.stdout

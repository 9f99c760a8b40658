"""Loops that step by all threads: launched with as many as fill the GPU, where that is proven."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.cutune_runs import QUICK, cutune

pytestmark = pytest.mark.nvcc

#: Bodies of kernels (float *out, const float *in, int n, int *c), their configuration, and whether
#: they get other threads.
KERNELS: Mapping[str, tuple[str, str, bool]] = {
    "copied": ("EACH out[i] = 2 * in[i];", "1, 256", True),
    "one_thread": ("EACH out[i] = in[i] + 1;", "1, 1", True),
    "counted": ("EACH atomicAdd(c + (int)in[i] % 7, 1);", "2, 64", True),
    "summed": ("float s = 0; EACH s += in[i]; out[ID] = s;", "1, 256", False),
    "by_threads": ("EACH out[i] = i % (gridDim.x * blockDim.x);", "1, 128", False),
    "in_one_array": ("out = (float *)in + n; EACH out[i] = in[i];", "1, 64", False),
}
HEAD = """#include <cstdio>
#include <cstdlib>
#define ID (blockIdx.x * blockDim.x + threadIdx.x)
#define EACH for (int i = ID; i < n; i += gridDim.x * blockDim.x)
"""
MAIN = """
int main(int argc, char **argv) {
    int n = atoi(argv[1]), *c;
    float *out, *in;
    cudaMallocManaged(&out, 8 * n + 4096);
    cudaMallocManaged(&in, 8 * n + 4096);
    cudaMallocManaged(&c, 32);
    for (int i = 0; i < 2 * n; ++i) in[i] = i * 37 % 101, out[i] = 0;
    for (int i = 0; i < 8; ++i) c[i] = 0;
    unsigned sum = 0;
"""
LAUNCH = """    {name}<<<{shape}>>>(out, in, n, c);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (int i = 0; i < 2 * n; ++i) sum = 31 * sum + *(unsigned *)(out + i);
    for (int i = 0; i < 8; ++i) sum = 31 * sum + c[i];
"""


def program() -> str:
    texts = "".join(
        f"__global__ void {name}(float *out, const float *in, int n, int *c) {{ {body} }}\n"
        for name, (body, _, _) in KERNELS.items()
    )
    launches = "".join(LAUNCH.format(name=n, shape=shape) for n, (_, shape, _) in KERNELS.items())
    return f'{HEAD}{texts}{MAIN}{launches}    printf("%u\\n", sum);\n}}\n'


@pytest.mark.long
def test_as_many_threads_as_fill_the_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "app.cu"
    path.write_text(program())
    running = ("--run", "./{program} {n}", "--vary", "n=3000,9000")
    done = cutune("tune", path, *running, *QUICK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "as good as any" not in done.stdout
    rows = [line for line in done.stdout.splitlines() if "app.cu:" in line]
    idle = {row.split()[1] for row in rows if "multiprocessors idle" in row}
    assert idle == {name for name, (_, _, is_free) in KERNELS.items() if not is_free}, rows
    monkeypatch.setenv("CUTUNE", "verbose")
    for n in (1, 300, 5000, 300_000):
        own, tuned = (
            cutune("run", tmp_path / name, n, cwd=tmp_path) for name in ("app.cu", "app.tuned.cu")
        )
        assert (own.returncode, own.stdout) == (0, tuned.stdout), tuned.stderr
        changed = dict(re.findall(r"cutune: (\w+): (\d+) threads in place of", tuned.stderr))
        free = {name for name, (_, _, is_free) in KERNELS.items() if is_free}
        assert {*changed} <= free
        if n >= 5000:
            # Atomic operations on few addresses take as long with any number of threads.
            assert {*changed} >= free - {"counted"}
            assert {*changed.values()} == {str(min(n, 2048 * 132))}


@pytest.mark.long
def test_shaken_programs_draw_how_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, kept = tmp_path / "app.cu", tmp_path / "kept"
    path.write_text(program())
    running = ("--run", "./{program} {n}", "--vary", "n=1,900", "--seeds", "4", "--keep", kept)
    done = cutune("shake", path, *running, cwd=tmp_path)
    assert (done.returncode, done.stdout[:5]) == (0, "same:"), done.stdout + done.stderr
    monkeypatch.setenv("CUTUNE", "verbose")
    drawn = set[str]()
    for seed in range(1, 5):
        monkeypatch.setenv("CUTUNE_SEED", str(seed))
        said = cutune("run", kept / "shaken" / "app", "900", cwd=tmp_path).stderr
        drawn.update(re.findall(r"cutune: (\w+): \d+ threads$", said, re.MULTILINE))
    assert drawn == {name for name, (_, _, is_free) in KERNELS.items() if is_free}

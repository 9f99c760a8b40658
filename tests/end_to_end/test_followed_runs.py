"""Remedies of messages about programs that run, followed to the letter: they are silent then."""

from __future__ import annotations

import math
import re
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from cutune.toolchain.nvcc import find_nvcc
from tests.support.cutune_runs import QUICK, build_flags, cutune

pytestmark = [pytest.mark.nvcc, pytest.mark.long]

#: Sums of a part of a row whose length is loaded: counted while the program runs.
ROWS = """#include <cstdlib>
__global__ void sum(int n, int m, const int *ends, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    if (i < n) {
        for (int j = 0; j < m + ends[i]; ++j) s += x[j];
        y[i] = s;
    }
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), m = atoi(argv[argc - 1]), *ends;
    float *x, *y;
    cudaMallocManaged(&ends, n * sizeof(int));
    cudaMallocManaged(&x, (m + 1) * sizeof(float));
    cudaMallocManaged(&y, n * sizeof(float));
    for (int i = 0; i < n; ++i) ends[i] = i % 2;
    sum<<<(n + 255) / 256, 256>>>(n, m, ends, x, y);
    cudaDeviceSynchronize();
}
"""
#: Reverses parts of an array in shared memory.
SHARED = """#include <cstdlib>
#pragma cutune kernel turn block(x: 64..256) shared(FORMULA)
__global__ void turn(int n, float *a)
{
    extern __shared__ float s[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) a[i] = 2 * s[threadIdx.x];
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]), block = 128;
    float *a;
    cudaMallocManaged(&a, n * sizeof(float));
    turn<<<n / block, block, block * sizeof(float)>>>(n, a);
    cudaDeviceSynchronize();
}
"""
HEADER = """__global__ void k(int n, float *a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 1;
}
inline void run(int n, float *a) { k<<<(n + 255) / 256, 256>>>(n, a); }
"""
USED = '#include "k.cuh"\nint main() { run(32, nullptr); }\n'
NO_SIZE = """__global__ void k(int n, float *a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 1;
}
int main(int argc, char **argv)
{
    float *a;
    cudaMalloc(&a, 128);
    if (argc > 1) k<<<1, 32>>>(32, a);
}
"""
PARAMETER = """#include <cstdlib>
__global__ void k(int n, float *a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 1;
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]);
    float *a;
    cudaMalloc(&a, n * sizeof(float));
    #pragma cutune tune(m: 32, 64) data(n)
    int m = 32;
    k<<<(n + m - 1) / m, m>>>(n, a);
    cudaDeviceSynchronize();
}
"""
INSTANCES = """#include <cstdlib>
template <class T> __global__ void fill(int n, T *a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 1;
}
int main(int argc, char **argv)
{
    int n = atoi(argv[1]);
    double *a;
    cudaMallocManaged(&a, n * sizeof(double));
    fill<<<(n + 255) / 256, 256>>>(n, a);
    fill<<<(n + 255) / 256, 256>>>(n, (float *)a);
    cudaDeviceSynchronize();
}
"""


def tune(folder: Path, text: str, run: str, *vary: str) -> CompletedProcess[str]:
    (folder / "app.cu").write_text(text)
    sizes = [word for one in vary for word in ("--vary", one)]
    return cutune("tune", "app.cu", *QUICK, "--run", run, *sizes, cwd=folder)


def test_a_name_for_each_size(tmp_path: Path) -> None:
    alike = tune(tmp_path, ROWS, "./{program} {n}", "n=256,512")
    assert "'n' and 'm' of kernel 'sum' are equal in all runs" in alike.stderr
    assert "--vary takes a name for each [CT403]" in alike.stderr
    apart = tune(tmp_path, ROWS, "./{program} {n} {m}", "n=256,512", "m=256,512")
    assert apart.returncode == 0 and "CT403" not in apart.stderr


def test_inspect_says_what_tune_says_of_data(tmp_path: Path) -> None:
    said = tune(tmp_path, ROWS, "./{program} {n} 64", "n=256,512").stderr
    (reason,) = re.findall(r"should be typical: (.*) \[CT418\]", said)
    shown = cutune("inspect", "app.cu", *QUICK[:2], cwd=tmp_path).stdout
    assert f"sum is counted on the data of the runs: {reason} [CT418]\n" in shown
    assert "1 launch, 1 tunable\n" in shown


def test_a_formula_of_shared_memory_is_corrected(tmp_path: Path) -> None:
    run = "./{program} {n}", "n=1024,2048"
    wrong = tune(tmp_path, SHARED.replace("FORMULA", "8 * x"), *run)
    asked = re.findall(r"is not the (\d+) bytes .* correct the formula \[CT449\]", wrong.stderr)
    assert asked == [str(4 * 128)], wrong.stderr
    right = tune(tmp_path, SHARED.replace("FORMULA", f"{int(asked[0]) // 128} * x"), *run)
    assert right.returncode == 0 and "CT449" not in right.stderr, right.stderr


def test_a_folder_for_headers(tmp_path: Path) -> None:
    (tmp_path / "k.cuh").write_text(HEADER)
    (tmp_path / "app.cu").write_text(USED)
    words = ("instrument", "app.cu", *QUICK[:2])
    wrong = cutune(*words, "-o", "made.cu", cwd=tmp_path)
    proposed = re.findall(r"write: (-o \S+) \[CT013\]", wrong.stderr)
    assert wrong.returncode == 1 and proposed, wrong.stderr
    right = cutune(*words, *proposed[0].split(), cwd=tmp_path)
    assert right.returncode == 0, right.stderr
    assert "cutune_launch" in (tmp_path / proposed[0].split()[1] / "k.cuh").read_text()


def test_what_cutune_wrote_is_made_from_another(tmp_path: Path) -> None:
    assert tune(tmp_path, ROWS, "./{program} {n} 64", "n=256,512").returncode == 0
    again = cutune("inspect", "app.tuned.cu", cwd=tmp_path)
    assert again.returncode == 1 and "the program that it was made from [CT011]" in again.stderr
    assert cutune("inspect", "app.cu", cwd=tmp_path).returncode == 0


def test_a_program_that_needs_arguments(tmp_path: Path) -> None:
    (tmp_path / "app.cu").write_text(NO_SIZE)
    program = tmp_path / "app"
    find_nvcc().check([str(tmp_path / "app.cu"), *build_flags(), "-o", str(program)])
    wrong = cutune("run", program, cwd=tmp_path)
    assert "are its arguments right? [CT442]" in wrong.stderr
    right = cutune("run", program, "1", cwd=tmp_path)
    assert "k: 1 launch" in right.stderr and "CT442" not in right.stderr


def test_what_is_timed_is_named(tmp_path: Path) -> None:
    source = tmp_path / "app.cu"
    words = ("collect", "app.cu", "--tunables", *QUICK[:2], "--run", "./{program} {n}", "--vary")
    source.write_text(PARAMETER)
    wrong = cutune(*words, "n=64,128", cwd=tmp_path)
    told = r"write (#.* begin) before it, and (#.* end) behind it, for instance .* line (\d+) of"
    begin, end, line = re.findall(told, wrong.stderr)[0]
    lines = source.read_text().splitlines()
    at = int(line) - 1
    source.write_text("\n".join([*lines[:at], begin, lines[at], end, *lines[at + 1 :], ""]))
    right = cutune(*words, "n=64,128", cwd=tmp_path)
    assert wrong.returncode == 1 and "[CT483]" in wrong.stderr
    assert right.returncode == 0, right.stderr


def test_a_size_that_blocks_divide(tmp_path: Path) -> None:
    def left_out(*sizes: int) -> list[int]:
        run = "./{program} {n}", f"n={','.join(map(str, sizes))}"
        done = tune(tmp_path, SHARED.replace("FORMULA", "4 * x"), *run)
        told = (
            r"are left out: (.*); add a size at which they divide its number of threads \[CT448\]"
        )
        found = re.findall(told, done.stderr)
        return [int(one) for one in re.findall(r"\d+", found[0])] if found else []

    blocks = left_out(1920, 3840)
    assert blocks and all(1920 % one for one in blocks)
    assert left_out(1920, 3840, math.lcm(128, *blocks)) == []  # added, as it says


def test_one_formula_for_all_launches(tmp_path: Path) -> None:
    launch = "    turn<<<n / block, block, block * sizeof(float)>>>(n, a);\n"
    assert launch in SHARED
    other = launch.replace("block * sizeof(float)", "block * block / 32")
    twice = SHARED.replace(launch, launch + other)
    wrong = tune(tmp_path, twice.replace(" shared(FORMULA)", ""), "./{program} {n}", "n=2048,4096")
    assert "write shared(...) in the annotation of the kernel [CT419]" in wrong.stderr
    right = tune(tmp_path, twice.replace("FORMULA", "4 * x"), "./{program} {n}", "n=2048,4096")
    assert right.returncode == 0 and "CT419" not in right.stderr, right.stderr


def test_an_instance_is_named(tmp_path: Path) -> None:
    done = tune(tmp_path, INSTANCES, "./{program} {n}", "n=256,512,1024")
    assert done.returncode == 0, done.stderr
    wrong = cutune("select", "fill", "n=4096", cwd=tmp_path)
    named = re.findall(
        r"as an instance: '([^']+)' in \S+, '([^']+)' in \S+ \[CT514\]", wrong.stderr
    )
    assert wrong.returncode == 1 and len(named) == 1, wrong.stderr
    for instance in named[0]:
        right = cutune("select", instance, "n=4096", cwd=tmp_path)
        assert right.returncode == 0, right.stderr

"""Suggested annotations are tried on the emulated device before they are printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cutune.check.tried_suggestions import tried
from cutune.measure.program_runs import RunPlan
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.analysis.suggestions import NOT_TRIED, Suggestion
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device_code import EMULATED
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK, cutune

pytestmark = pytest.mark.nvcc

PROGRAM = """
#include <cstdio>
#include <cstdlib>
// Proposed by inspect, and right.
__global__ void scan(float *a) {
    __shared__ float own[256 + 1];
    int tid = threadIdx.x, width = (int)blockDim.x, block = blockIdx.x;
    own[tid] = a[block * width + tid];
    __syncthreads();
    a[block * width + tid] = own[tid] + 1;
}
// The neighbour is one of the block.
__global__ void shifted(const float *a, float *b, int n) {
    __shared__ float t[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    t[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    if (i < n) b[i] = t[(threadIdx.x + 1) % blockDim.x];
}
// Rows that are none: each block has the elements of its own threads.
__global__ void sums(const int *a, int *b, int n) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&sum, a[i]);
    __syncthreads();
    if (threadIdx.x == 0) b[blockIdx.x] = sum;
}
// Each block fills a table.
__global__ void looked_up(const float *table, float *out, int n) {
    __shared__ float own[1024];
    for (int k = threadIdx.x; k < 1024; k += blockDim.x) own[k] = table[k];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = own[i * 7 % 1024];
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 4096, *c, *d;
    float *a, *b;
    cudaMallocManaged(&a, n * 4);
    cudaMallocManaged(&b, n * 4);
    cudaMallocManaged(&c, n * 4);
    cudaMallocManaged(&d, n * 4);
    for (int i = 0; i < n; ++i) a[i] = c[i] = i + 1;
    scan<<<n / 256, 256>>>(b);
    shifted<<<n / 128, 128>>>(a, b, n);
    sums<<<n / 128, 128>>>(c, d, n);
    looked_up<<<n / 256, 256>>>(a, b, n);
    return cudaDeviceSynchronize() != cudaSuccess;
}
"""
PRAGMAS = {
    "shifted": "#pragma cutune kernel shifted data(n) block(x: 32..1024) grid(ceil(n / x))",
    "sums": "#pragma cutune kernel sums data(n) block(x: 32..1024) grid(keep)",
    "looked_up": "#pragma cutune kernel looked_up data(n) block(x: 32..1024) grid(ceil(n / x))",
    "absent": "#pragma cutune kernel absent block(x: 32..64)",
}
RUN = ("--run", "./{program} {n}", "--vary", "n=2048,4096")


def suggested(path: Path) -> Iterator[Suggestion]:
    for kernel, pragma in PRAGMAS.items():
        yield Suggestion(str(path), 4, kernel, (50,), "CT211", pragma, "", NOT_TRIED)


def test_what_is_wrong_or_does_more_work_is_not_proposed(tmp_path: Path) -> None:
    source = tmp_path / "app.cu"
    source.write_text(PROGRAM)
    analyzer = Analyzer(Toolchain(None, ("-std=c++14",), (EMULATED,)))
    plan = RunPlan("./{program} {n}", {"n": ["2048", "4096"]}, "paper")
    found = tried(
        analyzer, [str(source)], list(suggested(source)), plan, DeviceProfile.named("h200")
    )
    shifted, sums, looked_up, absent = found
    assert shifted.pragma is None
    assert "change with block 32 at n=2048" in shifted.text
    assert "b[127] is 97 in place of 1 with block 32" in shifted.text
    assert sums.pragma is None and "d[0]" not in sums.text and "b[0] is 528 in " in sums.text
    assert looked_up.pragma is not None and "(x: 256..1024)" in looked_up.pragma
    assert "block 32 does" in str(looked_up.tried)
    assert absent.pragma is None and "no launch may be tuned with it" in absent.text
    assert [path.name for path in tmp_path.iterdir()] == ["app.cu"]


def test_inspect_tries_where_it_can_run_the_program(tmp_path: Path) -> None:
    source = tmp_path / "app.cu"
    source.write_text(PROGRAM)
    inspect = ("inspect", source, "--suggest", "--json", *QUICK)
    untried = json.loads(cutune(*inspect).stdout)["suggestions"]
    (scan,) = (one for one in untried if one["pragma"] is not None)
    assert scan["kernel"] == "scan" and scan["tried"] == NOT_TRIED
    done = cutune(*inspect, *RUN)
    assert done.returncode == 0, done.stderr
    (again,) = (one for one in json.loads(done.stdout)["suggestions"] if one["pragma"])
    assert again["pragma"] == scan["pragma"]
    assert "with n=2048 and n=4096" in again["tried"] and "1.00 times the work" in again["tried"]


def test_wrong_options_are_told(tmp_path: Path) -> None:
    source = tmp_path / "app.cu"
    source.write_text("int main(int, char **argv) { return argv[1] != nullptr; }")
    done = cutune("inspect", source, "--vary", "n=1,2")
    assert done.returncode == 2 and "--vary is for --suggest with --run" in done.stderr
    done = cutune("inspect", source, "--suggest", "--run", "./{program} {n}")
    assert done.returncode == 1 and "CT410" in done.stderr


def test_a_wrong_annotation_names_the_value_that_shows_it(tmp_path: Path) -> None:
    source = tmp_path / "app.cu"
    pragma = PRAGMAS["sums"], "#pragma cutune kernel shifted associative"
    source.write_text("\n".join([*pragma, PROGRAM]))
    done = cutune("collect", source, *RUN, "--workspace", tmp_path / "work", *QUICK)
    (told,) = (line for line in done.stderr.splitlines() if "CT416" in line)
    assert "b[0] is 528 in place of 8256 with block 32" in told
    (ignored,) = (line for line in done.stderr.splitlines() if "CT285" in line)
    assert "'t' has a place for each threadIdx.x; leave out 'associative'" in ignored

"""One block per row: the number of blocks stays, their size is chosen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.support.cutune_runs import QUICK, compiled, cutune, run, select

#: Their grids are made by the `min` that CUDA has for the host.
pytestmark = [pytest.mark.nvcc, pytest.mark.usefixtures("all_headers")]

#: `softmax` is right for powers of two. `tiles` splits rows of the grid among threads in y.
PROGRAM = """
#include <cmath>
#include <cstdio>
#include <cstdlib>
#pragma cutune kernel softmax data(n) block(x: 32, 64, 96, 128, 256, 512, 1024) grid(keep)
__global__ void softmax(const float *in, float *out, int n) {
    __shared__ float cache[1024];
    const float *row = in + (size_t)blockIdx.x * n;
    float most = -INFINITY;
    for (int i = threadIdx.x; i < n; i += blockDim.x) most = fmaxf(most, row[i]);
    cache[threadIdx.x] = most;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            cache[threadIdx.x] = fmaxf(cache[threadIdx.x], cache[threadIdx.x + half]);
        __syncthreads();
    }
    most = cache[0];
    __syncthreads();
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += expf(row[i] - most);
    cache[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) cache[threadIdx.x] += cache[threadIdx.x + half];
        __syncthreads();
    }
    sum = cache[0];
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[blockIdx.x * n + i] = expf(row[i] - most) / sum;
}
#pragma cutune kernel tiles data(n) block(x: 8, 16, 32, y: 4..32) grid(ceil(n / x), keep)
__global__ void tiles(const float *in, float *out, int n) {
    __shared__ float tile[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.y == 0) tile[threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    if (i < n)
        for (int j = threadIdx.y; j < n; j += blockDim.y)
            out[(blockIdx.y * n + j) * n + i] += tile[threadIdx.x] * j;
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100, rows = argc > 2 ? atoi(argv[2]) : 24, count = 2 * n * n;
    if (count < rows * n) count = rows * n;
    float *h = new float[count];
    for (int i = 0; i < count; ++i) h[i] = i * 7919 % 1000 / 100.0f;
    float *a, *b;
    cudaMalloc(&a, count * 4);
    cudaMalloc(&b, count * 4);
    cudaMemset(b, 0, count * 4);
    cudaMemcpy(a, h, count * 4, cudaMemcpyHostToDevice);
    softmax<<<rows, 256>>>(a, b, n);
    tiles<<<dim3((n + 15) / 16, 2), dim3(16, 16)>>>(a, b, n);
    cudaMemcpy(h, b, count * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < count; i += 37) printf("%.4g\\n", h[i]);
    return cudaGetLastError() != cudaSuccess;
}
"""


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rows")
    source = folder / "rows.cu"
    source.write_text(PROGRAM)
    done = cutune(
        *("tune", source, "--run", "./{program} {n}", "--vary", "n=100,300"),
        *("--workspace", folder / "work", "-o", folder / "rows.tuned.cu", *QUICK),
    )
    assert done.returncode == 0, done.stderr
    # A reduction by halves loses summands where it starts from 96: it is proven without.
    assert "CT416" not in done.stderr, done.stderr
    return folder


@pytest.mark.long
def test_the_choice_keeps_the_grid(tuned: Path) -> None:
    small = select("softmax", tuned / "work", "n=64", "G.x=100000")
    large = select("softmax", tuned / "work", "n=20000", "G.x=20")
    assert {entry["grid"][0] for entry in small["ranked"]} == {100000}
    assert {entry["block"][0] for entry in small["ranked"]} == {32, 64, 128, 256, 512, 1024}
    # Short rows leave most threads of a large block without work, few rows a GPU of small ones.
    assert small["choice"]["block"][0] <= 128
    assert large["choice"]["block"][0] >= 512
    both = select("tiles", tuned / "work", "n=1000", "G.y=2")["ranked"]
    assert all(entry["grid"][:2] == [-(-1000 // entry["block"][0]), 2] for entry in both)
    assert len(both) == 12


def test_results_stay(tuned: Path) -> None:
    programs = [
        compiled(tuned / name, tuned / "rows.cu", tuned / name.removesuffix(".cu"))
        for name in ("rows.cu", "rows.tuned.cu")
    ]
    for sizes in (("100", "24"), ("777", "3"), ("64", "500"), ("2000", "1")):
        asked, chosen = (run(binary, *sizes, CUTUNE="verbose") for binary in programs)
        assert asked.returncode == chosen.returncode == 0
        assert chosen.stdout == asked.stdout != ""
        decisions = re.findall(r"(\w+), (\d+) x \d+ x 1 blocks or threads: block", chosen.stderr)
        assert decisions == [("softmax", sizes[1]), ("tiles", sizes[0])]
    done = cutune(
        *("verify", *programs, "--run", "./{program} {n}", "--vary", "n=50,1000"),
        *("--tolerance", "1e-5"),
    )
    assert done.returncode == 0, done.stderr


def tuned_together(folder: Path, text: str, sizes: str) -> CompletedProcess[str]:
    """Tune a program of several kernels; what it says."""
    source = folder / "app.cu"
    source.write_text(text)
    done = cutune(
        *("tune", source, "--run", "./{program} {n}", "--vary", f"n={sizes}"),
        *("--workspace", folder, "-o", folder / "app.tuned.cu", *QUICK),
    )
    assert done.returncode == 0, done.stderr
    return done


SUMS = """
#include <cstdio>
#include <cstdlib>
#pragma cutune kernel chunk_sums data(n) block(x: 32, 64, 128, 256, 512, 1024) grid(keep)
__global__ void chunk_sums(int n, const int *values, int *sums) {
    __shared__ int partial[1024];
    int start = blockIdx.x * 2000, end = min(start + 2000, n), sum = 0;
    for (int i = start + threadIdx.x; i < end; i += blockDim.x) sum += values[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}
DOTS
int main(int argc, char **argv) {
    int n = atoi(argv[1]), *values, *sums;
    cudaMallocManaged(&values, n * 4);
    cudaMallocManaged(&sums, n * 4);
    for (int i = 0; i < n; ++i) values[i] = i % 10;
    chunk_sums<<<(n + 1999) / 2000, 256>>>(n, values, sums);
    LAUNCHES
    cudaDeviceSynchronize();
    printf("%d\\n", sums[0]);
}
"""
DOT = """
#pragma cutune kernel dot_MOST data(n) block(x: 32, 64, 128, 256, 512, 1024) grid(keep)
__global__ void dot_MOST(int n, int shift, const int *a, const int *b, int *sum) {
    int own = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        own += (a[i] >> shift) * b[i];
    for (int s = 16; s > 0; s /= 2) own += __shfl_down_sync(0xffffffffu, own, s);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, own);
}
"""
LAUNCH = """
    *sums = 0;
    dot_MOST<<<min((n + 255) / 256, MOST), 256>>>(n, 0, values, values, sums);
"""
#: The most blocks of each.
MOST = (64, 264, 100_000)


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace of a tuned program of sums over parts of fixed size, and in strides."""
    folder = tmp_path_factory.mktemp("sums")
    dots, launches = (
        "".join(text.replace("MOST", str(most)) for most in MOST) for text in (DOT, LAUNCH)
    )
    text = SUMS.replace("DOTS", dots).replace("LAUNCHES", launches)
    tuned_together(folder, text, "30000,110000")
    return folder


@pytest.mark.long
def test_blocks_with_a_part_of_fixed_size_all_have_work(sums: Path) -> None:
    times = {}
    for blocks in (100, 20_000):
        answer = select("chunk_sums", sums, f"n={2000 * blocks}", f"G.x={blocks}")
        times[blocks] = {e["block"][0]: 1000 * e["predicted_ms"] for e in answer["ranked"]}
    # Few blocks: 63 steps one after the other instead of 8.
    assert times[100][32] > 2 * times[100][256]
    # In microseconds at least what memory takes for all of it (4.8 TB/s).
    assert times[20_000][256] > 20_000 * 8000 / 4.8e6


@pytest.mark.parametrize("most", MOST)
def test_blocks_that_divide_any_work_all_have_some(sums: Path, most: int) -> None:
    answer = select(f"dot_{most}", sums, "n=1000000000", "G.x=264")
    times = {e["block"][0]: 1000 * e["predicted_ms"] for e in answer["ranked"]}
    # Two blocks per SM: small ones have too few loads on their way.
    assert times[32] > 4 * times[1024] and times[32] > 2 * times[128]
    # In microseconds at least what memory takes for both arrays.
    assert min(times.values()) > 1e9 * 4 / 4.8e6


@dataclass(frozen=True)
class Inexact:
    """A kernel whose results are off by a part in blocks of 64 threads."""

    name: str
    number: str
    value: str
    off: float

    @property
    def text(self) -> str:
        return f"""
#pragma cutune kernel {self.name} data(n) block(x: 32, 64, 128) grid(ceil(n / x))
__global__ void {self.name}(int n, float off, const float *in, {self.number} *out) {{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = {self.value.replace("x", "in[i] * (blockDim.x == 64 ? 1 + off : 1)")};
}}
"""

    def launch(self, values: str) -> str:
        """Results of its own, behind which large numbers lie that nobody writes."""
        return f"""{{
        {self.number} *out;
        cudaMallocManaged(&out, 2 * n * sizeof *out);
        cudaMemset(out + n, 0x70, n * sizeof *out);
        {self.name}<<<(n + 127) / 128, 128>>>(n, {self.off:.12f}f, {values}, out);
    }}
"""


def short(name: str, number: str, convert: str, unit: float) -> list[Inexact]:
    """Off by a tenth of a unit in the last place, and by four."""
    return [
        Inexact(f"{name}_{which}", number, f"{convert}(x)", off)
        for which, off in (("right", unit / 10), ("wrong", unit * 4))
    ]


SHORT = [
    *short("half", "__half", "__float2half", 2**-10),
    *short("half2", "__half2", "__float2half2_rn", 2**-10),
    *short("bfloat16", "__nv_bfloat16", "__float2bfloat16", 2**-7),
]
#: Off by two units in the last place of what is subtracted from, and by sixteen thousand.
CANCELLING = [
    Inexact("cancel_right", "float", "x - 1", 2**-22),
    Inexact("cancel_wrong", "float", "x - 1", 2**-9),
]
MOMENTS = """
#include <cstdio>
#include <cstdlib>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#pragma cutune kernel moments data(n) block(x: 32, 64, 128, 256) grid(keep) shared(16 * x)
__global__ void moments(int n, const float *in, double2 *out) {
    extern __shared__ double2 part[];
    double2 own = make_double2(0, 0);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const double value = sqrt(1.0 + in[blockIdx.x * n + i]);
        own.x += value;
        own.y += value * value;
    }
    part[threadIdx.x] = own;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            part[threadIdx.x].x += part[threadIdx.x + half].x;
            part[threadIdx.x].y += part[threadIdx.x + half].y;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
KERNELS
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    float *in, *both, *near;
    double2 *out;
    cudaMallocManaged(&in, 8 * n * sizeof(float));
    cudaMallocManaged(&both, n * sizeof(float));
    cudaMallocManaged(&near, n * sizeof(float));
    cudaMallocManaged(&out, 8 * sizeof(double2));
    for (int i = 0; i < 8 * n; ++i) in[i] = i * 7919 % 1000 / 997.0f;
    for (int i = 0; i < n; ++i) both[i] = (i % 2 ? 1 : -1) * (1 + in[i]);
    // One in seven is next to nothing when 1 is taken away.
    for (int i = 0; i < n; ++i) near[i] = i % 7 ? 0.3f + i % 5 : 1 + 1e-5f;
    moments<<<8, 128, 16 * 128>>>(n, in, out);
    LAUNCHES
    cudaDeviceSynchronize();
    printf("%.9g %.9g\\n", out[3].x, out[3].y);
}
"""


@dataclass(frozen=True)
class Rounding:
    """A tuned program of kernels that round."""

    workspace: Path
    #: The kernels of which candidates were left out.
    left_out: set[str]


@pytest.fixture(scope="module")
def rounding(tmp_path_factory: pytest.TempPathFactory) -> Rounding:
    folder = tmp_path_factory.mktemp("rounding")
    kernels = "".join(kernel.text for kernel in (*SHORT, *CANCELLING))
    launches = [
        *(kernel.launch("both") for kernel in SHORT),
        *(kernel.launch("near") for kernel in CANCELLING),
    ]
    text = MOMENTS.replace("KERNELS", kernels).replace("LAUNCHES", "".join(launches))
    done = tuned_together(folder, text, "500,3000")
    left_out = re.findall(r"kernel '(\w+)' gives other results .*\[CT416\]", done.stderr)
    assert len(left_out) == done.stderr.count("[CT416]")
    return Rounding(folder, set(left_out))


@pytest.mark.long
def test_sums_in_vectors_may_differ_in_the_last_bits(rounding: Rounding) -> None:
    assert "moments" not in rounding.left_out
    ranked = select("moments", rounding.workspace, "n=3000", "G.x=8")["ranked"]
    assert {entry["block"][0] for entry in ranked} == {32, 64, 128, 256}


@pytest.mark.parametrize("kernel", SHORT, ids=lambda kernel: kernel.name)
def test_numbers_of_16_bits_may_be_rounded_up_and_down(rounding: Rounding, kernel: Inexact) -> None:
    assert (kernel.name in rounding.left_out) == kernel.name.endswith("wrong")


@pytest.mark.parametrize("kernel", CANCELLING, ids=lambda kernel: kernel.name)
def test_what_is_left_of_large_terms_is_no_better_than_these(
    rounding: Rounding, kernel: Inexact
) -> None:
    assert (kernel.name in rounding.left_out) == kernel.name.endswith("wrong")

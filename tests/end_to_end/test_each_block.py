"""Tables and sums that each block makes for itself: any number of blocks gives the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.emulator.launch_log import read_launches
from cutune.emulator.program_builds import build
from cutune.model.emit.programs import random_program
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.rewrite.output import Target
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK, QUICK_FLAGS, cutune, run

pytestmark = pytest.mark.nvcc

#: Each kernel is launched as `KERNEL<<<(n + 95) / 96, 96>>>(a, b, n, c)`.
KERNELS = {
    "table": "__shared__ int s[64]; ROW s[j] = b[j]; WAIT if (i < n) a[i] = s[i % 64u];",
    "launched": (
        "extern __shared__ int whole[]; ROW whole[j] = b[j] * j; WAIT"
        " if (i < n) for (int k = 0; k < 64; ++k) a[i] += whole[k] * k;"
    ),
    "by_first": (
        "__shared__ int s[64]; FIRST for (int j = 0; j < 64; ++j) s[j] = b[j];"
        " WAIT if (i < n) a[i] += s[i % 64u];"
    ),
    "summing": (
        "__shared__ int s; FIRST s = 0; WAIT if (i < n) atomicAdd(&s, b[i]);"
        " WAIT if (threadIdx.x == blockDim.x - 1) atomicAdd(c, s);"
    ),
    "histogram": (
        "__shared__ int s[64]; ROW s[j] = 0; WAIT if (i < n) atomicAdd(s + b[i] % 64u, i);"
        " WAIT ROW atomicAdd(c + j, s[j]);"
    ),
    "idle_histogram": (
        "__shared__ int s[64]; ROW s[j] = 0; WAIT if (i < n) atomicAdd(s + b[i] % 64u, i);"
        " WAIT ROW if (s[j] != 0) atomicAdd(c + j, s[j]);"
    ),
    # Counts are told apart by more than nothing, and nothing by another count.
    "many": (
        "__shared__ int s[64]; ROW s[j] = 0; WAIT if (i < n) atomicAdd(s + b[i] % 64u, 1);"
        " WAIT ROW if (s[j] != 1) atomicAdd(c + j, s[j]);"
    ),
    "other_count": (
        "__shared__ int s[64]; ROW s[j] = 0; WAIT if (i < n) atomicAdd(s + b[i] % 64u, 1);"
        " WAIT ROW if (s[j] != 0) atomicAdd(c + j, s[j] + 1);"
    ),
    "greatest": (
        "__shared__ int s; FIRST s = 7; WAIT if (i < n) atomicMax(&s, b[i]);"
        " WAIT FIRST atomicMax(c, s);"
    ),
    # What each thread finds in its block, and sums of floating-point numbers in parts.
    "by_thread": "__shared__ int s[96]; s[threadIdx.x] = b[i]; WAIT if (i < n) a[i] = s[5];",
    "real_sum": (
        "__shared__ float s; FIRST s = 0; WAIT if (i < n) atomicAdd(&s, b[i] * 0.1f);"
        " WAIT FIRST atomicAdd((float *)c, s);"
    ),
}
STAYING = {"by_thread", "real_sum", "many", "other_count"}
#: Launches whose condition does not hold: the table is in the array that is written.
MEETING = "table<<<(n + 95) / 96, 96>>>(b, b, n, c);"
HEAD = """
#include <cstdio>
#include <cstdlib>
#define ROW for (int j = threadIdx.x; j < 64; j += blockDim.x)
#define FIRST if (threadIdx.x == 0)
#define WAIT __syncthreads();
"""
MAIN = """
enum { COUNT = 1 << 13 };
static int *a, *b, *c, host[COUNT];
void show(const char *name) {
    unsigned sum = 0;
    for (int *from : {a, b, c}) {
        cudaMemcpy(host, from, sizeof host, cudaMemcpyDeviceToHost);
        for (int value : host) sum = sum * 31 + value;
    }
    cudaMemset(a, 0, sizeof host);
    cudaMemset(c, 0, sizeof host);
    printf("%s %u %s\\n", name, sum, cudaGetErrorName(cudaGetLastError()));
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 90;
    for (int **array : {&a, &b, &c}) cudaMalloc(array, sizeof host);
    for (int i = 0; i < COUNT; ++i) host[i] = i * 53 % 97 - 40;
    cudaMemcpy(b, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemset(a, 0, sizeof host);
    cudaMemset(c, 0, sizeof host);
"""


def _program() -> str:
    kernels = "".join(
        f"__global__ void {name}(int *a, const int *b, int n, int *c) {{\n"
        f"    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    {body}\n}}\n"
        for name, body in KERNELS.items()
    )
    bytes_ = {"launched": ", 64 * sizeof(int)"}
    calls = "".join(
        f'    {name}<<<(n + 95) / 96, 96{bytes_.get(name, "")}>>>(a, b, n, c); show("{name}");\n'
        for name in KERNELS
    )
    return f'{HEAD}{kernels}{MAIN}{calls}    {MEETING} show("meeting");\n}}\n'


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("each") / "app.cu"
    path.write_text(_program())
    return path


@pytest.mark.long
def test_blocks_change_where_the_conditions_hold(source: Path, tmp_path: Path) -> None:
    analyzer = Analyzer()
    program = analyzer.load(str(source), require_nvcc=True)
    refused = {site.kernel for site in program.launches if site not in program.tunable_launches}
    assert refused == STAYING
    random = random_program(analyzer, program, 1, Target(tmp_path / "random.cu"))
    binary = build(
        analyzer.toolchain,
        random,
        analyzer.toolchain.compile_flags(str(source)),
        tmp_path / "random",
    )
    log, expected = tmp_path / "log", run(binary, CUTUNE="off").stdout
    widths: list[set[int]] = [set() for _ in (*KERNELS, MEETING)]
    for seed in range(6):
        log.unlink(missing_ok=True)
        assert run(binary, CUTUNE_SEED=str(seed), CUTUNE_LAUNCH_LOG=str(log)).stdout == expected
        for known, launch in zip(widths, read_launches(log), strict=True):
            known.add(launch.block[0])
    changed = [known != {96} for known in widths]
    assert changed == [*(name not in STAYING for name in KERNELS), False]


@pytest.mark.long
def test_any_block_gives_the_same(source: Path, tmp_path: Path) -> None:
    running = ("--run", "{program} {n}", "--vary", "n=1,64,97,4000")
    shaken = cutune("shake", source, *running, "--seeds", 6, *QUICK, cwd=tmp_path)
    assert shaken.returncode == 0, shaken.stdout + shaken.stderr


def test_blocks_do_the_ids_of_one_block_alone(source: Path) -> None:
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS))
    program = analyzer.with_checked_variants(analyzer.load(str(source), require_nvcc=True))
    kernel = next(one for one in program.kernels if one.name == "summing")
    assert kernel.pure_dimensions
    said = {reason.code: reason.message for _, reason in kernel.variant_reasons}
    # The next block's sum would begin while the last thread still adds that of this one.
    assert "threads share memory of their block" in said[Code.VARIANT_ORDER]
    assert not {one.name for one in kernel.variants} & {"x2", "x4"}


#: A histogram of an image, and one that each row of threads adds: as often as its block has rows.
IMAGE = r"""
#include <cstdio>
#include <cstdlib>
__global__ void counted(int w, int h, const int *image, int *bins) {
    __shared__ int s[100];
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int t = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
    for (int j = t; j < 100; j += threads) s[j] = 0;
    __syncthreads();
    if (x < w && y < h) atomicAdd(s + image[y * w + x], 1);
    __syncthreads();
    for (int j = t; j < 100; j += threads) if (s[j]) atomicAdd(bins + j, s[j]);
}
__global__ void repeated(int w, int h, const int *image, int *bins) {
    __shared__ int s[100];
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    for (int j = threadIdx.x; j < 100; j += blockDim.x) s[j] = 0;
    __syncthreads();
    if (x < w && y < h) atomicAdd(s + image[y * w + x], 1);
    __syncthreads();
    for (int j = threadIdx.x; j < 100; j += blockDim.x) atomicAdd(bins + j, s[j]);
}
int main(int argc, char **argv) {
    const int w = argc > 1 ? atoi(argv[1]) : 50, h = argc > 2 ? atoi(argv[2]) : 40;
    int *image, *bins, sum = 0;
    cudaMallocManaged(&image, w * h * sizeof(int));
    cudaMallocManaged(&bins, 100 * sizeof(int));
    for (int i = 0; i < w * h; ++i) image[i] = i * 37 % 97;
    for (int i = 0; i < 100; ++i) bins[i] = 0;
    const dim3 block(16, 8), grid((w + 15) / 16, (h + 7) / 8);
    counted<<<grid, block>>>(w, h, image, bins);
    repeated<<<grid, block>>>(w, h, image, bins);
    cudaDeviceSynchronize();
    for (int i = 0; i < 100; ++i) sum = 31 * sum + bins[i];
    printf("%d\n", sum);
}
"""


@pytest.mark.long
def test_any_block_of_two_dimensions_gives_the_same(tmp_path: Path) -> None:
    path = tmp_path / "image.cu"
    path.write_text(IMAGE)
    program = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True)
    found = {site.kernel: site.code for site in program.launches}
    assert found == {"counted": None, "repeated": Code.SHARED_MEMORY}
    kernel = next(one for one in program.kernels if one.name == "counted")
    assert kernel.pure_dimensions == ("x", "y")
    running = ("--run", "{program} {w} 70", "--vary", "w=1,16,77")
    shaken = cutune("shake", path, *running, "--seeds", 6, *QUICK, cwd=tmp_path)
    assert shaken.returncode == 0, shaken.stdout + shaken.stderr
    assert "1 tunable launch" in shaken.stdout

"""Kernels whose sizes are members of structures: tuned from small runs, decided by the members."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cutune_runs import QUICK, compiled, cutune, host_program, run, select, tune

pytestmark = pytest.mark.nvcc

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
namespace field {
struct Range { short from; long long to; };
typedef struct Grid_ {
    double h;
    unsigned char kind;
    int nx, ny;
    Range z;
    float *sums;
    __host__ __device__ float scaled(float value) const { return value; }
} Grid;
}
__device__ int at(const field::Grid &g, int i, int j) { return j * g.nx + i; }
__global__ void columns(field::Grid g, const float *values) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= g.nx) return;
    float sum = 0;
    for (int k = 0; k < g.z.to; k++)
        for (int j = 0; j < g.ny; j++) sum += values[at(g, i, j)];
    for (int k = 0; k < g.kind; k++) sum += values[at(g, i, k)];
    g.sums[i] = sum * (float)g.h;
}
__global__ void doubled(int3 dims, float *values) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int width = dims.x;
    if (x < width && y < dims.y) values[y * width + x] *= 2;
}
static void launch(int n, const field::Grid &g, float *values) {
    doubled<<<dim3((n + 7) / 8, (n + 64) / 64), dim3(8, 64)>>>(make_int3(g.nx, g.ny, 1), values);
    columns<<<(n + 99) / 100, 100>>>(g, values);
}
int main(int count, char **words) {
    const int n = atoi(words[1]);
    field::Grid g = {0.5, 3, n, n + 1, {1, 2}, nullptr};
    float *values;
    const int cells = n * (n + 1);
    float *host = new float[cells];
    for (int i = 0; i < cells; ++i) host[i] = i % 7;
    cudaMalloc(&g.sums, n * 4);
    cudaMalloc(&values, cells * 4);
    cudaMemcpy(values, host, cells * 4, cudaMemcpyHostToDevice);
    launch(n, g, values);
    // Other members, the same configuration.
    for (int i = 2; i + 1 < count; i += 2) {
        g.nx = atoi(words[i]), g.ny = atoi(words[i + 1]);
        launch(n, g, values);
    }
    cudaMemcpy(host, g.sums, n * 4, cudaMemcpyDeviceToHost);
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += host[i] * (i % 5);
    printf("%.9g %s\n", sum, cudaGetErrorString(cudaDeviceSynchronize()));
}
"""


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tuned program, beside it its source."""
    folder = tmp_path_factory.mktemp("members")
    (folder / "members.cu").write_text(PROGRAM)
    return tune(folder / "members.cu", folder, "40,72")


@pytest.mark.long
def test_members_are_sizes(tuned: Path) -> None:
    folder = tuned.parent
    answer = select("columns", folder, "g.nx=5000", "g.ny=700", "g.z.to=2")
    assert answer["choice"]["grid"][0] == -(-5000 // answer["choice"]["block"][0])
    assert select("doubled", folder, "--all-sizes=1000")["choice"]["block"] != [8, 64, 1]
    asked = cutune("select", "columns", "--workspace", folder, "g.nx=5000", "nx=3")
    assert asked.returncode == 1 and "[CT512]" in asked.stderr


def test_work_grows_with_each_member(tuned: Path) -> None:
    """Counts at other sizes than those of the runs, which set all members together."""
    times = {}
    for ny, rounds in ((1000, 2), (4000, 2), (1000, 8)):
        sizes = ("g.nx=100000", f"g.ny={ny}", f"g.z.to={rounds}")
        times[ny, rounds] = select("columns", tuned.parent, *sizes)["ranked"][0]["predicted_ms"]
    assert 2.5 < times[4000, 2] / times[1000, 2] < 4.5
    assert 2.5 < times[1000, 8] / times[1000, 2] < 4.5


def test_a_member_without_room_for_other_sizes_is_held(tuned: Path) -> None:
    """g.kind is one byte: the model is for the value that it had."""
    text = tuned.read_text().replace("\n", "")
    assert "asked_->arguments[2]!=3" in text
    asked = cutune(
        "select", "columns", "--workspace", tuned.parent, "--all-sizes", "99", "g.kind=4"
    )
    assert "known for g.kind = 3 only: the program's own block stays" in asked.stdout


def test_the_tuned_program_decides_by_members(tuned: Path, tmp_path: Path) -> None:
    source = tuned.parent / "members.cu"
    original = compiled(source, source, tmp_path / "original")
    binary = compiled(tuned, source, tmp_path / "tuned")
    for words in (["333"], ["50"], ["1000", "40", "30"]):
        usual, chosen = run(original, *words), run(binary, *words, CUTUNE="verbose")
        assert usual.stdout == chosen.stdout and "no error" in usual.stdout, chosen.stderr
    # By the members alone: the configuration was the same.
    assert "doubled, 1000 x 1001 x 1 threads: block 8x64x1 -> 8x64x1" not in chosen.stderr
    assert "doubled, 40 x 30 x 1 threads: block 8x64x1 -> 8x64x1" in chosen.stderr
    # Each value of g.ny is a decision of its own, which is remembered.
    words = ["500", "400", "7", "400", "501", "400", "7", "400", "9", "400", "501"]
    said = run(binary, *words, CUTUNE="verbose").stderr
    assert said.count("cutune: columns, 400 x 1 x 1") == 3, said


#: Value, argument, offset, bytes, sign.
SEEN = """\
-7 0 12 4 1
-3 2 16 2 1
1099511627776 2 24 8 0
1 0 8 1 0
unseen
4000000000 1 1 4 0
unseen
unseen
unseen
1 0 8 4 0
5
"""


def test_what_is_seen_of_a_structure(tmp_path: Path) -> None:
    assert run(host_program("members", tmp_path)).stdout == SEEN


UNSEEN = r"""
#include <cstdio>
#include <cstdlib>
struct Grid {
    int n;
    __host__ __device__ Grid(int n) : n(n) {}
    __host__ __device__ Grid(const Grid &other) : n(other.n) {}
};
__global__ void fill(Grid g, float *a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < g.n) a[i] = i;
}
int main(int, char **words) {
    const int n = atoi(words[1]);
    float *a, last;
    cudaMalloc(&a, n * 4);
    fill<<<(n + 95) / 96, 96>>>(Grid(n), a);
    cudaMemcpy(&last, a + n - 1, 4, cudaMemcpyDeviceToHost);
    printf("%g\n", last);
}
"""


def test_a_structure_with_a_copy_constructor_is_left_alone(tmp_path: Path) -> None:
    source = tmp_path / "unseen.cu"
    source.write_text(UNSEEN)
    done = cutune(
        *("tune", source, "--run", "./{program} {n}", "--vary", "n=40,72"),
        *("--device", "h200", "--workspace", tmp_path, "-o", tmp_path / "tuned.cu", *QUICK),
    )
    assert "kernel 'fill' depends on 'g.n'" in done.stderr and "[CT432]" in done.stderr

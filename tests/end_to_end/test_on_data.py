"""Kernels that are counted at the sizes and on the data of the runs."""

from __future__ import annotations

import re
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

import pytest

from cutune.core.progress import ignore
from cutune.core.workspace import Workspace
from cutune.measure import counted_on_data as executed_kernel
from cutune.measure.measure_kernels import read_measurements
from cutune.measure.program_runs import MOST_DOUBLINGS
from cutune.measure.replay import replay
from cutune.model.fit.fitted_model import read_models
from tests.support.cutune_runs import QUICK, compiled, cutune, run, select, tune

pytestmark = pytest.mark.nvcc

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#ifdef INDEXED
#define AT(k) index[k]
#else
#define AT(k) (k)
#endif
__global__ void rows(int n, const int *index, const float *from, float *to) {
    const int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < 24; ++k) sum += from[AT(i) + k * n] + index[i];
    to[i] = sum;
}
int main(int count, char **words) {
    const int n = atoi(words[1]);
    int *index = new int[n];
    float *host = new float[24 * n];
    for (int i = 0; i < n; ++i) index[i] = i;
    for (int i = 0; i < 24 * n; ++i) host[i] = i % 7;
    int *numbers;
    float *from, *to, sum = 0;
    cudaMalloc(&numbers, n * 4);
    cudaMalloc(&from, 24 * n * 4);
    cudaMalloc(&to, n * 4);
    cudaMemcpy(numbers, index, n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(from, host, 24 * n * 4, cudaMemcpyHostToDevice);
    rows<<<(n + 255) / 256, 256>>>(n, numbers, from, to);
    cudaMemcpy(host, to, n * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i) sum += host[i];
    printf("%g\n", sum);
}
"""


def predicted(folder: Path, text: str) -> dict[str, float]:
    """Tune a program; predicted time by block at a large size."""
    folder.mkdir()
    source = folder / "rows.cu"
    source.write_text(text)
    tune(source, folder, "2048,8192")
    answer = select("rows", folder, "n=4000000")
    return {str(entry["block"]): entry["predicted_ms"] for entry in answer["ranked"]}


@pytest.mark.long
def test_the_same_work_is_predicted_alike(tmp_path: Path) -> None:
    """An index that is the identity: what is counted with data is what is counted without."""
    without = predicted(tmp_path / "without", PROGRAM)
    indexed = predicted(tmp_path / "indexed", "#define INDEXED\n" + PROGRAM)
    assert without.keys() == indexed.keys() and len(without) > 20
    for block, time in without.items():
        assert indexed[block] == pytest.approx(time, rel=0.05), block


BINS = r"""
#include <cstdio>
#include <cstdlib>
__global__ void ragged(int n, const int *starts, const int *columns, const float *x, float *y) {
    const int row = threadIdx.x + blockIdx.x * blockDim.x;
    if (row >= n) return;
    float sum = 0;
    for (int e = starts[row]; e < starts[row + 1]; ++e) sum += x[columns[e]];
    y[row] = sum;
}
int main(int count, char **words) {
    const int n = atoi(words[1]);
    int *starts = new int[n + 1], *columns = new int[25 * n], used = 0;
    float *x = new float[n];
    for (int row = 0; row < n; ++row) {
        starts[row] = used, x[row] = 2;
        for (int k = 0; k < 5 + row * 7 % 20; ++k) columns[used++] = (row * 31 + k * k) % n;
    }
    starts[n] = used;
    int *a, *b;
    float *c, *d, sum = 0;
    cudaMalloc(&a, (n + 1) * 4);
    cudaMalloc(&b, used * 4);
    cudaMalloc(&c, n * 4);
    cudaMalloc(&d, n * 4);
    cudaMemcpy(a, starts, (n + 1) * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(b, columns, used * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(c, x, n * 4, cudaMemcpyHostToDevice);
    ragged<<<(n + 95) / 96, 96>>>(n, a, b, c, d);
    cudaMemcpy(x, d, n * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i) sum += x[i];
    printf("%g\n", sum);
}
"""


def tuned_at(source: Path, small: str, large: str) -> tuple[CompletedProcess[str], str]:
    """Tune a program at small sizes, noted as counted there; what it says of a large launch."""
    words = ("--run", "./{program} {n}", "--vary", f"n={small}")
    tuned = source.with_suffix(".tuned.cu")
    done = cutune("tune", source, *words, *QUICK, "-o", tuned, cwd=source.parent)
    assert done.returncode == 0 and "[CT418]" in done.stderr, done.stderr
    original = compiled(source, source, source.parent / "original")
    binary = compiled(tuned, source, source.parent / "tuned")
    usual, chosen = run(original, large), run(binary, large, CUTUNE="verbose")
    assert usual.stdout == chosen.stdout
    return done, chosen.stderr


@pytest.fixture(scope="module")
def ragged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A program with rows of many lengths, tuned, and what it says of a large launch."""
    source = tmp_path_factory.mktemp("ragged") / "ragged.cu"
    source.write_text(BINS)
    _, said = tuned_at(source, "500,2000", "30000")
    return source, said


@pytest.mark.long
def test_rows_of_many_lengths(ragged: tuple[Path, str]) -> None:
    assert "block 96x1x1 -> " in ragged[1], ragged[1]


def counted_sizes(source: Path) -> set[int]:
    """The sizes at which the kernel of a program was counted."""
    _, measured = read_measurements(Workspace(source.parent / ".cutune"), ignore)
    return {size for m in measured for _, size in m.sizes}


def test_the_program_runs_once_more_at_a_size_that_tells_more(ragged: tuple[Path, str]) -> None:
    *_, smaller, larger = sorted(counted_sizes(ragged[0]))
    assert smaller == 2000
    assert larger in {2000 << times for times in range(3, MOST_DOUBLINGS + 1)}


@pytest.mark.long
def test_nobody_minds_if_that_run_fails(tmp_path: Path) -> None:
    source = tmp_path / "ragged.cu"
    source.write_text(BINS.replace("int *starts =", "if (n > 30000) return 1;\n    int *starts ="))
    done, _ = tuned_at(source, "500,2000", "30000")
    assert counted_sizes(source) == {500, 2000}
    assert "error" not in done.stderr


@pytest.mark.long
def test_launches_whose_work_nothing_tells_stay(tmp_path: Path) -> None:
    """A search whose front is small at first and large then, in launches that look alike."""
    source = tmp_path / "ragged.cu"
    launch = "ragged<<<(n + 95) / 96, 96>>>(n, a, b, c, d);"
    fill = "cudaMemcpy(a, starts, (n + 1) * 4, cudaMemcpyHostToDevice);"
    assert launch in BINS and fill in BINS
    source.write_text(
        BINS.replace(launch, f"cudaMemset(a, 0, (n + 1) * 4);\n{launch}\n{fill}\n{launch}")
    )
    words = ("--run", "./{program} {n}", "--vary", "n=500,2000")
    done = cutune("tune", source, *words, *QUICK, "-o", tmp_path / "tuned.cu", cwd=tmp_path)
    assert "times as much as others of the same size" in done.stderr, done.stderr
    assert done.stderr.endswith("none of them could be measured [CT503]\n"), done.stderr


BOX = r"""
#include <cstdio>
#include <cstdlib>
// The replays cannot change the sizes: they are in an array in a structure.
struct Size { int of[2]; };
__global__ void smooth(const float *from, float *to, Size size) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= size.of[0] - 1 || y >= size.of[1] - 1) return;
    const int width = size.of[0], at = y * width + x;
    to[at] = 0.25f * (from[at - 1] + from[at + 1] + from[at - width] + from[at + width]);
}
int main(int count, char **words) {
    const int n = atoi(words[1]);
    float *host = new float[n * n];
    for (int i = 0; i < n * n; ++i) host[i] = i % 7;
    float *from, *to, sum = 0;
    cudaMalloc(&from, n * n * 4);
    cudaMalloc(&to, n * n * 4);
    cudaMemset(to, 0, n * n * 4);
    cudaMemcpy(from, host, n * n * 4, cudaMemcpyHostToDevice);
    smooth<<<dim3((n + 3) / 4, (n + 15) / 16), dim3(4, 16)>>>(from, to, Size{{n, n}});
    cudaMemcpy(host, to, n * n * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n * n; ++i) sum += host[i];
    printf("%g\n", sum);
}
"""


@pytest.mark.long
def test_sizes_in_an_array_in_a_structure(tmp_path: Path) -> None:
    source = tmp_path / "smooth.cu"
    source.write_text(BOX)
    done, said = tuned_at(source, "64,160", "1000")
    assert "none of its sizes" in done.stderr, done.stderr
    assert "block 4x16x1 -> " in said, said


@pytest.mark.parametrize(
    ("text", "sizes", "is_left"), [(BINS, "500,2000", True), (BOX, "300,400", False)]
)
def test_without_data_only_launches_that_do_not_need_it_are_counted(
    tmp_path: Path, text: str, sizes: str, is_left: bool
) -> None:
    source = tmp_path / "alone.cu"
    source.write_text(text)
    words = ("--run", "./{program} {n}", "--vary", f"n={sizes}", "--launches-only")
    done = cutune("tune", source, *words, *QUICK, "-o", tmp_path / "tuned.cu", cwd=tmp_path)
    assert ("[CT414]" in done.stderr, done.returncode == 0) == (is_left, not is_left), done.stderr


PATCHES = r"""
#include <cstdio>
#include <cstdlib>
// The sizes are no sizes each on its own: n is channels * height * width.
__global__ void patches(int n, const float *image, int height, int width, int size, int pad,
                        float *to) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        const int x = i % width - pad, y = i / width % height - pad, c = i / width / height;
        for (int k = 0; k < size * size; ++k) {
            const int h = y + k / size, w = x + k % size;
            const bool inside = h >= 0 && w >= 0 && h < height && w < width;
            to[k * n + i] = inside ? image[(c * height + h) * width + w] : 0;
        }
    }
}
int main(int count, char **words) {
    const int side = atoi(words[1]), n = 16 * side * side;
    float *host = new float[9 * n];
    for (int i = 0; i < n; ++i) host[i] = i % 7;
    float *from, *to;
    double sum = 0;
    cudaMalloc(&from, n * 4);
    cudaMalloc(&to, 9 * n * 4);
    cudaMemcpy(from, host, n * 4, cudaMemcpyHostToDevice);
    patches<<<(n + 991) / 992, 992>>>(n, from, side, side, 3, 1, to);
    cudaMemcpy(host, to, 9 * n * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 9 * n; ++i) sum += host[i] * (i % 11);
    printf("%g\n", sum);
}
"""


@pytest.mark.long
def test_sizes_that_make_no_sense_on_their_own(tmp_path: Path) -> None:
    source = tmp_path / "patches.cu"
    source.write_text(PATCHES)
    # Launches that make no sense loop for long, until they are given up.
    with patch.object(replay, "INSTRUCTION_LIMIT", 4_000_000):
        done, said = tuned_at(source, "12,24", "60")
    assert re.search(r"patches\.cu:\d+:1: note: kernel 'patches' is counted", done.stderr)
    # Its thread space is n in whole blocks of its own, in both runs: it need not be named.
    assert " 1000, size = 3, pad = 1, height = 24, width = 24 " in done.stdout, done.stdout
    assert "cutune select patches" not in done.stdout
    assert "block 992x1x1 -> " in said, said


@pytest.mark.long
def test_parts_of_a_launch_stand_for_it(tmp_path: Path) -> None:
    """As where there is no time for more; what is counted is about what the whole launch does."""
    totals = []
    for folder, budget in (("whole", executed_kernel.BUDGET), ("parts", 1000)):
        source = tmp_path / folder / "ragged.cu"
        source.parent.mkdir()
        source.write_text(BINS)
        words = ("--run", "./{program} 20000", *QUICK, "-o", tmp_path / folder / "tuned.cu")
        with patch.object(executed_kernel, "BUDGET", budget):
            done = cutune("tune", source, *words, cwd=source.parent)
        assert done.returncode == 0, done.stderr
        assert ("[CT405]" in done.stderr) == (folder == "parts")
        _, measured = read_measurements(Workspace(source.parent / ".cutune"), ignore)
        largest = [m for m in measured if m.block == (96, 1, 1)][-1]
        totals.append([largest.working_threads, *largest.lanes, *(s.lanes for s in largest.sites)])
    for whole, part in zip(*totals, strict=True):
        assert part == pytest.approx(whole, rel=0.1)


KINDS = r"""
#include <cstdio>
#include <cstdlib>
#define INDEX const int i = threadIdx.x + blockIdx.x * blockDim.x; if (i >= n) return;
__global__ void table(int n, unsigned char *image, const unsigned char *values) {
    INDEX
    image[i] = values[image[i]];
}
__global__ void take(int n, const float *from, const int *places, float *to) {
    INDEX
    to[i] = from[places[i]];
}
__global__ void above(int n, const unsigned char *image, float *to) {
    INDEX
    if (image[i] > 100) to[i] = image[i];
}
__global__ void ranks(int n, const unsigned char *image, int *counts, int *rank) {
    INDEX
    rank[i] = atomicAdd(&counts[image[i]], 1);
}
int main(int count, char **words) {
    const int n = atoi(words[1]);
    unsigned char *bytes = new unsigned char[n + 256], *image;
    int *whole = new int[n], *places, *counts, *rank, sum = 0;
    float *real = new float[n], *from, *to;
    for (int i = 0; i < n + 256; ++i) bytes[i] = i * 7 + i / 5;
    for (int i = 0; i < n; ++i) whole[i] = (i * 31LL + i / 9) % n, real[i] = i % 9;
    cudaMalloc(&image, n + 512);
    unsigned char *values;
    cudaMalloc(&values, 256);
    cudaMalloc(&places, n * 4);
    cudaMalloc(&counts, 1024);
    cudaMalloc(&rank, n * 4);
    cudaMalloc(&from, n * 4);
    cudaMalloc(&to, n * 4);
    cudaMemset(counts, 0, 1024);
    cudaMemset(to, 0, n * 4);
    cudaMemcpy(image, bytes, n, cudaMemcpyHostToDevice);
    cudaMemcpy(values, bytes + n, 256, cudaMemcpyHostToDevice);
    cudaMemcpy(places, whole, n * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(from, real, n * 4, cudaMemcpyHostToDevice);
    const int blocks = (n + 255) / 256;
    table<<<blocks, 256>>>(n, image, values);
    take<<<blocks, 256>>>(n, from, places, to);
    above<<<blocks, 256>>>(n, image, to);
    ranks<<<blocks, 256>>>(n, image, counts, rank);
    cudaMemcpy(real, to, n * 4, cudaMemcpyDeviceToHost);
    cudaMemcpy(bytes, image, n, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i) sum = sum * 31 + int(real[i]) + bytes[i];
    printf("%d\n", sum);
}
"""


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Kernels that go by data in several ways, tuned with their variants."""
    source = tmp_path_factory.mktemp("kinds") / "kinds.cu"
    source.write_text(KINDS)
    tuned, words = source.with_name("tuned.cu"), ("--run", "./{program} {n}")
    quick = (*QUICK[:2], "--vary", "n=3000,12000")
    done = cutune("tune", source, *words, *quick, "-o", tuned, cwd=source.parent)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("[CT418]") == 3, done.stderr  # one for each kernel, none for a variant
    return source


@pytest.mark.long
def test_kernels_that_go_by_data_have_models_of_their_variants(kinds: Path) -> None:
    models = {m.kernel.name: m for m in read_models(Workspace(kinds.parent / ".cutune").models)}
    of = {name: {v.kernel.variant for v in model.variants} for name, model in models.items()}
    several = {"restrict", "restrict_x2", "restrict_x4"}
    vectors = {*several, "restrict_vec4"}
    # `ranks` stays as it is: who comes first is a result.
    assert of == {"table": {*vectors, "restrict_vec16"}, "take": vectors, "above": several}
    for name in of:
        assert models[name].kernel.on_data
        assert all(one.kernel.on_data for one in models[name].variants)
        # Each thread does as many ids as the variant says.
        sizes = {"n": 1 << 20}
        threads = {v.kernel.variant: v.working(sizes) for v in models[name].variants}
        assert float(threads["restrict_x4"]) == pytest.approx(2**18, rel=0.01)


@pytest.mark.long
def test_a_variant_is_chosen_where_it_gains_much(kinds: Path, tmp_path: Path) -> None:
    answer = select("table", kinds.parent / ".cutune", "n=100000000")
    assert answer["choice"]["variant"]["name"] == "restrict_vec16"
    original = compiled(kinds, kinds, tmp_path / "original")
    tuned = compiled(kinds.with_name("tuned.cu"), kinds, tmp_path / "tuned")
    for size in ("5003", "3000000"):
        usual, chosen = run(original, size), run(tuned, size, CUTUNE="verbose")
        assert usual.stdout == chosen.stdout
        assert ("restrict_vec" in chosen.stderr) == (size == "3000000"), chosen.stderr

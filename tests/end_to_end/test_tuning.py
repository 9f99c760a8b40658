"""The whole path: programs tuned without a GPU compute what they computed before."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.cutune_runs import (
    H200,
    QUICK,
    SAMPLES,
    Tuned,
    compiled,
    cutune,
    run,
    select,
    tune,
)

pytestmark = pytest.mark.nvcc

#: Measured on an H200: cycles per warp and iteration by width of the block.
MEASURED_CYCLES = {
    ("gemm", 1024): {32: 8.0, 16: 8.0, 8: 14.0, 4: 32.0},
    ("syrk", 1024): {32: 37.0, 16: 22.0, 8: 17.5},
    ("syrk", 1000): {32: 15.5, 16: 10.7, 8: 14.1},
}


#: Their kernels are those of others that are tuned: of gemm, of atax, of syrk with one more matrix,
#: of corr.
REPEATED = ("2mm", "3mm", "bicg", "mvt", "syr2k", "covar")
NAMES = sorted({path.stem for path in SAMPLES.glob("*.cu")} - {*REPEATED})
#: That are tuned whenever tests run.
FIRST = ("2dconv", "gemm", "syrk")


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in FIRST else pytest.mark.long) for name in NAMES],
)
def test_a_tuned_sample_passes_its_own_check(name: str, tuned: Tuned, tmp_path: Path) -> None:
    original = SAMPLES / f"{name}.cu"
    source = tuned(name)
    kernels = re.findall(r"__global__ void (\w+)", original.read_text())
    assert {f"cutune_select_{kernel}" for kernel in kernels} <= {
        *re.findall(r"\bcutune_select_\w+", source.read_text())
    }
    binary = compiled(source, original, tmp_path / "tuned")
    for size in ("64", "200"):
        done = run(binary, size, CUTUNE="verbose")
        assert (done.returncode, "PASS" in done.stdout) == (0, True), done.stdout + done.stderr
        assert "cutune: " in done.stderr  # decisions were taken


def test_another_device_keeps_the_programs_own_blocks(tuned: Tuned, tmp_path: Path) -> None:
    binary = compiled(tuned("atax"), SAMPLES / "atax.cu", tmp_path / "tuned")
    smaller = replace(H200, sm_count=100)
    done = run(binary, "64", device=smaller, CUTUNE="verbose")
    assert (done.returncode, done.stderr) == (0, "")
    assert "PASS" in done.stdout


@pytest.mark.parametrize(("name", "size"), MEASURED_CYCLES)
def test_predicted_cycles_agree_with_an_h200(name: str, size: int, tuned: Tuned) -> None:
    answer = select(f"{name}_kernel", tuned(name).parent, f"--all-sizes={size}")
    for width, measured in MEASURED_CYCLES[name, size].items():
        predicted = [
            entry["cycles_per_warp"] / size
            for entry in answer["ranked"]
            if not entry["variant"]["restrict"]
            and entry["block"][0] == width
            and 128 <= width * entry["block"][1] <= 512
        ]
        assert predicted
        assert all(abs(cycles / measured - 1) <= 0.25 for cycles in predicted), predicted


@pytest.mark.parametrize(
    ("sample", "kernel", "sizes", "said"),
    [
        ("gemm", "gemm_kernel", ("--all-sizes=2147483647",), "blocks in y"),
        ("2dconv", "Convolution2D_kernel", ("NI=1024", "NJ=1"), "no thread in x"),
    ],
)
def test_grids_that_cannot_be(
    sample: str, kernel: str, sizes: tuple[str, ...], said: str, tuned: Tuned
) -> None:
    done = cutune("select", kernel, "--workspace", tuned(sample).parent, *sizes)
    assert (done.returncode, done.stdout) == (1, "")
    assert "[CT515]" in done.stderr and said in done.stderr


def test_the_choice_is_no_default(tuned: Tuned) -> None:
    answer = select("syrk_kernel", tuned("syrk").parent, "NI=1024", "NJ=1024")
    assert answer["kernel"] == "syrk_kernel"
    assert answer["choice"]["block"][0] <= 16
    assert answer["choice"] == {
        "block": answer["choice"]["block"],
        "grid": [
            -(-1024 // answer["choice"]["block"][0]),
            -(-1024 // answer["choice"]["block"][1]),
            1,
        ],
        "variant": {"name": "restrict", "restrict": True, "coarsen": [1, 1, 1], "bounds": None},
    }
    times = [entry["predicted_ms"] for entry in answer["ranked"]]
    assert times == sorted(times)
    assert [32, 8, 1] in [entry["block"] for entry in answer["ranked"]]


SCALE = """
__global__ void scale(int n, float factor, float *data) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = factor * data[i];
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    float *data;
    cudaMalloc(&data, n * sizeof(float));
    scale<<<(n + 31) / 32, 32>>>(n, 2.0f, data);
    return cudaDeviceSynchronize() != cudaSuccess;
}
"""


@pytest.fixture(scope="module")
def scale(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source that was tuned in the folder `work` beside it. Tests only read there."""
    source = tmp_path_factory.mktemp("scale") / "scale.cu"
    source.write_text("#include <stdlib.h>" + SCALE)
    tune(source, source.with_name("work"), "1000,2000")
    return source


def test_element_wise_kernels_get_large_blocks(scale: Path) -> None:
    answer = select("scale", scale.with_name("work"), "n=1000000")
    assert answer["choice"]["block"][0] >= 128


BOUNDS = """
#include <stdlib.h>
#define MOST 128
__global__ void __launch_bounds__(MOST) bounded(int n, float *data) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] += 1;
}
__global__ void shifted(int first, int n, float *data) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + first;
    if (i < n) data[i] += 1;
}
__global__ void unguarded(float *data) { data[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
int main(int argc, char **argv) {
    int n = atoi(argv[1]), blocks = (n + 127) / 128;
    float *data;
    cudaMalloc(&data, blocks * 128 * sizeof(float));
    bounded<<<blocks, 128>>>(n, data);
    shifted<<<blocks, 128>>>(3, n, data);
    unguarded<<<blocks, 128>>>(data);
    return cudaDeviceSynchronize() != cudaSuccess;
}
"""


def test_bounds_of_the_kernel_hold(tmp_path: Path) -> None:
    source = tmp_path / "bounds.cu"
    source.write_text(BOUNDS)
    tune(source, tmp_path / "work", "1000,3000")
    bounded = select("bounded", tmp_path / "work", "n=100000")
    assert max(entry["block"][0] for entry in bounded["ranked"]) == 128
    assert select("shifted", tmp_path / "work", "n=100000")["ranked"]
    # Blocks that did not divide the thread space of the trial are candidates where they do.
    unguarded = select("unguarded", tmp_path / "work", "T.x=960000")
    assert [96, 1, 1] in [entry["block"] for entry in unguarded["ranked"]]


STRIDED = """
#include <stdlib.h>
__global__ void strided(int n, float factor, const float *in, float *out) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        out[i] += factor * in[i];
}
__global__ void table(int rows, int columns, const float *in, float *out) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < columns; i += blockDim.x * gridDim.x) {
        float sum = 0;
        for (int r = 0; r < rows; ++r) sum += in[r * columns + i];
        out[i] = sum;
    }
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    float *in, *out;
    cudaMalloc(&in, 7 * n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    strided<<<4, 128>>>(n, 3, in, out);
    table<<<4, 128>>>(7, n, in, out);
    return cudaDeviceSynchronize() != cudaSuccess;
}
"""


@pytest.mark.long
def test_loops_that_stride_by_all_threads_are_functions_of_the_size(tmp_path: Path) -> None:
    source = tmp_path / "strided.cu"
    source.write_text(STRIDED)
    tune(source, tmp_path / "work", "3000,9000")
    lines = (tmp_path / "work" / "measurements.jsonl").read_text().splitlines()
    kernels = [entry for entry in map(json.loads, lines) if "strided_to" in entry]
    found = {(k["kernel"], k["strided_to"], k["on_data"]) for k in kernels}
    assert found == {("strided", "n", False), ("table", "columns", False)}
    few, many = (
        select("strided", tmp_path / "work", f"n={n}", "T.x=4096")["ranked"][0]["predicted_ms"]
        for n in (40_000_000, 400_000_000)
    )
    # So many rounds of the threads that fill the GPU take so much longer.
    assert 9 < many / few < 11


LAUNCH = "scale<<<(n + 31) / 32, 32>>>(n, 2.0f, data);"
#: What models do not follow from: text of the source, and what takes its place.
HARMLESS = {
    "comments": ("}\nint main", "}\n// Doubles.\nint main"),
    "lines": ("__global__", "\n\n__global__"),
    "host code": ("return cuda", "if (argc > 7) return 7; return cuda"),
    "functions": ("int main", "static int half(int n) { return n / 2; }\nint main"),
}
DECISIVE = {
    "kernels": ("factor * data[i]", "data[i] + factor"),
    "names": ("int n, float", "int m, float"),
    "launches": (LAUNCH, LAUNCH.replace("32", "64")),
    "order": (LAUNCH, f"if (n == 0) {LAUNCH} {LAUNCH}"),
    "macros": ("\n__global__", "\n#define MORE 1\n__global__"),
    "constants": ("\nint main", "\nstatic const int wide = 256;\nint main"),
    "pragmas": ("\n__global__", "\n#pragma cutune block(x <= 64)\n__global__"),
}


@pytest.mark.long
def test_models_hold_while_nothing_decisive_has_changed(tmp_path: Path) -> None:
    source = tmp_path / "scale.cu"
    source.write_text("#include <stdlib.h>" + SCALE)
    tune(source, tmp_path / "work", "1000")
    before, words = source.read_text(), ("--workspace", tmp_path / "work", *QUICK)
    for changes, expected in ((HARMLESS, 0), (DECISIVE, 1)):
        for name, (was, becomes) in changes.items():
            text = before.replace("int n, float", "int m, float").replace("< n)", "< m)")
            source.write_text(text if name == "names" else before.replace(was, becomes, 1))
            assert source.read_text() != before
            done = cutune("emit", source, *words, "-o", tmp_path / f"{expected}.cu")
            assert (done.returncode, "[CT513]" in done.stderr) == (expected, expected == 1), name
    assert (tmp_path / "0.cu").exists() and not (tmp_path / "1.cu").exists()
    done = cutune("tune", source, *words, "-o", source)
    assert (done.returncode, "[CT010]" in done.stderr) == (1, True)
    assert "cutune_launch" not in source.read_text()


@pytest.mark.long
def test_models_hold_for_the_macros_of_the_command_that_they_were_made_with(tmp_path: Path) -> None:
    source = tmp_path / "scale.cu"
    source.write_text("#include <stdlib.h>" + SCALE.replace(LAUNCH, LAUNCH.replace("32", "BLOCK")))
    words = ("--workspace", tmp_path / "work", *QUICK, "-o", tmp_path / "tuned.cu")
    tune(source, tmp_path / "work", "1000", [*QUICK, "-DBLOCK=32"])
    before = source.read_text()
    for text in (before, before.replace("return cuda", "if (argc > 7) return 7; return cuda")):
        source.write_text(text)
        for flags, expected in (
            (["-DBLOCK=32"], 0),
            (["-DBLOCK=32", "-DMORE"], 0),
            (["-DBLOCK=64"], 1),
            (["-DBLOCK=WIDE", "-DWIDE=32"], 1),
        ):
            done = cutune("emit", source, *words, *flags)
            assert (done.returncode, "[CT513]" in done.stderr) == (expected, expected == 1), flags


GATHERED = """\
#include <stdlib.h>
__global__ void gather(int n, const int *at, const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[at[i]];
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]), *at;
    float *data;
    cudaMallocManaged(&at, n * sizeof(int));
    cudaMalloc(&data, 2 * n * sizeof(float));
    for (int i = 0; i < n; i++) at[i] = i;
    gather<<<(n + 31) / 32, 32>>>(n, at, data, data + n);
    return cudaDeviceSynchronize() != cudaSuccess;
}
"""


def test_models_on_data_do_not_outlive_the_code_that_makes_these(tmp_path: Path) -> None:
    source = tmp_path / "gather.cu"
    source.write_text(GATHERED)
    tune(source, tmp_path / "work", "1000")
    assert '"on_data":true' in (tmp_path / "work" / "measurements.jsonl").read_text()
    source.write_text(GATHERED.replace("= i;", "= i * 97ll % n;"))
    done = cutune("emit", source, "--workspace", tmp_path / "work", *QUICK)
    assert done.returncode == 1 and "[CT513]" in done.stderr


def test_a_refused_block_is_followed_by_the_original_launch(scale: Path, tmp_path: Path) -> None:
    """Another build of the kernel may allow fewer threads than the one that was modelled."""
    text = (scale.with_name("work") / "scale.tuned.cu").read_text()
    smaller = text.replace("__global__ void scale", "__global__ void __launch_bounds__(64) scale")
    assert smaller != text
    (tmp_path / "smaller.cu").write_text(smaller)
    binary = compiled(tmp_path / "smaller.cu", scale, tmp_path / "tuned")
    done = run(binary, "1000000", CUTUNE="verbose")
    assert "block 32x1x1 -> " in done.stderr  # a larger one was chosen
    assert done.returncode == 0, done.stderr


def test_run_compiles_a_source_and_gives_its_status(tmp_path: Path) -> None:
    source = tmp_path / "status.cu"
    source.write_text("int main(int argc, char **) { return 40 + argc; }\n")
    assert cutune("run", source, "one").returncode == 42
    binary = compiled(source, source, tmp_path / "true")
    assert cutune("run", f"./{binary.name}", cwd=tmp_path).returncode == 41


@pytest.mark.usefixtures("own_standard")
def test_a_program_that_nobody_has_seen(tmp_path: Path) -> None:
    """Two kernels, a helper header, a 3-D thread space, a template, launches in odd places."""
    (tmp_path / "helper.h").write_text(
        "#pragma once\n"
        "#define AT(x, y, z) (((z) * height + (y)) * width + (x))\n"
        "template <class T> __device__ T mix(T a, T b) { return a + (b - a) / T(4); }\n"
    )
    source = tmp_path / "field.cu"
    source.write_text(FIELD)
    tuned_source = tune(source, tmp_path / "work", "20,33")
    before = run(compiled(source, source, tmp_path / "before"), "37")
    after = run(compiled(tuned_source, source, tmp_path / "after"), "37", CUTUNE="verbose")
    assert before.returncode == after.returncode == 0
    assert before.stdout == after.stdout
    assert "cutune: relax" in after.stderr
    off = run(tmp_path / "after", "37", CUTUNE="off")
    assert (off.stdout, off.stderr) == (before.stdout, "")


FIELD = """#include "helper.h"
#include <cstdio>
#include <cstdlib>

template <class T>
__global__ void relax(const T *in, T *out, int width, int height, int depth) {
    const int x = blockDim.x * blockIdx.x + threadIdx.x;
    const int y = blockDim.y * blockIdx.y + threadIdx.y;
    const int z = blockDim.z * blockIdx.z + threadIdx.z;
    if (x >= width || y >= height || z >= depth) return;
    T sum = in[AT(x, y, z)];
    if (x > 0) sum = mix(sum, in[AT(x - 1, y, z)]);
    if (z + 1 < depth) sum = mix(sum, in[AT(x, y, z + 1)]);
    out[AT(x, y, z)] = sum;
}

__global__ void row_sums(const float *field, double *sums, int width, int rows) {
    for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows;
         row += gridDim.x * blockDim.x) {
        double sum = 0;
        for (int x = 0; x < width; ++x) sum += field[row * width + x];
        sums[row] = sum;
    }
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 16;
    const size_t count = n * n * n, size = count * sizeof(float);
    float *start = new float[count];
    for (size_t i = 0; i < count; ++i) start[i] = float(i * 7919 % 1009);
    float *a, *b;
    double *sums;
    cudaMalloc(&a, size);
    cudaMalloc(&b, size);
    cudaMalloc(&sums, n * n * sizeof(double));
    cudaMemcpy(a, start, size, cudaMemcpyHostToDevice);
    const dim3 block(8, 4, 4), grid((n + 7) / 8, (n + 3) / 4, (n + 3) / 4);
    for (int step = 0; step < 4; ++step)
        if (step % 2 == 0)
            relax<<<grid, block>>>(a, b, n, n, n);
        else
            relax<float><<<grid, block>>>(b, a, n, n, n);
    row_sums<<<4, 64>>>(a, sums, n, n * n);
    double *result = new double[n * n];
    cudaMemcpy(result, sums, n * n * sizeof(double), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n * n; ++i) printf("%.17g\\n", result[i]);
    return cudaGetLastError() != cudaSuccess;
}
"""


def test_inspect_lists_every_kernel() -> None:
    samples = [SAMPLES / "covar.cu", SAMPLES / "mvt.cu"]
    done = cutune("inspect", "--json", *QUICK, *samples)
    assert done.returncode == 0, done.stderr
    launches = json.loads(done.stdout)["launches"]
    assert {entry["verdict"] for entry in launches} == {"tunable"}
    assert len({(entry["file"], entry["kernel"]) for entry in launches}) == 5
    assert all(
        {"kernel", "file", "line", "verdict", "reason", "pure_dimensions", "data_parameters"}
        <= entry.keys()
        for entry in launches
    )

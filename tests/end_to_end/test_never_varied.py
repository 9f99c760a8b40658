"""An integer that is no size and never varied: one value is known, and another is counted anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cutune_runs import QUICK, cutune

pytestmark = pytest.mark.nvcc

BLUR = """
#include <cmath>
#include <cstdlib>
#pragma cutune kernel blur data(n)
__global__ void blur(int n, int r, const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int d = -r; d <= r; ++d) sum += in[min(max(i + d, 0), n - 1)];
    out[i] = sum / (2 * r + 1);
}
int main(int, char **argv) {
    int n = atoi(argv[1]), r = atoi(argv[2]);
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemset(in, 0, n * sizeof(float));
    blur<<<(n + 255) / 256, 256>>>(n, r, in, out);
    return cudaDeviceSynchronize();
}
"""


@pytest.mark.long
def test_a_radius_is_known_at_one_value_and_counted_anew_at_another(tmp_path: Path) -> None:
    source = tmp_path / "blur.cu"
    source.write_text(BLUR)

    def tuned(radius: int) -> dict[str, object]:
        run = ("--run", f"./{{program}} {{n}} {radius}", "--vary", "n=500,1000")
        done = cutune("tune", source, *run, *QUICK, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        (model,) = json.loads((tmp_path / ".cutune" / "models.json").read_text())["models"]
        # Lines are broken anywhere.
        text = (tmp_path / "blur.tuned.cu").read_text().replace("\n", "")
        assert f"arguments[1]!={radius}||" in text
        return dict(model)

    def select(*sizes: str) -> dict[str, object]:
        done = cutune("select", "blur", *sizes, "--json", cwd=tmp_path)
        return dict(json.loads(done.stdout))

    first = tuned(3)
    known = select("n=1000000")
    assert known["measured_only_at"] == {"r": 3} and known["extrapolated"] is False
    assert select("n=1000000", "r=3") == known
    other = select("n=1000000", "r=30")
    assert other["extrapolated"] is True and other["kept_original"] is True
    said = cutune("select", "blur", "n=1000000", cwd=tmp_path).stdout
    assert "as measured at r = 3 only" in said
    assert tuned(9)["instructions"] != first["instructions"]
    assert select("n=1000000")["measured_only_at"] == {"r": 9}


PIXELS = """
#include <cstdlib>
__global__ void brighten(int n, %s const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int c = 0; c < 3; ++c) out[%s * i + c] = 2 * in[%s * i + c];
}
int main(int, char **argv) {
    int n = atoi(argv[1]), channels = atoi(argv[2]);
    float *in, *out;
    cudaMalloc(&in, n * channels * sizeof(float));
    cudaMalloc(&out, n * channels * sizeof(float));
    cudaMemset(in, 0, n * channels * sizeof(float));
    brighten<<<(n + 255) / 256, 256>>>(n, %s in, out);
    return cudaDeviceSynchronize();
}
"""


@pytest.mark.long
def test_a_small_stride_is_no_size_of_which_residues_tell(tmp_path: Path) -> None:
    """Channels of a pixel: the model is that of the same kernel with a literal in their place."""

    def predicted(folder: Path, *words: str) -> dict[str, object]:
        folder.mkdir()
        source = folder / "pixels.cu"
        source.write_text(PIXELS % words)
        run = ("--run", "./{program} {n} 4", "--vary", "n=512,1024,2048")
        done = cutune("tune", source, *run, *QUICK, cwd=folder)
        assert done.returncode == 0, done.stderr
        selected = cutune("select", "brighten", "n=1000000", "--json", cwd=folder)
        return dict(json.loads(selected.stdout))

    found = predicted(tmp_path / "argument", "int channels,", "channels", "channels", "channels,")
    literal = predicted(tmp_path / "literal", "", "4", "4", "")
    assert found["measured_only_at"] == {"channels": 4} and literal["measured_only_at"] == {}
    assert times(found) == pytest.approx(times(literal), rel=0.03)


ROWS = """
#include <cstdlib>
__global__ void scale(int width, int height, const float *in, float *out) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = 2 * in[y * width + x];
}
int main(int, char **argv) {
    int width = atoi(argv[1]), height = atoi(argv[2]);
    float *in, *out;
    cudaMalloc(&in, width * height * sizeof(float));
    cudaMalloc(&out, width * height * sizeof(float));
    cudaMemset(in, 0, width * height * sizeof(float));
    scale<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(width, height, in, out);
    return cudaDeviceSynchronize();
}
"""


def test_a_few_rows_are_a_size_whatever_they_cost_a_request(tmp_path: Path) -> None:
    source = tmp_path / "rows.cu"
    source.write_text(ROWS)
    run = ("--run", "./{program} {n} 20", "--vary", "n=500,1000,2000")
    assert cutune("tune", source, *run, *QUICK, cwd=tmp_path).returncode == 0
    sizes = ("width=4000", "height=3000", "--json")
    found = json.loads(cutune("select", "scale", *sizes, cwd=tmp_path).stdout)
    assert found["measured_only_at"] == {} and found["supported"]["height"][1] >= 3000


#: `scale`: four sizes are multiplied, two of which never vary, one in a structure. `smooth`: of two
#: small constants a large one leaves no work, and the other bounds a loop. `pick`: a mode.
FIXED = """
#include <cstdint>
#include <cstdlib>
struct Shape { uint64_t channels; int depth; };
__global__ void scale(float *a, uint64_t batch, Shape shape, int64_t height, int64_t width) {
    uint64_t id = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (id >= batch * shape.channels * shape.depth * height * width) return;
    a[id] = 2 * a[id] + id % width;
}
__global__ void smooth(const float *in, float *out, int width, int height, int channels, int r) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < r || y < r || x >= width - r || y >= height - r) return;
    for (int c = 0; c < channels; ++c) {
        const float *at = in + (c * height + y) * width + x;
        out[(c * height + y) * width + x] = at[-r] + at[r];
    }
}
__global__ void pick(float *a, int n, int mode) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    a[i] = mode == 1 ? 2 * a[i] : mode == 5 ? a[i] / (1 + i) : 0;
}
int main(int, char **argv) {
    int batch = atoi(argv[1]), channels = atoi(argv[2]), size = atoi(argv[3]);
    int n = batch * channels * 2 * size * size;
    float *a, *b;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMemset(a, 0, n * sizeof(float));
    cudaMemset(b, 0, n * sizeof(float));
    scale<<<(n + 31) / 32, 32>>>(a, batch, {(uint64_t)channels, 2}, size, size);
    dim3 block(32, 8);
    smooth<<<dim3((size + 31) / 32, (size + 7) / 8), block>>>(a, b, size, size, channels, 1);
    pick<<<(n + 1023) / 1024, 1024>>>(a, n, 5);
    return cudaDeviceSynchronize();
}
"""


@pytest.mark.long
def test_each_size_that_the_runs_kept_varies_on_its_own(tmp_path: Path) -> None:
    source = tmp_path / "fixed.cu"
    source.write_text(FIXED)
    run = ("--run", "./{program} {b} 4 {h}", "--vary", "b=2,4", "--vary", "h=16,32")
    done = cutune("tune", source, *run, *QUICK, "--device", "h200", cwd=tmp_path)
    assert done.returncode == 0, done.stderr

    def known(kernel: str, *sizes: str) -> tuple[object, object]:
        words = ("select", kernel, *sizes, "--json", "--device", "h200")
        found = json.loads(cutune(*words, cwd=tmp_path).stdout)
        return found["measured_only_at"], found["kept_original"]

    large = ("batch=32", "shape.channels=64", "shape.depth=3", "height=64", "width=64")
    assert known("scale", *large) == ({}, False)
    assert known("smooth", "width=4000", "height=4000", "channels=64")[0] == {"r": 1}
    assert known("pick", "n=1000000")[0] == {"mode": 5}
    # Usual sizes are shown, and only that is named which can be written.
    lines = done.stdout.splitlines()
    assert [line.split()[1] for line in lines if line.startswith(" scale")] == [
        "16", "20", "32", "40"
    ]  # fmt: skip
    (smooth,) = (line for line in lines if line.startswith("smooth: "))
    assert smooth.startswith("smooth: not modelled beyond r = 1; no word of --run is r")
    (pick,) = (line for line in lines if line.startswith("pick: "))
    assert pick.startswith("pick: not modelled beyond mode = 5; no word of --run is mode")
    assert "not modelled" in done.stdout.partition("3 launches")[2]
    assert "any at the sizes" not in done.stdout


def times(selected: dict[str, object]) -> dict[str, float]:
    ranked = selected["ranked"]
    assert isinstance(ranked, list) and len(ranked) > 5
    return {str(one["block"]): one["predicted_ms"] for one in ranked}


WIDTHS = """
#include <cstdlib>
__global__ void halves(int count, int width, const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    BODY
}
int main(int, char **argv) {
    int count = atoi(argv[1]) * 40, width = 40;
    float *in, *out;
    cudaMalloc(&in, 8 * count * sizeof(float));
    cudaMalloc(&out, count * sizeof(float));
    cudaMemset(in, 0, 8 * count * sizeof(float));
    halves<<<(count + 255) / 256, 256>>>(count, width, in, out);
    return cudaDeviceSynchronize();
}
"""


@pytest.mark.parametrize(
    "body",
    [
        "const float *own = in + 2 * (size_t)(i / width) * width + i % width;"
        "out[i] = own[0] * own[width];",
        "int row = i / width; out[i] = in[i + row * width + width] - in[i + row * width];",
        "int c = i % width, r = (i - c) / width; out[i] = in[(4 * r + 3) * width + c];",
    ],
    ids=["gates", "both", "one of four"],
)
def test_the_length_of_rows_that_never_varied_is_a_size(body: str, tmp_path: Path) -> None:
    """Then what an array spans is no polynomial of the sizes: rows are counted as a whole."""
    source = tmp_path / "rows.cu"
    source.write_text(WIDTHS.replace("BODY", body))
    run = ("--run", "./{program} {n}", "--vary", "n=5,30")
    done = cutune("tune", source, *run, *QUICK, cwd=tmp_path)
    assert done.returncode == 0 and "CT418" not in done.stderr, done.stderr
    sizes = ("count=10000000", "width=1000")
    known = json.loads(cutune("select", "halves", *sizes, "--json", cwd=tmp_path).stdout)
    assert known["measured_only_at"] == {} and known["extrapolated"] is False

"""`tune --shortlist` on a GPU that is made up: the emulated device, whose times are others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import cutune as package
from cutune.core.diagnostics import CutuneError
from cutune.core.workspace import entries_of
from cutune.measure import gpu_sweep
from cutune.model.fit.fitted_model import FittedModel, read_models
from cutune.toolchain.device.profile import DeviceProfile
from cutune.tuning import time_shortlists
from tests.support.cutune_runs import ARCHITECTURE, compiled, cutune, run, select
from tests.support.short_headers import STANDARD

pytestmark = [pytest.mark.nvcc, pytest.mark.long]

OPTIONS = (STANDARD, ARCHITECTURE)

PRODUCT = """
#include <cstdio>
#include <cstdlib>
#define TILE 16

__global__ void product(int n, const float *a, const float *b, float *c) {
    __shared__ float left[TILE][TILE], right[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        int x = k + threadIdx.x, y = k + threadIdx.y;
        left[threadIdx.y][threadIdx.x] = row < n && x < n ? a[row * n + x] : 0;
        right[threadIdx.y][threadIdx.x] = y < n && column < n ? b[y * n + column] : 0;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = sum;
}

__global__ void scale(int n, float *c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n * n) c[i] *= 0.5f;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 64;
    float *a, *b, *c;
    cudaMallocManaged(&a, n * n * sizeof(float));
    cudaMallocManaged(&b, n * n * sizeof(float));
    cudaMallocManaged(&c, n * n * sizeof(float));
    for (int i = 0; i < n * n; ++i) a[i] = i % 7, b[i] = i % 5, c[i] = 0;
    product<<<dim3((n + TILE - 1) / TILE, (n + TILE - 1) / TILE), dim3(TILE, TILE)>>>(n, a, b, c);
    scale<<<(n * n + 255) / 256, 256>>>(n, c);
    cudaDeviceSynchronize();
    double sum = 0;
    for (int i = 0; i < n * n; ++i) sum += c[i] * (i % 3 + 1);
    printf("%.1f\\n", sum);
}
"""
COUNT, SIZES = 5, ("48", "64")


class MadeUp:
    """The times of a GPU: of each site, the last configuration that is asked for is the fastest."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []

    def entries(self, path: Path, schema: str) -> list[dict[str, Any]]:
        read = [*entries_of(path, schema)]
        self.lines += read
        last = {line["site"]: place for place, line in enumerate(read)}
        for place, line in enumerate(read):
            assert "error" not in line, line
            line["modelled"] = False
            line["milliseconds"] = [0.5 if place == last[line["site"]] else 1.0]
        return read

    def best(self, kernel: str) -> tuple[list[int], str]:
        [*_, line] = [line for line in self.lines if line["kernel"] == kernel]
        return line["block"], line.get("variant", "")


@pytest.fixture(scope="module")
def made_up() -> MadeUp:
    return MadeUp()


@pytest.fixture(scope="module")
def tuned(made_up: MadeUp, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tuned program; the workspace is beside it."""
    source = tmp_path_factory.mktemp("shortlist") / "app.cu"
    source.write_text(PRODUCT)
    runs = "--run", "./{program} {n}", "--vary", f"n={','.join(SIZES)}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time_shortlists, "require_gpu", lambda: None)
        patch.setattr(gpu_sweep, "gpu_target", lambda _: None)
        patch.setattr(gpu_sweep, "read_entries", made_up.entries)
        done = cutune("tune", source, *runs, "--shortlist", COUNT, *OPTIONS, "--device", "h200")
    assert done.returncode == 0, done.stderr
    assert made_up.lines, done.stderr
    return source.with_name("app.tuned.cu")


@pytest.mark.parametrize("kernel", ["product", "scale"])
def test_the_first_configurations_are_timed(kernel: str, tuned: Path, made_up: MadeUp) -> None:
    own = [line for line in made_up.lines if line["kernel"] == kernel]
    assert len(own) == len(SIZES) * (1 + COUNT)
    assert sum(line["original"] for line in own) == len(SIZES)
    assert {line["identical"] for line in own} == {True}
    (model,) = (m for m in read_models(tuned.parent / ".cutune/models.json") if _is(m, kernel))
    assert model.timed is not None and len(model.timed.launches) == len(SIZES)


@pytest.mark.parametrize("kernel", ["product", "scale"])
def test_the_best_is_chosen_and_shown(kernel: str, tuned: Path, made_up: MadeUp) -> None:
    block, variant = made_up.best(kernel)
    for size in SIZES:
        answer = select(kernel, tuned.parent / ".cutune", f"n={size}")
        choice = answer["choice"]
        assert (choice["block"], choice["variant"]["name"]) == (block, variant or "plain")
        times = [o["measured_ms"] for o in answer["ranked"] if o["measured_ms"] is not None]
        assert times == [0.5] + COUNT * [1.0]


def test_the_tuned_program_launches_the_best(tuned: Path, made_up: MadeUp, tmp_path: Path) -> None:
    source = tuned.with_name("app.cu")
    original = compiled(source, source, tmp_path / "original")
    binary = compiled(tuned, source, tmp_path / "tuned")
    for size in SIZES:
        expected, found = run(original, size), run(binary, size, CUTUNE="verbose")
        assert (found.returncode, found.stdout) == (0, expected.stdout)
        for kernel in ("product", "scale"):
            block, variant = made_up.best(kernel)
            said = [line for line in found.stderr.splitlines() if f" {kernel}" in line]
            assert f"-> {'x'.join(map(str, block))}" in said[0]
            assert any(f"variant {variant} " in line for line in said) is bool(variant)


def _is(model: FittedModel, kernel: str) -> bool:
    return model.kernel.name == kernel


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "app.cu").write_text(PRODUCT)
    return tmp_path / "app.cu"


def test_without_a_gpu_nothing_begins(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_sweep, "DRIVER", "libno-such-driver.so")
    done = cutune("tune", source, "--run", "./{program} 48", "--shortlist", "8")
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("cutune: error: no GPU can be used here") and line.endswith("[CT015]")
    with pytest.raises(CutuneError, match="no GPU can be used here"):
        package.tune(source, shortlist=8)
    assert {path.name for path in source.parent.iterdir()} == {"app.cu"}


def test_another_gpu_than_the_modelled_one_is_refused(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_shortlists, "require_gpu", lambda: None)
    monkeypatch.setattr(
        time_shortlists, "gpu_name", lambda: (DeviceProfile.named("a100").name, "1")
    )
    done = cutune("tune", source, "--shortlist", "8", "--device", "h200")
    assert done.returncode == 1
    assert "NVIDIA A100" in done.stderr and "NVIDIA H200" in done.stderr
    assert done.stderr.rstrip().endswith("leave out --device [CT015]")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("app.cu", "--shortlist", "0"), "--shortlist takes a count from 1"),
        (("app.cu", "--shortlist", "few"), "invalid int value: 'few'"),
        (("app.cu", "--shortlist", "8", "--tunables"), "leave out --tunables and --make"),
        (("--make", "make", "--shortlist", "8"), "leave out --tunables and --make"),
        (("app.py", "--shortlist", "8"), "not for scripts"),
        (("app.cu", "--shortlist", "8", "--model", "latency"), "leave out --model"),
    ],
)
def test_what_cannot_be_asked(words: Sequence[str], said: str) -> None:
    done = cutune("tune", *words)
    assert done.returncode == 2 and said in done.stderr


def test_a_shortlist_of_python_is_a_count(source: Path) -> None:
    with pytest.raises(CutuneError, match="shortlist is a count"):
        package.tune(source, shortlist=-1)

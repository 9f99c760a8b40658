"""Programs whose kernels are not executed while their launches are recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest import approx

from cutune.measure import emulated_runs as record
from cutune.measure.replay import replay
from tests.support.cutune_runs import QUICK, cutune, select

pytestmark = pytest.mark.nvcc

PROGRAM = """
#include <cstdlib>
__global__ void twice(int n, const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
}
__global__ void endless(int n, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (;;) out[i] += 1;
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    float *h = new float[n];
    for (int i = 0; i < n; ++i) h[i] = 1;
    float *a, *b;
    cudaMalloc(&a, n * 4);
    cudaMalloc(&b, n * 4);
    cudaMemcpy(a, h, n * 4, cudaMemcpyHostToDevice);
    twice<<<(n + 255) / 256, 256>>>(n, a, b);
    if (argc > 2) endless<<<1, 32>>>(n, a);
    cudaMemcpy(h, b, n * 4, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; ++i)
        if (h[i] != 2) return 1;
    return 0;
}
"""


def measured(
    folder: Path, command: str, *options: str, sizes: str = "100,300", says: str = ""
) -> list[str]:
    """What `collect` writes for a run of the program."""
    source, workspace = folder / "twice.cu", folder / f"workspace{len(options)}"
    source.write_text(PROGRAM)
    words = ("--run", command, "--vary", f"n={sizes}", "--workspace", workspace)
    done = cutune("collect", source, *words, *options, *QUICK)
    assert done.returncode == 0, done.stderr
    assert says in done.stderr
    return sorted((workspace / "measurements.jsonl").read_text().splitlines())


def test_the_same_is_measured(tmp_path: Path) -> None:
    executed = measured(tmp_path, "./{program} {n}")
    # The program finds its results wrong then, and says so by its status.
    assert measured(tmp_path, "./{program} {n}", "--launches-only") == executed


@pytest.fixture
def given_up_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no end to `endless` in a replay, either."""
    monkeypatch.setattr(replay, "INSTRUCTION_LIMIT", 4_000_000)


@pytest.mark.usefixtures("given_up_early")
def test_a_program_that_takes_too_long_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # `twice` is executed, and `endless` until nothing is left: then all launches are recorded.
    monkeypatch.setattr(record, "EXECUTED_INSTRUCTIONS", 200_000)
    monkeypatch.setattr(record, "EXECUTED_SECONDS", 0)
    monkeypatch.setattr(record, "PATIENCE_SECONDS", 600)
    lines = measured(tmp_path, "./{program} {n} endless", sizes="100,300", says="CT445")
    assert any('"twice"' in line for line in lines)


@pytest.mark.long
@pytest.mark.usefixtures("given_up_early")
def test_a_launch_that_takes_too_long_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # There is no end to `endless` but the clock.
    monkeypatch.setattr(record, "EXECUTED_INSTRUCTIONS", 10**15)
    monkeypatch.setattr(record, "EXECUTED_SECONDS", 1)
    monkeypatch.setattr(record, "PATIENCE_SECONDS", 600)
    lines = measured(tmp_path, "./{program} {n} endless", sizes="100,300", says="CT445")
    assert any('"twice"' in line for line in lines)


@pytest.mark.usefixtures("given_up_early")
def test_kernels_are_not_executed(tmp_path: Path) -> None:
    assert measured(tmp_path, "./{program} {n} endless", "--launches-only", sizes="100")


def test_times_need_kernels(tmp_path: Path) -> None:
    source = tmp_path / "twice.cu"
    source.write_text(PROGRAM)
    done = cutune("collect", source, "--on", "gpu", "--launches-only")
    assert done.returncode == 2
    assert "--launches-only" in done.stderr


STEPS = """
#include <cstdlib>
__global__ void steps(int n, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int k = n; k > 1; k = k % 2 ? k * 3 + 1 : k / 2) out[i] += 1;
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    float *a;
    cudaMalloc(&a, n * 4);
    steps<<<(n + 255) / 256, 256>>>(n, a);
    return 0;
}
"""


@pytest.mark.long
def test_a_kernel_whose_work_no_function_gives_is_counted_as_it_is_launched(tmp_path: Path) -> None:
    source = tmp_path / "steps.cu"
    source.write_text(STEPS)
    words = ("tune", source, "--run", "./{program} {n}", "--vary", "n=100,300", *QUICK)
    predicted = []
    for number, options in enumerate([(), ("--launches-only",)]):
        workspace = tmp_path / str(number)
        done = cutune(*words, *options, "--workspace", workspace, "-o", tmp_path / "tuned.cu")
        assert done.returncode == 0, done.stderr
        assert "no function of its sizes was found that gives its work [CT418]" in done.stderr
        ranked = select("steps", workspace, "n=250")["ranked"]
        predicted.append({tuple(one["block"]): one["predicted_ms"] for one in ranked})
    executed, recorded = predicted
    assert recorded.keys() == executed.keys()
    assert all(recorded[block] == approx(executed[block], rel=0.02) for block in executed)


TABLE = """
#include <cstdlib>
__device__ float table[64];
// `step` is no size: with others than the program's the table is left.
__global__ void looked_up(int n, int step, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = table[step * (i % 3)] + i;
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    float *a;
    cudaMalloc(&a, n * 4);
    looked_up<<<(n + 127) / 128, 128>>>(n, 20, a);
    return 0;
}
"""


def test_a_kernel_that_fails_at_other_sizes_is_counted_at_its_own(tmp_path: Path) -> None:
    source = tmp_path / "table.cu"
    source.write_text(TABLE)
    words = ("--run", "./{program} {n}", "--vary", "n=3000,9000", "--launches-only", *QUICK)
    done = cutune("tune", source, *words, "--workspace", tmp_path, "-o", tmp_path / "tuned.cu")
    assert done.returncode == 0, done.stderr
    assert "illegal address" in done.stderr and "name them: #pragma" in done.stderr
    answer = select("looked_up", tmp_path, "n=6000", "step=20")
    assert not answer["extrapolated"] and len(answer["ranked"]) > 20
    # The table ends somewhere: nothing is known of other steps.
    assert select("looked_up", tmp_path, "n=6000", "step=40")["kept_original"]

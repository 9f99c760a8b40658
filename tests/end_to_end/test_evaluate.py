"""`cutune evaluate` on models made here, with sweeps recorded on an H200."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.core.workspace import Workspace, append_lines
from cutune.measure.gpu_sweep import parse_profile
from cutune.model.fit.fitted_model import read_models
from cutune.model.measurement.sweep import read_sweep, swept_line
from cutune.model.performance.published_models import compose_mwp_cwp
from cutune.model.rational.program import evaluate, point
from tests.support.cutune_runs import H200, QUICK, SAMPLES, cutune, tune

pytestmark = pytest.mark.nvcc

RECORDED = Path(__file__).parents[1] / "recorded"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tuned samples: of one dimension, and a stencil of two."""
    folder = tmp_path_factory.mktemp("evaluate")
    for name in ("mvt", "2dconv"):
        tune(SAMPLES / f"{name}.cu", folder, "64,96")
    return folder


@pytest.mark.long
def test_choices_are_better_than_habits(workspace: Path) -> None:
    """The comparison of docs/evaluation.md, for 15 of its launches."""
    table, sheet = workspace / "found.json", workspace / "found.csv"
    done = cutune(
        *("evaluate", SAMPLES / "mvt.cu", SAMPLES / "2dconv.cu", "--workspace", workspace),
        *("--from", RECORDED / "polybench_h200.json", "--train", 512),
        *("--json", table, "--csv", sheet),
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(table.read_text())
    scores = {score["strategy"]: score for score in document["scores"]}
    chosen = scores["mechanistic"]
    assert chosen["cases"] == chosen["answered"] == len(document["launches"]) == 15
    others = [score for name, score in scores.items() if name != "mechanistic"]
    assert len(others) == 7
    # No timing of these kernels was known, and most of the others use some or all.
    assert chosen["mean"] <= 0.03
    assert chosen["mean"] < min(scores[name]["mean"] for name in ("occupancy API", "mwp-cwp"))
    assert len(sheet.read_text().splitlines()) == 16
    assert "mvt: mvt_kernel1" in done.stdout and "best at the nearest size" in done.stdout


def test_emulated_sectors_are_those_of_the_hardware(workspace: Path) -> None:
    """What ncu counted on an H200 for every block of mvt at N = 512."""
    counted = parse_profile((RECORDED / "ncu_mvt_h200.csv").read_text())
    models = {m.kernel.name: m for m in read_models(workspace / "models.json")}
    for kernel in ("mvt_kernel1", "mvt_kernel2"):
        model = models[kernel]
        at = point(dict.fromkeys(model.kernel.parameters, 512), (512, 1, 1))
        values = evaluate(compose_mwp_cwp(model, H200), at)
        per_warp = dict(zip(model.blocks, values["sectors"], strict=True))
        for found in (one for one in counted if one.kernel == kernel):
            sectors = found.values["load_sectors"] + found.values["store_sectors"]
            assert per_warp[found.block] * 512 / 32 == pytest.approx(sectors, rel=0.02)
            accesses = found.values["load_instructions"] + found.values["store_instructions"]
            assert float(values["memory"]) * 512 / 32 == pytest.approx(accesses, rel=1e-3)


def test_another_model_can_be_judged(workspace: Path) -> None:
    done = cutune(
        *("evaluate", SAMPLES / "mvt.cu", "--workspace", workspace, "--model", "latency"),
        *("--from", RECORDED / "polybench_h200.json", "--scores"),
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].split()[0] == "latency"
    assert "mvt_kernel1" not in done.stdout


def test_models_differ_and_can_be_emitted(workspace: Path) -> None:
    predicted = set()
    for model in ("mechanistic", "mwp-cwp", "latency"):
        words = ("--workspace", workspace, "--all-sizes", "2048", "--json", "--model", model)
        done = cutune("select", "Convolution2D_kernel", *words)
        assert done.returncode == 0, done.stderr
        predicted.add(json.loads(done.stdout)["ranked"][0]["predicted_ms"])
    assert len(predicted) == 3
    tuned = workspace / "latency.cu"
    asked = ("--workspace", workspace, "--model", "latency", "-o", tuned, *QUICK)
    done = cutune("emit", SAMPLES / "2dconv.cu", *asked)
    assert done.returncode == 0, done.stderr
    assert "bound_latency_" in tuned.read_text()


def test_timings_test_the_model(workspace: Path, tmp_path: Path) -> None:
    """As if `collect --on gpu` had swept both at N = 1000 and 2048."""
    copy = Workspace(tmp_path)
    copy.measurements.write_bytes((workspace / "measurements.jsonl").read_bytes())
    swept = read_sweep(RECORDED / "polybench_h200.json").launches
    known = [one for one in swept if one.program in ("mvt", "2dconv") and one.size in (1000, 2048)]
    turned = [
        replace(one, microseconds={b: 1e4 / t for b, t in one.microseconds.items()})
        if one.program == "2dconv"
        else one
        for one in known
    ]
    append_lines(copy.measurements, ({**swept_line(one), "device": H200.name} for one in turned))
    done = cutune("fit", "--workspace", tmp_path)
    assert done.returncode == 0, done.stderr
    # Upside down, the times of the stencil speak against its model.
    assert "[CT517]" in done.stderr and "Convolution2D_kernel" in done.stderr
    models = {model.kernel.name: model for model in read_models(copy.models)}
    confirmed = [name for name, model in models.items() if model.confirmed_on]
    assert {"mvt_kernel1", "mvt_kernel2"} <= {*confirmed}
    assert "Convolution2D_kernel" not in confirmed
    assert not any(model.confirmed_on for model in read_models(workspace / "models.json"))


def test_nothing_to_judge(workspace: Path) -> None:
    words = ("--workspace", workspace, "--from", RECORDED / "judges" / "01_h200.json")
    done = cutune("evaluate", SAMPLES / "mvt.cu", *words)
    assert done.returncode == 1
    assert "[CT516]" in done.stderr and "triad" in done.stderr


@pytest.mark.parametrize("option", [("--cache", "repeated"), ("--save", "again.json")])
def test_a_recorded_sweep_is_not_swept_otherwise(option: tuple[str, str], workspace: Path) -> None:
    words = ("--workspace", workspace, "--from", RECORDED / "polybench_h200.json", *option)
    done = cutune("evaluate", SAMPLES / "mvt.cu", *words)
    assert done.returncode == 2
    assert "leave out --cache, --save and --energy" in done.stderr


@pytest.mark.long
def test_without_a_gpu(tmp_path: Path) -> None:
    """The program is built for a GPU; where there is none, it ends with its own message."""
    words = ("--run", "./{program} {n}", "--vary", "n=64", "--workspace", tmp_path)
    done = cutune("collect", SAMPLES / "mvt.cu", "--on", "gpu", *words, *QUICK)
    assert done.returncode in (0, 1)
    if done.returncode == 1:
        assert "[CT411]" in done.stderr and "on the GPU" in done.stderr


def test_counters_ask_for_a_gpu(tmp_path: Path) -> None:
    done = cutune("collect", SAMPLES / "mvt.cu", *QUICK, "--counters", "--workspace", tmp_path)
    assert done.returncode == 2
    assert "--on gpu" in done.stderr


ROWS = """
#include <cstdlib>
__global__ void rows(int n, const float *a, float *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int j = 0; j < n; ++j) b[i] += a[j * n + i];
}
int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    float *a, *b;
    cudaMalloc(&a, n * n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMemset(a, 0, n * n * sizeof(float));
    cudaMemset(b, 0, n * sizeof(float));
    rows<<<(n + 63) / 64, 64>>>(n, a, b);
    return cudaDeviceSynchronize();
}
"""


@pytest.mark.long
def test_the_published_method_from_end_to_end(tmp_path: Path) -> None:
    """Counters per warp as functions of size and block, MWP-CWP on them, and Table 2."""
    source = tmp_path / "rows.cu"
    source.write_text(ROWS)
    done = cutune(
        *("tune", source, "--run", "./{program} {n}", "--vary", "n=64", "--workspace", tmp_path),
        *("--fit", "paper", "--model", "mwp-cwp", "-o", tmp_path / "rows.tuned.cu", *QUICK),
    )
    assert done.returncode == 0, done.stderr
    assert "mwp_cwp_" in (tmp_path / "rows.tuned.cu").read_text()
    (model,) = read_models(tmp_path / "models.json")
    assert model.published is not None and not model.published.issued.exact
    done = cutune("evaluate", "--training", "--workspace", tmp_path)
    assert done.returncode == 0, done.stderr
    # The accesses are coalesced and the work is the same for every block: even this fit is right.
    assert "within 10 % of collected ones in 2 of 2 rows" in done.stdout
    done = cutune("fit", "--workspace", tmp_path)
    (model,) = read_models(tmp_path / "models.json")
    assert model.published is None and model.instructions.exact

"""Stages on programs and a workspace: what they read, write, and refuse. Nothing is compiled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.progress import Reporter
from cutune.core.source import Source
from cutune.core.workspace import Workspace, append_lines
from cutune.measure.measure_kernels import Collected
from cutune.measure.program_runs import RunPlan
from cutune.measure.resources import with_lent
from cutune.model.fit.fit import PAPER
from cutune.model.fit.fitted_model import FittedModel, read_models, write_models
from cutune.model.measurement.measurement import MeasuredKernel, Measurement, Origin, Purpose
from cutune.model.measurement.sweep import SweptLaunch, swept_line
from cutune.model.selection.chooser import Chooser
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import CompiledCode, Program
from cutune.source.rewrite.output import Target
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.ptxas import StaticCounters
from cutune.tuning.stages import collect, emit, fit, fit_collected
from tests.support.analyzed import analyzed
from tests.support.replayed_kernels import fitted, measured

H200 = DeviceProfile.named("h200")
CODE = CompiledCode("code", (80,))
TEXT = """
__global__ void copy(int n, const float *a, float *b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) b[i] = a[i];
}
"""
LAUNCH = "void run(int n, float *a, float *b) { copy<<<(n + 255) / 256, 256>>>(n, a, b); }\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "workspace").create()


@pytest.fixture
def said() -> list[Diagnostic]:
    return []


@pytest.fixture
def analyzer(said: list[Diagnostic]) -> Analyzer:
    return Analyzer(reporter=Reporter(said.append))


def save(workspace: Workspace, kernel: MeasuredKernel, measurements: Iterable[Measurement]) -> None:
    append_lines(workspace.measurements, [kernel.to_json()])
    append_lines(workspace.measurements, (m.to_json() for m in measurements))


def program(folder: Path, text: str = TEXT + LAUNCH) -> Program:
    path = folder / "app.cu"
    path.write_text(text)
    return analyzed(Source(str(path), text))


# ---- fit


def test_every_kernel_of_the_workspace_is_fitted_and_saved(
    analyzer: Analyzer, workspace: Workspace, said: list[Diagnostic]
) -> None:
    for name in ("copy", "columns"):
        save(workspace, *measured(name))
    wanted = [fitted(*measured(name)) for name in ("copy", "columns")]
    assert fit(analyzer.reporter, workspace) == wanted
    assert read_models(workspace.models) == wanted
    assert said == []


def test_a_kernel_that_cannot_be_fitted_does_not_stop_others(
    analyzer: Analyzer, workspace: Workspace, said: list[Diagnostic]
) -> None:
    kernel, measurements = measured("copy")
    save(workspace, kernel, (m for m in measurements if m.purpose != Purpose.COUNTS))
    save(workspace, *measured("columns"))
    assert [model.kernel.name for model in fit(analyzer.reporter, workspace)] == ["columns"]
    assert [one.code for one in said] == [Code.NO_MEASUREMENTS]


def test_a_torn_line_is_told_once(
    analyzer: Analyzer, workspace: Workspace, said: list[Diagnostic]
) -> None:
    save(workspace, *measured("copy"))
    with workspace.measurements.open("a") as file:
        file.write('{"schema": "cutune-meas')
    assert len(fit(analyzer.reporter, workspace)) == 1
    assert [one.code for one in said] == [Code.TORN_LINE]


def test_the_published_way_fits_more(analyzer: Analyzer, workspace: Workspace) -> None:
    save(workspace, *measured("columns", training=True))
    assert fit(analyzer.reporter, workspace)[0].published is None
    assert fit(analyzer.reporter, workspace, PAPER)[0].published is not None


def test_without_measurements_there_is_nothing_to_fit(
    analyzer: Analyzer, workspace: Workspace
) -> None:
    with pytest.raises(CutuneError) as caught:
        fit(analyzer.reporter, workspace)
    assert caught.value.diagnostic.code is Code.MISSING_STAGE


def swept(model: FittedModel, is_as_predicted: bool) -> SweptLaunch:
    """A large launch whose blocks take what is predicted, or the opposite; the own one longest."""
    choice = Chooser(model, H200).choose({"n": 1 << 26})
    times = {one.block: 1e3 * one.predicted_ms for one in choice.ranked}
    if not is_as_predicted:
        longest = max(times.values()) + min(times.values())
        times = {block: longest - time for block, time in times.items()}
    times[choice.original] = max(times[choice.original], 1.03 * times[choice.block])
    return SweptLaunch("app", "copy", 1 << 26, {"n": 1 << 26}, None, choice.original, times)


@pytest.mark.parametrize("is_as_predicted", [True, False])
def test_timings_test_the_model(
    is_as_predicted: bool, analyzer: Analyzer, workspace: Workspace, said: list[Diagnostic]
) -> None:
    kernel, measurements = measured("copy")
    # Blocks of 1024 threads are far from the best, so that another one is chosen.
    kernel = replace(kernel, original=(1024, 1, 1))
    save(workspace, kernel, measurements)
    line = swept_line(swept(fitted(kernel, measurements), is_as_predicted))
    append_lines(workspace.measurements, [{**line, "device": H200.name}])
    (model,) = fit(analyzer.reporter, workspace, device=H200)
    assert model.confirmed_on == (H200.name if is_as_predicted else None)
    assert [one.code for one in said] == ([] if is_as_predicted else [Code.UNSUITED_MODEL])


def test_timings_of_another_device_say_nothing(analyzer: Analyzer, workspace: Workspace) -> None:
    kernel, measurements = measured("copy")
    kernel = replace(kernel, original=(1024, 1, 1))
    save(workspace, kernel, measurements)
    line = swept_line(swept(fitted(kernel, measurements), True))
    append_lines(workspace.measurements, [{**line, "device": "another"}])
    (model,) = fit(analyzer.reporter, workspace, device=H200)
    assert model.confirmed_on is None


# ---- collect


def test_a_program_without_tunable_launches_is_refused(
    analyzer: Analyzer, workspace: Workspace, tmp_path: Path
) -> None:
    with pytest.raises(CutuneError) as caught:
        collect(analyzer, [program(tmp_path, TEXT)], RunPlan("./app", {}, "paper"), H200, workspace)
    assert caught.value.diagnostic.code is Code.NOTHING_TUNABLE


def test_what_the_compiler_says_of_a_borrowed_kernel_comes_from_its_source(tmp_path: Path) -> None:
    own, lent = {"_Z3ownv": StaticCounters(16)}, {"_Z4copyiPKfPf": StaticCounters(24)}
    told = {**lent, "_Z5otherv": StaticCounters(32)}
    found = program(tmp_path)
    (kernel,) = found.kernels
    unit = replace(found, kernels=(replace(kernel, elsewhere=CODE, entries=tuple(lent)),))
    lending = replace(found, code=CODE)
    assert with_lent(unit, own, [(unit, own), (lending, told)]) == {**own, **lent}
    # Another version of the source is another source.
    changed = replace(found, code=CompiledCode("changed", (80,)))
    assert with_lent(unit, own, [(unit, own), (changed, told)]) == own


# ---- what was collected now


def test_models_of_other_kernels_stay_when_one_is_tuned(
    analyzer: Analyzer, workspace: Workspace
) -> None:
    save(workspace, *measured("columns"))
    fit(analyzer.reporter, workspace)
    kernel, measurements = measured("copy")
    models = fit_collected(analyzer.reporter, workspace, [Collected(kernel, measurements)])
    assert [model.kernel.name for model in models] == ["columns", "copy"]
    assert read_models(workspace.models) == models
    # Nothing was read back: the measurements of `copy` stand in no file.
    assert [model.kernel.name for model in fit(analyzer.reporter, workspace)] == ["columns"]


def test_models_of_another_version_of_cutune_are_made_again(
    analyzer: Analyzer, workspace: Workspace
) -> None:
    save(workspace, *measured("columns"))
    kernel, measurements = measured("copy")
    save(workspace, kernel, measurements)
    workspace.models.write_text('{"schema": "cutune-models-1", "models": []}')
    models = fit_collected(analyzer.reporter, workspace, [Collected(kernel, measurements)])
    assert [model.kernel.name for model in models] == ["columns", "copy"]


# ---- emit


def model_of(found: Program) -> FittedModel:
    """The model of `copy`, as if it had been made of this program."""
    model = fitted(*measured("copy"))
    origin = Origin.of(found.source, found.deciding_files)
    return replace(model, kernel=replace(model.kernel, origin=origin))


def test_the_tuned_program_is_written_where_it_is_wanted(
    analyzer: Analyzer, workspace: Workspace, tmp_path: Path
) -> None:
    found = program(tmp_path)
    write_models(workspace.models, [model_of(found)])
    target = Target(tmp_path / "app.tuned.cu")
    assert emit(analyzer, found, workspace, [H200], target) == target.path
    text = target.path.read_text()
    assert "copy<<<(n + 255) / 256, 256>>>(n, a, b)" not in text
    assert "cutune_" in text and TEXT.strip() in text


def test_models_of_another_version_are_refused(
    analyzer: Analyzer, workspace: Workspace, tmp_path: Path
) -> None:
    write_models(workspace.models, [model_of(program(tmp_path))])
    changed = program(tmp_path, TEXT + "\n" + LAUNCH)
    with pytest.raises(CutuneError) as caught:
        emit(analyzer, changed, workspace, [H200], Target(tmp_path / "app.tuned.cu"))
    assert caught.value.diagnostic.code is Code.STALE_MODELS
    assert not (tmp_path / "app.tuned.cu").exists()


def test_without_models_nothing_is_written(
    analyzer: Analyzer, workspace: Workspace, tmp_path: Path
) -> None:
    with pytest.raises(CutuneError) as caught:
        emit(analyzer, program(tmp_path), workspace, [H200], Target(tmp_path / "app.tuned.cu"))
    assert caught.value.diagnostic.code is Code.MISSING_STAGE
    assert not (tmp_path / "app.tuned.cu").exists()

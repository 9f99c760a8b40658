"""The verbs that use a real GPU, or what was measured on one: `collect --on gpu` and `evaluate`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from cutune.check.evaluate import Evaluation, Models, evaluate_sweep
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.workspace import Workspace, append_lines
from cutune.emulator.program_builds import build_instrumented
from cutune.measure.gpu_sweep import GpuBuild, counters_on_gpu, gpu_name, gpu_target, sweep_on_gpu
from cutune.measure.program_runs import RunPlan
from cutune.measure.resources import static_counters
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.measurement.measurement import Origin
from cutune.model.measurement.sweep import (
    IN_PROGRAM,
    REPEATED,
    RESTORED,
    RecordedSweep,
    SweptLaunch,
    swept_line,
)
from cutune.model.selection.chooser import DEFAULT
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import Program
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.ptxas import by_kernel

COUNTERS_SCHEMA = "cutune-counters-1"
_METHOD = (
    "instrumented program in sweep mode: least of the event times per block after one warm-up;"
    " blocks three times slower than the best were timed once"
)
METHODS = {
    RESTORED: f"{_METHOD}; memory was put back before each launch",
    REPEATED: f"{_METHOD}; behind the same launch",
    IN_PROGRAM: "instrumented program, a run for each configuration: least of the event times",
}


def collect_on_gpu(
    analyzer: Analyzer,
    program: Program,
    plan: RunPlan,
    device: DeviceProfile,
    workspace: Workspace,
    counters: bool,
) -> list[SweptLaunch]:
    """Sweep every tunable launch on the GPU of this machine; append to the workspace.

    Timings only test whether the model suits a kernel; the model is made from counts. `counters`: a
    second run reads hardware counters.
    """
    build, binary = _built(analyzer, program, device, workspace)
    runs = plan.runs(binary)
    swept = list(sweep_on_gpu(build, runs, plan.candidate_set, analyzer.reporter.progress))
    name, driver = gpu_name()
    origin = asdict(Origin.of(program.source, program.deciding_files))
    about = {"device": name, "driver": driver, "origin": origin}
    append_lines(workspace.measurements, ({**swept_line(one), **about} for one in swept))
    if counters:
        counted = counters_on_gpu(build, runs, plan.candidate_set, analyzer.reporter.progress)
        append_lines(
            workspace.measurements,
            (
                {
                    "schema": COUNTERS_SCHEMA,
                    **about,
                    **{key: entry[key] for key in ("kernel", "extent", "arguments")},
                    "grid": list(counters_read.grid),
                    "block": list(counters_read.block),
                    "counters": dict(counters_read.values),
                }
                for entry, counters_read in counted
            ),
        )
    return swept


def _built(
    analyzer: Analyzer, program: Program, device: DeviceProfile, workspace: Workspace
) -> tuple[GpuBuild, Path]:
    if not program.tunable_launches:
        raise CutuneError.at(Code.NOTHING_TUNABLE, path=program.source.path)
    folder = workspace.create().folder / "gpu"
    analyzer.reporter.progress("compiling", 0, 1)
    toolchain, target = analyzer.toolchain, gpu_target(device.architecture)
    binary = build_instrumented(toolchain, [program], folder, target).binary
    path = program.source.path
    counters = static_counters(toolchain, analyzer.code, path, device.architecture)
    analyzer.reporter.progress("compiling", 1, 1)
    return GpuBuild(program, by_kernel(counters)), binary


def sweep(
    analyzer: Analyzer,
    programs: Sequence[Program],
    plan: RunPlan,
    device: DeviceProfile,
    workspace: Workspace,
    cache: str = RESTORED,
) -> RecordedSweep:
    """Time every configuration of every tunable launch of some programs, each run on its own.

    `cache`: what lies in the caches when a launch begins, one of `CACHES`.
    """
    launches: list[SweptLaunch] = []
    for program in map(analyzer.with_checked_variants, programs):
        build, binary = _built(analyzer, program, device, workspace)
        runs = plan.runs(binary)
        launches += sweep_on_gpu(build, runs, plan.candidate_set, analyzer.reporter.progress, cache)
    name, driver = gpu_name()
    return RecordedSweep(name, driver, METHODS[cache], tuple(launches), cache)


def evaluate(
    swept: RecordedSweep,
    models: Iterable[FittedModel],
    device: DeviceProfile,
    programs: Sequence[str] = (),
    train: int | None = None,
    judged: str = DEFAULT,
) -> Evaluation:
    """Compare what the models choose with a sweep. Raises CT516 when it has no launch to judge by.

    `programs`: paths of the sources whose launches count; without any, all in the sweep do.
    """
    stems = {Path(path).stem for path in programs}
    launches = [one for one in swept.launches if not stems or one.program in stems]
    evaluation = evaluate_sweep(launches, by_name(models), device, train, judged)
    if not evaluation.cases:
        names = ", ".join(sorted({launch.program for launch in swept.launches})) or "nothing"
        raise CutuneError.at(Code.NOTHING_TO_JUDGE, known=names)
    return evaluation


def by_name(models: Iterable[FittedModel]) -> Models:
    """Models by the names that a sweep has for their kernels."""
    return {(Path(m.kernel.origin.path).stem, m.kernel.name): m for m in models}

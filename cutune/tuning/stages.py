"""The stages `collect`, `fit` and `emit`, each as one function on programs and a workspace.

The verbs of the command line call them one at a time, `tune_program` all in one. Here stages are
only put together: the measuring itself is `measure/measure_kernels`, the fitting of a kernel
`model/fit/fit`, the writing of a tuned source `model/emit/programs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.progress import Reporter
from cutune.core.workspace import Workspace
from cutune.emulator.program_builds import InstrumentedProgram, build_numbered
from cutune.measure.measure_kernels import Collected, Part, measure_kernels, read_measurements
from cutune.measure.program_runs import RunPlan
from cutune.measure.resources import or_none, resources_of, with_lent
from cutune.model.emit.programs import models_of, replaced
from cutune.model.emit.selection import Decider
from cutune.model.fit.fit import EXACT, fit_model
from cutune.model.fit.fitted_model import FittedModel, read_models, with_variants, write_models
from cutune.model.measurement.measurement import MeasuredKernel, Measurement, by_entry
from cutune.model.measurement.sweep import swept_on
from cutune.model.selection.chooser import DEFAULT, with_timings
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.analysis.recorded_launches import nothing_tunable
from cutune.search.clones.value_sets import changed, sets_in_program, without_place
from cutune.search.tunables.choices import block_choices, choices_of, replacement
from cutune.search.tunables.measured_blocks import block_deciders
from cutune.search.tunables.verb_options import NEIGHBOURS
from cutune.source.program import Program
from cutune.source.rewrite.output import Target
from cutune.space.parameter import NO_PARAMETERS, ParameterOptions
from cutune.toolchain.device.profile import DeviceProfile
from cutune.tuning.nvcc.units import note_place


def collect(
    analyzer: Analyzer,
    programs: Sequence[Program],
    plan: RunPlan,
    device: DeviceProfile,
    workspace: Workspace,
) -> tuple[list[Collected], InstrumentedProgram]:
    """Build one instrumented program of all sources, measure its kernels; add to the workspace.

    `programs`: one for each source. Gives what was measured, and the program that was run. Raises
    CT415 where no launch may be tuned.
    """
    programs = [analyzer.with_checked_variants(program) for program in programs]
    if not any(program.tunable_launches for program in programs):
        raise nothing_tunable(programs)
    reporter = analyzer.reporter
    workspace.create()
    note_place(workspace)
    names = [Path(program.source.path).stem for program in programs]
    folders = ["source"] if len(programs) > 1 else []
    with workspace.claimed([*names, *folders], reporter.warn):
        reporter.progress("compiling", 0, 1)
        parts, built = _built(analyzer, programs, device, workspace)
        reporter.progress("compiling", 1, 1)
        runs, candidates = plan.runs(built.binary), plan.candidate_set
        measured = measure_kernels(reporter, parts, runs, device, candidates, plan.training)
    return [kernel for kernels in measured for kernel in kernels], built


def _built(
    analyzer: Analyzer, programs: Sequence[Program], device: DeviceProfile, workspace: Workspace
) -> tuple[list[Part], InstrumentedProgram]:
    toolchain, code, reporter = analyzer.toolchain, analyzer.code, analyzer.reporter
    with ThreadPoolExecutor(1) as pool:
        futures = [pool.submit(resources_of, toolchain, code, one, device) for one in programs]
        built, numbers = build_numbered(analyzer, programs, workspace.folder)
    needed = [
        (program, or_none(reporter.warn, program, future.result))
        for program, future in zip(programs, futures, strict=True)
    ]
    parts = [
        Part(program, sites, with_lent(program, resources, needed), workspace)
        for (program, resources), sites in zip(needed, numbers, strict=True)
    ]
    return parts, built


def fit(
    reporter: Reporter,
    workspace: Workspace,
    method: str = EXACT,
    device: DeviceProfile | None = None,
) -> list[FittedModel]:
    """Fit and save all models by a method of `fit_model`; timings on `device` check them."""
    models = _fitted(reporter, *read_measurements(workspace, reporter.warn), method)
    with workspace.replacing_models():
        return _saved(reporter, workspace, models, device)


def fit_collected(
    reporter: Reporter,
    workspace: Workspace,
    collected: Sequence[Collected],
    method: str = EXACT,
    device: DeviceProfile | None = None,
) -> list[FittedModel]:
    """Fit the kernels that were measured now; gives their models and the saved ones of others."""
    try:
        _read_saved(workspace)
    except CutuneError:  # of another version of cutune: they are made again
        return fit(reporter, workspace, method, device)
    kernels = [one.kernel for one in collected]
    measured = [measurement for one in collected for measurement in one.measurements]
    models = _fitted(reporter, kernels, measured, method)
    fitted = {model.kernel.place for model in models}
    # Another process may have saved models of its own since.
    with workspace.replacing_models():
        saved = [model for model in _read_saved(workspace) if model.kernel.place not in fitted]
        return _saved(reporter, workspace, [*saved, *models], device)


def _read_saved(workspace: Workspace) -> list[FittedModel]:
    return read_models(workspace.models) if workspace.models.exists() else []


def nothing_modelled(names: Sequence[str], reason: str) -> CutuneError:
    listed = "', '".join(names)
    return CutuneError.at(Code.NOTHING_MODELLED, path=listed, reason=reason)


def _fitted(
    reporter: Reporter,
    kernels: Sequence[MeasuredKernel],
    measured: Sequence[Measurement],
    method: str,
) -> list[FittedModel]:
    models = []
    for index, (kernel, own) in enumerate(by_entry(kernels, measured)):
        reporter.progress("fitting", index, len(kernels))
        model = fit_model(kernel, own, method)
        if not isinstance(model, Diagnostic):
            models.append(model)
        elif not kernel.variant:  # the kernel itself does without
            reporter.warn(model)
    reporter.progress("fitting", 1, 1)
    return with_variants(models)


def _saved(
    reporter: Reporter,
    workspace: Workspace,
    models: list[FittedModel],
    device: DeviceProfile | None,
) -> list[FittedModel]:
    if device is not None:
        swept = swept_on(workspace.measurements, device.name)
        for place, model in enumerate(models):
            own = [one for one in swept if one.is_of(model.kernel)]
            models[place], warning = with_timings(model, own, device)
            if warning is not None:
                reporter.warn(warning)
    write_models(workspace.models, models)
    return models


def emit(
    analyzer: Analyzer,
    program: Program,
    workspace: Workspace,
    devices: Sequence[DeviceProfile],
    target: Target,
    performance: str = DEFAULT,
    fitted: Sequence[FittedModel] | None = None,
    parameters: ParameterOptions = NO_PARAMETERS,
) -> Path:
    """Write the tuned form of one source; its path. `fitted`: None means the saved models."""
    chosen = choices_of(program, workspace)
    tunables = replacement(program, chosen)
    warn, sets = analyzer.reporter.warn, chosen.sets
    step = sets_in_program(analyzer.compiler, warn, program, sets, chosen.fixed)
    by_size = sets.names if sets is not None and step is not None else ()
    fixed = {name: value for name, value in chosen.fixed.items() if name not in by_size}
    changes = changed(program, fixed, parameters)
    if by_size:
        tunables = replace(tunables, values={name: str(value) for name, value in fixed.items()})
        name, texts = by_size[0], {one.name: one.own_text for one in program.constants}
        changes = {name: (texts[name], "several values"), **changes}
    for diagnostic in without_place(program, fixed, parameters):
        warn(diagnostic)
    if changes:
        # Other code was proven and modelled than this program is compiled to.
        if program.tunable_launches:
            name, (own, value) = next(iter(changes.items()))
            warn(Diagnostic.at(Code.LAUNCHES_STAY, name=name, own=own, value=value))
        return target.write(replaced(analyzer, program, [], devices, DEFAULT, tunables, [], step))
    # If the parameters of a program were measured, its launches need not be.
    is_modelled = workspace.models.exists() or not (tunables.routines or fixed)
    deciders: list[Decider] = []
    if performance == NEIGHBOURS:
        # Kernels that were not swept keep their model, where there is one.
        deciders = block_deciders(program, block_choices(program, workspace, devices))
        performance, is_modelled = DEFAULT, workspace.models.exists()
    models = models_of(program, workspace, fitted) if is_modelled else []
    unit = replaced(analyzer, program, models, devices, performance, tunables, deciders)
    return target.write(unit)

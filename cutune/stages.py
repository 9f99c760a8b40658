"""The stages that measure and model, as functions on a session and a workspace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from cutune.collect import (
    Run,
    Subject,
    collect_kernel,
    plan_runs,
    record_launches,
    subjects,
    try_candidates,
)
from cutune.device import DeviceProfile
from cutune.diagnostics import Code, CutuneError, Diagnostic
from cutune.emit_selection import emit_selection
from cutune.fit import fit_model
from cutune.fitted import FittedModel
from cutune.measure import (
    KERNEL_SCHEMA,
    MEASUREMENT_SCHEMA,
    MeasuredKernel,
    Measurement,
    Origin,
    by_entry,
)
from cutune.models_file import read_models, write_models
from cutune.passes import AttachStaticCounters, ReplaceLaunches
from cutune.pipeline import TranslationUnit, run_passes
from cutune.program import Program
from cutune.session import Session
from cutune.shadow import Target
from cutune.workspace import Workspace, append_lines, read_lines


def collect(
    session: Session,
    program: Program,
    template: str,
    vary: Mapping[str, Sequence[str]],
    device: DeviceProfile,
    workspace: Workspace,
    candidate_set: str,
) -> list[MeasuredKernel]:
    """Instrument, compile, run on the emulated device, replay; append to the workspace."""
    path = program.source.path
    if not program.tunable_launches:
        raise CutuneError(Diagnostic.at(Code.NOTHING_TUNABLE, None, path=path))
    workspace.create()
    session.progress("compiling", 0, 1)
    binary = session.build_instrumented(program, workspace.folder)
    counters = AttachStaticCounters(
        nvcc=session.nvcc,
        flags=tuple(session.compile_flags(path)),
        architecture=device.architecture,
    )
    unit = run_passes((counters,), TranslationUnit(program))
    session.report(unit.diagnostics)
    session.progress("compiling", 1, 1)
    runs = plan_runs(template, vary, binary)
    recorded = record_launches(runs, device, session.progress)
    found = subjects(program, recorded, unit.facts, candidate_set, session.warn)
    found = _tried(session, runs[0], found, device)
    known = measurements(session, workspace)[1] if workspace.measurements.exists() else []
    for subject in found:
        replayed = collect_kernel(subject, known, session.progress)
        try:
            append_lines(workspace.measurements, [subject.kernel.to_json()])
            append_lines(workspace.measurements, (m.to_json() for m in replayed))
        except CutuneError as error:
            if error.diagnostic.code is Code.UNWRITABLE_FILE:
                raise
            # One kernel that cannot be replayed does not stop the others.
            name, reason = subject.kernel.kernel, error.diagnostic.message
            session.warn(Diagnostic.at(Code.NOT_REPLAYED, None, kernel=name, reason=reason))
    return [subject.kernel for subject in found]


def _tried(
    session: Session, run: Run, found: Sequence[Subject], device: DeviceProfile
) -> list[Subject]:
    """Drop the candidates whose results differ from the original's, and say so."""
    session.progress("trying candidates", 0, 1)
    trials = try_candidates(run, [subject.kernel for subject in found], device)
    session.progress("trying candidates", 1, 1)
    for subject in found:
        trial = trials[subject.kernel.entry]
        if trial.differing:
            session.warn(
                Diagnostic.at(
                    Code.RESULTS_DIFFER,
                    None,
                    kernel=subject.kernel.kernel,
                    count=len(trial.differing),
                    difference=f"{trial.largest_difference:.3g}",
                )
            )
    return [
        replace(s, kernel=replace(s.kernel, rejected=trials[s.kernel.entry].differing))
        for s in found
    ]


def measurements(
    session: Session, workspace: Workspace
) -> tuple[list[MeasuredKernel], list[Measurement]]:
    """Everything that was measured.

    Raises:
        CutuneError: CT009 when nothing was.
    """
    path = workspace.measurements
    command = "cutune collect"
    kernels = read_lines(path, KERNEL_SCHEMA, MeasuredKernel.from_json, command, session.warn)
    measured = read_lines(path, MEASUREMENT_SCHEMA, Measurement.from_json, command, _silent)
    return list(kernels), list(measured)


def fit(session: Session, workspace: Workspace) -> list[FittedModel]:
    """Fit every measured kernel and save the models."""
    kernels, measured = measurements(session, workspace)
    models = []
    for index, (kernel, own) in enumerate(by_entry(kernels, measured)):
        session.progress("fitting", index, len(kernels))
        model = fit_model(kernel, own)
        if isinstance(model, Diagnostic):
            session.warn(model)
        else:
            models.append(model)
    session.progress("fitting", 1, 1)
    write_models(workspace.models, models)
    return models


def emit(
    session: Session, program: Program, workspace: Workspace, device: DeviceProfile, target: Target
) -> Path:
    """Write the tuned program; the path of its source."""
    models = models_of(program, workspace)
    selection = emit_selection(models, device)
    step = ReplaceLaunches(selection=selection.text, routines=selection.routines)
    unit = run_passes((step,), TranslationUnit(program))
    session.report(unit.diagnostics)
    return target.write(unit)


def models_of(program: Program, workspace: Workspace) -> list[FittedModel]:
    """The models that were made of this program.

    Raises:
        CutuneError: CT009 when there are none, CT513 when it has changed since.
    """
    origin = Origin.of(program.source, program.launching_headers)
    models = [m for m in read_models(workspace.models) if m.facts.origin.path == origin.path]
    if any(model.facts.origin != origin for model in models):
        raise CutuneError(Diagnostic.at(Code.STALE_MODELS, None, path=program.source.path))
    return models


def _silent(_: Diagnostic) -> None:
    """The file was read before: its torn lines have been reported."""

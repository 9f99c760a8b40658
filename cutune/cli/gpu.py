"""`cutune evaluate` and `cutune collect --on gpu`: options in, tables and files out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from cutune.analysis.session import Session
from cutune.cli.report.choices import print_sweep
from cutune.cli.report.evaluations import print_evaluation, save
from cutune.cli.report.training import print_training
from cutune.collect.collect import measurements
from cutune.collect.run import RunPlan
from cutune.core.workspace import Workspace
from cutune.device.present import profile_of
from cutune.device.profile import DeviceProfile
from cutune.evaluation.sweep_gpu import collect_on_gpu, evaluate, sweep
from cutune.evaluation.training import training_rows
from cutune.fit.fitted_model import FittedModel
from cutune.fit.measurement.measurement import by_entry
from cutune.fit.measurement.sweep import RecordedSweep, read_sweep, write_sweep
from cutune.fit.models_file import read_models
from cutune.frontend.program import Program


def collect_verb(
    session: Session,
    programs: Sequence[Program],
    plan: RunPlan,
    device: DeviceProfile,
    workspace: Workspace,
    counters: bool,
) -> None:
    """Sweep each program on the GPU of this machine, and show what was timed."""
    for program in programs:
        swept = collect_on_gpu(session, program, plan, device, workspace, counters)
        print_sweep(swept, device)


def evaluate_verb(
    session: Session,
    plan: RunPlan,
    device: DeviceProfile,
    workspace: Workspace,
    options: argparse.Namespace,
) -> None:
    """Compare the models of a workspace with a sweep, or with counters (`--training`)."""
    models = read_models(workspace.models)
    if options.training:
        _show_training(session, models, device, workspace)
        return
    if options.recorded is not None:
        swept = read_sweep(Path(options.recorded))
        if not options.names_device:
            device = DeviceProfile.named(profile_of(swept.device) or options.device.split(",")[0])
    else:
        swept = _swept_now(session, plan, device, workspace, options)
    found = evaluate(swept, models, device, options.files, options.train, options.model)
    print_evaluation(found, not options.scores)
    save(found, options.json, options.csv)


def _swept_now(
    session: Session,
    plan: RunPlan,
    device: DeviceProfile,
    workspace: Workspace,
    options: argparse.Namespace,
) -> RecordedSweep:
    programs = session.load_all(options.files, require_nvcc=True)
    swept = sweep(session, programs, plan, device, workspace, options.cache)
    if options.save is not None:
        write_sweep(Path(options.save), swept)
    return swept


def _show_training(
    session: Session, models: Sequence[FittedModel], device: DeviceProfile, workspace: Workspace
) -> None:
    measured = {k.entry: own for k, own in by_entry(*measurements(session, workspace))}
    print_training(
        row for m in models for row in training_rows(m, measured[m.kernel.entry], device)
    )

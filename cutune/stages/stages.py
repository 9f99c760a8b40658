"""The stages as functions on a session and a workspace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from cutune.analysis.session import Session
from cutune.collect.collect import Collected, Part, measure, measurements, silent
from cutune.collect.resources import or_none, resources_of, with_lent
from cutune.collect.run import RunPlan
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.workspace import Json, Workspace, make_folder, read_lines
from cutune.device.profile import DeviceProfile
from cutune.emit.selection import Decider
from cutune.emit.tuned_program import models_of, replaced
from cutune.fit.fit import EXACT, fit_model
from cutune.fit.fitted_model import FittedModel, with_variants
from cutune.fit.measurement.measurement import MeasuredKernel, Measurement, by_entry
from cutune.fit.measurement.sweep import LINE_SCHEMA, SweptLaunch, swept_launch
from cutune.fit.models_file import read_models, write_models
from cutune.frontend.launch_sites import numbers_of
from cutune.frontend.program import Program
from cutune.models.selection.model_check import with_timings
from cutune.models.selection.registry import DEFAULT
from cutune.passes import ChooseValues, ReplaceTunables
from cutune.rewrite.output import Target
from cutune.rewrite.pipeline import TranslationUnit
from cutune.tunables.by_size import fixed_for_all_sizes, sets_in_program
from cutune.tunables.emit_blocks import block_deciders
from cutune.tunables.emit_fixed import changed, without_place
from cutune.tunables.host import block_choices, chosen_sets, fixed_values, replacement
from cutune.tunables.method_names import NEIGHBOURS


def collect(
    session: Session,
    program: Program,
    plan: RunPlan,
    device: DeviceProfile,
    workspace: Workspace,
    others: Sequence[Program] = (),
) -> list[Collected]:
    """Instrument, compile, run on the emulated device, replay; append to the workspace.

    `others` are the further sources that the program is linked from.
    """
    programs = [session.with_checked_variants(one) for one in (program, *others)]
    if not any(one.tunable_launches for one in programs):
        paths = "', '".join(one.source.path for one in programs)
        raise CutuneError(Diagnostic.at(Code.NOTHING_TUNABLE, None, path=paths))
    workspace.create()
    names = [Path(one.source.path).stem for one in programs]
    with workspace.claimed([*names, *(["source"] if others else [])], session.warn):
        return _collected(session, programs, plan, device, workspace)


def _collected(
    session: Session,
    programs: Sequence[Program],
    plan: RunPlan,
    device: DeviceProfile,
    workspace: Workspace,
) -> list[Collected]:
    session.progress("compiling", 0, 1)
    with ThreadPoolExecutor(1) as pool:
        asked = [pool.submit(resources_of, session, one, device) for one in programs]
        numbers = list(numbers_of(programs))
        written = [its.written(one) for one, its in zip(programs, numbers, strict=True)]
        binary = session.build_instrumented(written, workspace.folder)
    known = [
        (one, or_none(session, one, future.result))
        for one, future in zip(programs, asked, strict=True)
    ]
    parts = [
        Part(one, its, with_lent(one, own, known), workspace)
        for (one, own), its in zip(known, numbers, strict=True)
    ]
    session.progress("compiling", 1, 1)
    runs, candidate_set = plan.runs(binary), plan.candidate_set
    measured = measure(session, parts, runs, device, candidate_set, plan.training)
    return [kernel for kernels in measured for kernel in kernels]


def fit(
    session: Session,
    workspace: Workspace,
    method: str = EXACT,
    device: DeviceProfile | None = None,
) -> list[FittedModel]:
    """Fit every measured kernel, by one of the methods of `fit_model`, and save the models.

    `device`: timings on it, if there are any, check the models.
    """
    models = _fitted(session, *measurements(session, workspace), method)
    with workspace.replacing_models():
        return _saved(session, workspace, models, device)


def fit_collected(
    session: Session,
    workspace: Workspace,
    collected: Sequence[Collected],
    method: str = EXACT,
    device: DeviceProfile | None = None,
) -> list[FittedModel]:
    """Fit the kernels that were measured now; gives their models and the saved ones of others."""
    try:
        _read_saved(workspace)
    except CutuneError:  # of another version of cutune: they are made again
        return fit(session, workspace, method, device)
    kernels = [one.kernel for one in collected]
    known = [measurement for one in collected for measurement in one.measurements]
    models = _fitted(session, kernels, known, method)
    fresh = {model.kernel.place for model in models}
    # Another process may have saved models of its own since.
    with workspace.replacing_models():
        others = [one for one in _read_saved(workspace) if one.kernel.place not in fresh]
        return _saved(session, workspace, [*others, *models], device)


def _read_saved(workspace: Workspace) -> list[FittedModel]:
    return read_models(workspace.models) if workspace.models.exists() else []


def tune(
    session: Session,
    programs: Sequence[Program],
    plan: RunPlan,
    devices: Sequence[DeviceProfile],
    workspace: Workspace,
    targets: Sequence[Target],
    method: str = EXACT,
    performance: str = DEFAULT,
) -> tuple[list[FittedModel], list[Path]]:
    """Collect, fit, emit the sources of one program; their models, and the tuned sources.

    `targets`: one per source. The first device is the one that is modelled.

    Raises:
        CutuneError: CT503 where nothing could be modelled, and what the stages raise.
    """
    paths = [program.source.path for program in programs]
    collected = collect(session, programs[0], plan, devices[0], workspace, programs[1:])
    if not collected:
        raise _nothing_modelled(paths, "none of them could be measured")
    own = {str(Path(path).resolve()) for path in paths}
    fitted = fit_collected(session, workspace, collected, method, devices[0])
    models = [model for model in fitted if model.kernel.origin.path in own]
    if not models:
        raise _nothing_modelled(paths, "none of their kernels could be modelled")
    if len(targets) > 1:
        make_folder(targets[0].path.parent)
    written = [
        emit(session, program, workspace, devices, target, performance, fitted)
        for program, target in zip(programs, targets, strict=True)
    ]
    return models, written


def _nothing_modelled(paths: Sequence[str], reason: str) -> CutuneError:
    named = "', '".join(paths)
    return CutuneError(Diagnostic.at(Code.NOTHING_MODELLED, None, path=named, reason=reason))


def _fitted(
    session: Session,
    kernels: Sequence[MeasuredKernel],
    measured: Sequence[Measurement],
    method: str,
) -> list[FittedModel]:
    models = []
    for index, (kernel, own) in enumerate(by_entry(kernels, measured)):
        session.progress("fitting", index, len(kernels))
        model = fit_model(kernel, own, method)
        if isinstance(model, Diagnostic):
            session.warn(model)
        else:
            models.append(model)
    session.progress("fitting", 1, 1)
    return with_variants(models)


def _saved(
    session: Session,
    workspace: Workspace,
    models: list[FittedModel],
    device: DeviceProfile | None,
) -> list[FittedModel]:
    if device is not None:
        models = _timed(session, workspace, models, device)
    write_models(workspace.models, models)
    return models


def _timed(
    session: Session, workspace: Workspace, models: Sequence[FittedModel], device: DeviceProfile
) -> list[FittedModel]:
    """The models with the timings of the workspace that were taken on this device."""
    path = workspace.measurements
    lines = read_lines(path, LINE_SCHEMA, _swept_on(device), "cutune collect --on gpu", silent)
    swept = [launch for launch in lines if launch is not None]
    found = []
    for model in models:
        stem, kernel = Path(model.kernel.origin.path).stem, model.kernel.name
        own = [one for one in swept if (one.program, one.kernel) == (stem, kernel)]
        timed, warning = with_timings(model, own, device)
        if warning is not None:
            session.warn(warning)
        found.append(timed)
    return found


def _swept_on(device: DeviceProfile) -> Callable[[Json], SweptLaunch | None]:
    def convert(entry: Json) -> SweptLaunch | None:
        return swept_launch(entry) if entry["device"] == device.name else None

    return convert


def emit(
    session: Session,
    program: Program,
    workspace: Workspace,
    devices: Sequence[DeviceProfile],
    target: Target,
    performance: str = DEFAULT,
    fitted: Sequence[FittedModel] | None = None,
) -> Path:
    """Write the tuned program; the path of its source.

    `fitted`: the models; None: the saved ones.
    """
    tunables = replacement(program, workspace)
    sets = chosen_sets(program, workspace)
    found = sets_in_program(session, program, sets, fixed_values(program, workspace))
    values = fixed_for_all_sizes(fixed_values(program, workspace), found)
    other = changed(program, values, session.asked)
    if found is not None:
        tunables = replace(tunables, values={n: str(v) for n, v in values.items()})
        own = {one.name: one.own_text for one in program.constants}
        other = {found.names[0]: (own[found.names[0]], "several values"), **other}
    for diagnostic in without_place(program, values, session.asked):
        session.warn(diagnostic)
    if other:
        # Other code was proven and modelled than this program is compiled to.
        step = found.step if found is not None else None
        return target.write(_without_models(session, program, tunables, other, devices, step))
    # If the parameters of a program were measured, its launches need not be.
    measured = workspace.models.exists() or not (tunables.routines or values)
    deciders: list[Decider] = []
    if performance == NEIGHBOURS:
        # Kernels that were not swept keep their model, where there is one.
        deciders = block_deciders(program, block_choices(program, workspace, devices))
        performance, measured = DEFAULT, workspace.models.exists()
    models = models_of(program, workspace, fitted) if measured else []
    unit = replaced(session, program, models, devices, performance, tunables, deciders)
    return target.write(unit)


def _without_models(
    session: Session,
    program: Program,
    tunables: ReplaceTunables,
    other: Mapping[str, tuple[str, str]],
    devices: Sequence[DeviceProfile],
    step: ChooseValues | None,
) -> TranslationUnit:
    """The program with other values, whose launches stay as they are."""
    if program.tunable_launches:
        name, (own, value) = next(iter(other.items()))
        stays = Diagnostic.at(Code.LAUNCHES_STAY, None, name=name, own=own, value=value)
        session.warn(stays)
    return replaced(session, program, [], devices, DEFAULT, tunables, [], step)

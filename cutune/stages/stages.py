"""The stages as functions on a session and a workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cutune.analysis.session import Session
from cutune.collect.collect import Part, measure, measurements, silent
from cutune.collect.run import plan_runs
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.workspace import Json, Workspace, read_lines
from cutune.device.profile import DeviceProfile
from cutune.emit.selection import Decider
from cutune.emit.tuned_program import models_of, replaced
from cutune.fit.fit import EXACT, fit_model
from cutune.fit.fitted_model import FittedModel
from cutune.fit.measurement.measurement import MeasuredKernel, by_entry
from cutune.fit.measurement.sweep import LINE_SCHEMA, SweptLaunch, swept_launch
from cutune.fit.models_file import write_models
from cutune.frontend.program import Program
from cutune.models.selection.model_check import with_timings
from cutune.models.selection.registry import DEFAULT
from cutune.passes import AttachStaticCounters
from cutune.rewrite.output import Target
from cutune.rewrite.pipeline import CompiledKernel, TranslationUnit, run_passes
from cutune.tunables.emit_blocks import block_deciders
from cutune.tunables.host import block_choices, replacement
from cutune.tunables.method_names import NEIGHBOURS


def collect(
    session: Session,
    program: Program,
    template: str,
    vary: Mapping[str, Sequence[str]],
    device: DeviceProfile,
    workspace: Workspace,
    candidate_set: str,
    others: Sequence[Program] = (),
    training: bool = False,
    launches_only: bool = False,
) -> list[MeasuredKernel]:
    """Instrument, compile, run on the emulated device, replay; append to the workspace.

    `others` are the further sources that the program is linked from. `training`: kernels are
    replayed at the sizes of the published method too. `launches_only`: see `Run`.
    """
    programs = _numbered((program, *others))
    if not any(one.tunable_launches for one in programs):
        paths = "', '".join(one.source.path for one in programs)
        raise CutuneError(Diagnostic.at(Code.NOTHING_TUNABLE, None, path=paths))
    workspace.create()
    session.progress("compiling", 0, 1)
    with ThreadPoolExecutor(1) as pool:
        facts = [pool.submit(static_facts, session, one, device) for one in programs]
        binary = session.build_instrumented(programs, workspace.folder)
        units = [future.result() for future in facts]
    for unit in units:
        session.report(unit.diagnostics)
    parts = [Part(unit.program, facts_for(unit, units), workspace) for unit in units]
    session.progress("compiling", 1, 1)
    runs = plan_runs(template, vary, binary, launches_only=launches_only)
    measured = measure(session, parts, runs, device, candidate_set, training)
    return [kernel for kernels in measured for kernel in kernels]


def _numbered(programs: Sequence[Program]) -> list[Program]:
    """Sources with launch sites that the log of one process can tell apart."""
    found: list[Program] = []
    last = 0
    for program in programs:
        found.append(program.numbered_behind(last))
        last += len(program.launches)
    return found


def facts_for(
    unit: TranslationUnit, units: Iterable[TranslationUnit]
) -> tuple[CompiledKernel, ...]:
    """Facts about the kernels of a unit, and about those that others lend it."""
    found = list(unit.compiled_kernels)
    for kernel in unit.program.borrowed:
        lending = (other for other in units if other.program.code == kernel.elsewhere)
        found += (
            fact
            for one in lending
            for fact in one.compiled_kernels
            if fact.symbol in kernel.entries
        )
    return tuple(found)


def static_facts(session: Session, program: Program, device: DeviceProfile) -> TranslationUnit:
    """What the compiler says of the kernels of a program, not yet reported."""
    flags = tuple(session.compile_flags(program.source.path))
    counters = AttachStaticCounters(
        nvcc=session.nvcc, flags=flags, architecture=device.architecture
    )
    return run_passes((counters,), TranslationUnit(program))


def fit(
    session: Session,
    workspace: Workspace,
    method: str = EXACT,
    device: DeviceProfile | None = None,
) -> list[FittedModel]:
    """Fit every measured kernel, by one of the methods of `fit_model`, and save the models.

    `device`: where there are timings on it, they test the models.
    """
    kernels, measured = measurements(session, workspace)
    models = []
    for index, (kernel, own) in enumerate(by_entry(kernels, measured)):
        session.progress("fitting", index, len(kernels))
        model = fit_model(kernel, own, method)
        if isinstance(model, Diagnostic):
            session.warn(model)
        else:
            models.append(model)
    if device is not None:
        models = _timed(session, workspace, models, device)
    session.progress("fitting", 1, 1)
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
        stem, kernel = Path(model.facts.origin.path).stem, model.facts.kernel
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
) -> Path:
    """Write the tuned program; the path of its source."""
    tunables = replacement(program, workspace)
    # Of a program whose host tunables were measured, launches need not have been.
    measured = workspace.models.exists() or not tunables.routines
    deciders: list[Decider] = []
    if performance == NEIGHBOURS:
        # Kernels that were not swept keep their model, where there is one.
        deciders = block_deciders(program, block_choices(program, workspace, devices))
        performance, measured = DEFAULT, workspace.models.exists()
    models = models_of(program, workspace) if measured else []
    unit = replaced(session, program, models, devices, performance, tunables, deciders)
    return target.write(unit)

"""The last stage: models and a program in, the tuned program out. `cutune nvcc` starts it often."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cutune.device import DeviceProfile
from cutune.diagnostics import Code, CutuneError, Diagnostic
from cutune.emit_selection import Decider, emit_selection
from cutune.fitted import FittedModel
from cutune.measure import Origin
from cutune.models.registry import DEFAULT
from cutune.models_file import read_models
from cutune.neighbours.block_emission import block_deciders
from cutune.neighbours.host import block_choices, replacement
from cutune.neighbours.options import NEIGHBOURS
from cutune.passes import ReplaceLaunches, ReplaceTunables
from cutune.pipeline import TranslationUnit, run_passes
from cutune.program import Program
from cutune.session import Session
from cutune.shadow import Target
from cutune.workspace import Workspace


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


def replaced(
    session: Session,
    program: Program,
    models: Sequence[FittedModel],
    devices: Sequence[DeviceProfile],
    performance: str = DEFAULT,
    tunables: ReplaceTunables | None = None,
    deciders: Sequence[Decider] = (),
) -> TranslationUnit:
    """The program whose launches choose blocks, on each of the devices, and tunables values."""
    selection = emit_selection(models, devices, performance, deciders)
    launches = ReplaceLaunches(selection=selection.text, routines=selection.routines)
    steps = (launches, tunables or ReplaceTunables())
    unit = run_passes(steps, TranslationUnit(program))
    session.report(unit.diagnostics)
    return unit


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

"""Models and a program in, the tuned program out.

`cutune nvcc` does this for every source: nothing that measures is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cutune.analysis.analyzer import Analyzer
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.workspace import Workspace
from cutune.device.profile import DeviceProfile
from cutune.emit.selection import Decider, emit_selection
from cutune.fit.fitted_model import FittedModel
from cutune.fit.measurement.measurement import Origin
from cutune.fit.models_file import read_models
from cutune.frontend.program import Program
from cutune.models.selection.registry import DEFAULT
from cutune.passes import ChooseValues, ReplaceLaunches, ReplaceTunables
from cutune.rewrite.pipeline import TranslationUnit, rewrite
from cutune.variants.registry import with_only


def replaced(
    analyzer: Analyzer,
    program: Program,
    models: Sequence[FittedModel],
    devices: Sequence[DeviceProfile],
    performance: str = DEFAULT,
    tunables: ReplaceTunables | None = None,
    deciders: Sequence[Decider] = (),
    values: ChooseValues | None = None,
) -> TranslationUnit:
    """The program whose launches choose blocks, on each of the devices, and tunables values."""
    if not analyzer.with_variants:
        models = [replace(model, variants=()) for model in models]
    selection = emit_selection(models, devices, performance, deciders)
    if any(selection.variants.values()):
        program = with_only(analyzer.with_checked_variants(program), selection.variants)
    routines = tuple((site.id, routine) for site, routine in selection.routines)
    launches = ReplaceLaunches(selection=selection.text, routines=routines)
    steps = (launches, tunables or ReplaceTunables(), values or ChooseValues())
    return rewrite(program, steps, analyzer.reporter)


def models_of(
    program: Program, workspace: Workspace, fitted: Sequence[FittedModel] | None = None
) -> list[FittedModel]:
    """The models that were made of this program: of those at hand, or of the saved ones.

    Raises:
        CutuneError: CT009 when there are none, CT513 when it has changed since.
    """
    origin = Origin.of(program.source, program.deciding_files)
    known = read_models(workspace.models) if fitted is None else fitted
    models = [m for m in known if m.kernel.origin.path == origin.path]
    if any(model.kernel.origin != origin for model in models):
        raise CutuneError(Diagnostic.at(Code.STALE_MODELS, None, path=program.source.path))
    return models

"""Models of a project. Takes a workspace, gives those of its units with its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, known_names
from cutune.core.workspace import Workspace
from cutune.fit.fitted_model import FittedModel
from cutune.fit.models_file import read_models
from cutune.nvcc.unit_key import UNITS
from cutune.toolchain.demangle import instance_names


def models_in(workspace: Workspace) -> list[FittedModel]:
    """The models of a workspace, and of the units that a build put there.

    If a source is compiled in several ways, the models made last count.

    Raises:
        CutuneError: as `read_models`.
    """
    # What is not compiled any more has no unit.json.
    units = workspace.folder.glob(f"{UNITS}/*/unit.json")
    found = filter(Path.exists, (unit.with_name("models.json") for unit in units))
    made = sorted(found, key=lambda path: path.stat().st_mtime)
    own = [workspace.models] if workspace.models.exists() or not made else []
    latest = {
        (model.kernel.origin.path, model.kernel.entry): model
        for path in [*made, *own]
        for model in read_models(path)
    }
    return list(latest.values())


def named_model(models: Sequence[FittedModel], name: str, file: str | None = None) -> FittedModel:
    """The one model of a kernel, by its name in the source, with template arguments, or in PTX.

    Raises:
        CutuneError: CT510 where there is none, CT514 where there are several.
    """
    if file is not None:
        path = str(Path(file).resolve())
        models = [model for model in models if model.kernel.origin.path == path]
    instances = instance_names([m.kernel.name for m in models], [m.kernel.entry for m in models])
    named = zip(instances, models, strict=True)
    found = [(i, m) for i, m in named if name in (i, m.kernel.name, m.kernel.entry)]
    if len(found) == 1:
        return found[0][1]
    if found:
        known = ", ".join(f"'{i}' in {m.kernel.origin.path}" for i, m in found)
        raise CutuneError(Diagnostic.at(Code.AMBIGUOUS_KERNEL, None, name=name, known=known))
    known = known_names(name, (model.kernel.name for model in models))
    raise CutuneError(Diagnostic.at(Code.UNMODELLED_KERNEL, None, name=name, known=known))

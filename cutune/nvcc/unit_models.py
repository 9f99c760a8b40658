"""Models of a project. Takes a workspace, gives those of its units with its own."""

from __future__ import annotations

from pathlib import Path

from cutune.core.workspace import Workspace
from cutune.fit.fitted_model import FittedModel
from cutune.fit.models_file import read_models
from cutune.nvcc.unit_key import UNITS


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

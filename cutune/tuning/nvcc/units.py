"""The compiled sources of a build. Takes command lines, gives `CompiledSource`s.

WORKSPACE/units/KEY/unit.json     how the source was compiled, and the ids of its launch sites
WORKSPACE/units/KEY/launches.json how each of its launches was judged
WORKSPACE/units/KEY/models.json   its models; a workspace of its own, because the same source
                                  compiled with other macros is another program
WORKSPACE/nvcc/KEY/               the rewritten source that nvcc compiles
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, known_names
from cutune.core.typed import Meta, SiteNumber, Text
from cutune.core.workspace import (
    Workspace,
    locked,
    make_folder,
    read_typed,
    write_document,
)
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.fit.models_file import read_models
from cutune.toolchain.kernel_names import instance_names
from cutune.tuning.nvcc.command import IN_ENVIRONMENT, UNITS, Command, Item, unit_key
from cutune.tuning.nvcc.options import NOT_ABOUT_SOURCE

if TYPE_CHECKING:
    from cutune.proof.analysis.recorded_launches import SeenLaunch
    from cutune.source.program import Program

SCHEMA = "cutune-unit-1"
LAUNCHES_SCHEMA = "cutune-launches-1"
_UNIT, _LAUNCHES = "unit.json", "launches.json"
_COMMAND = "cutune tune --make"
#: Names a folder.
_Key = Annotated[str, Meta(pattern=r"(?a)\A\w{1,64}\Z")]


@dataclass(frozen=True)
class CompiledSource:
    """One source as one command compiles it.

    Attributes:
        source: its path as the command spells it, seen from `folder`.
        flags: the options that say how it is compiled.
        key: names its files in the workspace.
        first_site: its launch sites in the instrumented program have ids above this.
        variants: kernels with the names of those variants that the instrumented program has.
    """

    source: Text
    folder: Text
    flags: tuple[str, ...]
    key: _Key
    first_site: SiteNumber = 0
    variants: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: Launches that name the kernel that their arguments choose: ids among those of the unit.
    by_arguments: tuple[SiteNumber, ...] = ()

    @staticmethod
    def of(command: Command, source: Item) -> CompiledSource:
        """The unit of one of the sources of a command."""
        about = [
            item
            for item in command.items
            if item.name
            and item.name not in NOT_ABOUT_SOURCE
            # nvcc reads its variables itself, whenever it runs; response files are taken apart.
            and item.first != IN_ENVIRONMENT
            and item.name != "options-file"
        ]
        flags = tuple(word for item in about for word in command.words_of(item))
        return CompiledSource(source.value, os.getcwd(), flags, unit_key(command, source))

    def own_workspace(self, workspace: Workspace) -> Workspace:
        """Where its measurements and models are."""
        return Workspace(workspace.folder / UNITS / self.key)

    def instrumented(self, program: Program) -> Program:
        """Its program with those variants that were proven when it was instrumented."""
        # A call whose result is kept starts quicker without.
        from cutune.proof.analysis.by_arguments import named_by_arguments
        from cutune.proof.variants.registry import with_only

        named = named_by_arguments(program, self.by_arguments)
        return with_only(replace(named, has_checked_variants=True), dict(self.variants))


def register(unit: CompiledSource, workspace: Workspace, program: Program) -> CompiledSource:
    """Note a unit of an instrumented build; its launch sites get ids that no other unit has.

    `program`: with checked variants. Several compilers may run at the same time.

    Raises:
        CutuneError: CT002.
    """
    folder = unit.own_workspace(workspace).folder
    make_folder(folder)
    counter = workspace.folder / UNITS / "last-site"
    with locked(workspace.folder / UNITS / "lock"):
        first = int(counter.read_text()) if counter.exists() else 0
        counter.write_text(str(first + len(program.launches)))
    kernels = program.kernels if program.has_checked_variants else ()
    variants = tuple((k.name, tuple(v.name for v in k.variants)) for k in kernels if k.variants)
    named = tuple(site.id for site in program.launches if site.by_arguments)
    numbered = replace(unit, first_site=first, variants=variants, by_arguments=named)
    write_document(folder / _UNIT, SCHEMA, asdict(numbered))
    return numbered


def note_launches(unit: CompiledSource, workspace: Workspace, program: Program) -> None:
    """Write down how the launches of a source were judged.

    Raises:
        CutuneError: CT002.
    """
    from cutune.proof.analysis.recorded_launches import seen_launches

    if program.launches:
        folder = unit.own_workspace(workspace).folder
        make_folder(folder)
        launches = [one.to_json() for one in seen_launches([program])]
        write_document(folder / _LAUNCHES, LAUNCHES_SCHEMA, {"launches": launches})


def noted_launches(workspace: Workspace) -> list[SeenLaunch]:
    """The launches of all sources that the last instrumented build compiled."""
    from cutune.proof.analysis.recorded_launches import SeenLaunches

    found: list[SeenLaunch] = []
    for path in sorted((workspace.folder / UNITS).glob(f"*/{_LAUNCHES}")):
        found += read_typed(path, LAUNCHES_SCHEMA, SeenLaunches, _COMMAND).launches
    return found


def registered(workspace: Workspace) -> list[CompiledSource]:
    """The units of the last instrumented build, in the order of their launch sites."""
    paths = (workspace.folder / UNITS).glob(f"*/{_UNIT}")
    units = [read_typed(path, SCHEMA, CompiledSource, _COMMAND) for path in paths]
    return sorted(units, key=lambda unit: unit.first_site)


def forget(workspace: Workspace) -> None:
    """Forget the sources before a new build, which may compile fewer. Models stay."""
    for name in (_UNIT, _LAUNCHES):
        for path in (workspace.folder / UNITS).glob(f"*/{name}"):
            path.unlink(missing_ok=True)
    (workspace.folder / UNITS / "last-site").unlink(missing_ok=True)


def working_in(unit: CompiledSource) -> chdir[str]:
    """Work in the compiler's folder, so that relative paths mean the same."""
    return chdir(unit.folder)


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

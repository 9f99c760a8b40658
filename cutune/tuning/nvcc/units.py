"""The compiled sources of a build. Takes command lines, gives `CompiledSource`s.

WORKSPACE/units/KEY/unit.json     how the source was compiled, and the ids of its launch sites
WORKSPACE/units/KEY/launches.json how each of its launches was judged
WORKSPACE/units/KEY/models.json   its models; a workspace of its own, because the same source
                                  compiled with other macros is another program
WORKSPACE/units/KEY/seen.json     a source with kernels, or with launches of kernels that it lacks
WORKSPACE/units/KEY/lenders.json  the units that may define what it lacks
WORKSPACE/units/KEY/lends         others launch its kernels: its object says which code it holds
WORKSPACE/nvcc/KEY-…/             the rewritten source that nvcc compiles, for each set of options

A source is compiled without knowledge of the others. The first instrumented build records which
sources lack or have kernels; later, those that lack some are read together with those that have
them. An object relies on nothing: if other code than the proven one is linked, its launches stay.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, known_names
from cutune.core.typed import Meta, SiteNumber, Text
from cutune.core.workspace import (
    Json,
    Workspace,
    append_text,
    locked,
    make_folder,
    read_typed,
    write_document,
)
from cutune.tuning.nvcc.command import (
    IN_ENVIRONMENT,
    INSTRUMENT,
    LENDS,
    NOT_ABOUT_SOURCE,
    PLACES,
    UNITS,
    WORKSPACE,
    Command,
    Item,
    Settings,
    names_of,
    noted_places,
    unit_key,
    workspaces_of,
)

if TYPE_CHECKING:
    from cutune.model.fit.fitted_model import FittedModel
    from cutune.proof.analysis.analyzer import Analyzer
    from cutune.proof.analysis.read_source import ReadSource
    from cutune.proof.analysis.recorded_launches import SeenLaunch
    from cutune.source.program import Program

SCHEMA = "cutune-unit-1"
LAUNCHES_SCHEMA, LENDING_SCHEMA = "cutune-launches-1", "cutune-lending-1"
_UNIT, _LAUNCHES = "unit.json", "launches.json"
_SEEN, _LENDERS = "seen.json", "lenders.json"
_COMMAND = "cutune tune --make"
#: Names a folder.
_Key = Annotated[str, Meta(pattern=r"(?a)\A\w{1,64}\Z")]


@dataclass(frozen=True)
class CompiledSource:
    """One source as one command compiles it, by its path as that spells it, seen from `folder`.

    `flags`: the options that say how it is compiled. `key` names its files in the workspace. In the
    instrumented program its launch sites have ids above `first_site`, and its kernels `variants`.
    """

    source: Text
    folder: Text
    flags: tuple[str, ...]
    key: _Key
    first_site: SiteNumber = 0
    variants: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: Launches that name the kernel that their arguments choose: ids among those of the unit.
    by_arguments: tuple[SiteNumber, ...] = ()
    #: How many launch sites it has.
    sites: SiteNumber = 0

    @staticmethod
    def of(command: Command, source: Item) -> CompiledSource:
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
        if command.has(frozenset(["device-c"])):
            # What it says beside the phase: device code is linked with that of others.
            flags = (*flags, "-rdc=true")
        return CompiledSource(source.value, os.getcwd(), flags, unit_key(command, source))

    @property
    def copy_name(self) -> str:
        """Names its rewritten copy: another one where the same source may mean something else.

        Two builds of it, with other headers, may run at the same time.
        """
        about = repr((self.folder, self.flags)).encode(errors="surrogateescape")
        return f"{self.key}-{sha256(about).hexdigest()[:8]}"

    def moved_to(self, workspace: Workspace) -> CompiledSource:
        """The unit as it is named where its workspace is now."""
        unit, now = self, str(workspace.folder.resolve().parent)
        for before in noted_places(str(workspace.folder)):
            there, here = (os.path.join(root, "") for root in (before, now))
            if before != now and os.path.join(unit.folder, "").startswith(there):
                words = (unit.folder, unit.source, *unit.flags)
                folder, source, *flags = (f"{w}/".replace(there, here)[:-1] for w in words)
                unit = replace(unit, folder=folder, source=source, flags=tuple(flags))
        return unit

    def own_workspace(self, workspace: Workspace) -> Workspace:
        return Workspace(workspace.folder / UNITS / self.key)

    def note(self, workspace: Workspace, name: str, schema: str, document: Json) -> None:
        """Write one of its documents. Raises CT002."""
        folder = self.own_workspace(workspace).folder
        make_folder(folder)
        write_document(folder / name, schema, document)

    def has_note(self, workspace: Workspace, name: str) -> bool:
        return (self.own_workspace(workspace).folder / name).exists()

    def read(self, analyzer: Analyzer, require_nvcc: bool = False) -> ReadSource:
        """Read it as the build compiles it, without kernels of others."""
        with chdir(self.folder):
            return analyzer.with_flags(self.flags).read(self.source, require_nvcc=require_nvcc)

    def instrumented(self, program: Program) -> Program:
        """The program with those variants that were proven when it was instrumented."""
        # A call whose result is kept starts quicker without.
        from cutune.proof.analysis.launched_entries import named_by_arguments
        from cutune.proof.variants.registry import with_only

        named = named_by_arguments(program, self.by_arguments)
        return with_only(replace(named, has_checked_variants=True), dict(self.variants))


def register(unit: CompiledSource, workspace: Workspace, program: Program) -> CompiledSource:
    """Note a unit of an instrumented build; its launch sites get ids that no other unit has.

    A unit that the build compiles again, for a library besides, keeps them: any of its objects may
    be the one that runs. `program`: with checked variants. Several compilers may run at the same
    time. Raises CT002.
    """
    make_folder(workspace.folder / UNITS)
    counter = workspace.folder / UNITS / "last-site"
    kernels = program.kernels if program.has_checked_variants else ()
    variants = tuple((k.name, tuple(v.name for v in k.variants)) for k in kernels if k.variants)
    named = tuple(site.id for site in program.launches if site.by_arguments)
    count = len(program.launches)
    known = replace(unit, variants=variants, by_arguments=named, sites=count)
    with locked(workspace.folder / UNITS / "lock"):
        first = int(counter.read_text()) if counter.exists() else 0
        numbered = replace(known, first_site=first)
        before = unit.own_workspace(workspace).folder / _UNIT
        noted = read_typed(before, SCHEMA, CompiledSource, _COMMAND) if before.exists() else None
        if noted is not None and replace(noted, first_site=first, flags=unit.flags) == numbered:
            return replace(numbered, first_site=noted.first_site)
        counter.write_text(str(first + count))
        unit.note(workspace, _UNIT, SCHEMA, asdict(numbered))
    return numbered


def known_unit(
    command: Command, source: Item, settings: Settings
) -> tuple[CompiledSource, Workspace]:
    """A unit, and the nearest workspace that knows it, else the nearest, else one beside it."""
    unit = CompiledSource.of(command, source)
    places = [Workspace(Path(p)) for p in workspaces_of(unit.source, settings.workspace)]
    beside = Workspace(Path(os.path.dirname(unit.source)) / WORKSPACE)
    if INSTRUMENT not in settings.modes:
        named = [
            (replace(unit, key=unit_key(command, source, name)), place)
            for place in places
            for name in names_of(source.value, str(place.folder))
        ]
        for one, place in named:
            if one.own_workspace(place).models.exists():
                return one, place
        for one, place in named:
            if place.models.exists() or lends(one, place):
                return one, place
    return unit, next(iter(places), beside)


def note_place(workspace: Workspace) -> None:
    """Note where a workspace is, so that its models are found when it is moved. Raises CT002."""
    path, root = workspace.folder / PLACES, str(workspace.folder.resolve().parent)
    if noted_places(str(workspace.folder))[-1:] != [root]:
        append_text(path, f"{root}\n")


def noted_launches(workspace: Workspace) -> list[SeenLaunch]:
    from cutune.proof.analysis.recorded_launches import SeenLaunches

    paths = _notes(workspace, _LAUNCHES)
    read = (read_typed(path, LAUNCHES_SCHEMA, SeenLaunches, _COMMAND) for path in paths)
    return [launch for one in read for launch in one.from_here()]


def registered(workspace: Workspace) -> list[CompiledSource]:
    """The units of the last instrumented build, in the order of their launch sites."""
    paths = _notes(workspace, _UNIT)
    units = [read_typed(path, SCHEMA, CompiledSource, _COMMAND) for path in paths]
    return sorted(units, key=lambda unit: unit.first_site)


def forget(workspace: Workspace, with_lending: bool = False) -> None:
    """Forget the sources before a new build, which may compile fewer; models stay."""
    names = (_UNIT, _LAUNCHES, *((_SEEN, _LENDERS, LENDS) if with_lending else ()))
    for path in (path for name in names for path in _notes(workspace, name)):
        path.unlink(missing_ok=True)
    (workspace.folder / UNITS / "last-site").unlink(missing_ok=True)


def _notes(workspace: Workspace, name: str) -> list[Path]:
    return sorted((workspace.folder / UNITS).glob(f"*/{name}"))


def models_in(workspace: Workspace) -> list[FittedModel]:
    """The models of a workspace and its units, the newest of a source. Raises as `read_models`."""
    # `cutune nvcc`, which needs none, starts quicker without.
    from cutune.model.fit.fitted_model import read_models

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


def models_here(program: Program, place: Workspace, workspace: Workspace) -> list[FittedModel]:
    """The models of a program, also where it and the workspace were moved. Raises CT513.

    `place`: where they are, the workspace or that of a unit.
    """
    from cutune.model.emit.programs import models_of
    from cutune.model.fit.fitted_model import read_models

    here, *before = names_of(program.source.path, str(workspace.folder))
    known = read_models(place.models)
    if before and all(model.kernel.origin.path != here for model in known):
        known = [model.moved(before, here) for model in known]
    return models_of(program, workspace, known)


def instances_of(models: Sequence[FittedModel]) -> list[str]:
    """Unique names of the models, with template arguments where there are any."""
    from cutune.toolchain.kernel_names import instance_names

    return instance_names(*_named_entries(models))


def _named_entries(models: Sequence[FittedModel]) -> tuple[list[str], list[str]]:
    return [m.kernel.name for m in models], [m.kernel.entry for m in models]


def named_model(models: Sequence[FittedModel], name: str, file: str | None = None) -> FittedModel:
    """The model of a kernel by its name in source or PTX. Raises CT510 for none, CT514 for two."""
    from cutune.toolchain.kernel_names import whole_instance_names

    if file is not None:
        path = str(Path(file).resolve())
        models = [model for model in models if model.kernel.origin.path == path]
    whole = whole_instance_names(*_named_entries(models))
    named = zip(instances_of(models), whole, models, strict=True)
    found = [(i, m) for i, w, m in named if name in (i, w, m.kernel.name, m.kernel.entry)]
    if len(found) == 1:
        return found[0][1]
    if found:
        known = ", ".join(f"'{i}' in {m.kernel.origin.path}" for i, m in found)
        raise CutuneError.at(Code.AMBIGUOUS_KERNEL, name=name, known=known)
    known = known_names(name, (model.kernel.name for model in models))
    raise CutuneError.at(Code.UNMODELLED_KERNEL, name=name, known=known)


@dataclass(frozen=True)
class _Seen:
    unit: CompiledSource
    has: frozenset[str]
    lacks: frozenset[str]


@dataclass(frozen=True)
class _Lenders:
    lenders: tuple[CompiledSource, ...]


def note(unit: CompiledSource, workspace: Workspace, program: Program) -> None:
    """Note which kernels a source has and lacks, and judged launches. Raises CT002."""
    from cutune.proof.analysis.recorded_launches import seen_launches

    has = sorted({kernel.name for kernel in program.definitions})
    missing = (site for site in program.launches if site.code is Code.MISSING_KERNEL)
    borrowed = {kernel.name for kernel in program.kernels if kernel.elsewhere is not None}
    lacks = sorted({site.kernel for site in missing} | borrowed)
    if has or lacks:
        document = {"unit": asdict(unit), "has": has, "lacks": lacks}
        unit.note(workspace, _SEEN, LENDING_SCHEMA, document)
    if program.launches:
        launches = [one.to_json() for one in seen_launches([program], unit.flags)]
        seen: Json = {"folder": unit.folder, "launches": launches}
        unit.note(workspace, _LAUNCHES, LAUNCHES_SCHEMA, seen)


def connect(workspace: Workspace) -> bool:
    """Note who lends to whom in the noted build; gives whether anybody does. Raises CT002."""
    seen = _all_seen(workspace)
    for borrower in seen:
        lenders = [one for one in seen if one is not borrower and borrower.lacks & one.has]
        if lenders:
            document = {"lenders": [asdict(one.unit) for one in lenders]}
            borrower.unit.note(workspace, _LENDERS, LENDING_SCHEMA, document)
        for lender in lenders:
            lender.unit.note(workspace, LENDS, LENDING_SCHEMA, {})
    return bool(_notes(workspace, _LENDERS))


def seen_units(workspace: Workspace) -> list[CompiledSource]:
    """The sources of the last instrumented build with kernels, or with launches, by their paths."""
    units = (one.unit for one in _all_seen(workspace))
    return sorted(units, key=lambda unit: (unit.folder, unit.source, unit.key))


def _all_seen(workspace: Workspace) -> list[_Seen]:
    return [read_typed(path, LENDING_SCHEMA, _Seen, _COMMAND) for path in _notes(workspace, _SEEN)]


def lenders_of(unit: CompiledSource, workspace: Workspace) -> list[CompiledSource]:
    """The units that may define kernels that this one launches."""
    if not unit.has_note(workspace, _LENDERS):
        return []
    path = unit.own_workspace(workspace).folder / _LENDERS
    lenders = read_typed(path, LENDING_SCHEMA, _Lenders, _COMMAND).lenders
    return [one.moved_to(workspace) for one in lenders]


def knows_others(unit: CompiledSource, workspace: Workspace) -> bool:
    """Is it read together with other sources of its build, or may it be?"""
    return lends(unit, workspace) or unit.has_note(workspace, _LENDERS)


def lends(unit: CompiledSource, workspace: Workspace) -> bool:
    return unit.has_note(workspace, LENDS)

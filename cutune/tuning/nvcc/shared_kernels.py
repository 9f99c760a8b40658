"""Kernels that one source of a build lends to others. Takes a workspace, gives units.

WORKSPACE/units/KEY/seen.json     a source with kernels, or with launches of kernels that it lacks
WORKSPACE/units/KEY/lenders.json  the units that may define what it lacks
WORKSPACE/units/KEY/lends         others launch its kernels: its object says which code it holds

A source is compiled without knowledge of the others. The first instrumented build records which
sources lack or have kernels; later, those that lack some are read together with those that have
them. An object relies on nothing: if other code than the proven one is linked, its launches stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cutune.core.codes import Code
from cutune.core.workspace import Workspace, make_folder, read_typed, write_document
from cutune.tuning.nvcc.command import LENDS, UNITS
from cutune.tuning.nvcc.units import CompiledSource

if TYPE_CHECKING:
    from cutune.source.program import Program

SCHEMA = "cutune-lending-1"
_SEEN, _LENDERS = "seen.json", "lenders.json"
_COMMAND = "cutune tune --make"


@dataclass(frozen=True)
class _Seen:
    """The kernels that a source has, and those that it lacks."""

    unit: CompiledSource
    has: frozenset[str]
    lacks: frozenset[str]


@dataclass(frozen=True)
class _Lenders:
    lenders: tuple[CompiledSource, ...]


def note(unit: CompiledSource, workspace: Workspace, program: Program) -> None:
    """Remember the kernels that a source of an instrumented build has, and those that it lacks.

    Raises:
        CutuneError: CT002.
    """
    has = sorted({kernel.name for kernel in program.definitions})
    missing = (site for site in program.launches if site.code is Code.MISSING_KERNEL)
    borrowed = {kernel.name for kernel in program.kernels if kernel.elsewhere is not None}
    lacks = sorted({site.kernel for site in missing} | borrowed)
    if has or lacks:
        folder = unit.own_workspace(workspace).folder
        make_folder(folder)
        document = {"unit": asdict(unit), "has": has, "lacks": lacks}
        write_document(folder / _SEEN, SCHEMA, document)


def connect(workspace: Workspace) -> bool:
    """Note who lends to whom in the build that was seen; whether anybody does.

    Raises:
        CutuneError: CT002.
    """
    seen = _all_seen(workspace)
    for borrower in seen:
        lenders = [one for one in seen if one is not borrower and borrower.lacks & one.has]
        if lenders:
            document = {"lenders": [asdict(one.unit) for one in lenders]}
            write_document(_folder(workspace, borrower) / _LENDERS, SCHEMA, document)
        for lender in lenders:
            write_document(_folder(workspace, lender) / LENDS, SCHEMA, {})
    return any(_files(workspace, _LENDERS))


def seen_units(workspace: Workspace) -> list[CompiledSource]:
    """The sources of the last instrumented build with kernels, or with launches, by their paths."""
    units = (one.unit for one in _all_seen(workspace))
    return sorted(units, key=lambda unit: (unit.folder, unit.source, unit.key))


def lenders_of(unit: CompiledSource, workspace: Workspace) -> list[CompiledSource]:
    """The units that may define kernels that this one launches."""
    path = unit.own_workspace(workspace).folder / _LENDERS
    if not path.exists():
        return []
    return list(read_typed(path, SCHEMA, _Lenders, _COMMAND).lenders)


def knows_others(unit: CompiledSource, workspace: Workspace) -> bool:
    """Is it read together with other sources of its build, or may it be?"""
    lenders = unit.own_workspace(workspace).folder / _LENDERS
    return lends(unit, workspace) or lenders.exists()


def lends(unit: CompiledSource, workspace: Workspace) -> bool:
    """May others launch its kernels?"""
    return (unit.own_workspace(workspace).folder / LENDS).exists()


def forget_lending(workspace: Workspace) -> None:
    """Before a project is tuned anew."""
    for name in (_SEEN, _LENDERS, LENDS):
        for path in _files(workspace, name):
            path.unlink(missing_ok=True)


def _files(workspace: Workspace, name: str) -> Iterator[Path]:
    return iter(sorted((workspace.folder / UNITS).glob(f"*/{name}")))


def _all_seen(workspace: Workspace) -> list[_Seen]:
    return [read_typed(path, SCHEMA, _Seen, _COMMAND) for path in _files(workspace, _SEEN)]


def _folder(workspace: Workspace, seen: _Seen) -> Path:
    return seen.unit.own_workspace(workspace).folder

"""Documents in JSON: all that lies in a workspace, profiles, sweeps, results of other tuners."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cutune.cli.command_line import inputs_of
from cutune.cli.page.gather import compiled_sources
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.workspace import Workspace, read_lines
from cutune.lab.interchange.convert import FORMATS, ReadingOptions, read_results
from cutune.measure.measure_kernels import read_measurements
from cutune.model.emit.selection import emit_selection
from cutune.model.fit.fitted_model import read_models
from cutune.model.measurement.measurement import by_entry
from cutune.model.measurement.sweep import LINE_SCHEMA, read_sweep, swept_launch
from cutune.search.neighbours.table import Columns, read_table
from cutune.search.trials import Trials, read_measured, read_trials
from cutune.search.tunables.choices import ChoicesDocument, emit_host, read_choices
from cutune.source.syntax.tokens import word_set
from cutune.toolchain.device.profile import DeviceProfile
from cutune.tuning.kept import model_digests
from cutune.tuning.nvcc.units import connect, lenders_of, noted_launches, registered, seen_units
from tests.fuzzing.document_seeds import ORIGIN, UNIT, seeds
from tests.fuzzing.reader import Reader, Scratch

PIECES = sorted(
    word_set(
        r"""
    "schema": cutune-models-8 cutune-choices/1 cutune-kernel-4 cutune-measurement-3 cutune-trial-1
    cutune-sweep-1 cutune-swept-1 cutune-command-1 cutune-unit-1 cutune-launches-1 cutune-lending-1
    cutune-device-2 null true false [] {} [[]] {"a":1} 0 1 -1 0.5 1e999 1e-999 99999999999999999999
    NaN Infinity "n" "x" "1/0" "a\nb" "\u0000" "\ud800" , : [ ] { } " \\ "begin" "end" "stop" "ok"
    "n*n" "n/0" "(n+1)/2" "2**n" "n%m" "NVIDIA\ H200" [32,1,1] [0,0,0] [1024,1024,64] ../../a
    """
    )
)
_SCRATCH = Scratch()
_H200 = DeviceProfile.named("h200")


def check(data: bytes) -> None:
    """Read it as each of the documents that it may be."""
    folder = _SCRATCH.emptied()
    path = _SCRATCH.file("document.json", data)
    for read in (_as_models, _as_profile, read_sweep, _as_results, _as_table, _as_commands):
        _diagnosed(read, path)
    lines = _SCRATCH.file("document.jsonl", data)
    for read in (_as_results, _as_table):
        _diagnosed(read, lines)
    workspace = Workspace(folder)
    for file in (workspace.models, workspace.choices, workspace.measurements):
        file.write_bytes(data)
    for file in (workspace.trials, workspace.commands):
        file.write_bytes(data)
    unit = UNIT.own_workspace(workspace)
    unit.create()
    for name in ("unit.json", "launches.json", "seen.json", "lenders.json"):
        (unit.folder / name).write_bytes(data)
    for use in _OF_WORKSPACES:
        _diagnosed(use, workspace)


def _diagnosed(
    read: Callable[[Path], object] | Callable[[Workspace], object], what: object
) -> None:
    try:
        read(what)  # type: ignore[arg-type]
    except CutuneError as error:
        error.diagnostic.render()


def _said(diagnostic: Diagnostic) -> None:
    diagnostic.render()


def _as_models(path: Path) -> None:
    if models := read_models(path):
        emit_selection(models, [_H200])


def _as_profile(path: Path) -> None:
    profile = DeviceProfile.named(str(path))
    profile.to_json()


def _as_results(path: Path) -> None:
    found = read_results(path, ReadingOptions(), _said)
    for one in FORMATS:
        _diagnosed(lambda _, one=one: one.write(found), path)


def _as_table(path: Path) -> None:
    read_table(path, Columns(("n",), ("block.0",), "ms"))


def _as_commands(path: Path) -> None:
    """As a compile_commands.json."""
    named = path.with_name("compile_commands.json")
    named.write_bytes(path.read_bytes())
    inputs_of([str(named)])


def _choices(workspace: Workspace) -> None:
    document: ChoicesDocument = read_choices(workspace)
    emit_host(document.models, {}, {})


def _measurements(workspace: Workspace) -> None:
    by_entry(*read_measurements(workspace, _said))


def _swept(workspace: Workspace) -> None:
    list(read_lines(workspace.measurements, LINE_SCHEMA, swept_launch, "cutune", _said))


def _trials(workspace: Workspace) -> None:
    Trials(workspace.trials, ORIGIN, _said).load()
    read_measured(workspace.trials, ORIGIN, "cutune", _said)
    read_trials(workspace.trials, ORIGIN, "cutune", _said)


def _lending(workspace: Workspace) -> None:
    seen_units(workspace)
    lenders_of(UNIT, workspace)


_OF_WORKSPACES: tuple[Callable[[Workspace], object], ...] = (
    *(_choices, _measurements, _swept, _trials, compiled_sources, registered, noted_launches),
    *(_lending, connect, lambda workspace: model_digests(workspace, ["/app.cu"])),
)

READER = Reader(check, seeds, PIECES, 40_000)

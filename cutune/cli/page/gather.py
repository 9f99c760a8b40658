"""From sources or a workspace, their models and timings, to all facts of a page.

The page says where its numbers come from, too: versions, device, commands, hashes.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from cutune import __version__
from cutune.check.evaluate import TrainingRow, evaluate_sweep, model_of, training_rows
from cutune.cli.page.facts import (
    Modelled,
    definition,
    kernel_facts,
    one_line,
    program_facts,
    summary,
)
from cutune.cli.page.page_facts import PageFacts, ProgramFacts
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn, shown
from cutune.core.progress import ANALYZING, Progress, during
from cutune.core.typed import Text, typed
from cutune.core.workspace import COMMAND_SCHEMA, Json, Workspace, read_lines
from cutune.measure.measure_kernels import read_measurements
from cutune.model.fit.fitted_model import FittedModel, models_and_fresh
from cutune.model.measurement.measurement import by_entry
from cutune.model.measurement.sweep import SweptLaunch, read_sweep, swept_on
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.analysis.kernels_of_other_sources import linked
from cutune.proof.analysis.read_source import ReadSource
from cutune.source.program import Program
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.toolchain import Toolchain
from cutune.tuning.nvcc.units import (
    CompiledSource,
    instances_of,
    lenders_of,
    models_in,
    registered,
    seen_units,
)

T = TypeVar("T")
#: Commands that are shown, the last ones.
MOST_COMMANDS = 10


def provenance(
    toolchain: Toolchain,
    device: DeviceProfile,
    workspace: Workspace,
    models: Sequence[FittedModel],
    timings: Sequence[str],
    made: datetime,
) -> Iterator[tuple[str, str]]:
    """The lines in the order of the page; `timings` says where times come from."""
    yield "made", made.strftime("%Y-%m-%d %H:%M %Z").strip()
    yield "cutune", f"{__version__}, Python {platform.python_version()}"
    try:
        yield "compiler", f"nvcc {toolchain.nvcc.version} {' '.join(toolchain.flags)}".strip()
    except CutuneError:
        yield "compiler", "none found: verdicts are by the text of the sources"
    content = sha256(json.dumps(device.to_json(), sort_keys=True).encode()).hexdigest()[:16]
    rates = f"{float(device.clock_ghz):g} GHz, {float(device.dram_gbs):g} GB/s"
    calibrated = "calibrated on it" if device.is_calibrated else "from data sheets"
    about = f"{device.name}, {device.sm_count} SMs, {rates}, {calibrated}; {content}"
    yield "device profile", about
    yield "workspace", str(workspace.folder)
    commands = noted_commands(workspace, lambda entry: str(entry["command"]))
    for command in [*dict.fromkeys(commands)][-MOST_COMMANDS:]:
        yield "command", shown(command)
    for kernel in (model.kernel for model in models):
        sizes = ", ".join(" x ".join(map(str, values)) for values, _ in kernel.recorded[:4])
        runs = f"; launches that were seen: {sizes}" if kernel.parameters and sizes else ""
        yield f"model of {kernel.name}", f"code {kernel.code}, source {kernel.origin.content}{runs}"
    yield from (("timings", timed) for timed in timings)


def noted_commands(workspace: Workspace, convert: Callable[[Json], T]) -> list[T]:
    """The commands that made a workspace, as `convert` reads them; none where none was noted."""
    path = workspace.commands
    known = read_lines(path, COMMAND_SCHEMA, convert, "cutune tune", lambda _: None)
    return list(known) if path.exists() else []


@dataclass(frozen=True)
class ReportSource:
    """A source and the models of it as it is now; `program` is None where it was not read."""

    path: str
    program: Program | None
    models: tuple[FittedModel, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Timings:
    """Launches that were timed on the modelled device, where they come from, what was left out."""

    launches: tuple[SweptLaunch, ...] = ()
    origins: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


NO_TIMINGS = Timings()


def read_subjects(
    analyzer: Analyzer, workspace: Workspace, files: Sequence[str]
) -> list[ReportSource]:
    """The named sources, else all that were tuned, with their models. Raises CT001, CT009."""
    compiled = compiled_sources(workspace)
    if files:
        paths = {str(Path(file).resolve()) for file in files}
        earlier = (one.flags for one in compiled if paths.issubset(one.paths))
        flags = () if analyzer.toolchain.flags else next(earlier, ())
        known = _models(workspace)
        return [subject_of(one, known) for one in analyzer.with_flags(flags).load_all(files)]
    units = seen_units(workspace)
    known = _models(workspace) if units or compiled else models_in(workspace)
    subjects = [_unit(analyzer, workspace, unit, known) for unit in units]
    for together in compiled:
        subjects += _together(analyzer, together, known)
    read = {subject.path for subject in subjects}
    own = dict.fromkeys(model.kernel.origin.path for model in known)
    alone = (CompiledTogether((path,)) for path in own if path not in read)
    return [*subjects, *(one for each in alone for one in _together(analyzer, each, known))]


@dataclass(frozen=True)
class CompiledTogether:
    """Sources that a command compiled together, seen from its folder, with its flags."""

    sources: tuple[Text, ...]
    folder: Text = "."
    flags: tuple[str, ...] = ()

    @property
    def paths(self) -> list[str]:
        return [str((Path(self.folder) / source).resolve()) for source in self.sources]


def compiled_sources(workspace: Workspace) -> list[CompiledTogether]:
    """Sources that commands compiled for this workspace; of commands that share one, the last."""
    compiled: list[CompiledTogether] = []
    taken: set[str] = set()
    for one in reversed(noted_commands(workspace, lambda entry: typed(CompiledTogether, entry))):
        if one.sources and taken.isdisjoint(one.paths):
            taken.update(one.paths)
            compiled.append(one)
    return compiled[::-1]


def _models(workspace: Workspace) -> list[FittedModel]:
    try:
        return models_in(workspace)
    except CutuneError as error:
        if error.diagnostic.code is Code.MISSING_STAGE:
            return []
        raise


def _together(
    analyzer: Analyzer, compiled: CompiledTogether, known: Sequence[FittedModel]
) -> list[ReportSource]:
    own, read, unread = (
        analyzer.with_flags(compiled.flags),
        list[ReadSource](),
        list[ReportSource](),
    )

    def read_or_note(source: str, path: str) -> None:
        try:
            read.append(own.read(source))
        except CutuneError as error:
            unread.append(_unread(path, known, error))

    try:
        with chdir(compiled.folder):
            with during(analyzer.reporter.progress, ANALYZING):
                for source, path in zip(compiled.sources, compiled.paths, strict=True):
                    read_or_note(source, path)
                programs = linked(read)
            own.reported(programs)
            return [*(subject_of(program, known) for program in programs), *unread]
    except (CutuneError, OSError) as error:
        return [_unread(path, known, error) for path in compiled.paths]


def _unit(
    analyzer: Analyzer, workspace: Workspace, unit: CompiledSource, known: Sequence[FittedModel]
) -> ReportSource:
    path = str((Path(unit.folder) / unit.source).resolve())
    try:
        read = [one.read(analyzer) for one in (unit, *lenders_of(unit, workspace))]
        program = analyzer.reported(linked(read))[0]
    except (CutuneError, OSError) as error:
        return _unread(path, known, error)
    with chdir(unit.folder):
        return subject_of(program, known)


def _unread(path: str, known: Iterable[FittedModel], error: Exception) -> ReportSource:
    said = one_line(error.diagnostic) if isinstance(error, CutuneError) else str(error)
    return ReportSource(
        path, None, tuple(m for m in known if m.kernel.origin.path == path), (said,)
    )


def subject_of(program: Program, known: Iterable[FittedModel]) -> ReportSource:
    """A program with those models that were made of it as it is now."""
    own, fresh = models_and_fresh(program, known)
    path, command = program.source.path, "cutune tune"
    stale = Diagnostic.at(Code.STALE_MODELS, path=path, command=command)
    said = () if len(fresh) == len(own) else (one_line(stale),)
    return ReportSource(str(Path(program.source.path).resolve()), program, fresh, said)


def read_timings(workspace: Workspace, files: Sequence[str], device: DeviceProfile) -> Timings:
    """Launches of sweeps and of the workspace; notes on other devices. Raises CT009, CT012."""
    launches: list[SweptLaunch] = []
    origins, notes = [], []
    for path in files:
        sweep = read_sweep(Path(path))
        if sweep.device != device.name:
            notes.append(f"{path} was timed on {sweep.device}, not on {device.name}: left out")
            continue
        launches += sweep.launches
        text = f"{path}: {len(sweep.launches)} launches on {sweep.device}"
        driver = f"driver {sweep.driver}" if sweep.driver else ""
        origins.append("; ".join(filter(None, [text, driver, sweep.method])))
    folders = [workspace, *(unit.own_workspace(workspace) for unit in registered(workspace))]
    for folder in folders:
        measured = folder.measurements
        swept = swept_on(measured, device.name) if measured.exists() else []
        launches += swept
        if swept:
            origins.append(f"{measured}: {len(swept)} launches on {device.name}")
    return Timings(tuple(launches), tuple(origins), tuple(notes))


def report_of(
    toolchain: Toolchain,
    progress: Progress,
    subjects: Sequence[ReportSource],
    device: DeviceProfile,
    workspace: Workspace,
    timings: Timings = NO_TIMINGS,
    sizes: Sequence[int] | None = None,
    made: datetime | None = None,
) -> PageFacts:
    """All that the page says.

    Args:
        sizes: what all data parameters are set to, besides the sizes of timed launches.
    """
    models = [model for subject in subjects for model in subject.models]
    known: list[Modelled] = []
    programs: list[ProgramFacts] = []
    for subject in subjects:
        progress("looking at kernels", len(programs), len(subjects))
        modelled = _modelled(subject, device, timings, sizes, len(known))
        known += modelled
        if subject.program is not None:
            programs.append(program_facts(subject.program, modelled, subject.notes))
        else:
            name = Path(subject.path).name
            programs.append(ProgramFacts(name, subject.path, "", (), subject.notes))
    progress("looking at kernels", 1, 1)
    kernels = tuple(facts for _, facts in known if facts is not None)
    at = made or datetime.now().astimezone()
    title = workspace.folder.absolute().parent.name or str(workspace.folder)
    launches = [one for one in timings.launches if model_of(one, models) is not None]
    return PageFacts(
        Path(subjects[0].path).name if len(subjects) == 1 else title,
        device.name,
        summary(programs, kernels, device.name),
        tuple(programs),
        kernels,
        timings.notes,
        evaluate_sweep(launches, models, device) if launches else None,
        tuple(provenance(toolchain, device, workspace, models, timings.origins, at)),
    )


def _modelled(
    subject: ReportSource,
    device: DeviceProfile,
    timings: Timings,
    sizes: Sequence[int] | None,
    before: int,
) -> list[Modelled]:
    """The models of a source; `before`: kernels that the page has already."""
    path, modelled, named = Path(subject.path), [], instances_of(subject.models)
    for number, (model, name) in enumerate(zip(subject.models, named, strict=True), before + 1):
        timed = [one for one in timings.launches if one.is_of(model.kernel)]
        facts = kernel_facts(model, device, (f"kernel-{number}", name, path.name), timed, sizes)
        if facts is not None and subject.program is not None:
            file, line, text = definition(subject.program, model.kernel.name)
            facts = replace(facts, file=file, line=line, text=text)
        modelled.append((model, facts))
    return modelled


def training(
    warn: Warn, workspace: Workspace, subjects: Iterable[ReportSource], device: DeviceProfile
) -> Iterator[TrainingRow]:
    """Table 2 of the paper, of those kernels that were counted for it (`collect --fit paper`)."""
    if not workspace.measurements.exists():
        return
    counted = {k.entry: own for k, own in by_entry(*read_measurements(workspace, warn))}
    for subject in subjects:
        for model in subject.models:
            if model.published is not None and model.kernel.entry in counted:
                yield from training_rows(model, counted[model.kernel.entry], device)

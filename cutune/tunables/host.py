"""Host tunables from times to the program: models, emitted C++.

Takes a session, a program and the measurements in its workspace, gives models, and what the pass
`replace-tunables` needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cutune.analysis.session import Session
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.typed import require
from cutune.core.workspace import Workspace, read_lines, read_typed, write_document
from cutune.device.profile import DeviceProfile
from cutune.emit.emitter import c_integer
from cutune.fit.measurement.measurement import Origin
from cutune.frontend.program import Program
from cutune.frontend.tunable import HostTunable
from cutune.passes import ReplaceTunables
from cutune.rewrite.prelude import c_string
from cutune.tunables.measured_blocks import BlockClassifier, BlockClassifierEntry
from cutune.tunables.neighbours.condition import condition_c
from cutune.tunables.neighbours.emit_classifier import c_name, emit_choices
from cutune.tunables.neighbours.model import SCHEMA as CHOICES_SCHEMA
from cutune.tunables.neighbours.model import (
    Choice,
    ChoiceModel,
    ChoiceModelEntry,
    fit_choice,
    to_json,
)
from cutune.tunables.regions import SCHEMA, HostMeasurement, group_table

COMMAND = "cutune fit --model neighbours"
_SWITCH = """\
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
// 0: the program's own values (CUTUNE=off); 1: chosen ones; 2: these are shown (CUTUNE=verbose).
static inline int cutune_tunables_mode() {
    static const char *const text = getenv("CUTUNE");
    if (text == nullptr) return 1;
    return strcmp(text, "off") == 0 ? 0 : strcmp(text, "verbose") == 0 ? 2 : 1;
}
"""


# ---- fit


def fit_host(
    session: Session, program: Program, workspace: Workspace, limit: float, device: DeviceProfile
) -> list[ChoiceModel]:
    """A model per pragma from the workspace's times of this version of the program; not saved.

    Where several GPUs were measured, the times of `device` count.

    Raises:
        CutuneError: CT009 without measurements, CT423 where none is of this version.
    """
    origin = _origin(program)
    path = workspace.host_measurements
    command = "cutune collect --tunables"
    lines = read_lines(path, SCHEMA, HostMeasurement.from_json, command, session.warn)
    measured = [one for one in lines if one.origin == origin]
    if len({one.device for one in measured}) > 1:
        measured = [one for one in measured if one.device == device.name]
    models = []
    for group in dict.fromkeys(tunable.group for tunable in program.tunables):
        table = group_table(program.tunables, group, measured)
        if table is not None:
            models.append(fit_choice(table, limit, len(_first(program, group).given)))
    if not models:
        raise CutuneError(Diagnostic.at(Code.NO_HOST_TIMES, None, path=program.source.path))
    return models


def write_choices(
    program: Program,
    workspace: Workspace,
    models: Sequence[ChoiceModel],
    blocks: Sequence[BlockClassifier],
) -> None:
    """Save what was fitted, in place of what was there.

    Raises:
        CutuneError: CT002.
    """
    document = {
        "origin": asdict(_origin(program)),
        "models": [to_json(model) for model in models],
        "launches": {
            "origin": asdict(Origin.of(program.source, program.deciding_files)),
            "blocks": [choice.to_json() for choice in blocks],
        },
    }
    write_document(workspace.choices, CHOICES_SCHEMA, document)


def block_choices(
    program: Program, workspace: Workspace, devices: Sequence[DeviceProfile]
) -> list[BlockClassifier]:
    """The classifiers of blocks that were made of this program, for some devices.

    Raises:
        CutuneError: CT009 when nothing was fitted, CT513 when the program has changed since,
            CT431 when none of its kernels was swept on these devices.
    """
    origin, found = read_blocks(workspace, devices, program.source.path)
    if origin != Origin.of(program.source, program.deciding_files):
        raise CutuneError(Diagnostic.at(Code.STALE_MODELS, None, path=program.source.path))
    return found


def read_blocks(
    workspace: Workspace, devices: Sequence[DeviceProfile], path: str | None
) -> tuple[Origin, list[BlockClassifier]]:
    """The classifiers of blocks for some devices, and the source that they were made of.

    Args:
        path: the source that is tuned; None: any.

    Raises:
        CutuneError: CT009 when nothing was fitted, CT431 when that source was not swept on these
            devices.
    """
    document = read_choices(workspace)
    launches = document.launches or LaunchesEntry(document.origin, ())
    origin = launches.origin
    names = {device.name for device in devices}
    found = [choice for choice in launches.classifiers() if choice.device in names]
    if not found or (path is not None and str(Path(path).resolve()) != origin.path):
        listed = " or ".join(sorted(names))
        shown = origin.path if path is None else path
        raise CutuneError(Diagnostic.at(Code.NOT_SWEPT, None, path=shown, device=listed))
    return origin, found


@dataclass(frozen=True)
class LaunchesEntry:
    """Classifiers of blocks, and the version of the source that they were made of."""

    origin: Origin
    blocks: tuple[BlockClassifierEntry, ...]

    def classifiers(self) -> list[BlockClassifier]:
        """The classifiers."""
        return [block.read() for block in self.blocks]


@dataclass(frozen=True)
class ChoicesDocument:
    """What choices.json holds."""

    origin: Origin
    models: tuple[ChoiceModelEntry, ...]
    launches: LaunchesEntry | None = None

    def choices(self) -> list[ChoiceModel]:
        """The models of host tunables."""
        return [model.read() for model in self.models]

    def __post_init__(self) -> None:
        # All of it is read, whichever part is asked for.
        names = [name for model in self.choices() for name in model.tunables]
        require(len({*names}) == len(names), "a tunable has one model")
        if self.launches is not None:
            self.launches.classifiers()


def read_choices(workspace: Workspace) -> ChoicesDocument:
    """All classifiers of a workspace.

    Raises:
        CutuneError: CT009 when nothing was fitted, and what `read_typed` raises.
    """
    return read_typed(workspace.choices, CHOICES_SCHEMA, ChoicesDocument, COMMAND)


def _origin(program: Program) -> Origin:
    return Origin.of(program.source, program.tunable_headers)


def _first(program: Program, group: int) -> HostTunable:
    return next(tunable for tunable in program.tunables if tunable.group == group)


# ---- emit


@dataclass(frozen=True)
class HostSelection:
    """Emitted C++, and the routine of each tunable."""

    text: str
    routines: Mapping[str, str]


def replacement(program: Program, workspace: Workspace) -> ReplaceTunables:
    """The pass that lets the tunables of a program be chosen; one that does nothing without models.

    Raises:
        CutuneError: CT513 when the program has changed since it was measured.
    """
    if not program.tunables or not workspace.choices.exists():
        return ReplaceTunables()
    document = read_choices(workspace)
    origin = _origin(program)
    if document.origin.path != origin.path:
        return ReplaceTunables()
    if document.origin != origin:
        raise CutuneError(Diagnostic.at(Code.STALE_MODELS, None, path=program.source.path))
    models = document.choices()
    if not models:
        return ReplaceTunables()
    selection = emit_host(models, {t.name: t.where for t in program.tunables})
    return ReplaceTunables(selection=selection.text, routines=selection.routines)


def emit_host(models: Sequence[ChoiceModel], conditions: Mapping[str, str | None]) -> HostSelection:
    """The classifiers, and a routine per tunable.

    A routine gives the program's own value on request, outside of the measured sizes, and where the
    choice does not satisfy the condition of its pragma.
    """
    texts = [_SWITCH, emit_choices(models)]
    routines: dict[str, str] = {}
    for model in models:
        for tunable in model.tunables:
            routine = f"cutune_tuned_{c_name(tunable)}"
            routines[tunable] = routine
            where = conditions.get(tunable)
            texts.append(_routine(model, tunable, routine, _test(model, where)))
    return HostSelection("".join(texts), routines)


def _test(model: ChoiceModel, where: str | None) -> str:
    """C that gives the program's own value where a choice was not measured or is not allowed."""
    known = " || ".join(_in_range(model, choice) for choice in model.choices)
    text = f"    if (!({known})) return cutune_original;\n"
    if where is None:
        return text
    sizes = ", ".join(f"cutune_{c_name(name)}" for name in (*model.sizes, *model.given))

    def name_of(name: str) -> str:
        is_chosen = name in model.tunables
        return f"cutune_choose_{c_name(name)}({sizes})" if is_chosen else f"cutune_{c_name(name)}"

    return f"{text}    if (!{condition_c(where, name_of)}) return cutune_original;\n"


def _in_range(model: ChoiceModel, choice: Choice) -> str:
    """C: are the given values these, and do the sizes lie between measured ones?"""
    tests = [
        f"cutune_{c_name(name)} == {c_integer(value)}"
        for name, value in zip(model.given, choice.given, strict=True)
    ]
    for name, low, high in zip(model.sizes, choice.lowest, choice.highest, strict=True):
        size = f"cutune_{c_name(name)}"
        tests.append(f"{size} >= {c_integer(low)} && {size} <= {c_integer(high)}")
    return f"({' && '.join(tests)})"


def _routine(model: ChoiceModel, tunable: str, routine: str, test: str) -> str:
    names = [f"cutune_{c_name(name)}" for name in (*model.sizes, *model.given)]
    parameters = "".join(f", long long {name}" for name in names)
    shown = ", ".join(f"{name} = %lld" for name in (*model.sizes, *model.given))
    values = ", ".join(["cutune_value", *names])
    shown_text = c_string(f"cutune: {tunable} = %lld for {shown}\n")
    return f"""\
template <class Integer>
static inline Integer {routine}(Integer cutune_original{parameters})
{{
    const int cutune_mode = cutune_tunables_mode();
    if (cutune_mode == 0) return cutune_original;
{test}    const long long cutune_value = cutune_choose_{c_name(tunable)}({", ".join(names)});
    if (cutune_mode == 2)
        fprintf(stderr, {shown_text}, {values});
    return (Integer)cutune_value;
}}
"""

"""Choices of measured parameters: fitted to times, kept in choices.json, emitted as C++.

Takes a compiler, a program and the measurements in its workspace, gives models and the pass
`replace-tunables`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn
from cutune.core.typed import require
from cutune.core.workspace import Workspace, read_typed, write_document
from cutune.model.measurement.measurement import Origin
from cutune.passes import ReplaceTunables
from cutune.proof.compiled import UnitCompiler
from cutune.search.clones.value_sets import (
    FixedChoice,
    SetChoice,
    chosen_together,
    fit_fixed,
    fit_sets,
)
from cutune.search.neighbours.classifier import SCHEMA as CHOICES_SCHEMA
from cutune.search.neighbours.classifier import ChoiceModel, document_entry, fit_choice
from cutune.search.neighbours.emit_classifier import (
    LIBRARY,
    c_name,
    c_names,
    condition_c,
    emit_choices,
    given_tests,
    range_tests,
    run_mode,
)
from cutune.search.neighbours.table import Configuration, Point, TimeTable
from cutune.search.program_space import own_values
from cutune.search.regions import HostMeasurement, Settings, by_group, is_allowed, is_allowed_by_all
from cutune.search.trials import plain, read_measured
from cutune.search.tunables.measured_blocks import BlockClassifier
from cutune.source.program import HostTunable, Program, TunableConstant
from cutune.source.rewrite.c_text import c_string
from cutune.space.annotation import Condition
from cutune.space.parameter import NONE, ParameterOptions
from cutune.toolchain.device.profile import DeviceProfile

COMMAND = "cutune fit --model neighbours"


# ---- fit


@dataclass(frozen=True)
class HostChoices:
    """Choices by measured times: values for all sizes, sets by size, classifiers of integers."""

    fixed: FixedChoice | None
    models: Sequence[ChoiceModel]
    sets: SetChoice | None = None


def fit_host(
    compiler: UnitCompiler,
    warn: Warn,
    parameters: ParameterOptions,
    program: Program,
    workspace: Workspace,
    limit: float,
    device: DeviceProfile,
) -> HostChoices:
    """Fit the choices of this version of the program to the workspace's times; save nothing.

    Where several GPUs were measured, the times of `device` count. Raises CT009 without times, CT423
    where none is of this version.
    """
    command = "cutune collect --tunables"
    measured = read_measured(workspace.trials, _origin(program), command, warn)
    if len({one.device for one in measured}) > 1:
        measured = [one for one in measured if one.device == device.name]
    hosts = {tunable.name for tunable in program.tunables}
    names = sorted({name for one in measured for name in one.values} - hosts)
    own = {n: plain(v) for n, v in own_values(program, parameters).items()}
    held = _held(program, parameters, names)
    for name, text in held.items():
        warn(Diagnostic.at(Code.HELD_BY_CONDITION, name=name, condition=text))
    # Values that are compiled in come first: integers are chosen at those.
    allowed = [one for one in measured if is_allowed_by_all(one, program.tunables)]
    fixed = fit_fixed(allowed, names, own, held)
    sets = None
    if fixed is not None:
        together = chosen_together(compiler, parameters, program, {*names} - {*held})
        sets = _sets_by_size(together, fixed, allowed, own, limit)
        rest = fixed.without(sets.names if sets is not None else ())
        measured = [one for one in measured if rest.fits(one)]
    if sets is not None:
        measured = [one for one in measured if sets.fits(one, own)]
    models = _models(program, measured, fixed.values if fixed is not None else {}, limit)
    if not models and fixed is None:
        raise CutuneError.at(Code.NO_HOST_TIMES, path=program.source.path)
    return HostChoices(fixed, models, sets)


def _models(
    program: Program, measured: Sequence[HostMeasurement], compiled: Settings, limit: float
) -> list[ChoiceModel]:
    """Fit a classifier per pragma of integers; `compiled`: chosen values that are compiled in."""
    models = []
    for group, (first, *_) in by_group(program.tunables).items():
        is_needed = _is_bound(first.where, compiled)
        table = group_table(program.tunables, group, measured, is_needed)
        if table is not None:
            models.append(fit_choice(table, limit, len(first.given)))
    return models


def _sets_by_size(
    together: Sequence[TunableConstant],
    fixed: FixedChoice,
    measured: Sequence[HostMeasurement],
    own: Settings,
    limit: float,
) -> SetChoice | None:
    """Fit the values of constants that may follow the sizes; others keep what is `fixed`."""
    if not together:
        return None
    names = [one.name for one in together]
    sizes = list(dict.fromkeys(size for one in together for size in one.data))
    rest = fixed.without(names)
    return fit_sets([one for one in measured if rest.fits(one)], names, sizes, own, limit)


def _held(program: Program, asked: ParameterOptions, names: Sequence[str]) -> dict[str, str]:
    """Return parameters that keep their value, and the condition on them that needs the size."""
    places: list[HostTunable | TunableConstant] = [*program.tunables, *program.constants]
    known = {*names, *(place.name for place in places)}
    conditions = [(Condition.read(one.where), {*one.data}) for one in places if one.where]
    conditions += [(one, set[str]()) for one in asked.conditions]
    parameters = [*asked.parameters, *(one.parameter for one in places)]
    words = {v for one in parameters for v in one.values if isinstance(v, str)} | {NONE}
    held = {}
    for condition, sizes in conditions:
        others = {name for name in condition.names - known - words if "device." not in name}
        if others or condition.names & sizes - known:
            held.update(dict.fromkeys(condition.names & {*names}, condition.text))
    return held


def _is_bound(where: str | None, values: Settings) -> bool:
    """Does a condition name a value that is compiled in? Then the program's own may break it."""
    return where is not None and bool(Condition.read(where).names & values.keys())


def write_choices(
    program: Program, workspace: Workspace, choices: HostChoices, blocks: Sequence[BlockClassifier]
) -> None:
    """Save the choices, in place of older ones. Raises CT002."""
    document = {
        "origin": asdict(_origin(program)),
        "models": [document_entry(model) for model in choices.models],
        "fixed": dict(choices.fixed.values) if choices.fixed is not None else {},
        "sets": document_entry(choices.sets) if choices.sets is not None else None,
        "launches": {
            "origin": asdict(Origin.of(program.source, program.deciding_files)),
            "blocks": [document_entry(choice) for choice in blocks],
        },
    }
    write_document(workspace.choices, CHOICES_SCHEMA, document)


def block_choices(
    program: Program, workspace: Workspace, devices: Sequence[DeviceProfile]
) -> list[BlockClassifier]:
    """Return the classifiers of blocks of this program. Raises CT009, CT431, CT513 if stale."""
    origin, blocks = read_blocks(workspace, devices, program.source.path)
    if origin != Origin.of(program.source, program.deciding_files):
        raise workspace.stale(program.source.path)
    return blocks


def read_blocks(
    workspace: Workspace, devices: Sequence[DeviceProfile], path: str | None
) -> tuple[Origin, list[BlockClassifier]]:
    """Return the source of the classifiers of blocks, and those for some devices.

    Raises CT009 when nothing was fitted, CT431 when the source at `path` (None: any) was not swept.
    """
    document = read_choices(workspace)
    launches = document.launches or MeasuredLaunches(document.origin, ())
    origin = launches.origin
    names = {device.name for device in devices}
    blocks = [choice for choice in launches.blocks if choice.device in names]
    if not blocks or (path is not None and str(Path(path).resolve()) != origin.path):
        device, path = " or ".join(sorted(names)), path or origin.path
        raise CutuneError.at(Code.NOT_SWEPT, path=path, device=device)
    return origin, blocks


@dataclass(frozen=True)
class MeasuredLaunches:
    """Classifiers of thread blocks, fitted to a sweep of the launches of one source."""

    origin: Origin
    blocks: tuple[BlockClassifier, ...]


@dataclass(frozen=True)
class ChoicesDocument:
    """What choices.json of a workspace holds: all that was chosen for one source."""

    origin: Origin
    models: tuple[ChoiceModel, ...]
    launches: MeasuredLaunches | None = None
    #: Values that were chosen for all sizes.
    fixed: Settings = field(default_factory=dict)
    #: Values that are chosen by size.
    sets: SetChoice | None = None

    def __post_init__(self) -> None:
        for model in self.models:
            model.check()
        names = [name for model in self.models for name in model.tunables]
        require(len({*names}) == len(names), "a tunable has one model")
        for block in self.launches.blocks if self.launches is not None else ():
            block.check()
        if self.sets is not None:
            self.sets.check()


def read_choices(workspace: Workspace) -> ChoicesDocument:
    """Return all choices. Raises CT009 when nothing was fitted, and as `read_typed`."""
    return read_typed(workspace.choices, CHOICES_SCHEMA, ChoicesDocument, COMMAND)


def _origin(program: Program) -> Origin:
    return Origin.of(program.source, program.tunable_headers)


# ---- tables

#: The time of each configuration, while other tunables were held at some values.
Times = dict[Configuration, float]
#: Such times at one point, by the values of the other tunables.
Slices = dict[tuple[int | str | None, ...], Times]


def group_table(
    tunables: Sequence[HostTunable],
    group: int,
    measured: Iterable[HostMeasurement],
    is_needed: bool = False,
) -> TimeTable | None:
    """Return the times by which the tunables of one pragma are chosen; None where there are none.

    A table of a single configuration is given only where it `is_needed`. Tunables that are chosen
    later, given one of these, count with their best value. All others are held at one value: times
    at different values cannot be compared. That is where most configurations were measured, and of
    such places the fastest.
    """
    own = [tunable for tunable in tunables if tunable.group == group]
    names, given = [tunable.name for tunable in own], own[0].given
    later = {tunable.name for tunable in tunables if {*names} & {*tunable.given}}
    others = [t.name for t in tunables if t.name not in {*names, *given, *later}]
    sizes = (*given, *own[0].data)
    slices = _slices(own, others, sizes, measured)

    def rank(times: Times) -> tuple[float, float]:
        best, fewest = min(times.values()), -len(times)
        return (best, fewest) if given else (fewest, best)

    chosen = {point: min(each.values(), key=rank) for point, each in slices.items()}
    if not is_needed and not given:
        # A point with one configuration has no choice.
        chosen = {point: times for point, times in chosen.items() if len(times) > 1}
    tried = {one for each in slices.values() for times in each.values() for one in times}
    if not chosen or (len(tried) == 1 and not is_needed):
        return None
    return TimeTable(sizes, tuple(names), chosen)


def _slices(
    group: Sequence[HostTunable],
    others: Sequence[str],
    sizes: Sequence[str],
    measured: Iterable[HostMeasurement],
) -> dict[Point, Slices]:
    """The least times at each point, by the values at which the other tunables were held."""
    names, slices = [tunable.name for tunable in group], dict[Point, Slices]()
    for one in measured:
        data, time = one.data.get(group[0].name, {}), one.milliseconds
        is_known = {*names} <= one.values.keys() and {*sizes} <= data.keys()
        if time is not None and is_known and is_allowed(one, group):
            held = tuple(one.values.get(name) for name in others)
            point = tuple(data[name] for name in sizes)
            times = slices.setdefault(point, {}).setdefault(held, {})
            configuration = tuple(int(one.values[name]) for name in names)
            times[configuration] = min(times.get(configuration, time), time)
    return slices


# ---- emit


def replacement(program: Program, chosen: ChoicesDocument) -> ReplaceTunables:
    """Return the pass that puts chosen values in. `chosen`: see `choices_of`."""
    values = {name: str(value) for name, value in chosen.fixed.items()}
    if not chosen.models:
        return ReplaceTunables(values=values)
    return emit_host(chosen.models, {t.name: t.where for t in program.tunables}, values)


def choices_of(program: Program, workspace: Workspace) -> ChoicesDocument:
    """Return the choices of this program, if there are any. Raises CT513 when it has changed."""
    origin = _origin(program)
    if not workspace.choices.exists():
        return ChoicesDocument(origin, ())
    document = read_choices(workspace)
    if document.origin.path != origin.path:
        return ChoicesDocument(origin, ())
    if document.origin != origin:
        raise workspace.stale(program.source.path)
    return document


def emit_host(
    models: Sequence[ChoiceModel], conditions: Mapping[str, str | None], values: Mapping[str, str]
) -> ReplaceTunables:
    """Emit the classifiers, and a routine per tunable; return the pass that puts them in place.

    A routine gives the program's own value on request, outside of the measured sizes, and where the
    choice does not satisfy the condition of its pragma. `values` are the same for all sizes.
    """
    texts = [LIBRARY, run_mode("cutune_tunables_mode"), emit_choices(models)]
    routines: dict[str, str] = {}
    for model in models:
        for tunable in model.tunables:
            routines[tunable] = routine = f"cutune_tuned_{c_name(tunable)}"
            where = conditions.get(tunable)
            is_bound = _is_bound(where, values)
            test = "" if is_bound else _test(model, where, values)
            texts.append(_routine(model, tunable, routine, test, is_bound))
    return ReplaceTunables(selection="".join(texts), routines=routines, values=values)


def _test(model: ChoiceModel, where: str | None, values: Mapping[str, str]) -> str:
    """Return C for the program's own value where a choice was not measured or is not allowed."""
    names = c_names(model)
    ranges = ([*given_tests(model, one), *range_tests(model, one)] for one in model.choices)
    known = " || ".join(f"({' && '.join(tests)})" for tests in ranges)
    text = f"    if (!({known})) return cutune_original;\n"
    if where is None:
        return text

    def name_of(name: str) -> str:
        if name in values:
            return values[name]
        is_chosen = name in model.tunables
        call = f"cutune_choose_{c_name(name)}({', '.join(names)})"
        return call if is_chosen else f"cutune_{c_name(name)}"

    return f"{text}    if (!{condition_c(where, name_of)}) return cutune_original;\n"


def _routine(model: ChoiceModel, tunable: str, routine: str, test: str, is_bound: bool) -> str:
    """Return a tunable's routine; no CUTUNE=off where the program's own value may be refused."""
    off = "" if is_bound else "    if (cutune_mode == 0) return cutune_original;\n"
    names = c_names(model)
    parameters = "".join(f", long long {name}" for name in names)
    shown = ", ".join(f"{name} = %lld" for name in (*model.sizes, *model.given))
    values = ", ".join(["cutune_value", *names])
    shown_text = c_string(f"cutune: {tunable} = %lld for {shown}\n")
    return f"""\
template <class Integer>
static inline Integer {routine}(Integer cutune_original{parameters})
{{
    const int cutune_mode = cutune_tunables_mode();
    (void)cutune_original;
{off}{test}    const long long cutune_value = cutune_choose_{c_name(tunable)}({", ".join(names)});
    if (cutune_mode == 2)
        cutune_say(cutune_stderr, {shown_text}, {values});
    return (Integer)cutune_value;
}}
"""

"""Timed regions. Runs an instrumented program, gives times by tunables and data, and tables.

The program is run once per configuration and repetition: its host tunables are set by the
environment, and it writes a line per region (`cutune_tunables.h`). Where all regions may repeat, it
is run once for many.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from cutune.cluster.task import Task, TaskOutcome, perform
from cutune.collect.run import RUN_SECONDS, Run
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.processes import Ended
from cutune.core.typed import Integer, Label, MemberName, Quantity, Word, typed
from cutune.fit.measurement.measurement import Origin
from cutune.frontend.tunable import HostTunable
from cutune.space.condition import holds
from cutune.tunables.neighbours.table import Configuration, Point, TimeTable

LINE_SCHEMA = "cutune-region-1"
#: How a shell says that signal 9 ended what it ran.
_KILLED_IN_SHELL = 128 + signal.SIGKILL

Values = Mapping[MemberName, Integer]
#: Of parameters, which may be words.
Settings = Mapping[MemberName, Integer | Word]


@dataclass(frozen=True)
class HostMeasurement:
    """The time of all regions of a program at one size, in one configuration.

    `milliseconds` is None on the emulated device, where nothing is timed.
    """

    origin: Origin
    device: Label
    #: Value of each parameter.
    values: Settings
    #: Per tunable its data: expressions and their values.
    data: Mapping[MemberName, Values]
    milliseconds: Quantity | None

    def to_json(self) -> dict[str, Any]:
        """As an entry of a trial."""
        return asdict(self)

    @staticmethod
    def from_json(entry: Mapping[str, Any]) -> HostMeasurement:
        """As `to_json` has written it."""
        return typed(HostMeasurement, entry)


@dataclass(frozen=True)
class MeasuredRun:
    """A run that ended well.

    Attributes:
        output: what it wrote.
        own: the program's own values of the host integers that it came by.
        seconds: how long it took.
        error: what CUDA says of the first launch within a region that fails; empty: none does.
    """

    measured: tuple[HostMeasurement, ...]
    output: bytes
    own: Values
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class MeasuredSettings:
    """A run with several settings that ended well.

    Attributes:
        measured: per setting; None where that is not what the program ran with.
        output: what it wrote.
    """

    measured: Sequence[tuple[HostMeasurement, ...] | None]
    output: bytes


@dataclass(frozen=True)
class FailedSettings:
    """A run with several settings that failed.

    Attributes:
        turn: the place of the setting that was at work, as far as the lines of regions tell.
    """

    turn: int


@dataclass(frozen=True)
class FailedRun:
    """Why a run gave no times.

    Attributes:
        was_killed: did someone else end it (signal 9)?
    """

    reason: str
    timed_out: bool = False
    was_killed: bool = False


def is_allowed(one: HostMeasurement, own: Sequence[HostTunable]) -> bool:
    """Does a configuration satisfy the condition of one pragma, whose tunables these are?"""
    return holds(own[0].where, {**one.data[own[0].name], **one.values})


def is_allowed_by_all(one: HostMeasurement, tunables: Sequence[HostTunable]) -> bool:
    """Does a configuration satisfy the conditions of all pragmas that its run came by?"""
    groups: dict[int, list[HostTunable]] = {}
    for tunable in tunables:
        groups.setdefault(tunable.group, []).append(tunable)
    reached = (own for own in groups.values() if all(t.name in one.values for t in own))
    return all(is_allowed(one, own) for own in reached)


def measure(
    run: Run,
    values: Settings,
    origin: Origin,
    environment: Mapping[str, str],
    seconds: float = RUN_SECONDS,
    performed: Callable[[Task], TaskOutcome] = perform,
    folder: Path | None = None,
) -> MeasuredRun | FailedRun:
    """Run the program once with some values of its host integers, or say why it fails.

    Args:
        performed: runs it, here or elsewhere. folder: where; None: in the current one.

    Raises:
        CutuneError: CT424 where a tunable got values for several sizes before one region ended.
    """
    settings = {**environment, "CUTUNE_SET": setting_text(values)}
    outcome = performed(Task(run.command, settings, seconds, str(folder or Path.cwd())))
    failure = _failure(run, outcome.ended, seconds)
    if failure is not None:
        return failure
    lines = [json.loads(line) for line in outcome.log.splitlines()]
    error = next((line["error"] for line in lines if "error" in line), "")
    own = {n: one["original"] for line in lines for n, one in line["tunables"].items()}
    measured = tuple(_measurements(origin, lines))
    return MeasuredRun(measured, outcome.ended.output, own, outcome.seconds, error)


def setting_text(values: Settings) -> str:
    """As the environment has it: `m=64,R=2`."""
    return ",".join(f"{name}={value}" for name, value in values.items())


def measure_several(
    run: Run,
    turns: Sequence[Settings],
    origin: Origin,
    environment: Mapping[str, str],
    seconds: float,
    performed: Callable[[Task], TaskOutcome],
    folder: Path | None = None,
) -> MeasuredSettings | FailedSettings:
    """Run the program once, and its regions once per setting.

    Raises:
        CutuneError: CT424, as `measure`.
    """
    first, *others = map(setting_text, turns)
    settings = {**environment, "CUTUNE_SET": first, "CUTUNE_REPEAT": ";".join(others)}
    outcome = performed(Task(run.command, settings, seconds, str(folder or Path.cwd())))
    lines = list(_whole_lines(outcome.log))
    broken = next((line["turn"] for line in lines if "error" in line), None)
    if broken is not None:
        return FailedSettings(broken)
    if _failure(run, outcome.ended, seconds) is not None:
        # Behind the last setting comes the first, with which the program goes on.
        return FailedSettings((lines[-1]["turn"] + 1) % len(turns) if lines else 0)
    by_turn: dict[int, list[Mapping[str, Any]]] = {}
    for line in lines:
        by_turn.setdefault(line["turn"], []).append(line)
    # Each setting has come by the same regions, as often.
    passed = [line["region"] for line in by_turn.get(0, ())]
    measured: list[tuple[HostMeasurement, ...] | None] = []
    for turn, asked in enumerate(turns):
        own = by_turn.get(turn, ())
        is_whole = [line["region"] for line in own] == passed and bool(passed)
        counts = is_whole and all(_is_as_asked(line, asked) for line in own)
        measured.append(tuple(_measurements(origin, own)) if counts else None)
    return MeasuredSettings(measured, outcome.ended.output)


def _whole_lines(log: str) -> Iterator[dict[str, Any]]:
    """A program that was ended may have been writing."""
    for text in log.splitlines(keepends=True):
        if text.endswith("\n"):
            line = json.loads(text)
            # Of a program that knows no turns there is one.
            yield {"turn": 0, "region": 1, **line}


def _is_as_asked(line: Mapping[str, Any], asked: Settings) -> bool:
    """Did the tunables of a line have the values of a setting?"""
    tunables = line["tunables"]
    return all(tunables[name]["value"] == asked[name] for name in asked if name in tunables)


def merged(runs: Sequence[Sequence[HostMeasurement]]) -> list[HostMeasurement]:
    """The measurements of repeated runs, with median times."""
    found = []
    for same in zip(*runs, strict=True):
        times = [m.milliseconds for m in same if m.milliseconds is not None]
        first = same[0]
        time = median(times) if times else None
        found.append(HostMeasurement(first.origin, first.device, first.values, first.data, time))
    return found


def _failure(run: Run, ended: Ended, seconds: float) -> FailedRun | None:
    if ended.timed_out:
        return FailedRun(f"longer than {seconds:.3g} seconds", timed_out=True)
    if ended.not_started:
        return FailedRun(ended.not_started)
    if run.statuses is None or ended.status in run.statuses:
        return None
    said = (ended.errors_text or ended.output_text).strip().splitlines()
    killed = (-signal.SIGKILL, *([_KILLED_IN_SHELL] if run.shell else []))
    reason = f"status {ended.status}" + (f": {said[-1]}" if said else "")
    return FailedRun(reason, was_killed=ended.status in killed)


def _measurements(origin: Origin, lines: Iterable[Mapping[str, Any]]) -> Iterator[HostMeasurement]:
    """One per configuration and size of a run: times of its regions are added."""
    found: dict[str, tuple[str, Values, Mapping[str, Values], list[float | None]]] = {}
    for line in lines:
        tunables = line["tunables"]
        for name, own in tunables.items():
            if own["ambiguous"]:
                raise CutuneError(Diagnostic.at(Code.AMBIGUOUS_REGION, None, name=name))
        values = {name: own["value"] for name, own in tunables.items()}
        data = {name: own["data"] for name, own in tunables.items()}
        key = json.dumps([values, data], sort_keys=True)
        entry = found.setdefault(key, (line["device"], values, data, []))
        entry[3].append(line["milliseconds"])
    for device, own_values, own_data, times in found.values():
        known = [time for time in times if time is not None]
        total = sum(known) if len(known) == len(times) else None
        yield HostMeasurement(origin, device, own_values, own_data, total)


# ---- tables

#: The time of each configuration, while other tunables were held at some values.
Times = dict[Configuration, float]
#: Such times at one point, by the values of the other tunables.
Slices = dict[tuple[int | str | None, ...], Times]


@dataclass(frozen=True)
class _TunableGroup:
    """The tunables of one pragma, which are chosen together.

    Attributes:
        own: these tunables.
        others: names of the tunables that must have the same values for times to be compared.
    """

    own: tuple[HostTunable, ...]
    others: tuple[str, ...]

    @staticmethod
    def of(tunables: Sequence[HostTunable], group: int) -> _TunableGroup:
        """One group of all tunables of a program."""
        own = tuple(t for t in tunables if t.group == group)
        names = {t.name for t in own}
        later = {t.name for t in tunables if names & set(t.given)}
        chosen_apart = {*names, *own[0].given, *later}
        return _TunableGroup(own, tuple(t.name for t in tunables if t.name not in chosen_apart))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its tunables."""
        return tuple(t.name for t in self.own)

    @property
    def data(self) -> tuple[str, ...]:
        """Names of what the choice depends on: earlier tunables, then expressions."""
        return (*self.own[0].given, *self.own[0].data)

    def seen(self, one: HostMeasurement) -> Values | None:
        """The values of its data; None if the measurement does not count for this group."""
        seen = one.data.get(self.own[0].name, {})
        is_known = {*self.names} <= set(one.values) and {*self.data} <= set(seen)
        return seen if is_known and is_allowed(one, self.own) else None


def group_table(
    tunables: Sequence[HostTunable],
    group: int,
    measured: Iterable[HostMeasurement],
    is_needed: bool = False,
) -> TimeTable | None:
    """The times by which the tunables of one pragma are chosen; None where there are none.

    Args:
        is_needed: where there is no choice, that is a choice, too.

    Tunables that are chosen later, given one of these, count with their best value. All others are
    held at one value, because times at different values cannot be compared: where most
    configurations were measured, and of such places at the fastest.
    """
    asked = _TunableGroup.of(tunables, group)
    slices = _slices(asked, measured)
    is_complete = is_needed or bool(asked.own[0].given)
    chosen = _comparable(slices, is_given=bool(asked.own[0].given), is_complete=is_complete)
    tried = {one for held in slices.values() for times in held.values() for one in times}
    if not chosen or (len(tried) == 1 and not is_needed):
        return None
    return TimeTable(asked.data, asked.names, chosen)


def _slices(group: _TunableGroup, measured: Iterable[HostMeasurement]) -> dict[Point, Slices]:
    """The best time of each configuration, by point and by the values of the others."""
    slices: dict[Point, Slices] = {}
    for one in measured:
        time = one.milliseconds
        if time is None or (seen := group.seen(one)) is None:
            continue
        point = tuple(seen[name] for name in group.data)
        held = tuple(one.values.get(name) for name in group.others)
        times = slices.setdefault(point, {}).setdefault(held, {})
        configuration = tuple(int(one.values[name]) for name in group.names)
        times[configuration] = min(times.get(configuration, time), time)
    return slices


def _comparable(
    slices: Mapping[Point, Slices], is_given: bool, is_complete: bool
) -> dict[Point, Times]:
    """Per point the times at one set of values of the other tunables."""
    order = _fastest if is_given else _fullest
    chosen = {point: min(held.values(), key=order) for point, held in slices.items()}
    if is_complete:
        return chosen
    # A point with one configuration has no choice.
    return {point: times for point, times in chosen.items() if len(times) > 1}


def _fastest(times: Mapping[Configuration, float]) -> tuple[float, int]:
    """Sorts the place with the best time first, of equal ones that with most configurations."""
    return min(times.values()), -len(times)


def _fullest(times: Mapping[Configuration, float]) -> tuple[int, float]:
    """Sorts the place with most configurations first, of equal ones the fastest."""
    return -len(times), min(times.values())

"""Timed regions. Runs an instrumented program, gives times by tunables and data; compares outputs.

The environment sets the host tunables of a run, and the program writes a line per region
(`cutune_tunables.h`). Where all regions may repeat, one run serves many configurations.

A configuration may only change how something is computed. A comparison leaves out numbers that vary
from run to run, those beside a unit or a word of time, and parameters that a program prints.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from threading import Lock
from typing import Any

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.processes import ProgramResult
from cutune.core.typed import Integer, Label, MemberName, Quantity, Word
from cutune.measure.agreement import NOTHING, NUMBER_TOKEN, Agreement, OtherLength, Varying, times
from cutune.measure.program_runs import RUN_SECONDS, Run
from cutune.model.measurement.measurement import Origin
from cutune.search.workers.crew import Task, TaskOutcome, perform
from cutune.source.program import HostTunable
from cutune.space.annotation import Value
from cutune.space.columns import holds
from cutune.space.parameter import shown

#: How a shell says that signal 9 ended what it ran.
_KILLED_IN_SHELL = 128 + signal.SIGKILL

Values = Mapping[MemberName, Integer]
#: Values of parameters, which may be words.
Settings = Mapping[MemberName, Integer | Word]


@dataclass(frozen=True)
class HostMeasurement:
    """The time of a configuration at one size; None on the emulated device."""

    origin: Origin
    device: Label
    values: Settings
    #: Per tunable its data: expressions and their values.
    data: Mapping[MemberName, Values]
    milliseconds: Quantity | None


@dataclass(frozen=True)
class MeasuredRun:
    """A run that ended well, with the program's `own` values of the host integers that it used.

    `error`: CUDA's message about the first failed launch within a region; empty: none failed.
    """

    measured: tuple[HostMeasurement, ...]
    output: bytes
    own: Values
    seconds: float
    error: str = ""


@dataclass(frozen=True)
class MeasuredSettings:
    """A run with several settings that ended well; None for each that was not run."""

    measured: Sequence[tuple[HostMeasurement, ...] | None]
    output: bytes


@dataclass(frozen=True)
class FailedSettings:
    """A run with several settings that failed; `turn` is the probable index of the failing one."""

    turn: int


@dataclass(frozen=True)
class FailedRun:
    """A run that gave no times; `was_killed`: did someone else end it (signal 9)?"""

    reason: str
    timed_out: bool = False
    was_killed: bool = False


def by_group(tunables: Iterable[HostTunable]) -> dict[int, list[HostTunable]]:
    """Host integers by the pragma that names them."""
    groups: dict[int, list[HostTunable]] = {}
    for tunable in tunables:
        groups.setdefault(tunable.group, []).append(tunable)
    return groups


def is_allowed(one: HostMeasurement, group: Sequence[HostTunable]) -> bool:
    return holds(group[0].where, {**one.data[group[0].name], **one.values})


def is_allowed_by_all(one: HostMeasurement, tunables: Sequence[HostTunable]) -> bool:
    """Does a configuration satisfy the conditions of all pragmas that its run reached?"""
    groups = by_group(tunables).values()
    reached = (group for group in groups if all(t.name in one.values for t in group))
    return all(is_allowed(one, group) for group in reached)


def measure_run(
    run: Run,
    values: Settings,
    origin: Origin,
    environment: Mapping[str, str],
    seconds: float = RUN_SECONDS,
    performed: Callable[[Task], TaskOutcome] = perform,
    folder: Path | None = None,
) -> MeasuredRun | FailedRun:
    """Run the program once with some values of its host integers, or say why it fails.

    `performed` runs it, here or elsewhere, in a folder; None: the current one. Raises CT424 where a
    tunable got values for several sizes before one region ended.
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
    """Return settings as the environment has them: `m=64,R=2`."""
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
    """Run the program once, and its regions once per setting. Raises CT424, as `measure_run`."""
    first, *others = map(setting_text, turns)
    settings = {**environment, "CUTUNE_SET": first, "CUTUNE_REPEAT": ";".join(others)}
    outcome = performed(Task(run.command, settings, seconds, str(folder or Path.cwd())))
    # A program may have been ended in a line; one without repeated regions writes no turns.
    whole = (text for text in outcome.log.splitlines(keepends=True) if text.endswith("\n"))
    lines: list[dict[str, Any]] = [{"turn": 0, "region": 1, **json.loads(text)} for text in whole]
    failed = next((line["turn"] for line in lines if "error" in line), None)
    if failed is not None:
        return FailedSettings(failed)
    if _failure(run, outcome.ended, seconds) is not None:
        # Behind the last setting comes the first, with which the program goes on.
        return FailedSettings((lines[-1]["turn"] + 1) % len(turns) if lines else 0)
    return MeasuredSettings([*_by_turn(origin, lines, turns)], outcome.ended.output)


def _by_turn(
    origin: Origin, lines: Iterable[Mapping[str, Any]], turns: Sequence[Settings]
) -> Iterator[tuple[HostMeasurement, ...] | None]:
    """Yield what was measured in each turn; None where it says nothing of its setting.

    Each turn has to reach the same regions, as often, and to run with the values of its setting.
    """
    by_turn: dict[int, list[Mapping[str, Any]]] = {}
    for line in lines:
        by_turn.setdefault(line["turn"], []).append(line)
    regions = [line["region"] for line in by_turn.get(0, ())]
    for turn, setting in enumerate(turns):
        own = by_turn.get(turn, ())
        has_all = bool(regions) and [line["region"] for line in own] == regions
        used = [pair for line in own for pair in line["tunables"].items()]
        is_set = all(one["value"] == setting[name] for name, one in used if name in setting)
        yield tuple(_measurements(origin, own)) if has_all and is_set else None


def merged(runs: Sequence[Sequence[HostMeasurement]]) -> list[HostMeasurement]:
    """The median of several runs, measurement by measurement."""
    medians = []
    for same in zip(*runs, strict=True):
        times = [m.milliseconds for m in same if m.milliseconds is not None]
        medians.append(replace(same[0], milliseconds=median(times) if times else None))
    return medians


def _failure(run: Run, ended: ProgramResult, seconds: float) -> FailedRun | None:
    if ended.timed_out:
        return FailedRun(f"longer than {seconds:.3g} seconds", timed_out=True)
    if ended.not_started:
        return FailedRun(ended.not_started)
    if run.statuses is None or ended.status in run.statuses:
        return None
    said = (ended.errors_text or ended.output_text).strip().splitlines()
    killed = (-signal.SIGKILL, _KILLED_IN_SHELL) if run.shell else (-signal.SIGKILL,)
    reason = f"status {ended.status}" + (f": {said[-1]}" if said else "")
    return FailedRun(reason, was_killed=ended.status in killed)


def _measurements(origin: Origin, lines: Iterable[Mapping[str, Any]]) -> Iterator[HostMeasurement]:
    """Yield one per configuration and size of a run: times of its regions are added."""
    entries: dict[str, tuple[str, Values, Mapping[str, Values], list[float | None]]] = {}
    for line in lines:
        tunables = line["tunables"]
        for name, own in tunables.items():
            if own["ambiguous"]:
                raise CutuneError.at(Code.AMBIGUOUS_REGION, name=name)
        values = {name: own["value"] for name, own in tunables.items()}
        data = {name: own["data"] for name, own in tunables.items()}
        key = json.dumps([values, data], sort_keys=True)
        entry = entries.setdefault(key, (line["device"], values, data, []))
        entry[3].append(line["milliseconds"])
    for device, own_values, own_data, each in entries.values():
        known = [time for time in each if time is not None]
        total = sum(known) if len(known) == len(each) else None
        yield HostMeasurement(origin, device, own_values, own_data, total)


#: Numbers below this are rounding: residuals, and errors against a reference.
ABSOLUTE = 1e-5
#: The program runs so often again until a difference counts.
CONFIRMING_RUNS = 2


def rules_of(tolerance: float | None = None, ignored: str | None = None) -> Agreement:
    """Return the rules by which outputs agree, but for lines of the pattern `ignored`.

    `tolerance`: of all numbers, relative and absolute; None: 1e-5, and none of integers.
    """
    if tolerance is None:
        return Agreement(absolute=ABSOLUTE, ignored=ignored)
    absolute = max(ABSOLUTE, tolerance)
    return Agreement(False, tolerance, absolute, ignored, exact_integers=False)


@dataclass
class ReferenceOutput:
    """The output of the program in its own configuration at one size.

    `ran`: its first run; or why it failed. `own`: the values that are known before it runs.
    """

    ran: MeasuredRun | FailedRun
    again: Callable[[], MeasuredRun | FailedRun]
    own: Mapping[str, Value]
    rules: Agreement
    _varying: Varying = NOTHING
    _runs: int = 0
    _is_compared: bool = True
    #: Several trials are compared with it at once.
    _lock: Lock = field(default_factory=Lock)

    @property
    def values(self) -> dict[str, Value]:
        host = self.ran.own if isinstance(self.ran, MeasuredRun) else {}
        return {**self.own, **host}

    @property
    def fails(self) -> bool:
        return isinstance(self.ran, FailedRun) or bool(self.ran.error)

    @property
    def region_seconds(self) -> float:
        """Seconds that the regions of the program take; 0 where it fails."""
        measured = () if isinstance(self.ran, FailedRun) else self.ran.measured
        return sum(one.milliseconds or 0.0 for one in measured) / 1000

    def is_failure(self, error: str) -> bool:
        """Is there an error of CUDA in a region that the program's own configuration lacks?"""
        return bool(error) and not (isinstance(self.ran, MeasuredRun) and self.ran.error == error)

    def difference(self, output: bytes, values: Mapping[str, Value]) -> str:
        """Return the first difference of an output in another configuration, or ""."""
        if isinstance(self.ran, FailedRun):
            return ""
        own = self.ran.output
        with self._lock:
            difference = self._difference(own, output, values)
            while difference is not None and self._is_compared and self._runs < CONFIRMING_RUNS:
                self._runs += 1
                self._learn(own, self.again())
                difference = self._difference(own, output, values)
            return difference or "" if self._is_compared else ""

    def _difference(self, own: bytes, output: bytes, values: Mapping[str, Value]) -> str | None:
        if own == output:
            return None
        left_out: dict[int, frozenset[int]] = {}
        lines = zip(self.rules.lines(own), self.rules.lines(output), strict=False)
        for (number, line), (_, other) in lines:
            if line != other:
                printed = _printed(line, other, self.values, values)
                left_out[number] = frozenset((*times(line), *printed))
        return self.rules.difference(own, output, self._varying | Varying(left_out))

    def _learn(self, own: bytes, again: MeasuredRun | FailedRun) -> None:
        try:
            if isinstance(again, MeasuredRun):
                self._varying |= self.rules.varying(own, again.output)
        except OtherLength:
            self._is_compared = False


def _printed(
    line: bytes, other: bytes, own: Mapping[str, Value], values: Mapping[str, Value]
) -> Iterator[int]:
    pairs = {(shown(own[name]), shown(value)) for name, value in values.items() if name in own}
    tokens = zip(NUMBER_TOKEN.findall(line), NUMBER_TOKEN.findall(other), strict=False)
    for index, (first, second) in enumerate(tokens):
        if (first.decode("latin-1"), second.decode("latin-1")) in pairs:
            yield index

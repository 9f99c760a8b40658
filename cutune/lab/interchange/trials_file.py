"""cutune's trials as results. Takes a trials.jsonl, of any program, gives results, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn
from cutune.core.source import Source
from cutune.core.typed import Label, Meta, Quantity, Symbol, Text, typed
from cutune.lab.interchange.json_text import JsonText, member
from cutune.lab.interchange.results import OfTrial, Result, Results, StatusWord, not_held, read_back
from cutune.model.measurement.measurement import Origin
from cutune.search.regions import HostMeasurement
from cutune.search.regions import Settings as ProgramSettings
from cutune.search.trials import SCHEMA, EndedTrial, Status, Trial

KIND = "file of trials"
#: How results of other tuners are told from trials of a program, before the name of the device.
CONVERTED = "converted "


@dataclass(frozen=True)
class _Begin:
    trial: Symbol
    origin: Origin
    how: Text
    sizes: Mapping[Label, Label]
    configuration: Mapping[Label, int | Label]


@dataclass(frozen=True)
class _End:
    trial: Symbol
    origin: Origin
    status: StatusWord
    reason: str
    code: Symbol
    final: bool
    times: tuple[Quantity, ...]
    measured: tuple[HostMeasurement, ...]
    copied: bool = False
    rules: Text = ""
    seconds: Annotated[float, Meta(ge=0)] = 0.0
    compared: bool = True


def recognises(source: Source) -> bool:
    return f'"{SCHEMA}"' in source.text.lstrip().partition("\n")[0]


def read(source: Source, _: object, warn: Warn) -> Results:
    """Read the results of a file; torn lines are left out, as everywhere. Raises CT821."""
    begun: dict[str, _Begin] = {}
    ended: dict[str, _End] = {}
    lines = list(JsonText.lines(source, KIND))
    for line in lines:
        try:
            data = line.read()
            if member(data, "schema") != SCHEMA:
                continue
            if member(data, "event") == "begin":
                one = line.typed(_Begin, data)
                begun[one.trial] = one
            elif member(data, "event") == "end":
                last = line.typed(_End, data)
                ended[last.trial] = last
        except CutuneError:
            # A run that was killed leaves half a line, at the end.
            if line is not lines[-1] or not begun or source.text.endswith("\n"):
                raise
            number = source.location(line.start).line
            warn(Diagnostic.at(Code.TORN_LINE, line=number, path=source.path))
    if not begun:
        raise JsonText.whole(source, KIND).wrong("no line of it is one of trials", 0)
    devices = {
        begun[trial].how: one.measured[0].device
        for trial, one in ended.items()
        if one.measured and trial in begun
    }
    results = (
        _result(one, ended[trial], devices.get(one.how, ""))
        for trial, one in begun.items()
        if trial in ended
    )
    paths = dict.fromkeys(one.origin.path for one in begun.values())
    return Results(tuple(results), next(iter(paths)) if len(paths) == 1 else "")


def _result(begun: _Begin, ended: _End, device: str) -> Result:
    is_converted = begun.how.startswith(CONVERTED)
    times = [one.milliseconds for one in ended.measured if one.milliseconds is not None]
    is_timed = times and len(times) == len(ended.measured) and ended.status == Status.OK.value
    return Result(
        begun.configuration,
        {name: read_back(text) for name, text in begun.sizes.items()},
        Status(ended.status),
        milliseconds=sum(times) if is_timed else None,
        times=ended.times,
        device=begun.how.removeprefix(CONVERTED) if is_converted else device,
        reason=ended.reason,
        code=ended.code,
        seconds=ended.seconds if ended.seconds or not is_converted else None,
        of_trial=None if is_converted else _of_trial(begun, ended),
    )


def _of_trial(begun: _Begin, ended: _End) -> OfTrial:
    return OfTrial(
        begun.origin.path,
        begun.origin.content,
        begun.how,
        ended.final,
        ended.copied,
        ended.rules,
        ended.measured,
        ended.compared,
    )


def write(results: Results) -> str:
    """Return the text of a file. Raises CT826 for a word that no parameter can have."""
    entries = (entry for one in results.results for entry in _entries(one, results.kernel))
    return "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in entries)


def _entries(one: Result, kernel: str) -> tuple[dict[str, Any], dict[str, Any]]:
    about = one.of_trial or OfTrial(kernel, "", CONVERTED + one.device)
    origin = Origin(about.path, about.content)
    sizes = {name: str(value) for name, value in one.sizes.items()}
    values: dict[str, int | str] = {
        name: value if type(value) is int else str(value)
        for name, value in one.configuration.items()
    }
    trial = Trial(origin, about.how, sizes, values)
    measured = about.measured
    if one.of_trial is None and one.status is Status.OK:
        # It stands in place of the regions of a program that is not known.
        try:
            settings = typed(ProgramSettings, values)  # type: ignore[type-abstract]
            device = typed(Label, one.device or "unknown")
        except ValueError as error:
            raise not_held(KIND, str(error)) from None
        measured = (HostMeasurement(origin, device, settings, {}, one.milliseconds),)
    ended = EndedTrial(
        one.status,
        one.reason,
        measured,
        one.times,
        one.code,
        is_final=about.final,
        is_copied=about.copied,
        rules=about.rules,
        seconds=one.seconds or 0.0,
        is_compared=about.compared,
    )
    return trial.to_json(), trial.ended_json(ended)

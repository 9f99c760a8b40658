"""T4, the results format of tuners. Takes a file, gives results, and back.

The schema has no place for sizes and for more kinds of failures: they stand in members of their
own (`context`, `status` and others), which it allows. Times are milliseconds, as in Kernel Tuner.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from cutune.core.source import Source
from cutune.core.typed import Label, Meta, Quantity, Symbol, Text, one_of
from cutune.lab.interchange.json_text import JsonText, member
from cutune.lab.interchange.results import Metric, OfTrial, Result, Results, Setting, StatusWord
from cutune.search.trials import Status

KIND = "results file in the T4 format"
VERSION = "1.0.0"
#: Words of the schema. One that has several meanings here is joined by `status`.
INVALIDITY = {
    Status.OK: "correct",
    Status.COMPILE: "compile",
    Status.LIMITS: "constraints",
    Status.RUNTIME: "runtime",
    Status.TIMEOUT: "timeout",
    Status.WRONG: "correctness",
    Status.QUARANTINE: "runtime",
}
_STATUS = {word: status for status, word in reversed(INVALIDITY.items())}
#: Names of phases: here, those of the schema, and those that Kernel Tuner writes.
_PHASES = {
    "compile": ("compilation_time", "compilation"),
    "verification": ("validation",),
    "benchmark": ("benchmark",),
    "strategy": ("search_algorithm",),
    "framework": ("framework",),
}
_TIME = "time"


@dataclass(frozen=True)
class _Head:
    """Members that cutune adds, by Kernel Tuner's names."""

    kernel_name: Text = ""
    tune_params: Mapping[Label, tuple[Setting, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Measurement:
    name: Label
    value: Any  # a number, a word or a list: msgspec does not take such a union of bounded types
    unit: Text = ""


@dataclass(frozen=True)
class _Times:
    """Milliseconds: words of the schema, and others of Kernel Tuner."""

    runtimes: tuple[Quantity, ...] = ()
    compilation_time: Quantity | None = None
    compilation: Quantity | None = None
    validation: Quantity | None = None
    benchmark: Quantity | None = None
    search_algorithm: Quantity | None = None
    framework: Quantity | None = None


@dataclass(frozen=True)
class _Entry:
    configuration: Mapping[Label, Setting]
    times: _Times
    invalidity: Annotated[str, one_of(*_STATUS)]
    correctness: float = 1.0
    context: Mapping[Label, Setting] = field(default_factory=dict)
    measurements: tuple[_Measurement, ...] = ()
    timestamp: Text = ""
    status: StatusWord | None = None
    device: Text = ""
    reason: Text = ""
    code: Symbol = ""
    seconds: Annotated[float, Meta(ge=0)] | None = None
    trial: OfTrial | None = None


def recognises(source: Source) -> bool:
    head = source.text[:4096].lstrip()
    return head.startswith("{") and '"results"' in head


def read(source: Source, *_: object) -> Results:
    """Read the results of a file. Raises CT821."""
    text = JsonText.whole(source, KIND)
    data = text.read()
    entries = member(data, "results")
    if not isinstance(entries, list):
        raise text.at("it has no list `results`")
    head = text.typed(_Head, data)
    results = (
        _result(text.typed(_Entry, entry, "results", index)) for index, entry in enumerate(entries)
    )
    return Results(tuple(results), head.kernel_name, head.tune_params)


def _result(entry: _Entry) -> Result:
    timed = next((m.value for m in entry.measurements if m.name == _TIME), None)
    times = entry.times.runtimes
    status = Status(entry.status) if entry.status else _STATUS[entry.invalidity]
    middle = sorted(times)[len(times) // 2] if times else None
    time = float(timed) if isinstance(timed, (int, float)) else middle
    phases = {
        name: known[0]
        for name, words in _PHASES.items()
        if (known := [t for word in words if (t := getattr(entry.times, word)) is not None])
    }
    further = {
        m.name: Metric(m.value, m.unit)
        for m in entry.measurements
        if m.name != _TIME and isinstance(m.value, (int, float, str))
    }
    # What is correct and has no time says nothing about speed.
    ended = status if time is not None or status is not Status.OK else Status.RUNTIME
    return Result(
        entry.configuration,
        entry.context,
        ended,
        milliseconds=time if status is Status.OK else None,
        times=times,
        device=entry.device,
        reason=entry.reason,
        code=entry.code,
        seconds=entry.seconds,
        timestamp=entry.timestamp,
        phases=phases,
        measurements=further,
        of_trial=entry.trial,
    )


def write(results: Results) -> str:
    entries = [json.dumps(_entry(one)) for one in results.results]
    # What a file is has to be seen at its beginning.
    values = {name: [*own] for name, own in results.values.items()}
    head = {"kernel_name": results.kernel, "tune_params": values}
    members = "".join(f', "{name}": {json.dumps(value)}' for name, value in head.items() if value)
    begin = f'{{"schema_version": {json.dumps(VERSION)}, "results": [\n'
    return begin + ",\n".join(entries) + f"\n]{members}}}\n"


def _entry(one: Result) -> dict[str, Any]:
    measured = [{"name": _TIME, "value": one.milliseconds, "unit": "ms"}]
    further = [{"name": name, **asdict(m)} for name, m in one.measurements.items()]
    is_told = _STATUS[INVALIDITY[one.status]] is one.status
    optional: dict[str, object] = {
        "context": dict(one.sizes),
        "timestamp": one.timestamp,
        "status": None if is_told else one.status.value,
        "device": one.device,
        "reason": one.reason,
        "code": one.code,
        "seconds": one.seconds,
        "trial": asdict(one.of_trial) if one.of_trial is not None else None,
    }
    phases = {_PHASES[name][0]: took for name, took in one.phases.items()}
    return {
        "configuration": dict(one.configuration),
        "objectives": [_TIME],
        "times": {"runtimes": list(one.times), **phases},
        "invalidity": INVALIDITY[one.status],
        "correctness": 0 if one.status is Status.WRONG else 1,
        "measurements": [*(measured if one.milliseconds is not None else []), *further],
        **{name: value for name, value in optional.items() if value not in (None, "", {})},
    }

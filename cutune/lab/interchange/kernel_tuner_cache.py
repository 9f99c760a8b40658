"""Kernel Tuner's cache. Takes a file, gives results, and back, so that Kernel Tuner goes on there.

A cache belongs to one device, kernel and problem size, and its parameters have an order. While it
is written it has no end: that of a file that was not closed is added here, as Kernel Tuner does.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.source import Source
from cutune.core.typed import Label, Meta, Quantity, Symbol, Text
from cutune.lab.interchange.json_text import JsonText, member
from cutune.lab.interchange.results import (
    PHASES,
    Metric,
    Result,
    Results,
    Setting,
    StatusWord,
    not_held,
)
from cutune.search.trials import Status

KIND = "cache of Kernel Tuner"
#: What stands in place of a time, and in older files a time that none takes.
_FAILED = {
    "ErrorConfig": Status.RUNTIME,
    "InvalidConfig": Status.LIMITS,
    "CompilationFailedConfig": Status.COMPILE,
    "RuntimeFailedConfig": Status.RUNTIME,
}
_NO_TIME = 1e20
_OTHER = "RuntimeFailedConfig"
_WORDS = {status: word for word, status in _FAILED.items()}
#: Of a record: required, and unknown.
_NEVER = "1970-01-01 00:00:00+00:00"
_AXES = ("x", "y", "z")
_TIME = "time"
#: Texts, so that braces in them do not count, and braces.
_BRACES = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]')


@dataclass(frozen=True)
class _Head:
    tune_params_keys: tuple[Label, ...]
    device_name: Text = ""
    kernel_name: Text = ""
    problem_size: Any = ()  # a number, a list or a word
    tune_params: Mapping[Label, tuple[Setting, ...]] = field(default_factory=dict)
    #: What cutune adds: the names of the sizes.
    sizes: Mapping[Label, Setting] = field(default_factory=dict)


@dataclass(frozen=True)
class _Record:
    """The known members of a record; others are values of parameters, or quantities."""

    times: tuple[Quantity, ...] = ()
    timestamp: Text = ""
    status: StatusWord | None = None
    reason: Text = ""
    code: Symbol = ""
    seconds: Annotated[float, Meta(ge=0)] | None = None


def recognises(source: Source) -> bool:
    head = source.text[:65536].lstrip()
    return head.startswith("{") and '"tune_params_keys"' in head


def read(source: Source, *_: object) -> Results:
    """Read the results of a file, closed or not. Raises CT821."""
    text, ending = _closed(source)
    data = text.read(ending)
    head, cache = text.typed(_Head, data), member(data, "cache")
    if not isinstance(cache, dict):
        raise text.at("it has no object `cache`")
    sizes = head.sizes or _sizes(text, head.problem_size)
    results = tuple(_result(text, head, sizes, key, record) for key, record in cache.items())
    return Results(results, head.kernel_name, head.tune_params)


def _closed(source: Source) -> tuple[JsonText, str]:
    """Return the text up to its last record, and the braces that are missing behind it."""
    content = source.text.rstrip()
    braces = Counter(_BRACES.findall(content))
    depth = braces["{"] - braces["}"]
    end = len(content) - (depth != 0 and content.endswith(","))
    return JsonText(source, KIND, 0, end), "}" * depth if depth in (1, 2) else ""


def _sizes(text: JsonText, size: object) -> dict[str, Setting]:
    """Return the problem size: in Kernel Tuner, one to three numbers without names."""
    if isinstance(size, str):
        word = text.typed(Text, size, "problem_size")
        return {"problem_size": word} if word else {}
    numbers = size if isinstance(size, (list, tuple)) else [size]
    extents = text.typed(tuple[float, ...], numbers, "problem_size")
    names = _AXES if len(extents) <= len(_AXES) else [f"x{i}" for i, _ in enumerate(extents)]
    return {
        name: int(number) if number == int(number) else number
        for name, number in zip(names, extents, strict=False)
    }


def _result(
    text: JsonText, head: _Head, sizes: Mapping[str, Setting], key: str, data: object
) -> Result:
    record = text.typed(_Record, data, "cache", key)
    assert isinstance(data, dict), "the record is an object"
    missing = next((name for name in head.tune_params_keys if name not in data), None)
    if missing is not None:
        raise text.at(f"there is no value of `{missing}`", "cache", key)
    values = {name: data[name] for name in head.tune_params_keys}
    configuration = text.typed(dict[Label, Setting], values, "cache", key)
    failures = (_FAILED[one] for one in data.values() if isinstance(one, str) and one in _FAILED)
    status = Status(record.status) if record.status else next(failures, Status.OK)
    time = data.get(_TIME)
    if status is Status.OK:
        time = text.typed(float, time, "cache", key, _TIME)
        if time >= _NO_TIME:
            status = Status.RUNTIME
    phases = {name: data.get(f"{name}_time") for name in PHASES}
    members = {*head.tune_params_keys, *asdict(record), _TIME, *(f"{n}_time" for n in PHASES)}
    return Result(
        configuration,
        sizes,
        status,
        milliseconds=time if status is Status.OK else None,
        times=record.times,
        device=head.device_name,
        reason=record.reason,
        code=record.code,
        seconds=record.seconds,
        timestamp="" if record.timestamp == _NEVER else record.timestamp,
        phases={n: float(v) for n, v in phases.items() if isinstance(v, (int, float)) and v},
        measurements=_metrics({n: value for n, value in data.items() if n not in members}),
    )


def _metrics(members: Mapping[str, object]) -> dict[str, Metric]:
    numbers = {n: value for n, value in members.items() if isinstance(value, (int, float))}
    return {n: Metric(float(v)) for n, v in numbers.items() if not isinstance(v, bool)}


def write(results: Results) -> str:
    """Return the text of a closed file: one device, one size (CT823), all parameters (CT826)."""
    first = results.results[0]
    if any((one.device, one.sizes) != (first.device, first.sizes) for one in results.results):
        raise _several(results)
    names, values = results.names, results.all_values
    sizes = tuple(first.sizes.values())
    whole = [one for one in sizes if isinstance(one, int)]
    named = ", ".join(f"{name}={value}" for name, value in first.sizes.items())
    head = {
        "schema_version": "1.0.0",
        "device_name": first.device,
        "kernel_name": results.kernel,
        "problem_size": whole if len(whole) == len(sizes) else named,
        "sizes": dict(first.sizes),
        "tune_params_keys": list(names),
        "tune_params": {name: list(own) for name, own in values.items()},
        "objective": _TIME,
    }
    records = dict(_records(results.results, names))
    lines = (f"{json.dumps(key)}: {json.dumps(record)}" for key, record in records.items())
    begin = json.dumps(head, indent="")[:-2]
    return f'{begin},\n"cache": {{\n' + ",\n".join(lines) + "\n}\n}\n"


def _several(results: Results) -> CutuneError:
    devices = list(dict.fromkeys(one.device for one in results.results))
    sizes = [dict(one.sizes) for one in results.results]
    distinct = [one for i, one in enumerate(sizes) if one not in sizes[:i]]
    parts = [f"{name}={value}" for name, value in distinct[0].items()]
    parts = parts if len(distinct) > 1 else []
    parts += [f"device={devices[0]}"] if len(devices) > 1 else []
    return CutuneError.at(
        Code.SEVERAL_SIZES,
        kind=KIND,
        devices="1 device" if len(devices) == 1 else f"{len(devices)} devices",
        sizes="1 size" if len(distinct) == 1 else f"{len(distinct)} sizes",
        example=" ".join(f"--only '{one}'" for one in parts),
    )


def _records(
    results: Iterable[Result], names: tuple[str, ...]
) -> Iterable[tuple[str, dict[str, Any]]]:
    seen: set[str] = set()
    for one in results:
        if {*one.configuration} != {*names}:
            raise not_held(KIND, "configurations have different parameters")
        key = ",".join(str(one.configuration[name]) for name in names)
        if key in seen:
            raise not_held(KIND, f"the configuration {key} has several results")
        seen.add(key)
        yield key, _record(one, names)


def _record(one: Result, names: tuple[str, ...]) -> dict[str, Any]:
    word = _WORDS.get(one.status, _OTHER)
    is_told = one.status is Status.OK or one.status in _WORDS
    further = {
        "status": None if is_told else one.status.value,
        "reason": one.reason,
        "code": one.code,
        "seconds": one.seconds,
    }
    measured = {name: m.value for name, m in one.measurements.items() if isinstance(m.value, float)}
    return {
        **{name: one.configuration[name] for name in names},
        _TIME: word if one.milliseconds is None else one.milliseconds,
        "times": list(one.times),
        **{f"{name}_time": one.phases.get(name, 0) for name in PHASES},
        **measured,
        "timestamp": one.timestamp or _NEVER,
        **{name: value for name, value in further.items() if value not in (None, "")},
    }

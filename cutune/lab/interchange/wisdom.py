"""Wisdom, Kernel Launcher's format: the fastest configurations by device and problem size.

A head and a record per line. Kernel Launcher takes what is nearest in the product of the sizes, so
that the first three of them count, and none has a name; cutune adds the names to the head.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from cutune.core.source import Source
from cutune.core.typed import Integer, Label, Text, one_of
from cutune.lab.interchange.json_text import JsonText
from cutune.lab.interchange.results import Result, Results, Setting, not_held
from cutune.search.trials import Status

KIND = "wisdom file"
VERSION = "1.0"
_AXES = ("x", "y", "z")
_DEVICE = "device_name"


@dataclass(frozen=True)
class _Head:
    version: Annotated[str, one_of(VERSION)]
    key: Text
    objective: Label
    tunable_parameters: tuple[Label, ...]
    #: What cutune adds: the names of the sizes.
    sizes: tuple[Label, ...] = _AXES


@dataclass(frozen=True)
class _Line:
    config: tuple[Setting, ...]
    problem_size: tuple[Integer, ...]
    environment: Mapping[Label, Any] = field(default_factory=dict)


def recognises(source: Source) -> bool:
    lines = filter(_counts, source.text[:65536].split("\n"))
    return '"tunable_parameters"' in next(lines, "")


def _counts(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def read(source: Source, *_: object) -> Results:
    """Read the results of a file. Raises CT821."""
    lines = [one for one in JsonText.lines(source, KIND) if _counts(one.text)]
    if not lines:
        raise JsonText.whole(source, KIND).wrong("it has no head", 0)
    head = lines[0].typed(_Head, lines[0].read())
    return Results(tuple(_result(line, head) for line in lines[1:]), head.key)


def _result(line: JsonText, head: _Head) -> Result:
    data = line.read()
    entry = line.typed(_Line, data)
    if len(entry.config) != len(head.tunable_parameters):
        raise line.at(f"it has not {len(head.tunable_parameters)} values", "config")
    time = line.typed(float, data.get(head.objective), head.objective)
    names = [*head.sizes, *(f"x{i}" for i in range(len(head.sizes), len(entry.problem_size)))]
    device = entry.environment.get(_DEVICE)
    return Result(
        dict(zip(head.tunable_parameters, entry.config, strict=True)),
        dict(zip(names, entry.problem_size, strict=False)),
        Status.OK,
        time,
        device=device if isinstance(device, str) else "",
    )


def write(results: Results) -> str:
    """Return the text of a file: results with a time, whose sizes are integers (CT826)."""
    names, sizes = results.names, results.size_names
    head = {
        "version": VERSION,
        "key": results.kernel,
        "objective": "time",
        "tunable_parameters": list(names),
        "sizes": list(sizes),
    }
    timed = [one for one in results.results if one.milliseconds is not None]
    lines = (head, *(_line(one, names, sizes) for one in timed))
    return "".join(json.dumps(line) + "\n" for line in lines)


def _line(one: Result, names: tuple[str, ...], sizes: tuple[str, ...]) -> dict[str, object]:
    size = [one.sizes.get(name) for name in sizes]
    wrong = next((n for n, v in zip(sizes, size, strict=True) if type(v) is not int), None)
    if wrong is not None:
        raise not_held(KIND, f"the size '{wrong}' is no integer everywhere")
    if {*one.configuration} != {*names}:
        raise not_held(KIND, "configurations have different parameters")
    return {
        "config": [one.configuration[name] for name in names],
        "problem_size": size,
        "time": one.milliseconds,
        "environment": {_DEVICE: one.device},
    }

"""T1, the interchange format of tuners. Takes a file, gives parameters and conditions, and back.

The parts that describe a space are read, leniently: keys in any case, lists as text or as JSON. Its
expressions are a part of Python's, and are never run:

    [1, 2] + list(range(4, 65, 4))      [2**i for i in range(5)]      32 <= x * y and x % 2 == 0
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.reading import read_file
from cutune.core.source import Source, Span
from cutune.space.condition import Condition, Value
from cutune.space.expressions import (
    ExpressionError,
    python_text,
    read_python_condition,
    read_python_values,
)
from cutune.space.parameter import Parameter, checked, is_run, shown
from cutune.space.space import Space

Json = dict[str, Any]
VERSION = "1.0.0"


@dataclass(frozen=True)
class SpaceFile:
    """The parameters and conditions of a T1 file."""

    parameters: tuple[Parameter, ...]
    conditions: tuple[Condition, ...]


def read_t1(path: str | Path) -> SpaceFile:
    """Read a T1 file.

    Raises:
        CutuneError: CT001, CT806 where it is no T1 file, CT807 for an expression that is not
            understood, CT800 for values that are missing or repeated.
    """
    return _File(read_file(path)).space()


@dataclass(frozen=True)
class _File:
    source: Source

    def space(self) -> SpaceFile:
        """Return the parts of the file.

        Raises:
            CutuneError: see `read_t1`.
        """
        try:
            document = json.loads(self.source.encode())
        except (ValueError, RecursionError) as error:
            raise self._unknown(f"no JSON: {error}") from error
        space = _member(document, "ConfigurationSpace")
        entries = _member(space, "TuningParameters")
        if not isinstance(entries, list):
            raise self._unknown("no list ConfigurationSpace.TuningParameters")
        conditions = _member(space, "Conditions") or []
        if not isinstance(conditions, list):
            raise self._unknown("Conditions is no list")
        parameters = tuple(map(self._parameter, entries))
        return SpaceFile(parameters, tuple(map(self._condition, conditions)))

    def _parameter(self, entry: object) -> Parameter:
        name, values = _member(entry, "Name"), _member(entry, "Values")
        if not isinstance(name, str) or not name.isidentifier() or values is None:
            raise self._unknown("a parameter without Name or Values")
        return checked(name, self._values(values), self.source, self._span(name))

    def _values(self, values: object) -> list[Value]:
        if isinstance(values, list):
            values = json.dumps(values)
        if not isinstance(values, str):
            raise self._unknown("Values is no list")
        try:
            return read_python_values(values)
        except ExpressionError as error:
            raise self._bad(values, error) from None

    def _condition(self, entry: object) -> Condition:
        text = _member(entry, "Expression")
        if not isinstance(text, str):
            raise self._unknown("a condition without Expression")
        try:
            tree = read_python_condition(text)
        except ExpressionError as error:
            raise self._bad(text, error) from None
        return Condition(text, tree, self.source, self._span(text))

    def _span(self, text: str) -> Span | None:
        """Return where a text stands first, in quotes."""
        start = self.source.text.find(json.dumps(text))
        return Span(start, start + len(json.dumps(text))) if start >= 0 else None

    def _unknown(self, reason: str) -> CutuneError:
        return CutuneError.at(Code.NOT_T1, path=self.source.path, reason=reason)

    def _bad(self, text: str, error: ExpressionError) -> CutuneError:
        return CutuneError.at(
            Code.BAD_EXPRESSION, self.source, self._span(text), text=text, reason=error
        )


def _member(entry: object, key: str) -> Any:
    """Return a member, however its key is capitalised."""
    if not isinstance(entry, dict):
        return None
    return next((value for k, value in entry.items() if k.lower() == key.lower()), None)


def to_t1(space: Space, defaults: Mapping[str, Value], kernel: Mapping[str, str]) -> Json:
    """Return a space as T1.

    Args:
        defaults: the program's own values, as far as they are known.
        kernel: `KernelName`, `KernelFile`.
    """
    device = {name: value for name, value in space.known.items() if "." in name}
    return {
        "General": {"FormatVersion": VERSION},
        "ConfigurationSpace": {
            "TuningParameters": [_parameter_json(p, defaults) for p in space.parameters],
            "Conditions": [_condition_json(space, c, device) for c in space.conditions],
        },
        "KernelSpecification": {"Language": "CUDA", **kernel},
    }


def _parameter_json(parameter: Parameter, defaults: Mapping[str, Value]) -> Json:
    default = defaults.get(parameter.name)
    number = float(default) if isinstance(default, Fraction) else default
    entry = {} if default is None else {"Default": number}
    return {
        "Name": parameter.name,
        "Type": _type(parameter.values),
        "Values": _values_text(parameter.values),
        **entry,
    }


def _condition_json(space: Space, condition: Condition, device: dict[str, Value]) -> Json:
    words = condition.names - {*space.names, *space.known} & space.words
    return {
        "Parameters": [name for name in space.names if name in condition.names],
        "Expression": python_text(condition.tree, words, device),
    }


def _values_text(values: Sequence[Value]) -> str:
    if is_run(values):
        return f"list(range({values[0]}, {values[-1]} + 1))"
    quoted = (f"'{value}'" if isinstance(value, str) else shown(value) for value in values)
    return f"[{', '.join(quoted)}]"


def _type(values: Iterable[Value]) -> str:
    kinds = {type(value) for value in values}
    return "string" if str in kinds else "float" if Fraction in kinds else "int"

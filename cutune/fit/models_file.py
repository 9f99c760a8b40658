"""models.json: fitted models as text. Rationals are written as "numerator/denominator".

Columns of features have a row per alignment class. A model's distinct rows are written once, and
each column says which of them it has; a row of one value is that number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.workspace import Json, read_document, write_document
from cutune.device.thread_block import as_block
from cutune.fit.fitted_model import (
    Array,
    FeatureColumn,
    FittedModel,
    PublishedCounts,
    Totals,
    in_single_precision,
)
from cutune.fit.measurement.measurement import MeasuredKernel
from cutune.fit.rational.functions import Polynomial, RationalFunction

SCHEMA = "cutune-models-6"
COMMAND = "cutune fit"


def write_models(path: Path, models: Sequence[FittedModel]) -> None:
    """Save all models of a program.

    Raises:
        CutuneError: CT002.
    """
    # Tables of thousands of numbers: nobody reads them a line each.
    write_document(path, SCHEMA, {"models": [_to_json(model) for model in models]}, indent=None)


def read_models(path: Path) -> list[FittedModel]:
    """Read back what `write_models` saved.

    Raises:
        CutuneError: CT009, CT001, CT005, or CT012 when entries are missing or wrong.
    """
    document = read_document(path, SCHEMA, COMMAND)
    try:
        return [_from_json(entry) for entry in document["models"]]
    except (LookupError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        reason = f"{type(error).__name__}: {error}"
        damaged = Diagnostic.at(Code.DAMAGED_FILE, None, path=path, reason=reason, command=COMMAND)
        raise CutuneError(damaged) from error


def _to_json(model: FittedModel) -> Json:
    rows = _Rows(len(model.blocks))
    columns, transactions = map(rows.columns, (model.columns, model.transactions))
    return {
        "kernel": model.kernel.name,
        "facts": model.kernel.to_json(),
        **{name: _function(total) for name, total in model.totals.items()},
        "looped": model.looped,
        "groups": [_function(group) for group in model.groups],
        "requests": model.requests,
        "arrays": [
            {
                "parameter": a.parameter,
                "extent_bytes": _function(a.extent_bytes),
                "is_loaded": a.is_loaded,
                "is_stored": a.is_stored,
            }
            for a in model.arrays
        ],
        "classes": model.classes,
        "blocks": model.blocks,
        "rows": rows.as_json(),
        "columns": columns,
        "held_out_error": model.held_out_error,
        "transactions": transactions,
        "published": _published(model.published),
        "confirmed_on": model.confirmed_on,
    }


def _from_json(entry: Json) -> FittedModel:
    kernel = MeasuredKernel.from_json(entry["facts"])
    names = kernel.variables
    blocks = tuple(as_block(b) for b in entry["blocks"])
    rows = _read_rows(entry["rows"], len(blocks))

    def function(data: Json) -> RationalFunction:
        return _read_function(names, data)

    return FittedModel(
        kernel=kernel,
        **{field.name: function(entry[field.name]) for field in fields(Totals)},
        looped=entry["looped"],
        groups=tuple(function(group) for group in entry["groups"]),
        requests=tuple(entry["requests"]),
        arrays=tuple(
            Array(a["parameter"], function(a["extent_bytes"]), a["is_loaded"], a["is_stored"])
            for a in entry["arrays"]
        ),
        classes=tuple(tuple(c) for c in entry["classes"]),
        blocks=blocks,
        columns=_read_columns(entry["columns"], rows),
        held_out_error=entry["held_out_error"],
        transactions=_read_columns(entry["transactions"], rows),
        published=_read_published(entry["published"]),
        confirmed_on=entry["confirmed_on"],
    )


def _read_function(names: tuple[str, ...], data: Json) -> RationalFunction:
    return RationalFunction(
        _terms(names, data["numerator"]),
        _terms(names, data["denominator"]),
        data["exact"],
        data["held_out_error"],
        data["residual"],
        data["rank"],
        data["unknowns"],
    )


def _published(counts: PublishedCounts | None) -> Json | None:
    if counts is None:
        return None
    functions = {f.name: _function(getattr(counts, f.name)) for f in fields(PublishedCounts)}
    return {"variables": list(counts.issued.numerator.variables), **functions}


def _read_published(entry: Json | None) -> PublishedCounts | None:
    if entry is None:
        return None
    names = tuple(entry["variables"])
    return PublishedCounts(*(_read_function(names, entry[f.name]) for f in fields(PublishedCounts)))


class _Rows:
    """The distinct rows of a model's columns, numbered as they are met."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._numbers: dict[tuple[float, ...], int] = {}

    def columns(self, columns: Sequence[FeatureColumn]) -> list[Json]:
        """Columns whose rows are numbers of rows."""
        return [
            {"kind": c.kind, "group": c.group, "array": c.array, "rows": self._rows_of(c)}
            for c in columns
        ]

    def _rows_of(self, column: FeatureColumn) -> list[int]:
        # Single precision has at most 9 significant digits: nothing is lost.
        values = [float(f"{value:.9g}") for value in column.values]
        starts = range(0, len(values), self._width)
        rows = (tuple(values[start : start + self._width]) for start in starts)
        return [self._numbers.setdefault(row, len(self._numbers)) for row in rows]

    def as_json(self) -> list[float | list[float]]:
        """The rows by number."""
        return [row[0] if len(set(row)) == 1 else list(row) for row in self._numbers]


def _read_rows(rows: list[Any], width: int) -> list[tuple[float, ...]]:
    found = [in_single_precision(row if isinstance(row, list) else [row] * width) for row in rows]
    if any(len(row) != width for row in found):
        raise ValueError("a row has no entry per candidate")
    return found


def _read_columns(
    entries: list[Json], rows: Sequence[tuple[float, ...]]
) -> tuple[FeatureColumn, ...]:
    return tuple(
        FeatureColumn(
            entry["kind"],
            entry["group"],
            entry["array"],
            tuple(value for number in entry["rows"] for value in rows[number]),
        )
        for entry in entries
    )


def _function(function: RationalFunction) -> Json:
    def terms(polynomial: Polynomial) -> list[Any]:
        return [[list(e), f"{c.numerator}/{c.denominator}"] for e, c in polynomial.terms]

    return {
        "numerator": terms(function.numerator),
        "denominator": terms(function.denominator),
        "exact": function.exact,
        "held_out_error": function.held_out_error,
        "residual": function.residual,
        "rank": function.rank,
        "unknowns": function.unknowns,
    }


def _terms(names: tuple[str, ...], terms: list[Any]) -> Polynomial:
    return Polynomial(names, tuple((tuple(e), Fraction(c)) for e, c in terms))

"""Tables of measured times by size and configuration. Takes a file, gives a `TimeTable`.

A file has one row per measurement, as CSV or as JSON lines (`.jsonl`): sizes, the values of the
tunables, and the time in any unit. A table without times names one configuration per row, the best
one, as published tables often do.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from pathlib import Path
from statistics import median

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, known_names
from cutune.core.reading import read_file
from cutune.core.source import Source, Span
from cutune.space.columns import holds

Point = tuple[int, ...]
"""The values of the sizes."""

Configuration = tuple[int, ...]
"""The values of the tunables."""


@dataclass(frozen=True)
class Columns:
    """The columns of a table by their contents. Without `time`, rows name best configurations."""

    sizes: tuple[str, ...]
    tunables: tuple[str, ...]
    time: str | None = None
    #: Only rows that have these texts in these columns are read.
    where: tuple[tuple[str, str], ...] = ()
    #: Rows for which this does not hold are not read.
    condition: str | None = None


@dataclass(frozen=True)
class TimeTable:
    """Times by size and configuration; all in one unit."""

    sizes: tuple[str, ...]
    tunables: tuple[str, ...]
    times: Mapping[Point, Mapping[Configuration, float]]

    @cached_property
    def points(self) -> tuple[Point, ...]:
        return tuple(sorted(self.times))

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """All configurations that were measured at any size, in rising order."""
        return tuple(sorted({c for own in self.times.values() for c in own}))

    @cached_property
    def best(self) -> Mapping[Point, Configuration]:
        """The fastest configuration of each size; the smallest of equally fast ones."""
        return {p: min(own, key=lambda c: (own[c], c)) for p, own in self.times.items()}

    def regret(self, point: Point, configuration: Configuration) -> float:
        """Return t(configuration) / t(best) - 1; infinity where it was not measured."""
        times = self.times[point]
        return times.get(configuration, inf) / times[self.best[point]] - 1

    def restricted(self, points: Iterable[Point]) -> TimeTable:
        return TimeTable(self.sizes, self.tunables, {p: self.times[p] for p in points})


def read_table(path: str | Path, columns: Columns) -> TimeTable:
    """Read measured times, the median of each configuration. Raises CT001, CT540 to CT542."""
    if columns.time is None:
        raise ValueError("a table of times needs a column of times")
    samples: dict[Point, dict[Configuration, list[float]]] = {}
    for row in _rows(path, columns):
        if row.text(columns.time) in ("", "null"):
            continue  # not measured
        point, configuration = row.integers(columns.sizes), row.integers(columns.tunables)
        names = (*columns.sizes, *columns.tunables)
        if holds(columns.condition, dict(zip(names, (*point, *configuration), strict=True))):
            times_here = samples.setdefault(point, {}).setdefault(configuration, [])
            times_here.append(row.time(columns.time))
    if not samples:
        raise CutuneError.at(Code.EMPTY_TABLE, path=path)
    times = {p: {c: median(t) for c, t in own.items()} for p, own in samples.items()}
    return TimeTable(columns.sizes, columns.tunables, times)


def read_labels(path: str | Path, columns: Columns) -> Mapping[Point, Configuration]:
    """Read the best configuration by size. Raises CT001, CT540 to CT542, CT543 for two of them."""
    labels: dict[Point, Configuration] = {}
    for row in _rows(path, columns):
        point, label = row.integers(columns.sizes), row.integers(columns.tunables)
        if labels.setdefault(point, label) != label:
            raise row.error(Code.CONTRADICTING_ROWS, columns.tunables[0])
    if not labels:
        raise CutuneError.at(Code.EMPTY_TABLE, path=path)
    return labels


@dataclass(frozen=True)
class _Row:
    source: Source
    line: int
    values: Mapping[str, str]

    def text(self, column: str) -> str:
        return self.values[column].strip()

    def integers(self, columns: Sequence[str]) -> tuple[int, ...]:
        return tuple(map(self._integer, columns))

    def time(self, column: str) -> float:
        try:
            value = float(self.text(column))
        except ValueError:
            raise self.error(Code.BAD_CELL, column, "a time") from None
        if not 0 < value < float("inf"):
            raise self.error(Code.BAD_CELL, column, "a time above 0")
        return value

    def _integer(self, column: str) -> int:
        try:
            # Logs and spreadsheets write 1e5 and 100000.0.
            value = float(self.text(column))
            whole = int(value)
        except (ValueError, OverflowError):
            raise self.error(Code.BAD_CELL, column, "an integer from 0 to 2^62") from None
        if whole != value or not 0 <= whole < 2**62:
            raise self.error(Code.BAD_CELL, column, "an integer from 0 to 2^62")
        return whole

    def error(self, code: Code, column: str, wanted: str = "") -> CutuneError:
        start = self.source.line_start(self.line)
        span = Span(start, start + max(1, len(self.source.line_text(self.line))))
        values = {"column": column, "text": self.text(column), "wanted": wanted}
        return CutuneError.at(code, self.source, span, notes=(), **values)


def _rows(path: str | Path, columns: Columns) -> Iterator[_Row]:
    source = read_file(path)
    time = () if columns.time is None else (columns.time,)
    wanted = (*(name for name, _ in columns.where), *columns.sizes, *columns.tunables, *time)
    read = _json_rows if str(path).endswith(".jsonl") else _csv_rows
    for row in read(source):
        # A log has lines of other kinds, which --where leaves out.
        if any(row.values.get(name, text).strip() != text for name, text in columns.where):
            continue
        missing = next((name for name in wanted if name not in row.values), None)
        if missing is not None:
            known = known_names(missing, row.values)
            raise CutuneError.at(Code.MISSING_COLUMN, source, name=missing, known=known)
        yield row


def _csv_rows(source: Source) -> Iterator[_Row]:
    # Only line ends of the source count: a cell may hold other characters that Python splits at.
    texts = enumerate(source.text.split("\n"), 1)
    lines = [(n, t.rstrip("\r")) for n, t in texts if not t.startswith("#")]
    reader = csv.DictReader((text for _, text in lines), restval="")

    def number() -> int:
        return lines[reader.reader.line_num - 1][0]

    try:
        reader.fieldnames = tuple(name.strip() for name in reader.fieldnames or ())
        for values in reader:
            # Cells behind the last column belong to none.
            yield _Row(source, number(), {n: t for n, t in values.items() if n is not None})
    except csv.Error as error:
        code, reason = Code.UNREADABLE_FILE, f"line {number()} is no CSV: {error}"
        raise CutuneError.at(code, path=source.path, reason=reason) from error


def _json_rows(source: Source) -> Iterator[_Row]:
    """Yield one row per line; `{"block": [8, 4]}` has the columns `block.0` and `block.1`."""
    for number, text in enumerate(source.text.split("\n"), 1):
        if not text.strip():
            continue
        try:
            yield _Row(source, number, dict(_flat("", json.loads(text))))
        except (ValueError, RecursionError):
            yield _Row(source, number, {})


def _flat(name: str, value: object) -> Iterator[tuple[str, str]]:
    items: Iterable[tuple[object, object]]
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    else:
        yield name, json.dumps(value).strip('"')
        return
    for key, inner in items:
        yield from _flat(f"{name}.{key}" if name else str(key), inner)

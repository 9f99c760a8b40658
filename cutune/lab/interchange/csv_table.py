"""Results as CSV: sizes, the device, parameters, then how it went. Takes a table, and back.

Columns before `device` are sizes. A table of someone else has none: all of its columns are
parameters but those with names from `COLUMNS` and those that are named as sizes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.source import Source, Span
from cutune.core.typed import Label, Symbol, typed
from cutune.lab.interchange.results import Result, Results, Setting, not_held, read_back
from cutune.search.trials import Status

KIND = "table of results"
DEVICE, STATUS, TIME = "device", "status", "ms"
#: Columns that are neither sizes nor parameters; `times` holds several, with blanks between.
COLUMNS = (DEVICE, STATUS, TIME, "times", "seconds", "reason", "code", "timestamp", "kernel")


#: Cells repeat.
_label_of = lru_cache(maxsize=1024)(partial(typed, Label))


@dataclass(frozen=True)
class Meaning:
    """The columns that hold sizes and milliseconds, where options say it."""

    sizes: tuple[str, ...] = ()
    time: str = TIME


def recognises(source: Source) -> bool:
    """Is its first line a list of names with commas between?"""
    head = source.text[:65536].partition("\n")[0]
    return "," in head and not head.lstrip().startswith(("{", "["))


def read(source: Source, meaning: Meaning, *_: object) -> Results:
    """Read the results of a file. Raises CT821."""
    return _Table(source, meaning).results()


@dataclass(frozen=True)
class _Table:
    source: Source
    meaning: Meaning

    def results(self) -> Results:
        rows = self._rows()
        line, head = next(rows, (1, []))
        if not head or len({*head}) < len(head):
            raise self._wrong("its first line does not name columns, each once", line)
        if self.meaning.time not in head:
            hint = "; name the one with milliseconds: --time COLUMN"
            raise self._wrong(f"it has no column `{self.meaning.time}`{hint}", line)
        unknown = next((name for name in self.meaning.sizes if name not in head), None)
        if unknown is not None:
            raise self._wrong(f"it has no column `{unknown}`, which --sizes names", line)
        for name in head:
            self._label(name, line)
        results, kernel = [], ""
        sizes = self.meaning.sizes or tuple(head[: head.index(DEVICE)] if DEVICE in head else ())
        for line, row in rows:
            if len(row) != len(head):
                raise self._wrong(f"it has {len(row)} cells, not {len(head)}", line)
            cells = dict(zip(head, row, strict=True))
            kernel = kernel or cells.get("kernel", "")
            results.append(self._result(cells, sizes, line))
        return Results(tuple(results), kernel)

    def _result(self, cells: Mapping[str, str], sizes: Sequence[str], line: int) -> Result:
        text, seconds = cells[self.meaning.time], cells.get("seconds", "")
        status = self._status(cells.get(STATUS, ""), text, line)
        time = self._number(text, line) if text else None
        if time is None and status is Status.OK:
            raise self._wrong("it is ok, and has no time", line)
        try:
            code = typed(Symbol, cells.get("code", ""))
        except ValueError:
            raise self._wrong("its code is no hash", line) from None
        others = {*COLUMNS, self.meaning.time, *sizes}
        values = {name: cell for name, cell in cells.items() if name not in others and cell}
        return Result(
            configuration={name: self._setting(cell, line) for name, cell in values.items()},
            sizes={name: self._setting(cells[name], line) for name in sizes},
            status=status,
            milliseconds=time if status is Status.OK else None,
            times=tuple(self._number(one, line) for one in cells.get("times", "").split()),
            device=cells.get(DEVICE, ""),
            reason=cells.get("reason", ""),
            code=code,
            seconds=self._number(seconds, line) if seconds else None,
            timestamp=cells.get("timestamp", ""),
        )

    def _status(self, word: str, time: str, line: int) -> Status:
        """The status that a row names; without one, what has no time has failed."""
        if not word:
            return Status.OK if time else Status.RUNTIME
        if word not in [one.value for one in Status]:
            raise self._wrong(f"`{word}` is no status", line)
        return Status(word)

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        try:
            text = self.source.encode().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self.source.location(error.start).line
            raise self._wrong("it is no UTF-8", line) from None
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        try:
            for row in reader:
                if row:
                    yield reader.line_num, row
        except csv.Error as error:
            raise self._wrong(str(error), max(reader.line_num, 1)) from None

    def _number(self, text: str, line: int) -> float:
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0 <= number < 1e30:
            raise self._wrong(f"`{text[:40]}` is no time", line)
        return number

    def _setting(self, text: str, line: int) -> Setting:
        self._label(text, line)
        return read_back(text)

    def _label(self, text: str, line: int) -> None:
        try:
            _label_of(text)
        except ValueError:
            raise self._wrong(f"{text[:40]!r} is no name or value", line) from None

    def _wrong(self, reason: str, line: int) -> CutuneError:
        line = min(line, self.source.line_count)
        start = self.source.line_start(line)
        place = Span(start, start + max(1, len(self.source.line_text(line))))
        return CutuneError.at(Code.BAD_RESULTS, self.source, place, kind=KIND, reason=reason)


def write(results: Results) -> str:
    """Return the text of a table. Raises CT826 where two columns would have one name."""
    names, sizes = results.names, results.size_names
    head = [*sizes, DEVICE, *names, *COLUMNS[1:]]
    twice = next((name for i, name in enumerate(head) if name in head[:i]), None)
    if twice is not None:
        raise not_held(KIND, f"two columns would be called '{twice}'")
    text = io.StringIO(newline="")
    out = csv.DictWriter(text, head, lineterminator="\n")
    out.writeheader()
    for one in results.results:
        cells = {
            DEVICE: one.device,
            STATUS: one.status.value,
            TIME: one.milliseconds,
            "times": " ".join(map(repr, one.times)),
            "seconds": one.seconds,
            "reason": " ".join(one.reason.split()),
            "code": one.code,
            "timestamp": one.timestamp,
            "kernel": results.kernel,
        }
        out.writerow({**one.sizes, **one.configuration, **cells})
    return text.getvalue()

"""Findings of `run --check`: takes the file that the emulated device wrote, gives diagnostics.

The device reports lines of PTX. `.loc` directives in the PTX give the source line, if the program
was compiled with -lineinfo. Findings at the same lines are merged and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated

from cutune.core.codes import ERROR, NOTE, Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.reading import readable_source
from cutune.core.source import Location, Span
from cutune.core.typed import Count, Text, one_of, typed
from cutune.core.workspace import entries_of
from cutune.emulator.launch_log import EntryName, FilePath, LoggedTriple, Triple
from cutune.toolchain.kernel_names import demangled

SCHEMA = "cutune-findings-1"
_HAZARDS = (
    *(Code.OUT_OF_BOUNDS, Code.MISALIGNED, Code.USE_AFTER_FREE, Code.UNWRITTEN_SHARED),
    *(Code.UNWRITTEN_GLOBAL, Code.SHARED_RACE, Code.GLOBAL_RACE, Code.DIVERGED_RACE),
    *(Code.BLOCK_RACE, Code.BARRIER_DIVERGENCE, Code.EXITED_AT_BARRIER),
)
#: Hazards as the device names them.
_CODES = {code.name.lower(): code for code in _HAZARDS} | {"same_value": Code.SAME_VALUE_RACE}
_SEVERITIES = {ERROR: 0, "warning": 1, NOTE: 2}
_FILE = re.compile(r'\s*\.file\s+(\d+)\s+"([^"]*)"')
_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")
# Headers of the toolkit: the place of the call is reported instead.
_HEADERS = re.compile(
    r"/targets/[^/]+/include/|/include/(?:crt|cooperative_groups|cuda|cub|thrust|sm_)"
)


@dataclass(frozen=True)
class Party:
    """A thread of a block, and its access: load, store or atomic (empty for barriers).

    `place`: in the source, or in the PTX where that names no source line (column 0 then).
    """

    place: Location
    block: Triple
    thread: Triple
    access: str

    def to_json(self) -> dict[str, object]:
        place = {"file": self.place.path, "line": self.place.line, "column": self.place.column}
        return {**place, "block": self.block, "thread": self.thread, "access": self.access}

    def __str__(self) -> str:
        return f"block {self.block}, thread {self.thread}"


@dataclass(frozen=True)
class Finding:
    """A hazard at one line or between two. The parties are those of the first occurrence."""

    code: Code
    kernel: str
    first: Party
    other: Party | None
    text: str
    count: int

    @property
    def counts(self) -> bool:
        return self.code.severity != NOTE

    def diagnostic(self) -> Diagnostic:
        times = "once" if self.count == 1 else f"{self.count} times"
        where = f"kernel '{self.kernel}', {self.first}, {times}"
        other = self.other or self.first
        message = self.code.template.format(
            access=self.first.access, other=other.access, text=self.text, where=where
        )
        notes = []
        if self.other is not None:
            note = Code.OTHER_PARTY.template.format(party=self.other)
            notes.append(_placed(Code.OTHER_PARTY, note, self.other.place))
        return replace(_placed(self.code, message, self.first.place), notes=tuple(notes))

    def to_json(self) -> dict[str, object]:
        parties = [party.to_json() for party in (self.first, self.other) if party is not None]
        kind = {"code": self.code.number, "severity": self.code.severity, "kernel": self.kernel}
        return {**kind, "count": self.count, "detail": self.text, "parties": parties}


def read_findings(path: Path) -> tuple[Finding, ...]:
    """Findings merged by their lines: errors first, then in the order of their occurrence."""
    merged: dict[tuple[object, ...], Finding] = {}
    for finding in _all(path):
        places = (finding.first.place, finding.other.place if finding.other else None)
        # A race has no direction: either access may be the later one.
        key = (finding.code, finding.kernel, frozenset(place and place[:2] for place in places))
        known = merged.get(key)
        count = finding.count + (known.count if known else 0)
        merged[key] = replace(known or finding, count=count)
    names = list(dict.fromkeys(finding.kernel for finding in merged.values()))
    written = dict(zip(names, demangled(names), strict=True))
    renamed = [replace(finding, kernel=written[finding.kernel]) for finding in merged.values()]
    return tuple(sorted(renamed, key=lambda finding: _SEVERITIES[finding.code.severity]))


def counted(findings: Iterable[Finding], shown: int) -> str:
    """The summary line: numbers of findings, and how many are not shown."""
    findings = list(findings)
    numbers = {name: sum(f.code.severity == name for f in findings) for name in _SEVERITIES}
    words = [f"{n} {name}{'' if n == 1 else 's'}" for name, n in numbers.items() if n]
    hidden = len(findings) - shown
    more = f", {hidden} not shown (--findings {len(findings)} shows all)" if hidden > 0 else ""
    return f"check: {', '.join(words) or 'nothing found'}{more}"


def _all(path: Path) -> Iterator[Finding]:
    for entry in entries_of(path, SCHEMA):
        with suppress(ValueError):
            launch = typed(_Checked, entry)
            yield from (one.finding(launch) for one in launch.findings)


@dataclass(frozen=True)
class _Found:
    """A hazard as the device writes it; without `other_line` it has one party."""

    hazard: Annotated[str, one_of(*_CODES)]
    text: Text
    count: Count
    line: Count
    block: LoggedTriple
    thread: LoggedTriple
    access: Text
    other_line: Count | None = None
    other_block: LoggedTriple = (0, 0, 0)
    other_thread: LoggedTriple = (0, 0, 0)
    other_access: Text = ""

    def finding(self, launch: _Checked) -> Finding:
        first = _party(launch.module, self.line, self.block, self.thread, self.access)
        other = None
        if self.other_line is not None:
            party = (self.other_block, self.other_thread, self.other_access)
            other = _party(launch.module, self.other_line, *party)
        code = _CODES[self.hazard]
        return Finding(code, launch.kernel, first, other, self.text, self.count)


@dataclass(frozen=True)
class _Checked:
    kernel: EntryName
    module: FilePath
    findings: tuple[_Found, ...]


def _party(module: str, line: int, block: Triple, thread: Triple, access: str) -> Party:
    place = _places(module).get(line)
    return Party(place or Location(module, line, 0), block, thread, access)


@cache
def _places(module: str) -> dict[int, Location]:
    """The source location of each line of a PTX file that has one."""
    try:
        lines = Path(module).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    files = {m.group(1): m.group(2) for line in lines if (m := _FILE.match(line))}
    places: dict[int, Location] = {}
    now: Location | None = None
    for number, line in enumerate(lines, 1):
        if (match := _LOC.match(line)) is not None:
            now = _source_place(match, files)
        elif line.startswith(("}", "{")):
            now = None
        elif now is not None:
            places[number] = now
    return places


def _source_place(match: re.Match[str], files: dict[str, str]) -> Location | None:
    file, line, column, *caller = match.groups()
    if caller[0] and _HEADERS.search(files.get(file, "")):
        file, line, column = caller
    if file not in files or line == "0":
        return None
    return Location(files[file], int(line), int(column))


_source = cache(readable_source)


def _placed(code: Code, message: str, place: Location) -> Diagnostic:
    source = _source(place.path)
    if source is None or not 0 < place.line <= source.line_count:
        return Diagnostic(code, f"{place.path}:{place.line}: {message}")
    # Shown as it was given to the compiler; PTX counts columns from 1, 0 is the whole line.
    line = source.line_text(place.line)
    column = min(max(place.column - 1, 0), len(line))
    if place.column == 0:
        column = len(line) - len(line.lstrip())
    start = source.line_start(place.line) + column
    word = re.match(r"\w+", line[column:])
    return Diagnostic(code, message, source, Span(start, start + (word.end() if word else 1)))

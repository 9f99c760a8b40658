"""Lines of sources in PTX. Takes PTX with `.loc`, gives the line that each line came from."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from cutune.toolchain.built_code import OF_LINES


class SourceLine(NamedTuple):
    """A line of a file, and the call that it was put in the place of; None where it was not."""

    file: str
    line: int
    call: SourceLine | None = None


Locate = Callable[[int], SourceLine | None]
"""Gives the line of a source from which a line of PTX came."""

_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d+)[ \t]+"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_PLACE = r"(\d+) (\d+) (\d+)"
_LOC = re.compile(rf"^[ \t]*\.loc[ \t]+{_PLACE}(?:.*\binlined_at {_PLACE})?", re.MULTILINE)
_Place = tuple[str, str, str]
#: Functions within functions that are followed to the call in the kernel.
_DEEPEST = 16


def source_lines(lined: str) -> dict[int, SourceLine]:
    """By the line of the PTX without `.loc`, counted from 1."""
    files = dict(_FILE.findall(lined))
    calls: dict[_Place, _Place] = {}

    def resolved(place: _Place, depth: int = 0) -> SourceLine:
        call = calls.get(place) if depth < _DEEPEST else None
        outer = resolved(call, depth + 1) if call is not None else None
        return SourceLine(files.get(place[0], ""), int(place[1]), outer)

    found: dict[int, SourceLine] = {}
    number, end, place = 0, 0, None
    for removed in OF_LINES.finditer(lined):
        before, number = number, number + lined.count("\n", end, removed.start())
        if place is not None:
            found |= dict.fromkeys(range(before + 1, number + 1), place)
        end = removed.end()
        if (match := _LOC.match(removed[0])) is not None:
            if match[4] is not None:
                # Of the calls of a function the one that was put here last is meant.
                calls[match[1], match[2], match[3]] = match[4], match[5], match[6]
            place = resolved((match[1], match[2], match[3]))
    return found


def located(lined: Callable[[], str | None]) -> Locate:
    """Asks for the PTX with `.loc` when the first place is wanted."""

    @cache
    def lines() -> dict[int, SourceLine]:
        return source_lines(lined() or "")

    return lambda line: lines().get(line)

"""Source text, places in it and edits of it; offsets are byte offsets.

All edits refer to the original text and are applied once, at the end.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple


class Span(NamedTuple):
    """Half-open range of byte offsets."""

    start: int
    end: int


class Location(NamedTuple):
    """A place as compilers print it: line and column count from 1."""

    path: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Source:
    """One file. The text is decoded as latin-1, so that an index into it is a byte offset."""

    path: str
    text: str

    def encode(self) -> bytes:
        """The bytes of the file."""
        return self.text.encode("latin-1")

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(i + 1 for i, character in enumerate(self.text) if character == "\n")]

    def location(self, offset: int) -> Location:
        """Where a byte offset lies."""
        line = bisect_right(self._line_starts, offset)
        return Location(self.path, line, offset - self._line_starts[line - 1] + 1)

    def line_start(self, line: int) -> int:
        """The offset at which a line (from 1) begins."""
        return self._line_starts[line - 1]

    @property
    def line_count(self) -> int:
        """The number of lines, including an empty one after the last line break."""
        return len(self._line_starts)

    def line_text(self, line: int) -> str:
        """The text of a line (from 1), without its end."""
        start = self._line_starts[line - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")

    def __getitem__(self, span: Span) -> str:
        return self.text[span.start : span.end]

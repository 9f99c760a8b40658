"""Source text, places in it and edits of it; offsets are byte offsets.

All edits refer to the original text and are applied once, at the end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
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
    """One file. The text is decoded as latin-1, so that an index into it is a byte offset.

    `written`: the text in the user's spelling, which is as long, and another one at `respelled`;
    empty: it is that.
    """

    path: str
    text: str
    written: str = ""
    respelled: tuple[Span, ...] = ()

    def encode(self) -> bytes:
        return self.text.encode("latin-1")

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(i + 1 for i, character in enumerate(self.text) if character == "\n")]

    def location(self, offset: int) -> Location:
        line = bisect_right(self._line_starts, offset)
        return Location(self.path, line, offset - self._line_starts[line - 1] + 1)

    def line_start(self, line: int) -> int:
        return self._line_starts[line - 1]

    @property
    def line_count(self) -> int:
        return len(self._line_starts)

    def line_text(self, line: int) -> str:
        start = self._line_starts[line - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")

    def behind_word(self, offset: int) -> int:
        """The offset in the user's spelling: no word of it is divided."""
        at = bisect_right(self.respelled, offset, key=itemgetter(0)) - 1
        is_within = at >= 0 and self.respelled[at].start < offset < self.respelled[at].end
        return self.respelled[at].end if is_within else offset

    def __getitem__(self, span: Span) -> str:
        return self.text[span.start : span.end]


class EditConflict(ValueError):
    """Two edits change the same bytes, so their order would matter."""

    def __init__(self, first: Edit, second: Edit) -> None:
        super().__init__(f"edits {first} and {second} overlap")
        self.first, self.second = first, second


@dataclass(frozen=True, order=True)
class Edit:
    """Replace the bytes of `span` by `text`; an empty span inserts."""

    span: Span
    text: str

    @staticmethod
    def insert(offset: int, text: str) -> Edit:
        return Edit(Span(offset, offset), text)


def apply_edits(source: Source, edits: Iterable[Edit]) -> Source:
    """Return the edited source, whatever the order of the edits. Raises EditConflict."""
    pieces: list[str] = []
    position, text = 0, source.written or source.text
    previous: Edit | None = None
    for edit in sorted(set(edits)):
        if previous is not None and conflict(previous, edit):
            raise EditConflict(previous, edit)
        pieces += [text[position : source.behind_word(edit.span.start)], edit.text]
        position = source.behind_word(edit.span.end)
        previous = edit
    pieces.append(text[position:])
    return Source(source.path, "".join(pieces))


def conflict(first: Edit, second: Edit) -> bool:
    """Do two different edits, in sorted order, depend on each other's order?"""
    return second.span.start < first.span.end or first.span == second.span

"""Edits of a source text. All refer to the original text and are applied once, at the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cutune.core.source import Source, Span


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
        """Return an insertion before the byte at `offset`."""
        return Edit(Span(offset, offset), text)


def apply_edits(source: Source, edits: Iterable[Edit]) -> Source:
    """Return the edited source. The order in which edits are given does not matter.

    Raises:
        EditConflict: two edits overlap or insert different text at one offset.
    """
    pieces: list[str] = []
    position = 0
    previous: Edit | None = None
    for edit in sorted(set(edits)):
        if previous is not None and conflict(previous, edit):
            raise EditConflict(previous, edit)
        pieces += [source.text[position : edit.span.start], edit.text]
        position = edit.span.end
        previous = edit
    pieces.append(source.text[position:])
    return Source(source.path, "".join(pieces))


def conflict(first: Edit, second: Edit) -> bool:
    """Do two different edits, in sorted order, depend on each other's order?"""
    return second.span.start < first.span.end or first.span == second.span

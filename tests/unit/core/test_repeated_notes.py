"""A note that several messages have is shown with the first."""

from __future__ import annotations

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.source import Source, Span

SOURCE = Source("app.cu", "tile<<<1, 32>>>(a);\ntile<<<2, 32>>>(a);\n")


def test_a_note_of_several_messages_is_left_with_the_first() -> None:
    note = Diagnostic.at(Code.NEVER_LAUNCHED, SOURCE, Span(0, 4), kernel="tile")
    other = Diagnostic.at(Code.NEVER_LAUNCHED, SOURCE, Span(20, 24), kernel="tile")
    launches = [
        Diagnostic.at(Code.NEVER_LAUNCHED, SOURCE, Span(at, at + 4), kernel="tile", notes=notes)
        for at, notes in ((0, (note,)), (20, (note, other)), (20, (other,)))
    ]
    found = list(Diagnostic.with_notes_once(launches))
    assert [one.span for one in found] == [one.span for one in launches]
    assert [one.notes for one in found] == [(note,), (other,), ()]

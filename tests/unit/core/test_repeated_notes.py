"""A note that several messages have is shown with the first, and a message once."""

from __future__ import annotations

import pytest

from cutune.cli.main import parse
from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.progress import Reporter
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


def test_a_verb_says_a_message_once(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (
        Diagnostic.at(Code.NEVER_LAUNCHED, SOURCE, Span(at, at + 4), kernel="tile")
        for at in (0, 20)
    )
    options = parse(["inspect", "app.cu"])
    reporter, remembered = Reporter(options.say).remembering()
    for diagnostic in (first, second, first):
        reporter.warn(diagnostic)
    options.say(second)
    assert capsys.readouterr().err.splitlines() == [
        line for one in (first, second) for line in one.render().splitlines()
    ]
    assert remembered == [first, second]

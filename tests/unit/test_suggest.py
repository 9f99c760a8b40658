"""Suggestions: an annotation that is inserted does what was promised."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.analysis.analyze import analyze
from cutune.analysis.suggestions import suggestions
from cutune.cli.report.suggestions import print_suggestions, suggestions_to_json
from cutune.core.reading import read_source
from cutune.core.source import Source
from cutune.frontend.program import Program
from cutune.frontend.syntax.parse import parse

GOLDEN = Path(__file__).parents[1] / "golden"


def program(text: str) -> Program:
    return analyze(parse(Source("a.cu", text)))


def test_inserted_annotations_make_the_launches_tunable() -> None:
    for path in sorted(GOLDEN.glob("*/impure.cu")) + sorted(GOLDEN.glob("suggest/*.cu")):
        text = read_source(path).text
        found = program(text)
        wanted = [s for s in suggestions(found) if s.pragma is not None]
        lines = text.split("\n")
        for suggestion in sorted(wanted, key=lambda s: -s.line):
            assert suggestion.pragma is not None
            lines.insert(suggestion.line - 1, suggestion.pragma)
        annotated = program("\n".join(lines))
        gained = len(annotated.tunable_launches) - len(found.tunable_launches)
        assert gained == sum(len(suggestion.launches) for suggestion in wanted)
        assert all(s.pragma is None for s in suggestions(annotated))


def test_every_refused_launch_is_spoken_of() -> None:
    for path in sorted((GOLDEN / "inspect").glob("*.cu")):
        found = program(read_source(path).text)
        lines = [line for suggestion in suggestions(found) for line in suggestion.launches]
        assert len(lines) == len(found.launches) - len(found.tunable_launches)


def test_json() -> None:
    text = read_source(GOLDEN / "suggest" / "refused.cu").text
    first = suggestions_to_json([program(text)])[0]
    assert first["line"] == 2 and first["code"] == "CT211" and first["pragma"]


def test_places_are_printed_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    # `:100:` has a meaning to the library that prints.
    text = read_source(GOLDEN / "suggest" / "refused.cu").text
    print_suggestions([program("\n" * 98 + text)])
    assert "a.cu:100: " in capsys.readouterr().out

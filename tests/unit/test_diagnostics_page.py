"""The reference of diagnostics is the one that the table of codes gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.core.codes import WARNING, Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.reference import MEANINGS, REMEDIES, diagnostics_page, refused_page
from cutune.core.source import Source, Span

PAGE = Path(__file__).parents[2] / "docs" / "diagnostics.md"
REFUSED = PAGE.parent / "guide" / "refused.md"


def test_every_code_is_explained() -> None:
    assert [code.name for code in Code if code not in MEANINGS] == []


def test_numbers_are_used_once() -> None:
    assert len({code.number for code in Code}) == len(Code)


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == diagnostics_page(), "run: make reference"


def test_what_to_do_about_a_launch_is_up_to_date() -> None:
    page = REFUSED.read_text(encoding="utf-8")
    assert page == refused_page(page), "run: make reference"


def test_every_reason_of_a_launch_that_stays_has_a_remedy() -> None:
    said = [code for codes in REMEDIES.values() for code in codes]
    assert len({*said}) == len(said)
    assert [code.name for code in Code if stays(code) and code not in said] == []


def stays(code: Code) -> bool:
    """Does a launch stay as it is because of it?"""
    hundred, text = code.value[0] // 100, code.template
    if code.severity != WARNING or text.startswith(
        ("pragma ignored", "region ignored", "'repeat' ignored")
    ):
        return False
    return hundred == 2 or "stays as it is" in text or "stay as they are" in text


def test_carets_stand_below_characters_though_columns_count_bytes() -> None:
    text = "\tä = é文(1);".encode().decode("latin-1")
    start = len("\tä = ".encode())
    found = Diagnostic.at(Code.HOST_ONLY, Source("a.cu", text), Span(start, start + 5))
    assert found.render().splitlines() == [
        f"a.cu:1:{start + 1}: note: {found.message} [CT104]",
        "    1 | \tä = é文(1);",
        "      | \t    ^~",
    ]


@pytest.mark.parametrize("letter", ["x", "\xc3\xa9"])
def test_long_lines_are_shown_around_the_place(letter: str) -> None:
    text = letter * 300 + "launch" + "y" * 300 + "\n"
    start = text.index("launch")
    found = Diagnostic.at(Code.IGNORED, Source("a.cu", text), Span(start, start + 6))
    _, line, carets = found.render().splitlines()
    assert line.startswith("    1 | ... ") and len(line) < 180
    assert carets.index("^") == line.index("launch") and carets.endswith("^~~~~~")

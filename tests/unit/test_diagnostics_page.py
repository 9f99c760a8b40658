"""The reference of diagnostics is the one that the table of codes gives."""

from __future__ import annotations

from pathlib import Path

from cutune.diagnostics import Code
from cutune.diagnostics_page import MEANINGS, diagnostics_page

PAGE = Path(__file__).parents[2] / "docs" / "diagnostics.md"


def test_every_code_is_explained() -> None:
    assert [code.name for code in Code if code not in MEANINGS] == []


def test_numbers_are_used_once() -> None:
    assert len({code.number for code in Code}) == len(Code)


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == diagnostics_page(), "run: make reference"

"""The pages that quote messages quote them as the table of codes has them, and explain all."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cutune.core.codes import WARNING, Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.source import Source, Span

PAGE = Path(__file__).parents[3] / "docs" / "diagnostics.md"
REFUSED = PAGE.parent / "guide" / "refused.md"
#: A message with what it means: on the page of all, and on that of launches which stay.
SECTION = re.compile(r"^### (CT\d{3})\n\n.*\n\n.*\n", re.MULTILINE)
REASON = re.compile(r"^\*\*\[(CT\d{3})\]\S+ .*\n\n.*\n", re.MULTILINE)
CODES = {code.number: code for code in Code}


def test_every_code_is_explained_once_in_order() -> None:
    assert SECTION.findall(PAGE.read_text(encoding="utf-8")) == sorted(CODES)


def test_numbers_are_used_once() -> None:
    assert len(CODES) == len(Code)


def test_the_page_is_up_to_date(update_golden: bool) -> None:
    compare(PAGE, SECTION, lambda found: CODES[found[1]].section("###"), update_golden)


def test_what_to_do_about_a_launch_is_up_to_date(update_golden: bool) -> None:
    compare(REFUSED, REASON, lambda found: reason(found[1]), update_golden)


def compare(
    page: Path, part: re.Pattern[str], current: Callable[[re.Match[str]], str], is_written: bool
) -> None:
    text = page.read_text(encoding="utf-8")
    if is_written:
        page.write_text(part.sub(current, text), encoding="utf-8")
    else:
        assert part.sub(current, text) == text, "run: make reference"


def reason(number: str) -> str:
    section = CODES[number].section("###").partition(": ")[2]
    return f"**[{number}](../diagnostics.md#{number.lower()})** {section}"


def test_every_reason_of_a_launch_that_stays_has_a_remedy() -> None:
    said = REASON.findall(REFUSED.read_text(encoding="utf-8"))
    assert len({*said}) == len(said)
    assert [code.name for code in Code if stays(code) and code.number not in said] == []


def stays(code: Code) -> bool:
    """Does a launch stay as it is because of it?"""
    text = code.template
    if code.severity != WARNING or text.startswith(
        ("pragma ignored", "region ignored", "'repeat' ignored")
    ):
        return False
    is_of_a_launch = code.number.startswith("CT2")
    return is_of_a_launch or "stays as it is" in text or "stay as they are" in text


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

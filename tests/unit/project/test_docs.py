"""What the documents show: command lines that cutune takes, links and paths that lead somewhere."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from cutune.cli.main import parse
from cutune.cli.options import parser
from cutune.cli.parser import STATUSES
from cutune.emulator.lower.dispatch import _LOWERINGS
from cutune.emulator.lower.opcodes import handlers
from cutune.ptx.types import HINTS
from tests.support import guide_commands

ROOT = Path(__file__).parents[3]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


VERBS = sorted((ROOT / "docs/verbs").glob("*.md"))


def command_lines(page: Path) -> Iterator[list[str]]:
    """The words of each command of cutune that a page shows, wherever it stands in a line."""
    for block in guide_commands.blocks(page):
        for command in guide_commands.commands(block.text) if block.kind == "console" else ():
            lexer = shlex.shlex(command.line, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            for of_shell, part in groupby(lexer, lambda word: {*word} <= {*"|&;<>"}):
                words = [] if of_shell else list(part)
                while words and re.match(r"[A-Z_]+=", words[0]):
                    del words[0]
                if words[:1] == ["cutune"]:
                    yield words[1:]


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_shown_command_lines_are_taken(page: Path) -> None:
    """A wrong verb or option ends the process, which pytest reports."""
    for words in command_lines(page):
        assert words[0] == "nvcc" or parse(words).verb == words[0]


@pytest.mark.parametrize("page", VERBS, ids=page_id)
def test_a_verb_is_shown_on_its_page_or_in_the_quick_start(page: Path) -> None:
    pages = (
        [page] if "](../index.md" not in page.read_text() else [page, guide_commands.QUICK_START]
    )
    assert page.stem in {words[0] for one in pages for words in command_lines(one)}


def test_every_verb_has_a_page() -> None:
    (verbs,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    assert {*verbs.choices} == {page.stem for page in VERBS}


def test_every_page_is_in_the_navigation() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r"([\w/-]+\.md)$", text, re.MULTILINE)
    there = [str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]]
    assert sorted(listed) == sorted(there)


def test_the_readme_stays_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 135


def test_instructions_that_the_guide_lists_are_lowered() -> None:
    """And those with a lowering of their own are all listed; hints do nothing."""
    page = (ROOT / "docs/guide/supported.md").read_text(encoding="utf-8")
    section = page.partition("### PTX instructions")[2].partition("An instruction that is not")[0]
    listed = {*re.findall(r"`(\w+)`", section)} - {"exit", "ret"}
    plain = {name.split("_")[0] for name in handlers()}
    assert listed - plain <= {*_LOWERINGS} - HINTS <= listed


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_named_files_are_there(page: Path) -> None:
    """Files of the repository that a page names by their path from its top."""
    named = re.findall(
        r"`((?:cutune|tests|benchmarks|samples|grammars|docs)/[\w./]+)`",
        page.read_text(encoding="utf-8"),
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_make_targets_that_the_readme_names() -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    named = re.findall(r"(?:`|\$ )make ([a-z]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert {"demo", "test"} <= {*named} <= {*targets}


def test_statuses_are_those_of_the_tool() -> None:
    page = (ROOT / "docs/guide/ci.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", page, re.MULTILINE)
    assert rows == [(str(status), meaning) for status, meaning in STATUSES]


def test_variables_that_the_guide_names_are_stable() -> None:
    named, guide = re.compile(r"\bCUTUNE_[A-Z_]+"), ROOT / "docs/guide"
    stable = {*named.findall((guide / "versions.md").read_text(encoding="utf-8"))}
    pages = (page.read_text(encoding="utf-8") for page in guide.glob("*.md"))
    assert {*named.findall("\n".join(pages))} == stable
    code = "\n".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "cutune").rglob("*")
        if path.suffix in (".py", ".h", ".cpp")
    )
    assert stable <= {*named.findall(code)}

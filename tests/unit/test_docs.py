"""What the documents show: command lines that cutune takes, links and paths that lead somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cutune.cli.options import parse

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
SHOWN = (ROOT / "README.md", ROOT / "docs/guide.md")


def command_lines(page: Path) -> list[str]:
    """Commands of the console blocks: joined where they go on, without the words before cutune."""
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    found = (re.match(r"\$ (?:\w+=\w+ )?cutune (.*)", line) for line in lines)
    return [line[1] for line in found if line]


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.name)
def test_shown_command_lines_are_taken(page: Path) -> None:
    """A wrong verb or option ends the process, which pytest reports."""
    verbs = {parse(shlex.split(line, comments=True)).verb for line in command_lines(page)}
    assert {"tune", "verify", "shake", "select"} <= verbs


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_are_there(page: Path) -> None:
    """Files of the repository that a page names by their path from its top."""
    named = re.findall(
        r"`((?:cutune|tests|benchmarks|samples|docs)/[\w./]+)`", page.read_text(encoding="utf-8")
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_make_targets_that_the_readme_names() -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    named = re.findall(r"(?:`|\$ )make ([a-z]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert {"demo", "test"} <= {*named} <= {*targets}

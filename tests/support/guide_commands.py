"""The pages of the user guide as programs: files that they show, commands, and what those print.

A block with a title is a file. In a console block a line that begins with `$` is a command, the
others are what it prints, in order, where … stands for anything. `<!-- only parsed: REASON -->`
before a block says that its commands need what not every machine has.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.forked_cutune import run_loaded

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
QUICK_START = DOCS / "index.md"
OTHERS = (*sorted((DOCS / "verbs").glob("*.md")), *sorted((DOCS / "guide").glob("*.md")))
ANYTHING = "…"
_BLOCK = re.compile(
    r"^(?:<!-- only parsed: (?P<why>.+) -->\n)?"
    r"```(?P<kind>\S+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_SET = re.compile(r"[A-Z_]+=")


@dataclass(frozen=True)
class Command:
    """A command line, and the lines behind it."""

    line: str
    prints: tuple[str, ...]

    def missing(self, printed: str) -> str | None:
        """The first line that is not printed, in this order."""
        lines = iter([line.rstrip() for line in printed.splitlines()])
        for wanted in self.prints:
            pattern = ".*".join(map(re.escape, wanted.split(ANYTHING)))
            if not any(re.fullmatch(pattern, line) for line in lines):
                return wanted
        return None

    @property
    def is_plain(self) -> bool:
        """Is it the tool alone, without a shell's help?"""
        words = [w for w in shlex.split(self.line, comments=True) if not _SET.match(w)]
        return words[0] == "cutune" and words[1] != "nvcc" and not re.search(r"[|;&<>]", self.line)


@dataclass(frozen=True)
class Block:
    """A block of a page. `why`: why it is not run."""

    kind: str
    title: str | None
    text: str
    why: str | None


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, in order."""
    for found in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield Block(found["kind"], found["title"], found["text"], found["why"])


def commands(text: str) -> Iterator[Command]:
    """The commands of a console block; one goes on behind a backslash."""
    parts = re.split(r"^\$ ", text.replace("\\\n", " "), flags=re.MULTILINE)
    for part in parts[1:]:
        line, *prints = part.splitlines()
        yield Command(line, tuple(filter(lambda x: x and x != ANYTHING, map(str.rstrip, prints))))


def run_page(page: Path, folder: Path) -> None:
    """Do in a folder what a page shows.

    Raises:
        AssertionError: a command fails, or does not print what the page says.
    """
    for block in blocks(page):
        if block.title is not None:
            (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.title).write_text(block.text, encoding="utf-8")
        elif block.why is None and block.kind == "console":
            for command in commands(block.text):
                status, printed = run(command, folder)
                said = f"{page.name}: $ {command.line}\n{printed}"
                assert status == 0, said
                assert command.missing(printed) is None, f"{command.missing(printed)!r}\n{said}"
        elif block.why is None and block.kind == "python":
            status, printed = _shell(f"{sys.executable} -c {shlex.quote(block.text)}", folder)
            assert status == 0, f"{page.name}: {block.text}\n{printed}"


def run(command: Command, folder: Path) -> tuple[int, str]:
    """Its status, and what it prints."""
    return _quickly(command, folder) if command.is_plain else _shell(command.line, folder)


def _shell(line: str, folder: Path) -> tuple[int, str]:
    tools = folder / ".tools"
    tools.mkdir(exist_ok=True)
    tool = tools / "cutune"
    tool.write_text(f'#!/bin/sh\nexec {sys.executable} -m cutune "$@"\n')
    tool.chmod(0o755)
    # A `make` that runs the tests is none of the reader's: theirs would print as its part.
    environment = {
        **{name: value for name, value in os.environ.items() if "MAKE" not in name},
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "COLUMNS": "200",
    }
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def _quickly(command: Command, folder: Path) -> tuple[int, str]:
    words = shlex.split(command.line, comments=True)
    variables = {**os.environ, "COLUMNS": "200"}
    while _SET.match(words[0]):
        name, _, variables[name] = words.pop(0).partition("=")
    printed = folder / ".printed"
    printed.unlink(missing_ok=True)
    status = run_loaded(words[1:], folder, printed, printed, variables)
    return status, printed.read_text(encoding="utf-8")

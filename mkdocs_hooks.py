"""What mkdocs adds to pages: tables of options from the parser, and files of the repository."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from cutune.cli.options import parser
from cutune.cli.usage.parser import help_of, name_of

ROOT = Path(__file__).parent


def on_page_markdown(markdown: str, **_: object) -> str:
    """`<!-- options: VERB -->` becomes a table, `<!-- file: PATH -->` the file's text."""
    markdown = re.sub(r"<!-- options: (\w+) -->", lambda found: options(found[1]), markdown)
    return re.sub(r"<!-- file: (\S+) -->", lambda found: text_of(found[1]), markdown)


def options(verb: str) -> str:
    """Each option of a verb, with what `--help` says of it."""
    rows = ["## Options", "", "| option | |", "|---|---|"]
    for action in parser().verbs()[verb].actions:
        if not isinstance(action, argparse._HelpAction):
            rows.append(f"| `{_cell(name_of(action))}` | {_cell(help_of(action))} |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def text_of(path: str) -> str:
    """A file, as a block."""
    return f"```text\n{(ROOT / path).read_text(encoding='utf-8').rstrip()}\n```"

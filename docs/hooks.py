"""What mkdocs adds to pages: tables of options from the parser, and files of the repository."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from cutune.cli.options import parser

ROOT = Path(__file__).parents[1]


def on_page_markdown(markdown: str, **_: object) -> str:
    """`<!-- options: VERB -->` becomes a table, `<!-- file: PATH -->` the file's text."""
    markdown = re.sub(r"<!-- options: (\w+) -->", lambda found: options(found[1]), markdown)
    return re.sub(r"<!-- file: (\S+) -->", lambda found: text_of(found[1]), markdown)


def options(verb: str) -> str:
    """Each option of a verb, with what `--help` says of it."""
    (verbs,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    rows = ["## Options", "", "| option | |", "|---|---|"]
    for action in verbs.choices[verb]._actions:
        if not isinstance(action, argparse._HelpAction):
            rows.append(f"| `{_name(action)}` | {_cell(_help(action))} |")
    return "\n".join(rows)


def _name(action: argparse.Action) -> str:
    value = action.metavar or action.dest
    if action.choices is not None:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    words = ", ".join(action.option_strings) or str(value)
    takes_value = action.option_strings and action.nargs != 0
    return _cell(f"{words} {value}" if takes_value else words)


def _help(action: argparse.Action) -> str:
    return (action.help or "as for nvcc") % {**vars(action), "prog": "cutune"}


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def text_of(path: str) -> str:
    """A file, as a block."""
    return f"```text\n{(ROOT / path).read_text(encoding='utf-8').rstrip()}\n```"

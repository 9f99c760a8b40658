"""The manual page. Takes the parser, gives roff for `man`."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator

from cutune import __version__
from cutune.cli.usage.parser import Parser, help_of, name_of
from cutune.cli.usage.verbs import STATUSES, VERBS


def manual_page(whole: Parser) -> str:
    """cutune(1)."""
    return "\n".join(_lines(whole)) + "\n"


def _lines(whole: Parser) -> Iterator[str]:
    yield f'.TH CUTUNE 1 "" "cutune {__version__}" "User Commands"'
    yield ".SH NAME"
    yield f"cutune \\- {_roff(str(whole.description).rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield ".B cutune\n.I VERB\n[options] [words]"
    yield ".SH VERBS"
    yield "Verbs that compile take the options of nvcc as they are."
    for verb in VERBS:
        parser = whole.verbs()[verb.name]
        yield f".SS {_roff(parser.short_usage())}"
        yield _roff(textwrap.dedent(parser.description or ""))
        for action in parser.actions:
            if not isinstance(action, argparse._HelpAction):
                yield f".TP\n.B {_roff(name_of(action))}\n{_roff(help_of(action))}"
    yield ".SH EXIT STATUS"
    for status, meaning in STATUSES:
        yield f".TP\n.B {status}\n{_roff(meaning)}"
    yield ".SH SEE ALSO"
    yield "cutune help shows the pages of the guide, and what each message means."


def _roff(text: str) -> str:
    """Escape backslashes, hyphens, and a dot or quote that begins a line."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("%%", "%")
    return "\n".join(
        f"\\&{line}" if line[:1] in (".", "'") else line for line in escaped.split("\n")
    )

"""The one table of verbs, and a parser whose errors are diagnostics and whose help has an example.

The table feeds the parser, help, completion, the manual page and the dispatch.
"""

from __future__ import annotations

import argparse
import sys
from itertools import groupby
from textwrap import fill, wrap
from typing import Any, NoReturn

from cutune.cli.usage.verbs import VERBS, Verb
from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic

#: The status for wrong usage.
WRONG_USAGE = 2
#: Columns of a terminal that is not wider than usual.
WIDTH = 80
_MANY = {"+": "{} ...", "*": "[{} ...]", "?": "[{}]", argparse.REMAINDER: "{}"}


class Parser(argparse.ArgumentParser):
    """Of the command, or of a verb. A usage line does not list options, which follow below it."""

    def __init__(self, *, verb: Verb | None = None, **keywords: Any) -> None:
        if verb is not None:
            about = keywords.pop("description", f"{verb.help[0].upper()}{verb.help[1:]}.")
            keywords["description"] = f"example: {verb.example}\n\n{fill(about, WIDTH)}"
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **keywords)

    def verbs(self) -> dict[str, Parser]:
        """The parsers of the verbs; of a verb none."""
        groups = (a for a in self._actions if isinstance(a, argparse._SubParsersAction))
        return {name: parser for group in groups for name, parser in group.choices.items()}

    @property
    def actions(self) -> list[argparse.Action]:
        """Words and options, in order."""
        return self._actions

    @property
    def options(self) -> dict[str, argparse.Action]:
        """Options by each of their spellings."""
        return self._option_string_actions

    def format_help(self) -> str:
        """Verbs in groups where there are any."""
        if self.usage is None:
            self.usage = self.short_usage()
        return self._verbs_in_groups() if self.verbs() else super().format_help()

    def short_usage(self) -> str:
        """`cutune tune [options] [FILE ...]`."""
        named = [
            _MANY.get(str(action.nargs), "{}").format(action.metavar or action.dest)
            for action in self._get_positional_actions()
        ]
        return " ".join([self.prog, "[options]", *named]).replace("%", "%%")

    def _verbs_in_groups(self) -> str:
        lines = ["usage: cutune VERB …", f"example: {VERBS[1].example}", "", str(self.description)]
        for group, verbs in groupby(VERBS, lambda verb: verb.group):
            lines += ["", f"{group}:"]
            for verb in verbs:
                lines += wrap(
                    verb.help,
                    WIDTH,
                    initial_indent=f"  {verb.name:10}  ",
                    subsequent_indent=" " * 14,
                )
        return "\n".join(lines) + "\n"

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and where to read what is right."""
        verb = self.prog.partition(" ")[2]
        reason = f"{verb}: {message}" if verb else message
        self.fail(Diagnostic.at(Code.WRONG_USAGE, None, reason=reason, help=f"{self.prog} --help"))

    def fail(self, diagnostic: Diagnostic) -> NoReturn:
        """End with a message about the command line."""
        print(diagnostic.render(), file=sys.stderr)
        sys.exit(WRONG_USAGE)


def name_of(action: argparse.Action) -> str:
    """How an option is written: `--on {emulated,gpu}`."""
    value = str(action.metavar or action.dest)
    if action.choices is not None:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    words = ", ".join(action.option_strings) or value
    takes_value = action.option_strings and action.nargs != 0
    return f"{words} {value}" if takes_value else words


def help_of(action: argparse.Action) -> str:
    """The text of an option in `--help`."""
    return (action.help or "") % {**vars(action), "prog": "cutune"}

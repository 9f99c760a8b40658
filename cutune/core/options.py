"""How an option of the command line is written down: one line, for rooms that add options to verbs.

Takes a parser or a group of one, and adds to it. The options themselves: `cutune.cli.options`.
"""

from __future__ import annotations

import argparse
from typing import Any


def add_option(group: argparse._ActionsContainer, written: str, text: str, **about: Any) -> None:
    """Add an option as it is written, `-o --output FILE`; one without a value is a flag.

    A number that is the default says what type the value has.
    """
    *names, last = written.split(" ")
    if not last.startswith("-"):
        about["metavar"] = last
    else:
        names.append(last)
        about |= {} if "choices" in about else {"action": "store_true"}
    if isinstance(about.get("default"), int | float):
        about["type"] = type(about["default"])
    group.add_argument(*names, help=text, **about)


def add_list(group: argparse._ActionsContainer, *names: str, **about: Any) -> None:
    """Add an option whose value is a list, empty without it, to a parser or a group of one."""
    group.add_argument(*names, action="append", default=[], **about)


def add_status(verb: argparse._ActionsContainer) -> None:
    """Add `--status`: the exit statuses with which a program may end."""
    text = "exit statuses of a program that does its work (default: 0)"
    verb.add_argument("--status", default="0", metavar="N,M|any", help=text)

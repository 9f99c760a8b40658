"""Options of `inspect`, `instrument`, `verify`, `shake`, `convert` and `bat`. Takes parsers."""

from __future__ import annotations

import argparse

from cutune.core.options import add_list


def add_json(verb: argparse._ActionsContainer) -> None:
    """`--json`: docs/json.md has the documents."""
    verb.add_argument("--json", action="store_true", help="for programs instead of people")


def add_inspect(inspect: argparse.ArgumentParser) -> None:
    """`cutune inspect FILE …`."""
    inspect.add_argument(
        "files", nargs="+", metavar="FILE", help="sources, folders, or a compile_commands.json"
    )
    inspect.add_argument("--run", default="", metavar="COMMAND", help="where {NAME} may stand, too")
    inspect.add_argument(
        "--device",
        metavar="NAME",
        help="GPU of which conditions ask (default: this machine's, else h200)",
    )
    output = inspect.add_mutually_exclusive_group()
    add_json(output)
    output.add_argument(
        "--sarif", action="store_true", help="refused launches as SARIF 2.1.0, for code review"
    )
    add_list(
        inspect,
        "--require",
        metavar="KERNEL",
        help="end with status 3 unless launches of such kernels can be tuned; * stands for any "
        "letters",
    )
    inspect.add_argument(
        "--force", action="store_true", help="replace the file of --space where it is there"
    )
    inspect.add_argument(
        "--suggest", action="store_true", help="say what would make the other launches tunable"
    )


def add_instrument(instrument: argparse.ArgumentParser) -> None:
    """`cutune instrument FILE`."""
    instrument.add_argument("file", metavar="FILE", help="a source")
    instrument.add_argument(
        "-o", "--output", help="file or folder to write (default: standard output)"
    )
    instrument.add_argument(
        "--passes", default="instrument-launches", metavar="A,B", help="passes to run, by name"
    )
    instrument.add_argument(
        "--print-after", metavar="PASS", help="show the program behind a pass on standard error"
    )

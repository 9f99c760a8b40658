"""The options of `convert` and `bat`. Takes their parsers, adds options."""

from __future__ import annotations

import argparse

from cutune.core.options import add_list
from cutune.interchange.format_names import FORMAT_NAMES


def add_convert(convert: argparse.ArgumentParser) -> None:
    """`cutune convert IN OUT`."""
    convert.add_argument("input", metavar="IN", help="results of cutune or of another tuner")
    convert.add_argument("output", metavar="OUT", help="file to write; its ending says the format")
    _add_reading(convert)
    convert.add_argument(
        "--to", choices=FORMAT_NAMES, default="", help="the format of OUT (default: by its ending)"
    )
    convert.add_argument(
        "--best", action="store_true", help="only the fastest at each size on each device"
    )
    convert.add_argument("--force", action="store_true", help="replace OUT where it is there")


def _add_reading(verb: argparse.ArgumentParser) -> None:
    """What a file of results means."""
    group = verb.add_argument_group("results")
    group.add_argument(
        "--from",
        dest="source_format",
        choices=FORMAT_NAMES,
        default="",
        help="the format that is read (default: by how the file begins)",
    )
    add_list(
        group,
        "--only",
        metavar="NAME=VALUE",
        help="results with this value of a size or a parameter, or of device; may be repeated",
    )
    group.add_argument("--sizes", metavar="N,…", help="of CSV: columns that hold sizes")
    group.add_argument(
        "--time", default="ms", metavar="COLUMN", help="of CSV: column of milliseconds (ms)"
    )

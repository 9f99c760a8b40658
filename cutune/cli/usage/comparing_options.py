"""The options of `verify` and `shake`. Takes their parsers, adds options."""

from __future__ import annotations

import argparse

from cutune.cli.usage.source_options import add_json
from cutune.core.options import add_list, add_status

SHAKE = """\
Every launch that may be changed takes a random legal configuration, by the seed in CUTUNE_SEED.
The program is built once and runs with each seed, with each variant wherever it may run
(CUTUNE_VARIANT), and once with CUTUNE=off; all runs are compared with the original, which runs
twice. Exit status: 0 'same', or 'nothing may change' and why; 1 'differs', with the command that
shows it again, and after errors."""


def add_verify(verify: argparse.ArgumentParser) -> None:
    """`cutune verify ORIGINAL TUNED`."""
    verify.add_argument("original", metavar="ORIGINAL", help="a program or its source")
    verify.add_argument("tuned", metavar="TUNED", help="the tuned program or its source")
    _add_conditions(verify)


def add_shake(shake: argparse.ArgumentParser) -> None:
    """`cutune shake FILE …`."""
    shake.set_defaults(run="{program}")
    shake.add_argument("files", nargs="+", metavar="FILE", help="all sources of one program")
    shake.add_argument(
        "--seeds",
        type=int,
        default=20,
        metavar="N",
        help="seeds 1 to N (default: 20); 0 runs with CUTUNE=off alone",
    )
    shake.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="runs at a time (default: one per core; 1 on a GPU or with --file)",
    )
    shake.add_argument("--keep", metavar="DIR", help="leave both programs in this folder")
    _add_conditions(shake)


def _add_conditions(verb: argparse.ArgumentParser) -> None:
    add_json(verb)
    verb.add_argument("--on", choices=("emulated", "gpu"), default="emulated", help="where")
    verb.add_argument("--device", help="profile that is emulated")
    verb.add_argument("--identical", action="store_true", help="only the same bytes will do")
    verb.add_argument(
        "--tolerance",
        type=float,
        metavar="X",
        help="relative, for all numbers (default: 1e-5, and 0 for integers)",
    )
    verb.add_argument("--absolute", type=float, default=0.0, help="tolerance of small numbers")
    add_list(verb, "--file", metavar="PATH", help="compare this file, too")
    verb.add_argument("--ignore", metavar="REGEX", help="leave out lines that match")
    add_status(verb)

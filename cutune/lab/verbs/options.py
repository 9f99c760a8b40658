"""Options of `convert` and `bat`. Takes parsers; loads no more than reading a line needs."""

from __future__ import annotations

import argparse

from cutune.cli.options import add_json
from cutune.core.options import add_list
from cutune.lab.interchange import FORMAT_NAMES
from cutune.search.tunables.verb_options import add_cluster_options


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
    convert.add_argument(
        "--order",
        metavar="NAME,…",
        default="",
        help="parameters that come first in OUT: Kernel Tuner asks for its own order, and trials "
        "have them by the alphabet",
    )
    convert.add_argument(
        "--kernel",
        metavar="NAME",
        help="what the kernel is called in OUT (default: as in IN, of trials the path of the "
        "source); other tuners look for their own name",
    )
    convert.add_argument("--force", action="store_true", help="replace OUT where it is there")


def add_bat(bat: argparse.ArgumentParser) -> None:
    """`cutune bat`: the five options of BAT, and where times come from."""
    bat.add_argument(
        "-b", "--benchmark", metavar="NAME,…", default="", help="benchmarks (default: all)"
    )
    bat.add_argument(
        "-a",
        "--auto-tuner",
        metavar="NAME,…",
        default="",
        help="tuners beside cutune: kernel_tuner, opentuner, pyatf, optuna (default: all that are "
        "installed)",
    )
    bat.add_argument(
        "-s", "--size", type=int, default=1, metavar="1..9", help="class of the size (default: 1)"
    )
    bat.add_argument(
        "-t",
        "--technique",
        default="brute_force",
        metavar="NAME",
        help="technique of each tuner (default: brute_force; each is compared by its own search)",
    )
    bat.add_argument("-v", "--verbose", action="store_true", help="say more: every repetition")
    live = bat.add_argument_group("searches that build and run what they ask for")
    live.add_argument(
        "--search",
        metavar="BUDGET",
        help="what each search may do: 50 configurations, 5%% of all, or 10min",
    )
    live.add_argument(
        "--searches",
        type=int,
        metavar="COUNT",
        help="of each tuner: the first begins with the program's own values (default: 3)",
    )
    live.add_argument(
        "--on",
        choices=("gpu", "emulated"),
        help="time regions on a GPU (default), or count warp instructions on the emulated device",
    )
    place = bat.add_argument_group("where times come from (default: a GPU)")
    add_list(
        place, "--replay", metavar="FILE", help="recorded results, in any format of cutune convert"
    )
    place.add_argument(
        "--folder",
        metavar="DIR",
        default="samples/bat",
        help="where the source of each benchmark is (default: samples/bat)",
    )
    place.add_argument(
        "--run",
        metavar="COMMAND",
        default="./{program} -s {size}",
        help="how a benchmark is run (default: './{program} -s {size}')",
    )
    place.add_argument(
        "--examples",
        metavar="DIR",
        help="BAT's tuning_examples: run each TUNER/BENCHMARK/config.json instead",
    )
    place.add_argument(
        "--results",
        metavar="DIR",
        default="results",
        help="where files of --examples are copied to (default: results)",
    )
    add_cluster_options(bat)
    _add_reading(bat)
    output = bat.add_argument_group("output")
    add_json(output)
    output.add_argument("--plot", metavar="FILE", help="draw the searches: FILE.png, .pdf or .svg")


def _add_reading(verb: argparse.ArgumentParser) -> None:
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

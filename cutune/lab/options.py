"""Options of `convert` and `bat`. Takes parsers; loads no more than reading a line needs."""

from __future__ import annotations

import argparse

from cutune.cli.options import add_json
from cutune.core.options import add_list, add_option
from cutune.lab.interchange import FORMAT_NAMES
from cutune.search.tunables.verb_options import add_cluster_options


def add_convert(convert: argparse.ArgumentParser) -> None:
    """`cutune convert IN OUT`."""
    convert.add_argument("input", metavar="IN", help="results of cutune or of another tuner")
    convert.add_argument("output", metavar="OUT", help="file to write; its ending says the format")
    _add_reading(convert)
    to = "the format of OUT (default: by its ending)"
    add_option(convert, "--to", to, choices=FORMAT_NAMES, default="")
    add_option(convert, "--best", "only the fastest at each size on each device")
    order = (
        "parameters that come first in OUT: Kernel Tuner asks for its own order, and trials have "
        "them by the alphabet"
    )
    add_option(convert, "--order NAME,…", order, default="")
    add_option(
        convert,
        "--kernel NAME",
        "what the kernel is called in OUT (default: as in IN, of trials the path of the "
        "source); other tuners look for their own name",
    )
    add_option(convert, "--force", "replace OUT where it is there")


def add_bat(bat: argparse.ArgumentParser) -> None:
    """`cutune bat`: the five options of BAT, and where times come from."""
    add_option(bat, "-b --benchmark NAME,…", "benchmarks (default: all)", default="")
    tuners = "kernel_tuner, opentuner, pyatf, optuna (default: all that are installed)"
    add_option(bat, "-a --auto-tuner NAME,…", f"tuners beside cutune: {tuners}", default="")
    add_option(bat, "-s --size 1..9", "class of the size (default: 1)", type=int, default=1)
    technique = "technique of each tuner (default: brute_force; each is compared by its own search)"
    add_option(bat, "-t --technique NAME", technique, default="brute_force")
    add_option(bat, "-v --verbose", "say more: every repetition")
    live = bat.add_argument_group("searches that build and run what they ask for")
    budget = "what each search may do: 50 configurations, 5%% of all, or 10min"
    add_option(live, "--search BUDGET", budget)
    searches = "of each tuner: the first begins with the program's own values (default: 3)"
    add_option(live, "--searches COUNT", searches, type=int)
    on = "time regions on a GPU (default), or count warp instructions on the emulated device"
    add_option(live, "--on", on, choices=("gpu", "emulated"))
    place = bat.add_argument_group("where times come from (default: a GPU)")
    replay = "recorded results, in any format of cutune convert"
    add_list(place, "--replay", metavar="FILE", help=replay)
    folder = "where the source of each benchmark is (default: samples/bat)"
    add_option(place, "--folder DIR", folder, default="samples/bat")
    run = "how a benchmark is run (default: './{program} -s {size}')"
    add_option(place, "--run COMMAND", run, default="./{program} -s {size}")
    examples = "BAT's tuning_examples: run each TUNER/BENCHMARK/config.json instead"
    add_option(place, "--examples DIR", examples)
    results = "where files of --examples are copied to (default: results)"
    add_option(place, "--results DIR", results, default="results")
    add_cluster_options(bat)
    _add_reading(bat)
    output = bat.add_argument_group("output")
    add_json(output)
    add_option(output, "--plot FILE", "draw the searches: FILE.png, .pdf or .svg")


def _add_reading(verb: argparse.ArgumentParser) -> None:
    group = verb.add_argument_group("results")
    format_ = "the format that is read (default: by how the file begins)"
    add_option(group, "--from", format_, dest="source_format", choices=FORMAT_NAMES, default="")
    only = "results with this value of a size or a parameter, or of device; may be repeated"
    add_list(group, "--only", metavar="NAME=VALUE", help=only)
    add_option(group, "--sizes N,…", "of CSV: columns that hold sizes")
    add_option(group, "--time COLUMN", "of CSV: column of milliseconds (ms)", default="ms")

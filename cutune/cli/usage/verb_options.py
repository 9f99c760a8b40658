"""Options of `inspect`, `instrument`, `verify`, `shake`, `convert` and `bat`. Takes parsers."""

from __future__ import annotations

import argparse

from cutune.core.options import add_list, add_status
from cutune.lab.interchange import FORMAT_NAMES
from cutune.search.tunables.verb_options import add_cluster_options


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

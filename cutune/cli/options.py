"""The options of every verb, and their help texts. Takes nothing, gives a parser."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from typing import Any

from cutune import __version__
from cutune.cli.usage.command_line import NVCC_FLAG
from cutune.cli.usage.help import SHELLS
from cutune.cli.usage.parser import VERBS, Parser
from cutune.core.options import add_list, add_option, add_status
from cutune.search.tunables.verb_options import NEIGHBOURS, add_host_options, add_table_options

WORKSPACE = ".cutune"
#: Names of `fit.fit`, `models.registry` and `fit.measurement.sweep`, which take numpy to import.
EXACT, PAPER = "exact", "paper"
MODEL_NAMES = ("mechanistic", "mwp-cwp", "latency")
CACHE_STATES = ("restored", "repeated", "program")


def parser() -> Parser:
    """The parser of `cutune VERB …`; `verb` holds the name of the verb."""
    main = Parser(
        prog="cutune",
        description="Every CUDA kernel launch picks its own thread block at run time.",
    )
    main.add_argument("--version", action="version", version=f"cutune {__version__}")
    verbs = main.add_subparsers(dest="verb", metavar="VERB", required=True)
    add = partial(_add_verb, verbs)
    source, place = _source_options(), _place_options()
    running, judge = _running_options(), _model_options()
    candidates = _parent(
        "--candidates", "which blocks to consider", choices=("paper", "all"), default="paper"
    )
    fitting = _parent(
        "--fit",
        "how counters become functions: exactly where that is possible (default), or as "
        "published, for --model mwp-cwp and latency",
        choices=(EXACT, PAPER),
        default=EXACT,
    )
    recording = _parent(
        "--launches-only",
        "do not execute kernels while the program runs, for launches that do not depend on "
        "what kernels compute: sizes may then be as large as they ever are",
    )
    add_status(recording)

    _add_inspect(add("inspect", source))
    _add_instrument(add("instrument", source))

    _add_collect_options(add("collect", source, place, fitting, running, candidates, recording))

    fit = add("fit", source, place, fitting)
    add_table_options(fit)
    add_json(fit)

    emit = add("emit", source, place, _model_options((NEIGHBOURS,)))
    emit.add_argument("files", nargs="+", metavar="FILE", help="all sources of one program")
    emit.add_argument("-o", "--output", help="file or folder to write (default: NAME.tuned.cu)")
    make = "what builds the project that FILE belongs to"
    add_option(emit, "--make COMMAND", f"{make}, as for collect --tunables")
    add_option(
        emit,
        "--as",
        "variants (default): the program, which chooses values by size where it can; without "
        "it, one set for all sizes as macros for -include, or as options of nvcc",
        dest="form",
        choices=("variants", "header", "flags"),
    )
    add_option(
        emit,
        "--choose random:SEED",
        "without a model: every launch takes any block that it may have, at random",
        type=_chosen_by,
    )

    tune = add("tune", source, place, judge, fitting, running, candidates, recording)
    tune.add_argument("files", nargs="*", metavar="FILE", help="all sources of one program")
    add_option(
        tune,
        "--make COMMAND",
        "what builds a project; then no FILE is given, and it is left in its tuned build. "
        "With --tunables FILE is given, and each value set built in a copy of the current folder",
    )
    add_option(tune, "--clean COMMAND", "what to run before each build of --make", default="")
    tune.add_argument("-o", "--output", help="file or folder to write (default: NAME.tuned.cu)")
    add_json(tune)
    add_host_options(tune)
    add_option(
        tune,
        "--sizes N",
        "sizes to show the choice for (default: some that a GPU is used for)",
        nargs="+",
    )
    add_option(
        tune, "--again", "do all of it again, also where nothing has changed since the last time"
    )

    choice = add("select", place, _model_options((NEIGHBOURS,)))
    choice.add_argument("kernel", metavar="KERNEL")
    choice.add_argument(
        "sizes", nargs="*", metavar="NAME=VALUE", help="data parameters; T.x, G.x too"
    )
    add_option(choice, "--file FILE", "source of the kernel, if several have one")
    add_option(choice, "--all-sizes N", "the value of all sizes not named")
    add_json(choice)

    _add_evaluate_options(add("evaluate", source, place, judge, running, candidates))

    _add_report_options(add("report", source, place))

    _add_device_options(add("device"))
    _add_run_options(add("run", source))
    _add_verify(add("verify", source, running, candidates))
    _add_shake(add("shake", source, running, description=SHAKE))
    add("nvcc", add_help=False)

    add("convert")
    add("bat", source, place)

    _add_doctor_options(add("doctor"))
    _add_help_options(add("help"))
    return main


def _add_verb(
    verbs: argparse._SubParsersAction[Parser],
    name: str,
    *parents: Parser,
    **keywords: Any,
) -> Parser:
    """The parser of a verb, with the options of others, and those of a verb of another room."""
    verb = next(verb for verb in VERBS if verb.name == name)
    added = verbs.add_parser(name, verb=verb, help=verb.help, parents=parents, **keywords)
    if verb.options:
        verb.add_options(added)
    return added


def _chosen_by(text: str) -> int:
    """The seed of `random:SEED`."""
    word, _, seed = text.partition(":")
    if word != "random" or not (seed.isascii() and seed.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not random:SEED, such as random:1")
    return int(seed)


def add_json(verb: argparse._ActionsContainer) -> None:
    """`--json`: docs/json.md has the documents."""
    add_option(verb, "--json", "for programs instead of people")


def _add_inspect(inspect: argparse.ArgumentParser) -> None:
    inspect.add_argument(
        "files", nargs="+", metavar="FILE", help="sources, folders, or a compile_commands.json"
    )
    add_option(inspect, "--run COMMAND", "where {NAME} may stand, too", default="")
    add_option(
        inspect, "--device NAME", "GPU of which conditions ask (default: this machine's, else h200)"
    )
    output = inspect.add_mutually_exclusive_group()
    add_json(output)
    add_option(output, "--sarif", "refused launches as SARIF 2.1.0, for code review")
    add_list(
        inspect,
        "--require",
        metavar="KERNEL",
        help="end with status 3 unless launches of such kernels can be tuned; * stands for any "
        "letters",
    )
    add_option(inspect, "--force", "replace the file of --space where it is there")
    add_option(inspect, "--suggest", "say what would make the other launches tunable")


def _add_instrument(instrument: argparse.ArgumentParser) -> None:
    instrument.add_argument("file", metavar="FILE", help="a source")
    instrument.add_argument(
        "-o", "--output", help="file or folder to write (default: standard output)"
    )
    add_option(instrument, "--passes A,B", "passes to run, by name", default="instrument-launches")
    add_option(instrument, "--print-after PASS", "show the program behind a pass on standard error")


SHAKE = """\
Every launch that may be changed takes a random legal configuration, by the seed in CUTUNE_SEED.
The program is built once and runs with each seed, with each variant wherever it may run
(CUTUNE_VARIANT), and once with CUTUNE=off; all runs are compared with the original, which runs
twice. Exit status: 0 'same', or 'nothing may change' and why; 1 'differs', with the command that
shows it again, and after errors."""


def _add_verify(verify: argparse.ArgumentParser) -> None:
    verify.add_argument("original", metavar="ORIGINAL", help="a program or its source")
    verify.add_argument("tuned", metavar="TUNED", help="the tuned program or its source")
    _add_conditions(verify)


def _add_shake(shake: argparse.ArgumentParser) -> None:
    shake.set_defaults(run="{program}")
    shake.add_argument("files", nargs="+", metavar="FILE", help="all sources of one program")
    add_option(
        shake,
        "--seeds N",
        "seeds 1 to N (default: 20); 0 runs with CUTUNE=off alone",
        type=int,
        default=20,
    )
    add_option(
        shake,
        "--jobs N",
        "runs at a time (default: one per core; 1 on a GPU or with --file)",
        type=int,
    )
    add_option(shake, "--keep DIR", "leave both programs in this folder")
    _add_conditions(shake)


def _add_conditions(verb: argparse.ArgumentParser) -> None:
    add_json(verb)
    add_option(verb, "--on", "where", choices=("emulated", "gpu"), default="emulated")
    verb.add_argument("--device", help="profile that is emulated")
    add_option(verb, "--identical", "only the same bytes will do")
    add_option(
        verb,
        "--tolerance X",
        "relative, for all numbers (default: 1e-5, and 0 for integers)",
        type=float,
    )
    verb.add_argument("--absolute", type=float, default=0.0, help="tolerance of small numbers")
    add_list(verb, "--file", metavar="PATH", help="compare this file, too")
    add_option(verb, "--ignore REGEX", "leave out lines that match")
    add_status(verb)


def _add_device_options(device: argparse.ArgumentParser) -> None:
    device.add_argument("name", nargs="?", metavar="NAME", help="a profile, or the path of one")
    add_json(device)
    add_option(
        device,
        "--calibrate",
        "time micro-kernels on a real GPU and write its profile (needs cutune[gpu])",
    )
    add_option(device, "--gpu INDEX", "which GPU", type=int, default=0)
    add_option(device, "-o --output FILE", "profile to write")
    _add_nvcc_option(device)
    _add_quiet_option(device)


def _add_nvcc_option(group: argparse._ActionsContainer) -> None:
    add_option(group, "--nvcc PATH", "the compiler to use")


def _add_quiet_option(group: argparse._ActionsContainer) -> None:
    add_option(group, "-q --quiet", "no progress")


def _add_run_options(run: argparse.ArgumentParser) -> None:
    run.add_argument("--device", help="profile that the program sees")
    add_json(run)
    add_option(run, "--trace", "count memory sectors too (slower)")
    add_option(
        run,
        "--check",
        "report accesses out of bounds, reads of memory that nobody wrote, races and "
        "diverging barriers (much slower); exit status 1 if there are any",
    )
    add_option(run, "--findings N", "findings of --check that are shown", type=int, default=20)
    add_option(run, "--limit N", "end a launch after N warp instructions (0: never)", type=int)
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM …")


def _add_doctor_options(doctor: argparse.ArgumentParser) -> None:
    add_json(doctor)
    add_option(doctor, "--quiet", "problems only")
    _add_nvcc_option(doctor)
    add_option(
        doctor, "--install-toolkit", "where no nvcc is found, install it from the Python index"
    )
    add_option(
        doctor,
        "--clear-cache",
        "remove what was built for this machine; it is built again when it is needed",
    )


def _add_help_options(verb: Parser) -> None:
    verb.add_argument("topic", nargs="?", metavar="TOPIC", help="a page, a code, or a verb")
    add_option(verb, "--man", "the manual page, as man reads it")
    add_option(verb, "--completion", "what makes a shell complete words of cutune", choices=SHELLS)


def _source_options() -> Parser:
    options = Parser(add_help=False)
    group = options.add_argument_group("compiling")
    _add_nvcc_option(group)
    add_list(group, "-I", dest="include", metavar="DIR", help="as for nvcc, whose other options")
    add_list(group, "-D", dest="define", metavar="NAME[=VALUE]", help="are taken as they are, too")
    add_list(group, "-include", dest="forced", metavar="FILE", help="a header read first")
    add_option(group, "-std c++17", "the standard of C++", dest="std")
    add_list(group, NVCC_FLAG, metavar="FLAG", help="an option for nvcc that cutune has, too")
    add_list(
        group, "--options-file", metavar="FILE", help="further options of nvcc, also written @FILE"
    )
    add_list(
        group,
        "--tune",
        metavar="NAME=V1,V2,…",
        help="values of a parameter that a pragma names, or {NAME} in --nvcc-flag or --run; the "
        "value none leaves the word out",
    )
    add_option(group, "--space FILE", "parameters and conditions of a T1 file; inspect writes it")
    add_option(
        group,
        "--variants",
        "whether launches may choose among variants of their kernels, too (default: all)",
        choices=("all", "none"),
        default="all",
    )
    group.add_argument(
        "--associative-math",
        action="store_true",
        help="allow sums of floating-point numbers in any order, as of threads of a block",
    )
    _add_quiet_option(group)
    return options


def _place_options() -> Parser:
    options = Parser(add_help=False)
    add_option(
        options,
        "--workspace DIR",
        f"folder for results (default: {WORKSPACE} beside FILE, or here if none is named)",
    )
    add_option(
        options,
        "--device NAME",
        "GPU that is modelled (default: this machine's, else h200); A,B emits for several, "
        "all for all that are known",
    )
    return options


def _add_collect_options(collect: argparse.ArgumentParser) -> None:
    collect.add_argument("files", nargs="+", metavar="FILE", help="all sources of one program")
    add_option(
        collect,
        "--on",
        "count on the emulated device (default), or time every block on a GPU",
        choices=("emulated", "gpu"),
        default="emulated",
    )
    add_option(collect, "--counters", "with --on gpu: read hardware counters by ncu too")
    make = "with --tunables: what builds the project that FILE belongs to"
    add_option(collect, "--make COMMAND", make)
    add_host_options(collect)
    add_option(
        collect,
        "--compare NAME,…",
        "with --tunables, where all configurations were tried: run nothing, but say how many "
        "of them each technique (or these) needs",
        nargs="?",
        const="",
    )


def _add_evaluate_options(evaluate: argparse.ArgumentParser) -> None:
    evaluate.add_argument(
        "files", nargs="*", metavar="FILE", help="programs, tuned before in the same workspace"
    )
    add_option(evaluate, "--from SWEEP", "a recorded sweep; without it, a GPU", dest="recorded")
    add_option(evaluate, "--save SWEEP", "keep what was swept on the GPU")
    add_option(
        evaluate,
        "--cache",
        "what lies in L2 when a launch is timed: memory that was just put back (default), what"
        " the same launch left, or what the program left (one run for each configuration)",
        choices=CACHE_STATES,
    )
    add_option(evaluate, "--train N", "judge sizes above N; timings at N may be reused", type=int)
    add_option(
        evaluate,
        "--training",
        "MWP-CWP on collected and on fitted counters instead (collect --fit paper, no GPU)",
    )
    add_option(evaluate, "--scores", "no row per launch")
    add_option(evaluate, "--json FILE", "write everything as JSON")
    add_option(evaluate, "--csv FILE", "write a row per launch as CSV")


def _add_report_options(report: argparse.ArgumentParser) -> None:
    report.add_argument(
        "files", nargs="*", metavar="FILE", help="sources (default: all that were tuned)"
    )
    add_list(report, "--from", dest="recorded", metavar="SWEEP", help="a recorded sweep to compare")
    add_option(report, "--sizes N", "sizes to show the choice for", nargs="+")
    add_option(report, "-o --output FILE", "page to write", default="report.html")
    add_option(report, "--figures DIR", "write figures as PNG and PDF, too")


def _model_options(further: Sequence[str] = ()) -> Parser:
    text = "performance model (default: %(default)s; the others are published ones"
    if further:
        text += f"; {NEIGHBOURS}: what was measured and fitted so, for kernels that have it"
    names = (*MODEL_NAMES, *further)
    return _parent("--model", f"{text})", choices=names, default=MODEL_NAMES[0])


def _running_options() -> Parser:
    options = Parser(add_help=False)
    add_option(
        options,
        "--run COMMAND",
        "how to run the program, for instance './{program} {n}'",
        default="./{program}",
    )
    add_list(
        options,
        "--vary",
        metavar="NAME=V1,V2,…",
        help="values for {NAME} in --run, also A..B:STEP; all combinations of several are run",
    )
    return options


def _parent(written: str, text: str, **about: Any) -> Parser:
    """A parser of one option, as a parent of several verbs'."""
    options = Parser(add_help=False)
    add_option(options, written, text, **about)
    return options

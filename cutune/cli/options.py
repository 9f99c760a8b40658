"""The options of every verb, and their help texts. Takes nothing, gives a parser.

A verb of the table in `usage.parser` has its own options by `add_NAME`, which is found by its name,
and those that it shares with others by its row in `_shared_options`.
"""

from __future__ import annotations

import argparse
from functools import partial
from importlib import import_module
from typing import Any

from cutune import __version__
from cutune.cli.command_line import NVCC_FLAG
from cutune.cli.parser import SHELLS, VERBS, Parser
from cutune.core.options import add_list, add_option, add_status
from cutune.search.tunables.verb_options import NEIGHBOURS, add_host_options, add_table_options

WORKSPACE = ".cutune"
#: Names of `model.fit.fit`, `model.selection.chooser` and `model.measurement.sweep`, which take
#: numpy to import.
EXACT, PAPER = "exact", "paper"
MODEL_NAMES = ("mechanistic", "mwp-cwp", "latency")
CACHE_STATES = ("restored", "repeated", "program")
#: What several verbs have, as `add_option` takes it.
NVCC_OPTION, QUIET_OPTION = ("--nvcc PATH", "the compiler to use"), ("-q --quiet", "no progress")


def parser() -> Parser:
    """The parser of `cutune VERB …`; `verb` holds the name of the verb."""
    text = "Every CUDA kernel launch picks its own thread block at run time."
    main = Parser(prog="cutune", description=text)
    main.add_argument("--version", action="version", version=f"cutune {__version__}")
    verbs = main.add_subparsers(dest="verb", metavar="VERB", required=True)
    shared = _shared_options()
    further: dict[str, dict[str, Any]] = {
        "shake": {"description": SHAKE},
        "check": {"description": CHECK},
        "nvcc": {"add_help": False},
    }
    for verb in VERBS:
        options = import_module(verb.options or __name__)
        parents, about = shared.get(verb.name, ()), further.get(verb.name, {})
        added = verbs.add_parser(verb.name, verb=verb, help=verb.help, parents=parents, **about)
        getattr(options, f"add_{verb.name}")(added)
    return main


def _shared_options() -> dict[str, tuple[Parser, ...]]:
    """The options that several verbs have, by the names of verbs."""
    source, place, running = _source_options(), _place_options(), _running_options()
    judge, measured = _model_options(), _model_options(NEIGHBOURS)
    candidates, fitting, recording = (Parser(add_help=False) for _ in range(3))
    blocks = {"choices": ("paper", "all"), "default": "paper"}
    add_option(candidates, "--candidates", "which blocks to consider", **blocks)
    exactly = (
        "how counters become functions: exactly where that is possible (default), or as "
        "published, for --model mwp-cwp and latency"
    )
    add_option(fitting, "--fit", exactly, choices=(EXACT, PAPER), default=EXACT)
    launches_only = (
        "do not execute kernels while the program runs, for launches that do not depend on "
        "what kernels compute: sizes may then be as large as they ever are"
    )
    add_option(recording, "--launches-only", launches_only)
    add_status(recording)

    return {
        "inspect": (source,),
        "instrument": (source,),
        "collect": (source, place, fitting, running, candidates, recording),
        "fit": (source, place, fitting),
        "emit": (source, place, measured),
        "tune": (source, place, judge, fitting, running, candidates, recording),
        "select": (place, measured),
        "evaluate": (source, place, judge, running, candidates),
        "report": (source, place),
        "run": (source,),
        "verify": (source, running, candidates),
        "shake": (source, running),
        "check": (source,),
        "bat": (source, place),
    }


def _add_files(verb: Parser, text: str = "all sources of one program", nargs: str = "+") -> None:
    verb.add_argument("files", nargs=nargs, metavar="FILE", help=text)


def _add_output(verb: Parser, default: str = "NAME.tuned.cu") -> None:
    verb.add_argument("-o", "--output", help=f"file or folder to write (default: {default})")


def add_json(verb: argparse._ActionsContainer) -> None:
    """`--json`: docs/json.md has the documents."""
    add_option(verb, "--json", "for programs instead of people")


def add_inspect(inspect: Parser) -> None:
    option = partial(add_option, inspect)
    _add_files(inspect, "sources, folders, or a compile_commands.json")
    run = "how to run the program, for --suggest; {NAME} of parameters may stand there, too"
    option("--run COMMAND", run, default="")
    add_vary(inspect)
    device = "GPU of which conditions ask (default: this machine's, else h200)"
    option("--device NAME", device)
    output = inspect.add_mutually_exclusive_group()
    add_json(output)
    add_option(output, "--sarif", "refused launches as SARIF 2.1.0, for code review")
    require = (
        "end with status 3 unless launches of such kernels can be tuned; * stands for any letters"
    )
    add_list(inspect, "--require", metavar="KERNEL", help=require)
    option("--force", "replace the file of --space where it is there")
    suggest = "say what would make the other launches tunable; with --run it is tried before"
    option("--suggest", suggest)
    option("--tunables", "list the constants of which launches are made, and their values")
    add_status(inspect)


def add_instrument(instrument: Parser) -> None:
    instrument.add_argument("file", metavar="FILE", help="a source")
    _add_output(instrument, "standard output")
    option = partial(add_option, instrument)
    option("--passes A,B", "passes to run, by name", default="instrument-launches")
    option("--print-after PASS", "show the program behind a pass on standard error")


def add_collect(collect: Parser) -> None:
    option = partial(add_option, collect)
    _add_files(collect)
    on = "count on the emulated device (default), or time every block on a GPU"
    option("--on", on, choices=("emulated", "gpu"), default="emulated")
    option("--counters", "with --on gpu: read hardware counters by ncu too")
    option("--make COMMAND", "with --tunables: what builds the project that FILE belongs to")
    add_host_options(collect)
    compare = (
        "with --tunables, where all configurations were tried: run nothing, but say how many "
        "of them each technique (or these) needs"
    )
    option("--compare NAME,…", compare, nargs="?", const="")


def add_fit(fit: Parser) -> None:
    add_table_options(fit)
    add_json(fit)


def add_nvcc(_: Parser) -> None:
    """None: its words are nvcc's."""


def add_emit(emit: Parser) -> None:
    option = partial(add_option, emit)
    _add_files(emit)
    _add_output(emit)
    make = "what builds the project that FILE belongs to, as for collect --tunables"
    option("--make COMMAND", make)
    form = (
        "variants (default): the program, which chooses values by size where it can; without "
        "it, one set for all sizes as macros for -include, or as options of nvcc"
    )
    option("--as", form, dest="form", choices=("variants", "header", "flags"))
    choose = "without a model: every launch takes any block that it may have, at random"
    option("--choose random:SEED", choose, type=_chosen_by)


def _chosen_by(text: str) -> int:
    word, _, seed = text.partition(":")
    if word != "random" or not (seed.isascii() and seed.isdigit()):
        raise argparse.ArgumentTypeError(f"'{text}' is not random:SEED, such as random:1")
    return int(seed)


def add_tune(tune: Parser) -> None:
    option = partial(add_option, tune)
    _add_files(tune, nargs="*")
    make = (
        "what builds a project; then no FILE is given, and it is left in its tuned build. "
        "With --tunables FILE is given, and each value set built in a copy of the current folder"
    )
    option("--make COMMAND", make)
    option("--clean COMMAND", "what to run before each build of --make", default="")
    _add_output(tune)
    add_json(tune)
    add_host_options(tune)
    sizes = "sizes to show the choice for (default: some that a GPU is used for)"
    option("--sizes N", sizes, nargs="+")
    option("--again", "do all of it again, also where nothing has changed since the last time")
    shortlist = (
        "time the first N configurations of each kernel by the model on this machine's GPU, at the "
        "sizes of the runs, and keep the best"
    )
    option("--shortlist N", shortlist, type=int)


def add_select(select: Parser) -> None:
    select.add_argument("kernel", metavar="KERNEL")
    sizes = "data parameters; T.x, G.x too"
    select.add_argument("sizes", nargs="*", metavar="NAME=VALUE", help=sizes)
    add_option(select, "--file FILE", "source of the kernel, if several have one")
    add_option(select, "--all-sizes N", "the value of all sizes not named")
    add_json(select)


def add_evaluate(evaluate: Parser) -> None:
    option = partial(add_option, evaluate)
    _add_files(evaluate, "programs, tuned before in the same workspace", "*")
    option("--from SWEEP", "a recorded sweep; without it, a GPU", dest="recorded")
    option("--save SWEEP", "keep what was swept on the GPU")
    cache = (
        "what lies in L2 when a launch is timed: memory that was just put back (default), what"
        " the same launch left, or what the program left (one run for each configuration)"
    )
    option("--cache", cache, choices=CACHE_STATES)
    option("--energy", "measure the energy of launches as well; implies --cache repeated")
    option("--train N", "judge sizes above N; timings at N may be reused", type=int)
    training = "MWP-CWP on collected and on fitted counters instead (collect --fit paper, no GPU)"
    option("--training", training)
    option("--scores", "no row per launch")
    option("--json FILE", "write everything as JSON")
    option("--csv FILE", "write a row per launch as CSV")


def add_report(report: Parser) -> None:
    _add_files(report, "sources (default: all that were tuned)", "*")
    add_list(report, "--from", dest="recorded", metavar="SWEEP", help="a recorded sweep to compare")
    add_option(report, "--sizes N", "sizes to show the choice for", nargs="+")
    add_option(report, "-o --output FILE", "page to write", default="report.html")
    add_option(report, "--figures DIR", "write figures as PNG and PDF, too")


def add_device(device: Parser) -> None:
    device.add_argument("name", nargs="?", metavar="NAME", help="a profile, or the path of one")
    add_json(device)
    calibrate = "time micro-kernels on a real GPU and write its profile (needs cutune[gpu])"
    add_option(device, "--calibrate", calibrate)
    add_option(device, "--gpu INDEX", "which GPU", default=0)
    add_option(device, "-o --output FILE", "profile to write")
    add_option(device, *NVCC_OPTION)
    add_option(device, *QUIET_OPTION)


def add_run(run: Parser) -> None:
    option = partial(add_option, run)
    run.add_argument("--device", help="profile that the program sees")
    add_json(run)
    option("--trace", "count memory sectors too (slower)")
    check = (
        "report accesses out of bounds, reads of memory that nobody wrote, races and "
        "diverging barriers (much slower); exit status 1 if there are any"
    )
    option("--check", check)
    option("--findings N", "findings of --check that are shown", default=20)
    option("--limit N", "end a launch after N warp instructions (0: never)", type=int)
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM …")


def add_verify(verify: Parser) -> None:
    program, tuned = "a program or its source", "the tuned program or its source"
    verify.add_argument("original", metavar="ORIGINAL", nargs="?", help=program)
    verify.add_argument("tuned", metavar="TUNED", nargs="?", help=tuned)
    _add_built(verify)
    _add_conditions(verify)


def _add_built(verb: Parser) -> None:
    make = "what builds a project, whose two builds are compared; then no program is given"
    add_option(verb, "--make COMMAND", make)
    add_option(verb, "--clean COMMAND", "what to run before each build of --make", default="")


SHAKE = """\
Every launch that may be changed takes a random legal configuration, by the seed in CUTUNE_SEED.
The program is built once and runs with each seed, with each variant wherever it may run
(CUTUNE_VARIANT), and once with CUTUNE=off; all runs are compared with the original, which runs
twice. Exit status: 0 'same', or 'nothing may change' and why; 1 'differs', with the command that
shows it again, and after errors."""


def add_shake(shake: Parser) -> None:
    option = partial(add_option, shake)
    shake.set_defaults(run="{program}")
    _add_files(shake, nargs="*")
    _add_built(shake)
    option("--seeds N", "seeds 1 to N (default: 20); 0 runs with CUTUNE=off alone", default=20)
    jobs = "runs at a time (default: one per core; 1 on a GPU or with --file)"
    option("--jobs N", jobs, type=int)
    option("--keep DIR", "leave both programs in this folder")
    _add_conditions(shake)


CHECK = """\
Both files hold a function of the host with the same parameters, which gets arrays in device memory,
such as solve(const float* a, float* b, int n), or a bare kernel, which --grid and --block launch.
Both are called on the emulated device at several sizes, with several contents of memory. Exit
status: 0 'same'; 1 'differs' or 'fault', and after errors; 2 wrong usage."""


def add_check(check: Parser) -> None:
    option, each = partial(add_option, check), partial(add_list, check)
    check.add_argument("file", metavar="FILE", help="the source that is judged")
    against = "the reference: a source, or a function of numpy arrays; NAME of a function in either"
    check.add_argument("--against", required=True, metavar="FILE[:NAME]", help=against)
    option("--function NAME", "what FILE is asked for (default: what both sources define)")
    vary = "values of parameters that are no arrays (default: small and odd sizes)"
    each("--vary", metavar="NAME=V1,V2,…", help=vary)
    length = "length of an array as a formula, or its shape: 'A=M,K' (default: what is accessed)"
    each("--array", metavar="NAME=FORMULA", help=length)
    each("--values", metavar="NAME=LOW..HIGH", help="what an array holds, indices for instance")
    option("--grid EXPRESSION", "of a bare kernel: C++ of its parameters and of block, a dim3")
    each("--block", metavar="X[,Y[,Z]]", help="of a bare kernel; may be given several times")
    option("--shared EXPRESSION", "dynamic shared memory of a bare kernel", default="0")
    tolerance = "relative, for real numbers (default: 1e-5; double 1e-13, half 1e-2, bfloat16 5e-2)"
    option("--tolerance X", tolerance, type=float)
    option("--special", "try infinities and NaN as well")
    add_json(check)


def _add_conditions(verb: Parser) -> None:
    option = partial(add_option, verb)
    add_json(verb)
    option("--on", "where", choices=("emulated", "gpu"), default="emulated")
    verb.add_argument("--device", help="profile that is emulated")
    option("--identical", "only the same bytes will do")
    tolerance = "relative, for all numbers (default: 1e-5, and 0 for integers)"
    option("--tolerance X", tolerance, type=float)
    verb.add_argument("--absolute", type=float, default=0.0, help="tolerance of small numbers")
    add_list(verb, "--file", metavar="PATH", help="compare this file, too")
    option("--ignore REGEX", "leave out lines that match")
    add_status(verb)


def add_doctor(doctor: Parser) -> None:
    option = partial(add_option, doctor)
    add_json(doctor)
    option("--quiet", "problems only")
    option(*NVCC_OPTION)
    option("--install-toolkit", "where no nvcc is found, install it from the Python index")
    clear = "remove what was built for this machine; it is built again when it is needed"
    option("--clear-cache", clear)


def add_help(verb: Parser) -> None:
    about = "a page, a code, or a verb; else words that are searched in all of them"
    verb.add_argument("topic", nargs="*", metavar="TOPIC", help=about)
    add_option(verb, "--man", "the manual page, as man reads it")
    add_option(verb, "--completion", "what makes a shell complete words of cutune", choices=SHELLS)


def _source_options() -> Parser:
    options = Parser(add_help=False)
    group = options.add_argument_group("compiling")
    option, add_each = partial(add_option, group), partial(add_list, group)
    option(*NVCC_OPTION)
    add_each("-I", dest="include", metavar="DIR", help="as for nvcc, whose other options")
    add_each("-D", dest="define", metavar="NAME[=VALUE]", help="are taken as they are, too")
    add_each("-include", dest="forced", metavar="FILE", help="a header read first")
    option("-std c++17", "the standard of C++")
    add_each(NVCC_FLAG, metavar="FLAG", help="an option for nvcc that cutune has, too")
    add_each("--options-file", metavar="FILE", help="further options of nvcc, also written @FILE")
    tune = (
        "values of a parameter that a pragma names, or {NAME} in --nvcc-flag or --run; the "
        "value none leaves the word out"
    )
    add_each("--tune", metavar="NAME=V1,V2,…", help=tune)
    option("--space FILE", "parameters and conditions of a T1 file; inspect writes it")
    variants = "whether launches may choose among variants of their kernels, too (default: all)"
    option("--variants", variants, choices=("all", "none"), default="all")
    associative = "allow sums of floating-point numbers in any order, as of threads of a block"
    option("--associative-math", associative)
    option(*QUIET_OPTION)
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


def _model_options(*further: str) -> Parser:
    text = "performance model (default: %(default)s; the others are published ones"
    if further:
        text += f"; {NEIGHBOURS}: what was measured and fitted so, for kernels that have it"
    options, names = Parser(add_help=False), (*MODEL_NAMES, *further)
    add_option(options, "--model", f"{text})", choices=names, default=MODEL_NAMES[0])
    return options


def _running_options() -> Parser:
    options = Parser(add_help=False)
    run = "how to run the program, for instance './{program} {n}', or 'python3 {script} {n}'"
    add_option(options, "--run COMMAND", run, default="./{program}")
    add_vary(options)
    return options


def add_vary(verb: Parser) -> None:
    vary = "values for {NAME} in --run, also A..B:STEP; all combinations of several are run"
    add_list(verb, "--vary", metavar="NAME=V1,V2,…", help=vary)

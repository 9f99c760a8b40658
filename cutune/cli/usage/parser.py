"""The one table of verbs, and a parser whose errors are diagnostics and whose help has an example.

The table feeds the parser, help, completion, the manual page and the dispatch.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from textwrap import fill, wrap
from typing import Any, NamedTuple, NoReturn

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic


class Verb(NamedTuple):
    """A verb, the module of `NAME_verb`, and that of `add_NAME` unless `cli.options` has it."""

    name: str
    module: str
    group: str
    help: str
    example: str
    options: str = ""

    def handler(self) -> Any:
        return getattr(import_module(self.module), f"{self.name}_verb")


#: Groups; of each verb its name, the modules of its function and its options; help; an example.
_TABLE = """\
tune a program
    inspect: cutune.cli.tuning
        list kernels and launches, and which can be tuned
        cutune inspect app.cu --suggest
    tune: cutune.cli.tuning
        all of it: instrument, collect, fit, emit
        cutune tune app.cu --run './{program} {n}' --vary n=128,256
    select: cutune.cli.asking
        which thread block a kernel would get at given sizes
        cutune select gemm --all-sizes 1024
    report: cutune.cli.asking
        one HTML page about everything that is known
        cutune report -o report.html
    nvcc: cutune.tuning.nvcc.driver
        nvcc, with instrumented or tuned sources
        make NVCC="cutune nvcc"
is it still the same?
    verify: cutune.cli.comparing
        run a program and its tuned form, and compare what they give
        cutune verify app.cu app.tuned.cu --run './{program} 100'
    shake: cutune.cli.comparing
        run a program with random legal configurations, and compare what it gives
        cutune shake app.cu --run './{program} 1000' --seeds 20
    run: cutune.cli.asking
        run a program on the emulated device; a .cu file is compiled for it first
        cutune run --check app.cu 1000
the steps of tune
    instrument: cutune.cli.tuning
        put hooks at the launches of a program
        cutune instrument app.cu -o app.instrumented.cu
    collect: cutune.cli.tuning
        run the program on the emulated device and count what its kernels do
        cutune collect app.cu --run './{program} {n}' --vary n=128,256
    fit: cutune.cli.tuning
        fit models to measurements
        cutune fit
    emit: cutune.cli.tuning
        write the program that chooses its thread blocks
        cutune emit app.cu -o app.tuned.cu
models and GPUs
    evaluate: cutune.cli.evaluating
        compare the chosen blocks with an exhaustive sweep, and with other strategies
        cutune evaluate app.cu --from sweep.json
    device: cutune.cli.asking
        list the GPUs that can be modelled, show one, or calibrate one
        cutune device h200
other tuners
    convert: cutune.lab.interchange.convert cutune.lab.verbs.options
        results of a search, from one tuner's format to another's
        cutune convert .cutune/trials.jsonl results.csv
    bat: cutune.lab.verbs.bat cutune.lab.verbs.options
        compare tuners on benchmarks, as the suite BAT does
        cutune bat -b sort -a kernel_tuner --replay sort.csv
this tool
    doctor: cutune.cli.doctor
        what this machine has and lacks
        cutune doctor
    help: cutune.cli.asking
        a page of the guide, what a message means, or how a verb is used
        cutune help CT211
"""


def _verbs() -> Iterator[Verb]:
    group, lines = "", iter(_TABLE.splitlines())
    for line in lines:
        if not line.startswith(" "):
            group = line
            continue
        name, modules = line.split(":")
        module, *options = modules.split()
        yield Verb(name.strip(), module, group, next(lines).strip(), next(lines).strip(), *options)


VERBS = tuple(_verbs())
#: What a status means to a shell or to continuous integration.
STATUSES = (
    (0, "done; what could not be tuned was said, and stays as it is"),
    (1, "an error in what was given, nothing could be tuned, or two programs differ"),
    (2, "wrong usage: nothing was done"),
    (3, "a launch that `inspect --require` names cannot be tuned, or there is none"),
    (130, "interrupted"),
)


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
        groups = (a for a in self._actions if isinstance(a, argparse._SubParsersAction))
        return {name: parser for group in groups for name, parser in group.choices.items()}

    @property
    def actions(self) -> list[argparse.Action]:
        return self._actions

    @property
    def options(self) -> dict[str, argparse.Action]:
        return self._option_string_actions

    def format_help(self) -> str:
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
                start, indent = f"  {verb.name:10}  ", " " * 14
                lines += wrap(verb.help, WIDTH, initial_indent=start, subsequent_indent=indent)
        return "\n".join(lines) + "\n"

    def error(self, message: str) -> NoReturn:
        verb = self.prog.partition(" ")[2]
        reason = f"{verb}: {message}" if verb else message
        self.fail(Diagnostic.at(Code.WRONG_USAGE, reason=reason, help=f"{self.prog} --help"))

    def fail(self, diagnostic: Diagnostic) -> NoReturn:
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

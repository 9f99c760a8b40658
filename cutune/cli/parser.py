"""The one table of verbs, a parser whose errors are diagnostics, and what is made of both: help.

The table feeds the parser, help with an example, completion, the manual page and the dispatch. A
row leads to two functions by the verb's name: `NAME_verb`, and `add_NAME` for its options. Help
takes a word, and gives a page of docs/, which a wheel holds, or the meaning of a code.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from pathlib import Path
from textwrap import dedent, fill, wrap
from typing import Any, NamedTuple, NoReturn

from cutune import __version__
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, meant, tell


class Verb(NamedTuple):
    """A verb, the module of `NAME_verb`, and that of `add_NAME` if it is not `cli.options`."""

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
    inspect: cutune.cli.inspecting
        list kernels and launches, and which can be tuned
        cutune inspect app.cu --suggest
    tune: cutune.cli.tune_verbs
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
    check: cutune.cli.judging
        is a kernel of any origin a right replacement of a reference? at which sizes?
        cutune check kernel.cu --against reference.cu
    run: cutune.cli.asking
        run a program on the emulated device; a .cu file is compiled for it first
        cutune run --check app.cu 1000
the steps of tune
    instrument: cutune.cli.tune_verbs
        put hooks at the launches of a program
        cutune instrument app.cu -o app.instrumented.cu
    collect: cutune.cli.tune_verbs
        run the program on the emulated device and count what its kernels do
        cutune collect app.cu --run './{program} {n}' --vary n=128,256
    fit: cutune.cli.tune_verbs
        fit models to measurements
        cutune fit
    emit: cutune.cli.tune_verbs
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
    convert: cutune.lab.interchange.convert cutune.lab.options
        results of a search, from one tuner's format to another's
        cutune convert .cutune/trials.jsonl results.csv
    bat: cutune.lab.bat cutune.lab.options
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
    """Parses the command line, or that of a verb. Its usage line leaves the options out."""

    def __init__(self, *, verb: Verb | None = None, **keywords: Any) -> None:
        if verb is not None:
            about = keywords.pop("description", f"{verb.help[0].upper()}{verb.help[1:]}.")
            keywords["description"] = f"example: {verb.example}\n\n{fill(about, WIDTH)}"
        # Short forms were written in full before (`arranged`); words of a program look like some.
        keywords |= {"allow_abbrev": False}
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
        tell(diagnostic)
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


PAGES = Path(__file__).parents[1] / "docs"
#: Folders with pages that have topics: the guide's first, what is behind it last.
_FOLDERS = ("guide", "verbs", "")
QUICK_START = "quick-start"
_CODE = re.compile(r"(?:CT)?(\d{3})", re.IGNORECASE)
_COMMENT = re.compile(r"^<!-- (?!options: ).*-->\n", re.MULTILINE)
_OPTIONS = re.compile(r"^<!-- options: \w+ -->$", re.MULTILINE)


def topics() -> dict[str, Path]:
    """The page of each topic."""
    pages = {QUICK_START: PAGES / "index.md"}
    for folder in _FOLDERS:
        for page in sorted((PAGES / folder).glob("*.md")):
            if page.stem == "index":
                continue
            # A verb and what is behind it may be called the same: then the title tells them apart.
            title = "-".join(title_of(page).lower().split())
            pages[title if page.stem in pages else page.stem] = page
    return pages


def title_of(page: Path) -> str:
    """Return the first heading of a page."""
    with page.open(encoding="utf-8") as lines:
        return next(lines).removeprefix("# ").strip()


def text_on(topic: str, options: str) -> str:
    """The Markdown of a topic. `options`: where a page lists those of its verb. Raises CT027."""
    code = _CODE.fullmatch(topic)
    if code is not None:
        by_number = {one.number: one for one in Code}
        if f"CT{code[1]}" not in by_number:
            raise _unknown(topic, [*by_number])
        return by_number[f"CT{code[1]}"].section("#")
    pages = topics()
    page = pages.get(topic.lower())
    if page is None:
        raise _unknown(topic, [*pages])
    text = _COMMENT.sub("", page.read_text(encoding="utf-8"))
    return _OPTIONS.sub(lambda _: f"## Options\n\n```text\n{options}```", text)


def _unknown(topic: str, known: list[str]) -> CutuneError:
    further = meant(topic, known) or "; cutune help lists the topics"
    return CutuneError.at(Code.UNKNOWN_TOPIC, name=topic, further=further)


SHELLS = ("bash", "zsh", "fish")
#: The verb whose argument is a topic.
_HELP = "help"


def completion(whole: Parser, shell: str) -> str:
    """The script for one of `SHELLS`."""
    lines = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](whole)
    return "\n".join([f"# Completion of cutune, made by: cutune help --completion {shell}", *lines])


def _bash(whole: Parser) -> Iterator[str]:
    yield "_cutune() {"
    yield "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} names=''"
    yield '    case "$COMP_CWORD:${COMP_WORDS[1]} $before" in'
    for name, parser in whole.verbs().items():
        for action in _options(parser):
            if action.choices is not None:
                spelled = "|".join(f"*:{name}' '{one}" for one in action.option_strings)
                yield f"    {spelled}) names='{_words(action)}' ;;"
    yield f"    1:*) names='{' '.join(verb.name for verb in VERBS)}' ;;"
    for name, parser in whole.verbs().items():
        names = [*(topics() if name == _HELP else ()), *parser.options]
        yield f"    *:{name}' '*) names='{' '.join(names)}' ;;"
    yield "    esac"
    # What is no option and no listed value is a file.
    yield '    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")'
    yield '    [ ${#COMPREPLY[@]} -gt 0 ] || mapfile -t COMPREPLY < <(compgen -f -- "$word")'
    yield "}"
    yield "complete -o filenames -F _cutune cutune\n"


def _zsh(whole: Parser) -> Iterator[str]:
    yield "#compdef cutune"
    yield "_cutune() {"
    yield "    local -a verbs=("
    yield from (f"        {_quoted(f'{verb.name}:{verb.help}')}" for verb in VERBS)
    yield "    )"
    yield "    if (( CURRENT == 2 )); then _describe verb verbs; return; fi"
    yield '    case "$words[2]" in'
    for name, parser in whole.verbs().items():
        specs = [
            _zsh_spec(action, one) for action in _options(parser) for one in action.option_strings
        ]
        rest = f"*:topic:({' '.join(topics())})" if name == _HELP else "*:file:_files"
        yield f"    {name}) shift words; (( CURRENT-- )); _arguments {' '.join(specs)} '{rest}' ;;"
    yield "    esac"
    yield "}"
    yield 'compdef _cutune cutune 2>/dev/null || _cutune "$@"\n'


def _zsh_spec(action: argparse.Action, spelling: str) -> str:
    text = help_of(action).translate(str.maketrans("[]:", "(),"))
    value = ""
    if action.nargs != 0:
        value = f":value:({_words(action)})" if action.choices is not None else ":value:_files"
    return _quoted(f"*{spelling}[{text}]{value}")


def _fish(whole: Parser) -> Iterator[str]:
    start = "complete -c cutune -n"
    for verb in VERBS:
        yield f"{start} __fish_use_subcommand -f -a {verb.name} -d {_quoted(verb.help)}"
    for name, parser in whole.verbs().items():
        here = f"{start} '__fish_seen_subcommand_from {name}'"
        for action in _options(parser):
            for one in action.option_strings:
                values = f" -x -a '{_words(action)}'" if action.choices is not None else ""
                needed = " -r" if action.nargs != 0 and not values else ""
                about = _quoted(help_of(action))
                yield f"{here} {_fish_option(one)}{values}{needed} -d {about}"
    yield f"{start} '__fish_seen_subcommand_from {_HELP}' -f -a '{' '.join(topics())}'\n"


def _fish_option(spelling: str) -> str:
    if spelling.startswith("--"):
        return f"-l {spelling[2:]}"
    return f"-{'s' if len(spelling) == 2 else 'o'} {spelling[1:]}"


def _options(parser: Parser) -> Iterator[argparse.Action]:
    return (action for action in parser.actions if action.option_strings)


def _words(action: argparse.Action) -> str:
    return " ".join(map(str, action.choices or ()))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def manual_page(whole: Parser) -> str:
    """cutune(1)."""
    return "\n".join(_lines(whole)) + "\n"


def _lines(whole: Parser) -> Iterator[str]:
    yield f'.TH CUTUNE 1 "" "cutune {__version__}" "User Commands"'
    yield ".SH NAME"
    yield f"cutune \\- {_roff(str(whole.description).rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield ".B cutune\n.I VERB\n[options] [words]"
    yield ".SH VERBS"
    yield "Verbs that compile take the options of nvcc as they are."
    for verb in VERBS:
        parser = whole.verbs()[verb.name]
        yield f".SS {_roff(parser.short_usage())}"
        yield _roff(dedent(parser.description or ""))
        for action in parser.actions:
            if not isinstance(action, argparse._HelpAction):
                yield f".TP\n.B {_roff(name_of(action))}\n{_roff(help_of(action))}"
    yield ".SH EXIT STATUS"
    for status, meaning in STATUSES:
        yield f".TP\n.B {status}\n{_roff(meaning)}"
    yield ".SH SEE ALSO"
    yield "cutune help shows the pages of the guide, and what each message means."


def _roff(text: str) -> str:
    """Escape backslashes, hyphens, and a dot or quote that begins a line."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("%%", "%")
    return "\n".join(
        f"\\&{line}" if line[:1] in (".", "'") else line for line in escaped.split("\n")
    )

"""Help: pages of the guide by topic, completion for shells, the manual page.

Takes a word, gives a page of docs/, which a wheel holds, or the meaning of a code; takes the
parser, gives a script for a shell, or roff for man.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from cutune import __version__
from cutune.cli.usage.parser import STATUSES, VERBS, Parser, help_of, name_of
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, meant

PAGES = Path(__file__).parents[2] / "docs"
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
    """Its first heading."""
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
        yield _roff(textwrap.dedent(parser.description or ""))
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

"""A command line as it is written. Takes words, gives them as `argparse` reads them.

Names are looked up here: verbs, options, and values of options that have a list of them. Options
come last, so that files may stand between them, and those of nvcc behind `--nvcc-flag`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NoReturn

from cutune.cli.usage.compile_commands import nvcc_option, read_pasted
from cutune.cli.usage.parser import Parser
from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic, known_names, meant
from cutune.tuning.nvcc.command import SPELLINGS

NVCC_FLAG, NVCC = "--nvcc-flag", "--nvcc"
#: All words behind its first input belong to the program that it runs.
RUN = "run"
_NUMBER = re.compile(r"-\.?\d")


def arranged(words: Sequence[str], whole: Parser) -> list[str]:
    """The words for `whole`; one that is not known ends the process with status 2."""
    verbs = whole.verbs()
    if not words:
        whole.error(f"name a verb: {', '.join(verbs)}")
    name, *rest = words
    if name in verbs:
        return [name, *_Reader(verbs, name).read(rest)]
    if name.startswith("-"):
        if name not in whole.options:
            whole.fail(_unknown_option(whole, name, (), verbs))
        return list(words)
    return whole.fail(Diagnostic.at(Code.UNKNOWN_VERB, name=name, known=known_names(name, verbs)))


class _Reader:
    def __init__(self, verbs: Mapping[str, Parser], name: str) -> None:
        self._verbs, self._parser = verbs, verbs[name]
        self._is_run = name == RUN
        self._compiles = NVCC_FLAG in self._parser.options
        self._options: list[str] = []
        self._inputs: list[str] = []

    def read(self, words: Sequence[str]) -> list[str]:
        rest = list(words)
        while rest:
            word = rest[0]
            if self._is_run and not word.startswith(("-", "@")):
                return [*self._options, *rest]
            if word == "--" and self._is_run:
                return [*self._options, *rest[1:]]
            if word == "--":
                self._read_command(rest[1:])
                break
            if word.startswith("@") and len(word) > 1 and self._compiles:
                self._options.append(f"--options-file={word[1:]}")
                del rest[0]
            elif not word.startswith("-") or word == "-":
                self._inputs.append(word)
                del rest[0]
            else:
                del rest[: self._read_option(rest)]
        return [*self._inputs, *self._options]

    def _read_command(self, words: Sequence[str]) -> None:
        if not self._compiles:
            self._inputs += words
            return
        pasted = read_pasted(words)
        for unknown in pasted.unknown:
            self._refuse(unknown)
        self._inputs += pasted.sources
        self._options += [f"{NVCC_FLAG}={flag}" for flag in pasted.flags]
        if pasted.nvcc is not None and NVCC not in self._options:
            self._options += [NVCC, pasted.nvcc]

    def _read_option(self, rest: Sequence[str]) -> int:
        """Take an option and its values; return how many words that were."""
        spelling, action, value = self._own(rest[0])
        if action is not None:
            values = self._values(action, rest[1:]) if value is None else []
            known = [str(choice) for choice in action.choices or ()]
            for one in values if value is None else [value]:
                if known and one not in known:
                    code, names = Code.UNKNOWN_VALUE, known_names(one, known)
                    self._parser.fail(Diagnostic.at(code, name=one, option=spelling, known=names))
            joined = f"{spelling}={values[0]}" if values and values[0].startswith("-") else None
            taken = [joined] if joined else [spelling, *values]
            self._options += taken if value is None else [f"{spelling}={value}"]
            return 1 + len(values)
        option = nvcc_option(rest) if self._compiles else None
        if option is None:
            self._refuse(rest[0])
        length, flags = option
        self._options += [f"{NVCC_FLAG}={flag}" for flag in flags]
        return length

    def _own(self, word: str) -> tuple[str, argparse.Action | None, str | None]:
        """An option of cutune: how it is written in full, and its value if it stands in the word.

        One that nvcc has comes before `-oFILE` and before the beginning of a long name.
        """
        known = self._parser.options
        spelling, equals, value = word.partition("=")
        if spelling in known:
            return spelling, known[spelling], value if equals else None
        if self._compiles and spelling in SPELLINGS:
            return word, None, None
        short = known.get(word[:2])
        if short is not None and short.nargs is None and len(word) > 2 and word[1] != "-":
            return word[:2], short, word[2:]  # `-Ifolder`
        begun = [name for name in known if word[:2] == "--" and name.startswith(spelling)]
        if len({id(known[name]) for name in begun}) == 1:
            return begun[0], known[begun[0]], value if equals else None
        return word, None, None

    def _values(self, action: argparse.Action, rest: Sequence[str]) -> list[str]:
        if action.nargs is None and rest:
            is_value = not rest[0].startswith("-") or _NUMBER.match(rest[0]) or rest[0] == "-"
            return [rest[0]] if is_value or NVCC_FLAG in action.option_strings else []
        if action.nargs not in ("+", "*", "?"):
            return []
        ends = (i for i, word in enumerate(rest) if word.startswith("-"))
        most = 1 if action.nargs == "?" else len(rest)
        return list(rest[: min(next(ends, len(rest)), most)])

    def _refuse(self, word: str) -> NoReturn:
        others = SPELLINGS if self._compiles else ()
        self._parser.fail(_unknown_option(self._parser, word, others, self._verbs))


def _unknown_option(
    parser: Parser, word: str, others: Collection[str], verbs: Mapping[str, Parser]
) -> Diagnostic:
    name = word.partition("=")[0]
    having = [f"cutune {verb}" for verb, own in verbs.items() if name in own.options]
    nearest = f"; it is one of {', '.join(having)}" if having else ""
    nearest = nearest or meant(name, parser.options) or meant(name, others)
    further = f", nor has nvcc{nearest}" if others else nearest
    return Diagnostic.at(Code.UNKNOWN_OPTION, prog=parser.prog, name=name, further=further)

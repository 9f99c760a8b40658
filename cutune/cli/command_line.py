"""A command line as it is written, and the sources that it names.

Takes words, gives them as `argparse` reads them. Names are looked up here: verbs, options, and
values of options that have a list of them. Options come last, so that files may stand between them,
and those of nvcc behind `--nvcc-flag`.

Of a compile command that is pasted behind `--`, what says how far nvcc goes and where its output
lies is left out: cutune compiles for itself. Of one in a compile_commands.json only what the code
depends on is taken, so that a project of a stranger names neither a compiler nor a plug-in that
would run: CMake's response files are read, not handed on.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import NoReturn

from cutune.cli.parser import Parser
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, known_names, meant
from cutune.core.reading import read_file
from cutune.tuning.nvcc.command import (
    DEPENDENCIES_TOO,
    DEVICE_ONLY,
    FLAG,
    INFORMS,
    KINDS,
    PREPROCESSES,
    SPELLINGS,
    STOPS_AT_OBJECT,
    VALUE,
    Command,
    Item,
    split_list,
)

NVCC_FLAG, NVCC, VARY = "--nvcc-flag", "--nvcc", "--vary"
#: All words behind its first input belong to the program that it runs.
RUN = "run"
#: Where a value of `--vary` belongs.
_PLACE = re.compile(r"\{\w+\}")
_VARIATION = re.compile(r"(?!\d)\w+=.")
_NUMBER = re.compile(r"-\.?\d")
UNKNOWN = "?"
#: About the output of this one call.
_OUTPUT = frozenset(
    ["output-file", "output-directory", "dependency-output", "dependency-target-name"]
)
_LEFT_OUT = frozenset(
    [
        *("generate-dependency-targets", "link", "run", "lib", "cuda", "shared", "device-link"),
        *(*_OUTPUT, *DEPENDENCIES_TOO, *DEVICE_ONLY, *INFORMS, *PREPROCESSES, *STOPS_AT_OBJECT),
    ]
)
#: With these nvcc hands on what it does not know.
_FORWARDING = ("forward-unknown-to-host-compiler", "forward-unknown-opts")
#: What only a linker reads.
_LINKED = (".o", ".obj", ".a", ".so", ".lib")


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
    known = known_names(name, verbs)
    if os.path.exists(name):
        known += f"; to see what can be tuned: cutune inspect {shlex.quote(name)}"
    return whole.fail(Diagnostic.at(Code.UNKNOWN_VERB, name=name, known=known))


def _unquoted(words: Sequence[str]) -> str:
    """What to write for a command line whose words stand behind `--run` as several."""
    run = " ".join(takewhile(lambda word: not word.startswith("-"), words))
    return f"the command line that is run is one word: --run {shlex.quote(run)}"


def _apart(words: Sequence[str]) -> str:
    """What to write for variations that stand behind one option."""
    varied = takewhile(_VARIATION.match, words)
    return f"each name has an option of its own: {' '.join(f'{VARY} {one}' for one in varied)}"


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
                if _PLACE.fullmatch(word) and self._options[-2:-1] == ["--run"]:
                    self._parser.error(_unquoted([self._options[-1], *rest]))
                if (
                    self._options[-2:-1] == [VARY]
                    and _VARIATION.match(word)
                    and not os.path.exists(word)
                ):
                    self._parser.error(_apart([self._options[-1], *rest]))
                self._inputs.append(word)
                del rest[0]
            else:
                del rest[: self._read_option(rest)]
        return [*self._inputs, *self._options]

    def _read_command(self, words: Sequence[str]) -> None:
        """A compile command; its compiler may stand before it."""
        if not self._compiles:
            self._inputs += words
            return
        compiler, words = without_compiler(words)
        command = Command.parse(words)
        forwards = command.has(_FORWARDING)
        for item in command.items:
            if item.first < 0:
                continue
            if item.name or item.value.startswith("@"):
                if item.name == UNKNOWN and not forwards:
                    self._refuse(item.value)
                self._hand_on(_kept(command, item))
            elif item.value.endswith(_LINKED):
                self._hand_on([f"-Xlinker={item.value}"])
            else:
                self._inputs.append(item.value)
        if compiler is not None and NVCC not in self._options:
            self._options += [NVCC, compiler]

    def _hand_on(self, flags: Sequence[str]) -> None:
        self._options += [f"{NVCC_FLAG}={flag}" for flag in flags]

    def _read_option(self, rest: Sequence[str]) -> int:
        """Take an option and its values; return how many words that were."""
        spelling, action, value = self._own(rest[0])
        if action is None:
            return self._read_option_of_nvcc(rest)
        values = self._values(action, rest[1:]) if value is None else [value]
        known = [str(choice) for choice in action.choices or ()]
        for one in values:
            if known and one not in known:
                code, names = Code.UNKNOWN_VALUE, known_names(one, known)
                self._parser.fail(Diagnostic.at(code, name=one, option=spelling, known=names))
        if value is not None:
            self._options.append(f"{spelling}={value}")
            return 1
        # A value that looks like an option is joined to its own.
        is_joined = bool(values) and values[0].startswith("-")
        self._options += [f"{spelling}={values[0]}"] if is_joined else [spelling, *values]
        return 1 + len(values)

    def _read_option_of_nvcc(self, rest: Sequence[str]) -> int:
        if not self._compiles:
            self._refuse(rest[0])
        command = Command.parse(rest[:2])
        item = command.items[0]
        if item.name in ("", UNKNOWN):
            self._refuse(rest[0])
        self._hand_on(_kept(command, item))
        return item.length

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


def _kept(command: Command, item: Item) -> list[str]:
    """An option as cutune hands it on to nvcc; none where it only concerns the output."""
    if item.name == "device-c":
        return ["-rdc=true"]
    if item.name in _LEFT_OUT:
        return []
    if not item.name:
        return [f"--options-file={item.value[1:]}"]
    if KINDS.get(item.name) == VALUE and item.length == 2:
        return [f"--{item.name}={item.value}"]
    return list(command.words_of(item))


def without_compiler(words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """`/usr/bin/ccache /cuda/bin/nvcc` before the first option or source, where it stands there."""
    for index, word in enumerate(words):
        if word.startswith("-") or word.endswith(".cu"):
            break
        if os.path.basename(word) == "nvcc":
            return (word if os.sep in word else None), words[index + 1 :]
    return None, words


DATABASE = "compile_commands.json"
#: Names of what cutune writes beside a source.
_WRITTEN = (".tuned", ".instrumented")
_PATHS = ("include-path", "system-include", "pre-include")
_HOST_OPTIONS = "compiler-options"
#: Options that the compiled code depends on.
_ABOUT_CODE = frozenset(
    [
        *("define-macro", "undefine-macro", "std", "machine", "m64", "gpu-architecture"),
        *("gpu-code", "generate-code", "ftz", "prec-div", "prec-sqrt", "fmad", "use_fast_math"),
        *("maxrregcount", "relocatable-device-code", "optimize", "dopt", "extended-lambda"),
        *("expt-extended-lambda", "expt-relaxed-constexpr", "default-stream", "device-debug"),
        *("no-host-device-initializer-list", "no-host-device-move-forward", "no-exceptions"),
        "restrict",
    ]
)
#: The same of the host's compiler.
_HOST = re.compile(r"-(?:std=|m|O|D|U|pthread|f(?!plugin|dump|pass))[\w=+.-]*")


@dataclass(frozen=True)
class Input:
    """A source, and the options of nvcc that it is compiled with besides those of the verb."""

    path: str
    flags: tuple[str, ...] = ()


def inputs_of(words: Sequence[str]) -> list[Input]:
    """The sources that the words name, each once with the same options. Raises CT001, CT028."""
    inputs: list[Input] = []
    for word in words:
        path = Path(word)
        if path.is_dir() and (path / DATABASE).is_file():
            path = path / DATABASE
        if path.is_dir():
            sources = [Input(str(file)) for file in _sources_below(path)]
        else:
            sources = list(_compiled_by(path)) if path.suffix == ".json" else [Input(word)]
        if not sources:
            raise CutuneError.at(Code.NO_SOURCE_THERE, path=word)
        inputs += sources
    return list(dict.fromkeys(inputs))


def _sources_below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*.cu")):
        parts = path.relative_to(folder).parts
        endings = {ending for part in parts for ending in Path(part).suffixes[-2:]}
        if endings.isdisjoint(_WRITTEN) and not any(part.startswith(".") for part in parts):
            yield path


def _compiled_by(database: Path) -> Iterator[Input]:
    """The CUDA sources of a compile_commands.json, as clang's documentation describes it."""
    # Who builds cutune reads its options without what this needs.
    from cutune.core.typed import parsed

    try:
        entries = parsed(read_file(str(database)).encode())
        commands = [_command_of(entry, database.parent) for entry in entries]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        reason = f"it is no list of compile commands ({type(error).__name__}: {error})"
        raise CutuneError.at(Code.UNREADABLE_FILE, path=database, reason=reason) from error
    for folder, file, words in commands:
        command = _parsed(words, folder)
        if file.endswith(".cu") or command.last("x") in ("cu", "cuda"):
            flags = tuple(flag for item in command.items for flag in _about_code(item, folder))
            yield Input(os.path.relpath(os.path.join(folder, file)), flags)


def _command_of(entry: dict[str, object], beside: Path) -> tuple[str, str, list[str]]:
    words = entry.get("arguments")
    if words is None:
        words = shlex.split(str(entry["command"]))
    if not isinstance(words, list):
        raise TypeError("arguments are no list")
    folder = os.path.abspath(beside / str(entry["directory"]))
    return folder, str(entry["file"]), [str(word) for word in words]


def _parsed(words: Sequence[str], folder: str) -> Command:
    """A command, with the response files that it names, seen from its folder."""
    _, rest = without_compiler(words)
    if rest is words:  # another compiler
        rest = words[1:]
    if not os.path.isdir(folder):
        return Command.parse(rest)
    with chdir(folder):
        return Command.parse(rest)


def _about_code(item: Item, folder: str) -> Iterator[str]:
    if item.name in _PATHS:
        for path in split_list(item.value):
            yield f"--{item.name}={os.path.normpath(os.path.join(folder, path))}"
    elif item.name == _HOST_OPTIONS:
        kept = [value for value in split_list(item.value) if _HOST.fullmatch(value)]
        yield from (f"-Xcompiler={value}" for value in kept)
    elif item.name in _ABOUT_CODE:
        yield f"--{item.name}" if KINDS[item.name] == FLAG else f"--{item.name}={item.value}"

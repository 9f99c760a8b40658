"""Compile commands and inputs of `inspect`. Takes words or files, gives sources and options.

Of a compile command only what the code depends on is taken, so that a project of a stranger names
neither a compiler nor a plug-in that would run: CMake's response files are read, not handed on. Of
a command that is pasted behind `--`, what says how far nvcc goes and where its output lies is left
out: cutune compiles for itself.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.reading import read_file
from cutune.tuning.nvcc.command import (
    DEPENDENCIES_TOO,
    DEVICE_ONLY,
    FLAG,
    INFORMS,
    KINDS,
    PREPROCESSES,
    STOPS_AT_OBJECT,
    VALUE,
    Command,
    Item,
    split_list,
)

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


@dataclass(frozen=True)
class Pasted:
    """Sources and options of a compile command. `unknown`: options that nvcc does not have."""

    sources: tuple[str, ...]
    flags: tuple[str, ...]
    nvcc: str | None
    unknown: tuple[str, ...]


def read_pasted(words: Sequence[str]) -> Pasted:
    """Read a command; its compiler may stand before it."""
    compiler, words = without_compiler(words)
    command = Command.parse(words)
    sources, flags, unknown = list[str](), list[str](), list[str]()
    forwards = command.has(_FORWARDING)
    for item in command.items:
        if item.first < 0:
            continue
        if not item.name and not item.value.startswith("@"):
            if item.value.endswith(_LINKED):
                flags.append(f"-Xlinker={item.value}")
            else:
                sources.append(item.value)
        elif item.name == UNKNOWN and not forwards:
            unknown.append(item.value)
        else:
            flags += _kept(command, item)
    return Pasted(tuple(sources), tuple(flags), compiler, tuple(unknown))


def nvcc_option(words: Sequence[str]) -> tuple[int, list[str]] | None:
    """How many words the option of nvcc that begins the words takes, and how it is handed on.

    None where nvcc is not known to have it.
    """
    command = Command.parse(words[:2])
    item = command.items[0]
    return (item.length, _kept(command, item)) if item.name not in ("", UNKNOWN) else None


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
    try:
        entries = json.loads(read_file(str(database)).encode())
        commands = [_command_of(entry, database.parent) for entry in entries]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
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

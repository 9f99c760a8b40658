"""One command line of nvcc, word for word. Takes the words, gives what they mean and where.

Nothing is normalised: the words are nvcc's own, so that `Command.parse(words).words == words`. Each
of its sources has a key in a workspace. A command with nothing to do is run as it is.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from cutune.tuning.nvcc.options import (
    ATTACHED,
    DECIDES_TEXT,
    DEPENDENCIES_TOO,
    DEVICE_ONLY,
    FLAG,
    INFORMS,
    KINDS,
    PREPROCESSES,
    SPELLINGS,
    STOPS_AT_OBJECT,
)

#: Response files may name others; so deep they are followed.
_DEEPEST = 8


#: In place of the index of a word: it stands in a response file, or in a variable.
IN_FILE, IN_ENVIRONMENT = -1, -2


class Item(NamedTuple):
    """An option with its value, or an input (`name` is empty).

    `first` is the index of its first word, or IN_FILE or IN_ENVIRONMENT.
    """

    name: str
    value: str
    first: int
    length: int


class Command(NamedTuple):
    """A command line as nvcc reads it, in the order in which it does."""

    words: tuple[str, ...]
    items: tuple[Item, ...]

    @staticmethod
    def parse(words: Sequence[str], before: str = "", after: str = "") -> Command:
        """Read the words; `before` and `after` are NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS."""
        items = [
            *_placed(_split(before), IN_ENVIRONMENT),
            *_read(words, 0),
            *_placed(_split(after), IN_ENVIRONMENT),
        ]
        return Command(tuple(words), tuple(items))

    def has(self, names: Iterable[str]) -> bool:
        """Is one of these options given?"""
        return any(item.name in names for item in self.items if item.name)

    def last(self, name: str) -> str | None:
        """The value that counts of an option with one value."""
        return next((item.value for item in reversed(self.items) if item.name == name), None)

    def values(self, name: str) -> list[str]:
        """All values of a list option."""
        return [v for item in self.items if item.name == name for v in split_list(item.value)]

    @property
    def inputs(self) -> tuple[Item, ...]:
        """The files that it names."""
        return tuple(item for item in self.items if not item.name)

    @property
    def sources(self) -> tuple[Item, ...]:
        """The inputs that are compiled as CUDA."""
        language = self.last("x")
        if language is not None:
            return self.inputs if language == "cu" else ()
        return tuple(item for item in self.inputs if item.value.endswith(".cu"))

    @property
    def makes_host_code(self) -> bool:
        """Does it compile sources into something that launches kernels?"""
        return bool(self.sources) and not (
            self.has(INFORMS) or self.has(PREPROCESSES) or self.has(DEVICE_ONLY)
        )

    @property
    def links(self) -> bool:
        """Does it make a program or shared library?"""
        others = (INFORMS, PREPROCESSES, DEVICE_ONLY, STOPS_AT_OBJECT)
        named = ("cuda", "device-link", "lib")
        return bool(self.inputs) and not (any(map(self.has, others)) or self.has(named))

    def outputs(self) -> list[str]:
        """The objects or the program that it makes, as nvcc names them."""
        if not self.inputs or self.has(INFORMS) or self.has(PREPROCESSES):
            return []
        named = self.last("output-file")
        if named is not None:
            return [named]
        if self.links:
            return ["a.out"]
        if not self.has(STOPS_AT_OBJECT):
            return []
        return [self._beside(item.value, ".o") for item in self.inputs]

    def dependency_files(self) -> list[str]:
        """The files that -MD or -MMD writes (nvcc's manual, 4.2.1.14)."""
        if not self.has(DEPENDENCIES_TOO):
            return []
        named = self.last("dependency-output")
        if named is not None:
            return [named]
        output = self.last("output-file")
        if output is not None:
            return [os.path.splitext(output)[0] + ".d"]
        return [self._beside(item.value, ".d") for item in self.inputs]

    def _beside(self, path: str, suffix: str) -> str:
        name = os.path.splitext(os.path.basename(path))[0] + suffix
        return os.path.join(self.last("output-directory") or "", name)

    def words_of(self, item: Item) -> tuple[str, ...]:
        """An item as words, also where it stands in a response file."""
        if item.first >= 0:
            return self.words[item.first : item.first + item.length]
        if not item.name or item.name == "?":
            return (item.value,)
        return (f"--{item.name}",) if KINDS[item.name] == FLAG else (f"--{item.name}", item.value)


def split_list(value: str) -> list[str]:
    """The values of a list; a comma may be escaped, or stand between quotes."""
    parts, quote, index = [""], "", 0
    while index < len(value):
        character = value[index]
        if character == "\\" and value[index + 1 : index + 2] == ",":
            parts[-1] += ","
            index += 2
            continue
        if character in "\"'" and quote in ("", character):
            quote = "" if quote else character
        if character == "," and not quote:
            parts.append("")
        else:
            parts[-1] += character
        index += 1
    return parts


def _read(words: Sequence[str], depth: int) -> Iterator[Item]:
    index = 0
    while index < len(words):
        item = _item(words, index)
        index += item.length
        yield item
        if depth < _DEEPEST:
            for path in _response_files(item):
                yield from _placed(_split(_text_of(path)), IN_FILE, depth + 1)


def _item(words: Sequence[str], index: int) -> Item:
    word = words[index]
    if not word.startswith("-") or word == "-":
        return Item("", word, index, 1)
    spelling, equals, value = word.partition("=")
    name = SPELLINGS.get(word) or SPELLINGS.get(spelling if equals else "")
    if name is None:
        for prefix in ATTACHED:
            if word.startswith(prefix):
                return Item(SPELLINGS[prefix], word[len(prefix) :].removeprefix("="), index, 1)
        # nvcc may know an option that the table does not, and says so where it does not either.
        return Item("?", word, index, 1)
    if KINDS[name] == FLAG or equals:
        return Item(name, value if equals else "", index, 1)
    if index + 1 == len(words):
        return Item(name, "", index, 1)
    return Item(name, words[index + 1], index, 2)


def _placed(words: Sequence[str], place: int, depth: int = 0) -> Iterator[Item]:
    return (item._replace(first=place) for item in _read(words, depth))


def _response_files(item: Item) -> list[str]:
    if item.name == "options-file":
        return split_list(item.value)
    return [item.value[1:]] if not item.name and item.value.startswith("@") else []


def _text_of(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""  # nvcc says it


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def run_instead(launcher: Sequence[str], words: Sequence[str]) -> int:
    """Become nvcc."""
    # Where nothing was to be done, nothing was imported.
    if temporary := sys.modules.get("cutune.core.temporary"):
        temporary.discard()
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(launcher[0], [*launcher, *words])
    except OSError as error:
        print(f"cutune nvcc: cannot run {launcher[0]}: {error.strerror}", file=sys.stderr)
        return 127


#: The folder of a workspace that holds one folder per key.
UNITS = "units"
#: Stands in that of a source whose kernels others launch.
LENDS = "lends"


def unit_key(command: Command, source: Item) -> str:
    """The key of a source: a hash of its path, macros and forced headers."""
    # Most calls have no workspace, and start quicker without.
    import hashlib  # noqa: PLC0415

    deciding = [(i.name, i.value) for i in command.items if i.name in DECIDES_TEXT]
    deciding += [
        ("compiler-options", value)
        for value in command.values("compiler-options")
        if value.startswith(("-D", "-U", "-include"))
    ]
    identity = repr((os.path.realpath(source.value), deciding))
    return hashlib.sha256(identity.encode(errors="surrogateescape")).hexdigest()[:16]

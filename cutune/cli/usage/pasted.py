"""Compile commands as they are pasted. Takes the words of one, gives sources and options of nvcc.

What says how far nvcc goes and where its output lies is left out: cutune compiles for itself.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from cutune.nvcc.command import Command, Item
from cutune.nvcc.options import (
    DEPENDENCIES_TOO,
    DEVICE_ONLY,
    INFORMS,
    KINDS,
    PREPROCESSES,
    STOPS_AT_OBJECT,
    VALUE,
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


def nvcc_item(words: Sequence[str]) -> Item | None:
    """The option of nvcc that begins the words; None where nvcc is not known to have it."""
    item = Command.parse(words[:2]).items[0]
    return item if item.name not in ("", UNKNOWN) else None


def kept_words(words: Sequence[str]) -> list[str]:
    """An option as cutune hands it on to nvcc; none where it only concerns the output."""
    command = Command.parse(words)
    return _kept(command, command.items[0])


def _kept(command: Command, item: Item) -> list[str]:
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

"""How a Makefile names nvcc. Takes the command of make, gives the one that goes on with cutune."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

#: Where make looks, in its order.
_NAMES = ("GNUmakefile", "makefile", "Makefile")
_ASSIGNED = re.compile(
    r"^[ \t]*(?:export[ \t]+)?(\w+)[ \t]*(?:[:?]{0,2}=)[ \t]*(\S+)", re.MULTILINE
)
_NVCC = re.compile(r"(?:.*/)?nvcc")
_IN_RECIPE = re.compile(r"^\t.*\bnvcc\b", re.MULTILINE)
#: What most Makefiles call it.
USUAL = "NVCC"


def is_make(command: str) -> bool:
    """Is it make alone, with nothing before it?"""
    return command.split(maxsplit=1)[:1] in (["make"], ["gmake"])


def compiler_variable(command: str, folder: Path = Path()) -> str | None:
    """The variable by which make is given another nvcc; None: its rules say nvcc themselves.

    Args:
        command: the one of make.
        folder: where it is run.
    """
    text = _text(_words(command), folder)
    named = (str(one[1]) for one in _ASSIGNED.finditer(text) if _NVCC.fullmatch(one[2]))
    used = [name for name in dict.fromkeys(named) if _is_used(name, text)]
    if USUAL in used or _is_used(USUAL, text):
        return USUAL
    if used:
        return used[0]
    # Without a rule that compiles, other Makefiles do.
    return None if _IN_RECIPE.search(text) else USUAL


def kept_tuned(command: str, stand_in: str) -> str:
    """The command that leaves a project tuned from now on.

    Args:
        stand_in: the folder with an nvcc that is cutune, from the current one.
    """
    name = compiler_variable(command)
    if name is None:
        return f'PATH="$PWD/{stand_in}:$PATH" {command}'
    return f'{command} {name}="cutune nvcc"'


def _is_used(name: str, text: str) -> bool:
    return f"$({name})" in text or f"${{{name}}}" in text


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _text(words: Sequence[str], folder: Path) -> str:
    """The Makefile, if it is read from here; and what the command line assigns."""
    named: list[str] = []
    for option, value in pairwise([*words, ""]):
        if option == "-C":
            folder = folder / value
        if option == "-f":
            named.append(value)
    assigned = [word for word in words if "=" in word]
    for name in named or _NAMES:
        try:
            text = (folder / name).read_text(encoding="latin-1")
        except OSError:
            continue
        return "\n".join([*assigned, text])
    return "\n".join(assigned)

"""Kernels that a name alone stands for. Takes a preprocessed unit, gives their names.

A name that occurs only in one definition of a kernel and in launches cannot be a variable, a
member, a parameter or an overload. It means that kernel if no macro has the name, and if the
preprocessed text launches it as often as the written text. For any other the compiler is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from cutune.core.source import Source
from cutune.frontend.syntax.directives import COMMENT
from cutune.frontend.syntax.parse import Launch, Syntax
from cutune.frontend.unit.unit import Unit

_NAME = re.compile(r"[A-Za-z_]\w*")
#: What may stand between words, spelled in any way.
_SPACE = rf"(?:[ \t\f\v]|{COMMENT}|\\\r?\n)"
_MACRO = re.compile(rf"(?:#|%:){_SPACE}*define{_SPACE}+(\w+)")
#: Line markers name files, which may be called as kernels are.
_MARKER = re.compile(r"^#[^\n]*", re.MULTILINE)


def certain_kernels(
    unit: Unit, expanded: str, written: Iterable[Syntax], sources: Iterable[Source]
) -> frozenset[str]:
    """Names that can only mean one kernel.

    Args:
        written: the files with launches, as the user wrote them.
        sources: all of the user's files.
    """
    defined = Counter(k.name for part in unit.parts for k in part.syntax.kernels)
    launched = Counter(_launched(part.syntax for part in unit.parts))
    named = Counter(_launched(written))
    text = Counter(_NAME.findall(_MARKER.sub("", expanded)))
    macros = {name for source in sources for name in _MACRO.findall(source.text)}
    return frozenset(
        name
        for name, count in defined.items()
        if count == 1 and text[name] == 1 + launched[name] and launched[name] == named[name]
    ).difference(macros)


def _launched(files: Iterable[Syntax]) -> Iterable[str]:
    return (_name(syntax, launch) for syntax in files for launch in syntax.launches)


def _name(syntax: Syntax, launch: Launch) -> str:
    """The last name of the callee, template arguments left out."""
    first, last = launch.callee
    name, depth = "", 0
    for token in syntax.tokens[first : last + 1]:
        depth += {"<": 1, ">": -1}.get(token.text, 0)
        if depth == 0 and token.kind == "IDENTIFIER":
            name = token.text
    return name

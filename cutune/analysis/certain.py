"""Kernels that a name alone stands for. Takes a preprocessed unit, gives their names.

A name that occurs nowhere in a unit but in one definition of a kernel and in launches cannot be
that of a variable, a member, a parameter or an overload. For any other the compiler is asked.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from cutune.analysis.unit import Part, Unit
from cutune.syntax import Launch, Syntax

_NAME = re.compile(r"[A-Za-z_]\w*")
#: Line markers name files, which may be called as kernels are.
_MARKER = re.compile(r"^#[^\n]*", re.MULTILINE)


def certain_kernels(unit: Unit, expanded: str) -> frozenset[str]:
    """Names of kernels, each of which is all that the name can mean."""
    defined = Counter(k.name for part in unit.parts for k in part.syntax.kernels)
    launched = Counter(_launched(unit.parts))
    text = Counter(_NAME.findall(_MARKER.sub("", expanded)))
    return frozenset(
        name for name, count in defined.items() if count == 1 and text[name] == 1 + launched[name]
    )


def _launched(parts: Iterable[Part]) -> Iterable[str]:
    return (_name(part.syntax, launch) for part in parts for launch in part.syntax.launches)


def _name(syntax: Syntax, launch: Launch) -> str:
    """The last name of the callee, template arguments left out."""
    first, last = launch.callee
    name, depth = "", 0
    for token in syntax.tokens[first : last + 1]:
        depth += {"<": 1, ">": -1}.get(token.text, 0)
        if depth == 0 and token.kind == "IDENTIFIER":
            name = token.text
    return name

"""The names in integer expressions of C. Text in, text out."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAME = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*")


def names_in(text: str) -> list[str]:
    """The names in C text, members as one: `grid.nx`."""
    return _NAME.findall(text)


def renamed(text: str, names: Mapping[str, str]) -> str:
    """C text with other names in place of some."""
    return _NAME.sub(lambda found: names.get(found[0], found[0]), text)

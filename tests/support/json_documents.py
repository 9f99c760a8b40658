"""The page docs/json.md, and documents: the paths of keys in both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "json.md"


def documented(verb: str) -> set[str]:
    """The paths in the table of a verb."""
    text = PAGE.read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## {verb}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return {path for row in re.findall(r"^\| (`.*?) \|", section, re.M) for path in names(row)}


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def paths(value: object, free: set[str], at: str = "") -> Iterator[str]:
    """Paths as the page writes them: `launches[].kernel`; `guards.*` where keys are names."""
    if isinstance(value, dict):
        for key, one in value.items():
            path = f"{at}.*" if f"{at}.*" in free else f"{at}.{key}".lstrip(".")
            yield path
            yield from paths(one, free, path)
    elif isinstance(value, list):
        for one in value:
            yield from paths(one, free, f"{at}[]")

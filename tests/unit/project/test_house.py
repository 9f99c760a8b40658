"""The order of packages: a module imports only from its own package or an earlier one.

The order is that of the map in docs/system.md, which has every module.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SYSTEM = (ROOT / "docs/system.md").read_text(encoding="utf-8")
MAP = SYSTEM.partition("## Map\n")[2].partition("\n## ")[0]
#: The order of packages, as paths.
PACKAGES = re.findall(r"^\*\*`([\w/]+)/`\*\*", MAP, re.MULTILINE)
MOST_LINES = 450
MOST_MODULES = 12
#: A table with a row per message: an enumeration, which Python cannot split.
LONGER = {"cutune/core/codes.py"}


def modules() -> Iterator[Path]:
    for folder in (ROOT / "cutune", ROOT / "passes"):
        for path in sorted(folder.rglob("*.py")):
            if not (folder.name == "cutune" and path.is_relative_to(ROOT / "cutune/passes")):
                yield path.relative_to(ROOT)


MODULES = [path for path in modules() if path.parent != Path("cutune")]


def dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    parts = parts if parts[0] == "cutune" else ("cutune", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


BY_NAME = {dotted(path): path for path in MODULES}


def imported(path: Path) -> Iterator[Path]:
    """What a module imports, anywhere in it: types and lazy imports too."""
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                found = BY_NAME.get(f"{node.module}.{alias.name}", BY_NAME.get(node.module))
                if found is not None:
                    yield found
        elif isinstance(node, ast.Import):
            yield from (BY_NAME[alias.name] for alias in node.names if alias.name in BY_NAME)


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_imports_no_later_package(path: Path) -> None:
    place = PACKAGES.index(str(path.parent))
    later = [p for p in imported(path) if PACKAGES.index(str(p.parent)) > place]
    assert later == []


def test_no_circle_of_modules() -> None:
    waiting = {path: {p for p in imported(path) if p != path} for path in MODULES}
    while ready := [path for path, needed in waiting.items() if not needed & waiting.keys()]:
        for path in ready:
            del waiting[path]
    assert waiting == {}


def test_every_module_is_on_the_map() -> None:
    rows = {
        f"{package}/{name}.py"
        for package, table in re.findall(r"^\*\*`([\w/]+)/`\*\*(.*?)(?=^\*\*|\Z)", MAP, re.M | re.S)
        for name in re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    }
    assert rows == {str(path) for path in MODULES if path.name != "__init__.py"}


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_no_module_is_long(path: Path) -> None:
    lines = (ROOT / path).read_text(encoding="utf-8").count("\n")
    assert lines <= MOST_LINES or str(path) in LONGER


def test_no_package_is_crowded() -> None:
    held = Counter(str(path.parent) for path in MODULES if path.name != "__init__.py")
    assert {package: count for package, count in held.items() if count > MOST_MODULES} == {}

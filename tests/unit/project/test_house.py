"""The house: which room may import which, how modules are cut, and what names and docstrings keep.

The order of rooms is that of the table in docs/system.md.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SYSTEM = (ROOT / "docs/system.md").read_text(encoding="utf-8")
TABLE = SYSTEM.partition("## The rooms\n")[2].partition("\n## ")[0]
#: Rooms from low to high.
ROOMS = re.findall(r"^\| `(\w+)` \|", TABLE, re.MULTILINE)
MOST_LINES = 600
#: A module with one importer that is shorter than this belongs to its importer.
CRUMB_LINES = 80
MOST_CRUMBS = 20
MOST_MODULES = 380
MOST_WORDS = 4000


def modules() -> Iterator[Path]:
    """Each module once; `cutune/passes` and `cutune/grammars` are links."""
    for folder in ("cutune", "passes"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            relative = path.relative_to(ROOT)
            if relative.parts[:2] not in {("cutune", "passes"), ("cutune", "grammars")}:
                yield relative


MODULES = list(modules())


def dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    parts = parts if parts[0] == "cutune" else ("cutune", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


BY_NAME = {dotted(path): path for path in MODULES}


def room(path: Path) -> str | None:
    """The room of a module; None for what starts the program."""
    if path.parts[0] == "passes":
        return "source"
    return path.parts[1] if len(path.parts) > 2 else None


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


@cache
def lines(path: Path) -> int:
    return (ROOT / path).read_text(encoding="utf-8").count("\n")


@cache
def imported(path: Path) -> frozenset[Path]:
    """The modules that a module imports, anywhere in it: types and lazy imports too."""
    names = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                names.add(name if name in BY_NAME else node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return frozenset(BY_NAME[name] for name in names if name in BY_NAME) - {path}


def test_the_rooms_are_the_folders() -> None:
    folders = {path.parts[1] for path in MODULES if path.parts[0] == "cutune" and room(path)}
    assert folders == set(ROOMS)
    assert len(ROOMS) <= 14


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_a_module_imports_no_later_room(path: Path) -> None:
    own = room(path)
    if own is None:
        return
    rooms = [(room(other), other) for other in imported(path)]
    later = [other for name, other in rooms if name and ROOMS.index(name) > ROOMS.index(own)]
    assert later == []


def test_no_circle_of_modules() -> None:
    """Those in rooms; `cutune/__init__.py` binds the functions of `cli` for Python."""
    inside = {path for path in MODULES if room(path)}
    waiting = {path: set(imported(path) & inside) for path in inside}
    while ready := [path for path, needed in waiting.items() if not needed & waiting.keys()]:
        for path in ready:
            del waiting[path]
    assert waiting == {}


def test_no_module_is_long() -> None:
    tests = (path.relative_to(ROOT) for path in (ROOT / "tests").rglob("*.py"))
    long = {str(path): lines(path) for path in (*MODULES, *tests) if lines(path) > MOST_LINES}
    assert long == {}


def test_few_crumbs() -> None:
    importers: Counter[Path] = Counter()
    for path in MODULES:
        importers.update(imported(path))
    crumbs = [
        str(path)
        for path in MODULES
        if path.name != "__init__.py" and importers[path] == 1 and lines(path) < CRUMB_LINES
    ]
    assert len(crumbs) <= MOST_CRUMBS, crumbs


def test_there_are_not_too_many_modules() -> None:
    assert len(MODULES) <= MOST_MODULES


def test_a_public_class_name_has_one_meaning() -> None:
    places = defaultdict(list)
    for path in MODULES:
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_docstrings_say_what_is_taken_and_given(path: Path) -> None:
    module = tree(path)
    assert ast.get_docstring(module) or not module.body
    for node in ast.walk(module):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            text = ast.get_docstring(node) or ""
            assert not text.startswith(("What is", "The same")), text


def test_the_page_about_the_house_is_short() -> None:
    assert len(SYSTEM.split()) <= MOST_WORDS


def test_the_page_names_folders_that_are_there() -> None:
    named = re.findall(r"`((?:proof|source|toolchain|tests|cutune)/[\w/]*[\w])`", SYSTEM)
    missing = [
        name for name in named if not any((ROOT / base / name).exists() for base in (".", "cutune"))
    ]
    assert missing == []


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_an_assert_does_no_work(path: Path) -> None:
    """It tells the type of what is there, and calls nothing: `python -O` leaves it out."""
    tests = (node.test for node in ast.walk(tree(path)) if isinstance(node, ast.Assert))
    inside = [part for test in tests for part in ast.walk(test)]
    called = {ast.unparse(part.func) for part in inside if isinstance(part, ast.Call)}
    assert called <= {"isinstance"}
    assert not any(isinstance(part, ast.NamedExpr | ast.Await) for part in inside)

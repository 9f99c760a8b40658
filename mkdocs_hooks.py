"""Text that mkdocs adds to pages: options from the parser, files, and the map of modules."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

from cutune.cli.options import parser
from cutune.cli.parser import help_of, name_of

ROOT = Path(__file__).parent


def on_page_markdown(markdown: str, **_: object) -> str:
    """Expand `<!-- options: VERB -->`, `<!-- file: PATH -->` and `<!-- modules -->`."""
    markdown = markdown.replace("<!-- modules -->", "\n".join(modules()))
    markdown = re.sub(r"<!-- options: (\w+) -->", lambda found: options(found[1]), markdown)
    return re.sub(r"<!-- file: (\S+) -->", lambda found: text_of(found[1]), markdown)


def options(verb: str) -> str:
    """Each option of a verb, with what `--help` says of it."""
    rows = ["## Options", "", "| option | |", "|---|---|"]
    for action in parser().verbs()[verb].actions:
        if not isinstance(action, argparse._HelpAction):
            rows.append(f"| `{_cell(name_of(action))}` | {_cell(help_of(action))} |")
    return "\n".join(rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def text_of(path: str) -> str:
    """A file, as a block."""
    return f"```text\n{(ROOT / path).read_text(encoding='utf-8').rstrip()}\n```"


def modules() -> Iterator[str]:
    """A table per package, in the order of rooms, with the first line of each docstring."""
    system = (ROOT / "docs/system.md").read_text(encoding="utf-8")
    rooms = re.findall(r"^\| `(\w+)` \|", system.partition("## The rooms")[2], re.MULTILINE)
    packages = [path for room in rooms for path in _packages(ROOT / "cutune" / room)]
    for folder in (*packages, ROOT / "passes"):
        yield f"\n## `{folder.relative_to(ROOT)}`\n"
        yield f"{_summary(folder / '__init__.py')}\n"
        yield "| module | |\n|---|---|"
        for path in sorted(folder.glob("*.py")):
            if path.name != "__init__.py":
                yield f"| `{path.stem}` | {_cell(_summary(path))} |"


def _packages(folder: Path) -> Iterator[Path]:
    yield folder
    for path in sorted(folder.iterdir()):
        if (path / "__init__.py").exists():
            yield from _packages(path)


def _summary(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())

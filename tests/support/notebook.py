"""Notebooks of the documentation, run without Jupyter: their cells in order, as it would.

python -m tests.support.notebook docs/guide/notebook.ipynb  # writes the output of the cells into it
"""

from __future__ import annotations

import ast
import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def shown_by(path: Path) -> Iterator[str | None]:
    """What each code cell shows as text: the value of its last line; None: nothing.

    The cells run in the notebook's own folder, in one namespace.
    """
    names: dict[str, Any] = {}
    cells = code_cells(json.loads(path.read_text()))
    with contextlib.chdir(path.parent):
        for number, cell in enumerate(cells):
            tree = ast.parse("".join(cell["source"]), f"{path.name}, cell {number}")
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, path.name, "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
                yield None if value is None else repr(value)
            else:
                yield None


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """The cells that are run."""
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def outputs(shown: str | None, number: int) -> list[dict[str, Any]]:
    """The outputs of a cell that shows that text."""
    if shown is None:
        return []
    data = {"text/plain": shown.splitlines(keepends=True)}
    kind = {"output_type": "execute_result", "execution_count": number, "metadata": {}}
    return [{**kind, "data": data}]


def main(path: Path) -> None:
    """Write what the cells show into the notebook."""
    notebook = json.loads(path.read_text())
    cells = zip(code_cells(notebook), list(shown_by(path)), strict=True)
    for number, (cell, shown) in enumerate(cells, start=1):
        cell |= {"execution_count": number, "outputs": outputs(shown, number)}
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

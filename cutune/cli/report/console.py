"""Standard output for people. Takes nothing, gives a console; rows, gives lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from rich.text import Text

PIPE_WIDTH = 500


def standard_output() -> Console:
    """Standard output; in a pipe nothing is cut or wrapped, however long a kernel's name is."""
    console = Console(highlight=False, emoji=False)
    if console.is_terminal:
        return console
    return Console(highlight=False, emoji=False, width=PIPE_WIDTH)


def aligned(rows: Sequence[Sequence[str | Text]]) -> Iterator[str]:
    """Rows as lines, in columns that are as wide as their widest cell."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()

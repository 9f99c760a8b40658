"""Standard output for people. Takes nothing, gives a console; rows, gives lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from cutune.toolchain.device.profile import DeviceProfile, ModelConstants, profile_names

if TYPE_CHECKING:
    from rich.padding import Padding
    from rich.text import Text

    from cutune.measure.calibration.fit_constants import Calibration

PIPE_WIDTH = 500
#: Of a remark below its row.
INDENT = 8


def standard_output() -> Console:
    """Standard output; in a pipe nothing is cut or wrapped, however long a kernel's name is."""
    console = Console(highlight=False, emoji=False)
    if console.is_terminal:
        return console
    return Console(highlight=False, emoji=False, width=PIPE_WIDTH)


def table_within(
    console: Console, columns: Sequence[Sequence[str]], further: Sequence[Sequence[str]]
) -> Table:
    """A table of columns, each a head and its cells, and of as many further ones as have room."""
    # A word per line, so that a terminal of 80 columns has room for some.
    between = "\n" if console.is_terminal else " "
    table, left = Table(box=None, padding=(0, 2, 0, 0)), console.width
    shown: list[Sequence[str]] = []
    for number, (head, *cells) in enumerate([*columns, *further]):
        words = head.replace("_", between)
        left -= 2 + max(map(len, [*words.split("\n"), *cells]))
        if number < len(columns) or left >= 0:
            table.add_column(words, no_wrap=True, vertical="bottom")
            shown.append(cells)
    for row in zip(*shown, strict=True):
        table.add_row(*row)
    return table


def with_remarks(
    heads: Sequence[str], rows: Sequence[Sequence[str | Text]], columns: int
) -> Iterator[Text | Padding]:
    """Rows as lines for a terminal: the last cell of each stands on lines of its own.

    Columns of which every cell is empty are left out. Where there is no room cells go on below
    themselves.
    """
    from rich.padding import Padding
    from rich.text import Text

    shown = [i for i in range(len(heads) - 1) if any(str(row[i]) for row in rows)]
    table = [[row[i] for i in shown] for row in [heads, *rows]]
    widths = _widths_within(columns, [*zip(*table, strict=True)])
    for number, cells in enumerate(table):
        folded = [_folded(cell, width) for cell, width in zip(cells, widths, strict=True)]
        for parts in zip_longest(*folded, fillvalue=""):
            line = Text(style="" if number else "dim")
            for part, width in zip(parts, widths, strict=True):
                line.append(part) if isinstance(part, str) else line.append_text(part)
                line.append(" " * (width - len(str(part)) + 2))
            line.rstrip()
            yield line
        if number and str(rows[number - 1][-1]):
            yield Padding(rows[number - 1][-1], (0, 0, 0, INDENT))


#: Where a cell may go on below itself: behind a comma, or a folder.
_PIECE = re.compile(r".+?(?:, |/|$)")


def _widths_within(columns: int, table: Sequence[Sequence[str | Text]]) -> list[int]:
    """How wide columns are, the last ones no wider than there is room for."""
    widths = [max(map(len, column)) for column in table]
    over = sum(widths) + 2 * (len(widths) - 1) - columns
    for i, column in reversed([*enumerate(table)]):
        pieces = (
            len(piece.rstrip())
            for cell in column
            for piece in (_PIECE.findall(cell) if isinstance(cell, str) else [str(cell)])
        )
        narrow = min(widths[i], max(max(pieces, default=0), widths[i] - max(over, 0)))
        over -= widths[i] - narrow
        widths[i] = narrow
    return widths


def _folded(cell: str | Text, width: int) -> list[str | Text]:
    if not isinstance(cell, str) or len(cell) <= width:
        return [cell]
    lines = [""]
    for piece in _PIECE.findall(cell):
        if len(f"{lines[-1]}{piece}".rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def aligned(rows: Sequence[Sequence[str | Text]]) -> Iterator[str]:
    """Rows as lines, in columns that are as wide as their widest cell."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


#: Worst cases of a calibration that are shown.
SHOWN = 5
FACTS = ("compute_capability", "sm_count", "clock_ghz", "dram_gbs", "l2_bytes")


def print_profiles(profiles: Sequence[DeviceProfile]) -> None:
    """One line per shipped profile, also on a terminal of 80 columns."""
    console = standard_output()
    maker = "NVIDIA " if console.width < PIPE_WIDTH else ""
    rows = [
        (
            name,
            profile.name.removeprefix(maker),
            "{}.{}".format(*profile.compute_capability),
            str(profile.sm_count),
            f"{float(profile.clock_ghz):.4g}",
            f"{float(profile.dram_gbs):.4g}",
            "calibrated" if profile.is_calibrated else "published",
        )
        for name, profile in zip(profile_names(), profiles, strict=True)
    ]
    heads = "name", "GPU", "CC", "SMs", "GHz", "GB/s", "constants"
    console.print(table_within(console, [*zip(heads, *rows, strict=True)], ()))


def print_profile(profile: DeviceProfile) -> None:
    """Everything that a profile holds, each with its source."""
    major, minor = profile.compute_capability
    table = Table(profile.name, "", "where from", box=None)
    shown = {"compute_capability": f"{major}.{minor}"}
    for name in FACTS:
        value = shown.get(name) or f"{float(getattr(profile, name)):.10g}"
        table.add_row(name, value, profile.provenance.get(name, ""))
    for name, limit in asdict(profile.limits).items():
        table.add_row(name, str(limit), profile.provenance.get("limits", ""))
    for field in fields(ModelConstants):
        value = f"{float(getattr(profile.model, field.name)):.5g}"
        table.add_row(field.name, value, profile.provenance.get(field.name, ""))
    standard_output().print(table)


def print_calibration(profile: DeviceProfile, calibration: Calibration) -> None:
    """Print the fitted profile, and the cases whose times the model explains least."""
    print_profile(profile)
    console = standard_output()
    console.print(
        f"{len(calibration.errors)} cases; typical error of a predicted time "
        f"{100 * calibration.typical_error:.0f} %"
    )
    worst = sorted(calibration.errors, key=lambda name: -calibration.errors[name])[:SHOWN]
    console.print(
        "worst: " + ", ".join(f"{n} ({100 * calibration.errors[n]:.0f} %)" for n in worst)
    )

"""Table 2 of the paper as text: MWP-CWP on collected and on fitted counters. Takes its rows."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from rich.table import Table

from cutune.cli.report.console import standard_output
from cutune.evaluation.training import TrainingRow

#: Fitted cycles that are so close to the collected ones count as right.
CLOSE = 0.1


def print_training(rows: Iterable[TrainingRow]) -> None:
    """The table, and how often fitted and collected cycles agree."""
    table = Table(
        *("kernel", "N", "best", "cycles", "chosen by fit", "cycles", "collected cycles", "ratio"),
        box=None,
    )
    rows = list(rows)
    for row in rows:
        table.add_row(*row.cells, f"{row.ratio:.3g}")
    console = standard_output()
    console.print(table)
    if rows:
        close = sum(abs(row.ratio - 1) <= CLOSE for row in rows)
        console.print(
            f"fitted cycles within 10 % of collected ones in {close} of {len(rows)} rows, "
            f"median ratio {median(row.ratio for row in rows):.3g}"
        )

"""Figures for a paper, as PNG and PDF: the manner of its Figure 3, and of its Tables 2 and 3.

Takes `PageFacts` and training rows; gives the files that were written. The figure shows the times
of a kernel from its best to its worst configuration on a logarithmic axis, with the default and the
chosen one between them. Kernels without times are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cutune.check.evaluate import OWN, Case, Evaluation
from cutune.check.training_table import TrainingRow
from cutune.cli.page.html import required, size_and_times
from cutune.cli.page.page_facts import PageFacts
from cutune.core.workspace import make_folder, writing

#: Rows of a page of a table. Inches: width of all, height of a row and of what stands around them.
ROWS, WIDTH, ROW, AROUND = 40, 7.2, 0.2, 0.75
DOTS_PER_INCH = 160
#: Colours that differ in lightness, too: best, worst, default, chosen.
RANGE, DEFAULT, CHOSEN = "#9aa3ac", "#ab4400", "#0b5fa5"
#: Names come from sources: nothing in them is a formula. Text stays text in PDF.
STYLE = {"text.parse_math": False, "font.size": 8, "pdf.fonttype": 42, "svg.fonttype": "none"}

Row = Sequence[str]


def write_figures(folder: Path, report: PageFacts, training: Iterable[TrainingRow]) -> list[Path]:
    """Write what there is to show into a folder. Raises CT002, CT017 without matplotlib."""
    matplotlib = required("matplotlib")
    make_folder(folder)
    written: list[Path] = []
    with matplotlib.rc_context(STYLE):
        for name, pages in _documents(report, list(training)):
            written += _save(folder, name, pages)
    return written


def _documents(
    report: PageFacts, training: Sequence[TrainingRow]
) -> Iterator[tuple[str, list[Any]]]:
    if report.kernels:
        yield "gains", [_gains(report)]
    if report.evaluation is not None:
        largest: dict[tuple[str, str], Case] = {}
        for case in sorted(report.evaluation.cases, key=lambda case: case.launch.size or 0):
            largest[case.launch.program, case.launch.kernel] = case
        cases = [largest[name] for name in sorted(largest, reverse=True)]
        yield "figure3", [_times(cases, report.evaluation.judged, report.device)]
        title = f"Default, chosen, best and worst configuration on {report.device} (times in ms)"
        yield "table3", _table(title, TABLE_3, list(table_3(report.evaluation)))
    if training:
        title = "MWP-CWP on collected counters, and on those of the rational program (cycles)"
        yield "table2", _table(title, TABLE_2, [row.cells for row in training])


def _save(folder: Path, name: str, pages: Sequence[Any]) -> Iterator[Path]:
    pdf = folder / f"{name}.pdf"
    # Without the date: the same input gives the same bytes.
    about = {"CreationDate": None}
    pages_of = required("matplotlib.backends.backend_pdf").PdfPages
    with writing(pdf), pages_of(pdf, metadata=about) as document:
        for page in pages:
            document.savefig(page)
    yield pdf
    for number, page in enumerate(pages, 1):
        png = folder / (f"{name}.png" if len(pages) == 1 else f"{name}-{number}.png")
        with writing(png):
            page.savefig(png, dpi=DOTS_PER_INCH)
        yield png


def _figure(rows: int, around: float = AROUND) -> Any:
    size = (WIDTH, around + ROW * max(rows, 4))
    return required("matplotlib.figure").Figure(figsize=size, layout="constrained")


def _gains(report: PageFacts) -> Any:
    kernels = list(report.ranked)[::-1]
    figure = _figure(len(kernels))
    axes, places = figure.add_subplot(), range(len(kernels))
    axes.barh(places, [k.gain - 1 for k in kernels], left=1.0, color=CHOSEN, height=0.6)
    timed = [(k.measured_gain, n) for n, k in enumerate(kernels) if k.measured_gain]
    if timed:
        axes.plot(*zip(*timed, strict=True), "|", color="black", markersize=9, label="measured")
        figure.legend(frameon=False, loc="outside upper right")
    axes.set_yticks(places, [f"{k.program}: {k.name}" for k in kernels])
    axes.set_xlabel(f"predicted times as fast as the program's own blocks, {report.device}")
    axes.set_xlim(left=1.0)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _times(cases: Sequence[Case], judged: str, device: str) -> Any:
    figure = _figure(len(cases))
    axes, places = figure.add_subplot(), range(len(cases))
    best = [min(case.launch.times.values()) / 1e3 for case in cases]
    worst = [max(case.launch.times.values()) / 1e3 for case in cases]
    axes.hlines(places, best, worst, color=RANGE, linewidth=5, label="best to worst")
    for strategy, colour, mark, name in (
        (OWN, DEFAULT, "o", "default"),
        (judged, CHOSEN, "D", "chosen"),
    ):
        times = [case.microseconds(strategy) / 1e3 for case in cases]
        axes.plot(times, places, mark, color=colour, markersize=4.5, label=name)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    names = (f"{c.launch.program}: {c.launch.kernel}, {c.launch.size or ''}" for c in cases)
    axes.set_yticks(places, [name.removesuffix(", ") for name in names])
    axes.set_xlabel(f"time in ms on {device}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, loc="outside upper right", ncols=3)
    return figure


TABLE_3 = ("kernel", "N", "default", "ms", "chosen", "ms", "best", "ms", "worst ms", "Error %")


def table_3(evaluation: Evaluation) -> Iterator[Row]:
    """The rows of the paper's Table 3: Error is (chosen - best) / (worst - best)."""
    for case in evaluation.cases:
        error = case.launch.error(case.configuration(evaluation.judged))
        cells = size_and_times(case, evaluation.judged)
        yield [case.launch.kernel, *cells, f"{100 * error:.2f}"]


TABLE_2 = ("kernel", "N", "best", "cycles", "chosen", "cycles", "collected cycles")


def _table(title: str, head: Row, rows: Sequence[Row]) -> list[Any]:
    return [_table_page(title, head, rows[at : at + ROWS]) for at in range(0, len(rows), ROWS)]


def _table_page(title: str, head: Row, rows: Sequence[Row]) -> Any:
    figure = _figure(len(rows) + 1, around=0.5)
    axes = figure.add_subplot()
    axes.axis("off")
    axes.set_title(title, fontsize=9, loc="left")
    table = axes.table(
        cellText=[list(row) for row in rows],
        colLabels=list(head),
        colLoc="left",
        cellLoc="left",
        edges="horizontal",
        bbox=(0.0, 0.0, 1.0, 1.0),
    )
    table.auto_set_font_size(False)
    table.set_fontsize(7)
    table.auto_set_column_width(range(len(head)))
    for (_, _), cell in table.get_celld().items():
        cell.set_linewidth(0.3)
    return figure

"""A report as one HTML page, and its figures as PNG and PDF. Takes `PageFacts`, gives text, files.

The page loads nothing. Every string of a source, a model or a device passes jinja2's escaping,
which no template turns off. Besides, the browser may only use the page's own script and style.

Figures are in the manner of the paper's Figure 3, and of its Tables 2 and 3. The figure shows the
times of a kernel from its best to its worst configuration on a logarithmic axis, with the default
and the chosen one between them. Kernels without times are left out.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module, resources
from pathlib import Path, PurePath
from typing import Any

from cutune import __version__
from cutune.check.evaluate import OWN, Case, Evaluation, TrainingRow
from cutune.cli.page.charts import (
    TERMS,
    Svg,
    TermRow,
    TimeUnit,
    agreement,
    choice_chart,
    ranked_scores,
    ratio,
    regret_bars,
    scatter,
    stacked_bars,
    term_rows,
    three_digits,
    unit_for,
)
from cutune.cli.page.page_facts import (
    SPEAKING_GAIN,
    AtSizes,
    Candidate,
    KernelFacts,
    LaunchFacts,
    PageFacts,
    Standing,
)
from cutune.cli.report.choices import variant_to_json
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.workspace import make_folder, writing
from cutune.source.program import DIMENSIONS
from cutune.toolchain.device.thread_block import Block, configuration_text, shape

#: A page is below this size, in bytes.
LARGEST = 2_000_000


@dataclass(frozen=True)
class PageDetail:
    """How much a page says of kernels: of how many, with rational programs, at all sizes or one."""

    kernels: int
    with_programs: bool = False
    all_sizes: bool = False

    def left_out(self, kernels: int) -> str:
        """Return what a page of so many kernels lacks; empty where nothing is missing."""
        parts = [
            "" if self.with_programs else "rational programs",
            "" if self.all_sizes else "all sizes but the largest",
            "" if self.kernels == kernels else f"{kernels - self.kernels} of {kernels} kernels",
        ]
        if not any(parts):
            return ""
        said = ", ".join(filter(None, parts))
        return (
            f"The page would be large. Left out are {said}: name some of the sources to have them."
        )


def to_html(report: PageFacts) -> str:
    """The page; too large a one says what it leaves out. Raises CT017 without jinja2."""
    count, page = len(report.kernels), ""
    whole = PageDetail(count, with_programs=True, all_sizes=True)
    for extent in (whole, PageDetail(count, all_sizes=True), PageDetail(count)):
        page = _rendered(report, extent)
        if _fits(page):
            return page
    bare = len(_rendered(report, PageDetail(0)).encode())
    while count and not _fits(page):
        # As many as have room, if those that are left out are as large as the others.
        room = max(LARGEST - bare, 0) / (len(page.encode()) - bare)
        count = int(0.95 * count * room)
        page = _rendered(report, PageDetail(count))
    return page


def _fits(page: str) -> bool:
    return len(page.encode()) < LARGEST


def _rendered(report: PageFacts, extent: PageDetail) -> str:
    # Our own files: no text of others is in them.
    style, script = (Svg(_own_file(name)) for name in ("style.css", "script.js"))
    gains = [gain for k in report.kernels for gain in (k.gain, k.measured_gain) if gain]
    detailed = report.ranked[: extent.kernels]
    template = _environment(extent, detailed).get_template("page.html")
    page: str = template.render(
        report=report,
        most_gain=max(gains, default=1.0),
        detailed=detailed,
        left_out=extent.left_out(len(report.kernels)),
        style=style,
        script=script,
        # The browser runs and loads these two texts, nothing else.
        policy=f"default-src 'none'; style-src '{_digest(style)}'; "
        f"script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'",
        version=__version__,
    )
    return _readable(page)


def part(name: str, *arguments: object) -> str:
    """A macro of `parts.html` with its style, for notebooks. Raises CT017 without jinja2."""
    parts = _environment(PageDetail(0, all_sizes=True)).get_template("parts.html").module
    # The style of the page holds for this element alone; elsewhere `:root` is the notebook.
    style = _own_file("style.css").replace(":root", ":scope")
    inner = getattr(parts, name)(*arguments)
    return _readable(
        f'<div class="cutune"><style>@scope (.cutune) {{ {style} }}</style>{inner}</div>'
    )


def _environment(extent: PageDetail, detailed: Iterable[KernelFacts] = ()) -> Any:
    jinja2 = required("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("cutune.cli.page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= _FUNCTIONS | {
        "with_programs": extent.with_programs,
        "all_sizes": extent.all_sizes,
        "linked": frozenset(kernel.key for kernel in detailed),
    }
    return environment


def _readable(page: str) -> str:
    """Names of files may have bytes that are no text."""
    return page.encode(errors="replace").decode()


def required(module: str) -> Any:
    """A module of the extra `report`. Raises CT017 where it cannot be imported."""
    try:
        return import_module(module)
    except ImportError as error:
        raise CutuneError.at(Code.NO_REPORT_EXTRA, module=module, reason=error) from error


def _own_file(name: str) -> str:
    return (resources.files("cutune.cli.page") / "templates" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"


def _still(report: PageFacts) -> Iterator[tuple[str, LaunchFacts]]:
    for number, program in enumerate(report.programs, 1):
        for place, launch in enumerate(program.launches, 1):
            if launch.standing in (Standing.REFUSED, Standing.UNMODELLED):
                yield f"launch-{number}-{place}", launch


def _bar_width(gain: float, most: float) -> str:
    """The width of a gain's bar in percent: 0 for a gain of 1, 100 for the greatest."""
    return f"{100 * max(0.0, gain - 1) / max(most - 1, 0.01):.1f}"


def _least(at: AtSizes) -> str:
    if not at.predicted:
        return "none"
    best = at.predicted[0]
    us = best.predicted_us or 0.0
    return f"{unit_for([us])(us)} with {configuration_text(*best.configuration)}"


def _terms_of(rows: Sequence[TermRow]) -> list[tuple[str, int]]:
    used = {term for row in rows for term, _ in row.terms}
    return [(title, n) for n, (term, title) in enumerate(TERMS.items()) if term in used]


def _launch_rows(evaluation: Evaluation) -> Iterator[list[str]]:
    for case in evaluation.cases:
        name = f"{case.launch.program}: {case.launch.kernel}"
        regret = 100 * case.regret(evaluation.judged)
        yield [name, *size_and_times(case, evaluation.judged), f"{regret:.1f} %"]


def size_and_times(case: Case, judged: str) -> Iterator[str]:
    """Cells of the paper's Table 3: size; default, chosen and best with their ms; the worst ms."""
    launch = case.launch
    yield str(launch.size or "")
    for configuration in (case.configuration(OWN), case.configuration(judged), launch.fastest):
        yield configuration_text(*configuration)
        yield three_digits(launch.times[configuration] / 1e3)
    yield three_digits(max(launch.times.values()) / 1e3)


#: Upper bounds of the shades, as multiples of the least time; beyond them is one more.
SHADES = (1.02, 1.1, 1.25, 1.5, 2.0, 4.0)
#: More widths than this are grouped by powers of two.
MOST_WIDTHS = 14
#: Columns of a table of blocks that differ in one dimension.
PER_ROW = 8


@dataclass(frozen=True)
class HeatCell:
    """A block of a table, or the fastest of several where there are too many.

    Attributes:
        text: times the least time; empty: no candidate is there.
        shade: number of its shade. marks: `own`, `chosen`, or `stays` where both are one.
        title: the block and its time.
    """

    text: str = ""
    shade: int = 0
    marks: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True)
class HeatTable:
    """A table; `words`: what was done to the kernel; `corner`: what rows and columns are."""

    caption: str
    words: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatCell, ...]], ...]


def heat_tables(at: AtSizes) -> tuple[HeatTable, ...]:
    """A table per variant, and per depth of the blocks; the kernel itself first."""
    ranked = at.predicted
    if not ranked:
        return ()
    least = ranked[0].predicted_us or 1.0
    unit = unit_for([least])
    variants = dict.fromkeys(c.configuration.variant for c in at.candidates if c.predicted_us)
    tables: list[HeatTable] = []
    for variant in sorted(variants):
        own = {c.configuration.block: c for c in ranked if c.configuration.variant == variant}
        tables += _tables(variant, own, lambda c: _cell(c, at, least, unit))
    return tuple(tables)


def _cell(candidates: Sequence[Candidate], at: AtSizes, least: float, unit: TimeUnit) -> HeatCell:
    if not candidates:
        return HeatCell()
    best = min(candidates, key=lambda c: c.predicted_us or 0.0)
    us = best.predicted_us or 0.0
    here = {c.configuration for c in candidates}
    named = {"own": at.own, "chosen": at.chosen} if at.own != at.chosen else {"stays": at.own}
    marks = tuple(mark for mark, configuration in named.items() if configuration in here)
    # What is marked is what the place shows.
    marked = next((c for c in candidates if marks and c.configuration == named[marks[-1]]), best)
    us = marked.predicted_us or us
    shade = next((n for n, limit in enumerate(SHADES) if us <= limit * least), len(SHADES))
    title = f"{configuration_text(*marked.configuration)}: {unit(us)}"
    return HeatCell(ratio(us / least), shade, marks, title)


_Cells = Callable[[Sequence[Candidate]], HeatCell]


def _tables(variant: str, known: Mapping[Block, Candidate], cell: _Cells) -> Iterator[HeatTable]:
    name, words = variant or "the kernel itself", variant_words(variant)
    varying = [axis for axis in range(3) if len({block[axis] for block in known}) > 1]
    if len(varying) <= 1:
        yield _strip(name, words, varying[0] if varying else 0, known, cell)
        return
    depths = sorted({block[2] for block in known})
    for depth in depths:
        at = {block: one for block, one in known.items() if block[2] == depth}
        caption = name if len(depths) == 1 else f"{name}, z = {depth}"
        is_grouped = any(len({block[axis] for block in at}) > MOST_WIDTHS for axis in (0, 1))
        of_several = "; of several blocks the fastest" if is_grouped else ""
        yield _plane(caption, words + of_several, at, cell)


def _plane(caption: str, words: str, known: Mapping[Block, Candidate], cell: _Cells) -> HeatTable:
    columns, rows = (_groups({block[axis] for block in known}) for axis in (0, 1))

    def at(widths: set[int], heights: set[int]) -> HeatCell:
        return cell([one for (x, y, _), one in known.items() if x in widths and y in heights])

    cells = [
        (title, tuple(at(widths, heights) for _, widths in columns)) for title, heights in rows
    ]
    return HeatTable(caption, words, "y \\ x", tuple(title for title, _ in columns), tuple(cells))


def _groups(widths: Iterable[int]) -> list[tuple[str, set[int]]]:
    ordered = sorted(widths)
    if len(ordered) <= MOST_WIDTHS:
        return [(str(width), {width}) for width in ordered]
    groups: dict[int, set[int]] = {}
    for width in ordered:
        groups.setdefault(width.bit_length(), set()).add(width)
    return [(f"{min(g)}–{max(g)}" if len(g) > 1 else str(min(g)), g) for g in groups.values()]


def _strip(
    name: str, words: str, axis: int, known: Mapping[Block, Candidate], cell: _Cells
) -> HeatTable:
    """Blocks that differ in one dimension, in rows of eight: a block is its row plus its column."""
    blocks = sorted(known, key=lambda block: block[axis])
    sizes = [block[axis] for block in blocks]
    step = sizes[0]
    is_even = sizes == [step * (n + 1) for n in range(len(sizes))]
    if not is_even or len(sizes) <= PER_ROW:
        cells = tuple(cell([known[block]]) for block in blocks)
        return HeatTable(name, words, "block", tuple(map(shape, blocks)), (("time", cells),))
    columns = tuple(f"+{step * (n + 1)}" for n in range(PER_ROW))
    rows = []
    for start in range(0, len(blocks), PER_ROW):
        row = [cell([known[block]]) for block in blocks[start : start + PER_ROW]]
        padding = [HeatCell()] * (PER_ROW - len(row))
        rows.append((str(step * start), (*row, *padding)))
    return HeatTable(name, words, "row + column", columns, tuple(rows))


def variant_words(name: str) -> str:
    """A variant in words: `pointers are __restrict__, a thread does 4 ids of y`."""
    if not name:
        return "as the source has it"
    done = variant_to_json(name)
    words = ["pointers are __restrict__"] if done["restrict"] else []
    ids = zip(DIMENSIONS, done["coarsen"], strict=True)
    words += [f"a thread does {count} ids of {d}" for d, count in ids if count > 1]
    if done["bounds"] is not None:
        threads, blocks = done["bounds"]
        words.append(f"registers leave room for {blocks} blocks of {threads} threads")
    return ", ".join(words)


#: What templates call, by the names of functions without the first underscore.
_FUNCTIONS = {
    "file_name": lambda path: PurePath(path).name,
    "shades": SHADES,
    "speaking_gain": SPEAKING_GAIN,
} | {
    function.__name__.lstrip("_"): function
    for function in (
        *(agreement, _bar_width, choice_chart, configuration_text, heat_tables, _launch_rows),
        *(_least, ranked_scores, ratio, regret_bars, scatter, stacked_bars, _still, term_rows),
        _terms_of,
    )
}


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

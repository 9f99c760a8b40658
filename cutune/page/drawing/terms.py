"""Bars: the terms of a predicted time, and the regret of strategies. Gives pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cutune.device.thread_block import configuration_text
from cutune.page.drawing.heat_map import marks_of
from cutune.page.drawing.scales import PictureScale, TimeUnit, unit_for
from cutune.page.drawing.svg import Svg, element, line, picture, text
from cutune.page.facts.report import AtSizes, Candidate

WIDTH, TERM_ROW, TERM_BAR, TOP = 360.0, 42.0, 16.0, 4.0
#: Widths in which a name of a term fits.
LETTER = 7.0
#: Terms in the order of the bars, and how they are called.
TERMS = {
    "load_store_unit": "load/store unit",
    "below_l1": "below L1",
    "issue": "issue",
    "waiting": "waiting",
    "dram": "DRAM",
    "dispatch": "dispatch",
    "launch": "launch",
}


@dataclass(frozen=True)
class TermRow:
    """A bar: what it is of, its prediction, and its terms in microseconds."""

    label: str
    predicted_us: float
    terms: tuple[tuple[str, float], ...]


def term_rows(at: AtSizes) -> tuple[TermRow, ...]:
    """The program's own configuration, the chosen one, and the best of each other variant."""
    shown: dict[object, Candidate] = {}
    best: dict[str, Candidate] = {}
    for one in at.predicted:
        best.setdefault(one.configuration.variant, one)
    for configuration in (at.own, at.chosen, *(one.configuration for one in best.values())):
        candidate = at.candidate(configuration)
        if candidate is not None and candidate.terms_us:
            shown.setdefault(configuration, candidate)
    return tuple(_row(one, at) for one in shown.values())


def _row(one: Candidate, at: AtSizes) -> TermRow:
    label = configuration_text(*one.configuration) + marks_of(one.configuration, at)
    terms = tuple((term, one.terms_us[term]) for term in TERMS if one.terms_us.get(term))
    return TermRow(label, one.predicted_us or 0.0, terms)


def stacked_bars(rows: Sequence[TermRow]) -> Svg:
    """A bar per row; the mark is the prediction, which joins terms that overlap."""
    unit = unit_for(row.predicted_us for row in rows)
    longest = max(sum(us for _, us in row.terms) for row in rows)
    scale = PictureScale(0.0, max(longest, *(row.predicted_us for row in rows)), 0.0, WIDTH - 4)
    parts: list[Svg] = []
    for number, row in enumerate(rows):
        parts += _term_bar(row, TOP + number * TERM_ROW, scale, unit)
    label = "; ".join(_in_words(row, unit) for row in rows)
    return picture(WIDTH, TOP + TERM_ROW * len(rows), label, *parts, class_="terms")


def _term_bar(row: TermRow, y: float, scale: PictureScale, unit: TimeUnit) -> Iterator[Svg]:
    yield text(0, y + 12, row.label, "strong")
    yield text(WIDTH, y + 12, unit(row.predicted_us), anchor="end")
    left, middle = 0.0, y + 17
    for term, us in row.terms:
        right = left + scale(us)
        place = list(TERMS).index(term)
        width = max(0.0, right - left - 1)
        yield element("rect", x=left, y=middle, width=width, height=TERM_BAR, class_=f"t{place}")
        if len(TERMS[term]) * LETTER < width:
            yield text(left + 4, middle + 12, TERMS[term], f"on{place}")
        left = right
    at = scale(row.predicted_us)
    yield line(at, middle - 3, at, middle + TERM_BAR + 3, "mark")


def _in_words(row: TermRow, unit: TimeUnit) -> str:
    terms = ", ".join(f"{TERMS[term]} {unit(us)}" for term, us in row.terms)
    return f"{row.label}: predicted {unit(row.predicted_us)}, alone {terms}"

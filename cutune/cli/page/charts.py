"""The pictures of a page as SVG, and numbers as labels. Takes values, gives markup.

Whatever is no `Svg` is escaped: text of a source or of a device never becomes markup.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from cutune.check.evaluate import Evaluation, StrategyScore
from cutune.cli.page.page_facts import AtSizes, CurvePoint
from cutune.model.measurement.sweep import SweptConfiguration
from cutune.toolchain.device.thread_block import WARP, configuration_text


class Svg(str):
    """Markup that was made here; templates insert it as it is."""

    def __html__(self) -> str:
        return self


def element(name: str, *children: Svg | str, **attributes: object) -> Svg:
    """`<name attributes>children</name>`: `class_` is `class`, `a_b` is `a-b`, None left out."""
    words = [name]
    for key, value in attributes.items():
        if value is not None:
            attribute = key.rstrip("_").replace("_", "-")
            words.append(f'{attribute}="{escape(_number(value))}"')
    inner = "".join(c if isinstance(c, Svg) else escape(c) for c in children)
    return Svg(f"<{' '.join(words)}>{inner}</{name}>" if inner else f"<{' '.join(words)}/>")


def picture(width: float, height: float, label: str, *children: Svg, class_: str) -> Svg:
    """A picture that screen readers call by its label."""
    return element(
        "svg",
        *children,
        viewBox=f"0 0 {_number(width)} {_number(height)}",
        role="img",
        aria_label=label,
        class_=class_,
    )


def text(x: float, y: float, words: str, class_: str = "", anchor: str | None = None) -> Svg:
    """Words that begin at a place, or end or stand around it (`anchor`)."""
    return element("text", words, x=x, y=y, class_=class_ or None, text_anchor=anchor)


Point = tuple[float, float]


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Svg:
    """A straight line."""
    return polyline([(x1, y1), (x2, y2)], class_)


def polyline(points: list[Point], class_: str) -> Svg:
    """A line through points."""
    return element("path", d="M" + "L".join(map(_pair, points)), class_=class_)


def dots(points: list[Point], class_: str) -> Svg:
    """Dots of one kind as one path: lines of no length with round ends."""
    d = "".join(f"M{_pair(point)}h0" for point in points)
    return element("path", d=d, class_=f"dot {class_}")


def bar(x: float, y: float, width: float, height: float, class_: str) -> Svg:
    """A filled rectangle."""
    return element("rect", x=x, y=y, width=width, height=height, class_=class_)


def _pair(point: Point) -> str:
    return " ".join(map(_number, point))


def _number(value: object) -> str:
    """A tenth of a unit is enough for a picture."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class PictureScale:
    """From `low … high` to `start … end`, by the value itself or by its logarithm."""

    low: float
    high: float
    start: float
    end: float
    is_logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = self.low, self.high, value
        if self.is_logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(value)
        share = (at - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        return (_decades if self.is_logarithmic else _steps)(self.low, self.high)


def _steps(low: float, high: float) -> list[float]:
    """Three to six multiples of 1, 2 or 5 times a power of ten."""
    span = high - low
    if span <= 0:
        return [low]
    power = 10 ** math.floor(math.log10(span / 3))
    step = next(m * power for m in (1, 2, 5, 10) if span / (m * power) <= 5)
    first = math.ceil(low / step - 1e-9)
    return [n * step for n in range(first, math.floor(high / step + 1e-9) + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten, with 2 and 5 times these where there are few."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 3), (1, 2, 5)):
        marks = [f * 10.0**e for e in exponents for f in factors]
        inside = [tick for tick in marks if low <= tick <= high]
        if len(inside) >= 3:
            break
    return inside


@dataclass(frozen=True)
class TimeUnit:
    """A unit of time: its name, and what microseconds are multiplied with."""

    name: str
    factor: float

    def tick(self, us: float) -> str:
        """A round number as it is, without the unit."""
        return f"{us * self.factor:g}"

    def __call__(self, us: float) -> str:
        """Three digits and the unit."""
        return f"{three_digits(us * self.factor)} {self.name}"


MICROSECONDS, MILLISECONDS, SECONDS = TimeUnit("µs", 1.0), TimeUnit("ms", 1e-3), TimeUnit("s", 1e-6)


def unit_for(times_us: Iterable[float]) -> TimeUnit:
    """The unit in which the least of the times reads best: all that is compared has one unit."""
    least = min(times_us, default=0.0)
    return MICROSECONDS if least < 1e3 else MILLISECONDS if least < 1e6 else SECONDS


def three_digits(value: float) -> str:
    """`0.123`, `1.23`, `12.3`, `123`, `1230`."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(digits, 4)}f}"


def ratio(value: float) -> str:
    """A factor in few characters: `1.02`, `3.4`, `12`."""
    return f"{value:.2f}" if value < 1.995 else f"{value:.1f}" if value < 9.95 else f"{value:.0f}"


def count(value: float) -> str:
    """A size in few characters: `512`, `10k`, `4M`."""
    for factor, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= factor:
            return f"{value / (1e3 if letter == 'k' else factor):.3g}{letter}"
    return f"{value:.0f}"


LEFT, RIGHT, COLUMN = 150.0, 24.0, 24.0
TOP, GAIN_HEIGHT, ROW = 20.0, 104.0, 18.0
ROWS_TOP = TOP + GAIN_HEIGHT + 40
#: Configurations that are shown; of more, those that are chosen or good most often.
MOST_ROWS = 12


def choice_chart(curve: Sequence[CurvePoint]) -> Svg:
    """Above the gain, below which configuration is chosen and which are within 2 % of the best."""
    placed = [(LEFT + COLUMN * (number + 0.5), point) for number, point in enumerate(curve)]
    width, rows = LEFT + COLUMN * len(curve) + RIGHT, shown_rows(curve)
    bottom = ROWS_TOP + ROW * len(rows)
    parts = [*_gain(placed, width), *_rows(placed, rows, width)]
    for x, point in placed:
        if point.size & (point.size - 1) == 0 or point.size % 10_000 == 0:
            parts.append(text(x, bottom + 14, count(point.size), anchor="middle"))
    parts.append(text(LEFT - 8, bottom + 14, "all sizes =", anchor="end"))
    return picture(width, bottom + 34, in_words(curve), *parts, class_="choices")


def shown_rows(curve: Sequence[CurvePoint]) -> list[SweptConfiguration]:
    """The program's own configuration, then those that are chosen, then those that are as good."""
    chosen = Counter(point.chosen for point in curve)
    near = Counter(one for point in curve for one in point.near)
    own = curve[0].own
    others = sorted({*chosen, *near} - {own}, key=lambda one: (-chosen[one], -near[one], one))
    return [own, *others][:MOST_ROWS]


def _gain(placed: Sequence[tuple[float, CurvePoint]], width: float) -> Iterator[Svg]:
    most = max(1.1, *(point.gain for _, point in placed))
    up = PictureScale(1.0, most, TOP + GAIN_HEIGHT, TOP + 6)
    ticks = up.ticks
    step = ticks[1] - ticks[0] if len(ticks) > 1 else most - 1
    for tick in [1.0, *(tick for tick in ticks if tick - 1 > step / 3)]:
        yield line(LEFT, up(tick), width - RIGHT, up(tick), "grid")
        yield text(LEFT - 8, up(tick) + 4, f"{tick:g} ×", anchor="end")
    yield text(0, TOP - 6, "times as fast as the program’s own", "strong")
    aligned = [(x, up(point.gain)) for x, point in placed if point.size % WARP == 0]
    others = [(x, up(point.gain)) for x, point in placed if point.size % WARP]
    if aligned:
        yield polyline(aligned, "curve")
        yield dots(aligned, "chosen")
    if others:
        yield polyline(others, "curve thin")
        yield from _hollow(others)
        left = width - RIGHT - 210
        yield dots([(left, TOP - 10)], "chosen")
        yield text(left + 9, TOP - 6, "multiples of 32")
        yield from _hollow([(left + 128, TOP - 10)])
        yield text(left + 137, TOP - 6, "other sizes")


def _hollow(places: list[Point]) -> Iterator[Svg]:
    yield dots(places, "chosen hollow")
    yield dots(places, "hole")


def _rows(
    placed: Sequence[tuple[float, CurvePoint]], rows: Sequence[SweptConfiguration], width: float
) -> Iterator[Svg]:
    yield text(0, ROWS_TOP - 8, "chosen (dot), as good within 2 % (band)", "strong")
    for number, row in enumerate(rows):
        y, is_own = ROWS_TOP + ROW * (number + 0.5), row == placed[0][1].own
        name = configuration_text(*row) + (" (own)" if is_own else "")
        yield text(LEFT - 8, y + 4, name, "own" if is_own else "", "end")
        yield line(LEFT, y, width - RIGHT, y, "grid")
        for left, right in _runs([x for x, point in placed if row in point.near]):
            yield bar(left - COLUMN / 2 + 1, y - 6, right - left + COLUMN - 2, 12.0, "band")
        if chosen := [(x, y) for x, point in placed if point.chosen == row]:
            yield dots(chosen, "own large" if is_own else "chosen large")


def _runs(places: Sequence[float]) -> list[list[float]]:
    runs: list[list[float]] = []
    for x in places:
        if runs and x - runs[-1][1] < 1.5 * COLUMN:
            runs[-1][1] = x
        else:
            runs.append([x, x])
    return runs


def in_words(curve: Sequence[CurvePoint]) -> str:
    """The picture for those who do not see it: where the choice changes."""
    words, before = [], None
    for point in curve:
        if point.chosen != before:
            kept = " (own)" if point.chosen == point.own else ""
            words.append(
                f"from {point.size} {configuration_text(*point.chosen)}{kept}, {ratio(point.gain)}"
                " times as fast"
            )
            before = point.chosen
    return f"choice over the size: {'; '.join(words)}"


WIDTH, TERM_ROW, TERM_BAR, TERM_TOP = 360.0, 42.0, 16.0, 4.0
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
    best: dict[str, SweptConfiguration] = {}
    for candidate in at.predicted:
        best.setdefault(candidate.configuration.variant, candidate.configuration)
    rows = []
    for configuration in dict.fromkeys((at.own, at.chosen, *best.values())):
        shown = at.candidate(configuration)
        if shown is None or not shown.terms_us:
            continue
        named = (("own", at.own), ("chosen", at.chosen))
        marks = ", ".join(word for word, one in named if one == configuration)
        label = configuration_text(*configuration) + (f" ({marks})" if marks else "")
        terms = tuple((term, shown.terms_us[term]) for term in TERMS if shown.terms_us.get(term))
        rows.append(TermRow(label, shown.predicted_us or 0.0, terms))
    return tuple(rows)


def stacked_bars(rows: Sequence[TermRow]) -> Svg:
    """A bar per row; the mark is the prediction, which joins terms that overlap."""
    unit = unit_for(row.predicted_us for row in rows)
    longest = max(sum(us for _, us in row.terms) for row in rows)
    scale = PictureScale(0.0, max(longest, *(row.predicted_us for row in rows)), 0.0, WIDTH - 4)
    parts: list[Svg] = []
    labels = []
    for number, row in enumerate(rows):
        parts += _term_bar(row, TERM_TOP + number * TERM_ROW, scale, unit)
        terms = ", ".join(f"{TERMS[term]} {unit(us)}" for term, us in row.terms)
        labels.append(f"{row.label}: predicted {unit(row.predicted_us)}, alone {terms}")
    height = TERM_TOP + TERM_ROW * len(rows)
    return picture(WIDTH, height, "; ".join(labels), *parts, class_="terms")


def _term_bar(row: TermRow, y: float, scale: PictureScale, unit: TimeUnit) -> Iterator[Svg]:
    yield text(0, y + 12, row.label, "strong")
    yield text(WIDTH, y + 12, unit(row.predicted_us), anchor="end")
    left, middle = 0.0, y + 17
    for term, us in row.terms:
        right = left + scale(us)
        place = list(TERMS).index(term)
        width = max(0.0, right - left - 1)
        yield bar(left, middle, width, TERM_BAR, f"t{place}")
        if len(TERMS[term]) * LETTER < width:
            yield text(left + 4, middle + 12, TERMS[term], f"on{place}")
        left = right
    at = scale(row.predicted_us)
    yield line(at, middle - 3, at, middle + TERM_BAR + 3, "mark")


REGRET_ROW, REGRET_BAR = 36.0, 12.0
JUDGED = "cutune"


def ranked_scores(evaluation: Evaluation) -> list[tuple[str, StrategyScore]]:
    """Names and scores, the least regret first."""
    called = {"mwp-cwp": "MWP-CWP model", "latency": "latency model", evaluation.judged: JUDGED}
    scores = [(called.get(name, name), evaluation.score(name)) for name in evaluation.strategies]
    return sorted(scores, key=lambda pair: pair[1].mean)


def regret_bars(evaluation: Evaluation) -> Svg:
    """A bar per strategy: the mean regret; the mark: nine in ten launches are below."""
    rows = ranked_scores(evaluation)
    most = max(max(score.mean, min(score.ninetieth, 1.5)) for _, score in rows)
    scale = PictureScale(0.0, most or 1.0, 0.0, WIDTH - 60)
    parts: list[Svg] = []
    for number, (name, score) in enumerate(rows):
        parts += _regret_bar(name, score, number * REGRET_ROW, scale)
    label = "mean regret: " + ", ".join(f"{n} {100 * s.mean:.1f} %" for n, s in rows)
    return picture(WIDTH, REGRET_ROW * len(rows), label, *parts, class_="regret")


def _regret_bar(name: str, score: StrategyScore, y: float, scale: PictureScale) -> Iterator[Svg]:
    is_ours = name == JUDGED
    yield text(0, y + 12, name, "strong" if is_ours else "")
    width = max(1.0, scale(score.mean))
    yield bar(0, y + 17, width, REGRET_BAR, "ours" if is_ours else "theirs")
    # A mark beyond the picture says nothing.
    ninetieth = scale(score.ninetieth)
    if ninetieth <= scale.end:
        yield line(ninetieth, y + 15, ninetieth, y + 17 + REGRET_BAR + 2, "mark")
    at = max(width, ninetieth if ninetieth <= scale.end else 0.0) + 6
    yield text(at, y + 27, f"{100 * score.mean:.1f} %", "strong" if is_ours else "")


SIZE, AXIS, BOTTOM, EDGE = 340.0, 44.0, 40.0, 12.0


@dataclass(frozen=True)
class PredictionAgreement:
    """Predicted by measured times: the median, and how far nine in ten lie at most, as factors."""

    count: int
    median: float
    ninetieth: float


def agreement(at: AtSizes) -> PredictionAgreement | None:
    """Compare times of configurations that have both; None with fewer than two of them."""
    ratios = sorted(predicted / measured for _, measured, predicted in pairs(at))
    if len(ratios) < 2:
        return None
    apart = sorted(math.exp(abs(math.log(ratio))) for ratio in ratios)
    return PredictionAgreement(
        len(ratios), ratios[len(ratios) // 2], apart[math.ceil(0.9 * len(apart)) - 1]
    )


def pairs(at: AtSizes) -> list[tuple[SweptConfiguration, float, float]]:
    """Configuration, measured and predicted microseconds."""
    return [
        (one.configuration, one.measured_us, one.predicted_us)
        for one in at.candidates
        if one.measured_us and one.predicted_us
    ]


def scatter(at: AtSizes) -> Svg | None:
    """A dot per configuration, on the line where both are the same; None with fewer than two."""
    known, agreed = pairs(at), agreement(at)
    if agreed is None:
        return None
    times = [us for _, *both in known for us in both]
    low, high = min(times) / 1.1, max(times) * 1.1
    across = PictureScale(low, high, AXIS, SIZE - EDGE, is_logarithmic=True)
    up = PictureScale(low, high, SIZE - BOTTOM, EDGE, is_logarithmic=True)
    unit = unit_for(times)
    parts = [*_axes(across, up, unit), line(across(low), up(low), across(high), up(high), "equal")]
    places = {one: (across(measured), up(predicted)) for one, measured, predicted in known}
    for name, is_variant in (("plain", False), ("other", True)):
        here = [one for one in places if bool(one.variant) is is_variant]
        if group := [places[one] for one in here if one not in (at.own, at.chosen)]:
            parts.append(dots(group, name))
    parts += _named(at, places)
    label = (
        f"{agreed.count} configurations, predicted against measured time: "
        f"predicted by measured {agreed.median:.2f} in the median"
    )
    return picture(SIZE, SIZE, label, *parts, class_="scatter")


def _named(at: AtSizes, places: dict[SweptConfiguration, tuple[float, float]]) -> list[Svg]:
    parts = []
    for configuration, name in ((at.own, "own"), (at.chosen, "chosen")):
        if configuration not in places or (name == "own" and at.own == at.chosen):
            continue
        x, y = places[configuration]
        words = f"{name} {configuration_text(*configuration)}"
        is_right = x > SIZE / 2
        parts.append(dots([(x, y)], f"{name} large"))
        # Above the line to its left, below it to its right: dots lie along the line.
        at_x, at_y = (x - 8, y - 6) if is_right else (x + 8, y + 14)
        parts.append(text(at_x, at_y, words, f"{name} strong", "end" if is_right else None))
    return parts


def _axes(across: PictureScale, up: PictureScale, unit: TimeUnit) -> list[Svg]:
    parts = []
    for tick in across.ticks:
        x, y = across(tick), up(tick)
        parts += [line(x, EDGE, x, SIZE - BOTTOM, "grid"), line(AXIS, y, SIZE - EDGE, y, "grid")]
        parts.append(text(x, SIZE - BOTTOM + 14, unit.tick(tick), anchor="middle"))
        parts.append(text(AXIS - 5, y + 4, unit.tick(tick), anchor="end"))
    parts.append(text((AXIS + SIZE) / 2, SIZE - 8, f"measured, {unit.name}", anchor="middle"))
    parts.append(text(AXIS + 4, EDGE + 8, f"predicted, {unit.name}"))
    return parts

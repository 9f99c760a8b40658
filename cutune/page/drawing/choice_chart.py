"""The choice over the size, with what is as good. Takes a kernel's curve, gives a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from cutune.device.thread_block import WARP, configuration_text
from cutune.fit.measurement.sweep import SweptConfiguration
from cutune.page.drawing.scales import PictureScale, count, ratio
from cutune.page.drawing.svg import Svg, dots, element, line, picture, polyline, text
from cutune.page.facts.report import CurvePoint

LEFT, RIGHT, COLUMN = 150.0, 24.0, 24.0
TOP, GAIN_HEIGHT, ROW = 20.0, 104.0, 18.0
#: Configurations that are shown; of more, those that are chosen or good most often.
MOST_ROWS = 12


def choice_chart(curve: Sequence[CurvePoint]) -> Svg:
    """Above the gain, below which configuration is chosen and which are within 2 % of the best."""
    across = [LEFT + COLUMN * (number + 0.5) for number in range(len(curve))]
    width, rows = LEFT + COLUMN * len(curve) + RIGHT, shown_rows(curve)
    top = TOP + GAIN_HEIGHT + 40
    bottom = top + ROW * len(rows)
    parts = [
        *_gain(curve, across, width),
        *_rows(curve, across, rows, top, width),
        *_sizes(curve, across, bottom),
    ]
    return picture(width, bottom + 34, in_words(curve), *parts, class_="choices")


def shown_rows(curve: Sequence[CurvePoint]) -> list[SweptConfiguration]:
    """The program's own configuration, then those that are chosen, then those that are as good."""
    chosen = Counter(point.chosen for point in curve)
    near = Counter(one for point in curve for one in point.near)
    own = curve[0].own
    others = sorted({*chosen, *near} - {own}, key=lambda one: (-chosen[one], -near[one], one))
    return [own, *others][:MOST_ROWS]


def _gain(curve: Sequence[CurvePoint], across: Sequence[float], width: float) -> Iterator[Svg]:
    most = max(1.1, *(point.gain for point in curve))
    up = PictureScale(1.0, most, TOP + GAIN_HEIGHT, TOP + 6)
    ticks = up.ticks
    step = ticks[1] - ticks[0] if len(ticks) > 1 else most - 1
    for tick in [1.0, *(tick for tick in ticks if tick - 1 > step / 3)]:
        yield line(LEFT, up(tick), width - RIGHT, up(tick), "grid")
        yield text(LEFT - 8, up(tick) + 4, f"{tick:g} ×", anchor="end")
    yield text(0, TOP - 6, "times as fast as the program’s own", "strong")
    aligned: list[tuple[float, float]] = []
    others: list[tuple[float, float]] = []
    for x, point in zip(across, curve, strict=True):
        (others if point.size % WARP else aligned).append((x, up(point.gain)))
    if aligned:
        yield polyline(aligned, "curve")
        yield dots(aligned, "chosen")
    if others:
        yield polyline(others, "curve thin")
        yield dots(others, "chosen hollow")
        yield dots(others, "hole")
        yield from _legend(width - RIGHT - 210)


def _legend(left: float) -> Iterator[Svg]:
    yield dots([(left, TOP - 10)], "chosen")
    yield text(left + 9, TOP - 6, "multiples of 32")
    yield dots([(left + 128, TOP - 10)], "chosen hollow")
    yield dots([(left + 128, TOP - 10)], "hole")
    yield text(left + 137, TOP - 6, "other sizes")


def _rows(
    curve: Sequence[CurvePoint],
    across: Sequence[float],
    rows: Sequence[SweptConfiguration],
    top: float,
    width: float,
) -> Iterator[Svg]:
    yield text(0, top - 8, "chosen (dot), as good within 2 % (band)", "strong")
    for number, row in enumerate(rows):
        y = top + ROW * (number + 0.5)
        name = configuration_text(*row) + (" (own)" if row == curve[0].own else "")
        yield text(LEFT - 8, y + 4, name, "own" if row == curve[0].own else "", "end")
        yield line(LEFT, y, width - RIGHT, y, "grid")
        near = [x for x, point in zip(across, curve, strict=True) if row in point.near]
        for left, right in _runs(near):
            yield element(
                "rect",
                x=left - COLUMN / 2 + 1,
                y=y - 6,
                width=right - left + COLUMN - 2,
                height=12.0,
                class_="band",
            )
        chosen = [(x, y) for x, p in zip(across, curve, strict=True) if p.chosen == row]
        if chosen:
            yield dots(chosen, "own large" if row == curve[0].own else "chosen large")


def _runs(places: Sequence[float]) -> list[list[float]]:
    """First and last of each run of neighbouring columns."""
    runs: list[list[float]] = []
    for x in places:
        if runs and x - runs[-1][1] < 1.5 * COLUMN:
            runs[-1][1] = x
        else:
            runs.append([x, x])
    return runs


def _sizes(curve: Sequence[CurvePoint], across: Sequence[float], y: float) -> Iterator[Svg]:
    for x, point in zip(across, curve, strict=True):
        if point.size & (point.size - 1) == 0 or point.size % 10_000 == 0:
            yield text(x, y + 14, count(point.size), anchor="middle")
    yield text(LEFT - 8, y + 14, "all sizes =", anchor="end")


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

"""Predicted against measured times. Takes a kernel at sizes, gives a picture and its figures."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cutune.device.thread_block import configuration_text
from cutune.fit.measurement.sweep import SweptConfiguration
from cutune.page.drawing.scales import PictureScale, TimeUnit, unit_for
from cutune.page.drawing.svg import Svg, dots, line, picture, text
from cutune.page.facts.report import AtSizes

SIZE, LEFT, BOTTOM, EDGE = 340.0, 44.0, 40.0, 12.0


@dataclass(frozen=True)
class PredictionAgreement:
    """Predicted by measured times: the median, and how far nine in ten lie at most, as factors."""

    count: int
    median: float
    ninetieth: float


def agreement(at: AtSizes) -> PredictionAgreement | None:
    """Of all configurations that have both; None with fewer than two."""
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
    across = PictureScale(low, high, LEFT, SIZE - EDGE, is_logarithmic=True)
    up = PictureScale(low, high, SIZE - BOTTOM, EDGE, is_logarithmic=True)
    unit = unit_for(times)
    parts = [*_axes(across, up, unit), line(across(low), up(low), across(high), up(high), "equal")]
    places = {one: (across(measured), up(predicted)) for one, measured, predicted in known}
    special = {at.own, at.chosen}
    plain = [place for one, place in places.items() if one not in special and not one.variant]
    others = [place for one, place in places.items() if one not in special and one.variant]
    parts += [dots(group, name) for group, name in ((plain, "plain"), (others, "other")) if group]
    parts += _named(at, places)
    label = (
        f"{agreed.count} configurations, predicted against measured time: "
        f"predicted by measured {agreed.median:.2f} in the median"
    )
    return picture(SIZE, SIZE, label, *parts, class_="scatter")


def _named(at: AtSizes, places: dict[SweptConfiguration, tuple[float, float]]) -> list[Svg]:
    """The program's own configuration and the chosen one, with their names."""
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
        parts += [line(x, EDGE, x, SIZE - BOTTOM, "grid"), line(LEFT, y, SIZE - EDGE, y, "grid")]
        parts.append(text(x, SIZE - BOTTOM + 14, unit.tick(tick), anchor="middle"))
        parts.append(text(LEFT - 5, y + 4, unit.tick(tick), anchor="end"))
    parts.append(text((LEFT + SIZE) / 2, SIZE - 8, f"measured, {unit.name}", anchor="middle"))
    parts.append(text(LEFT + 4, EDGE + 8, f"predicted, {unit.name}"))
    return parts

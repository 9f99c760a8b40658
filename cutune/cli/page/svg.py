"""SVG as text, and numbers as places and labels. Takes names, attributes and values, gives markup.

Whatever is no `Svg` is escaped: text of a source or of a device never becomes markup.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape


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


def picture(width: float, height: float, label: str, *children: Svg, class_: str = "") -> Svg:
    """A picture that screen readers call by its label."""
    return element(
        "svg",
        *children,
        viewBox=f"0 0 {_number(width)} {_number(height)}",
        role="img",
        aria_label=label,
        class_=class_ or None,
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

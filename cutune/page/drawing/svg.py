"""SVG as text, and numbers as places and labels. Takes names, attributes and values, gives markup.

Whatever is no `Svg` is escaped: text of a source or of a device never becomes markup.
"""

from __future__ import annotations

from html import escape


class Svg(str):
    """Markup that was made here; templates insert it as it is."""

    def __html__(self) -> str:
        return self


def element(name: str, *children: Svg | str, **attributes: object) -> Svg:
    """`<name attributes>children</name>`.

    Args:
        attributes: `stroke_width` is `stroke-width`, `class_` is `class`; None is left out.
    """
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


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Svg:
    """A straight line."""
    return element("path", d=f"M{_pair(x1, y1)}L{_pair(x2, y2)}", class_=class_)


def polyline(points: list[tuple[float, float]], class_: str) -> Svg:
    """A line through points."""
    return element("path", d="M" + "L".join(_pair(x, y) for x, y in points), class_=class_)


def dots(points: list[tuple[float, float]], class_: str) -> Svg:
    """Dots of one kind as one path: lines of no length with round ends."""
    return element(
        "path", d="".join(f"M{_pair(x, y)}h0" for x, y in points), class_=f"dot {class_}"
    )


def _pair(x: float, y: float) -> str:
    return f"{_number(x)} {_number(y)}"


def _number(value: object) -> str:
    """A tenth of a unit is enough for a picture."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)

"""How searches come nearer to the best, drawn. Takes comparisons, gives a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cutune.contest.compare import TunerComparison
from cutune.core.workspace import writing
from cutune.page.figures import DOTS_PER_INCH, STYLE, WIDTH
from cutune.page.html import required
from cutune.search.techniques.replay import least, random_curve

#: Inches of one panel.
HEIGHT = 2.6
#: Ways to draw a line, so that no two searches differ in colour alone.
DASHES = ("-", "--", "-.", ":")


def write_plot(path: Path, comparisons: Sequence[TunerComparison]) -> None:
    """Draw a panel per size: the best time so far over the best of all, by configurations.

    Raises:
        CutuneError: CT017 where matplotlib is not installed, CT002.
    """
    matplotlib = required("matplotlib")
    required("matplotlib.figure")
    with matplotlib.rc_context(STYLE):
        figure = matplotlib.figure.Figure(
            figsize=(WIDTH, HEIGHT * len(comparisons)), layout="constrained"
        )
        panels = figure.subplots(len(comparisons), 1, squeeze=False)
        for (axes,), one in zip(panels, comparisons, strict=True):
            _draw(axes, one)
        with writing(path):
            figure.savefig(path, dpi=DOTS_PER_INCH)


def _draw(axes: Any, one: TunerComparison) -> None:
    best = least(one.known)
    chance = random_curve(one.known)
    counts = range(1, len(chance) + 1)
    axes.plot(counts, [time / best for time in chance], color="black", label="random, expected")
    for index, score in enumerate(one.scores):
        line = [time / best for time in score.curve]
        axes.plot(counts, line, DASHES[(index + 1) % len(DASHES)], label=score.technique)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_title(one.where, loc="left", fontsize=9)
    axes.set_xlabel("configurations that were measured")
    axes.set_ylabel("time of the best so far / best")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)

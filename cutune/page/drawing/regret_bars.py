"""Regret of the choice and of baselines as bars. Takes an evaluation, gives a picture."""

from __future__ import annotations

from collections.abc import Iterator

from cutune.evaluation.evaluate import Evaluation, StrategyScore
from cutune.page.drawing.scales import PictureScale
from cutune.page.drawing.svg import Svg, element, line, picture, text
from cutune.page.drawing.terms import WIDTH

REGRET_ROW, REGRET_BAR = 36.0, 12.0
JUDGED = "cutune"


def ranked_scores(evaluation: Evaluation) -> list[tuple[str, StrategyScore]]:
    """Names and scores, the least regret first."""
    scores = [evaluation.score(name) for name in evaluation.strategies]
    named = [(name_of(score.strategy, evaluation.judged), score) for score in scores]
    return sorted(named, key=lambda pair: pair[1].mean)


def name_of(strategy: str, judged: str) -> str:
    """How the page calls a strategy."""
    published = {"mwp-cwp": "MWP-CWP model", "latency": "latency model"}
    return JUDGED if strategy == judged else published.get(strategy, strategy)


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
    kind = "ours" if is_ours else "theirs"
    yield element("rect", x=0, y=y + 17, width=width, height=REGRET_BAR, class_=kind)
    # A mark beyond the picture says nothing.
    ninetieth = scale(score.ninetieth)
    if ninetieth <= scale.end:
        yield line(ninetieth, y + 15, ninetieth, y + 17 + REGRET_BAR + 2, "mark")
    at = max(width, ninetieth if ninetieth <= scale.end else 0.0) + 6
    yield text(at, y + 27, f"{100 * score.mean:.1f} %", "strong" if is_ours else "")

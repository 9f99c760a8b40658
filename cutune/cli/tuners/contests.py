"""Searches that have run, for people and programs. Takes a `LiveContest`, gives text or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from rich.console import Console

from cutune.cli.report.classifiers import techniques_table
from cutune.search.trial_runs import named
from cutune.search.trials import plain

if TYPE_CHECKING:
    from cutune.contest.live import Contender, LiveContest, SearchResult

LIVE_SCHEMA = "cutune-live-1"


def print_live(benchmark: str, contest: LiveContest, unit: str, is_verbose: bool) -> None:
    """Print what each contender has found at one size, the best first."""
    print(f"{benchmark}, {contest.where}: {contest.size} configurations, in {unit}")
    best = contest.best
    if best is not None and best.best is not None and best.cost is not None:
        print(f"best of all: {_number(best.cost)} with {named(best.best)}")
    table = techniques_table("best", "found after", "configurations", "seconds")
    for one in sorted(contest.contenders, key=_typical):
        table.add_row(
            one.technique,
            _spread([found.cost for found in one.found]),
            _spread([float(found.needed) for found in one.found]),
            _spread([float(found.measured) for found in one.found]),
            _spread([round(found.seconds, 1) for found in one.found]),
        )
    Console(emoji=False).print(table)
    if is_verbose:
        for one in contest.contenders:
            for found in one.found:
                print(f"  {one.technique}: {_said(found)}")


def live_json(benchmark: str, contest: LiveContest, unit: str) -> dict[str, object]:
    """The contest as JSON: the best of each search, and each step on the way."""
    return {
        "benchmark": benchmark,
        "where": contest.where,
        "configurations": contest.size,
        "unit": unit,
        "contenders": [
            {"search": one.technique, "found": [_found_json(found) for found in one.found]}
            for one in contest.contenders
        ],
    }


def _found_json(found: SearchResult) -> dict[str, object]:
    best = found.best
    return {
        "best": None if best is None else {name: plain(value) for name, value in best.items()},
        "cost": found.cost,
        "found_after": found.needed,
        "evaluations": found.measured,
        "seconds": found.seconds,
        "curve": list(found.curve),
    }


def _typical(one: Contender) -> float:
    """The median of what it has found; what has found nothing comes last."""
    known = [found.cost for found in one.found if found.cost is not None]
    return median(known) if known else float("inf")


def _spread(values: Sequence[float | None]) -> str:
    """The median, and the least and the most around it."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    low, high = min(known), max(known)
    around = f" ({_number(low)}..{_number(high)})" if low < high else ""
    return f"{_number(median(known))}{around}"


def _said(found: SearchResult) -> str:
    if found.best is None or found.cost is None:
        return "nothing that ends well"
    return f"{_number(found.cost)} with {named(found.best)}"


def _number(value: float) -> str:
    """Four digits; counts as a whole."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"

"""Recorded times of the tridiagonal sample on an H200, as tables by m, R and S."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from cutune.search.neighbours.table import Columns, Configuration, Point, TimeTable, read_table
from samples.tridiagonal.sweep import published_streams

RECORDED = Path(__file__).parents[1] / "recorded" / "tridiagonal_h200.csv"
#: Time that the rule for m may lose at measured sizes.
LIMIT = 0.04

#: The corrected FP64 heuristic of the publication, for an RTX 2080 Ti.
PUBLISHED = ((4500, 4), (25_000, 8), (50_000, 16), (75_000, 20), (10**7, 32), (10**8, 64))


def published_m(point: Point) -> Configuration:
    """The published choice of m."""
    return (next((m for limit, m in PUBLISHED if point[0] <= limit), PUBLISHED[-1][1]),)


def all_times(precision: str) -> TimeTable:
    """Times by N, and by m, R, S, m1."""
    columns = Columns(("N",), ("m", "R", "S", "m1"), "ms", (("precision", precision),))
    return read_table(RECORDED, columns)


def sub_system_table(whole: TimeTable, sizes: Iterable[int]) -> TimeTable:
    """Times by m, without recursion, with the published number of streams.

    Only where there are two sub-systems at least: else the host solves the system alone, which is
    another method, and faster than this one below some 6,000 rows.
    """
    times: dict[Point, dict[Configuration, float]] = {}
    for n in sizes:
        own = whole.times[(n,)]
        streams = published_streams(n)
        times[(n,)] = {
            (m,): t for (m, r, s, _), t in own.items() if r == 0 and s == streams and 2 * m <= n
        }
    return TimeTable(("N",), ("m",), times)


def recursion_table(whole: TimeTable, sizes: Iterable[int]) -> TimeTable:
    """Times by R, each with the best m and m1 that were measured for it."""
    times: dict[Point, dict[Configuration, float]] = {}
    for n in sizes:
        own = whole.times[(n,)]
        streams = published_streams(n)
        best: dict[Configuration, float] = {}
        for (_, r, s, _), t in own.items():
            if s == streams:
                best[(r,)] = min(t, best.get((r,), t))
        times[(n,)] = best
    return TimeTable(("N",), ("R",), times)


def stream_table(whole: TimeTable, sizes: Iterable[int], m: int) -> TimeTable:
    """Times by S for one m, without recursion."""
    times: dict[Point, dict[Configuration, float]] = {
        (n,): {(s,): t for (k, r, s, _), t in whole.times[(n,)].items() if r == 0 and k == m}
        for n in sizes
        if 2 * m <= n
    }
    return TimeTable(("N",), ("S",), times)


def gain(
    table: TimeTable,
    chosen: Callable[[Point], Configuration],
    other: Callable[[Point], Configuration],
) -> tuple[float, int]:
    """The largest t(other) / t(chosen), and at which N."""
    return max((table.times[p][other(p)] / table.times[p][chosen(p)], p[0]) for p in table.points)

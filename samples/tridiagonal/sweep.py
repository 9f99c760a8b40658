"""What to measure of the tridiagonal solver: writes one file of configurations per question.

python samples/tridiagonal/sweep.py FOLDER
for q in FOLDER/*.txt; do ./tridiagonal --sweep $q > ${q%.txt}.csv; done
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import exp, log, sqrt
from pathlib import Path

#: The 37 sizes of the publication.
SIZES = tuple(
    sorted(
        [k * 10**i for i in range(2, 8) for k in (1, 2, 4, 5, 8)]
        + [4500, 25_000, 30_000, 60_000, 70_000, 75_000, 10**8]
    )
)
#: Sizes between them, on which nothing is based: they judge the choice.
BETWEEN = tuple(round(sqrt(a * b)) for a, b in pairwise(SIZES))
#: Sizes that nothing at all was based on: the method was fixed before they were measured.
FRESH = tuple(sorted(round(exp(random.Random(i).uniform(log(100), log(1e8)))) for i in range(60)))
#: The 18 sizes of the publication's Table II, and some between them.
RECURSION_SIZES = tuple(
    round(1e5 * k)
    for k in (1, 10, 20, 22, 23, 24, 25, 30, 40, 45, 48, 50, 80, 84, 92, 96, 100, 1000)
)
RECURSION_BETWEEN = tuple(round(1e5 * k) for k in (3, 6, 15, 35, 65, 200, 400))
#: Below all of these, where recursion must cease to pay.
RECURSION_SMALL = (2_000, 5_000, 10_000, 20_000, 40_000, 70_000)
SUB_SYSTEMS = (4, 5, 8, 10, 16, 20, 25, 32, 40, 64, 100, 128, 256, 512, 1250)
#: Without recursion, and with it: the more the host has to solve, the larger m should be.
LARGE_SUB_SYSTEMS = (16, 32, 64, 128, 256, 512)
SMALL_SUB_SYSTEMS = (8, 16, 32, 64)
INNER_SUB_SYSTEMS = (4, 10, 32)
STREAMS = (1, 2, 4, 8, 16, 32)
INNER = 10
BLOCK = 256


def published_streams(n: int) -> int:
    """The number of streams that the publication uses."""
    limits = ((150_000, 1), (300_000, 2), (450_000, 4), (1_500_000, 8), (3_000_000, 16))
    return next((streams for limit, streams in limits if n <= limit), 32)


def line(precision: str, n: int, m: int, steps: int, streams: int, inner: int = INNER) -> str:
    """A configuration as the program reads it."""
    return f"{precision} {n} {m} {steps} {streams} {BLOCK} {inner} {INNER} {INNER} {INNER}"


def sub_systems(precision: str, sizes: Sequence[int], smallest: int = 4) -> Iterator[str]:
    """Every m that divides the system, without recursion; large ones in large systems only."""
    for n in sizes:
        for m in SUB_SYSTEMS:
            if 2 * m > n or (n > 1_000_000 and m < smallest):
                continue
            yield line(precision, n, m, 0, published_streams(n))


def recursion(precision: str, sizes: Sequence[int]) -> Iterator[str]:
    """Every number of steps; m and m1 such that the best of each can be found."""
    for n in sizes:
        for m in LARGE_SUB_SYSTEMS:
            yield line(precision, n, m, 0, published_streams(n))
        for m in SMALL_SUB_SYSTEMS:
            for steps in range(1, 5):
                for inner in INNER_SUB_SYSTEMS:
                    yield line(precision, n, m, steps, published_streams(n), inner)


def streams(precision: str, sizes: Sequence[int]) -> Iterator[str]:
    """Every number of streams, for two sub-system sizes."""
    for n in sizes:
        for m in (32, 128):
            for count in STREAMS:
                yield line(precision, n, m, 0, count)


def main(folder: Path) -> None:
    """Write the files, numbered in the order in which they matter."""
    questions = {
        "1-m-fp64": sub_systems("fp64", SIZES),
        "2-m-between-fp64": sub_systems("fp64", BETWEEN),
        "3-recursion-fp64": recursion("fp64", RECURSION_SIZES + RECURSION_BETWEEN),
        "4-m-fp32": sub_systems("fp32", SIZES),
        "5-streams-fp64": streams("fp64", SIZES),
        "6-m-between-fp32": sub_systems("fp32", BETWEEN),
        "7-recursion-fp32": recursion("fp32", RECURSION_SIZES),
        "8-m-fresh-fp64": sub_systems("fp64", FRESH, 16),
        "8-m-fresh-fp32": sub_systems("fp32", FRESH, 16),
        "9-recursion-small-fp64": recursion("fp64", RECURSION_SMALL),
        "9-recursion-small-fp32": recursion("fp32", RECURSION_SMALL),
        "9-recursion-between-fp32": recursion("fp32", RECURSION_BETWEEN),
        "9-streams-fp32": streams("fp32", SIZES),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in questions.items():
        (folder / f"{name}.txt").write_text("".join(f"{text}\n" for text in lines))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

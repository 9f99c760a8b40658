"""Which values of a kernel's constants are looked at. Takes constants, gives few of their values.

A few constants have thousands of values together. Those are compiled that are nearest to the
program's own, and as many others as are needed so that any is near one of them: in what a block
covers, in its threads, and less so in the values themselves. Each is the farthest from those before
it (a maximin design). Which of them are tried hangs on what they are counted to cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import inf, log2, prod

from cutune.toolchain.device.thread_block import Block, threads_of

#: Other values of a constant are so many times the program's own, by how many constants there are.
_NEAR = (Fraction(1, 2), Fraction(2))
_FACTORS = {
    1: (Fraction(1, 8), Fraction(1, 4), *_NEAR, Fraction(3, 2), Fraction(4)),
    2: (Fraction(1, 4), *_NEAR, Fraction(4)),
    3: (Fraction(1, 4), *_NEAR),
}
#: Combinations that are looked at; those that are compiled, and of them the nearest ones.
_MOST_LOOKED_AT = 1024
MOST_COMPILED, _MOST_NEAR = 64, 12
#: How much the values themselves count beside what they make of a launch.
_OF_VALUES = 0.5

Chosen = tuple[int, ...]
"""A value for each constant."""


def combinations(own: Sequence[int], beside: Sequence[Sequence[int]] = ()) -> list[Chosen]:
    """Return other values of constants, those first that are nearest to the program's own.

    `beside`: of each constant, by how much others are larger that are computed from it. Their
    values count as its own do: of a tile of 30 with a halo of 2 the block is 32 wide.
    """
    factors = _FACTORS.get(len(own), _NEAR)
    each = [
        dict.fromkeys(
            (one + more) * factor - more
            for more in (0, *others)
            for factor in (Fraction(1), *factors, *_to_powers(one + more))
        )
        for one, others in zip(own, beside or [()] * len(own), strict=True)
    ]
    whole = [[int(v) for v in values if v.denominator == 1 and v > 0] for values in each]
    found = sorted(product(*whole), key=lambda values: _distance(own, values))
    # Evenly, where there are too many: the nearest come first.
    near, far = found[1 : 1 + _MOST_LOOKED_AT // 2], found[1 + _MOST_LOOKED_AT // 2 :]
    return near + far[:: max(1, -(-len(far) // (_MOST_LOOKED_AT // 2)))]


def _distance(own: Sequence[int], values: Chosen) -> tuple[int, float]:
    steps = [abs(log2(value / one)) for one, value in zip(own, values, strict=True)]
    return sum(step > 0 for step in steps), sum(steps)


def _to_powers(value: int) -> tuple[Fraction, ...]:
    """The factors that make a power of two of 24 or 96."""
    return (Fraction(2, 3), Fraction(4, 3)) if value % 3 == 0 else ()


def designed(launches: Mapping[Chosen, tuple[Block, Block]], most: int) -> Iterator[Chosen]:
    """Yield values, at most so many. `launches`: the block of each, and what a block covers.

    They come as in `launches`, of which those are nearest to the program's own that are first.
    """
    places = {values: _place(values, *launch) for values, launch in launches.items()}
    chosen = [*places][: most if len(places) <= most else _MOST_NEAR]
    away = {
        values: min((_apart(place, places[one]) for one in chosen), default=inf)
        for values, place in places.items()
        if values not in {*chosen}
    }
    while away and len(chosen) < most:
        farthest = max(away, key=away.__getitem__)
        chosen.append(farthest)
        del away[farthest]
        for values, distance in away.items():
            away[values] = min(distance, _apart(places[values], places[farthest]))
    wanted = {*chosen}
    yield from (values for values in places if values in wanted)


def _place(values: Chosen, block: Block, covered: Block) -> tuple[float, ...]:
    of_launch = (*covered, prod(covered), threads_of(block))
    return (*map(log2, of_launch), *(_OF_VALUES * log2(value) for value in values))


def _apart(one: Sequence[float], other: Sequence[float]) -> float:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))

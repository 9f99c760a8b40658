"""Techniques compared on known times. Takes a space and its times, gives a `TechniqueScore`.

How many configurations a technique measures until it is within 5 % of the best, and the score of
Willemsen et al. (FGCS 2024, doi 10.1016/j.future.2024.05.021), here over the number of
measured configurations: how much of the way from what random search has found on the average to
the optimum it is ahead; 0 is random search, which is computed exactly, 1 the optimum at once.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import inf
from statistics import fmean, median, quantiles

from cutune.search.techniques.registry import Technique, search
from cutune.search.techniques.tries import Allowance, SearchEnd, Timed, Tries
from cutune.space.space import Configuration, Space

REPETITIONS = 20
#: What counts as found: this share of the best speed.
GOAL = 0.95
#: The score ends where random search has come so far from the median to the optimum.
CUT = 0.95
#: A technique that measures more has not found it.
MOST = 1000


@dataclass(frozen=True)
class KnownTime:
    """The time of a configuration, None where it failed, and the seconds that its runs took."""

    milliseconds: float | None
    seconds: float


@dataclass(frozen=True)
class TechniqueScore:
    """The result of a technique.

    Attributes:
        needed: by repetition, configurations until one is within the goal; inf: none was.
        seconds: that their runs took.
        curve: the mean best time after 1, 2, … configurations, as far as the score goes.
    """

    technique: str
    needed: tuple[float, ...]
    seconds: tuple[float, ...]
    score: float
    curve: tuple[float, ...] = ()


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the lower quartile, the median and the upper quartile."""
    if inf in values:
        # Order is enough: what lies between a number and infinity is none.
        ordered = sorted(values)
        last = len(ordered) - 1
        return ordered[last // 4], ordered[last // 2], ordered[-(-last * 3 // 4)]
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, median(values), high


def replayed(
    space: Space,
    known: Mapping[int, KnownTime],
    technique: Technique,
    repetitions: int = REPETITIONS,
) -> TechniqueScore:
    """Score a technique on the times of a whole space; each repetition has another start."""
    curves, needed, seconds = [], [], []
    goal, chance, worst = least(known) / GOAL, random_curve(known), max(_times(known), default=inf)
    for state in range(repetitions):
        order = _order(space, known, technique, state, len(chance))
        times = [known[number].milliseconds for number in order]
        first = next((i for i, one in enumerate(times) if one is not None and one <= goal), None)
        needed.append(inf if first is None else first + 1.0)
        spent = sum(known[number].seconds for number in order[: (first or 0) + 1])
        seconds.append(inf if first is None else spent)
        curves.append([*accumulate((worst if one is None else one for one in times), min)])
    mean = [fmean(one[min(i, len(one) - 1)] for one in curves) for i, _ in enumerate(chance)]
    score = _score(mean, chance, least(known))
    return TechniqueScore(technique.name, tuple(needed), tuple(seconds), score, tuple(mean))


def _times(known: Mapping[int, KnownTime]) -> list[float]:
    return [one.milliseconds for one in known.values() if one.milliseconds is not None]


def least(known: Mapping[int, KnownTime]) -> float:
    """Return the best time; inf where all failed."""
    return min(_times(known), default=inf)


def expected_of_chance(known: Mapping[int, KnownTime]) -> float:
    """Return how many configurations random search measures, on average, to reach the goal."""
    goal = least(known) / GOAL
    return (len(known) + 1) / (sum(time <= goal for time in _times(known)) + 1)


def random_curve(known: Mapping[int, KnownTime]) -> list[float]:
    """Return the expected best of 1, 2, … different draws, as far as the score goes.

    Of n times in rising order the i-th is the least of k draws with the probability that it is
    drawn and no earlier one is; from one time to the next that falls by (n - k - i) / (n - 1 - i).
    """
    count, times = len(known), sorted(_times(known))
    times += [times[-1] if times else inf] * (count - len(times))
    optimum = times[0]
    end = optimum + (median(times) - optimum) * (1 - CUT)
    curve = []
    for draws in range(1, count + 1):
        expected, probability = 0.0, draws / count
        for index, time in enumerate(times[: count - draws + 1]):
            expected += probability * time
            if index < count - 1:
                probability *= (count - draws - index) / (count - 1 - index)
        curve.append(expected)
        if expected <= end or draws >= MOST:
            break
    return curve


def _order(
    space: Space, known: Mapping[int, KnownTime], technique: Technique, state: int, scored: int
) -> list[int]:
    """Return numbers of configurations as they are measured; `scored` count for the score."""
    order: list[int] = []
    optimum = least(known)
    is_found = False

    def timed(configuration: Configuration) -> Timed:
        nonlocal is_found
        last = known[order[-1]].milliseconds if order else None
        is_found |= last is not None and last <= optimum / GOAL
        # What comes behind the optimum, or behind all that is asked for, changes nothing.
        if last == optimum or (is_found and len(order) >= scored):
            raise SearchEnd
        number = space.number(configuration)
        assert number is not None
        order.append(number)
        return Timed(known[number].milliseconds)

    start = random.Random(state).randrange(space.size)
    tries = Tries(space, timed, Allowance(min(space.size, MOST)))
    search(technique, tries, space.rows(start), state)
    return order


def _score(curve: Sequence[float], chance: Sequence[float], optimum: float) -> float:
    ahead = [
        (expected - found) / (expected - optimum)
        for expected, found in zip(chance, curve, strict=True)
        if expected > optimum
    ]
    return fmean(ahead) if ahead else 1.0

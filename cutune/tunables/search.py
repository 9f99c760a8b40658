"""A search in place of a full sweep. Takes values of tunables and a timer, gives times of some.

All values of one tunable are tried while the others are held: a line. The next line always goes
through the fastest configuration that has one left, in the direction of the next tunable. That is
coordinate descent as long as something improves; then it goes on from the second best, and so on.
Nothing is random, and the tables of pragmas get what they want: times of all values of a tunable
with the others held, first of all where it matters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod

from cutune.tunables.neighbours.table import Configuration

Choices = Sequence[Sequence[int]]
"""The values of each tunable."""


def search(
    choices: Choices,
    time: Callable[[Configuration], float | None],
    budget: int,
    start: Configuration | None = None,
) -> dict[Configuration, float | None]:
    """Times of at most `budget` configurations, in order of trial.

    Args:
        time: gives None for a configuration that fails or is not allowed.
        start: the best configuration at a neighbouring size; None: the middle values.
    """
    known: dict[Configuration, float | None] = {}

    def cost(configuration: Configuration) -> float:
        found = known[configuration]
        return inf if found is None else found

    def try_all(configurations: Sequence[Configuration]) -> None:
        for configuration in configurations:
            if configuration not in known and len(known) < budget:
                known[configuration] = time(configuration)

    axes, last = range(len(choices)), -1
    tried: set[tuple[int, Configuration]] = set()
    try_all([start or tuple(own[len(own) // 2] for own in choices)])
    while len(known) < min(budget, prod(map(len, choices))):
        left = [(c, axis) for c in known for axis in axes if _line_at(c, axis) not in tried]
        place, last = min(left, key=lambda one: (cost(one[0]), (one[1] - last - 1) % len(choices)))
        tried.add(_line_at(place, last))
        try_all(_line(choices, place, last))
    return known


def _line_at(place: Configuration, axis: int) -> tuple[int, Configuration]:
    """The values that all configurations of a line share."""
    return axis, (*place[:axis], *place[axis + 1 :])


def _line(choices: Choices, place: Configuration, axis: int) -> list[Configuration]:
    """All values of one tunable, those nearest to the current one first."""
    own = list(choices[axis])
    middle = own.index(place[axis])
    nearest = sorted(own, key=lambda value: abs(own.index(value) - middle))
    return [(*place[:axis], value, *place[axis + 1 :]) for value in nearest]

"""Techniques of scipy.optimize. Take what may be tried and a start, try places.

They work on real numbers: a coordinate per parameter, whose whole part is the number of a value. A
combination that no condition allows stands for the nearest that is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from cutune.search.techniques.tries import Rows, Tries
from cutune.space.parameter import Parameter
from cutune.space.space import Space

Point = NDArray[np.float64]
#: They end when no more may be measured.
_ENDLESS = 1_000_000
#: Boxes of a division.
_BOXES = 50_000
#: Individuals of a population: Kernel Tuner's number.
POPULATION = 20
#: At this temperature a configuration that takes 10 % longer is taken in every third case.
TEMPERATURE = 0.1
#: Steps of one local descent.
_DESCENT = 50


@dataclass(frozen=True)
class Coordinates:
    """Numbers in place of values."""

    space: Space
    #: In a large table the nearest row takes milliseconds to find, and descents come back to it.
    _places: dict[tuple[int, ...], Rows] = field(default_factory=dict, compare=False)

    @property
    def varied(self) -> list[Parameter]:
        """The parameters with a choice."""
        return [one for one in self.space.parameters if len(one.values) > 1]

    @property
    def bounds(self) -> optimize.Bounds[Any]:
        """Of all coordinates."""
        ends = [len(one.values) - 1e-6 for one in self.varied]
        return optimize.Bounds(np.zeros(len(ends)), np.array(ends))

    def place(self, numbers: Iterable[float]) -> Rows:
        """The place of some numbers of values, or the nearest that is allowed."""
        varied = self.varied
        own = tuple(
            min(max(int(number), 0), len(one.values) - 1)
            for one, number in zip(varied, numbers, strict=True)
        )
        if own not in self._places:
            wanted = {one.name: one.values[i] for one, i in zip(varied, own, strict=True)}
            self._places[own] = tuple(table.closest(wanted) for table in self.space.tables)
        return self._places[own]

    def point(self, rows: Rows) -> Point:
        """The coordinates of a place."""
        values = self.space.of_rows(rows)
        return np.array([one.values.index(values[one.name]) + 0.5 for one in self.varied])


def differential_evolution(tries: Tries, start: Rows, generator: random.Random) -> None:
    """A population whose members are moved by differences of others."""
    found = Coordinates(tries.space)
    optimize.differential_evolution(
        _cost(tries, found),
        found.bounds,
        x0=found.point(start),
        init=np.array([_drawn(found, generator) for _ in range(POPULATION)]),
        maxiter=_ENDLESS,
        tol=0,
        polish=False,
        seed=generator.randrange(1 << 32),
    )


def annealing(tries: Tries, start: Rows, generator: random.Random) -> None:
    """Simulated annealing, in its generalized form."""
    _annealing(tries, start, generator, no_local_search=True)


def dual_annealing(tries: Tries, start: Rows, generator: random.Random) -> None:
    """Annealing with descents from what it finds."""
    found = Coordinates(tries.space)
    options = {"method": "Powell", "bounds": found.bounds, "options": {"maxfev": _DESCENT}}
    _annealing(tries, start, generator, minimizer_kwargs=options)


def _annealing(tries: Tries, start: Rows, generator: random.Random, **options: Any) -> None:
    found = Coordinates(tries.space)
    optimize.dual_annealing(
        _cost(tries, found),
        found.bounds,
        x0=found.point(start),
        maxiter=_ENDLESS,
        maxfun=_ENDLESS,
        seed=generator.randrange(1 << 32),
        **options,
    )


def mcmc(tries: Tries, start: Rows, generator: random.Random) -> None:
    """A walk that takes what is worse with a probability that falls with how much it is."""
    _walk(tries, start, generator, {"method": _stay})


def basin_hopping(tries: Tries, start: Rows, generator: random.Random) -> None:
    """The same walk, with a descent from each place."""
    bounds = Coordinates(tries.space).bounds
    options = {"maxfev": _DESCENT}
    _walk(tries, start, generator, {"method": "Nelder-Mead", "bounds": bounds, "options": options})


def _walk(tries: Tries, start: Rows, generator: random.Random, descent: Any) -> None:
    found = Coordinates(tries.space)
    parameters = found.varied

    def stepped(point: Point) -> Any:
        # One parameter changes, to any of its values.
        moved, axis = point.copy(), generator.randrange(len(point))
        moved[axis] = generator.randrange(len(parameters[axis].values)) + 0.5
        return moved

    optimize.basinhopping(
        _cost(tries, found),
        found.point(start),
        niter=_ENDLESS,
        T=TEMPERATURE,
        minimizer_kwargs=descent,
        take_step=stepped,
        seed=generator.randrange(1 << 32),
    )


def nelder_mead(tries: Tries, start: Rows, generator: random.Random) -> None:
    """Descents by a simplex, from the start and then from random places."""
    _descents(tries, start, generator, "Nelder-Mead")


def powell(tries: Tries, start: Rows, generator: random.Random) -> None:
    """Descents along one direction after the other, from the start and then from random places."""
    _descents(tries, start, generator, "Powell")


def _descents(
    tries: Tries, start: Rows, generator: random.Random, method: Literal["Nelder-Mead", "Powell"]
) -> None:
    found = Coordinates(tries.space)
    point = found.point(start)
    while True:
        optimize.minimize(
            _cost(tries, found),
            point,
            method=method,
            bounds=found.bounds,
            options={"maxfev": _DESCENT * len(point)},
        )
        point = _drawn(found, generator)


def direct(tries: Tries, start: Rows, generator: random.Random) -> None:
    """The space divided into boxes, the promising ones further."""
    found = Coordinates(tries.space)
    # Room for all of them is made at once.
    most = min(_BOXES, 100 * tries.space.size)
    optimize.direct(_cost(tries, found), found.bounds, maxfun=most, maxiter=_ENDLESS, eps=1e-4)


def _cost(tries: Tries, coordinates: Coordinates) -> Any:
    return lambda numbers: tries.cost(coordinates.place(numbers))


def _drawn(coordinates: Coordinates, generator: random.Random) -> Point:
    space = coordinates.space
    return coordinates.point(space.rows(generator.randrange(space.size)))


def _stay(cost: Callable[[Point], float], point: Point, *_: Any, **__: Any) -> Any:
    """A descent of no step."""
    result = optimize.OptimizeResult()
    result.update(x=point, fun=cost(point), nfev=1, success=True)
    return result

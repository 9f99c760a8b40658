"""Techniques of scipy.optimize and, an extra, of optuna. Take `Tries` and a start, try places.

They work on real numbers: a coordinate per parameter, whose whole part is the index of a value. A
combination that no condition allows stands for the nearest one that is allowed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from cutune.search.techniques.tries import Rows, Tries
from cutune.space.parameter import Parameter

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
    """The places of a search as points of real numbers."""

    tries: Tries
    #: In a large table the nearest row takes milliseconds to find, and descents come back to it.
    _places: dict[tuple[int, ...], Rows] = field(default_factory=dict, compare=False)

    @cached_property
    def varied(self) -> list[Parameter]:
        """The parameters with a choice."""
        return [one for one in self.tries.space.parameters if len(one.values) > 1]

    @property
    def bounds(self) -> optimize.Bounds[Any]:
        """Of all coordinates."""
        ends = [len(one.values) - 1e-6 for one in self.varied]
        return optimize.Bounds(np.zeros(len(ends)), np.array(ends))

    def place(self, point: Iterable[float]) -> Rows:
        """Return the place of a point, or the nearest one that is allowed."""
        indices = tuple(
            min(max(int(number), 0), len(one.values) - 1)
            for one, number in zip(self.varied, point, strict=True)
        )
        if indices not in self._places:
            pairs = zip(self.varied, indices, strict=True)
            wanted = {one.name: one.values[index] for one, index in pairs}
            tables = self.tries.space.tables
            self._places[indices] = tuple(table.closest(wanted) for table in tables)
        return self._places[indices]

    def point(self, rows: Rows) -> Point:
        """Return the coordinates of a place."""
        values = self.tries.space.of_rows(rows)
        return np.array([one.values.index(values[one.name]) + 0.5 for one in self.varied])

    def cost(self, point: Iterable[float]) -> float:
        """Return the cost at a point, as `Tries.cost`."""
        return self.tries.cost(self.place(point))

    def drawn(self, generator: random.Random) -> Point:
        """Return the point of a random place."""
        space = self.tries.space
        return self.point(space.rows(generator.randrange(space.size)))


def differential_evolution(tries: Tries, start: Rows, generator: random.Random) -> None:
    """A population whose members are moved by differences of others."""
    points = Coordinates(tries)
    optimize.differential_evolution(
        points.cost,
        points.bounds,
        x0=points.point(start),
        init=np.array([points.drawn(generator) for _ in range(POPULATION)]),
        maxiter=_ENDLESS,
        tol=0,
        polish=False,
        seed=generator.randrange(1 << 32),
    )


def annealing(tries: Tries, start: Rows, generator: random.Random) -> None:
    """Simulated annealing, in its generalized form."""
    _annealing(Coordinates(tries), start, generator, no_local_search=True)


def dual_annealing(tries: Tries, start: Rows, generator: random.Random) -> None:
    """Annealing with descents from what it finds."""
    points = Coordinates(tries)
    options = {"method": "Powell", "bounds": points.bounds, "options": {"maxfev": _DESCENT}}
    _annealing(points, start, generator, minimizer_kwargs=options)


def _annealing(points: Coordinates, start: Rows, generator: random.Random, **options: Any) -> None:
    optimize.dual_annealing(
        points.cost,
        points.bounds,
        x0=points.point(start),
        maxiter=_ENDLESS,
        maxfun=_ENDLESS,
        seed=generator.randrange(1 << 32),
        **options,
    )


def mcmc(tries: Tries, start: Rows, generator: random.Random) -> None:
    """A walk that takes what is worse with a probability that falls with how much it is."""
    _walk(Coordinates(tries), start, generator, {"method": _stay})


def basin_hopping(tries: Tries, start: Rows, generator: random.Random) -> None:
    """The walk of `mcmc`, with a descent from each place."""
    points, options = Coordinates(tries), {"maxfev": _DESCENT}
    descent = {"method": "Nelder-Mead", "bounds": points.bounds, "options": options}
    _walk(points, start, generator, descent)


def _walk(points: Coordinates, start: Rows, generator: random.Random, descent: Any) -> None:
    def stepped(point: Point) -> Any:
        # One parameter changes, to any of its values.
        moved, axis = point.copy(), generator.randrange(len(point))
        moved[axis] = generator.randrange(len(points.varied[axis].values)) + 0.5
        return moved

    optimize.basinhopping(
        points.cost,
        points.point(start),
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
    points = Coordinates(tries)
    point = points.point(start)
    options: Any = {"maxfev": _DESCENT * len(point)}
    while True:
        optimize.minimize(points.cost, point, method=method, bounds=points.bounds, options=options)
        point = points.drawn(generator)


def direct(tries: Tries, start: Rows, generator: random.Random) -> None:
    """The space divided into boxes, the promising ones further."""
    points = Coordinates(tries)
    # Room for all of them is made at once.
    most = min(_BOXES, 100 * tries.space.size)
    optimize.direct(points.cost, points.bounds, maxfun=most, maxiter=_ENDLESS, eps=1e-4)


def _stay(cost: Callable[[Point], float], point: Point, *_: Any, **__: Any) -> Any:
    """A descent of no step."""
    result = optimize.OptimizeResult()
    result.update(x=point, fun=cost(point), nfev=1, success=True)
    return result


OPTUNA = "optuna"


def tpe(tries: Tries, start: Rows, generator: random.Random) -> None:
    """Bayesian: values are drawn as they occur among the best more often than among the rest."""
    import optuna

    _ask(tries, start, optuna.samplers.TPESampler(seed=generator.randrange(1 << 32)))


def genetic(tries: Tries, start: Rows, generator: random.Random) -> None:
    """A population whose members are crossed and mutated (NSGA-II, with one objective)."""
    import optuna

    seed = generator.randrange(1 << 32)
    _ask(tries, start, optuna.samplers.NSGAIISampler(population_size=POPULATION, seed=seed))


def _ask(tries: Tries, start: Rows, sampler: Any) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=sampler)
    points = Coordinates(tries)
    pairs = zip(points.varied, points.point(start), strict=True)
    study.enqueue_trial({one.name: int(x) for one, x in pairs})
    while True:
        trial = study.ask()
        point = [
            trial.suggest_int(one.name, 0, len(one.values) - 1)
            if all(isinstance(value, int) for value in one.values)
            else trial.suggest_categorical(one.name, range(len(one.values)))
            for one in points.varied
        ]
        study.tell(trial, points.cost(point))

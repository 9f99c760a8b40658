"""The techniques of `--technique` by their names. Takes a name, gives the `Technique`; runs one.

Names of other tuners are understood where the technique is the same; for a name of none of these
the message names the nearest technique. The local search is cutune's own; the others come from
scipy and, an extra, optuna. These work on real numbers: a coordinate per parameter, whose whole
part is the index of a value. A combination that no condition allows stands for the nearest one
that is allowed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.util import find_spec
from itertools import islice
from typing import Any, Literal

import numpy as np
import scipy  # loads its parts where they are used first
from numpy.typing import NDArray

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, meant
from cutune.search.techniques.local_search import local_search
from cutune.search.techniques.tries import Rows, SearchEnd, Tries
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
        return [one for one in self.tries.space.parameters if len(one.values) > 1]

    @property
    def bounds(self) -> scipy.optimize.Bounds[Any]:
        ends = [len(one.values) - 1e-6 for one in self.varied]
        return scipy.optimize.Bounds(np.zeros(len(ends)), np.array(ends))

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
        values = self.tries.space.of_rows(rows)
        return np.array([one.values.index(values[one.name]) + 0.5 for one in self.varied])

    def cost(self, point: Iterable[float]) -> float:
        return self.tries.cost(self.place(point))

    def drawn(self, generator: random.Random) -> Point:
        space = self.tries.space
        return self.point(space.rows(generator.randrange(space.size)))


def _evolve(tries: Tries, start: Rows, generator: random.Random) -> None:
    """A population whose members are moved by differences of others."""
    points = Coordinates(tries)
    scipy.optimize.differential_evolution(
        points.cost,
        points.bounds,
        x0=points.point(start),
        init=np.array([points.drawn(generator) for _ in range(POPULATION)]),
        maxiter=_ENDLESS,
        tol=0,
        polish=False,
        seed=generator.randrange(1 << 32),
    )


def _anneal(tries: Tries, start: Rows, generator: random.Random, has_descents: bool) -> None:
    """Simulated annealing, in its generalized form; descents from what it finds."""
    points = Coordinates(tries)
    descent = {"method": "Powell", "bounds": points.bounds, "options": {"maxfev": _DESCENT}}
    how: Any = {"minimizer_kwargs": descent} if has_descents else {"no_local_search": True}
    scipy.optimize.dual_annealing(
        points.cost,
        points.bounds,
        x0=points.point(start),
        maxiter=_ENDLESS,
        maxfun=_ENDLESS,
        seed=generator.randrange(1 << 32),
        **how,
    )


def _walk(tries: Tries, start: Rows, generator: random.Random, has_descents: bool) -> None:
    """A walk that also takes what is worse, the rarer the worse; perhaps with descents."""
    points = Coordinates(tries)
    descent: Any = {"method": _stay}
    if has_descents:
        options = {"maxfev": _DESCENT}
        descent = {"method": "Nelder-Mead", "bounds": points.bounds, "options": options}

    def stepped(point: Point) -> Any:
        # One parameter changes, to any of its values.
        moved, axis = point.copy(), generator.randrange(len(point))
        moved[axis] = generator.randrange(len(points.varied[axis].values)) + 0.5
        return moved

    scipy.optimize.basinhopping(
        points.cost,
        points.point(start),
        niter=_ENDLESS,
        T=TEMPERATURE,
        minimizer_kwargs=descent,
        take_step=stepped,
        seed=generator.randrange(1 << 32),
    )


def _stay(cost: Callable[[Point], float], point: Point, *_: Any, **__: Any) -> Any:
    result = scipy.optimize.OptimizeResult()
    result.update(x=point, fun=cost(point), nfev=1, success=True)
    return result


def _descend(
    tries: Tries, start: Rows, generator: random.Random, method: Literal["Nelder-Mead", "Powell"]
) -> None:
    """Descents from the start and then from random places, by a simplex or along directions."""
    points = Coordinates(tries)
    point = points.point(start)
    options: Any = {"maxfev": _DESCENT * len(point)}
    while True:
        scipy.optimize.minimize(
            points.cost, point, method=method, bounds=points.bounds, options=options
        )
        point = points.drawn(generator)


def _divide(tries: Tries, start: Rows, generator: random.Random) -> None:
    """The space divided into boxes, the promising ones further."""
    points = Coordinates(tries)
    # Room for all of them is made at once.
    most = min(_BOXES, 100 * tries.space.size)
    scipy.optimize.direct(points.cost, points.bounds, maxfun=most, maxiter=_ENDLESS, eps=1e-4)


OPTUNA = "optuna"


def _ask(tries: Tries, start: Rows, generator: random.Random, sampler: str, **options: int) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seed = generator.randrange(1 << 32)
    study = optuna.create_study(sampler=getattr(optuna.samplers, sampler)(seed=seed, **options))
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


#: The state of the random numbers: a search is repeatable.
STATE = 20
#: Places of which it is said at once that they come next.
TOGETHER = 8
#: The technique without `--technique`.
DEFAULT = "local"

#: Tries places from a start on until there is nothing more to try; `SearchEnd` may end it earlier.
Run = Callable[[Tries, Rows, random.Random], None]


@dataclass(frozen=True)
class Technique:
    """A way to search, with the names that `others`, other tuners, have for it.

    `package`: that it needs besides what cutune always needs; empty: none. `is_ahead`: does it say
    what it will ask for, so that several can be measured at once?
    """

    name: str
    run: Run
    others: tuple[str, ...] = ()
    package: str = ""
    is_ahead: bool = False

    @property
    def is_installed(self) -> bool:
        spec = find_spec(self.package) if self.package else None
        # A folder of that name, wherever cutune is called, is no package.
        return not self.package or (spec is not None and spec.origin is not None)


def search(
    technique: Technique, tries: Tries, start: Rows, state: int = STATE, first: Sequence[Rows] = ()
) -> None:
    """Try `first` and the start, then what the technique says, then all that it does not lead to.

    The technique starts from the best of these.
    """
    generator = random.Random(state)
    with suppress(SearchEnd):
        tries.expect(first)
        for rows in (*first, start):
            tries.at(rows)
        if tries.is_over:
            return
        start = tries.best_rows or start
        with suppress(SearchEnd):
            technique.run(tries, start, generator)
        random_search(tries, start, generator)


def technique_named(name: str) -> Technique:
    """Return a technique by any of its names. Raises CT816, or CT817 without its package."""
    wanted = plain_name(name)
    words = {word: one for one in TECHNIQUES for word in (one.name, *one.others)}
    technique = {plain_name(word): one for word, one in words.items()}.get(wanted)
    if technique is None:
        nearest = next((near for word, near in NEAREST.items() if word in wanted), None)
        further = f"; the nearest is '{nearest}'" if nearest else meant(name, words)
        known = ", ".join(one.name for one in TECHNIQUES) + further
        raise CutuneError.at(Code.UNKNOWN_TECHNIQUE, name=name, known=known)
    if not technique.is_installed:
        name, package = technique.name, technique.package
        raise CutuneError.at(Code.TECHNIQUE_NEEDS, name=name, package=package)
    return technique


def random_search(tries: Tries, start: Rows, generator: random.Random) -> None:
    """Try all places, each once, in a random order. Raises SearchEnd, as `Tries.at`."""
    _try_all(tries, shuffled(tries.space.size, generator))


def shuffled(size: int, generator: random.Random) -> Iterator[int]:
    """Yield the numbers below a size in a random order, in memory for those that are taken."""
    seen: set[int] = set()
    while len(seen) <= size // 2:
        number = generator.randrange(size)
        if number not in seen:
            seen.add(number)
            yield number
    rest = [number for number in range(size) if number not in seen]
    generator.shuffle(rest)
    yield from rest


def _try_all(tries: Tries, numbers: Iterable[int] | None = None) -> None:
    rest = map(tries.space.rows, range(tries.space.size) if numbers is None else numbers)
    some = list(islice(rest, TOGETHER))
    while some:
        # So that no worker waits while the last of these is measured.
        following = list(islice(rest, TOGETHER))
        tries.expect([*some, *following])
        for rows in some:
            if rows not in tries.known:
                tries.at(rows)
        some = following


_OF_RANDOM = ("random_sample", "random_sampling", "pure_random")
_OF_BRUTE_FORCE = ("exhaustive", "grid", "grid_search", "full_search")
_OF_NELDER_MEAD = (
    *("minimize", "random_nelder_mead", "right_nelder_mead", "regular_nelder_mead"),
    "multi_nelder_mead",
)
_OF_ANNEALING = ("simulated_annealing", "pseudo_annealing_search")
_OF_TPE = ("bayesian", "bayes_opt", "bayesian_optimization")
#: A population whose members are crossed and mutated, with one objective.
_CROSSED = partial(_ask, sampler="NSGAIISampler", population_size=POPULATION)
#: Bayesian: values are drawn as they occur among the best more often than among the rest.
_BAYESIAN = partial(_ask, sampler="TPESampler")
TECHNIQUES = (
    Technique(DEFAULT, local_search, is_ahead=True),
    Technique("random", random_search, _OF_RANDOM, is_ahead=True),
    Technique("brute_force", lambda tries, *_: _try_all(tries), _OF_BRUTE_FORCE, is_ahead=True),
    Technique("annealing", partial(_anneal, has_descents=False), _OF_ANNEALING),
    Technique("dual_annealing", partial(_anneal, has_descents=True)),
    Technique("mcmc", partial(_walk, has_descents=False), ("metropolis",)),
    Technique("basin_hopping", partial(_walk, has_descents=True)),
    Technique("differential_evolution", _evolve, ("diff_evo", "de")),
    Technique("nelder_mead", partial(_descend, method="Nelder-Mead"), _OF_NELDER_MEAD),
    Technique("powell", partial(_descend, method="Powell")),
    Technique("direct", _divide),
    Technique("genetic", _CROSSED, ("genetic_algorithm", "ga"), OPTUNA),
    Technique("tpe", _BAYESIAN, _OF_TPE, OPTUNA),
)
#: Part of a name of other tuners → what is here in its place.
NEAREST = {
    "pso": "differential_evolution",
    "particleswarm": "differential_evolution",
    "firefly": "differential_evolution",
    "torczon": "nelder_mead",
    "pattern": "powell",
    "greedy": "local",
    "hillclimb": "local",
    "bandit": "local",
    "cmaes": "tpe",
}


def plain_name(name: str) -> str:
    """`Nelder-Mead` is `nelder_mead`."""
    return "".join(c for c in name.lower() if c.isalnum())

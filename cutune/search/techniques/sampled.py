"""Techniques of optuna, an extra. Take what may be tried and a start, try places."""

from __future__ import annotations

import random
from typing import Any

from cutune.search.techniques.numeric import POPULATION, Coordinates
from cutune.search.techniques.tries import Rows, Tries

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

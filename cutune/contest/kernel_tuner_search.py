"""Strategies of Kernel Tuner. Take what may be tried and a start, try places.

A strategy asks a runner for times. This one asks cutune, so that nothing is compiled.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from cutune.contest.asking import TimedSpace, places_of, plain_values, rows_of, seeded
from cutune.search.techniques.registry import Run
from cutune.search.techniques.tries import Rows, Tries
from cutune.space.space import Space

#: No block is too large: limits of the device are conditions of the space.
_THREADS = 1 << 30
#: Strategies that refuse to be told where to begin.
_WITHOUT_START = ("random_sample", "bayes_opt")


class _Runner:
    """Gives Kernel Tuner times, and counts what is new, as its own runners do."""

    simulation_mode = True

    def __init__(self, timed: TimedSpace, budget: Any, failed: Any) -> None:
        self.timed, self.budget, self.failed = timed, budget, failed
        self.values = [plain_values(one.values) for one in timed.space.parameters]
        self.places = places_of(self.values)
        self.names = [one.name for one in timed.space.parameters]

    def run(self, configurations: Sequence[Sequence[Any]], options: Any) -> list[dict[str, Any]]:
        """Return a result for each."""
        return [self._result(one) for one in configurations]

    def _result(self, values: Sequence[Any]) -> dict[str, Any]:
        pairs = zip(self.places, values, strict=True)
        before = len(self.timed.tries.known)
        time = self.timed.at([place[_plain(value)] for place, value in pairs])
        self.budget.add_evaluations(len(self.timed.tries.known) - before)
        known = dict(zip(self.names, values, strict=True))
        return {**known, "time": time} if time is not None else {**known, "__error__": self.failed}

    def add_strategy_time(self, seconds: float) -> None:
        """Time is not counted here."""

    def available_parallelism(self) -> int:
        """One at a time."""
        return 1

    def get_device_info(self) -> SimpleNamespace:
        """The properties of the device that a search may ask for."""
        return SimpleNamespace(max_threads=_THREADS, name="")


def kernel_tuner(strategy: str) -> Run:
    """Return a search by one of its strategies, whose view of the space is made once."""
    views: list[tuple[Space, Any]] = []

    def run(tries: Tries, start: Rows, generator: random.Random) -> None:
        from kernel_tuner.interface import Options, strategy_map
        from kernel_tuner.util import RuntimeFailedConfig, TuningBudget

        timed = TimedSpace(tries)
        # A strategy that counts evaluations, for instance to cool down, is told how many there are.
        budget = TuningBudget(None, max(1, min(tries.allowance.most, tries.space.size)))
        runner = _Runner(timed, budget, RuntimeFailedConfig())
        first = [own[i] for own, i in zip(runner.values, timed.places(start), strict=True)]
        begin = Options() if strategy in _WITHOUT_START else Options(x0=first)
        options = Options(
            strategy_options=begin,
            max_fevals=budget.max_fevals,
            budget=budget,
            objective=["time"],
            objective_higher_is_better=[False],
            metrics=None,
            verbose=False,
            simulation_mode=True,
            simulated_time=0,
            cache={},
            restrictions=None,
        )
        with seeded(generator):
            if not any(space is tries.space for space, _ in views):
                views[:] = [(tries.space, _space(tries.space))]
            options["tune_params"] = views[0][1].tune_params
            strategy_map[strategy].tune(views[0][1], runner, options)

    return run


def _plain(value: Any) -> Any:
    """Return numpy's numbers and words as Python's."""
    return value.item() if hasattr(value, "item") else value


def _space(space: Space) -> Any:
    from kernel_tuner.searchspace import Searchspace

    parameters = space.parameters
    values = {one.name: plain_values(one.values) for one in parameters}
    places = places_of(list(values.values()))

    def is_allowed(own: Mapping[str, Any]) -> bool:
        pairs = zip(parameters, places, strict=True)
        exact = {one.name: one.values[place[_plain(own[one.name])]] for one, place in pairs}
        return rows_of(space, exact) is not None

    restrictions = [is_allowed] if space.size < space.raw_size else []
    return Searchspace(values, restrictions, _THREADS)

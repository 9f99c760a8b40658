"""Searches by other tuners: Kernel Tuner, OpenTuner and pyATF. Takes `Tries`, asks them for times.

Nothing is compiled by these tuners. Each configuration counts once. What a space does not allow
costs nothing, but not without end.
"""

from __future__ import annotations

import argparse
import inspect
import logging
import random
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np

from cutune.search.techniques.registry import Run
from cutune.search.techniques.tries import Rows, SearchEnd, Tries
from cutune.space.annotation import Value
from cutune.space.space import Space
from cutune.space.tables import Table

#: A tuner that asks so often for what is not allowed, one time after the other, is at its end.
MOST_REFUSED = 2000


@dataclass
class TimedSpace:
    """Times by numbers of values, one per parameter: a form that every tuner takes."""

    tries: Tries
    _refused: int = 0

    @property
    def space(self) -> Space:
        return self.tries.space

    def at(self, places: Sequence[int]) -> float | None:
        """Return measured milliseconds; None where it fails. Raises SearchEnd at the end."""
        pairs = zip(self.space.parameters, places, strict=True)
        rows = self.space.place({one.name: one.values[i] for one, i in pairs})
        if rows is None:
            self._refused += 1
            if self._refused > MOST_REFUSED:
                raise SearchEnd
            return None
        self._refused = 0
        return self.tries.at(rows)

    def places(self, rows: Rows) -> list[int]:
        configuration = self.space.of_rows(rows)
        return [one.values.index(configuration[one.name]) for one in self.space.parameters]


def plain_values(values: Sequence[Value]) -> list[int | float | str]:
    """Return the values without fractions, which other tuners do not know."""
    return [float(value) if isinstance(value, Fraction) else value for value in values]


def places_of(values: Sequence[Sequence[Any]]) -> list[Mapping[Any, int]]:
    """Return, per parameter, the number of each value."""
    return [{value: i for i, value in enumerate(own)} for own in values]


@contextmanager
def seeded(generator: random.Random) -> Iterator[int]:
    """Seed the random numbers that other tuners share from a generator of ours; gives the seed.

    What they were before is put back.
    """
    before, before_numpy = random.getstate(), np.random.get_state()
    state = generator.randrange(1 << 32)
    random.seed(state)
    np.random.seed(state)
    try:
        yield state
    finally:
        random.setstate(before)
        np.random.set_state(before_numpy)


def _once(made: Callable[[Space], Any]) -> Callable[[Space], Any]:
    """Return what gives a tuner's view of a space, which is made once for the last one."""
    views: list[tuple[Space, Any]] = []

    def view_of(space: Space) -> Any:
        if not any(known is space for known, _ in views):
            views[:] = [(space, made(space))]
        return views[0][1]

    return view_of


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
        return 1

    def get_device_info(self) -> SimpleNamespace:
        return SimpleNamespace(max_threads=_THREADS, name="")


def kernel_tuner(strategy: str) -> Run:
    """Return a search by one of its strategies, whose view of the space is made once."""
    view_of = _once(_kernel_tuner_space)

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
            view = view_of(tries.space)
            options["tune_params"] = view.tune_params
            strategy_map[strategy].tune(view, runner, options)

    return run


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _kernel_tuner_space(space: Space) -> Any:
    from kernel_tuner.searchspace import Searchspace

    parameters = space.parameters
    values = {one.name: plain_values(one.values) for one in parameters}
    places = places_of(list(values.values()))

    def is_allowed(own: Mapping[str, Any]) -> bool:
        pairs = zip(parameters, places, strict=True)
        exact = {one.name: one.values[place[_plain(own[one.name])]] for one, place in pairs}
        return exact in space

    restrictions = [is_allowed] if space.size < space.raw_size else []
    return Searchspace(values, restrictions, _THREADS)


#: So many generations without anything to measure end a search.
_MOST_IDLE = 100


def opentuner(technique: str) -> Run:
    """Return a search by one of its techniques."""

    def run(tries: Tries, start: Rows, generator: random.Random) -> None:
        import opentuner.tuningrunmain

        # It would write a log where cutune is called.
        opentuner.tuningrunmain.init_logging = lambda: None
        from opentuner import ConfigurationManipulator, Result, argparsers
        from opentuner.api import TuningRunManager
        from opentuner.measurement.interface import DefaultMeasurementInterface
        from opentuner.search.manipulator import EnumParameter, IntegerParameter

        logging.getLogger("opentuner").setLevel(logging.ERROR)
        warnings.filterwarnings("ignore", module="opentuner")
        timed, manipulator = TimedSpace(tries), ConfigurationManipulator()
        names = [f"p{i}" for i, _ in enumerate(tries.space.parameters)]
        for name, one in zip(names, tries.space.parameters, strict=True):
            last = len(one.values) - 1
            is_word = any(isinstance(value, str) for value in one.values)
            kind = EnumParameter(name, [*range(last + 1)]) if is_word else None
            manipulator.add_parameter(kind or IntegerParameter(name, 0, last))
        parser = argparse.ArgumentParser(parents=argparsers())
        args = parser.parse_args(["--technique", technique, "--database", "sqlite://"])
        interface = DefaultMeasurementInterface(args=args, manipulator=manipulator)
        first = dict(zip(names, timed.places(start), strict=True))
        interface.seed_configurations = lambda: [first]
        with seeded(generator):
            manager = TuningRunManager(interface, args)
            try:
                idle = 0
                while idle < _MOST_IDLE:
                    wanted = manager.get_next_desired_result()
                    idle = idle + 1 if wanted is None else 0
                    if wanted is None:
                        continue
                    own = wanted.configuration.data
                    time = timed.at([own[name] for name in names])
                    is_ok = time is not None
                    state, cost = ("OK", time) if is_ok else ("ERROR", inf)
                    manager.report_result(wanted, Result(state=state, time=cost))
            finally:
                manager.session.close()

    return run


def pyatf(technique: str) -> Run:
    """Return a search by one of its techniques, whose view of the space is made once."""
    view_of = _once(_pyatf_space)

    def run(tries: Tries, start: Rows, generator: random.Random) -> None:
        before = signal.getsignal(signal.SIGINT)
        from pyatf import Tuner, search_techniques
        from pyatf.tuning_data import CostFunctionError

        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)  # pyATF would only end one search
        timed, names = TimedSpace(tries), _names(tries.space)
        order = [names[one.name] for one in tries.space.parameters]

        def cost(own: Mapping[str, int]) -> float:
            time = timed.at([own[name] for name in order])
            if time is None:
                raise CostFunctionError("failed")
            return time

        search = getattr(search_techniques, technique)()
        with seeded(generator):
            tuner = Tuner().search_space(view_of(tries.space)).search_technique(search).verbosity(0)
            while True:
                tuner.make_step(cost)

    return run


def _names(space: Space) -> Mapping[str, str]:
    """Return names that Python can have."""
    return {one.name: f"p{i}" for i, one in enumerate(space.parameters)}


def _pyatf_space(space: Space) -> Any:
    """Return the space with parameters whose values are numbers of values."""
    from pyatf import TP, Interval
    from pyatf.search_space import SearchSpace

    names = _names(space)
    parameters = (
        TP(
            names[one.name],
            Interval(0, len(one.values) - 1),
            _constraint(table, names) if one is table.parameters[-1] else None,
        )
        for table in space.tables
        for one in table.parameters
    )
    return SearchSpace(*parameters, enable_1d_access=True, verbosity=0)


def _constraint(table: Table, names: Mapping[str, str]) -> Callable[..., bool] | None:
    """Return the test for a row of these values. pyATF looks at the names of its arguments."""
    if len(table.parameters) == 1 and table.size == len(table.parameters[0].values):
        return None

    def is_allowed(**own: int) -> bool:
        values = {one.name: one.values[own[names[one.name]]] for one in table.parameters}
        return table.index(values) is not None

    kind = inspect.Parameter.KEYWORD_ONLY
    arguments = [inspect.Parameter(names[one.name], kind) for one in table.parameters]
    is_allowed.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]
    return is_allowed

"""The tuners that are compared. Takes names, gives techniques, and warns of missing ones.

Kernel Tuner, OpenTuner and pyATF ask cutune for times, so that nothing is compiled by them. Each
configuration counts once. What a space does not allow costs nothing, but not without end.
"""

from __future__ import annotations

import argparse
import inspect
import logging
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn, known_names
from cutune.search.techniques.registry import (
    DEFAULT,
    OPTUNA,
    TECHNIQUES,
    Run,
    Technique,
    plain_name,
    technique_named,
)
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


#: BAT's default: everything is measured. It is no search, so that each tuner takes its own.
BRUTE_FORCE = "brute_force"
CUTUNE = "cutune"


def _own(technique: str) -> Run:
    return next(one.run for one in TECHNIQUES if one.name == technique)


def _guarded(tuner: Tuner, search: Run) -> Run:
    """Send what another tuner prints to standard error, and report its exceptions (CT834)."""

    def run(tries: Tries, start: Rows, generator: random.Random) -> None:
        try:
            with redirect_stdout(sys.stderr):
                search(tries, start, generator)
        except SearchEnd:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error)[:200]}"
            others = ",".join(one.name for one in TUNERS if one is not tuner)
            raise CutuneError.at(
                Code.TUNER_FAILED, tuner=tuner.name, reason=reason, others=others
            ) from error

    return run


@dataclass(frozen=True)
class Tuner:
    """A tuner, its techniques, and how they are run.

    Attributes:
        package: what has to be installed; empty: nothing.
        default: its technique unless another is asked for.
        techniques: what else it is asked for by, and what it calls that.
    """

    name: str
    package: str
    default: str
    search: Callable[[str], Run]
    techniques: Mapping[str, str] = field(default_factory=dict)

    def technique(self, name: str) -> Technique:
        """Return the technique that it has by this name of its own."""
        packages = (one.package for one in TECHNIQUES if one.name == name)
        package = self.package or next(packages, "")
        run = self.search(name) if self.search is _own else _guarded(self, self.search(name))
        return Technique(f"{self.name} {name}", run, (), package)

    def named(self, name: str) -> str | None:
        """Return its own name of a technique; None where it has none."""
        names = {**{own: own for own in self.techniques.values()}, **self.techniques}
        names[self.default] = self.default
        return {plain_name(word): own for word, own in names.items()}.get(plain_name(name))


TUNERS = (
    Tuner(CUTUNE, "", DEFAULT, _own, {one.name: one.name for one in TECHNIQUES}),
    Tuner(
        "kernel_tuner",
        "kernel_tuner",
        "genetic_algorithm",
        kernel_tuner,
        {
            "random": "random_sample",
            "nelder_mead": "minimize",
            "basin_hopping": "basinhopping",
            "differential_evolution": "diff_evo",
            "genetic": "genetic_algorithm",
            "annealing": "simulated_annealing",
            "dual_annealing": "dual_annealing",
            "pso": "pso",
            "firefly": "firefly_algorithm",
            "bayesian": "bayes_opt",
            "greedy_ils": "greedy_ils",
            "greedy_mls": "greedy_mls",
            "mls": "mls",
        },
    ),
    Tuner(
        "opentuner",
        "opentuner",
        "AUCBanditMetaTechniqueA",
        opentuner,
        {
            "random": "PureRandom",
            "nelder_mead": "RandomNelderMead",
            "torczon": "RandomTorczon",
            "greedy": "UniformGreedyMutation10",
            "differential_evolution": "DifferentialEvolutionAlt",
            "genetic": "ga-OX1",
            "pso": "pso-OX1",
            "pattern": "PatternSearch",
            "bandit": "AUCBanditMetaTechniqueA",
        },
    ),
    Tuner(
        "pyatf",
        "pyatf",
        "AUCBandit",
        pyatf,
        {
            "random": "Random",
            "annealing": "SimulatedAnnealing",
            "differential_evolution": "DifferentialEvolution",
            "pattern": "PatternSearch",
            "torczon": "Torczon",
            "bandit": "AUCBandit",
            "round_robin": "RoundRobin",
        },
    ),
    Tuner(OPTUNA, OPTUNA, "tpe", _own, {"genetic": "genetic", "bayesian": "tpe"}),
)


def contenders(names: Sequence[str], technique: str, warn: Warn) -> list[Technique]:
    """Return the searches to compare, cutune's own among them. Raises CT816, CT817, CT828.

    `names`: of tuners beside cutune; none: all.
    """
    tuners = _tuners_named(names)
    is_search = plain_name(technique) != plain_name(BRUTE_FORCE)
    if is_search and all(one.named(technique) is None for one in TUNERS):
        technique_named(technique)  # also understands what others call cutune's
    searches = [TUNERS[0].technique(DEFAULT)]
    missing: dict[str, str] = {}
    for tuner in tuners:
        own = _name_of(technique, tuner) if is_search else tuner.default
        if own is None and tuner.name == CUTUNE:
            continue
        one = tuner.technique(own or tuner.default)
        if not one.is_installed:
            missing[tuner.name if tuner.package else one.name] = one.package
            continue
        if own is None:
            warn(_without_technique(tuner, technique))
        searches.append(one)
    if missing:
        packages = " ".join(dict.fromkeys(missing.values()))
        named = ", ".join(missing)
        warn(Diagnostic.at(Code.TUNERS_MISSING, names=named, packages=packages))
    return list({one.name: one for one in searches}.values())


def _tuners_named(names: Sequence[str]) -> list[Tuner]:
    """Return cutune and the tuners of these names; without names all. Raises CT828."""
    by_name = {plain_name(one.name): one for one in TUNERS}
    for name in names:
        if plain_name(name) not in by_name:
            listed = known_names(name, [one.name for one in TUNERS])
            raise CutuneError.at(Code.UNKNOWN_TUNER, name=name, known=listed)
    wanted = {by_name[plain_name(name)].name for name in names} or {one.name for one in TUNERS}
    return [one for one in TUNERS if one.name in {CUTUNE, *wanted}]


def _name_of(technique: str, tuner: Tuner) -> str | None:
    """Return what a tuner calls a technique; None where it has none of that name."""
    own = tuner.named(technique)
    if own is None and tuner.name == CUTUNE:
        # It also knows what others call its techniques.
        with suppress(CutuneError):
            return technique_named(technique).name
    return own


def _without_technique(tuner: Tuner, technique: str) -> Diagnostic:
    return Diagnostic.at(
        Code.NO_SUCH_TECHNIQUE,
        tuner=tuner.name,
        name=technique,
        default=tuner.default,
        known=", ".join(tuner.techniques),
    )

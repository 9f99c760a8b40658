"""Techniques of pyATF. Take what may be tried and a start, try places.

It chooses its own start. Conditions are tied to the last parameter of each group.
"""

from __future__ import annotations

import inspect
import random
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cutune.contest.asking import TimedSpace, seeded
from cutune.search.techniques.registry import Run
from cutune.search.techniques.tries import Rows, Tries
from cutune.space.space import Space
from cutune.space.tables import Table


def pyatf(technique: str) -> Run:
    """Return a search by one of its techniques, whose view of the space is made once."""
    views: list[tuple[Space, Any]] = []

    def run(tries: Tries, start: Rows, generator: random.Random) -> None:
        before = signal.getsignal(signal.SIGINT)
        from pyatf import Tuner, search_techniques
        from pyatf.search_space import SearchSpace
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
            if not any(space is tries.space for space, _ in views):
                view = SearchSpace(
                    *_parameters(tries.space, names), enable_1d_access=True, verbosity=0
                )
                views[:] = [(tries.space, view)]
            tuner = Tuner().search_space(views[0][1]).search_technique(search).verbosity(0)
            while True:
                tuner.make_step(cost)

    return run


def _names(space: Space) -> Mapping[str, str]:
    """Return names that Python can have."""
    return {one.name: f"p{i}" for i, one in enumerate(space.parameters)}


def _parameters(space: Space, names: Mapping[str, str]) -> Sequence[Any]:
    """Return parameters whose values are numbers of values."""
    from pyatf import TP, Interval

    return [
        TP(
            names[one.name],
            Interval(0, len(one.values) - 1),
            _constraint(table, names) if one is table.parameters[-1] else None,
        )
        for table in space.tables
        for one in table.parameters
    ]


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

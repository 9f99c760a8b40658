"""Techniques of OpenTuner. Take what may be tried and a start, try places.

OpenTuner knows no conditions: what a space does not allow is a failure for it, which costs nothing.
"""

from __future__ import annotations

import argparse
import logging
import random
import warnings
from math import inf

from cutune.contest.asking import TimedSpace, seeded
from cutune.search.techniques.registry import Run
from cutune.search.techniques.tries import Rows, Tries

#: Generations without anything to measure.
_IDLE = 100


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
                while idle < _IDLE:
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

"""A trials.jsonl of times that a test says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path

from cutune.fit.measurement.measurement import Origin
from cutune.frontend.program import Program
from cutune.search.regions import HostMeasurement
from cutune.search.trials import EndedTrial, Status, Trial, Trials

#: Size and values → milliseconds.
Time = Callable[[int, Mapping[str, int]], float]


def write_trials(
    folder: Path,
    program: Program,
    sizes: Sequence[int],
    values: Mapping[str, Sequence[int]],
    time: Time,
) -> None:
    """Every configuration at every size `n`, as if a GPU had run it."""
    origin = Origin.of(program.source, program.tunable_headers)
    trials = Trials(folder / "trials.jsonl", origin, lambda _: None)
    folder.mkdir(exist_ok=True)
    for n, chosen in product(sizes, product(*values.values())):
        configuration = dict(zip(values, chosen, strict=True))
        took = time(n, configuration)
        data = {name: {"n": n} for name in values}
        measured = HostMeasurement(origin, "a GPU", configuration, data, took)
        trial = Trial(origin, "", {"n": str(n)}, configuration)
        trials.begin(trial)
        trials.end(trial, EndedTrial(Status.OK, "", (measured,), (took,)))

"""A trials.jsonl of times that a test says, and a trial that has ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path

from cutune.core.diagnostics import Diagnostic
from cutune.model.measurement.measurement import Origin
from cutune.search.regions import HostMeasurement
from cutune.search.trials import EndedTrial, Status, Trial, Trials
from cutune.source.program import Program

#: Size and values → milliseconds.
Time = Callable[[int, Mapping[str, int]], float]

ORIGIN = Origin("/a.cu", "0123")
MEASURED = HostMeasurement(ORIGIN, "a GPU", {"WPT": 4, "R": "none"}, {"WPT": {"n": 100}}, 1.5)
ENDED = EndedTrial(Status.OK, "", (MEASURED,), (1.5, 1.25), "abc")


def silent(said: Diagnostic) -> None:
    """Fail: nothing should be said."""
    raise AssertionError(said.render())


def trials(path: Path, origin: Origin = ORIGIN) -> Trials:
    """Read the trials of a file, in which nothing is damaged."""
    return Trials(path, origin, silent).load()


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

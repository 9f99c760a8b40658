"""What it is worth to start a search where the model says, on the recorded tables of BAT.

    python -m benchmarks.bat_start [NAME …] [--folder FOLDER] [--seconds 600]

The samples of the suite run on the emulated device, and the search that `collect --start model`
makes finds what the model predicts to be fastest. Then each technique is replayed on the table of
an H100 (tests/recorded/bat): configurations until one is within 5 % of the best, median of 20
random starts, with and without the model's first eight before them.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from cutune.core.progress import Reporter
from cutune.core.workspace import Workspace
from cutune.search.compare import KnownTime, least, replayed
from cutune.search.measure_parameters import HostSweep, prepared
from cutune.search.predicted_start import predicted_first, predicting
from cutune.search.techniques.registry import technique_named
from cutune.search.trial_runs import EMULATED, Measuring
from cutune.space.space import Configuration, Space
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.toolchain import Toolchain
from tests.support.bat_samples import SAMPLES, ReadSample

TABLES = Path(__file__).parents[1] / "tests" / "recorded" / "bat"
#: The sizes of the tables, each region run once.
RUNS = {"md": "-s 1", "sort": "-s 1 1", "triad": "-s 2"}
TECHNIQUES = ("local", "random", "annealing", "differential_evolution")


def main(names: Sequence[str], folder: Path, seconds: float) -> None:
    """Print a line per program and technique."""
    device = DeviceProfile.named("h100")
    for name in names or RUNS:
        with (TABLES / f"{name}_h100.csv").open() as file:
            rows = [*csv.DictReader(file)]
        tunables = [column for column in rows[0] if column != "ms"]
        space, first = _first(name, tunables, device, folder / name, seconds)
        known = _known(space, rows)
        best, start = least(known), [place for one in first if (place := space.place(one))]
        times = [known[number].milliseconds for one in first if (number := space.number(one))]
        off = min((time / best - 1 for time in times if time is not None), default=float("nan"))
        print(f"{name}: best of the model's first {len(start)} {100 * off:.1f} % off", flush=True)
        for word in TECHNIQUES:
            technique = technique_named(word)
            today = replayed(space, known, technique)
            begun = replayed(space, known, technique, begin=start)
            print(
                f"  {word}: {median(today.needed):g} configurations from a random start,"
                f" {median(begun.needed):g} from the model's",
                flush=True,
            )


def _known(space: Space, rows: Sequence[Mapping[str, str]]) -> dict[int, KnownTime]:
    by_text = {one.name: {str(value): value for value in one.values} for one in space.parameters}
    known = {}
    for row in rows:
        number = space.number({name: values[row[name]] for name, values in by_text.items()})
        assert number is not None, row
        known[number] = KnownTime(float(row["ms"]) if row["ms"] else None, 0.0)
    return known


def _first(
    name: str, tunables: Sequence[str], device: DeviceProfile, folder: Path, seconds: float
) -> tuple[Space, list[Configuration]]:
    """The space of a table, and what the model finds fastest there."""
    read = ReadSample(SAMPLES[name])
    toolchain = Toolchain(flags=read.parameters.flags_at({}))
    sweep = HostSweep(
        read.program,
        f"{{program}} {RUNS[name]}",
        {},
        Workspace(folder),
        device,
        tunables,
        predicting(Measuring(EMULATED, 1), toolchain.nvcc, device),
        kept=folder.with_suffix(".jsonl"),
        parameters=read.parameters,
    )
    with prepared(toolchain, Reporter(), sweep) as ready:
        run, space = ready.places[0]
        return space, predicted_first(ready.trials, run, space, seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--seconds", type=float, default=600.0, help="for the predictions of each")
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        main(options.names, options.folder or Path(temporary), options.seconds)

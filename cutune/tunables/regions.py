"""Timed regions. Runs an instrumented program, gives times by tunables and data, and tables.

The program is run once per configuration and repetition: its host tunables are set by the
environment, and it writes a line per region (`cutune_tunables.h`).
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from cutune.collect.run import RUN_SECONDS, Run, captured
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.fit.measurement.measurement import Origin
from cutune.frontend.tunable import HostTunable
from cutune.tunables.neighbours.condition import holds
from cutune.tunables.neighbours.table import Configuration, Point, TimeTable

LINE_SCHEMA = "cutune-region-1"
SCHEMA = "cutune-host-measurement-1"

Values = Mapping[str, int]


@dataclass(frozen=True)
class HostMeasurement:
    """The time of all regions of a program at one size, in one configuration.

    `milliseconds` is None where there was no time: on the emulated device.
    """

    origin: Origin
    device: str
    #: Value of each tunable.
    values: Values
    #: For each tunable, what its data were: expression and value.
    data: Mapping[str, Values]
    milliseconds: float | None

    def to_json(self) -> dict[str, Any]:
        """As one line of the workspace."""
        return {"schema": SCHEMA, **asdict(self)}

    @staticmethod
    def from_json(entry: Mapping[str, Any]) -> HostMeasurement:
        """From a line of the workspace."""
        return HostMeasurement(
            Origin(**entry["origin"]),
            entry["device"],
            dict(entry["values"]),
            dict(entry["data"]),
            entry["milliseconds"],
        )


def configurations(tunables: Sequence[HostTunable]) -> list[dict[str, int]]:
    """Every combination of the values of some tunables."""
    return [
        dict(zip((t.name for t in tunables), values, strict=True))
        for values in product(*(t.choices for t in tunables))
    ]


def is_allowed(one: HostMeasurement, own: Sequence[HostTunable]) -> bool:
    """Does a configuration satisfy the condition of one pragma, whose tunables these are?"""
    values = {tunable.name: one.values[tunable.name] for tunable in own}
    return holds(own[0].where, {**one.data[own[0].name], **values})


def measure(
    run: Run, values: Mapping[str, int], origin: Origin, environment: Mapping[str, str]
) -> list[HostMeasurement] | str:
    """Run the program once in a configuration; why it failed where it did.

    Raises:
        CutuneError: CT424 where a tunable got values for several sizes before one region ended.
    """
    with tempfile.TemporaryDirectory(prefix="cutune-") as folder:
        log = Path(folder) / "regions.jsonl"
        setting = ",".join(f"{name}={value}" for name, value in values.items())
        settings = {**environment, "CUTUNE_SET": setting, "CUTUNE_OUTPUT": str(log)}
        failure = _failure(run, settings)
        if failure is not None:
            return failure
        lines = log.read_text().splitlines() if log.exists() else []
    return list(_measurements(origin, map(json.loads, lines)))


def merged(runs: Sequence[Sequence[HostMeasurement]]) -> list[HostMeasurement]:
    """The median over repetitions of equal runs."""
    found = []
    for same in zip(*runs, strict=True):
        times = [m.milliseconds for m in same if m.milliseconds is not None]
        first = same[0]
        time = median(times) if times else None
        found.append(HostMeasurement(first.origin, first.device, first.values, first.data, time))
    return found


def _failure(run: Run, environment: Mapping[str, str]) -> str | None:
    try:
        done = captured(run.command, {**os.environ, **environment}, RUN_SECONDS)
    except subprocess.TimeoutExpired:
        return f"longer than {RUN_SECONDS} seconds"
    except OSError as error:
        return error.strerror or str(error)
    if done.returncode == 0:
        return None
    said = (done.stderr or done.stdout).strip().splitlines()
    return f"status {done.returncode}" + (f": {said[-1]}" if said else "")


def _measurements(origin: Origin, lines: Iterable[Mapping[str, Any]]) -> Iterator[HostMeasurement]:
    """One per configuration and size that a run went through: regions of equal ones are added."""
    found: dict[str, tuple[str, Values, Mapping[str, Values], list[float | None]]] = {}
    for line in lines:
        tunables = line["tunables"]
        for name, own in tunables.items():
            if own["ambiguous"]:
                raise CutuneError(Diagnostic.at(Code.AMBIGUOUS_REGION, None, name=name))
        values = {name: own["value"] for name, own in tunables.items()}
        data = {name: own["data"] for name, own in tunables.items()}
        key = json.dumps([values, data], sort_keys=True)
        entry = found.setdefault(key, (line["device"], values, data, []))
        entry[3].append(line["milliseconds"])
    for device, own_values, own_data, times in found.values():
        known = [time for time in times if time is not None]
        total = sum(known) if len(known) == len(times) else None
        yield HostMeasurement(origin, device, own_values, own_data, total)


# ---- tables


def group_table(
    tunables: Sequence[HostTunable], group: int, measured: Iterable[HostMeasurement]
) -> TimeTable | None:
    """The times by which the tunables of one pragma are chosen; None where there are none.

    Other tunables are of two kinds. Those that are chosen afterwards, given one of these, count
    with their best value. The others are held fixed, where most configurations were measured
    (and at the fastest such place): times at different values of them cannot be compared.
    """
    own = [t for t in tunables if t.group == group]
    names = {t.name for t in own}
    given, data = own[0].given, own[0].data
    later = {t.name for t in tunables if names & set(t.given)}
    fixed = [t.name for t in tunables if t.name not in {*names, *given, *later}]
    slices: dict[Point, dict[tuple[int | None, ...], dict[Configuration, float]]] = {}
    for one in measured:
        seen = one.data.get(own[0].name, {})
        if one.milliseconds is None or not (
            names <= set(one.values) and {*given, *data} <= set(seen)
        ):
            continue
        if not is_allowed(one, own):
            continue
        point = tuple(seen[name] for name in (*given, *data))
        configuration = tuple(one.values[t.name] for t in own)
        held = tuple(one.values.get(name) for name in fixed)
        times = slices.setdefault(point, {}).setdefault(held, {})
        times[configuration] = min(times.get(configuration, one.milliseconds), one.milliseconds)
    if not slices:
        return None
    order = _fastest if given else _fullest
    chosen = {point: min(held.values(), key=order) for point, held in slices.items()}
    if not given:
        # Where one configuration was measured, nothing is known about the choice.
        chosen = {point: times for point, times in chosen.items() if len(times) > 1}
    tried = {
        configuration
        for held in slices.values()
        for times in held.values()
        for configuration in times
    }
    if not chosen or len(tried) == 1:
        return None
    return TimeTable((*given, *data), tuple(t.name for t in own), chosen)


def _fastest(times: Mapping[Configuration, float]) -> tuple[float, int]:
    """Sorts the place with the best time first, of equal ones that with most configurations."""
    return min(times.values()), -len(times)


def _fullest(times: Mapping[Configuration, float]) -> tuple[int, float]:
    """Sorts the place with most configurations first, of equal ones the fastest."""
    return -len(times), min(times.values())
